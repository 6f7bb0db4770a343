"""What rows cost before they are drawn, and what of it comes back: for each kind of budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, cast

import numpy as np

from secretballot._errors import BudgetExceededError
from secretballot.accounting._gaussian_terms import GaussianTerms, Span
from secretballot.accounting._limits import Limits
from secretballot.accounting._own_delta import own_delta_fault
from secretballot.accounting._pricing import is_plan, share_of_pair
from secretballot.accounting._protocol import ReleaseMechanism
from secretballot.divergences import (
    EVERYONE,
    GAUSSIAN,
    Cost,
    Costs,
    GaussianCost,
    RenyiCost,
    check_groups,
    split_group,
    worst_case_cost,
)
from secretballot.games import PlannedMechanism, SplitPlan, answer_steps, threshold_steps
from secretballot.ledger import Budget, Totals


class Terms(Protocol):
    """The prices of one mechanism's rows in one kind of budget.

    Attributes
    ----------
    has_threshold : bool
        Whether answers are counted and paid for apart.
    """

    has_threshold: bool

    def price(self, totals: Totals, span: Span) -> Costs:
        """Return what rows and answers cost; BudgetExceededError if they don't fit."""

    def refund(self, span: Span, paid: Costs) -> Costs:
        """Return what comes back of what was paid, for rows and answers that were not drawn."""


class RowTerms:
    """Rows and answers that were not looked at come back in full: each was charged on its own."""

    def __init__(self, limits: Limits, mechanism: ReleaseMechanism, n_columns: int | None) -> None:
        self._limits, self._mechanism = limits, mechanism
        laws = (
            cast("PlannedMechanism", mechanism).laws(n_columns)
            if hasattr(mechanism, "laws")
            else {}
        )
        self.has_threshold = bool(laws) and all(answer_steps(law) for law in laws.values())
        self._answer: dict[str, RenyiCost] = {}
        self._row: Costs = mechanism.max_cost(n_columns)
        if self.has_threshold:
            self._row = {g: worst_case_cost(threshold_steps(law)) for g, law in laws.items()}
            self._answer = {g: worst_case_cost(answer_steps(law)) for g, law in laws.items()}
        limits.check_most(self._row)

    def price(self, totals: Totals, span: Span) -> Costs:
        """Return what rows and answers cost at most."""
        charges = self._cost(span)
        self._limits.admit_whole(totals, charges)
        return charges

    def refund(self, span: Span, paid: Costs) -> Costs:
        """Return what the rows and answers would have cost."""
        return self._cost(span)

    def _cost(self, span: Span) -> dict[str, Cost]:
        (start, stop), there = span.rows, self._mechanism.participation(span.rows[1])
        charges: dict[str, Cost] = {}
        for group, cost in self._row.items():
            rows = there.get(group, np.ones(stop, dtype=bool))
            charges[group] = int(rows[start:].sum()) * cost
            if span.answers is not None:
                # Those of others count too: which rows are answered is not known beforehand.
                first, last = span.answers
                charges[group] = charges[group] + (last - first) * self._answer[group]
        return charges


