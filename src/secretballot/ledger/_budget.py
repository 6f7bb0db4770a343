"""What a budget allows: one Renyi order and one amount per level, fixed when it is opened."""

from __future__ import annotations

import math
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from secretballot._numbers import as_float, check_number
from secretballot._sizes import MOST_EPSILON
from secretballot.divergences import (
    EVERYONE,
    GAUSSIAN,
    GROUP_SEPARATOR,
    ORDERS,
    Order,
    best_order,
    gate_budget,
    gaussian_budget,
    grid_order,
    renyi_budget,
)

#: The level of a budget that is the same for all.
ONLY_LEVEL = "everyone"

#: What may be asked to add up: the best Renyi order is chosen when the budget is opened.
AskedOrder = Order | Literal["renyi"]

#: Part of delta that a Gaussian budget sets aside, unless told otherwise.
_SET_ASIDE = 0.01

UNITS = ("row", "owner", "label", "voter")
RELATIONS = ("replace", "add_remove")
ACCOUNTING = ("worst_case", "data_dependent", "sanitized")


def is_text(value: Any) -> bool:
    """Whether it is a string that a file can hold, and not empty."""
    if not isinstance(value, str) or not value:
        return False
    return not any("\ud800" <= each <= "\udfff" for each in value)  # surrogates stand for bytes


@dataclass(frozen=True, kw_only=True)
class LevelBudget:
    """What may be spent on the people of one level."""

    name: str
    epsilon: float
    delta: float
    approximation_delta: float
    order: Order
    amount: float

    @classmethod
    def create(
        cls,
        name: str,
        epsilon: Any,
        delta: float,
        approximation_delta: float,
        order: AskedOrder,
    ) -> LevelBudget:
        """Choose the order if it is left open, and convert the budget there."""
        amount = as_float(epsilon)
        if order == GAUSSIAN:
            return cls._gaussian(name, amount, delta, approximation_delta)
        if order != "renyi" and math.isinf(order):
            # Order infinity needs no delta for a conversion: all of it is for approximations.
            return cls(
                name=name,
                epsilon=amount,
                delta=delta,
                approximation_delta=delta,
                order=order,
                amount=gate_budget(amount, delta, order),
            )
        spare = delta - approximation_delta
        chosen = best_order(amount, spare) if order == "renyi" else order
        allowed = gate_budget(amount, spare, chosen)
        if not allowed > 0:
            usable = ORDERS[:-1][renyi_budget(amount, spare, ORDERS[:-1]) > 0]
            which = (
                f"the orders from {usable.min():.4g} to {usable.max():.4g} of the grid do"
                if usable.size
                else "no finite order does (order=inf is basic composition)"
            )
            raise ValueError(
                f"order={chosen:g} can't certify epsilon={amount:g} at delta={spare:g}; {which}. "
                "Use order='renyi' to have the best one chosen."
            )
        return cls(
            name=name,
            epsilon=amount,
            delta=delta,
            approximation_delta=approximation_delta,
            order=chosen,
            amount=allowed,
        )

    @classmethod
    def _gaussian(
        cls, name: str, epsilon: float, delta: float, approximation_delta: float
    ) -> LevelBudget:
        allowed = gaussian_budget(epsilon, delta, approximation_delta)
        if not allowed > 0:
            raise ValueError(
                f"no mu^2 is left of epsilon={epsilon:g} at delta={delta:g} beside "
                f"approximation_delta={approximation_delta:g}; use less of it."
            )
        return cls(
            name=name,
            epsilon=epsilon,
            delta=delta,
            approximation_delta=approximation_delta,
            order=GAUSSIAN,
            amount=allowed,
        )


