"""Who asked for how much privacy: the level of each row, and what the levels allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._errors import NOT_FOR_PUBLICATION
from secretballot._sklearn_compat import _num_samples
from secretballot.accounting import PrivacyAccountant
from secretballot.divergences import best_order, gate_budget
from secretballot.ledger import ONLY_LEVEL, LevelBudget


@dataclass(frozen=True)
class Levels:
    """The levels of a budget, from the strictest on, and whose each is. All of it is public.

    Attributes
    ----------
    budgets : tuple of LevelBudget
        Ascending in epsilon.
    of_row : ndarray of shape (n_rows,)
        Position in `budgets` of each row's level.
    people : ndarray of shape (n_levels,)
        How many rows, or owners, are of each level.
    """

    budgets: tuple[LevelBudget, ...]
    of_row: NDArray[np.intp]
    people: NDArray[np.intp]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the levels."""
        return tuple(level.name for level in self.budgets)

    @property
    def epsilons(self) -> NDArray[np.float64]:
        """Budget of each level."""
        return np.array([level.epsilon for level in self.budgets])

    @property
    def rates(self) -> NDArray[np.float64]:
        """What each level can spend per Renyi order, at the order that it is counted at.

        Costs of small moves are about a constant times order times squared shift, so budgets
        compare as their rates do.
        """
        return np.array([_rate(level) for level in self.budgets])

    def described(self, **per_level: Sequence[Any]) -> dict[str, Any]:
        """Return values per level under the levels' names."""
        return {
            what: dict(zip(self.names, values, strict=True)) for what, values in per_level.items()
        }

    @property
    def ledger_note(self) -> dict[str, Any]:
        """What is said of the levels in the ledger."""
        return self.described(people=self.people.tolist())


def _rate(level: LevelBudget) -> float:
    if isinstance(level.order, str):
        return level.amount
    if math.isinf(level.order):  # basic composition: counted as if it were converted
        order = best_order(level.epsilon, level.delta)
        return gate_budget(level.epsilon, level.delta, order) / order
    return level.amount / level.order


def affordable(
    rates: NDArray[np.float64], values: NDArray[np.float64], *, power: int
) -> NDArray[np.float64]:
    """Choices of a value per level, among which is the best.

    A level with rate r that chose v lasts for r / v^power votes, and a vote is the better the
    larger the values. Whatever level runs out first, the others should choose the largest value
    with which they last as long: so it is enough to try each level as the first, with each value.

    Parameters
    ----------
    rates : ndarray of shape (n_levels,)
    values : ndarray of shape (n_values,)
        Ascending.
    power : int

    Returns
    -------
    ndarray of shape (n_choices, n_levels)
    """
    spends = values**power
    lasts = np.unique(rates[:, None] / spends)  # how long the first level lasts
    room = rates / lasts[:, None] * (1 + 1e-12)
    largest = np.searchsorted(spends, room, side="right") - 1
    return np.asarray(np.unique(values[largest[(largest >= 0).all(axis=1)]], axis=0))


def check_levels(budgets: Any, n_rows: int, owners: Any, accountant: Any) -> Levels:
    """Check the level of each row against the budget's levels and the owners.

    Raises
    ------
    ValueError
        If a row has no level or an unknown one, a level has no rows, or owners have several.
    """
    if not isinstance(accountant, PrivacyAccountant):
        raise ValueError(
            "budgets names levels of the accountant, but accountant=None. Use "
            "accountant=PrivacyAccountant({'strict': 1.0, 'generous': 3.0}, delta)."
        )
    known = sorted(accountant.levels, key=lambda level: level.epsilon)
    if [level.name for level in known] == [ONLY_LEVEL]:
        raise ValueError(
            "budgets names levels of the accountant, but the accountant has one budget for "
            "everyone. Open it with one per level: PrivacyAccountant({'strict': 1.0, 'generous': "
            "3.0}, delta)."
        )
    if _num_samples(budgets) != n_rows:
        raise ValueError(
            f"budgets has {_num_samples(budgets)} entries, but X has {n_rows} rows; give one level "
            "per row."
        )
    listed = np.asarray(budgets, dtype=object)
    if listed.ndim != 1:
        raise ValueError(f"budgets has shape {listed.shape}; give one level per row.")
    position = {level.name: index for index, level in enumerate(known)}
    valid = ", ".join(map(repr, position))
    of_row = np.empty(n_rows, dtype=np.intp)
    for row, name in enumerate(listed.tolist()):
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
    counted = of_row if owners is None else _of_owners(of_row, owners)
    people = np.bincount(counted, minlength=len(known))
    if not people.all():
        empty = known[int(np.argmin(people))].name
        raise ValueError(
            f"no row of budgets is of the level {empty!r}, which the accountant has; open a budget "
            "of the levels that occur, or check the spelling."
        )
    return Levels(tuple(known), of_row, people)


def _of_owners(of_row: NDArray[np.intp], owners: Any) -> NDArray[np.intp]:
    """Return the level of each owner."""
    level_of: dict[Any, int] = {}
    for row, owner in enumerate(np.asarray(owners, dtype=object).tolist()):
        if level_of.setdefault(owner, of_row[row]) != of_row[row]:
            raise ValueError(
                f"budgets gives the rows of owner {owner!r} different levels (at row {row}); an "
                f"owner has one. {NOT_FOR_PUBLICATION}"
            )
    return np.array(list(level_of.values()), dtype=np.intp)