class PairTerms:
    """A plan that costs one pair (epsilon, delta), of which nothing comes back once it is begun."""

    has_threshold = False

    def __init__(
        self, limits: Limits, mechanism: ReleaseMechanism, n_rows: int, n_columns: int | None
    ) -> None:
        self._limits, self._mechanism, self._n_columns = limits, mechanism, n_columns
        self._plan = SplitPlan(cast("PlannedMechanism", mechanism), n_rows, n_columns)
        check_groups(self._plan.groups, limits.levels, "laws()")

    def price(self, totals: Totals, span: Span) -> Costs:
        """Return the pair of each level: the same share of its epsilon and its delta."""
        left = self._limits.pairs_left(totals)
        self._limits.check_pairs(left)
        charges: dict[str, Cost] = {}
        for group, piece in self._plan.pieces("rows", *span.rows).items():
            for level in self._limits.levels if group == EVERYONE else (split_group(group)[0],):
                share = piece.price.share(*left[level])
                if share > 1:
                    own = own_delta_fault(
                        self._mechanism,
                        *(span.rows[1] - span.rows[0], self._n_columns),
                        {name: delta for name, (_, delta) in left.items()},
                    )
                    raise BudgetExceededError(
                        f"The rows don't fit the (epsilon, delta) = ({left[level][0]:.4g}, "
                        f"{left[level][1]:.3g}) that is left to {level!r}. Nothing was spent or "
                        f"reserved. " + (own or "Take fewer rows, or use more noise.")
                    )
                cost: Cost = share_of_pair(share, *left[level])
                charges[level] = charges[level].parallel(cost) if level in charges else cost
        return charges

    def refund(self, span: Span, paid: Costs) -> Costs:
        """Return nothing."""
        return {}


class Mu2Terms:
    """Plans whose mu^2 adds up; a plan that ends early gives back what never beats drawing on."""

    def __init__(
        self, limits: Limits, mechanism: ReleaseMechanism, n_rows: int, n_columns: int | None
    ) -> None:
        self._limits = limits
        self._terms = GaussianTerms(mechanism, n_rows, n_columns, None, limits.levels)
        self.has_threshold = self._terms.has_threshold
        check_groups(self._terms.names, limits.levels, "laws()")

    def price(self, totals: Totals, span: Span) -> Costs:
        """Return mu^2 and the delta beside it, the same share of what is left of both."""
        left = self._limits.left_in_mu2(totals, self._terms.names)
        charges = self._terms.charges(span, left)
        if charges is None:
            own = self._terms.own_delta_fault(span.rows[1] - span.rows[0], left)
            name, share = max(self._terms.shares(span, left).items(), key=lambda each: each[1])
            raise BudgetExceededError(
                f"The rows cost {share:.4g} times the mu^2 of {left[name][0]:.4g} (and the delta "
                f"of {left[name][1]:.3g}) that is left to {name!r}. Nothing was spent or "
                "reserved. " + (own or "Take fewer rows, or use more noise.")
            )
        return charges

    def refund(self, span: Span, paid: Costs) -> Costs:
        """Return the mu^2 of what was not drawn, at most what was paid; the delta stays paid."""
        return {
            name: GaussianCost(np.minimum(cost.at(GAUSSIAN), paid[name].at(GAUSSIAN)))
            for name, cost in self._terms.refund(span).items()
        }


def terms_of(
    budget: Budget,
    limits: Limits,
    mechanism: ReleaseMechanism,
    n_rows: int,
    n_columns: int | None,
) -> Terms:
    """Return the prices of a mechanism's rows in a budget.

    Raises
    ------
    ValueError
        If its rows are parallel: they are one release, and there is nothing to draw later.
    """
    if mechanism.rows == "parallel":
        raise ValueError(
            f"mechanism={mechanism!r} releases all its rows at once, so there is nothing to draw "
            "later; release it."
        )
    if budget.kind == "gaussian":
        return Mu2Terms(limits, mechanism, n_rows, n_columns)
    if is_plan(budget.kind, mechanism, n_columns):
        return PairTerms(limits, mechanism, n_rows, n_columns)
    return RowTerms(limits, mechanism, n_columns)


def unused(
    plan: tuple[int, int | None], before: tuple[int, int], drawn: tuple[int, int]
) -> Span | None:
    """Return what was not drawn of a plan that others of some rows and answers came before.

    None if nothing of it was drawn.
    """
    n_rows, n_answers = plan
    rows, answers = (max(done - start, 0) for done, start in zip(drawn, before, strict=True))
    if rows == 0 and (answers == 0 or n_answers is None):
        return None
    span = Span((before[0] + min(rows, n_rows), before[0] + n_rows))
    if n_answers is not None:
        span = replace(span, answers=(min(answers, n_answers), n_answers))
    return span
