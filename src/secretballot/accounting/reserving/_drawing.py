"""Rows that were paid for before, as they are drawn: here, or by an aggregator among parties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._errors import BudgetExceededError
from secretballot._numbers import check_integer
from secretballot.accounting._notes import check_note, told_of
from secretballot.accounting._protocol import ReleaseMechanism, describe, row_laws
from secretballot.accounting.pricing import answered_rows
from secretballot.accounting.reserving._reservation import Reservation
from secretballot.accounting.reserving._reserving import Reserving
from secretballot.divergences import check_groups
from secretballot.ledger import HeldInterrupts, LedgerEntry, Reserved, Transaction, to_json


class Drawing(Reserving):
    """How rows of a reservation are recorded, once they are drawn."""

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

        Parties that vote together pay for one outcome, each from its own budget. Each reserves
        the rows; an aggregator draws them once, when all have; then each records that they are
        drawn, and may `settle`. Nothing is drawn or charged here.

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
        ValueError
            If that many are not left, or the reservation was settled. Nothing was recorded.
        """
        check_integer("n_rows", n_rows)
        n_rows = int(n_rows)
        if n_answers is not None:
            check_integer("n_answers", n_answers, least=0, most=n_rows)
            n_answers = int(n_answers)
        told = to_json(check_note(note), "note")
        self.reserved(reservation)

        def draw(transaction: Transaction) -> None:
            *_, last = transaction.reservation(reservation.id)
            state = self._open(last.reservation)
            _check_rows(state, n_rows)
            used = 0
            if state.answers_left is not None:
                used = n_rows if n_answers is None else n_answers
                if used > state.answers_left:
                    raise ValueError(
                        f"n_answers={used}: the reservation has {state.answers_left} answers left."
                    )
            entry = LedgerEntry(
                mechanism=to_json(describe(reservation.mechanism), "mechanism.describe()"),
                n_rows=n_rows,
                scope_id=reservation.scope.id,
                scope_epsilon=reservation.scope.epsilon,
                seeded=bool(seeded),
                note=told,
                charges={},
            )
            transaction.append(entry.drawing(state.drawn(n_rows, used), n_rows))

        self._ledger.transact(draw, reservation.scope.id)

    def _draw(
        self,
        reservation: Reservation,
        mechanism: ReleaseMechanism,
        n_columns: int | None,
        entry: LedgerEntry,
        outcome: NDArray[Any],
        note: Mapping[str, Any] | Callable[[NDArray[Any]], Mapping[str, Any]] | None,
        interrupts: HeldInterrupts,
    ) -> tuple[int, BaseException | None]:
        """Record the rows of an outcome that are paid for.

        Returns
        -------
        n_begun, fault : int and BaseException or None
            The number of rows, and why the note could not be kept.
        """

        def draw(transaction: Transaction) -> tuple[int, BaseException | None]:
            *_, last = transaction.reservation(reservation.id)
            state = self._open(last.reservation)
            _check_rows(state, len(outcome))
            # Again: another process may have drawn meanwhile, and these are other rows now.
            rows = state.rows, state.rows + len(outcome)
            reservation.check_draw(mechanism, n_columns, entry.scope_id, rows)
            begun, used = len(outcome), 0
            if state.answers_left is not None:
                # A row is begun while there is an answer left for it.
                drawn = answered_rows(mechanism, outcome).cumsum()
                begun = min(int(np.searchsorted(drawn, state.answers_left)) + 1, len(drawn))
                used = int(drawn[begun - 1])
            told, fault = told_of(note, outcome[:begun])
            done = replace(entry, note=to_json(told, "note"))
            transaction.append(done.drawing(state.drawn(begun, used), begun))
            return begun, fault

        return self._ledger.transact(draw, entry.scope_id, interrupts=interrupts)

    def _check_draw(
        self,
        reservation: Reservation,
        mechanism: ReleaseMechanism,
        n_columns: int | None,
        scope_id: str | None,
        n_rows: int,
    ) -> None:
        """Refuse what was not paid for, before anything is drawn."""
        groups = row_laws(mechanism, n_columns) or mechanism.max_cost(n_columns)
        check_groups(groups, self._ledger.budget.names, "the mechanism")
        state = self._open(self.reserved(reservation))
        _check_rows(state, n_rows)
        rows = state.rows, state.rows + n_rows
        reservation.check_draw(mechanism, n_columns, scope_id, rows)


def _check_rows(state: Reserved, n_rows: int) -> None:
    if state.rows_left == 0 or state.answers_left == 0:
        what = "answers" if state.rows_left else "rows"
        raise BudgetExceededError(
            f"The reservation has no {what} left. Nothing was released or recorded; "
            "accountant.top_up() pays for more."
        )
    if n_rows > state.rows_left:
        raise ValueError(
            f"counts has {n_rows} rows, and the reservation has {state.rows_left} left. Nothing "
            "was released or recorded; ask for fewer, or pay for more with accountant.top_up()."
        )
