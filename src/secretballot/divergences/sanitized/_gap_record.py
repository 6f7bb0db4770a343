"""What is remembered of known votes for later: how many releases had which gap."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences._confident_max import ConfidentMax
from secretballot.divergences._groups import EVERYONE
from secretballot.divergences._law import Law, NoisyBit, NoisyMax, NoisyTop
from secretballot.divergences.sanitized._gap_costs import gaps_of, has_gap

_MOVES: dict[str, Any] = {
    kind.__name__: kind for kind in (NoisyBit, NoisyTop, NoisyMax, ConfidentMax)
}


class Voted(Protocol):
    """What has to be known of a mechanism."""

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the law of one row for each privacy group."""

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return what the exact cost of each step depends on, per row."""

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return how often each step of the law was begun in each row."""


@dataclass(frozen=True, eq=False)
class GapRecord:
    """How many releases of one move had which gap.

    Attributes
    ----------
    move : NoisyBit, NoisyMax or ConfidentMax
    gap_counts : ndarray of shape (n_votes + 1,)
        For each gap of whole ballots; the last stands for wider ones.
    """

    move: Any
    gap_counts: NDArray[np.int64]


def record_gaps(
    mechanism: Voted, votes: NDArray[Any], outcome: NDArray[Any], n_columns: int | None
) -> list[GapRecord] | None:
    """Return what is to be remembered of rows that were released.

    None where their cost is not a sum over gaps of whole ballots, as many on every row, which weigh
    the same and are everybody's, or where chance decides which steps are begun (a threshold without
    a public number of votes, a hierarchy): then the worst case is what can be said.
    """
    if not hasattr(mechanism, "laws") or votes.dtype.names is not None:
        return None
    laws = mechanism.laws(n_columns)
    state, executed = mechanism.state(votes), mechanism.executed(outcome)
    if set(laws) != {EVERYONE} or not state:
        return None
    law = laws[EVERYONE]
    # What is begun by chance, behind a threshold, has a cost that is no function of the votes.
    if any(step.times != 1 or step.delta or step.after or not has_gap(step.move) for step in law):
        return None
    if getattr(mechanism, "hierarchy", None) or any((executed[s.name] != 1).any() for s in law):
        return None
    n_votes = _number_of_votes(law, state)
    if n_votes is None:
        return None
    found: dict[Any, NDArray[np.int64]] = {}
    for step in law:
        begun = executed[step.name] > 0
        gaps = np.minimum(gaps_of(step.move, state[step.name][begun]), n_votes)
        counted = np.bincount(gaps, minlength=n_votes + 1)
        found[step.move] = found[step.move] + counted if step.move in found else counted
    return [GapRecord(move, gap_counts) for move, gap_counts in found.items()]


def _number_of_votes(law: Law, state: Mapping[str, NDArray[Any]]) -> int | None:
    """Return how many ballots each row has; None if not as many, or no whole ones."""
    found: set[float] = set()
    for step in law:
        if not isinstance(step.move, NoisyBit):
            counts = state[step.name]
            if (counts != np.floor(counts)).any():
                return None
            found |= set(counts.sum(axis=1).tolist())
    return int(found.pop()) if len(found) == 1 else None


def dump_gap_records(records: list[GapRecord]) -> str:
    """Write records down; they are as private as the votes."""
    return json.dumps(
        [
            {
                "move": {"kind": type(each.move).__name__, **asdict(each.move)},
                "gap_counts": each.gap_counts.tolist(),
            }
            for each in records
        ]
    )


def load_gap_records(text: str) -> list[GapRecord]:
    """Read records that `dump_gap_records` wrote."""
    found = []
    for each in json.loads(text):
        fields = dict(each["move"])
        kind = _MOVES[fields.pop("kind")]
        found.append(GapRecord(kind(**fields), np.array(each["gap_counts"], dtype=np.int64)))
    return found
