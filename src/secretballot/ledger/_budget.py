"""Budgets of a ledger: one order and one amount per level, fixed when it is opened."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NoReturn, TypeGuard, TypeVar

from secretballot._base._numbers import MOST_EPSILON, as_float, check_number, quoted
from secretballot.costs._cost import best_order, gate_budget, gaussian_budget, renyi_budget
from secretballot.costs._groups import EVERYONE, GROUP_SEPARATOR
from secretballot.costs._orders import GAUSSIAN, ORDERS, Order, grid_order

#: The name of the one level of a budget with one epsilon. Charges name it, or
#: `secretballot.costs.EVERYONE`: a group that stands for all levels of any budget.
ONLY_LEVEL = "everyone"

V = TypeVar("V")


def by_level(value: V | dict[str, V]) -> dict[str, V]:
    """Return values by level; one value for all is that of the level "everyone"."""
    return value if isinstance(value, dict) else {ONLY_LEVEL: value}


def without_only_level(values: dict[str, V]) -> V | dict[str, V]:
    """Return the one value of a budget with one epsilon, or the values by level."""
    return values[ONLY_LEVEL] if values.keys() == {ONLY_LEVEL} else values


#: Orders that a caller may ask for; `"renyi"` chooses the best one when the budget is opened.
AskedOrder = Order | Literal["renyi"]

#: Largest delta of a budget.
_MOST_DELTA = 0.1
#: Default share of delta for approximation deltas in a Gaussian budget.
_APPROXIMATION_SHARE = 0.01

UNITS = ("row", "owner", "label", "voter")
RELATIONS = ("replace", "add_remove")
ACCOUNTING = ("worst_case", "data_dependent", "sanitized")


#: NUL and surrogates.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def is_text(value: object) -> TypeGuard[str]:
    """Check that a value is text that every store can hold: not empty, no surrogate, no NUL."""
    if not isinstance(value, str) or not value:
        return False
    return _NO_TEXT.search(value) is None


@dataclass(frozen=True)
class LevelBudget:
    """Budget of one level: its epsilon and delta, and the amount they allow in one order."""

    name: str
    epsilon: float
    delta: float
    approximation_delta: float
    order: Order
    amount: float

    @classmethod
    def create(
        cls, name: str, epsilon: float, delta: float, approximation_delta: float, order: AskedOrder
    ) -> LevelBudget:
        total = as_float(epsilon)
        level = cls(name, total, delta, approximation_delta, GAUSSIAN, 0.0)
        chosen, amount = level.amount_of(total, order)
        if not amount > 0:
            if chosen == GAUSSIAN:
                raise ValueError(
                    f"no mu^2 is left of epsilon={total:g} at delta={delta:g} beside "
                    f"approximation_delta={approximation_delta:g}; use less of it."
                )
            _refuse_order(chosen, total, delta - approximation_delta)
        return replace(level, order=chosen, amount=amount)

    def amount_of(self, epsilon: float, order: AskedOrder) -> tuple[Order, float]:
        """Compute the order, the best one for "renyi", and the amount of an epsilon in it."""
        spare = self.delta - self.approximation_delta
        if order == "renyi":
            order = best_order(epsilon, spare)
        if isinstance(order, str):
            return GAUSSIAN, gaussian_budget(epsilon, self.delta, self.approximation_delta)
        return order, gate_budget(epsilon, spare, order)


def _refuse_order(order: Order, epsilon: float, delta: float) -> NoReturn:
    usable = ORDERS[:-1][renyi_budget(epsilon, delta, ORDERS[:-1]) > 0]
    which = (
        f"the orders from {usable.min():.4g} to {usable.max():.4g} of the grid do"
        if usable.size
        else "no finite order does (order=inf is basic composition)"
    )
    raise ValueError(
        f"order={order:g} can't certify epsilon={epsilon:g} at delta={delta:g}; {which}. "
        "Use order='renyi' to have the best one chosen."
    )


def budget_levels(
    epsilon: float | Mapping[str, float],
    delta: float | None,
    order: AskedOrder = GAUSSIAN,
    approximation_delta: float | None = None,
) -> tuple[LevelBudget, ...]:
    if delta is None:
        raise ValueError(
            "delta=None: give the probability by which answers may exceed what epsilon allows, "
            "such as 1e-5. It must be well below one over the number of private rows (or owners): "
            "at 1/n, publishing somebody's whole record would satisfy it."
        )
    if not isinstance(order, str) or order not in (GAUSSIAN, "renyi"):
        gate = as_float(order)
        if math.isnan(gate):
            raise ValueError(
                f"order={quoted(order)} must be {GAUSSIAN!r}, 'renyi', or a Renyi order (a "
                "number; inf is basic composition)."
            )
        order = grid_order(gate)
    basic = isinstance(order, float) and math.isinf(order)
    total = as_float(delta)
    default_share = _APPROXIMATION_SHARE * total if order == GAUSSIAN else 0.0
    share = default_share if approximation_delta is None else as_float(approximation_delta)
    if not (0 < total < 1 or (basic and total == 0)):
        text = f" Give a number, without quotes: delta={delta}." if isinstance(delta, str) else ""
        raise ValueError(
            f"delta={quoted(delta)} must be a number strictly between 0 and 1; a delta of 0 needs "
            f"order=inf (basic composition of pure costs).{text}"
        )
    if total > _MOST_DELTA:
        raise ValueError(
            f"delta={total:g} is more than {_MOST_DELTA:g}, and promises nothing: with that "
            "probability anything may be released. Give one well below one over the number of "
            "private rows (or owners), such as delta=1e-5."
        )
    if basic and share not in (0, total):
        raise ValueError(
            f"approximation_delta={quoted(approximation_delta)} has no meaning at order=inf, "
            "where all of delta is for approximations; leave it out."
        )
    if basic:
        share = total
    elif not 0 <= share < total:
        raise ValueError(
            f"approximation_delta={quoted(approximation_delta)} must be at least 0 and less than "
            f"delta={total:g}, of which it is a part."
        )
    check_number("epsilon", epsilon, above=0, most=MOST_EPSILON, per_level=True)
    levels = []
    for name, amount in (
        epsilon if isinstance(epsilon, Mapping) else {ONLY_LEVEL: epsilon}
    ).items():
        if not is_text(name) or GROUP_SEPARATOR in name or name == EVERYONE:
            raise ValueError(
                f"epsilon has a level called {name!r}; the name of a level is a non-empty string "
                f"without {GROUP_SEPARATOR!r} and NUL, other than {EVERYONE!r}."
            )
        levels.append(LevelBudget.create(name, amount, total, share, order))
    return tuple(levels)


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Budget and conventions that a ledger fixes when it is created."""

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
            if not isinstance(value, str | bool) or value not in valid:
                names = ", ".join(map(repr, valid))
                raise ValueError(f"{name}={quoted(value)} is unknown; use one of {names}.")
        if self.is_sensitive and self.kind != "renyi":
            raise ValueError(
                f"order={self.levels[0].order!r} can't charge what the actual votes cost: use "
                "order='renyi' with accounting='data_dependent', or leave it out."
            )

    @property
    def is_sensitive(self) -> bool:
        """True if costs depend on the votes, so that nothing may state them."""
        return self.accounting == "data_dependent"

    @property
    def keeps_private(self) -> bool:
        """True if entries may have private records, for the owner only."""
        return self.accounting == "sanitized"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(level.name for level in self.levels)

    @property
    def epsilon(self) -> float | dict[str, float]:
        """Epsilon of the budget: one number, or a dict with one per level."""
        return without_only_level({level.name: level.epsilon for level in self.levels})

    @property
    def delta(self) -> float:
        return self.levels[0].delta

    @property
    def kind(self) -> Literal["gaussian", "renyi", "pairs"]:
        """Currency of the costs: mu^2, Renyi divergences, or pairs (epsilon, delta)."""
        order = self.levels[0].order
        if isinstance(order, str):
            return "gaussian"
        return "pairs" if math.isinf(order) else "renyi"


