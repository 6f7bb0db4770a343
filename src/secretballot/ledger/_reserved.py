"""Reservations in a ledger: rows that are paid for before they are drawn."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Self

Event = Literal["reserve", "draw", "settle"]

#: A long plan of noisy comparisons costs 2 / pi of the noisy numbers, which few rows of it may be
#: refunded as.
_LONG_PLAN = 2 / math.pi


@dataclass(frozen=True)
class Reserved:
    """State of a reservation after one of its entries."""

    id: str
    event: Event  # the entry pays for (more) rows, draws some, or ends it with a refund
    plans: tuple[
        tuple[int, int | None], ...
    ]  # of each payment: (rows, None), (rows, 0) or (0, answers)
    rows: int = 0  # drawn so far
    answers: int = 0

    @property
    def n_rows(self) -> int:
        """Rows that were paid for."""
        return sum(n_rows for n_rows, _ in self.plans)

    @property
    def rows_left(self) -> int:
        """Rows that may still be begun."""
        return self.n_rows - self.rows

    @property
    def answers_left(self) -> int | None:
        """Answers that may still be drawn; None where they are not counted."""
        counted = [n_answers for _, n_answers in self.plans if n_answers is not None]
        return sum(counted) - self.answers if counted else None

    @property
    def is_settled(self) -> bool:
        """True if the reservation has ended."""
        return self.event == "settle"

    def undrawn(self) -> Iterator[tuple[int, int | None]]:
        """Yield the rows, and answers if counted, of each plan that were not drawn."""
        rows, answers = self.rows, self.answers
        for n_rows, n_answers in self.plans:
            yield max(n_rows - rows, 0), None if n_answers is None else max(n_answers - answers, 0)
            rows, answers = max(rows - n_rows, 0), max(answers - (n_answers or 0), 0)

    def refund_shares(self) -> Iterator[float]:
        """Yield the most of each plan's payment that may come back, as a share.

        It is in proportion to the rows, or answers, that were not drawn, but for the difference
        between a plan and its rows: each row that was drawn keeps 2 / pi of its part at least, and
        all but a few keep their parts.
        """
        for plan, undrawn in zip(self.plans, self.undrawn(), strict=True):
            yield _most(sum(filter(None, undrawn)), sum(filter(None, plan)))

    def extended(self, n_rows: int, n_answers: int | None) -> Self:
        """Return the state after a payment for more rows and answers."""
        return replace(self, event="reserve", plans=(*self.plans, (n_rows, n_answers)))

    def drawn(self, n_rows: int, n_answers: int) -> Self:
        """Return the state after a draw of rows, and the answers among them."""
        return replace(
            self, event="draw", rows=self.rows + n_rows, answers=self.answers + n_answers
        )

    def settled(self) -> Self:
        """Return the state after the end of the reservation."""
        return replace(self, event="settle")

    def follows(self, before: Self | None, n_rows: int) -> bool:
        """Check that an entry with `n_rows` rows leads from the state before to this one."""
        if self.event == "reserve" and sum(map(bool, self.plans[-1])) != 1:
            return False  # rows and answers are paid for, and refunded, apart
        if before is None:
            return n_rows == 0 and len(self.plans) == 1 and self == self.first(self.id, *self.plans)
        if before.is_settled:
            return False
        if self.event == "settle":
            return n_rows == 0 and self == before.settled()
        if self.event == "reserve":
            return n_rows == 0 and self == before.extended(*self.plans[-1])
        answers, answers_left = self.answers - before.answers, self.answers_left
        return (
            0 < n_rows <= before.rows_left
            and 0 <= answers <= n_rows
            and (answers_left is None or answers_left >= 0)
            and self == before.drawn(n_rows, answers)
        )

    @classmethod
    def first(cls, id: str, plan: tuple[int, int | None]) -> Self:
        """Return the state of a new reservation."""
        return cls(id, "reserve", (plan,))

    def stored(self) -> tuple[str, Event, str]:
        """Return id, event, and plans and draws as JSON."""
        return self.id, self.event, json.dumps([self.plans, self.rows, self.answers])

    @classmethod
    def of_stored(cls, id: str, event: Event, state: str) -> Self:
        """Decode what `stored` returned."""
        plans, rows, answers = json.loads(state)
        numbers = [rows, answers, *(number for plan in plans for number in plan)]
        if not all(number is None or (type(number) is int and number >= 0) for number in numbers):
            raise ValueError("a reservation counts rows and answers")
        return cls(id, event, tuple((n, k) for n, k in plans), rows, answers)


def _most(undrawn: int, n: int) -> float:
    """Return the largest share of the price of `n` rows that may come back for some of them."""
    share = undrawn / n
    in_order = (undrawn + math.sqrt(undrawn)) / n
    return min(share / _LONG_PLAN, 1 - _LONG_PLAN * (1 - share), in_order)
