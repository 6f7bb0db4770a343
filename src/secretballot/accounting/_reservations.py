"""Reservations: rows that are paid for before they are drawn."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import BudgetExceededError, LedgerError
from secretballot._base._numbers import MOST_ROWS, check_integer, check_size, number_of_rows, quoted
from secretballot._base._objects import cached_property
from secretballot.accounting._budget_handle import BudgetHandle
from secretballot.accounting._notes import COLUMNS, check_note
from secretballot.accounting._pricing import (
    PricedRows,
    Pricing,
    RenyiPricing,
    Span,
    answered_rows,
)
from secretballot.accounting._protocol import (
    ReleaseMechanism,
    check_mechanism,
    describe,
    game_laws,
    new_entry,
    row_laws,
)
from secretballot.costs._cost import Cost
from secretballot.costs._groups import EVERYONE, Costs, check_groups, split_group
from secretballot.costs._law import Law
from secretballot.ledger._budget import Scope, is_text
from secretballot.ledger._entry import LedgerEntry, Reserved, to_json
from secretballot.ledger._ledger import Ledger, Transaction
from secretballot.ledger._totals import ReservationTotals

if TYPE_CHECKING:
    from secretballot.accounting._release_plan import ReleasePlan

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Rows that are paid for, to be drawn later; from `PrivacyAccountant.reserve`.

    It holds public facts alone; how many rows are left is in the ledger. Copies and pickles are the
    same reservation.

    Attributes
    ----------
    id : str
        Id of the reservation in the ledger.
    mechanism : mechanism
        Mechanism that was paid for. Draws may reveal less: more noise, fewer classes.
    n_columns : int or None
        Columns of the counts that were paid for; None: any number.
    scope : Scope
        The part of the run that pays.
    ledger : str
        Digest that identifies the ledger; no other ledger accepts the reservation.
    """

    id: str
    mechanism: ReleaseMechanism
    n_columns: int | None
    scope: Scope
    ledger: str = field(default="", repr=False)

    def __sklearn_clone__(self) -> Self:
        return self

    def check_draw(self, drawn: PricedRows, scope_id: str | None, first_row: int) -> None:
        """Refuse rows that reveal more than was paid for, or concern groups that did not pay.

        `first_row` is the number of rows that were drawn before.
        """
        mechanism, n_columns = drawn.mechanism, drawn.n_columns
        if mechanism is self.mechanism and self.n_columns in (None, n_columns):
            laws = row_laws(mechanism, n_columns)
            is_paid = bool(laws) and laws == row_laws(mechanism, self.n_columns)
            if is_paid and not mechanism.participation(1):
                return
        fault = next(self._faults(drawn, scope_id, first_row), None)
        if fault is not None:
            raise ValueError(
                f"mechanism={drawn.mechanism!r} can't be drawn on the reservation of "
                f"{self.mechanism!r}: {fault}. Nothing was released or recorded."
            )

    def _faults(self, drawn: PricedRows, scope_id: str | None, first_row: int) -> Iterator[str]:
        mechanism, n_columns = drawn.mechanism, drawn.n_columns
        laws, paid_laws = game_laws(mechanism, n_columns), game_laws(self.mechanism, self.n_columns)
        # The laws of some mechanisms don't depend on the columns.
        for_any = bool(paid_laws) and paid_laws == game_laws(self.mechanism, None)
        paid_columns = None if for_any else self.n_columns
        if paid_columns is not None and (n_columns is None or n_columns > paid_columns):
            yield f"its counts have {n_columns} columns, and {paid_columns} were paid for"
        participation = mechanism.participation(drawn.n_rows)
        paid_participation = {
            group: rows[first_row:]
            for group, rows in self.mechanism.participation(first_row + drawn.n_rows).items()
        }
        payers = {group: [group] for group in participation.keys() | paid_participation.keys()}
        if not laws or not paid_laws:
            # Mechanisms without laws are compared by their descriptions.
            descriptions = [to_json(describe(m), "") for m in (mechanism, self.mechanism)]
            if descriptions[0] != descriptions[1] or self.n_columns not in (None, n_columns):
                yield "it is not the same mechanism"
        else:
            payers = {group: _payers(group, list(paid_laws)) for group in laws}
            if _overlap(laws) and set(laws) != set(paid_laws):
                yield "some pay as two groups at once, and the reservation was paid by other groups"
            for group, law in laws.items():
                if not payers[group]:
                    yield f"it charges {group!r}, who did not pay"
                for payer in payers[group]:
                    yield from _undominated_steps(law, paid_laws[payer], group)
        all_rows = np.ones(drawn.n_rows, dtype=bool)
        for group, group_payers in payers.items():
            for payer in group_payers:
                paid_rows = paid_participation.get(payer, all_rows)
                if (participation.get(group, all_rows) & ~paid_rows).any():
                    yield f"{group!r} takes part in rows that {payer!r} did not pay for"
        if paid_participation and scope_id != self.scope.id:
            yield "parts of levels paid in another fit, where they are other people"


