"""How many rows a budget answers, by published accounting and by ours.

Published: Papernot's bound (PATE'18) of each label's vote, data dependent or a/sigma^2 at worst,
added up over labels and rows, and Mironov's conversion on orders 2 to 50. Ours: the exact cost of
what is released, Canonne, Kamath and Steinke's conversion at the best order; or the price of the
plan as a game. Data-dependent figures are for planning: how many rows fit is itself sensitive.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting import EVERYONE, RenyiCost, plan_rows
from secretballot.mechanisms import BinaryVoting, GNMax, PowersetVoting, TauVoting

PUBLISHED: dict[str, Any] = {"conversion": "mironov", "orders": range(2, 51)}
#: No more rows than these are looked for.
MOST_ROWS = 100_000

Multilabel = BinaryVoting | TauVoting | PowersetVoting


def answered(
    rows: RenyiCost, epsilon: float, delta: float, conversion: dict[str, Any] | None = None
) -> int:
    """How many rows fit when these are asked in turn, as often as it takes."""
    curve = np.atleast_2d(rows.curve)
    total = RenyiCost(np.concatenate([np.zeros_like(curve[:1]), curve.cumsum(axis=0)]))
    m = len(curve)

    def fits(n: int) -> bool:
        spent = (n // m) * total[m] + total[n % m]
        return spent.epsilon(delta, **(conversion or {})) <= epsilon

    if fits(MOST_ROWS):
        return MOST_ROWS
    low, high = 0, MOST_ROWS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def label_costs(mechanism: BinaryVoting, positives: NDArray[Any]) -> RenyiCost:
    """What known rows of `BinaryVoting` cost: its vote on each label, added up; no hierarchies.

    The same as ``mechanism.max_cost(counts=positives)``, but every count is looked up: there are
    few counts, and millions of labels.
    """
    counts = np.arange(int(mechanism.n_votes) + 1)
    table = mechanism.max_cost(counts=counts[:, None])[EVERYONE].curve
    how_often = np.zeros((len(positives), len(table)))
    np.add.at(how_often, (np.arange(len(positives))[:, None], positives.astype(int)), 1)
    infinite = ~np.isfinite(table)
    curve = how_often @ np.where(infinite, 0, table)
    curve[(how_often @ infinite) > 0] = np.inf
    return RenyiCost(curve)


@lru_cache(maxsize=1024)
def game_rows(mechanism: Multilabel, n_labels: int, epsilon: float, delta: float) -> int:
    """How many rows the price of a plan as a game allows, whatever the votes are."""
    if isinstance(mechanism, BinaryVoting):  # the same game label by label
        one = GNMax(sigma=mechanism.sigma)
        return plan_rows(one, MOST_ROWS, epsilon, delta, n_columns=2) // n_labels
    if (
        isinstance(mechanism, PowersetVoting) and n_labels > 1
    ):  # from three classes on all are the same game
        return _game_of_sets(mechanism.sigma, epsilon, delta)
    return plan_rows(mechanism, MOST_ROWS, epsilon, delta, n_columns=n_labels)


@lru_cache(maxsize=1024)
def _game_of_sets(sigma: float, epsilon: float, delta: float) -> int:
    return plan_rows(GNMax(sigma=sigma), MOST_ROWS, epsilon, delta, n_columns=4)


def worst_case_rows(
    mechanism: Multilabel, n_labels: int, epsilon: float, delta: float, published: bool = False
) -> int:
    """How many rows the worst case's Renyi divergence allows."""
    n_columns = None if isinstance(mechanism, PowersetVoting) else n_labels
    cost = mechanism.max_cost(n_columns)[EVERYONE]
    return answered(cost, epsilon, delta, PUBLISHED if published else None)
