"""Votes that a ledger has recorded for publication, and the charges of all other releases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.costs._cost import Cost, GaussianCost
from secretballot.costs._law import Move
from secretballot.costs._margin import GapCosts, Margin, load_gap_records


@dataclass(frozen=True)
class RecordedVotes:
    """Gaps of recorded votes by move, and the charges of releases without a record."""

    moves: tuple[tuple[Move, int], ...]  # kinds of release, with the number of votes
    gap_counts: tuple[NDArray[np.int64], ...]  # releases of each kind by gap, from 0 to n_votes
    charges: tuple[Cost, ...]  # of all other releases
    n_rows: int  # with recorded votes

    @classmethod
    def from_ledger(cls, accountant: PrivacyAccountant) -> RecordedVotes:
        """Read a ledger; raise ValueError if nothing can be published from it."""
        if accountant.accounting != "sanitized":
            raise ValueError(
                f"accounting={accountant.accounting!r}: only a budget that was opened with "
                "accounting='sanitized' records votes for publication."
            )
        if len(accountant.levels) > 1:
            raise ValueError("the budget has levels: their epsilons can't be published yet.")
        entries = accountant.entries()
        if any(entry.reservation is not None for entry in entries):
            raise ValueError("the budget has reservations: their rows can't be told apart yet.")
        if not entries:
            raise ValueError("nothing was released yet, so there is nothing to publish.")
        texts = accountant.private_records()
        counts: dict[tuple[Move, int], NDArray[np.int64]] = {}
        for text in texts.values():
            for record in load_gap_records(text):
                kind = record.move, len(record.gap_counts) - 1
                counts[kind] = record.gap_counts + counts.get(kind, 0)
        unrecorded = [entry for entry in entries if entry.sequence not in texts]
        return cls(
            tuple(counts),
            tuple(counts.values()),
            tuple(charge for entry in unrecorded for charge in entry.charges.values()),
            sum(entry.n_rows for entry in entries if entry.sequence in texts),
        )

    @property
    def delta(self) -> float:
        """Approximation delta of the other releases."""
        return sum(float(charge.delta) for charge in self.charges)

    def other_cost(self, order: float) -> float:
        """Bound the cost of the other releases at a Renyi order."""
        return sum(_at_order(charge, order) for charge in self.charges)

    def margin(self, order: float) -> Margin:
        """Make the link between costs and margins at a Renyi order."""
        return Margin(
            tuple(GapCosts.from_move(move, n_votes, order) for move, n_votes in self.moves),
            tuple(int(counts.sum()) for counts in self.gap_counts),
        )


def _at_order(charge: Cost, order: float) -> float:
    """Convert a charge to a divergence at a Renyi order."""
    if isinstance(charge, GaussianCost):
        return float(order * charge.mu2 / 2)
    return float(charge.at(order))
