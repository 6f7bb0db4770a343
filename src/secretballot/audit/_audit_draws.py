"""Draws of an audit: outcomes of a mechanism, or labels of a fitted ensemble."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._progress import ProgressTask
from secretballot._sklearn_compat import unfitted
from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning

if TYPE_CHECKING:
    from secretballot.ensemble import PrivateTeacherEnsemble
    from secretballot.mechanisms import Mechanism

#: ``draw(data, n_draws, rng)``: independent outcomes on the same data, shape (n_draws, ...).
Draw: TypeAlias = Callable[[Any, int, np.random.Generator], ArrayLike]

_BLOCK_ROWS = 50_000
_LARGE_EPSILON = 1e9


def mechanism_draws(mechanism: Mechanism) -> Draw:
    """Build a function that draws from a mechanism, on made-up counts."""

    def draw(counts: ArrayLike, n_draws: int, rng: np.random.Generator) -> NDArray[Any]:
        votes = mechanism.check_counts(counts)
        return draw_in_blocks(lambda rows: mechanism.sample(rows, rng), votes, n_draws)

    return draw


def ensemble_draws(ensemble: PrivateTeacherEnsemble, X: ArrayLike) -> Draw:
    """Build a function that fits an ensemble and draws private labels from it, many times over.

    The labels are those that a user would get from `predict_private`, with budget for all draws.

    Parameters
    ----------
    ensemble : PrivateTeacherEnsemble
        Unfitted, with a `mechanism`, the `classes`, and an integer `random_state`: the partition
        has to be the same on neighbouring data. The noise of the draws is not seeded.
    X : array-like of shape (n_queries, n_features)
        Public rows; a draw is the labels of all of them.

    Returns
    -------
    callable
        ``draw(data, n_draws, rng)`` for `audit_epsilon`, with the arguments of ``fit`` as `data`,
        a dict. Outcomes have shape (n_draws, n_queries): positions in ``classes_``, and -1 for
        labels that were not released.

    Raises
    ------
    ValueError
        If a parameter of the ensemble leaves open what is audited.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from secretballot import GNMax, PrivateTeacherEnsemble
    >>> from secretballot.audit import ensemble_draws
    >>> X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    >>> ensemble = PrivateTeacherEnsemble(
    ...     DecisionTreeClassifier(), 4, mechanism=GNMax(sigma=2), classes=[0, 1], random_state=0
    ... )
    >>> draw = ensemble_draws(ensemble, X[:3])
    >>> draw({"X": X, "y": y}, n_draws=5, rng=np.random.default_rng(0)).shape
    (5, 3)
    """
    reasons = {
        "mechanism": "calibrated noise would depend on the number of draws",
        "classes": "learned classes are released outside the guarantee",
        "random_state": "neighbouring data sets have to be partitioned alike",
    }
    for name, reason in reasons.items():
        if getattr(ensemble, name) is None:
            raise ValueError(f"{name}=None can't be audited: {reason}. Give a value.")

    def draw(data: Mapping[str, Any], n_draws: int, rng: np.random.Generator) -> NDArray[Any]:
        unit = "row" if data.get("owners") is None else "owner"
        accountant = PrivacyAccountant(
            _LARGE_EPSILON, 1e-5, unit=unit, order="renyi", approximation_delta=5e-6
        )
        # Not a clone, which fits with a part of a budget alone.
        copy = unfitted(ensemble)
        copy.set_params(accountant=accountant, epsilon=None, student=None)
        fitted = copy.fit(**data)
        # The seed has fixed the partition; the noise is drawn as for users.
        fitted._labelling.randomness = replace(fitted._labelling.randomness, seeded=False)

        def draw_labels(rows: NDArray[Any]) -> NDArray[np.int64]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrivacyLeakWarning)
                released = fitted.predict_private(rows)
            codes = np.full(len(released.labels), -1)
            for position, label in enumerate(fitted.classes_):
                codes[released.answered & (released.labels == label)] = position
            return codes

        return draw_in_blocks(draw_labels, np.asarray(X), n_draws)

    return draw


def draw_in_blocks(
    sample: Callable[[NDArray[Any]], ArrayLike], rows: NDArray[Any], n_draws: int
) -> NDArray[Any]:
    """Draw the outcome of `rows` many times over, in blocks; shape (n_draws, n_rows, ...)."""
    blocks, block_size = [], max(1, _BLOCK_ROWS // len(rows))
    with ProgressTask("draws", n_draws) as task:
        for start in range(0, n_draws, block_size):
            n = min(block_size, n_draws - start)
            # An index, because concatenating rows with fields checks the type of each part.
            outcome = np.asarray(sample(rows[np.tile(np.arange(len(rows)), n)]))
            blocks.append(outcome.reshape(n, len(rows), *outcome.shape[1:]))
            task.advance(n)
    return np.concatenate(blocks)
