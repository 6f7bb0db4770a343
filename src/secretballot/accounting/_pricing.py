"""How a release is priced: row by row, or as one plan."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Protocol

from secretballot._errors import BudgetExceededError
from secretballot.accounting._gaussian_pricing import InMu2
from secretballot.accounting._limits import Limits, parallel_cost
from secretballot.accounting._own_delta import own_delta_fault
from secretballot.accounting._protocol import ReleaseMechanism
from secretballot.divergences import Cost, RenyiCost, check_groups
from secretballot.games import PlannedMechanism, has_game, plan_rows, plan_shares
from secretballot.ledger import Totals

#: What a sum of pairs may be rounded up by.
_ROUNDING = 1 - 1e-12


class Pricing(Protocol):
    """What a release of some rows is charged, and how many of them are begun."""

    @property
    def note(self) -> dict[str, Any]:
        """What is added to the note of the release."""

    def admit_first(self, totals: Totals) -> None:
        """Raise BudgetExceededError if not even one row fits."""

    def settle(self, outcome: Any) -> None:
        """Look at the outcome, if what was released decides the charge."""

    def charge(self, totals: Totals) -> tuple[int, dict[str, Cost]]:
        """Return how many rows are begun, and what they are charged per group."""


class RowByRow:
    """Rows are begun in order while the most that each can cost fits, and pay what they did cost.

    Parallel rows are all begun or none, and cost what the dearest one does.
    """

    note: dict[str, Any] = {}

    def __init__(
        self,
        limits: Limits,
        mechanism: ReleaseMechanism,
        n_rows: int,
        n_columns: int | None,
        known: Any,
    ) -> None:
        self._limits, self._mechanism = limits, mechanism
        self._n_rows, self._n_columns, self._known = n_rows, n_columns, known
        self._parallel = mechanism.rows == "parallel"
        self._most = dict(mechanism.max_cost(n_columns, known))
        limits.check_most(self._most)
        for group, there in mechanism.participation(n_rows).items():
            self._most[group] = self._most[group] * there
        self._gated = parallel_cost(self._most) if self._parallel else self._most

    def admit_first(self, totals: Totals) -> None:
        """Raise BudgetExceededError if not even one row fits."""
        self._limits.admit_first(totals, self._gated)

    def settle(self, outcome: Any) -> None:
        """Compute what the rows did cost."""
        self._cost = self._mechanism.cost(outcome, self._known, n_columns=self._n_columns)
        self._limits.check_cost(self._cost, self._most, self._n_rows)

    def charge(self, totals: Totals) -> tuple[int, dict[str, Cost]]:
        """Return the longest prefix that fits, and what it did cost."""
        if self._parallel:
            charges = parallel_cost(self._cost)
            return self._n_rows * self._limits.admit(totals, charges, self._gated, 1), charges
        begun = self._limits.admit(totals, self._cost, self._gated, self._n_rows)
        return begun, {group: each[:begun].sum() for group, each in self._cost.items()}


class AsOnePlan:
    """All rows of the longest prefix that fits are begun, and pay one pair (epsilon, delta).

    The plan is fixed by what is left of the budget, before anything is drawn; the pair is charged
    whatever comes out. It takes the same share of both what is left of epsilon and of delta.
    """

    note: dict[str, Any] = {"priced": "as one plan"}

    def __init__(
        self,
        limits: Limits,
        mechanism: PlannedMechanism,
        n_rows: int,
        n_columns: int | None,
        known: Any,
    ) -> None:
        self._limits, self._mechanism, self._n_rows = limits, mechanism, n_rows
        check_groups(mechanism.laws(n_columns), limits.levels, "laws()")
        self._data: dict[str, Any] = {"n_columns": n_columns, "counts": known}
        # What is asked for before the draw is asked for again in the ledger's transaction, and
        # only computed again if another process has spent in between.
        self._planned = lru_cache(maxsize=4)(self._plan)

    def admit_first(self, totals: Totals) -> None:
        """Raise BudgetExceededError if not even one row fits."""
        self._planned(self._left(totals))

    def settle(self, outcome: Any) -> None:
        """Do nothing: the charge doesn't depend on what was released."""

    def charge(self, totals: Totals) -> tuple[int, dict[str, Cost]]:
        """Return the longest prefix that fits, and the pair of each level."""
        return self._planned(self._left(totals))

    def _left(self, totals: Totals) -> tuple[tuple[str, float, float], ...]:
        return tuple((level, *pair) for level, pair in self._limits.pairs_left(totals).items())

    def _plan(self, left: tuple[tuple[str, float, float], ...]) -> tuple[int, dict[str, Cost]]:
        epsilon = {level: each for level, each, _ in left}
        delta = {level: each for level, _, each in left}
        self._limits.check_pairs({level: (each, d) for level, each, d in left})
        begun = plan_rows(self._mechanism, self._n_rows, epsilon, delta, **self._data)
        if not begun:
            own = own_delta_fault(self._mechanism, 1, self._data["n_columns"], delta)  # type: ignore[arg-type]
            pairs = "; ".join(f"({each:.4g}, {d:.3g}) of {level!r}" for level, each, d in left)
            raise BudgetExceededError(
                f"Not even one row fits the (epsilon, delta) that is left: {pairs}. Nothing was "
                "released or recorded. "
                + (own or f"Use more noise; otherwise {self._limits.helps_plan}")
            )
        shares = plan_shares(self._mechanism, begun, epsilon, delta, **self._data)
        charges: dict[str, Cost] = {}
        for level, used in shares.items():
            charges[level] = share_of_pair(min(used, 1.0), epsilon[level], delta[level])
        return begun, charges


def share_of_pair(share: float, epsilon: float, delta: float) -> RenyiCost:
    """Return the pair that a plan pays: the same share of what is left of epsilon and of delta."""
    return RenyiCost.from_epsilon_delta(share * epsilon * _ROUNDING, share * delta * _ROUNDING)


def pricing_of(
    limits: Limits,
    mechanism: ReleaseMechanism,
    n_rows: int,
    n_columns: int | None,
    known: Any,
) -> Pricing:
    """Return the pricing of a release: as plans where rows alone can't be added up.

    That is where the budget counts mu^2, or is one of basic composition and noise is Gaussian.
    """
    if limits.kind == "gaussian":
        return InMu2(limits, mechanism, n_rows, n_columns, known)
    if is_plan(limits.kind, mechanism, n_columns):
        return AsOnePlan(limits, mechanism, n_rows, n_columns, known)  # type: ignore[arg-type]
    return RowByRow(limits, mechanism, n_rows, n_columns, known)


def is_plan(kind: str, mechanism: ReleaseMechanism, n_columns: int | None) -> bool:
    """Whether rows have no pure cost to add up, though the budget is one of pairs."""
    if not (kind == "pairs" and mechanism.rows == "sequential" and hasattr(mechanism, "laws")):
        return False
    if not all(map(has_game, mechanism.laws(n_columns).values())):
        return False
    most = mechanism.max_cost(n_columns, order=math.inf)
    return any(math.isinf(cost.at(math.inf)) for cost in most.values())
