"""Whose each private row is, and how much it counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._owners import canonical, check_kinds, check_owners, listed


@dataclass(frozen=True)
class People:
    """Those whose rows are counted: each counts 1, however many rows it has.

    Attributes
    ----------
    n : int
        How many there are: rows, or owners. It is public.
    unit : str
        ``"row"`` or ``"owner"``.
    weights : ndarray of shape (n_rows,)
        What each row counts: 1, or a part of its owner.
    """

    n: int
    unit: str
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, accountant: Any, owners: Any, n_rows: int) -> People:
        """Check owners against what the budget protects."""
        _check_unit(accountant, owners is not None)
        if owners is None:
            return cls(n_rows, "row", np.ones(n_rows))
        check_owners(owners, n_rows)
        ids = [canonical(owner, row) for row, owner in enumerate(listed(owners))]
        check_kinds({kind for kind, _ in ids})
        position: dict[Any, int] = {}
        of_row = np.array([position.setdefault(each, len(position)) for each in ids])
        weights = _rounded_down(1 / np.bincount(of_row), len(position))
        return cls(len(position), "owner", weights[of_row])

    def total(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up scores from 0 to 1 of rows, averaged within each owner: the last axis goes.

        An owner moves each sum by 1 at most: what its rows count is rounded down, one by one.
        """
        return np.asarray(_rounded_down(scores * self.weights, self.n).sum(axis=-1))


def _rounded_down(parts: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Round parts of people down, so far that sums over `n` people are exact in any order."""
    places = 52 - n.bit_length()
    return np.asarray(np.trunc(np.ldexp(parts, places)) * 2.0**-places)


def _check_unit(accountant: Any, owners: bool) -> None:
    """Check that the budget protects those who are counted."""
    if accountant is None:
        raise ValueError(
            "accountant=None: what is counted on private rows is not released without a budget. "
            "Use accountant=PrivacyAccountant(epsilon, delta)."
        )
    if owners and accountant.unit != "owner":
        raise ValueError(
            f"owners was given, but the accountant's unit={accountant.unit!r}: the rows of an "
            "owner are averaged, so that owners are protected. Use PrivacyAccountant(..., "
            "unit='owner'), or leave owners out."
        )
    if not owners and accountant.unit not in ("row", "label"):
        raise ValueError(
            f"the accountant's unit={accountant.unit!r}, but each row would be counted on its own. "
            f"Pass owners=, the id of each row's {accountant.unit}, or use PrivacyAccountant(..., "
            "unit='row')."
        )
    if accountant.relation != "replace":
        raise ValueError(
            f"the accountant's relation={accountant.relation!r}: how many there are would be "
            "private, and what is released is a share of it. Use PrivacyAccountant(..., "
            "relation='replace')."
        )
