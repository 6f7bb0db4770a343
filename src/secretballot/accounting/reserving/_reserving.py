"""Rows that are paid for before they are drawn: reserved, topped up, settled."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from secretballot._base._numbers import check_integer, number_of_rows, quoted
from secretballot._base._sizes import MOST_ROWS, check_size
from secretballot.accounting._budget_handle import BudgetHandle
from secretballot.accounting._notes import COLUMNS, check_note
from secretballot.accounting._protocol import ReleaseMechanism, check_mechanism, describe
from secretballot.accounting.pricing import Pricing, Span
from secretballot.accounting.reserving._reservation import Reservation
from secretballot.accounting.reserving._reservation_entry import (
    append_payments,
    check_prices,
    check_rows_left,
    open_state,
    reservation_entry,
    sum_refunds,
)
from secretballot.ledger._budget import Scope, is_text
from secretballot.ledger._encoding import to_json
from secretballot.ledger._reserved import Reserved
from secretballot.ledger._transaction import Transaction


class Reserving(BudgetHandle):
    """Handle on a budget that pays for rows beforehand, and draws nothing."""

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
        twenty rows cost what one of a thousand does. At a Renyi order nothing is gained or lost.

        Parameters
        ----------
        mechanism : mechanism
            What will be drawn with, or what tells more than that.
        n_rows : int
            The most rows that may be begun.
        n_columns : int, default=None
            Columns of the counts (classes), where the price depends on it; None: any number.
        n_answers : int, default=None
            Behind a threshold, the most rows that may be answered; None: all of them.
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
        n_rows = number_of_rows("n_rows", n_rows)
        check_size(n_rows, n_columns)
        n_rows = int(n_rows)
        if mechanism.rows == "parallel":
            raise ValueError(
                f"mechanism={mechanism!r} releases all its rows at once, so there is nothing to "
                "draw later; release it."
            )
        # The refund needs a scope that was charged: parts of levels add up by scope.
        scope = self.scope() if scope is None else scope
        pricing = self._pricing(mechanism, n_rows, n_columns, scope)
        if n_answers is not None:
            check_integer("n_answers", n_answers, most=n_rows)
            if not pricing.has_threshold:
                raise ValueError(
                    f"n_answers={n_answers} needs a mechanism with a threshold; leave it out."
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
        facts = check_note(note)
        if n_columns is not None:
            facts[COLUMNS] = n_columns
        span = Span((0, n_rows), None if n_answers is None else (0, n_answers))
        pricing.price(self._ledger.totals(scope.id), span)  # before others have to wait

        def record(transaction: Transaction) -> Reservation:
            append_payments(transaction, reservation, pricing, span, facts)
            return reservation

        return self._ledger.transact(record, scope.id)

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
        counts_answers = before.answers_left is not None
        check_integer("n_rows", n_rows, least=0, most=MOST_ROWS)
        check_integer("n_answers", n_answers or 0, least=0, most=MOST_ROWS)
        if n_answers is not None and not counts_answers:
            raise ValueError(f"n_answers={n_answers}: this reservation doesn't count answers.")
        if not n_rows and not n_answers:
            raise ValueError("n_rows=0 and no n_answers: there is nothing to pay for.")
        n_rows, answers = int(n_rows), int(n_answers or 0) if counts_answers else None
        pricing = self._pricing_of(reservation, before.n_rows + n_rows)

        def record(transaction: Transaction) -> None:
            state = open_state(transaction, reservation)
            rows = (state.n_rows, state.n_rows + n_rows)
            span = Span(rows, None if answers is None else (0, answers))
            append_payments(transaction, reservation, pricing, span, state=state)

        self._ledger.transact(record, reservation.scope.id)

    def settle(self, reservation: Reservation) -> None:
        """Close a reservation, and give back what was not drawn.

        Rows that were charged one by one come back in full, and so do the answers of rows that
        failed their threshold, and plans of which no row was begun. Of a plan in a Gaussian budget
        the mu^2 of the unused rows comes back, a little less than was paid for them, and no delta.

        When to settle must be decided by what was released, and by public facts alone.

        Parameters
        ----------
        reservation : Reservation

        Raises
        ------
        ValueError
            If it was settled before.
        """
        before = self.reserved(reservation)
        pricing = self._pricing_of(reservation, before.n_rows)

        def record(transaction: Transaction) -> None:
            state = open_state(transaction, reservation)
            if state.plans != before.plans:
                raise ValueError("the reservation was topped up meanwhile; settle it again.")
            *payments, _ = transaction.reservation(reservation.id)
            refunds = sum_refunds(pricing, state, payments)
            transaction.append(reservation_entry(reservation, state.settled(), refunds))

        self._ledger.transact(record, reservation.scope.id)

    def record(
        self,
        reservation: Reservation,
        n_rows: int,
        *,
        n_answers: int | None = None,
        seeded: bool = False,
        note: Mapping[str, Any] | None = None,
    ) -> None:
        """Record rows of a reservation that were drawn elsewhere: once, for several parties.

        Parties that vote together pay for one outcome, each from its own budget: each reserves the
        rows, an aggregator draws them once, and each records that. Nothing is drawn or charged
        here.

        Parameters
        ----------
        reservation : Reservation
        n_rows : int
            How many of its rows were begun.
        n_answers : int, default=None
            Behind a threshold, how many of them were answered; None: all of them.
        seeded : bool, default=False
            Whether they were drawn with reproducible noise, which protects nobody.
        note : dict, default=None
            Public facts to keep with it in the ledger.

        Raises
        ------
        BudgetExceededError
            If the reservation has no rows, or no answers, left. Nothing was recorded.
        ValueError
            If it has fewer left than that, or was settled. Nothing was recorded.
        """
        check_integer("n_rows", n_rows)
        n_rows = int(n_rows)
        if n_answers is not None:
            check_integer("n_answers", n_answers, least=0, most=n_rows)
            n_answers = int(n_answers)
        facts = check_note(note)
        self._to_be_drawn(reservation)

        def record(transaction: Transaction) -> None:
            state = open_state(transaction, reservation)
            check_rows_left(state, n_rows)
            answers = 0
            if state.answers_left is not None:
                answers = n_rows if n_answers is None else n_answers
                if answers > state.answers_left:
                    raise ValueError(
                        f"n_answers={answers}: the reservation has {state.answers_left} answers "
                        "left."
                    )
            entry = reservation_entry(reservation, state.drawn(n_rows, answers), {}, facts)
            transaction.append(replace(entry, n_rows=n_rows, seeded=bool(seeded)))

        self._ledger.transact(record, reservation.scope.id)

    def _pricing_of(self, reservation: Reservation, n_rows: int) -> Pricing:
        return self._pricing(
            reservation.mechanism, n_rows, reservation.n_columns, reservation.scope
        )

    def reserved(self, reservation: Reservation) -> Reserved:
        """Return the state of a reservation: `rows_left`, `answers_left`, `is_settled`."""
        if not isinstance(reservation, Reservation):
            raise TypeError(
                f"reservation={quoted(reservation)} must come from accountant.reserve()."
            )
        if reservation.ledger != self._ledger.genesis:
            raise ValueError(
                f"reservation={quoted(reservation)} was paid from another ledger than this "
                "accountant's."
            )
        entries = self._ledger.reservation(reservation.id) if is_text(reservation.id) else []
        if not entries or entries[-1].reservation is None:
            raise ValueError(f"reservation={quoted(reservation)} is not in the ledger.")
        # The ledger decides what was paid for, never the handle.
        first, expected = entries[0], reservation_entry(reservation, None, {})
        if (expected.mechanism, expected.scope_id, reservation.n_columns) != (
            first.mechanism,
            first.scope_id,
            json.loads(first.note).get(COLUMNS),
        ):
            raise ValueError(
                f"reservation={quoted(reservation)} was changed: the ledger has it for "
                f"{first.mechanism}. Nothing was released or spent; use the one that "
                "accountant.reserve() returned, or accountant.resume()."
            )
        return entries[-1].reservation

    def _to_be_drawn(self, reservation: Reservation) -> Reserved:
        """Return the state of a reservation; refuse one for whose rows next to nothing was paid.

        An entry by hand may say so: the ledger knows no prices. A plan costs a fifth of its rows,
        one by one, at least.
        """
        state = self.reserved(reservation)
        n_checked: dict[str, int] = vars(self).setdefault("_checked_plans", {})
        if n_checked.get(reservation.id) == len(state.plans) or reservation.mechanism.participation(
            1
        ):
            return state  # (prices of mechanisms with turns depend on the rows)
        pricing = self._pricing_of(reservation, 1)
        check_prices(pricing, self._ledger.reservation(reservation.id))
        n_checked[reservation.id] = len(state.plans)
        return state

    def resume(self, id: str, mechanism: ReleaseMechanism) -> Reservation:
        """Return a reservation of which only the ledger is left, after a crash say.

        Parameters
        ----------
        id : str
            What the ledger calls it (``secretballot ledger export --json FILE`` shows it).
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
        return Reservation(
            id=id,
            mechanism=mechanism,
            n_columns=json.loads(first.note).get(COLUMNS),
            scope=Scope(first.scope_id, first.scope_epsilon, self._ledger.genesis),
            ledger=self._ledger.genesis,
        )
