"""Child budgets of a ledger: parts of its budget, each with its own releases and sums."""

from __future__ import annotations

import json
import math
from dataclasses import astuple, dataclass, field, replace
from typing import Literal, Self, cast

import numpy as np

from secretballot._base._errors import LedgerError
from secretballot.costs._cost import Cost, GaussianCost, RenyiCost
from secretballot.costs._groups import Costs, level_cost
from secretballot.costs._orders import GAUSSIAN, ORDERS
from secretballot.ledger._budget import Budget, LevelBudget, is_text
from secretballot.ledger._encoding import charge_digits, to_json

Event = Literal["carve", "spend", "close"]

#: No name of a child has it: in drafts it joined the names of nested children.
NAME_SEPARATOR = "/"
#: Fields of a stored grant for kinds of children that were removed.
_REMOVED = {"group": None, "sealed": False}


def is_child_name(name: object) -> bool:
    """Check the name of a child."""
    return is_text(name) and NAME_SEPARATOR not in name


@dataclass(frozen=True)
class Grant:
    """Part of a budget that a child got.

    Attributes
    ----------
    levels : tuple of LevelBudget
        Limits of the child.
    """

    levels: tuple[LevelBudget, ...]

    def budget(self, root: Budget) -> Budget:
        """Return the budget of the child, with the conventions of the whole one."""
        return replace(root, levels=self.levels)

    def costs(self) -> dict[str, Cost]:
        """Compute the charge to the parent, by level: the limits of the child."""
        return {level.name: self._cost(level) for level in self.levels}

    def refund(self, child: ChildTotals) -> dict[str, Cost]:
        """Compute the refund of a child that is closed, by level: all that was not charged."""
        return {
            level.name: self._cost(level).refund_after(
                level_cost(child.charges, level.name, level.order)
            )
            for level in self.levels
        }

    def _cost(self, level: LevelBudget) -> Cost:
        if level.order == GAUSSIAN:
            return GaussianCost(level.amount, level.approximation_delta)
        if math.isinf(level.order):
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
        return to_json({"levels": levels, **_REMOVED}, "a child budget")

    @classmethod
    def of_stored(cls, text: str) -> Self:
        """Decode what `stored` returned."""
        content = json.loads(text)
        if any(content[name] is not value for name, value in _REMOVED.items()):
            raise _removed_kind()
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
        return cls(tuple(levels))


@dataclass(frozen=True)
class Child:
    """Child budget that an entry makes, spends from or closes."""

    name: str
    event: Event
    grant: Grant | None = None  # of "carve"

    @property
    def account(self) -> str:
        """Name of the child that is charged; "" for the whole budget."""
        return self.name if self.event == "spend" else ""

    def stored(self) -> tuple[str, Event, str]:
        """Return name, event and grant as text."""
        return self.name, self.event, "" if self.grant is None else self.grant.stored()

    @classmethod
    def of_stored(cls, name: str, event: str, grant: str) -> Self:
        """Decode what `stored` returned; LedgerError for a kind that was removed."""
        if event == "begin" or NAME_SEPARATOR in name:
            raise _removed_kind()
        return cls(name, cast("Event", event), Grant.of_stored(grant) if grant else None)


def _removed_kind() -> LedgerError:
    return LedgerError(
        "is of a kind of child budget that was removed (nested, sealed, begun or of a group), and "
        "only the version that wrote it reads it"
    )


@dataclass(frozen=True)
class ChildTotals:
    """Sums of a child budget, and its state."""

    grant: Grant
    scope: str | None = None  # in which its parent was charged
    charges: Costs = field(default_factory=dict)
    n_releases: int = 0
    n_rows: int = 0
    is_closed: bool = False

    def after(self, event: Event) -> Self:
        """Return the totals after an event of the child itself."""
        return replace(self, is_closed=event == "close")

    def digits(self, name: str) -> list[object]:
        """Encode the sums for a digest."""
        # The 0 is of the event "begin", which was removed.
        counted = [self.n_releases, self.n_rows, 0, int(self.is_closed)]
        return [name, self.grant.stored(), counted, charge_digits(self.charges)]
