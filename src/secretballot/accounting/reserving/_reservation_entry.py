"""Entries of a reservation, its state, and its refunds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from secretballot._errors import BudgetExceededError
from secretballot.accounting._protocol import new_entry
from secretballot.accounting.pricing import Pricing, Span
from secretballot.accounting.reserving._reservation import Reservation
from secretballot.divergences import Cost, Costs
from secretballot.ledger import LedgerEntry, Reserved, Transaction


def open_state(transaction: Transaction, reservation: Reservation) -> Reserved:
    """Return the state of a reservation; ValueError if it was settled."""
    *_, last = transaction.reservation(reservation.id)
    assert last.reservation is not None
    check_open(last.reservation)
    return last.reservation


def check_open(state: Reserved) -> None:
    """Refuse a reservation that was settled."""
    if state.is_settled:
        raise ValueError(
            "the reservation was settled, and what was left of it given back. Nothing was "
            "released or spent; make another one with accountant.reserve()."
        )


def check_rows_left(state: Reserved, n_rows: int) -> None:
    """Refuse more rows than a reservation has left."""
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


def reservation_entry(
    reservation: Reservation,
    state: Reserved | None,
    charges: Costs,
    note: Mapping[str, Any] | None = None,
) -> LedgerEntry:
    """Return an entry that pays for rows of a reservation, draws some, or settles it."""
    entry = new_entry(reservation.mechanism, reservation.scope, note or {})
    return replace(entry, charges=charges, reservation=state)


def sum_refunds(pricing: Pricing, state: Reserved, payments: list[LedgerEntry]) -> Costs:
    """Sum up the refunds of all plans that a reservation paid for."""
    before, refunds = (0, 0), dict[str, Cost]()
    for plan, payment in zip(state.plans, payments, strict=True):
        span = _undrawn(plan, before, (state.rows, state.answers))
        refund = payment.charges if span is None else pricing.refund(span, payment.charges)
        for group, cost in refund.items():
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
