"""Exact laws of private top-k sets, summed over all orders in which items may be drawn.

The room imports this module, so that `outcome_law`, and so the common checks, know them.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from secretballot.costs._exact_max import max_log_probabilities
from secretballot.costs._orders import Floats
from secretballot.mechanisms._stable_top_k import StableTopK
from secretballot.mechanisms._top_k import (
    Draws,
    ExponentialTopK,
    LimitedDomainTopK,
    TopK,
    floor_height,
)
from secretballot.testing._outcome_laws import OutcomeLaw
from secretballot.testing._outcome_laws import _law_of as law_of_mechanism

#: Probabilities of all sets, shape (n_rows, 2**n_items): item i is in set s if its bit i is 1.
Sets = Floats

#: Of more items the sets are not enumerated.
_MOST_ITEMS = 6


@law_of_mechanism.register
def top_k_law(mechanism: TopK, votes: Floats) -> OutcomeLaw | None:
    """Compute all outcomes and their log probabilities; None if there are too many.

    Outcomes are all sets, and last a row of -1 if the mechanism may release nothing.
    """
    n_items = votes.shape[1]
    if max(n_items, getattr(mechanism, "k_max", None) or 0) > _MOST_ITEMS:
        return None
    sets, nothing = _law_of(mechanism, votes)
    outcomes = np.arange(2**n_items)[:, None] >> np.arange(n_items) & 1
    # Items that only fill sets up are left out.
    law = sets.reshape(len(sets), -1, 2**n_items).sum(axis=1)
    if nothing is not None:
        outcomes = np.vstack([outcomes, np.full(n_items, -1)])
        law = np.hstack([law, nothing[:, None]])
    with np.errstate(divide="ignore"):
        return OutcomeLaw(outcomes, np.log(law))


@singledispatch
def _law_of(mechanism: TopK, votes: Floats) -> tuple[Sets, Floats | None]:
    """Compute the probability of each set, and of no release if there may be none."""
    raise NotImplementedError


@_law_of.register
def _(mechanism: ExponentialTopK, votes: Floats) -> tuple[Sets, Floats | None]:
    return _draw_in_turn(votes, mechanism._set_size, mechanism._scale), None


@_law_of.register
def _(mechanism: LimitedDomainTopK, votes: Floats) -> tuple[Sets, Floats | None]:
    scale = mechanism._scale
    values, tops = _largest_sets(votes, mechanism.k_max)
    floor = floor_height(mechanism, values[:, -1], scale, mechanism.k_max, mechanism.delta_t)
    pool = np.where(_members(tops[:, -1], votes.shape[1]), votes, -np.inf)
    return _draw_in_turn(pool, mechanism._set_size, scale, floor), None


@_law_of.register
def _(mechanism: StableTopK, votes: Floats) -> tuple[Sets, Floats | None]:
    n_items = votes.shape[1]
    most = mechanism._max_size(n_items)
    values, tops = _largest_sets(votes, most)
    above = values
    if mechanism.n_votes is not None:
        above = np.hstack([np.full((len(votes), 1), mechanism.n_votes), values])
    gaps = above[:, :-1] - above[:, 1:]
    chooser = mechanism._size_choice
    scores = chooser.scores(gaps)
    possible = np.isfinite(scores[0])
    choice = np.zeros(gaps.shape)
    if possible.sum() == 1:
        choice[:, possible] = 1.0
    elif mechanism.selector == "exponential":
        choice = softmax(scores / chooser.noise, axis=1)
    else:
        wins = max_log_probabilities(scores[:, possible], chooser.noise)
        choice[:, possible] = np.exp(wins)
    passing, failing = mechanism._gap_test.probabilities(gaps - mechanism._sensitivity)
    stable, nothing = choice * passing, (choice * failing).sum(axis=1)
    sets = np.zeros((len(votes), 2 ** max(n_items, most)))
    for size, passed in enumerate(stable.T, start=mechanism._min_size):
        if mechanism.k is None:
            sets[np.arange(len(votes)), tops[:, size]] += passed
        else:
            law = _complete_or_shrink(mechanism, votes, values, tops, size)
            sets += passed[:, None] * law
    if mechanism.k is None:
        return sets, nothing
    return sets + nothing[:, None] * _complete_or_shrink(mechanism, votes, values, tops, 0), None


def _complete_or_shrink(
    mechanism: StableTopK, votes: Floats, values: Floats, tops: NDArray[Any], size: int
) -> Sets:
    """Compute the law of k items, given that the set of `size` items is stable."""
    k, most, n_items = mechanism._set_size, values.shape[1] - 1, votes.shape[1]
    draws = Draws(mechanism._unit_sensitivity / math.sqrt(8 * mechanism._rho_parts.draws), k)
    n_columns = max(n_items, most)  # those beyond the items only fill sets up
    if size > k:
        return _shrink(values, tops, size, k, draws, n_columns)
    sets = np.zeros((len(votes), 2**n_columns))
    for number in range(k + 1):
        chosen = _members(tops[:, size], n_items)
        rows = np.flatnonzero(k - chosen.sum(axis=1) == number)
        start = tops[rows, size] & (2**n_items - 1)
        scale, floor = float(draws.scale(np.array([number]))[0]), None
        pool = np.where(chosen[rows], -np.inf, votes[rows])
        if mechanism.unknown_domain:
            pool = np.where(_members(tops[rows, -1], n_items), pool, -np.inf)
            floor = floor_height(mechanism, values[rows, -1], scale, most, mechanism.delta_t)
        drawn = _draw_in_turn(pool, number, scale, floor)
        for mask in range(drawn.shape[1]):
            sets[rows, start | mask] += drawn[:, mask]
    return sets


def _shrink(
    values: Floats, tops: NDArray[Any], size: int, k: int, draws: Draws, n_columns: int
) -> Sets:
    """Compute the law of k items drawn from the `size` largest, as those that stay or go."""
    surplus = size - k
    keeps = k <= surplus
    number = k if keeps else surplus
    scores = np.full((len(values), n_columns), -np.inf)
    for place in range(size):
        item = _members(tops[:, place] ^ tops[:, place + 1], n_columns).argmax(axis=1)
        scores[np.arange(len(values)), item] = (1 if keeps else -1) * values[:, place]
    drawn = _draw_in_turn(scores, number, float(draws.scale(np.array([number]))[0]))
    if keeps:
        return drawn
    sets = np.zeros_like(drawn)
    rows = np.arange(len(values))
    for mask in range(drawn.shape[1]):
        inside = (mask & ~tops[:, size]) == 0
        sets[rows[inside], tops[inside, size] ^ mask] = drawn[inside, mask]
    return sets


def _draw_in_turn(scores: Floats, number: int, scale: float, floor: Floats | None = None) -> Sets:
    """Compute the law of items drawn one after the other, in proportion to exp(score / scale).

    The draws end when a floor is drawn.
    """
    n_rows, n_items = scores.shape
    with np.errstate(invalid="ignore"):
        top = scores.max(axis=1) if floor is None else np.maximum(scores.max(axis=1), floor)
        weights = np.exp((scores - top[:, None]) / scale)
    weights = np.where(np.isfinite(scores), weights, 0.0)
    ends = np.zeros(n_rows) if floor is None else np.exp((floor - top) / scale)
    reached, ended = np.zeros((n_rows, 2**n_items)), np.zeros((n_rows, 2**n_items))
    reached[:, 0] = 1.0
    for mask in range(2**n_items):
        probability, inside = reached[:, mask], _members(mask, n_items)
        total = weights[:, ~inside].sum(axis=1) + ends
        over = (inside.sum() == number) | ~np.isfinite(scores[:, ~inside]).any(axis=1)
        ended[:, mask] += np.where(over, probability, 0.0)
        per_weight = np.where(over, 0.0, probability / np.where(over, 1.0, total))
        ended[:, mask] += per_weight * ends
        for item in np.flatnonzero(~inside):
            reached[:, mask | 1 << int(item)] += per_weight * weights[:, item]
    return ended


def _largest_sets(votes: Floats, most: int) -> tuple[Floats, NDArray[np.int64]]:
    """Sort the `most` + 1 largest counts, and build the sets of the 0, 1, ... `most` largest.

    Items beyond those that there are have count 0 and come last.
    """
    padded = np.hstack([votes, np.zeros((len(votes), max(most + 1 - votes.shape[1], 0)))])
    order = np.argsort(-padded, axis=1, kind="stable")[:, : most + 1]
    bits = np.cumsum(1 << order[:, :most].astype(np.int64), axis=1)
    tops = np.hstack([np.zeros((len(votes), 1), dtype=np.int64), bits])
    return np.take_along_axis(padded, order, axis=1), tops


def _members(sets: ArrayLike, n_items: int) -> NDArray[np.bool_]:
    """Mark the items of sets, shape (..., n_items)."""
    return (np.asarray(sets)[..., None] >> np.arange(n_items) & 1).astype(bool)
