"""What labels of one fit are released with: plan, scope, randomness, and what is said of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from secretballot._budget_shown import short_text
from secretballot._errors import warn
from secretballot.accounting import Reservation
from secretballot.ensemble._cautions import warn_one_teacher, warn_settings
from secretballot.ensemble._fit_data import FitData
from secretballot.ensemble._labels import PrivateLabels, warn_classes_learned
from secretballot.ensemble._mechanism_choice import (
    check_asked,
    check_charges,
    check_probabilities,
    with_public_votes,
)
from secretballot.ensemble._parts import check_unit
from secretballot.ensemble._randomness import Randomness
from secretballot.ensemble._rows import warn_types_learned
from secretballot.ensemble._target import Target
from secretballot.ensemble._votes import GroupVotes
from secretballot.ensemble.advice import check_noise, vote_noise, warn_noise
from secretballot.ensemble.individual import Levels, Plan
from secretballot.mechanisms import BinaryVoting, Counting, GNMax


@dataclass
class Labelling:
    """How the votes of one fit's teachers become released labels.

    It holds public facts, and how far the fit has come; no rows, votes or teachers. What the
    ensemble's parameters say is asked for anew each time: an accountant may come after the fit.

    Attributes
    ----------
    scope : Scope or None
        What marks all releases of this fit in the ledger; None until there is an accountant.
    n_releases, n_begun : int
        Releases so far, and the rows begun in them.
    told : bool
        Whether what weakens the guarantee was warned of.
    reservation : Reservation or None
        The rows that this fit paid for beforehand.
    base : mechanism or None
        What they were reserved with, as it would be for equal ballots on the first row.
    """

    target: Target
    classes_learned: bool
    types_learned: list[str]
    plan: Plan
    levels: Levels | None
    public_may_be_private: bool
    split_by: str
    n_people: int | None
    randomness: Randomness
    scope: Any = None
    n_releases: int = 0
    n_begun: int = 0
    told: bool = False
    reservation: Reservation | None = None
    base: Any = None

    @classmethod
    def of(cls, data: FitData, random_state: Any) -> Labelling:
        """Begin the labelling of a fit."""
        return cls(
            target=data.target,
            classes_learned=data.classes_learned,
            types_learned=data.types_learned,
            plan=data.plan,
            levels=data.levels,
            public_may_be_private=data.public_may_be_private,
            split_by=data.split_by,
            n_people=data.n_people,
            randomness=Randomness.of(random_state),
        )

    def open(self, ensemble: Any, *, silent: bool = False) -> None:
        """Check the budget against the partition, and warn once a fit of what is outside it."""
        accountant = ensemble.accountant
        if accountant is None:
            raise ValueError(
                "accountant=None: labels are not released without a budget. Use "
                "set_params(accountant=PrivacyAccountant(epsilon, delta))."
            )
        if self.split_by != "party":
            check_unit(accountant, owners=self.split_by == "owner")
        self.randomness.check(accountant)
        if self.scope is None:
            self.scope = accountant.scope(ensemble.epsilon)
        elif self.scope.ledger != accountant.scope().ledger:
            raise ValueError(
                "accountant= is another budget than the one these teachers were fitted with. Two "
                "budgets for one data set add up: go on with the first, or fit anew."
            )
        if not (silent or self.told):
            self.told = True
            warn_one_teacher(self.plan.n_teachers)
            warn_settings(ensemble, self.levels, self.n_people)
            if self.classes_learned:
                warn_classes_learned()
            if self.types_learned:
                warn_types_learned(self.types_learned)

    def mechanism_for(
        self, ensemble: Any, n_queries: int, *, in_fit: bool = False, part: float = 1.0
    ) -> Any:
        """Return the mechanism as the plan needs it.

        If none was given: what rows were reserved with, or calibrated to what has to be paid for,
        from a part of what is left.
        """
        n_columns, given = self.target.n_columns, ensemble.mechanism
        shared = isinstance(ensemble.reservation, Reservation)
        if given is None and (shared or self.reservation is not None):
            given = ensemble.reservation.mechanism if shared else self.base
        learns = in_fit and ensemble.student is not None
        public = not shared and ensemble.accountant.accounting != "data_dependent"

        def planned(mechanism: Any) -> Any:
            planned = self.plan.individualize(mechanism, n_columns, self.n_begun, self.division)
            return with_public_votes(planned, self.plan, n_columns) if public else planned

        if given is not None:
            check_asked(given, self.target, self.plan)
            check_probabilities(given, self.counting(given), ensemble.estimator)
            check_charges(given, ensemble.accountant.levels, n_columns, n_queries)
            warn_noise(planned(given), self.plan, n_columns, n_queries, learns=learns)
            self.base = given
            return planned(given)
        n_queries = self._n_to_pay(ensemble, n_queries, in_fit)
        noises = []

        def plain(sigma: float) -> GNMax | BinaryVoting:
            if not self.target.multilabel:
                return GNMax(sigma=sigma)
            return BinaryVoting(sigma=sigma, n_votes=self.plan.n_equal)

        def made(sigma: float) -> Any:
            noises.append(sigma)
            return planned(plain(sigma))

        mechanism = ensemble.accountant.calibrate(
            made, n_queries=n_queries, n_columns=n_columns, scope=self.scope, share=part
        )
        check_noise(made, noises[-1], self.plan, n_columns, n_queries, learns=learns)
        self.base = plain(noises[-1])
        return mechanism

    @property
    def division(self) -> str:
        """The public name of how this fit divided its rows among the teachers."""
        facts = [self.randomness.partition_digest, self.n_people, self.plan.n_teachers]
        fit = None if self.scope is None else self.scope.id
        return sha256(json.dumps([fit, *facts]).encode()).hexdigest()[:32]

    def vote_noise(self, mechanism: Any, n_rows: int) -> float | None:
        """Return the noise on the votes of a class as a share of all ballots, if that is known."""
        return vote_noise(mechanism, self.plan, self.target.n_columns, n_rows)

    def counting(self, mechanism: Any) -> Counting:
        """Return how the ballots for a mechanism are counted; None is for nothing yet."""
        own = getattr(mechanism, "counting", None)
        return self.target.counting if own is None else own(self.target.n_columns)

    def _n_to_pay(self, ensemble: Any, n_queries: int, in_fit: bool) -> int:
        """Return how many rows are paid for together, those of this call among them."""
        later = ensemble.reservation
        if later is None or isinstance(later, Reservation):
            return n_queries
        return int(n_queries + later if in_fit else max(n_queries, later))

    def _reserved(
        self, ensemble: Any, mechanism: Any, n_queries: int, in_fit: bool
    ) -> Reservation | None:
        """Return what the rows are drawn from, paid for now if it is this fit's own."""
        if ensemble.reservation is None or isinstance(ensemble.reservation, Reservation):
            return ensemble.reservation
        if self.reservation is None:
            self.reservation = ensemble.accountant.reserve(
                mechanism,
                self._n_to_pay(ensemble, n_queries, in_fit),
                n_columns=self.target.n_columns,
                scope=self.scope,
                note=self.note,
            )
        return self.reservation

    @property
    def note(self) -> dict[str, Any]:
        """Public facts that the guarantee rests on, for the ledger and for who gets the student."""
        note: dict[str, Any] = {
            "n_teachers": self.plan.n_teachers,
            "split_by": self.split_by,
            "classes_learned": self.classes_learned,
        }
        if self.target.multilabel:
            note["n_labels"] = self.target.n_columns
        if self.types_learned:
            note["types_learned"] = self.types_learned
        if self.public_may_be_private:
            note["public_may_be_private"] = True
        if self.levels is not None:
            note.update(self.levels.ledger_note, individualization=self.plan.ledger_note)
        return note

    def answer(
        self, ensemble: Any, mechanism: Any, votes: GroupVotes, *, in_fit: bool = False
    ) -> PrivateLabels:
        """Answer rows in order while the budget lasts; warn if it ended before the last one."""
        counts = self.plan.add_up(votes, mechanism, self.counting(mechanism))
        n_rows, accountant = len(counts), ensemble.accountant
        reservation = self._reserved(ensemble, mechanism, n_rows, in_fit)
        if reservation is not None:
            # One at least: what is used up has an error of its own.
            n_rows = min(n_rows, max(accountant.reserved(reservation).rows_left, 1))
        outcome = accountant.release(
            mechanism,
            counts[:n_rows],
            reservation=reservation,
            random_state=self.next_noise(),
            scope=self.scope,
            note=self.note,
        )
        self.n_begun += len(outcome)
        if len(outcome) < len(counts):
            warn(
                f"the {'budget' if reservation is None else 'reservation'} ended after "
                f"{len(outcome)} of {len(counts)} rows; the others are unanswered. More noise or "
                "fewer rows fit it all (mechanism=None calibrates)."
            )
        return self.target.released(outcome, len(counts))

    @staticmethod
    def stops_by_votes(accountant: Any) -> bool:
        """Whether how many rows are answered tells of the votes: progress and logs don't say it."""
        return bool(accountant.accounting == "data_dependent")

    def next_noise(self) -> Any:
        """Return what the next release draws from."""
        count, self.n_releases = self.n_releases, self.n_releases + 1
        return self.randomness.noise(count)

    def privacy(self, accountant: Any) -> dict[str, Any]:
        """Return what the budget guarantees and how much of it is spent, as plain values."""
        told = {
            name: getattr(accountant, name)
            for name in ("unit", "relation", "epsilon", "delta", "accounting")
        }
        told.update(
            self.note, seeded=self.randomness.seeded, statement=accountant.statement().to_dict()
        )
        # What votes did cost is sensitive itself; what they can cost at most is not.
        if accountant.accounting != "data_dependent":
            spent = accountant.spent()
            told["share_spent"] = (
                {level: float(each.share) for level, each in spent.items()}
                if isinstance(spent, dict)
                else float(spent.share)
            )
        return told


def told_of_fit(ensemble: Any) -> str:
    """Say in a line what a fit brought: only what is public, or was released."""
    told = [f"{ensemble.n_teachers_:,} teachers"]
    if (released := getattr(ensemble, "pool_labels_", None)) is not None:
        told.append(f"{ensemble.n_answered_:,} of {len(released.labels):,} public rows labelled")
        told.append(short_text(ensemble.mechanism_))
    if isinstance(ensemble.reservation, Reservation):
        told.append("labels are drawn from a reservation that was paid for before")
    return "; ".join(told)