def _overlap(laws: Mapping[str, Law]) -> bool:
    """Test for people who are in two groups, and pay for both."""
    levels = {split_group(group)[0] for group in laws if split_group(group)[1]}
    return (EVERYONE in laws and len(laws) > 1) or any(level in laws for level in levels)


def _payers(group: str, paid: list[str]) -> list[str]:
    """Return the groups of a reservation that paid for the people of a group.

    The people of a level may be in any part of it: all of its parts have to have paid.
    """
    level = split_group(group)[0]
    for payer in (group, level, EVERYONE):
        if payer in paid:
            return [payer]
    return [payer for payer in paid if group == EVERYONE or split_group(payer)[0] == level]


def _undominated_steps(law: Law, paid: Law, group: str) -> Iterator[str]:
    """Describe the steps of a law that the law which was paid for does not dominate."""
    paid_steps = {step.name: step for step in paid}
    for step in law:
        paid_step = paid_steps.get(step.name)
        if paid_step is None or paid_step.after != step.after or step.times > paid_step.times:
            yield f"{step.name!r} of {group!r} was not paid for, or not as often"
        elif step.delta > paid_step.delta or not step.move.dominated_by(paid_step.move):
            yield f"{step.name!r} of {group!r} tells more than what was paid for"


#: A plan costs at least this share of the sum of its rows' single prices: 2 / pi for noisy
#: comparisons, a quarter for rows of pure differential privacy.
_LEAST_SHARE = 0.2


def check_open(state: Reserved) -> None:
    if state.is_settled:
        raise ValueError(
            "the reservation was settled, and what was left of it given back. Nothing was "
            "released or spent; make another one with accountant.reserve()."
        )


def check_rows_left(state: Reserved, n_rows: int, scope: Scope) -> None:
    cap = "the budget"
    for name, part in (("share", scope.share), ("epsilon", scope.epsilon)):
        cap = cap if part is None else f"{name}={part!r} of its fit"
    if state.rows_left == 0 or state.answers_left == 0:
        what = "answers" if state.rows_left else "rows"
        raise BudgetExceededError(
            f"The reservation has no {what} left. Nothing was released or recorded; "
            f"accountant.top_up() pays for more, as long as {cap} lasts."
        )
    if n_rows > state.rows_left:
        raise ValueError(
            f"counts has {n_rows} rows, and the reservation has {state.rows_left} left. Nothing "
            "was released or recorded; ask for fewer, or pay for more with accountant.top_up(), as "
            f"long as {cap} lasts."
        )


def check_prices(pricing: Pricing, payments: Sequence[LedgerEntry]) -> None:
    """Refuse payments below the least price of their rows, or answers."""
    price_of_one = [(span, pricing.unchecked_price(span)) for span in pricing.span(1).apart()]
    for entry in payments:
        assert entry.reservation is not None
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
    entry = new_entry(reservation.mechanism, reservation.scope, note or {})
    totals = transaction.totals(reservation.scope.id)
    for part, charges in pricing.payments(totals, span):
        plan = part.n_rows, part.n_answers
        state = state.extended(*plan) if state else Reserved(reservation.id, "reserve", (plan,))
        transaction.append(replace(entry, charges=charges, reservation=state))


