"""Rows that are paid for before they are drawn: reserved, topped up, settled."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from secretballot._numbers import check_integer
from secretballot._sizes import MOST_ROWS, check_size
from secretballot.accounting._budget_handle import BudgetHandle
from secretballot.accounting._limits import Limits
from secretballot.accounting._notes import COLUMNS, check_note
from secretballot.accounting._protocol import ReleaseMechanism, check_mechanism, describe
from secretballot.accounting.pricing import PricedRows, Pricing, Span, pricing_for
from secretballot.accounting.reserving._reservation import Reservation
from secretballot.divergences import Cost
from secretballot.ledger import (
    LedgerEntry,
    Reserved,
    Scope,
    Transaction,
    check_cap,
    is_text,
    to_json,
)


class Reserving(BudgetHandle):
    """What can be paid for, and given back, without drawing anything."""

    def reserve(
        self,
        mechanism: ReleaseMechanism,
        n_rows: int,
        *,
        n_columns: int | None = None,
        n_answers: int | None = None,
        scope: Scope | None = None,
        note: Mapping[str, Any] | None = None,
    ) -> Reservation:
        """Pay for rows before they are drawn, by any number of calls, fits and processes.

        Draw them with ``release(mechanism, counts, reservation=)``, in order, and give back what
        was not needed with `settle`. Until then all of it counts as spent.

        In a Gaussian budget the rows are one plan, however many calls draw them: fifty batches of
        twenty rows cost what one of a thousand does. Where the budget counts a Renyi order, it
        costs nothing to reserve rows, and nothing is gained.

        Parameters
        ----------
        mechanism : mechanism
            What will be drawn with, or what tells more than that.
        n_rows : int
            The most rows that may be begun.
        n_columns : int, default=None
            Columns of the counts (classes), where the price depends on it; None: any number.
        n_answers : int, default=None
            Behind a threshold, the most rows that may be answered; None: all of them. Where pairs
            (epsilon, delta) are counted, answers are not paid for apart.
        scope : Scope, default=None
            The part of the run that pays; draws may be part of others. None: one of its own.
        note : dict, default=None
            Public facts to keep with it in the ledger.

        Returns
        -------
        Reservation

        Raises
        ------
        BudgetExceededError
            If the rows don't fit; nothing was reserved.
        ValueError
            If `n_rows` or `n_answers` is no number of rows, or the rows can't be drawn apart.
        CompletedInterrupt
            Ctrl-C came when the reservation was recorded already; `answer` is the reservation.
        """
        check_mechanism(mechanism, self.relation)
        check_size(n_rows, n_columns)
        if scope is None:
            # What comes back has to come back from somewhere: parts of levels add up by scope.
            scope = Scope.create(None, self._ledger.budget.names, self._ledger.genesis)
        n_rows = int(n_rows)
        columns = {} if n_columns is None else {COLUMNS: n_columns}
        if mechanism.rows == "parallel":
            raise ValueError(
                f"mechanism={mechanism!r} releases all its rows at once, so there is nothing to "
                "draw later; release it."
            )
        pricing, limits = self._pricing(mechanism, n_rows, n_columns, scope)
        if n_answers is not None:
            check_integer("n_answers", n_answers, most=n_rows)
            if not pricing.has_threshold:
                raise ValueError(
                    f"n_answers={n_answers} needs a mechanism with a threshold, and a budget that "
                    "pays for thresholds and answers apart (not order=inf); leave it out."
                )
            n_answers = int(n_answers)
        elif pricing.has_threshold:
            n_answers = n_rows
        reservation = Reservation(
            id=uuid.uuid4().hex,
            mechanism=mechanism,
            n_columns=n_columns,
            scope=scope,
            ledger=self._ledger.genesis,
        )
        state = Reserved.first(reservation.id, (n_rows, n_answers))
        told = {**check_note(note), **columns}
        span = Span((0, n_rows), None if n_answers is None else (0, n_answers))
        pricing.price(self._ledger.totals(limits.scope_id), span)

        def record(transaction: Transaction) -> Reservation:
            paid = pricing.price(transaction.totals, span)
            transaction.append(self._entry(reservation, state, paid, told))
            return reservation

        return self._ledger.transact(record, limits.scope_id)

    def price(
        self,
        mechanism: ReleaseMechanism,
        n_rows: int = 1,
        *,
        n_columns: int | None = None,
        scope: Scope | None = None,
    ) -> float | dict[str, float]:
        """Return which share of the whole budget rows would take now, and spend nothing.

        Parameters
        ----------
        mechanism, n_rows, n_columns, scope
            As for `reserve`, which charges as much.

        Returns
        -------
        float or dict of str to float
            Between 0 and 1; per level if epsilon was given per level.

        Raises
        ------
        BudgetExceededError
            If the rows don't fit.
        """
        check_mechanism(mechanism, self.relation)
        check_size(n_rows, n_columns)
        pricing, limits = self._pricing(mechanism, n_rows, n_columns, scope)
        span = Span((0, n_rows), (0, n_rows) if pricing.has_threshold else None)
        totals = self._ledger.totals(limits.scope_id)
        return self._shares(dict(pricing.price(totals, span)))

    def top_up(
        self, reservation: Reservation, *, n_rows: int = 0, n_answers: int | None = None
    ) -> None:
        """Pay for more rows, or for more answers behind a threshold, of a reservation.

        They are a plan of their own: twice fifty rows cost more than a hundred.

        Parameters
        ----------
        reservation : Reservation
        n_rows : int, default=0
        n_answers : int, default=None
            As for `reserve`; 0 where answers are counted.

        Raises
        ------
        BudgetExceededError
            If they don't fit; nothing was reserved.
        ValueError
            If the reservation was settled, or there is nothing to pay for.
        """
        before = self.reserved(reservation)
        counted = before.answers_left is not None
        check_integer("n_rows", n_rows, least=0, most=MOST_ROWS)
        if n_answers is not None and not counted:
            raise ValueError(f"n_answers={n_answers}: this reservation doesn't count answers.")
        check_integer("n_answers", 0 if n_answers is None else n_answers, least=0, most=MOST_ROWS)
        n_rows, n_answers = int(n_rows), None if n_answers is None else int(n_answers)
        if not n_rows and not n_answers:
            raise ValueError("n_rows=0 and no n_answers: there is nothing to pay for.")
        answers = (n_answers or 0) if counted else None
        done = sum(n for n, _ in before.plans)
        pricing, limits = self._pricing(
            reservation.mechanism, done + n_rows, reservation.n_columns, reservation.scope
        )

        def record(transaction: Transaction) -> None:
            *_, last = transaction.reservation(reservation.id)
            state = self._open(last.reservation)
            done = sum(n for n, _ in state.plans)
            span = Span((done, done + n_rows), None if answers is None else (0, answers))
            paid = pricing.price(transaction.totals, span)
            more = state.extended(n_rows, answers)
            transaction.append(self._entry(reservation, more, paid, {}))

        self._ledger.transact(record, limits.scope_id)

    def settle(self, reservation: Reservation) -> None:
        """Close a reservation, and give back what was not drawn.

        Rows that were charged one by one come back in full, and so do the answers of rows that
        failed their threshold; of a plan in a Gaussian budget the mu^2 that a plan of the unused
        rows tells at the least (a little less than was paid for them, and no delta); of a plan
        that was paid as a pair (epsilon, delta) nothing. A plan of which no row was begun comes
        back in full.

        When to settle must be decided by what was released, and by public facts alone.

        Parameters
        ----------
        reservation : Reservation

        Raises
        ------
        ValueError
            If it was settled before; nothing is given back again.
        """
        plans = self.reserved(reservation).plans
        pricing, limits = self._pricing(
            reservation.mechanism,
            sum(n for n, _ in plans),
            reservation.n_columns,
            reservation.scope,
        )

        def record(transaction: Transaction) -> None:
            *paid, last = transaction.reservation(reservation.id)
            state = self._open(last.reservation)
            if state.plans != plans:
                raise ValueError("the reservation was topped up meanwhile; settle it again.")
            back = _refunds(pricing, state, paid)
            transaction.append(self._entry(reservation, state.settled(), back, {}))

        self._ledger.transact(record, limits.scope_id)

    def reserved(self, reservation: Reservation) -> Reserved:
        """Return how a reservation stands: `rows_left`, `answers_left`, `is_settled`."""
        if not isinstance(reservation, Reservation):
            raise TypeError(f"reservation={reservation!r} must come from accountant.reserve().")
        if reservation.ledger != self._ledger.genesis:
            raise ValueError(
                f"reservation={reservation!r} was paid from another ledger than this accountant's."
            )
        entries = self._ledger.reservation(reservation.id)
        if not entries or entries[-1].reservation is None:
            raise ValueError(f"reservation={reservation!r} is not in the ledger.")
        # What was paid for is what the ledger says, never what the handle does.
        mine, paid = self._entry(reservation, entries[0].reservation, {}, {}), entries[0]
        if (mine.mechanism, mine.scope_id) != (paid.mechanism, paid.scope_id) or json.loads(
            paid.note
        ).get(COLUMNS) != reservation.n_columns:
            raise ValueError(
                f"reservation={reservation!r} was changed: the ledger has it for "
                f"{paid.mechanism}. Nothing was released or spent; use the one that "
                "accountant.reserve() returned, or accountant.resume()."
            )
        return entries[-1].reservation

    def resume(self, id: str, mechanism: ReleaseMechanism) -> Reservation:
        """Return a reservation of which only the ledger is left, after a crash say.

        Parameters
        ----------
        id : str
            What the ledger calls it (``secretballot ledger export`` shows it).
        mechanism : mechanism
            The one that was reserved.

        Raises
        ------
        ValueError
            If there is no such reservation, or it is for another mechanism.
        """
        entries = self._ledger.reservation(id) if is_text(id) else []
        if not entries:
            raise ValueError(f"id={id!r} is no reservation of this ledger.")
        first = entries[0]
        if to_json(describe(mechanism), "mechanism.describe()") != first.mechanism:
            raise ValueError(
                f"mechanism={mechanism!r} is not what was reserved: {first.mechanism}."
            )
        assert first.scope_id is not None
        scope = Scope(first.scope_id, first.scope_epsilon, self._ledger.genesis)
        return Reservation(
            id=id,
            mechanism=mechanism,
            n_columns=json.loads(first.note).get(COLUMNS),
            scope=scope,
            ledger=self._ledger.genesis,
        )

    def _pricing(
        self,
        mechanism: ReleaseMechanism,
        n_rows: int,
        n_columns: int | None,
        scope: Scope | None,
    ) -> tuple[Pricing, Limits]:
        limits = self._limits(scope)
        priced = PricedRows(mechanism=mechanism, n_rows=n_rows, n_columns=n_columns)
        return pricing_for(limits, priced), limits

    def _limits(self, scope: Scope | None) -> Limits:
        if scope is not None and not isinstance(scope, Scope):
            raise TypeError(f"scope={scope!r} must be None or come from accountant.scope().")
        if scope is not None and scope.ledger not in ("", self._ledger.genesis):
            raise ValueError(
                f"scope={scope!r} belongs to another ledger than this accountant's. Two budgets "
                "for one data set add up: go on with the accountant that made the scope (the one "
                "that the ensemble was fitted with)."
            )
        if scope is not None:
            check_cap(scope.epsilon, self._ledger.budget.names)
        return Limits(self._ledger.budget, scope)

    @staticmethod
    def _open(state: Reserved | None) -> Reserved:
        assert state is not None
        if state.is_settled:
            raise ValueError(
                "the reservation was settled, and what was left of it given back. Nothing was "
                "released or spent; make another one with accountant.reserve()."
            )
        return state

    @staticmethod
    def _entry(
        reservation: Reservation,
        state: Reserved | None,
        charges: Mapping[str, Cost],
        note: Any,
    ) -> LedgerEntry:
        scope = reservation.scope
        return LedgerEntry(
            mechanism=to_json(describe(reservation.mechanism), "mechanism.describe()"),
            n_rows=0,
            scope_id=scope.id,
            scope_epsilon=scope.epsilon,
            seeded=False,
            note=to_json(note, "note"),
            charges=charges,
            reservation=state,
        )


def _refunds(pricing: Pricing, state: Reserved, paid: list[LedgerEntry]) -> dict[str, Cost]:
    """Return what comes back of each plan, added up."""
    before, refunds = (0, 0), dict[str, Cost]()
    for plan, entry in zip(state.plans, paid, strict=True):
        span = _undrawn(plan, before, (state.rows, state.answers))
        back = entry.charges if span is None else pricing.refund(span, entry.charges)
        for group, cost in back.items():
            refunds[group] = refunds[group] + cost if group in refunds else cost
        before = before[0] + plan[0], before[1] + (plan[1] or 0)
    return refunds


def _undrawn(
    plan: tuple[int, int | None], before: tuple[int, int], drawn: tuple[int, int]
) -> Span | None:
    """Return the rows and answers of a plan that were not drawn; None if none were drawn.

    `before` counts the rows and answers of earlier plans, `drawn` those of all plans.
    """
    n_rows, n_answers = plan
    rows, answers = (max(done - start, 0) for done, start in zip(drawn, before, strict=True))
    if rows == 0 and (answers == 0 or n_answers is None):
        return None
    span = (before[0] + min(rows, n_rows), before[0] + n_rows)
    return Span(span, None if n_answers is None else (min(answers, n_answers), n_answers))
