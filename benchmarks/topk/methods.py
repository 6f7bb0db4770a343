"""The methods that are compared, calibrated to (epsilon, delta), and many tries of one.

A method is a function of (counts, k, epsilon, delta, n_queries, rng) that returns the indices it
found; its budget is for n_queries such calls. Add a method to a table here and it is in all of
both benchmarks. StableTopK's lambda is public and its value in the paper is lost: several are
tried, and what the best of them finds in each cell is more than anyone could count on.

Delta is halved as in the paper: one half for tests that pass wrongly, one for the conversion.
Where items are known, TS has half of epsilon and of delta, and k draws the rest when it finds less.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from zlib import crc32

import numpy as np
from histograms import Counts, recall
from numpy.typing import NDArray
from ours import KNOWN, OURS, UNKNOWN
from published import (
    Items,
    advanced_share,
    exponential,
    joint,
    limited_domain,
    peel,
    stable,
    top_stable,
    zcdp_rho,
)

Method = Callable[[Counts, int, float, float, int, np.random.Generator], Collection[int]]
LAMBDAS = (0, 1, 4, 16, 32, 64, 128, 256, 1_024)
STABLE = "StableTopK, lambda "
ONE = f"{STABLE}1"
BEST = "StableTopK, best lambda"
DEFAULT, OURS_BEST = "ours, StableTopK", "ours, best lambda"


def em_cdp(
    counts: Counts, k: int, epsilon: float, delta: float, n: int, rng: np.random.Generator
) -> Items:
    return exponential(counts, k, zcdp_rho(epsilon, delta) / n, rng)


def joint_em(
    counts: Counts, k: int, epsilon: float, delta: float, n: int, rng: np.random.Generator
) -> Items:
    share = max(epsilon / n, advanced_share(epsilon, delta, n)[0]) if n > 1 else epsilon
    return joint(counts, k, share, rng)


def ts(
    counts: Counts, k: int, epsilon: float, delta: float, n: int, rng: np.random.Generator
) -> Items:
    return top_stable(counts, k, *advanced_share(epsilon, delta, n), rng)


def ts_padded(
    counts: Counts, k: int, epsilon: float, delta: float, n: int, rng: np.random.Generator
) -> Items:
    found = ts(counts, k, epsilon / 2, delta / 2, n, rng)
    if (missing := k - len(found)) == 0:
        return found
    draw = np.sqrt(8 * zcdp_rho(epsilon / 2, delta / 2) / n / missing)
    rest = np.setdiff1d(np.arange(len(counts)), found, assume_unique=True)
    return np.concatenate([found, peel(counts, rest, missing, draw, rng)])


def stable_top_k(
    counts: Counts,
    k: int,
    epsilon: float,
    delta: float,
    n: int,
    rng: np.random.Generator,
    lam: float,
    known: bool,
) -> Items:
    rho = zcdp_rho(epsilon, delta / 2) / n
    return stable(counts, k, rho, delta / 2 / n, lam, rng, known)


#: Only items that somebody brought can be looked at, and none that one person brought returned.
UNKNOWN_DOMAIN: dict[str, Method] = {
    "TS": ts,
    "LD": limited_domain,
    **{f"{STABLE}{lam}": partial(stable_top_k, lam=lam, known=False) for lam in LAMBDAS},
    **UNKNOWN,
}
#: The list of items is public, so any item can be drawn.
KNOWN_DOMAIN: dict[str, Method] = {
    "EM-CDP": em_cdp,
    "joint EM": joint_em,
    "TS, then draws": ts_padded,
    **{f"{STABLE}{lam}": partial(stable_top_k, lam=lam, known=True) for lam in LAMBDAS},
    **KNOWN,
}


def recalls(
    name: str,
    method: Method,
    days: NDArray[np.int64],
    k: int,
    epsilon: float,
    delta: float,
    n_trials: int,
) -> NDArray[np.float64]:
    """Share of the true top k found, averaged over the days of a budget; shape (n_trials,).

    Every method has random numbers of its own, so that adding one does not change another.
    """
    rng = np.random.default_rng([crc32(name.encode()), k])
    return np.array(
        [
            np.mean(
                [
                    recall(method(counts, k, epsilon, delta, len(days), rng), counts, k)
                    for counts in days
                ]
            )
            for _ in range(n_trials)
        ]
    )


Cells = dict[str, list[tuple[float, float]]]


def with_best(found: Mapping[str, list[tuple[float, float]]]) -> Cells:
    """(mean, deviation) by method and cell; of StableTopK lambda 1, and the best of each cell.

    Of ours the default, and the best of that and of other lambdas.
    """
    stables = {name: cells for name, cells in found.items() if name.startswith(STABLE)}
    ours = {name: cells for name, cells in found.items() if name.startswith(OURS)}
    others = {name: cells for name, cells in found.items() if name not in stables | ours}
    best = [max(cells) for cells in zip(*stables.values(), strict=True)]
    ours_best = [max(cells) for cells in zip(others[DEFAULT], *ours.values(), strict=True)]
    return {**others, OURS_BEST: ours_best, ONE: stables[ONE], BEST: best}


def shown(cells: list[tuple[float, float]]) -> str:
    return "".join(f"   {mean:.2f} ({deviation:.2f})" for mean, deviation in cells)
