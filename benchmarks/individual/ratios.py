"""What unequal sensitivities cost two groups of equal size; for `tables.py`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from runs import ACCOUNTINGS
from settings import DELTA, MECHANISMS, N_CLASSES, STRICT, Setting
from votes import votes_of

from secretballot.accounting import RenyiCost
from secretballot.mechanisms import RoundRobin

sys.path.append(str(Path(__file__).resolve().parents[1] / "accounting"))
from papernot import published

LOW, HIGH = "low", "high"


def cost_ratios(data: str, seed: int, trees: int, ratios: Iterable[int]) -> dict[str, list[float]]:
    """Epsilon of the one group over the other's, when the latter has spent log 2.

    The teachers of a plain ensemble are told off in two groups: people who are in a group by chance
    make teachers like any others. Copies are read off the same votes, as the votes, the noise and
    the threshold of more teachers all grow by the same factor. Teachers of one group vanish from
    different rows, which cost differently: a level has spent what its most expensive teacher has,
    and ``"their mean"`` is what its mean teacher has.
    """
    ballots = votes_of(Setting(data), seed, trees).ballots
    found: dict[str, list[float]] = {
        way: [] for way in ("upsampling", "weighting", "vanishing", "their mean")
    }
    for ratio in ratios:
        weight = {LOW: 2 / (1 + ratio), HIGH: 2 * ratio / (1 + ratio)}
        mechanism = published(replace(MECHANISMS[data], weight=weight))
        half = len(ballots) // 2
        whole = np.ones(ballots.shape)
        found["upsampling"].append(_ratio(ballots, whole, mechanism, data, seed))
        weights = np.repeat([weight[LOW], weight[HIGH]], [half, len(ballots) - half])[:, None]
        found["weighting"].append(_ratio(ballots, whole * weights, mechanism, data, seed))

        turns = RoundRobin(
            mechanism=published(MECHANISMS[data]).scaled((1 + 1 / ratio) / 2),
            turns={LOW: (1, ratio), HIGH: (1, 1)},
        )
        there = turns.participation(ballots.shape[1])
        for teacher in range(half):
            whole[teacher] = there[turns.part(LOW, teacher % ratio)]
        found["vanishing"].append(_ratio(ballots, whole, turns, data, seed))
        found["their mean"].append(_ratio(ballots, whole, turns, data, seed, np.mean))
    return found


def _ratio(
    ballots: NDArray[np.uint8],
    weights: NDArray[np.float64],
    mechanism: Any,
    data: str,
    seed: int,
    over_parts: Callable[..., NDArray[np.float64]] = np.max,
) -> float:
    counts = np.stack(
        [((ballots == code) * weights).sum(axis=0) for code in range(N_CLASSES[data])], axis=1
    )
    outcome = mechanism.sample(counts, np.random.default_rng([seed, 5]))
    spent: dict[str, list[NDArray[np.float64]]] = {LOW: [], HIGH: []}
    for group, cost in mechanism.cost(outcome, counts).items():
        total = RenyiCost(np.cumsum(cost.curve, axis=0))
        epsilon = total.epsilon(DELTA, **ACCOUNTINGS["published"].conversion)
        spent[HIGH if group == HIGH else LOW].append(epsilon)
    low, high = (over_parts(spent[group], axis=0) for group in (LOW, HIGH))
    row = min(int(np.searchsorted(low, STRICT)), len(counts) - 1)
    return float(high[row] / low[row])
