"""The accountant: the one door through which anything private leaves."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import CompletedInterrupt, LedgerError, PrivacyLeakWarning, warn
from secretballot._base._interrupts import HeldInterrupts
from secretballot._base._numbers import quoted
from secretballot.accounting._children import Carving
from secretballot.accounting._limits import Limits
from secretballot.accounting._notes import Note, check_note, evaluate_note
from secretballot.accounting._pricing import PricedRows, Pricing, pricing_for
from secretballot.accounting._protocol import (
    RandomState,
    ReleaseMechanism,
    check_mechanism,
    is_seeded,
    new_entry,
    noise_generator,
)
from secretballot.accounting._report import LARGE_EPSILON, warn_overspent
from secretballot.accounting._reservations import Reservation, ReservedPayment
from secretballot.costs._margin import dump_gap_records, record_gaps
from secretballot.costs._orders import GAUSSIAN
from secretballot.ledger._budget import AskedOrder, Budget, Scope, budget_levels
from secretballot.ledger._entry import to_json
from secretballot.ledger._ledger import Accepted, Ledger, Transaction


class PrivacyAccountant(Carving):
    """The budget of one private data set, and the one door through which answers leave.

    Copies, clones and pickles are handles on the same ledger: whoever holds one spends from the
    same budget, in whichever process.

    Parameters
    ----------
    epsilon : float or dict of str to float
        The most that may ever be spent, for everyone alike or per level. Above 10 it warns.
    delta : float
        The delta of the guarantee, the same for all levels: well below one over the number of
        private rows, or owners, and 0.1 at most. It has no default.
    unit : {"row", "owner", "label", "voter"}, default="row"
        What is protected.
    relation : {"replace", "add_remove"}, default="replace"
        What neighbouring data sets differ in.
    accounting : {"worst_case", "data_dependent", "sanitized"}, default="worst_case"
        Charge the most over all data, or what the actual counts cost. The latter allows more
        answers, but its epsilon and its stopping point are themselves sensitive: it warns.
        ``"sanitized"`` charges and stops exactly as ``"worst_case"`` does; its ledger can keep
        what depends on the votes beside the entries, readable by the owner only and never shown.
    order : "gaussian", "renyi" or float, default=None
        What adds up, fixed for good; three answers to one question. None: ``"gaussian"``, but
        ``"renyi"`` with data-dependent accounting, which needs a Renyi order.

        - ``"gaussian"``: mu^2. Each batch of votes is one plan, priced by its exact worst case over
          adaptive choices of the data, and pays for all its rows; some 15 % more labels than
          ``"renyi"``. Behind a threshold it is two plans, thresholds and answers, and answers that
          were not drawn are refunded. Single rows cost more, unless they are paid for in advance
          (`reserve`), and so does a mechanism that states nothing but a Renyi curve.
        - ``"renyi"`` or a number: Renyi divergences at one order (``"renyi"``: the best one for the
          budget). Rows are charged one by one: a row is begun only if the most it can cost fits on
          top of what the rows before it *did* cost.
        - Infinity: basic composition of pairs (epsilon, delta), row by row: for what is released
          once, and has a finite epsilon. Gaussian noise has none.
    approximation_delta : float, default=None
        Part of `delta` that is set aside for mechanisms with a delta of their own, and for what
        plans cost beside mu^2. None: nothing at a Renyi order, a hundredth of `delta` where mu^2
        is counted, all of it at order infinity.
    ledger : path or URL, default=None
        A new file to record every spend in, with another beside it, ``FILE.mark``, which tells if
        a backup is put in its place; or a new ledger on a PostgreSQL server
        (``"postgresql://host/database?ledger=name"``: :doc:`/topics/ledger-on-a-server`).
        `PrivacyAccountant.open` continues an existing one. None: a private temporary file, deleted
        with the last handle of this process.
    allow_seeded : bool, default=False
        Whether reproducible noise, which protects nobody, is allowed on a named ledger.

    Examples
    --------
    >>> from secretballot.accounting import PrivacyAccountant
    >>> accountant = PrivacyAccountant(epsilon=1.0, delta=1e-5)
    >>> accountant
    <PrivacyAccountant: epsilon=1, delta=1e-05 per row (replace), 0.0% spent>
    >>> accountant.remaining().share
    1.0
    """

    _has_warned_of_seeds = False

    def __init__(
        self,
        epsilon: float | Mapping[str, float],
        delta: float | None = None,
        *,
        unit: str = "row",
        relation: str = "replace",
        accounting: str = "worst_case",
        order: AskedOrder | None = None,
        approximation_delta: float | None = None,
        ledger: str | os.PathLike[str] | None = None,
        allow_seeded: bool = False,
    ) -> None:
        if order is None:
            order = "renyi" if accounting == "data_dependent" else GAUSSIAN
        budget = Budget(
            levels=budget_levels(epsilon, delta, order, approximation_delta),
            unit=unit,
            relation=relation,
            accounting=accounting,
            allow_seeded=allow_seeded,
        )
        _warn_data_dependent(budget)
        _warn_weak_budget(budget)
        self._ledger = Ledger.create(ledger, budget)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: float | Mapping[str, float] | None = None,
        delta: float | None = None,
        unit: str | None = None,
        relation: str | None = None,
        accept: Accepted | None = None,
    ) -> PrivacyAccountant:
        """Continue the budget of an existing ledger.

        Checked are its budget, that it is the original, and the entries after its last checkpoint;
        ``secretballot ledger verify FILE`` checks all of them.

        Parameters
        ----------
        path : path or URL
            The ledger, a file or on a server; never created.
        epsilon, delta, unit, relation : default=None
            What the budget is expected to be; None takes what the ledger says.
        accept : {"moved", "clock"}, default=None
            Continue with a ledger that is refused otherwise, and record that.

            - ``"moved"``: a copy, or a backup that was restored, which could spend the budget twice
              together with the original. Right only if *the original is gone with nothing spent
              that is not in this file*; refused while the original still lies at its place.
            - ``"clock"``: the clock of this machine is behind the last entry. Right only if it was
              ahead then.

        Returns
        -------
        PrivacyAccountant

        Raises
        ------
        LedgerError
            If it is missing, no ledger, altered, a copy, or of another budget.
        """
        if accept is not None and not (isinstance(accept, str) and accept in ("moved", "clock")):
            raise ValueError(
                f"accept={quoted(accept)} is unknown; use 'moved' or 'clock', or leave it out."
            )
        ledger = Ledger.open(path)
        budget = ledger.budget
        expected = {"epsilon": epsilon, "delta": delta, "unit": unit, "relation": relation}
        for name, value in expected.items():
            recorded = getattr(budget, name)
            if value is not None and value != recorded:
                raise LedgerError(
                    f"The ledger {ledger.name!r} was opened with {name}={recorded!r}, not with "
                    f"{name}={value!r}. A budget is fixed for good: leave {name} out to continue "
                    "it as it is."
                )
        if damage := ledger.settle(accept=accept):
            warn(damage)
        _warn_data_dependent(budget)
        warn_overspent(ledger)
        accountant = cls.__new__(cls)
        accountant._ledger = ledger
        return accountant

    def release(
        self,
        mechanism: ReleaseMechanism,
        counts: ArrayLike,
        *,
        reservation: Reservation | None = None,
        random_state: RandomState = None,
        scope: Scope | None = None,
        note: Note | None = None,
    ) -> NDArray[Any]:
        """Answer as many rows as the budget allows, and record their cost before returning.

        Rows are taken in order, as many as fit; how they are priced, `order` says. A mechanism
        whose rows are parallel answers all of them or none. An example with all figures:
        :doc:`/development/how-a-release-is-charged`.

        Parameters
        ----------
        mechanism : mechanism
            How the counts become an answer.
        counts : array-like of shape (n_rows, n_columns)
            Votes, or other counts, of the private data.
        reservation : Reservation, default=None
            Rows that were paid for with `reserve`: nothing is charged again. They are begun in
            order, behind a threshold while answers are left.
        random_state : int, SeedSequence, Generator or None, default=None
            None: a cryptographic generator. Anything else is reproducible and protects nobody: it
            is for tests, warns, and is refused on a named ledger without `allow_seeded`.
        scope : Scope, default=None
            A part of the run with a cap of its own: one fit. Without it the release is a fit of its
            own (which matters where parts of a level pay apart, as in `RoundRobin`).
        note : dict, or function of the outcome, default=None
            Public facts to keep with it in the ledger, such as an assumption of the guarantee.
            Words that the privacy statement reads, such as ``"split_by"``, must mean what they mean
            there. A function gets the rows that were begun, and must not spend; if it fails they
            are paid for all the same, without a note.

        Returns
        -------
        ndarray of shape (n_begun, ...)
            The outcome of the rows that were begun, at most as many as `counts` has.

        Raises
        ------
        BudgetExceededError
            If not even one row fits, or the reservation is used up; nothing was recorded.
        ValueError
            If the reservation was not made for this mechanism, or has fewer rows left.
        LedgerError
            If the spend can't be recorded.
        CompletedInterrupt
            A KeyboardInterrupt: Ctrl-C came when the spend was recorded already. Its attribute
            `answer` has what would have been returned. One that comes earlier records nothing.
        """
        # What can be refused is refused before anything is drawn.
        budget = self._ledger.budget
        check_mechanism(mechanism, budget.relation)
        votes = mechanism.check_counts(counts)
        facts = {} if callable(note) else check_note(note)
        limits = self._limits(scope)
        seeded = self._check_random_state(random_state)
        entry = replace(new_entry(mechanism, scope, facts), seeded=seeded)
        if not len(votes):
            return mechanism.sample(votes, noise_generator(random_state))
        # Of records (ballots that occur) there are as many as the data have, which is private.
        is_table = votes.ndim > 1 and votes.dtype.names is None
        priced = PricedRows(
            mechanism=mechanism,
            n_rows=len(votes),
            n_columns=votes.shape[1] if is_table else None,
            votes=votes if budget.is_sensitive else None,
        )
        payment = self._payment(reservation, priced, limits)
        if seeded and random_state is not None:
            self._warn_seeded()
        outcome = np.asarray(mechanism.sample(votes, noise_generator(random_state)))
        if len(outcome) != len(votes):
            raise RuntimeError(
                f"the mechanism's sample() answered {len(outcome)} rows instead of {len(votes)}. "
                "Nothing was released or recorded."
            )

        def record(transaction: Transaction) -> tuple[int, BaseException | None]:
            paid = payment.record(transaction, entry)
            n_rows = paid.n_rows
            words, exception = facts, None
            if callable(note):
                words, exception = evaluate_note(note, outcome[:n_rows])
            paid = replace(paid, note=to_json({**words, **payment.note}, "note"))
            private = None
            if payment.keeps_private and budget.keeps_private:
                # It refuses mechanisms that state no laws.
                stated = cast("Any", mechanism)
                records = record_gaps(stated, votes[:n_rows], outcome[:n_rows], priced.n_columns)
                private = None if records is None else dump_gap_records(records)
            transaction.append(paid, private=private)
            return n_rows, exception

        with HeldInterrupts() as interrupts:
            payment.observe(outcome)
            n_rows, exception = self._ledger.transact(record, interrupts=interrupts)
            # A copy: a view would still hold, in its base, the rows that were not begun.
            answer = interrupts.keep(outcome[:n_rows].copy())
            if isinstance(exception, KeyboardInterrupt):
                raise CompletedInterrupt(answer)
            if exception is not None:
                raise exception
            return answer

    def _payment(
        self, reservation: Reservation | None, priced: PricedRows, limits: Limits
    ) -> Pricing | ReservedPayment:
        """Return the payment of a release; refuse it if not even one row is paid for."""
        if reservation is None:
            # A courtesy: what counts is the check in the transaction.
            pricing = pricing_for(limits, priced)
            pricing.admit(self._ledger.totals(limits.scope_id))
            return pricing
        payment = ReservedPayment(self, reservation, priced, limits.scope_id)
        payment.admit()
        return payment

    def _warn_seeded(self) -> None:
        """Say once for each accountant that reproducible noise protects nobody."""
        if not self._has_warned_of_seeds:
            warn(
                "Noise drawn with random_state is reproducible and protects nobody: whoever knows "
                "the seed can subtract it. It is for tests and examples; leave random_state=None "
                "to protect.",
                PrivacyLeakWarning,
            )
            # Not before: where warnings are errors, every seeded release has to fail alike.
            self._has_warned_of_seeds = True

    def _check_random_state(self, random_state: RandomState) -> bool:
        seeded = is_seeded(random_state)
        if seeded and not self.allow_seeded and self.ledger is not None:
            raise ValueError(
                f"random_state={random_state!r} makes the noise reproducible, which protects "
                f"nobody, and is refused on the named ledger {self.ledger!r}. Leave "
                "random_state=None, or open a ledger for experiments with allow_seeded=True."
            )
        return seeded


#: The largest delta that is opened without a warning beside a smaller epsilon.
_LARGE_DELTA = 0.01


def _warn_weak_budget(budget: Budget) -> None:
    """Warn, when a budget is opened, that its epsilon or delta promises next to nothing."""
    level = max(budget.levels, key=lambda level: level.epsilon)
    if level.epsilon > LARGE_EPSILON:
        warn(
            f"epsilon={level.epsilon:g} is a weak guarantee: an outcome may be e^{level.epsilon:g} "
            "times as likely with one person's data as without. Budgets for people's data have "
            f"an epsilon of about 1, and of {LARGE_EPSILON} at most."
        )
    if budget.delta > max(level.epsilon, _LARGE_DELTA):
        warn(
            f"delta={budget.delta:g} is above epsilon={level.epsilon:g}: were both swapped? The "
            "order is PrivacyAccountant(epsilon, delta). Somebody's whole record may be published "
            "with the probability delta, which must be well below one over the number of people, "
            "such as 1e-5."
        )


def _warn_data_dependent(budget: Budget) -> None:
    if budget.is_sensitive:
        warn(
            "accounting='data_dependent' charges what the actual votes cost: the epsilon it "
            "reports, and where a run stops, are themselves sensitive and must not be published "
            "as they are.",
            PrivacyLeakWarning,
        )


def check_accountant(accountant: object, rows: str = "rows") -> None:
    if not isinstance(accountant, PrivacyAccountant):
        raise TypeError(
            f"accountant={quoted(accountant)} must be a PrivacyAccountant, the budget of these "
            f"{rows}."
        )
