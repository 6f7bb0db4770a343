"""People whose rows are counted, and the weight of each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import GIVE_BUDGET
from secretballot.accounting._accountant import PrivacyAccountant, check_accountant
from secretballot.tables._owners import Owners

NO_BUDGET = f"accountant=None: nothing is released without a budget. {GIVE_BUDGET}"


@dataclass(frozen=True)
class People:
    """People whose rows are counted: each counts 1, whatever the number of its rows."""

    n: int  # rows, or owners; public
    unit: str  # "row" or "owner"
    weights: NDArray[np.float64]  # of each row: 1, or its share of its owner
    owner_of_row: NDArray[np.intp] | None = None  # None: each row is a person

    @classmethod
    def from_owners(
        cls, accountant: PrivacyAccountant, owners: ArrayLike | None, n_rows: int
    ) -> People:
        check_unit(accountant, owners=owners is not None)
        return cls.of_ids(None if owners is None else Owners.read(owners, n_rows), n_rows)

    @classmethod
    def of_ids(cls, owners: Owners | None, n_rows: int) -> People:
        if owners is None:
            return cls(n_rows, "row", np.ones(n_rows))
        return cls.of_numbers(owners.of_row, len(owners.ids))

    @classmethod
    def of_numbers(cls, owner_of_row: NDArray[np.intp], n: int) -> People:
        """Group rows by the number of their owner, of `n` owners, some of whose rows these are."""
        shares = _round_down(1 / np.maximum(np.bincount(owner_of_row), 1), n)
        return cls(n, "owner", shares[owner_of_row], owner_of_row)

    def total(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up scores from 0 to 1 of rows, averaged within each owner, along the last axis.

        An owner moves each sum by 1 at most: each row's part is rounded down.
        """
        return np.asarray(_round_down(scores * self.weights, self.n).sum(axis=-1))

    def sum_averages(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up vectors of numbers from -1 to 1, averaged within each owner.

        Averages are rounded towards zero, once for each owner, so that their sum is exact.
        """
        if self.owner_of_row is not None:
            n_rows = np.bincount(self.owner_of_row)
            sums = [np.bincount(self.owner_of_row, column) for column in vectors.T]
            vectors = np.stack(sums, axis=1) / n_rows[:, None]
        return np.asarray(_round_down(vectors, self.n).sum(axis=0))


def _round_down(parts: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Round numbers of people towards zero, so that their sum over `n` people is exact."""
    places = 52 - n.bit_length()
    return np.asarray(np.trunc(np.ldexp(parts, places)) * 2.0**-places)


def check_unit(accountant: PrivacyAccountant | None, *, owners: bool) -> None:
    if accountant is None:
        raise ValueError(NO_BUDGET)
    check_accountant(accountant)
    if owners and accountant.unit != "owner":
        raise ValueError(
            f"owners was given, but the accountant's unit={accountant.unit!r}: all rows of an "
            "owner go to one teacher, or are averaged, so that owners are protected. Use "
            "PrivacyAccountant(..., unit='owner'), or leave owners out. (PrivateParts are always "
            "of owners: from_parquet(..., owners='person').)"
        )
    if not owners and accountant.unit not in ("row", "label"):
        remedy = {
            "owner": "Pass owners=, one owner id per row",
            "voter": "It is for votes of FrozenEstimators: give an ensemble a list, one a voter, "
            "or use PrivacyAccountant(..., unit='row')",
        }.get(accountant.unit, "Use another unit")
        raise ValueError(
            f"the accountant's unit={accountant.unit!r}, but each row counts on its own. {remedy}."
        )
    if accountant.relation != "replace":
        raise ValueError(
            f"the accountant's relation={accountant.relation!r}: the number of rows or owners "
            "is public here, and one may be replaced, not removed. Use PrivacyAccountant(..., "
            "relation='replace')."
        )