#: First letter of the names under which the sums of child budgets are stored; no scope has one.
CHILD_SCOPE = "/"

#: Limit of a scope: one epsilon for all levels, one per level, or none.
Cap = float | Mapping[str, float] | None


def check_cap(
    cap: Cap, levels: Collection[str], name: str = "epsilon", *, most: float = MOST_EPSILON
) -> Cap:
    """Check a limit, and return it with plain floats."""
    if cap is None:
        return None
    if isinstance(cap, Mapping) and set(cap) != set(levels):
        raise ValueError(
            f"{name}={cap!r} must name every level of the budget: {', '.join(map(repr, levels))}."
        )
    check_number(name, cap, above=0, most=most, per_level=True)
    if isinstance(cap, Mapping):
        return {level: as_float(amount) for level, amount in cap.items()}
    return as_float(cap)


@dataclass(frozen=True)
class Scope:
    """A part of a run that may spend no more than its own epsilon; from `PrivacyAccountant.scope`.

    A scope is one fit. The parts of one division of a level (``"level/division/part"``) are the
    same people in all releases of a scope. They pay what the most expensive part does; in any other
    division or scope they are other people, and what these cost adds up.

    Attributes
    ----------
    id : str
        Name in the ledger.
    epsilon : float, dict of str to float, or None
        The most that all its releases together may spend, for all levels alike or per level; None
        leaves it to the budget.
    ledger : str
        Digest of what its ledger fixes; no other ledger takes it.
    share : float, dict of str to float, or None
        The most as a part of the whole budget. Unlike `epsilon` it is not recorded.
    """

    id: str
    epsilon: Cap
    ledger: str = field(default="", repr=False)
    share: Cap = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not is_text(self.id):
            raise ValueError(f"id={self.id!r} of a scope must be a non-empty string without NUL.")
        if self.id.startswith(CHILD_SCOPE):
            raise ValueError(f"id={self.id!r} of a scope must not begin with {CHILD_SCOPE!r}.")

    def cap(self, level: str) -> float | None:
        """Return the limit for one level."""
        return self.epsilon[level] if isinstance(self.epsilon, Mapping) else self.epsilon

    def share_of(self, level: str) -> float | None:
        """Return the part of the whole budget of one level."""
        return self.share[level] if isinstance(self.share, Mapping) else self.share
