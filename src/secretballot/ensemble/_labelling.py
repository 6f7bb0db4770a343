"""From votes to private labels, through the accountant's door."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting import PrivacyLeakWarning
from secretballot.ensemble._private_labels import PrivateLabels, private_labels
from secretballot.ensemble._votes import Votes


def label_votes(
    accountant: Any,
    mechanism: Any,
    votes: Votes,
    classes: NDArray[Any],
    *,
    random_state: np.random.SeedSequence | None,
    scope: Any,
    note: dict[str, Any],
) -> PrivateLabels:
    """Answer rows in order while the budget lasts; warn if it ended before the last one."""
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
    return private_labels(outcome, len(votes), classes)


def privacy_of(accountant: Any, note: dict[str, Any], seeded: bool) -> dict[str, Any]:
    """What the budget guarantees and how much of it is spent, as plain values."""
    told = {
        name: getattr(accountant, name)
        for name in ("unit", "relation", "epsilon", "delta", "accounting")
    }
    told.update(note, seeded=seeded)
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
