"""A handle on a budget: its limits, its prices and its reports."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any, Self, TypeVar

from secretballot._base._errors import LedgerError
from secretballot._base._numbers import (
    as_float,
    check_integer,
    check_number,
    check_size,
    number_of_rows,
    quoted,
)
from secretballot._base._view import View
from secretballot.accounting._calibration import calibrate_noise, noise_builder
from secretballot.accounting._limits import Limits, check_left, equal_caps, share_of
from secretballot.accounting._pricing import PricedRows, Pricing, pricing_for
from secretballot.accounting._protocol import ReleaseMechanism, check_mechanism
from secretballot.accounting._report import (
    ByLevel,
    PrivacyRemaining,
    PrivacySpent,
    as_text,
    budget_view,
    fit_view,
    remaining_for,
    spent_by_level,
)
from secretballot.accounting._statement import PrivacyStatement, ledger_facts
from secretballot.ledger._budget import Cap, LevelBudget, Scope, check_cap, without_only_level
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._guard import showing
from secretballot.ledger._ledger import Ledger
from secretballot.ledger._totals import Totals

M = TypeVar("M", bound=ReleaseMechanism)


class BudgetHandle:
    """Handle on a budget that spends nothing of it."""

    _ledger: Ledger

    def spent(self) -> PrivacySpent | dict[str, PrivacySpent]:
        """Report the privacy that was spent, per level if epsilon was given per level."""
        spent = spent_by_level(self._ledger.budget, self._ledger.totals())
        return without_only_level(ByLevel(spent))

    def remaining(self) -> PrivacyRemaining | dict[str, PrivacyRemaining]:
        """Report the privacy that is left, per level if epsilon was given per level.

        Nothing is left of a child that was closed.
        """
        totals, sensitive = self._ledger.totals(), self._ledger.budget.is_sensitive
        child = totals.children.get(self._ledger.child_name)
        is_closed = child is not None and child.is_closed
        return without_only_level(
            ByLevel(
                (level.name, remaining_for(level, totals, is_closed, sensitive=sensitive))
                for level in self.levels
            )
        )

    def same_ledger(self, other: BudgetHandle) -> bool:
        """Test if two handles spend from one budget."""
        return self._ledger.genesis == other._ledger.genesis

    def entries(self) -> list[LedgerEntry]:
        """Return the entries of the ledger, with its hash chain checked."""
        return self._ledger.entries()

    def private_records(self) -> dict[int, str]:
        """Return the records of votes that a sanitized budget keeps, by entry: for the owner only.

        `secretballot.accounting.publish_epsilon` reads them.
        """
        return self._ledger.private_records()

    def history(self) -> list[dict[str, PrivacySpent]]:
        """Report the privacy that was spent before the first release and after each, by level."""
        walk = self._ledger.walk()
        states = [spent_by_level(self._ledger.budget, walk.totals)]
        for entry in walk:
            if entry.is_release:
                states.append(spent_by_level(self._ledger.budget, walk.totals))
        return states

    def timeline(self) -> list[tuple[datetime, dict[str, PrivacySpent]]]:
        """Report the privacy that was spent when the ledger was opened, and at each change of it.

        Unlike `history` it has reservations and refunds, at the time when they were recorded.
        """
        walk = self._ledger.walk()
        opened = self._ledger.header().created
        times = [(opened, spent_by_level(self._ledger.budget, walk.totals))]
        for entry in walk:
            if not entry.is_declaration:
                times.append((entry.time, spent_by_level(self._ledger.budget, walk.totals)))
        return [(datetime.fromisoformat(time), state) for time, state in times]

    def report(self, scope: Scope | None = None) -> View:
        """Return a small table of the shares that were spent and are left, to be printed or shown.

        Parameters
        ----------
        scope : Scope, default=None
            One fit, whose spend is shown apart from that of all others. A scope of another ledger
            is ignored.

        Returns
        -------
        View
            Text if it is printed, HTML in a notebook. A data-dependent spend is withheld.

        Examples
        --------
        >>> from secretballot.accounting import PrivacyAccountant
        >>> print(PrivacyAccountant(epsilon=1.0, delta=1e-5).report())
        level     epsilon  budget                  spent #  left .  answers
        --------  -------  ----------------------  -------  ------  -------
        everyone  1        [....................]  0.0%     100.0%  0
        <BLANKLINE>
        ledger: temporary
        """
        budget, spent = self._ledger.budget, self._spent_or_none()
        if scope is None or not self._knows(scope):
            return budget_view(budget, spent, self.ledger or "temporary")
        return fit_view(budget, spent, self._spent_or_none(scope))

    def statement(self) -> PrivacyStatement:
        """Return the statement that a data owner signs, with all entries of the ledger checked."""
        return PrivacyStatement.of(self._ledger)

    def _statement_facts(self) -> dict[str, Any]:
        """Return plain values to be sent along: `PrivacyStatement.from_facts` states them."""
        facts = ledger_facts(self._ledger)
        if self._ledger.budget.is_sensitive:
            return PrivacyStatement.from_facts(facts).to_dict()  # withholds what must not be sent
        return facts

    def scope(self, epsilon: Cap = None, *, share: Cap = None) -> Scope:
        """Return the scope of one fit: its releases together may spend no more than this.

        Parameters
        ----------
        epsilon : float, dict of str to float, or None, default=None
            The most that all releases in the scope together may spend, for each level alike or per
            level. None, or more than the budget, leaves it to the budget.
        share : float, dict of str to float, or None, default=None
            The same as a part of the whole budget, as `price` returns it. Unlike `epsilon` it is
            not recorded.

        Returns
        -------
        Scope
            To be passed to `release` and `calibrate`.
        """
        names = self._ledger.budget.names
        scope = Scope(
            id=uuid.uuid4().hex,
            epsilon=check_cap(epsilon, names),
            ledger=self._ledger.genesis,
            share=check_cap(share, names, "share", most=1.0),
        )
        self._limits(scope)  # An epsilon too small to be certified is refused here.
        return scope

    def price(
        self,
        mechanism: ReleaseMechanism,
        n_rows: int = 1,
        *,
        n_columns: int | None = None,
        scope: Scope | None = None,
        check_left: bool = True,
    ) -> float | dict[str, float]:
        """Compute the share of the whole budget that rows would take now; nothing is spent.

        Parameters
        ----------
        mechanism, n_rows, n_columns, scope
            As for `reserve`, which charges as much. Rows of a mechanism that releases all of them
            at once are one release.
        check_left : bool, default=True
            Whether rows that don't fit what is left are refused. False: their share of an unspent
            budget of the same size, which may exceed 1.

        Returns
        -------
        float or dict of str to float
            Per level if epsilon was given per level.

        Raises
        ------
        BudgetExceededError
            If the rows don't fit.
        """
        check_mechanism(mechanism, self.relation)
        n_rows = number_of_rows("n_rows", n_rows)
        check_size(n_rows, n_columns)
        pricing = self._pricing(mechanism, n_rows, n_columns, scope)
        span = pricing.span(int(n_rows))
        if check_left:
            charges = dict(pricing.price(self._open_totals(scope), span))
        else:
            charges = dict(pricing.unchecked_price(span))
        return without_only_level({level.name: share_of(level, charges) for level in self.levels})

    def calibrate(
        self,
        make: Callable[..., M],
        n_rows: int,
        *,
        n_columns: int | None = None,
        scope: Scope | None = None,
        share: float = 1.0,
    ) -> M:
        """Return the mechanism with the least noise at which `n_rows` rows fit what is left.

        Parameters
        ----------
        make : type or callable
            A mechanism with the field `sigma`, or a function from the amount of noise to a
            mechanism.
        n_rows : int
            Rows to be answered, at the price that `reserve` would charge.
        n_columns : int, default=None
            Columns of the counts (classes); None: any number.
        scope : Scope, default=None
            A part of the run with a cap of its own, which then has to hold too.
        share : float, default=1.0
            The part of what is left that they may take.

        Returns
        -------
        mechanism

        Raises
        ------
        BudgetExceededError
            If less than three thousandths are left: what calibrated noise may leave over.
        """
        n_rows = number_of_rows("n_rows", n_rows)
        check_size(n_rows, n_columns)
        _check_share(share)
        limits = self._limits(scope)
        totals = self._open_totals(scope)
        limits.check_headroom(totals)
        build = noise_builder(make)
        check_mechanism(build(1.0), self.relation)
        return calibrate_noise(build, limits, totals, int(n_rows), n_columns, float(share))

    def epsilon_per_fit(self, n_fits: int = 1, *, share: float = 1.0) -> float | dict[str, float]:
        """Compute the epsilon at which `n_fits` equal fits take all that is left; free of charge.

        Pass it to an estimator as ``epsilon=``. The last of the fits is as good as the first: no
        earlier one can take its part. A search over a grid makes ``len(ParameterGrid(grid))``
        fits for each fold, and one more with ``refit=True``.

        Parameters
        ----------
        n_fits : int, default=1
            Fits that are to follow.
        share : float, default=1.0
            The part of what is left (not of the whole budget) that all of them take together; the
            rest remains, for scores.

        Returns
        -------
        float or dict of str to float
            Epsilon of one fit; per level if epsilon was given per level.

        Raises
        ------
        BudgetExceededError
            If each would get less than three thousandths of the budget.
        ValueError
            If an argument is invalid, or accounting is data dependent and the budget was spent
            from: the result would depend on votes.

        Notes
        -----
        It is not epsilon over `n_fits`. In a budget of mu^2, each fit gets an equal part of the
        mu^2; at order infinity, of epsilon and delta; at a Renyi order, of the divergence, as
        Gaussian noise spends it: votes leave some percent of that.

        Examples
        --------
        >>> from secretballot.accounting import PrivacyAccountant
        >>> accountant = PrivacyAccountant(epsilon=2.0, delta=1e-5)
        >>> round(accountant.epsilon_per_fit(9), 3)  # 4 settings, 2 folds, and the refit
        0.597
        """
        check_integer("n_fits", n_fits)
        _check_share(share)
        return without_only_level(
            equal_caps(self._ledger.budget, self._open_totals(), int(n_fits), float(share))
        )

    def check_left(self, scope: Scope, *, is_copy: bool = False) -> None:
        """Refuse a new scope whose epsilon, or share, is more than what is left. Free.

        Where costs depend on the votes nothing is refused: what is left depends on them too.

        Parameters
        ----------
        scope : Scope
        is_copy : bool, default=False
            Whether it is of one of several copies of an estimator, each of which needs its own
            part: the error says so.

        Raises
        ------
        BudgetExceededError
            If less is left, of the budget of any level.
        """
        check_left(self._ledger.budget, self._open_totals(), scope, is_copy)

    @property
    def epsilon(self) -> float | dict[str, float]:
        """The most that may ever be spent, as it was given."""
        return self._ledger.budget.epsilon

    @property
    def delta(self) -> float:
        """The delta of the guarantee."""
        return self._ledger.budget.delta

    @property
    def levels(self) -> tuple[LevelBudget, ...]:
        """The budget of each level, with the order it gates on."""
        return self._ledger.budget.levels

    @property
    def unit(self) -> str:
        """The unit that is protected."""
        return self._ledger.budget.unit

    @property
    def relation(self) -> str:
        """The relation between neighbouring data sets."""
        return self._ledger.budget.relation

    @property
    def accounting(self) -> str:
        """The accounting: "worst_case", "data_dependent" or "sanitized"."""
        return self._ledger.budget.accounting

    @property
    def ledger(self) -> str | None:
        """Path of the ledger, or URL without what may be secret; None if it is a temporary file."""
        return None if self._ledger.is_temporary else self._ledger.name

    @property
    def allow_seeded(self) -> bool:
        """True where reproducible noise is allowed on a named ledger."""
        return self._ledger.budget.allow_seeded

    def _pricing(
        self, mechanism: ReleaseMechanism, n_rows: int, n_columns: int | None, scope: Scope | None
    ) -> Pricing:
        priced = PricedRows(mechanism=mechanism, n_rows=n_rows, n_columns=n_columns)
        return pricing_for(self._limits(scope), priced)

    def _open_totals(self, scope: Scope | None = None) -> Totals:
        """Return the totals; ValueError if this is a child that was closed."""
        totals = self._ledger.totals(scope.id if scope else None)
        totals.check_open(self._ledger.child_name)
        return totals

    def _limits(self, scope: Scope | None) -> Limits:
        budget = self._ledger.budget
        if scope is None:
            return Limits(budget)
        if not isinstance(scope, Scope):
            raise TypeError(f"scope={quoted(scope)} must be None or come from accountant.scope().")
        # A child's sums are apart from those of others in scopes of its own alone.
        if scope.ledger != self._ledger.genesis and (scope.ledger or self._ledger.child_name):
            raise ValueError(
                f"scope={quoted(scope)} belongs to another ledger than this accountant's. Two "
                "budgets for one data set add up: go on with the accountant that made the scope "
                "(the one that the ensemble was fitted with)."
            )
        check_cap(scope.epsilon, budget.names)
        return Limits(budget, scope)

    def _knows(self, scope: Scope | None) -> bool:
        return scope is not None and scope.ledger == self._ledger.genesis

    def _spent_or_none(self, scope: Scope | None = None) -> dict[str, PrivacySpent] | None:
        """Report the spend of a scope, or of all; None if the ledger can't be read."""
        # What is shown in a notebook must not depend on a file.
        with suppress(LedgerError), showing():
            totals = self._ledger.totals(scope.id if scope else None)
            if scope is not None:
                within = totals.scopes.get(scope.id)
                totals = Totals(digest="", charges=dict(within.charges) if within else {})
            return spent_by_level(self._ledger.budget, totals)
        return None

    def __repr__(self) -> str:
        return as_text(self._ledger.budget, self._spent_or_none())

    def _repr_html_(self) -> str:
        return self.report().html

    # Copies are the same budget: were it copied with its estimator, a search would spend unseen.
    def __sklearn_clone__(self, memo: object = None) -> Self:
        return self

    __copy__ = __deepcopy__ = __sklearn_clone__


def _check_share(share: object) -> None:
    check_number("share", share, above=0)
    if as_float(share) > 1:
        raise ValueError(f"share={share!r} must be at most 1, all that is left.")
