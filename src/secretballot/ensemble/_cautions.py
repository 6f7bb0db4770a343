"""Settings that protect less, or buy less, than whoever chose them may think; told, not refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._errors import warn
from secretballot._sklearn_compat import _num_samples
from secretballot.ensemble.individual import Levels


def warn_one_teacher(n_teachers: int) -> None:
    """Warn that one teacher hides nothing."""
    if n_teachers == 1:
        warn(
            "there is one teacher only: noise that hides its one ballot hides every answer. Use "
            "many teachers (n_teachers=100)."
        )


def warn_settings(estimator: Any, levels: Levels | None, n_people: int | None) -> None:
    """Warn, before anything is spent, of what only looks like a choice.

    Parameters
    ----------
    estimator : PrivateTeacherEnsemble or PrivateLogisticRegression
    levels : Levels or None
        Whose level is which, if that was said.
    n_people : int or None
        How many rows, or owners, the budget protects; None where nobody knows.
    """
    accountant, cap = estimator.accountant, estimator.epsilon
    budget = {level.name: level.epsilon for level in accountant.levels}
    if len(budget) > 1 and levels is None and n_people is not None:
        warn(
            f"the accountant has the levels {', '.join(map(repr, budget))}, but budgets was not "
            "given: all rows pay alike, and what may be spent ends with the strictest budget. Pass "
            "fit(..., budgets=) the level of each row."
        )
    caps = cap if isinstance(cap, Mapping) else dict.fromkeys(budget, cap)
    if cap is not None and all(caps[level] > epsilon for level, epsilon in budget.items()):
        warn(
            f"epsilon={cap!r} is more than the accountant's budget of {accountant.epsilon!r}, "
            "which therefore decides alone. Use a smaller epsilon to cap one fit, or None."
        )
    if n_people and accountant.delta > 1 / n_people:
        warn(
            f"the accountant's delta={accountant.delta:g} is above 1/n = {1 / n_people:.2g} for "
            f"n={n_people}: publishing somebody's whole record would satisfy it. Use a delta well "
            "below that, such as 1e-5."
        )


#: From which share of a column on, and from how many rows, values elsewhere are no accident.
_ELSEWHERE, _SOME_ROWS = 0.25, 8


def warn_other_units(X: Any, X_public: Any) -> None:
    """Warn if columns of the pool lie outside of all private values, as if in other units.

    So they do where a step of a pipeline transformed X and not the pool, which no other check can
    see: the step stands before the ensemble.
    """
    if X_public is None or _num_samples(X_public) < _SOME_ROWS:
        return
    pool = dict(_numeric_columns(X_public))
    strange = [
        repr(name)
        for name, column in _numeric_columns(X)
        if name in pool and _share_outside(pool[name], column) > _ELSEWHERE
    ]
    if strange:
        warn(
            f"more than a quarter of X_public lies outside of all values of X in {len(strange)} "
            f"column(s), such as {strange[0]}. Was X transformed on its way here, and X_public "
            "not? In a Pipeline that takes transform_input=['X_public']. NOT FOR PUBLICATION, as "
            "it depends on private rows."
        )


def _numeric_columns(X: Any) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield name, or position, and values of what is numeric in arrays and data frames."""
    if hasattr(X, "iloc"):
        for at, name in enumerate(X.columns):
            if getattr(X.dtypes.iloc[at], "kind", "O") in "iuf":
                yield name, np.asarray(X.iloc[:, at], dtype=float)
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf":
        yield from enumerate(X.T)


def _share_outside(values: NDArray[Any], known: NDArray[Any]) -> float:
    """Return how many of `values` are outside the range of `known`, missing ones left out."""
    least, most = np.fmin.reduce(known), np.fmax.reduce(known)
    return float(((values < least) | (values > most)).mean())
