"""What a budget kept for publication, and what it did not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting import PrivacyAccountant
from secretballot.divergences import Margin, gap_costs, load_gap_records
from secretballot.ledger import LedgerEntry


@dataclass(frozen=True)
class Kept:
    """What a ledger holds: the gaps of votes, by move, and all else at its worst case."""

    moves: tuple[tuple[Any, int], ...]  # with the number of votes
    gap_counts: tuple[NDArray[np.int64], ...]
    entries: tuple[LedgerEntry, ...]  # of which no votes were kept
    n_rows: int

    @classmethod
    def of(cls, accountant: PrivacyAccountant) -> Kept:
        """Read a ledger; ValueError if nothing can be published from it."""
        if accountant.accounting != "sanitized":
            raise ValueError(
                f"accounting={accountant.accounting!r}: only a budget that was opened with "
                "accounting='sanitized' keeps what can be published later."
            )
        if len(accountant.levels) > 1:
            raise ValueError("the budget has levels: what each did lose can't be published yet.")
        entries = accountant.entries()
        if any(entry.reservation is not None for entry in entries):
            raise ValueError("the budget has reservations: their rows can't be told apart yet.")
        if not entries:
            raise ValueError("nothing was released yet, so there is nothing to publish.")
        texts = accountant.private_records()
        found: dict[tuple[Any, int], NDArray[np.int64]] = {}
        for text in texts.values():
            for record in load_gap_records(text):
                key = record.move, len(record.gap_counts) - 1
                found[key] = record.gap_counts + found.get(key, 0)
        return cls(
            tuple(found),
            tuple(found.values()),
            tuple(entry for entry in entries if entry.sequence not in texts),
            sum(entry.n_rows for entry in entries if entry.sequence in texts),
        )

    @property
    def delta(self) -> float:
        """What other releases take of delta."""
        return sum(_delta_of(each) for entry in self.entries for each in entry.charges.values())

    def others(self, order: float) -> float:
        """Return what other releases cost at most."""
        return sum(_renyi(each, order) for entry in self.entries for each in entry.charges.values())

    def margin(self, order: float) -> Margin:
        """Return the margin of what was kept."""
        return Margin(
            tuple(gap_costs(move, n_votes, order) for move, n_votes in self.moves),
            tuple(int(each.sum()) for each in self.gap_counts),
        )


def _renyi(cost: Any, order: float) -> float:
    """Return a charge at a Renyi order: mu^2 is that of a normal law."""
    return float(order * cost.mu2 / 2 if hasattr(cost, "mu2") else cost.at(order))


def _delta_of(cost: Any) -> float:
    return float(cost.delta)
