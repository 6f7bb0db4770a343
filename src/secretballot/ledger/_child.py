"""Child budgets of a ledger: parts of its budget, each with its own releases and sums."""

from __future__ import annotations

import json
import math
from dataclasses import astuple, dataclass, field, replace
from typing import Literal, Self

import numpy as np
from scipy.special import expit, ndtri

from secretballot.divergences import (
    GAUSSIAN,
    ORDERS,
    Cost,
    Costs,
    GaussianCost,
    RenyiCost,
    level_cost,
    part_name,
)
from secretballot.ledger._budget import Budget, LevelBudget, is_text
from secretballot.ledger._encoding import charge_digits, to_json

Event = Literal["carve", "spend", "begin", "close"]

#: Between the names of children of children.
PATH_SEPARATOR = "/"
#: Relative rounding of the mu^2 of a pair (epsilon, delta), upwards.
_ROUNDING = 1e-9


def parent_path(path: str) -> str:
    """Return the path of a child's parent; "" for the whole budget."""
    return path.rpartition(PATH_SEPARATOR)[0]


@dataclass(frozen=True)
class Grant:
    """Part of a budget that a child got.

    Attributes
    ----------
    levels : tuple of LevelBudget
        Limits of the child.
    group : (str, str) or None
        Division of people into disjoint groups, and the group that the child is for.
    is_sealed : bool
        Whether its releases are made elsewhere, and have no prices.
    """

    levels: tuple[LevelBudget, ...]
    group: tuple[str, str] | None = None
    is_sealed: bool = False

    def budget(self, root: Budget) -> Budget:
        """Return the budget of the child, with the conventions of the whole one."""
        return replace(root, levels=self.levels)

    def costs(self) -> dict[str, Cost]:
        """Compute the charge to the parent, by group.

        A child whose releases are priced in the parent's currency costs its limits. A sealed one
        costs the whole profile of (epsilon, delta)-DP.
        """
        return {self._payer(level.name): self._cost(level) for level in self.levels}

    def refund(self, child: ChildTotals) -> dict[str, Cost]:
        """Compute the refund of a child that is closed, by group: all that was not charged."""
        if self.is_sealed:
            return {} if child.is_begun else self.costs()
        return {
            self._payer(level.name): self._cost(level).refund_beside(
                level_cost(child.charges, level.name, level.order)
            )
            for level in self.levels
        }

    def _payer(self, level: str) -> str:
        return level if self.group is None else part_name(level, *self.group)

    def _cost(self, level: LevelBudget) -> Cost:
        if level.order == GAUSSIAN:
            mu2 = level.amount
            if self.is_sealed:
                # The Gaussian pair that dominates a pure one: Dong, Roth and Su (2022).
                mu2 = float(2 * ndtri(expit(level.epsilon))) ** 2 * (1 + _ROUNDING)
            return GaussianCost(mu2, level.approximation_delta)
        if self.is_sealed or math.isinf(level.order):
            return RenyiCost.from_epsilon_delta(level.epsilon, level.approximation_delta)
        # A divergence grows with its order, so the limit at one order holds for smaller ones.
        curve = np.where(level.order >= ORDERS, level.amount, np.inf)
        return RenyiCost(curve, level.approximation_delta)

    def stored(self) -> str:
        """Encode the grant as JSON; numbers are hexadecimal, so that no bit is lost."""
        levels = [
            [value if isinstance(value, str) else float(value).hex() for value in astuple(level)]
            for level in self.levels
        ]
        content = {"levels": levels, "group": self.group, "sealed": self.is_sealed}
        return to_json(content, "a child budget")

    @classmethod
    def of_stored(cls, text: str) -> Self:
        """Decode what `stored` returned."""
        content = json.loads(text)
        levels = []
        for name, epsilon, delta, share, order, amount in content["levels"]:
            levels.append(
                LevelBudget(
                    name=name,
                    epsilon=float.fromhex(epsilon),
                    delta=float.fromhex(delta),
                    approximation_delta=float.fromhex(share),
                    order=GAUSSIAN if order == GAUSSIAN else float.fromhex(order),
                    amount=float.fromhex(amount),
                )
            )
        group = content["group"]
        if group is not None:
            division, part = group
            if not (is_text(division) and is_text(part)):
                raise ValueError("a child is for no group of people")
            group = division, part
        return cls(tuple(levels), group, content["sealed"])


@dataclass(frozen=True)
class Child:
    """Child budget that an entry makes, spends from, begins (if it is sealed) or closes."""

    path: str
    event: Event
    grant: Grant | None = None  # of "carve"

    @property
    def account(self) -> str:
        """Path of the child that is charged; "" for the whole budget."""
        return self.path if self.event == "spend" else parent_path(self.path)

    def stored(self) -> tuple[str, Event, str]:
        """Return path, event and grant as text."""
        return self.path, self.event, "" if self.grant is None else self.grant.stored()

    @classmethod
    def of_stored(cls, path: str, event: Event, grant: str) -> Self:
        """Decode what `stored` returned."""
        return cls(path, event, Grant.of_stored(grant) if grant else None)


@dataclass(frozen=True)
class ChildTotals:
    """Sums of a child budget, and its state."""

    grant: Grant
    scope: str | None = None  # in which its parent was charged
    charges: Costs = field(default_factory=dict)
    n_releases: int = 0
    n_rows: int = 0
    is_begun: bool = False
    is_closed: bool = False

    def after(self, event: Event) -> Self:
        """Return the totals after an event of the child itself."""
        return replace(self, is_begun=self.is_begun or event == "begin", is_closed=event == "close")

    def digits(self, path: str) -> list[object]:
        """Encode the sums for a digest."""
        counted = [self.n_releases, self.n_rows, int(self.is_begun), int(self.is_closed)]
        return [path, self.grant.stored(), counted, charge_digits(self.charges)]