def sum_refunds(pricing: Pricing, state: Reserved, payments: Sequence[LedgerEntry]) -> Costs:
    """Sum up the refunds of all plans that a reservation paid for.

    Each is capped at what the ledger accepts, which knows the rows that were not drawn, but not
    their prices.
    """
    before, refunds = 0, dict[str, Cost]()
    plans = zip(state.plans, state.undrawn(), state.refund_shares(), payments, strict=True)
    for plan, undrawn, share, payment in plans:
        paid = payment.charges
        refund = paid
        if undrawn != plan:
            (n_rows, n_answers), (rows, answers) = plan, undrawn
            end = before + n_rows
            counted = (
                None if n_answers is None or answers is None else (n_answers - answers, n_answers)
            )
            refund = pricing.refund(Span((end - rows, end), counted), paid)
        for group, cost in refund.items():
            if group not in paid:
                continue  # an entry by hand may have charged less
            part = cost.capped(share * paid[group])
            refunds[group] = refunds[group] + part if group in refunds else part
        before += plan[0]
    return refunds


class ReservedPayment:
    """Payment of a release from a reservation, in place of a `Pricing`."""

    note: Mapping[str, str] = {}
    keeps_private = False

    def __init__(
        self,
        handle: Reserving,
        reservation: Reservation,
        priced: PricedRows,
        scope_id: str | None,
    ) -> None:
        self._handle, self._reservation = handle, reservation
        self._priced, self._scope_id = priced, scope_id

    def admit(self) -> None:
        """Refuse rows that were not paid for, before they are drawn.

        A reservation that this handle has paid for, or drawn from, is looked up in the transaction
        alone.
        """
        handle, reservation = self._handle, self._reservation
        mechanism, n_columns = self._priced.mechanism, self._priced.n_columns
        if mechanism is not getattr(reservation, "mechanism", None):
            groups = row_laws(mechanism, n_columns) or mechanism.max_cost(n_columns)
            check_groups(groups, handle._ledger.budget.names, "the mechanism")
        id = getattr(reservation, "id", None)
        if not is_text(id) or id not in handle._checked_plans:
            self._state(handle._ledger)

    def observe(self, outcome: NDArray[Any]) -> None:
        self._outcome = outcome

    def record(self, transaction: Transaction, entry: LedgerEntry) -> LedgerEntry:
        """Add to the entry the number of rows that are begun: up to the last answer paid for."""
        state, n_rows, n_answers = self._state(transaction), self._priced.n_rows, 0
        if state.answers_left is not None:
            answers = answered_rows(self._priced.mechanism, self._outcome).cumsum()
            last_row = np.searchsorted(answers, state.answers_left)
            n_rows = min(int(last_row) + 1, len(answers))
            n_answers = int(answers[n_rows - 1])
        return replace(entry, n_rows=n_rows, reservation=state.drawn(n_rows, n_answers))

    def _state(self, ledger: Ledger | Transaction) -> Reserved:
        """Return the state of the reservation, which pays for these rows.

        What counts is the state in the transaction: others may have drawn before.
        """
        state = self._handle._drawable(self._reservation, ledger)
        check_rows_left(state, self._priced.n_rows, self._reservation.scope)
        self._reservation.check_draw(self._priced, self._scope_id, state.rows)
        return state


