"""Private labels: how votes become them, and what they carry."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting import PrivacyLeakWarning
from secretballot.ensemble._votes import Votes


class PrivateLabels(NamedTuple):
    """Labels that were released, row by row.

    Attributes
    ----------
    labels : ndarray of shape (n_queries,)
        The label of each row. Where ``answered`` is False: -1 if the classes are signed integers
        without -1, else None.
    answered : ndarray of shape (n_queries,), dtype=bool
        Which rows got a label. The others were refused by the mechanism, or the budget ended
        before them.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.ensemble import PrivateLabels
    >>> released = PrivateLabels(np.array([1, -1, 0]), np.array([True, False, True]))
    >>> released.labels[released.answered]
    array([1, 0])
    """

    labels: NDArray[Any]
    answered: NDArray[np.bool_]


def private_labels(
    outcome: NDArray[np.intp], n_queries: int, classes: NDArray[Any]
) -> PrivateLabels:
    """Labels of an outcome: class positions, -1 where refused, of the rows that were begun."""
    codes = np.full(n_queries, -1, dtype=np.intp)
    codes[: len(outcome)] = outcome
    answered = codes >= 0
    # The type depends on the classes alone, never on whether some row happened to be refused.
    if classes.dtype.kind == "i" and -1 not in classes:
        labels = np.full(n_queries, -1, dtype=classes.dtype)
    else:
        labels = np.full(n_queries, None, dtype=object)
    labels[answered] = classes[codes[answered]]
    return PrivateLabels(labels, answered)


def label_votes(
    accountant: Any,
    mechanism: Any,
    votes: Votes,
    classes: NDArray[Any],
    *,
    random_state: np.random.SeedSequence | None,
    scope: Any,
    note: dict[str, Any],
) -> tuple[PrivateLabels, int]:
    """Answer rows in order while the budget lasts; warn if it ended before the last one.

    Returns the labels, and how many rows were begun.
    """
    outcome = accountant.release(
        mechanism, votes, random_state=random_state, scope=scope, note=note
    )
    if len(outcome) < len(votes):
        warnings.warn(
            f"the budget ended after {len(outcome)} of {len(votes)} rows; the others are "
            "unanswered. More noise or fewer rows fit it all (mechanism=None calibrates).",
            UserWarning,
            stacklevel=4,
        )
    return private_labels(outcome, len(votes), classes), len(outcome)


def privacy_of(accountant: Any, note: dict[str, Any], seeded: bool) -> dict[str, Any]:
    """What the budget guarantees and how much of it is spent, as plain values."""
    told = {
        name: getattr(accountant, name)
        for name in ("unit", "relation", "epsilon", "delta", "accounting")
    }
    told.update(note, seeded=seeded, statement=accountant.statement().to_dict())
    # What votes did cost is sensitive itself; what they can cost at most is not.
    if accountant.accounting == "worst_case":
        spent = accountant.spent()
        told["share_spent"] = (
            {level: float(each.share) for level, each in spent.items()}
            if isinstance(spent, dict)
            else float(spent.share)
        )
    return told


def warn_classes_learned(stacklevel: int = 3) -> None:
    """Say that the set of classes was read off private labels."""
    warnings.warn(
        "classes=None: the set of classes is learned from private labels and released exactly, "
        "outside the guarantee (a label that only one row has reveals that row). Name the "
        "possible labels: classes=[...].",
        PrivacyLeakWarning,
        stacklevel=stacklevel,
    )
