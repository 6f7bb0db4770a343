"""Private top-k as others have published it: what `fixed_k.py` and `days.py` run.

Written from the papers' formulas, with the papers' own charges. One person is added or removed and
changes each count by at most 1, any number of counts. Counts are integers by item; what comes back
are indices of items, in no order that means anything.

StableTopK  Zhu and Wang, "Adaptive Private-K-Selection" (AISTATS 2022), Algorithms 2 and 3
TS          Carvalho, Wang, Gondara and Miao, "Differentially Private Top-k Selection via Stability
            on Unknown Domain" (UAI 2020)
LD          Durfee and Rogers, "Practical Differentially Private Top-k Selection with
            Pay-what-you-get Composition" (NeurIPS 2019)
EM-CDP      the exponential mechanism k times, as one draw of Gumbel noise (Durfee and Rogers), at
            eps^2/8 a time (Cesar and Rogers, ALT 2021)
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri

Counts = NDArray[np.int64]
Items = NDArray[np.intp]
#: Share of epsilon that TS spends on its threshold; the rest is for its queries.
TS_THRESHOLD = 0.37
#: LD looks at up to this many times k items.
LD_WIDTH = 5


def zcdp_rho(epsilon: float, delta: float) -> float:
    """The rho whose zCDP gives (epsilon, delta): rho a + log(1/delta)/(a - 1) at the best a."""
    room = math.log(1 / delta)
    return (math.sqrt(room + epsilon) - math.sqrt(room)) ** 2


@lru_cache(maxsize=1_000)
def advanced_share(epsilon: float, delta: float, n_queries: int) -> tuple[float, float]:
    """(epsilon, delta) of each of some queries: advanced composition, or plain if that gives more.

    Half of delta is composition's (Kairouz, Oh and Viswanath 2015, in closed form).
    """

    def total(one: float) -> float:
        root = one * math.sqrt(2 * n_queries * math.log(2 / delta))
        return root + n_queries * one * math.tanh(one / 2) - epsilon

    advanced = brentq(total, 0, epsilon)
    if n_queries == 1 or advanced <= epsilon / n_queries:
        return epsilon / n_queries, delta / n_queries
    return advanced, delta / 2 / n_queries


def ranked(counts: Counts) -> tuple[Items, NDArray[np.float64]]:
    """Items from the largest count down, ties by index; and their counts, followed by zeros."""
    order = np.argsort(-np.asarray(counts, dtype=np.int64), kind="stable")
    return order, np.append(counts[order].astype(float), np.zeros(len(order)))


def peel(counts: Any, items: Items, n: int, epsilon: float, rng: np.random.Generator) -> Items:
    """Choose n of some items, each draw an exponential mechanism of this epsilon."""
    noisy = counts[items] + rng.gumbel(0, 1 / epsilon, len(items))
    return items[np.argpartition(-noisy, n - 1)[:n]] if n < len(items) else items


def exponential(counts: Counts, k: int, rho: float, rng: np.random.Generator) -> Items:
    """EM-CDP on a public list of items."""
    return peel(counts, np.arange(len(counts)), k, math.sqrt(8 * rho / k), rng)


def stable_size(
    gaps: NDArray[np.float64],
    preference: NDArray[np.float64],
    rho: float,
    delta_t: float,
    rng: np.random.Generator,
) -> tuple[int, bool]:
    """Algorithm 2: a size with a large gap after it, and whether the gap passed its test."""
    best = int(np.argmax(gaps + preference + rng.gumbel(0, 1 / math.sqrt(rho), len(gaps))))
    sigma = math.sqrt(1 / rho)
    # The test asks whether the gap's lower bound is above 1, so that nobody can change the set.
    bound = max(1.0, gaps[best]) + rng.normal(0, sigma) + sigma * ndtri(delta_t)
    return best + 1, bound > 1


def stable(
    counts: Counts,
    k: int,
    rho: float,
    delta_t: float,
    lam: float,
    rng: np.random.Generator,
    known: bool,
) -> Items:
    """StableTopK for a given k (Algorithm 3): a size near k, and if need be draws for the rest.

    Where the items are not known beforehand, sizes beyond k are ruled out and nothing is drawn, so
    that all of rho is for the size and its test; else half is kept for the draws: those that are
    missing, k out of a set that is too large, or, where the test fails, all.
    """
    order, sizes = ranked(counts)
    k_max = len(counts) - 1 if known else k
    preference = -lam * np.abs(np.arange(1, k_max + 1) - k)
    gaps = -np.diff(sizes[: k_max + 1])
    size, passed = stable_size(gaps, preference, rho / 2 if known else rho, delta_t, rng)
    size = size if passed else 0
    if not known or size == k:
        return order[:size]
    if size > k:
        return peel(counts, order[:size], k, math.sqrt(4 * rho / k), rng)
    missing = k - size
    drawn = peel(counts, order[size:], missing, math.sqrt(4 * rho / missing), rng)
    return np.concatenate([order[:size], drawn])


@lru_cache(maxsize=1_000)
def ts_threshold(epsilon_1: float, epsilon_2: float, delta: float, k: int) -> float:
    """The least T at which k queries of 0 pass with probability at most delta in all.

    One passes where Lap(2/epsilon_2) - Lap(1/epsilon_1) > T = log(1/delta_q) 2/epsilon_2.
    """
    a, b = epsilon_1, epsilon_2 / 2

    def passing(log_q: float) -> float:
        tails = a * a * math.exp(-log_q) - b * b * math.exp(-log_q * a / b)
        return math.log(k * tails / (2 * (a * a - b * b))) - math.log(delta)

    return brentq(passing, 0.1, 500) / b


def top_stable(
    counts: Counts, k: int, epsilon: float, delta: float, rng: np.random.Generator
) -> Items:
    """TS in the published settings (k_bar = k): the largest stable set of up to k items."""
    order, sizes = ranked(counts)
    epsilon_1, epsilon_2 = TS_THRESHOLD * epsilon, (1 - TS_THRESHOLD) * epsilon
    threshold = ts_threshold(epsilon_1, epsilon_2, delta, k) + rng.laplace(0, 1 / epsilon_1)
    tried = np.arange(k, 0, -1)
    queries = np.maximum(sizes[tried - 1] - sizes[tried] - 1, 0)
    passed = tried[queries + rng.laplace(0, 2 / epsilon_2, len(tried)) > threshold]
    return order[: int(passed[0])] if len(passed) else order[:0]


@lru_cache(maxsize=1_000)
def ld_draw(epsilon: float, delta: float, n_draws: int) -> float:
    """Epsilon of each of some draws that have a bounded range (Durfee and Rogers, Theorem 1)."""
    room = math.log(1 / delta)

    def total(one: float) -> float:
        advanced = n_draws * one * math.tanh(one / 2) + one * math.sqrt(2 * n_draws * room)
        ranged = n_draws * one**2 / 2 + one * math.sqrt(n_draws * room / 2)
        return min(n_draws * one, advanced, ranged) - epsilon

    return brentq(total, 0, epsilon)


def limited_domain(
    counts: Counts, k: int, epsilon: float, delta: float, n_queries: int, rng: np.random.Generator
) -> Items:
    """LD: noisy counts that are above a noisy threshold, at most k of them.

    One draw chooses k_bar, for the least threshold. Draws of all queries are composed at once.
    (epsilon, n_queries (e^epsilon + 1) delta_1 + delta/2) in all, so delta_1 is chosen to match.
    """
    one = ld_draw(epsilon, delta / 2, n_queries * (k + 1))
    delta_1 = delta / 2 / n_queries / (math.exp(epsilon) + 1)
    order, sizes = ranked(counts)
    widths = np.arange(k, max(k + 1, min(LD_WIDTH * k, len(counts))))
    thresholds = sizes[widths] + 1 + np.log(widths / delta_1) / one
    chosen = int(np.argmin(thresholds - rng.gumbel(0, 1 / one, len(widths))))
    noisy = sizes[: widths[chosen]] + rng.gumbel(0, 1 / one, widths[chosen])
    best = np.argsort(-noisy)[:k]
    return order[best[noisy[best] > thresholds[chosen] + rng.gumbel(0, 1 / one)]]


def joint(counts: Counts, k: int, epsilon: float, rng: np.random.Generator) -> Items:
    """The joint exponential mechanism over sequences (Gillenwater et al., 2022); purely private.

    A sequence s has probability in proportion to exp(-x epsilon / 2), x the largest of the
    differences between the i-th count and that of s_i. That is a mixture: of thresholds X, each
    with the weight e^(-X epsilon / 2) times the number of sequences with no difference above X,
    and a uniform one of these. Item s_i is among the first n_i(X), and those are nested.
    """
    order = np.argsort(-counts, kind="stable")
    ordered = counts[order]
    thresholds = np.arange(int(ordered[0]) + 1)
    # How many items are no more than X below the i-th count: shape (n_thresholds, k).
    near = np.searchsorted(-ordered, thresholds[:, None] - ordered[:k], side="right")
    with np.errstate(divide="ignore"):
        log_weight = np.log(near - np.arange(k)).sum(axis=1) - thresholds * epsilon / 2
    chosen = near[int(np.argmax(log_weight + rng.gumbel(size=len(thresholds))))]
    found: list[int] = []
    for first in chosen:
        # Uniform among the first ones that are left.
        while (item := int(rng.integers(first))) in found:
            pass
        found.append(item)
    return order[found]
