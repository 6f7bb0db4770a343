"""Privacy levels of the rows, and their budgets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION, marked_errors
from secretballot._base._numbers import check_integer
from secretballot._base._sklearn_compat import _num_samples
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.costs._cost import best_order, gate_budget
from secretballot.ledger._budget import ONLY_LEVEL, LevelBudget
from secretballot.tables._owners import one_column


@dataclass(frozen=True)
class Levels:
    """Levels of a budget, and the level of each row. All of it is public."""

    budgets: tuple[LevelBudget, ...]  # ascending in epsilon
    of_row: NDArray[np.intp]  # position of each row's level; none of rows in parts
    people: NDArray[np.intp]  # rows, or owners, per level

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(level.name for level in self.budgets)

    @property
    def epsilons(self) -> NDArray[np.float64]:
        return np.array([level.epsilon for level in self.budgets])

    @property
    def rates(self) -> NDArray[np.float64]:
        """Budget of each level per Renyi order, at the order at which it is counted.

        The cost of a small move is about a constant times order times squared shift, so rates
        compare budgets.
        """
        return np.array([_rate(level) for level in self.budgets])

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights of people's vectors with which all levels use their budgets up together."""
        return np.asarray(np.sqrt(self.rates / self.rates.min()))

    @classmethod
    def of_counts(cls, n: Mapping[str, int], accountant: PrivacyAccountant | None) -> Levels:
        levels = _levels_of(accountant, "n")
        if set(n) != {level.name for level in levels}:
            valid = ", ".join(repr(level.name) for level in levels)
            raise ValueError(f"n={dict(n)!r} must have a number for each level: {valid}.")
        check_integer("n", n, per_level=True)
        people = np.array([n[level.name] for level in levels], dtype=np.intp)
        return cls(levels, np.repeat(np.arange(len(levels)), people), people)

    @classmethod
    def of_people(
        cls, people: NDArray[np.intp], accountant: PrivacyAccountant, of_row: NDArray[np.intp]
    ) -> Levels:
        """Return the levels of a number of people each; refuse levels of nobody."""
        levels = _levels_of(accountant, "budgets")
        if not people.all():
            empty = levels[int(np.argmin(people))].name
            raise ValueError(
                f"no row of budgets is of the level {empty!r}, which the accountant has; open a "
                "budget of the levels that occur, or check the spelling."
            )
        return cls(levels, of_row, people)

    def described(self, **per_level: Sequence[Any]) -> dict[str, Any]:
        """Return values per level under the levels' names."""
        return {
            key: dict(zip(self.names, values, strict=True)) for key, values in per_level.items()
        }

    @property
    def ledger_note(self) -> dict[str, Any]:
        return self.described(people=self.people.tolist())


def _rate(level: LevelBudget) -> float:
    if isinstance(level.order, str):
        return level.amount
    if math.isinf(level.order):  # basic composition: as if it were converted
        order = best_order(level.epsilon, level.delta)
        return gate_budget(level.epsilon, level.delta, order) / order
    return level.amount / level.order


def affordable(
    rates: NDArray[np.float64], values: NDArray[np.float64], *, power: int
) -> NDArray[np.float64]:
    """Return choices of a value per level, among which is the best.

    A level with rate r and value v lasts for r / v^power votes, and larger values make better
    votes. For the level that runs out first, the others take the largest value with which they
    last as long. So it is enough to try each level as the first, with each of the ascending
    values. The result has the shape (n_choices, n_levels).
    """
    costs = values**power
    durations = np.unique(rates[:, None] / costs)  # votes until the first level runs out
    allowance = rates / durations[:, None] * (1 + 1e-12)
    largest = np.searchsorted(costs, allowance, side="right") - 1
    return np.asarray(np.unique(values[largest[(largest >= 0).all(axis=1)]], axis=0))


def check_levels(
    budgets: ArrayLike, n_rows: int, owners: ArrayLike | None, accountant: PrivacyAccountant | None
) -> Levels:
    """Check that each row, and each owner, has one level of the budget, and each level a row."""
    levels = _levels_of(accountant, "budgets")
    if _num_samples(budgets) != n_rows:
        raise ValueError(
            f"budgets has {_num_samples(budgets)} entries, but X has {n_rows} rows; give one level "
            "per row."
        )
    names = np.asarray(budgets, dtype=object)
    if names.ndim != 1:
        raise ValueError(
            f"budgets has shape {names.shape}; give one level per row"
            f"{one_column('budgets', budgets)}."
        )
    position = {level.name: index for index, level in enumerate(levels)}
    valid = ", ".join(map(repr, position))
    of_row = np.empty(n_rows, dtype=np.intp)
    with marked_errors("budgets"):
        for row, name in enumerate(names.tolist()):
            if not isinstance(name, str):
                raise ValueError(
                    f"budgets[{row}]={name!r} is not a level: every row needs one of {valid}. "
                    f"{NOT_FOR_PUBLICATION}"
                )
            if name not in position:
                raise ValueError(
                    f"budgets[{row}]={name!r} is not a level of the accountant, whose levels are "
                    f"{valid}. {NOT_FOR_PUBLICATION}"
                )
            of_row[row] = position[name]
    of_person = of_row if owners is None else _levels_of_owners(of_row, owners)
    people = np.bincount(of_person, minlength=len(levels))
    assert accountant is not None
    return Levels.of_people(people, accountant, of_row)


def level_names(accountant: PrivacyAccountant | None) -> tuple[str, ...]:
    """Return the names of a budget's levels, in the order of their positions."""
    return tuple(level.name for level in _levels_of(accountant, "budgets"))


def _levels_of(accountant: PrivacyAccountant | None, argument: str) -> tuple[LevelBudget, ...]:
    """Return the levels of a budget that has several, in ascending order of epsilon."""
    if not isinstance(accountant, PrivacyAccountant):
        raise ValueError(
            f"{argument} names levels of the accountant, but accountant=None. Use "
            "accountant=PrivacyAccountant({'strict': 1.0, 'generous': 3.0}, delta)."
        )
    levels = tuple(sorted(accountant.levels, key=lambda level: level.epsilon))
    if [level.name for level in levels] == [ONLY_LEVEL]:
        raise ValueError(
            f"{argument} names levels of the accountant, but the accountant has one budget for "
            "everyone. Open it with one per level: PrivacyAccountant({'strict': 1.0, 'generous': "
            f"3.0}}, delta){', or give the number of all rows' if argument == 'n' else ''}."
        )
    return levels


def _levels_of_owners(of_row: NDArray[np.intp], owners: ArrayLike) -> NDArray[np.intp]:
    level_of: dict[Any, int] = {}
    for row, owner in enumerate(np.asarray(owners, dtype=object).tolist()):
        if level_of.setdefault(owner, of_row[row]) != of_row[row]:
            raise ValueError(
                f"budgets gives the rows of owner {owner!r} different levels (at row {row}); an "
                f"owner has one. {NOT_FOR_PUBLICATION}"
            )
    return np.array(list(level_of.values()), dtype=np.intp)
