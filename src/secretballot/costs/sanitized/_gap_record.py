"""Private record of known votes: how many releases of a move had which gap."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.costs._confident_max import ConfidentMax
from secretballot.costs._groups import EVERYONE
from secretballot.costs._law import Law, PlannedMechanism
from secretballot.costs._moves import Move, NoisyBit, NoisyMax
from secretballot.costs._orders import Floats

#: Moves that have gap costs, by the name that stands for them in a record.
_MOVES: dict[str, type[Move]] = {kind.__name__: kind for kind in (NoisyBit, NoisyMax, ConfidentMax)}


@dataclass(frozen=True, eq=False)
class GapRecord:
    """Number of releases of one move by the gap of their votes, in whole ballots.

    The last number includes wider gaps.
    """

    move: Move
    gap_counts: NDArray[np.int64]


def record_gaps(
    mechanism: PlannedMechanism, votes: NDArray[Any], outcome: NDArray[Any], n_columns: int | None
) -> list[GapRecord] | None:
    """Count the gaps of released rows; None if their cost is not a sum over gaps.

    It is such a sum if every row has equally many ballots of weight 1, everyone pays alike, and no
    step depends on another's outcome (a threshold without a public number of votes, a hierarchy).
    """
    if not hasattr(mechanism, "laws") or votes.dtype.names is not None:
        return None
    laws = mechanism.laws(n_columns)
    state, executed = mechanism.state(votes), mechanism.executed(outcome)
    if set(laws) != {EVERYONE} or not state:
        return None
    law = laws[EVERYONE]
    if any(step.times != 1 or step.delta or step.after or not step.move.gap_shift for step in law):
        return None
    if getattr(mechanism, "hierarchy", None) or any((executed[s.name] != 1).any() for s in law):
        return None
    n_votes = _votes_per_row(law, state)
    if n_votes is None:
        return None
    counts: dict[Move, NDArray[np.int64]] = {}
    for step in law:
        was_begun = executed[step.name] > 0
        gaps = np.floor(step.move.gaps(state[step.name][was_begun])).astype(np.int64)
        counted = np.bincount(np.minimum(gaps, n_votes), minlength=n_votes + 1)
        counts[step.move] = counts.get(step.move, 0) + counted
    return [GapRecord(move, gap_counts) for move, gap_counts in counts.items()]


def _votes_per_row(law: Law, state: Mapping[str, Floats]) -> int | None:
    """Count the ballots of each row; None if rows differ, or ballots are not whole."""
    totals: set[float] = set()
    for counts in (state[step.name] for step in law):
        if counts.ndim > 1:  # gaps don't tell
            if (counts != np.floor(counts)).any():
                return None
            totals |= set(counts.sum(axis=1).tolist())
    return int(totals.pop()) if len(totals) == 1 else None


def dump_gap_records(records: list[GapRecord]) -> str:
    """Serialise records as JSON; the text is as private as the votes."""
    return json.dumps(
        [
            {
                "move": {"kind": type(record.move).__name__, **asdict(record.move)},  # type: ignore[call-overload]
                "gap_counts": record.gap_counts.tolist(),
            }
            for record in records
        ]
    )


def load_gap_records(text: str) -> list[GapRecord]:
    """Read records that `dump_gap_records` wrote."""
    records = []
    for record in json.loads(text):
        fields = dict(record["move"])
        move = _MOVES[fields.pop("kind")](**fields)
        records.append(GapRecord(move, np.array(record["gap_counts"], dtype=np.int64)))
    return records
