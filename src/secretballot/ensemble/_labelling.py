"""Release of the labels of one fit, and the state that its releases share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import BudgetExceededError, CompletedInterrupt, warn
from secretballot._base._interrupts import HeldInterrupts
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._answers import epsilon_factor
from secretballot.accounting._reservations import Reservation
from secretballot.ensemble._ensemble_data import FitFacts
from secretballot.ensemble._mechanism_choice import check_charges, check_mechanism, default_vote
from secretballot.ensemble._private_labels import PrivateLabels
from secretballot.ensemble._public_rows import warn_types_learned
from secretballot.ensemble._votes import GroupVotes
from secretballot.ensemble.advice import (
    check_noise,
    too_few_rows,
    warn_costly_rows,
    warn_noise,
)
from secretballot.ledger._budget import Scope, by_level
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._counting import Counting
from secretballot.tables._fit_checks import warn_settings
from secretballot.tables._labels import warn_classes_learned
from secretballot.tables._people import check_unit
from secretballot.tables._randomness import Randomness

if TYPE_CHECKING:
    from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble


@dataclass
class Labelling:
    """Release of labels that the teachers of one fit vote for, without rows, votes or teachers.

    Parameters are read from the ensemble at each release: an accountant may be set after the fit.
    """

    facts: FitFacts
    randomness: Randomness
    scope: Scope | None = None  # of all releases of this fit; None until there is an accountant
    n_releases: int = 0
    n_begun: int = 0  # rows
    warned: bool = False
    reservation: Reservation | None = None  # of this fit
    plain_mechanism: Mechanism | None = None  # before individual budgets adapt it

    def open_scope(self, ensemble: PrivateTeacherEnsemble, *, silent: bool = False) -> None:
        """Check the budget, open the fit's scope, and warn once of what weakens the guarantee."""
        accountant, facts = ensemble._check_accountant(), self.facts
        if facts.split_by != "party":
            check_unit(accountant, owners=facts.split_by == "owner")
        self.randomness.check_ledger(accountant)
        if self.scope is None:
            self.scope = accountant.scope(ensemble.epsilon)
        if silent or self.warned:
            return
        self.warned = True
        if facts.assignment.n_teachers == 1:
            warn(
                "there is one teacher only: noise that hides its one ballot hides every answer. "
                "Use many teachers (n_teachers=100)."
            )
        warn_settings(accountant, ensemble.epsilon, facts.levels, facts.n_people)
        if facts.classes_learned:
            warn_classes_learned()
        if facts.types_learned:
            warn_types_learned(facts.types_learned)

    def too_few_rows(self, ensemble: PrivateTeacherEnsemble) -> str:
        """Describe why labels of teachers with so few rows are not released; "" if they are."""
        if ensemble.mechanism is not None:
            return ""
        return too_few_rows(self.facts.assignment, self.facts.n_people, self.facts.target.n_classes)

    def mechanism_for(
        self,
        ensemble: PrivateTeacherEnsemble,
        n_queries: int,
        *,
        in_fit: bool = False,
        share: float = 1.0,
    ) -> Mechanism:
        """Return the mechanism of a release, adapted to individual budgets.

        Without the parameter `mechanism` it is the one of the reservation, or is calibrated to the
        rows to be paid for, with a share of the remaining budget.
        """
        facts = self.facts
        target, assignment = facts.target, facts.assignment
        n_columns, n_people = target.n_columns, facts.n_people
        accountant = ensemble._check_accountant()
        shared = isinstance(ensemble.reservation, Reservation)
        mechanism = ensemble.mechanism
        if mechanism is None and isinstance(ensemble.reservation, Reservation):
            mechanism = cast("Mechanism", ensemble.reservation.mechanism)
        elif mechanism is None and self.reservation is not None:
            mechanism = self.plain_mechanism
        learns = in_fit and ensemble.student is not None
        n_later = self._n_to_pay(ensemble, n_queries, in_fit) - n_queries
        votes_are_public = not shared and not count_is_private(accountant)

        def individualize(plain: Mechanism) -> Mechanism:
            adapted = assignment.individualize(plain, n_columns, self.n_begun, self.division)
            if votes_are_public:
                adapted = adapted.with_public_votes(assignment.n_teachers, n_columns)
            return adapted

        if mechanism is not None:
            check_mechanism(
                mechanism, target, assignment, self.counting(mechanism), ensemble.estimator
            )
            check_charges(mechanism, accountant.levels, n_columns, n_queries)
            adapted = individualize(mechanism)
            warn_noise(
                adapted, assignment, n_columns, n_queries, n_people, learns=learns, n_later=n_later
            )
            self.plain_mechanism = mechanism
            return adapted
        if in_fit and self.scope is not None and ensemble.reservation is None:
            accountant.check_left(self.scope, is_copy=facts.is_copy)
        sigmas = []

        def make(sigma: float) -> Mechanism:
            sigmas.append(sigma)
            return individualize(default_vote(target, sigma, assignment.n_equal))

        calibrated: Mechanism = accountant.calibrate(
            make, n_queries + n_later, n_columns=n_columns, scope=self.scope, share=share
        )
        sigma = sigmas[-1]
        withhold = count_is_private(accountant)
        check_noise(
            make,
            sigma,
            assignment,
            n_columns,
            n_queries,
            n_people,
            learns=learns,
            n_later=n_later,
            epsilon_factor=partial(epsilon_factor, accountant, self.scope),
            withhold=withhold,
        )
        if not in_fit and ensemble.reservation is None and not withhold:
            price = accountant.price(calibrated, n_queries, n_columns=n_columns, scope=self.scope)
            price_share = max(by_level(price).values())
            warn_costly_rows(make, sigma, assignment, n_columns, n_queries, price_share)
        self.plain_mechanism = default_vote(target, sigma, assignment.n_equal)
        return calibrated

    def check_affordable(self, ensemble: PrivateTeacherEnsemble, mechanism: Mechanism) -> None:
        """Refuse the user's mechanism if not even one row of it fits the budget."""
        accountant = ensemble._check_accountant()
        is_paid = isinstance(ensemble.reservation, Reservation)
        if ensemble.mechanism is not None and not is_paid and not count_is_private(accountant):
            accountant.price(mechanism, n_columns=self.facts.target.n_columns, scope=self.scope)

    def price(
        self, ensemble: PrivateTeacherEnsemble, mechanism: Mechanism, n_queries: int
    ) -> dict[str, float] | None:
        """Compute the share of the budget, per level, that labels take; None: all of it."""
        accountant = ensemble._check_accountant()
        if isinstance(ensemble.reservation, Reservation):
            return {level.name: 0.0 for level in accountant.levels}
        if ensemble.mechanism is None and self.facts.levels is None:
            return None
        n_rows = self._n_to_pay(ensemble, n_queries, in_fit=True)
        n_columns = self.facts.target.n_columns
        try:
            price = accountant.price(mechanism, n_rows, n_columns=n_columns, scope=self.scope)
        except BudgetExceededError:
            return None
        return by_level(price)

    @property
    def division(self) -> str:
        """Public name of the division of this fit's rows among the teachers."""
        facts = [
            self.randomness.partition_digest,
            self.facts.n_people,
            self.facts.assignment.n_teachers,
        ]
        fit = None if self.scope is None else self.scope.id
        return sha256(json.dumps([fit, *facts]).encode()).hexdigest()[:32]

    def counting(self, mechanism: Mechanism | None) -> Counting:
        """Return the mechanism's rule for counting ballots; without one, that of the target."""
        target = self.facts.target
        return target.counting if mechanism is None else mechanism.counting(target.n_columns)

    def _n_to_pay(self, ensemble: PrivateTeacherEnsemble, n_queries: int, in_fit: bool) -> int:
        """Return the number of rows that are paid for together, those of this call included."""
        n_later = ensemble.reservation
        if n_later is None or isinstance(n_later, Reservation):
            return n_queries
        return int(n_queries + n_later if in_fit else max(n_queries, n_later))

    def _reservation_for(
        self, ensemble: PrivateTeacherEnsemble, mechanism: Mechanism, n_queries: int, in_fit: bool
    ) -> Reservation | None:
        """Return the reservation that rows are drawn from; the fit's own is paid for at first."""
        if ensemble.reservation is None or isinstance(ensemble.reservation, Reservation):
            return ensemble.reservation
        if self.reservation is None:
            try:
                self.reservation = ensemble._check_accountant().reserve(
                    mechanism,
                    self._n_to_pay(ensemble, n_queries, in_fit),
                    n_columns=self.facts.target.n_columns,
                    scope=self.scope,
                    note=self.facts.ledger_note,
                )
            except CompletedInterrupt as interrupt:
                self.reservation = cast("Reservation", interrupt.answer)
                raise KeyboardInterrupt(
                    "rows were paid for before the interrupt, and none was labelled: reservation_ "
                    "has them"
                ) from None
        return self.reservation

    def cancel(self, ensemble: PrivateTeacherEnsemble) -> None:
        """Refund the reservation of this fit, from which nothing was drawn."""
        if self.reservation is not None:
            with HeldInterrupts() as interrupts:
                interrupts.hold()
                ensemble._check_accountant().settle(self.reservation)
                self.reservation = None

    def release_labels(
        self,
        ensemble: PrivateTeacherEnsemble,
        mechanism: Mechanism,
        votes: GroupVotes,
        *,
        in_fit: bool = False,
    ) -> PrivateLabels:
        """Release labels in order while the budget lasts; warn if it ends before the last row."""
        counts = self.facts.assignment.add_up(votes, mechanism, self.counting(mechanism))
        n_rows, accountant = len(counts), ensemble._check_accountant()
        reservation = self._reservation_for(ensemble, mechanism, n_rows, in_fit)
        if reservation is not None:
            # At least one: the accountant refuses an empty reservation with an error of its own.
            n_rows = min(n_rows, max(accountant.reserved(reservation).rows_left, 1))
        try:
            outcome = accountant.release(
                mechanism,
                counts[:n_rows],
                reservation=reservation,
                random_state=self.next_noise(),
                scope=self.scope,
                note=self.facts.ledger_note,
            )
        except CompletedInterrupt as interrupt:
            outcome = cast("NDArray[Any]", interrupt.answer)
            self.n_begun += len(outcome)
            labels = self.facts.target.private_labels(outcome, len(counts))
            raise CompletedInterrupt(labels) from None
        self.n_begun += len(outcome)
        if len(outcome) < len(counts):
            warn(
                f"the {'budget' if reservation is None else 'reservation'} ended after "
                f"{len(outcome)} of {len(counts)} rows; the others are unanswered. More noise or "
                "fewer rows fit it all (mechanism=None calibrates)."
            )
        return self.facts.target.private_labels(outcome, len(counts))

    def next_noise(self) -> np.random.SeedSequence | None:
        """Return the seed of the next release; None for the cryptographic generator."""
        count, self.n_releases = self.n_releases, self.n_releases + 1
        return self.randomness.noise(count)

    def privacy(self, accountant: PrivacyAccountant) -> dict[str, Any]:
        """Return the guarantee of the budget and the share that is spent, as plain values."""
        privacy = {
            name: getattr(accountant, name)
            for name in ("unit", "relation", "epsilon", "delta", "accounting")
        }
        privacy.update(
            self.facts.ledger_note,
            seeded=self.randomness.seeded,
            statement=accountant.statement().to_dict(),
        )
        # The data-dependent cost of votes is sensitive; the worst case is not.
        if not count_is_private(accountant):
            spent = accountant.spent()
            privacy["share_spent"] = (
                {level: float(part.share) for level, part in spent.items()}
                if isinstance(spent, dict)
                else float(spent.share)
            )
        return privacy


def count_is_private(accountant: PrivacyAccountant | None) -> bool:
    """Return True if the cost, and so the number of answered rows, depends on the votes."""
    return accountant is not None and accountant.accounting == "data_dependent"
