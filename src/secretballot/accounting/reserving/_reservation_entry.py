"""Entries of a reservation, its state, and its refunds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from secretballot._base._errors import BudgetExceededError, LedgerError
from secretballot.accounting._protocol import new_entry
from secretballot.accounting.pricing import Pricing, Span
from secretballot.accounting.reserving._reservation import Reservation
from secretballot.costs._cost import Cost
from secretballot.costs._groups import Costs
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._reserved import Reserved
from secretballot.ledger._transaction import Transaction

#: Least part of the prices of single rows that a plan of them costs: noisy comparisons cost 2 / pi,
#: purely private rows a quarter.
_LEAST_SHARE = 0.2


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


def check_prices(pricing: Pricing, entries: Sequence[LedgerEntry]) -> None:
    """Refuse plans whose payment is less than rows, or answers, cost at least."""
    price_of_one = [(span, pricing.unchecked_price(span)) for span in pricing.span(1).apart()]
    for entry in entries:
        if entry.reservation is None or entry.reservation.event != "reserve":
            continue
        n_rows, n_answers = entry.reservation.plans[-1]
        for span, price in price_of_one:
            n_priced = n_rows if span.n_rows else n_answers or 0
            for group, cost in price.items():
                least = (_LEAST_SHARE * n_priced) * cost
                paid = entry.charges.get(group)
                if n_priced and (paid is None or not least.amounts_at_most(paid)):
                    what = "rows" if span.n_rows else "answers"
                    raise LedgerError(
                        f"An entry of the reservation {entry.reservation.id!r} pays for {n_priced} "
                        f"{what}, and too little for {group!r}: somebody added it by hand. Nothing "
                        "was released. Its owner removes it, or make another reservation."
                    )


def append_payments(
    transaction: Transaction,
    reservation: Reservation,
    pricing: Pricing,
    span: Span,
    note: Mapping[str, Any] | None = None,
    *,
    state: Reserved | None = None,
) -> None:
    """Append an entry that pays for rows, and one that pays for the answers among them."""
    for part, charges in pricing.payments(transaction.totals, span):
        plan = part.n_rows, part.n_answers
        state = state.extended(*plan) if state else Reserved.first(reservation.id, plan)
        transaction.append(reservation_entry(reservation, state, charges, note))


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
    """Sum up the refunds of all plans that a reservation paid for.

    None is more than the ledger accepts, which knows the rows that were not drawn, not their price.
    """
    before, refunds = 0, dict[str, Cost]()
    plans = zip(state.plans, state.undrawn(), state.refund_shares(), payments, strict=True)
    for plan, undrawn, share, payment in plans:
        paid = payment.charges
        refund = paid if undrawn == plan else pricing.refund(_span(plan, undrawn, before), paid)
        for group, cost in refund.items():
            if group not in paid:
                continue  # an entry by hand may have charged less
            part = cost.capped(share * paid[group])
            refunds[group] = refunds[group] + part if group in refunds else part
        before += plan[0]
    return refunds


def _span(plan: tuple[int, int | None], undrawn: tuple[int, int | None], before: int) -> Span:
    """Return the last rows and answers of a plan, `before` which there are rows of others."""
    (n_rows, n_answers), (rows, answers) = plan, undrawn
    end = before + n_rows
    if n_answers is None or answers is None:
        return Span((end - rows, end))
    return Span((end - rows, end), (n_answers - answers, n_answers))