def budget_levels(
    epsilon: float | Mapping[str, float],
    delta: float | None,
    order: AskedOrder = GAUSSIAN,
    approximation_delta: float | None = None,
) -> tuple[LevelBudget, ...]:
    """Check a budget and fix its gate orders, one per level."""
    if delta is None:
        raise ValueError(
            "delta=None: give the probability with which the guarantee may fail, such as "
            "delta=1e-5. It must be well below one over the number of private rows (or owners): "
            "at 1/n, publishing somebody's whole record would satisfy it."
        )
    if order not in (GAUSSIAN, "renyi"):
        gate = as_float(order)
        if math.isnan(gate):
            raise ValueError(
                f"order={order!r} must be {GAUSSIAN!r}, 'renyi', or a Renyi order (a number; inf "
                "is basic composition)."
            )
        order = grid_order(gate)
    basic = isinstance(order, float) and math.isinf(order)
    total = as_float(delta)
    if approximation_delta is not None:
        share = as_float(approximation_delta)
    else:
        share = _SET_ASIDE * total if order == GAUSSIAN else 0.0
    if not (0 < total < 1 or (basic and total == 0)):
        text = f" Give a number, without quotes: delta={delta}." if isinstance(delta, str) else ""
        raise ValueError(
            f"delta={delta!r} must be a number strictly between 0 and 1; a delta of 0 needs "
            f"order=inf (basic composition of pure costs).{text}"
        )
    if basic and share not in (0, total):
        raise ValueError(
            f"approximation_delta={approximation_delta!r} has no meaning at order=inf, where all "
            "of delta is for approximations; leave it out."
        )
    if not basic and not 0 <= share < total:
        raise ValueError(
            f"approximation_delta={approximation_delta!r} must be at least 0 and less than "
            f"delta={total:g}, of which it is a part."
        )
    check_number("epsilon", epsilon, above=0, most=MOST_EPSILON, per_level=True)
    amounts = epsilon if isinstance(epsilon, Mapping) else {ONLY_LEVEL: epsilon}
    for name in amounts:
        if not is_text(name) or GROUP_SEPARATOR in name or name == EVERYONE:
            raise ValueError(
                f"epsilon has a level called {name!r}; the name of a level is a non-empty string "
                f"without {GROUP_SEPARATOR!r}, other than {EVERYONE!r}."
            )
    return tuple(
        LevelBudget.create(name, amount, total, share, order) for name, amount in amounts.items()
    )


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a ledger fixes for good."""

    levels: tuple[LevelBudget, ...]
    unit: str = "row"
    relation: str = "replace"
    accounting: str = "worst_case"
    allow_seeded: bool = False

    def __post_init__(self) -> None:
        for name, valid in (
            ("unit", UNITS),
            ("relation", RELATIONS),
            ("accounting", ACCOUNTING),
            ("allow_seeded", (True, False)),
        ):
            value = getattr(self, name)
            if value not in valid:
                known = ", ".join(map(repr, valid))
                raise ValueError(f"{name}={value!r} is unknown; use one of {known}.")

    @property
    def keeps_private(self) -> bool:
        """Whether entries may have private records, which are for the owner only."""
        return self.accounting == "sanitized"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the levels."""
        return tuple(level.name for level in self.levels)

    @property
    def epsilon(self) -> float | dict[str, float]:
        """Epsilon as it was asked for: one number, or one per level."""
        if self.names == (ONLY_LEVEL,):
            return self.levels[0].epsilon
        return {level.name: level.epsilon for level in self.levels}

    @property
    def delta(self) -> float:
        """Delta, the same for all levels."""
        return self.levels[0].delta

    @property
    def kind(self) -> Literal["gaussian", "renyi", "pairs"]:
        """What adds up: mu^2, Renyi divergences, or pairs of epsilon and delta."""
        order = self.levels[0].order
        if isinstance(order, str):
            return "gaussian"
        return "pairs" if math.isinf(order) else "renyi"


#: The most that a part of a run may spend: for all levels alike, per level, or not limited.
Cap = float | Mapping[str, float] | None


def check_cap(epsilon: Cap, levels: Collection[str]) -> None:
    """Refuse a cap that is not one amount, or one for every level of the budget."""
    if epsilon is None:
        return
    if isinstance(epsilon, Mapping) and set(epsilon) != set(levels):
        raise ValueError(
            f"epsilon={epsilon!r} must name every level of the budget: "
            f"{', '.join(map(repr, levels))}."
        )
    check_number("epsilon", epsilon, above=0, most=MOST_EPSILON, per_level=True)


@dataclass(frozen=True)
class Scope:
    """A part of a run that may spend no more than its own epsilon; from `PrivacyAccountant.scope`.

    A scope is one fit. The parts of one division of a level (``"level/division/part"``) are the
    same people in all releases of a scope, which pay what the dearest part does; in every other
    division or scope they are other people, and what these cost adds up.

    Attributes
    ----------
    id : str
        What the ledger calls it.
    epsilon : float, dict of str to float, or None
        The most that all its releases together may spend, for all levels alike or per level; None
        leaves it to the budget.
    ledger : str
        Digest of what its ledger fixes; no other ledger takes it.
    """

    id: str
    epsilon: Cap
    ledger: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not is_text(self.id):
            raise ValueError(f"id={self.id!r} of a scope must be a non-empty string.")

    @classmethod
    def create(cls, epsilon: Cap, levels: Collection[str], ledger: str = "") -> Scope:
        """Check `epsilon` and make a scope that is nobody else's."""
        check_cap(epsilon, levels)
        if epsilon is None:
            return cls(uuid.uuid4().hex, None, ledger)
        amounts = epsilon if isinstance(epsilon, Mapping) else {ONLY_LEVEL: epsilon}
        checked = {level: as_float(amount) for level, amount in amounts.items()}
        cap = checked if amounts is epsilon else checked[ONLY_LEVEL]
        return cls(uuid.uuid4().hex, cap, ledger)

    def cap(self, level: str) -> float | None:
        """Return the most that may be spent on one level."""
        return self.epsilon[level] if isinstance(self.epsilon, Mapping) else self.epsilon