#: Reservation, its pricing, the rows to be paid for, and the note of their payment.
Purchase = tuple[Reservation, Pricing, Span, Mapping[str, Any]]


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
            Mechanism that will be drawn, or one that reveals more.
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
        # The refund needs a scope that was charged: parts of levels add up by scope.
        scope = self.scope() if scope is None else scope
        purchase = self._purchase(mechanism, n_rows, n_columns, n_answers, scope, note or {})
        return self._pay([purchase], purchase[0])

    def reserve_plan(
        self, plan: ReleasePlan, scope: Scope, note: Mapping[str, Any] | None = None
    ) -> dict[str, Reservation]:
        """Pay for all releases of a plan in one transaction: for all of them, or for none.

        Parameters
        ----------
        plan : ReleasePlan
        scope : Scope
            The part of the run that pays.
        note : dict, default=None
            Public facts to keep with each release in the ledger, beside those of the plan.

        Returns
        -------
        dict of str to Reservation
            By the name of the release.

        Raises
        ------
        BudgetExceededError
            If they don't fit together; nothing was reserved.
        CompletedInterrupt
            As of `reserve`.
        """
        purchases = dict[str, Purchase]()
        for release in plan:
            mechanism, n_rows, n_columns = release.mechanism, release.n_rows, release.n_columns
            words = {**(note or {}), **release.words}
            purchase = self._purchase(mechanism, n_rows, n_columns, None, scope, words)
            purchases[release.name] = purchase
        reservations = {name: purchase[0] for name, purchase in purchases.items()}
        return self._pay(purchases.values(), reservations)

    def _purchase(
        self,
        mechanism: ReleaseMechanism,
        n_rows: int,
        n_columns: int | None,
        n_answers: int | None,
        scope: Scope,
        note: Mapping[str, Any],
    ) -> Purchase:
        """Check rows that are to be reserved, and that they fit what is left."""
        check_mechanism(mechanism, self.relation)
        n_rows = number_of_rows("n_rows", n_rows)
        check_size(n_rows, n_columns)
        n_rows = int(n_rows)
        if mechanism.rows == "parallel":
            raise ValueError(
                f"mechanism={mechanism!r} releases all its rows at once, so there is nothing to "
                "draw later; release it."
            )
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
        pricing.prepare(span)  # before others have to wait
        return reservation, pricing, span, facts

    def _pay(self, purchases: Iterable[Purchase], answer: T) -> T:
        def record(transaction: Transaction) -> T:
            for reservation, pricing, span, note in purchases:
                append_payments(transaction, reservation, pricing, span, note)
                # What was just priced needs no check when it is drawn.
                self._checked_plans[reservation.id] = len(span.apart())
            return answer

        return self._ledger.transact(record)

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
        check_integer("n_rows", n_rows, least=0, most=MOST_ROWS)
        check_integer("n_answers", n_answers or 0, least=0, most=MOST_ROWS)
        if not n_rows and not n_answers:
            raise ValueError("n_rows=0 and no n_answers: there is nothing to pay for.")

        def record(transaction: Transaction) -> None:
            state = self._recorded(reservation, transaction).state
            check_open(state)
            answers = None
            if state.answers_left is not None:
                answers = (0, int(n_answers or 0))
            elif n_answers is not None:
                raise ValueError(f"n_answers={n_answers}: this reservation doesn't count answers.")
            most = state.n_rows + int(n_rows)
            pricing = self._pricing_of(reservation, most)
            span = Span((state.n_rows, most), answers)
            append_payments(transaction, reservation, pricing, span, state=state)

        self._ledger.transact(record)

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
        self._settle([reservation])

    def _settle(self, reservations: Iterable[Reservation], *, skips_settled: bool = False) -> None:
        """Close reservations in one transaction."""

        def record(transaction: Transaction) -> None:
            for reservation in reservations:
                paid = self._recorded(reservation, transaction)
                state = paid.state
                if skips_settled and state.is_settled:
                    continue
                check_open(state)
                pricing = self._pricing_of(reservation, state.n_rows)
                refunds = sum_refunds(pricing, state, paid.payments)
                entry = new_entry(reservation.mechanism, reservation.scope, {})
                entry = replace(entry, charges=refunds, reservation=state.settled())
                transaction.append(entry)

        self._ledger.transact(record)

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

        def record(transaction: Transaction) -> None:
            state = self._drawable(reservation, transaction)
            check_rows_left(state, n_rows, reservation.scope)
            answers = 0
            if state.answers_left is not None:
                answers = n_rows if n_answers is None else n_answers
                if answers > state.answers_left:
                    raise ValueError(
                        f"n_answers={answers}: the reservation has {state.answers_left} answers "
                        "left."
                    )
            entry = new_entry(reservation.mechanism, reservation.scope, facts)
            drawn = state.drawn(n_rows, answers)
            transaction.append(
                replace(entry, n_rows=n_rows, seeded=bool(seeded), reservation=drawn)
            )

        self._ledger.transact(record)

    def _pricing_of(self, reservation: Reservation, n_rows: int) -> Pricing:
        return self._pricing(
            reservation.mechanism, n_rows, reservation.n_columns, reservation.scope
        )

    def reserved(self, reservation: Reservation) -> Reserved:
        """Return the state of a reservation: `rows_left`, `answers_left`, `is_settled`."""
        return self._recorded(reservation, self._ledger).state

    def _recorded(
        self, reservation: Reservation, ledger: Ledger | Transaction
    ) -> ReservationTotals:
        """Return the payments and the state of a reservation; refuse one that was changed.

        The ledger decides what was paid for, never the handle.
        """
        if not isinstance(reservation, Reservation):
            raise TypeError(
                f"reservation={quoted(reservation)} must come from accountant.reserve()."
            )
        if reservation.ledger != self._ledger.genesis:
            raise ValueError(
                f"reservation={quoted(reservation)} was paid from another ledger than this "
                "accountant's."
            )
        paid = ledger.reservation(reservation.id) if is_text(reservation.id) else None
        if paid is None:
            raise ValueError(f"reservation={quoted(reservation)} is not in the ledger.")
        first, scope_id = paid.payments[0], getattr(reservation.scope, "id", None)
        mechanism = to_json(describe(reservation.mechanism), "mechanism.describe()")
        if (mechanism, scope_id, reservation.n_columns) != (
            first.mechanism,
            first.scope_id,
            json.loads(first.note).get(COLUMNS),
        ):
            raise ValueError(
                f"reservation={quoted(reservation)} was changed: the ledger has it for "
                f"{first.mechanism}. Nothing was released or spent; use the one that "
                "accountant.reserve() returned, or accountant.resume()."
            )
        return paid

    def _drawable(self, reservation: Reservation, ledger: Ledger | Transaction) -> Reserved:
        """Return the state of an open reservation; refuse one whose payment is far too small.

        An entry that was added by hand may have any payment, as the ledger knows no prices.
        """
        paid = self._recorded(reservation, ledger)
        n_plans = len(paid.payments)
        is_checked = self._checked_plans.get(reservation.id) == n_plans
        # (Prices of mechanisms with turns depend on the rows.)
        if not is_checked and not reservation.mechanism.participation(1):
            pricing = self._pricing_of(reservation, 1)
            if isinstance(pricing, RenyiPricing) and pricing.has_infinite_rows:
                raise LedgerError(
                    f"The reservation {reservation.id!r} was paid for as one plan at order=inf, "
                    "which was removed, and only the version that wrote it draws from it. Nothing "
                    "was released."
                )
            check_prices(pricing, paid.payments)
            self._checked_plans[reservation.id] = n_plans
        check_open(paid.state)
        return paid.state

    @cached_property
    def _checked_plans(self) -> dict[str, int]:
        """Number of plans of each reservation whose prices were checked, or paid, here."""
        return {}

    def resume(self, id: str, mechanism: ReleaseMechanism) -> Reservation:
        """Return a reservation by its id in the ledger, after a crash say.

        Parameters
        ----------
        id : str
            Id of the reservation (``secretballot ledger export --json FILE`` shows it).
        mechanism : mechanism
            The one that was reserved.

        Raises
        ------
        ValueError
            If there is no such reservation, or it is for another mechanism.
        """
        paid = self._ledger.reservation(id) if is_text(id) else None
        if paid is None:
            raise ValueError(f"id={id!r} is no reservation of this ledger.")
        first = paid.payments[0]
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
