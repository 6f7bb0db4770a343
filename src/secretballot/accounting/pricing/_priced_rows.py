"""Rows of one mechanism, as a budget prices them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting._protocol import ReleaseMechanism
from secretballot.costs._groups import EVERYONE, Costs, split_group
from secretballot.costs._split_plan import RowPart


@dataclass(frozen=True)
class Span:
    """Half-open ranges of rows, and of answers where a threshold is paid for apart."""

    rows: tuple[int, int]
    answers: tuple[int, int] | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.rows[1] - self.rows[0]

    @property
    def n_answers(self) -> int | None:
        """The number of answers; None where they are not paid for apart."""
        return None if self.answers is None else self.answers[1] - self.answers[0]

    def apart(self) -> list[Span]:
        """Return the rows, and the answers behind their threshold, as spans of their own."""
        if self.answers is None:
            return [self]
        rows, answers = Span(self.rows, (0, 0)), Span((self.rows[1],) * 2, self.answers)
        return [span for span in (rows, answers) if span.n_rows or span.n_answers]

    def __iter__(self) -> Iterator[tuple[RowPart, int, int]]:
        if self.answers is None:
            yield "rows", *self.rows
        else:
            yield "thresholds", *self.rows
            yield "answers", *self.answers


@dataclass(frozen=True, kw_only=True)
class PricedRows:
    """Rows of one mechanism that are to be priced."""

    mechanism: ReleaseMechanism
    n_rows: int
    n_columns: int | None = None  # None: any number
    votes: NDArray[Any] | None = None  # known votes, at a Renyi order; None: the worst case

    @property
    def is_parallel(self) -> bool:
        """True where the rows are disjoint people, who are all charged at once."""
        return self.mechanism.rows == "parallel"

    def max_cost(self, *, order: float | None = None) -> Costs:
        """Compute the most that a row can cost, for each group."""
        return self.mechanism.max_cost(self.n_columns, order=order)

    def turns(self, group: str, span: Span) -> int:
        """Count the rows of a span in which a group takes part; parallel rows count as one."""
        if self.is_parallel:
            return 1
        start, stop = span.rows
        rows = self.mechanism.participation(stop).get(group, np.ones(stop, dtype=bool))
        return int(rows[start:].sum())

    def own_deltas(self, n_rows: int) -> dict[str, float]:
        """Compute the delta that rows have whatever their noise, for each group."""
        return {
            group: self.turns(group, Span((0, n_rows))) * float(np.max(cost.delta))
            for group, cost in self.max_cost(order=2.0).items()
        }

    def own_delta_fault(self, n_rows: int, deltas_left: Mapping[str, float]) -> str:
        """Describe why rows' own deltas don't fit what each payer has left; "" if they do."""
        count = "one" if n_rows == 1 else n_rows
        for group, own_delta in self.own_deltas(n_rows).items():
            for payer, delta in deltas_left.items():
                pays = group == EVERYONE or split_group(group)[0] == split_group(payer)[0]
                if pays and own_delta > delta:
                    return (
                        f"Rows have a delta of their own, {own_delta:.3g} for {count}, and of what "
                        f"is left to {payer!r} only {max(delta, 0):.3g} may go to that"
                    )
        return ""
