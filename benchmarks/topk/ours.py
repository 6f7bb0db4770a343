"""The library's mechanisms as methods of the comparison, each with the least noise that fits.

All queries are one plan in a budget of basic composition, which is for what is released once. Half
of delta is for sets that one person changes, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from joint_and_gaussian import GaussianTopK, JointTopK
from numpy.typing import NDArray
from sparse_vector import SparseVectorTopK

from secretballot.accounting import PrivacyAccountant
from secretballot.mechanisms import (
    ExponentialTopK,
    LimitedDomainTopK,
    StableTopK,
    TopK,
)

#: Parts of delta for failures of all queries; nearly all of it where nothing else needs any.
HALF, NEARLY = 0.5, 0.999
#: Draws that are purely private but for these.
PURE = ("exponential", "joint", "limited domain", "sparse vector")
#: Ours that looks at sets of other sizes too.
OURS, LAMBDAS = "ours, StableTopK, lambda ", (4, 32, 128)
ALONE = f"{OURS}none, no draws"
#: How many times k of the largest counts are looked at where items are unknown.
FURTHER = 5


@lru_cache(maxsize=4096)
def made(name: str, k: int, epsilon: float, delta: float, n_queries: int) -> TopK:
    """The mechanism with the least noise that n queries of k items fit (epsilon, delta) with.

    A plan of purely private draws is priced in both kinds of budget, and the better one taken.
    """
    half, whole = HALF * delta / n_queries, NEARLY * delta / n_queries
    pairs = PrivacyAccountant(epsilon, delta, order=math.inf, relation="add_remove")
    basic = pairs.calibrate(maker(name, k, whole if name in PURE else half), n_queries)
    if name not in PURE:
        return basic
    # Of what is set aside, a budget of mu^2 keeps half for later plans.
    accountant = PrivacyAccountant(
        epsilon, delta, approximation_delta=HALF * delta, relation="add_remove"
    )
    plan = accountant.calibrate(maker(name, k, 0.4 * half), n_queries)
    return max(basic, plan, key=noise_of)


def maker(name: str, k: int, failures: float) -> Callable[[float], TopK]:
    """How a mechanism is made from noise, given the delta for failures of one query."""
    given: dict[str, Any] = {"k": k, "relation": "add_remove"}
    further = {"k_max": FURTHER * k, "unknown_domain": True}
    if name == ALONE:
        # Stable sets of up to k items and nothing else: nothing is left for draws.
        alone = {"k_max": k, "unknown_domain": True, "relation": "add_remove"}
        return lambda s: StableTopK(rho=1 / s**2, delta_t=failures, **alone)
    if name.startswith(OURS):
        # Sets of other sizes are looked at too, and cost so many votes for each item of difference.
        given["regularizer"] = float(name.removeprefix(OURS).split()[0])
        if name.endswith("unknown"):
            given |= further
            failures /= k + 1
        return lambda s: StableTopK(rho=1 / s**2, delta_t=failures, **given)
    return {
        "stable": lambda s: StableTopK(rho=1 / s**2, delta_t=failures, **given),
        "exponential": lambda s: ExponentialTopK(rho=1 / s**2, **given),
        "joint": lambda s: JointTopK(rho=1 / s**2, **given),
        "gaussian, one item each": lambda s: GaussianTopK(rho=1 / s**2, max_items=1, **given),
        "stable, items unknown": lambda s: StableTopK(
            rho=1 / s**2, delta_t=failures / (k + 1), **further, **given
        ),
        "limited domain": lambda s: LimitedDomainTopK(
            rho=1 / s**2, delta_t=failures / k, **further, **given
        ),
        "sparse vector": lambda s: SparseVectorTopK(
            epsilon=1 / s, delta_t=failures, k_max=k, **given
        ),
    }[name]


def noise_of(mechanism: Any) -> float:
    """What a mechanism may spend: the more, the less noise."""
    return float(mechanism.epsilon if mechanism.epsilon else mechanism.rho)


def found(
    counts: NDArray[Any],
    k: int,
    epsilon: float,
    delta: float,
    n_queries: int,
    rng: np.random.Generator,
    name: str,
) -> NDArray[np.intp]:
    """Return what one draw finds."""
    mechanism = made(name, k, epsilon, delta, n_queries)
    return np.flatnonzero(mechanism.sample(counts[None].astype(float), rng)[0] == 1)


KNOWN = {
    **{f"{OURS}{each}": partial(found, name=f"{OURS}{each}") for each in LAMBDAS},
    "ours, StableTopK": partial(found, name="stable"),
    "ours, ExponentialTopK": partial(found, name="exponential"),
    "ours, JointTopK": partial(found, name="joint"),
}
UNKNOWN = {
    ALONE: partial(found, name=ALONE),
    **{f"{OURS}{each}": partial(found, name=f"{OURS}{each} unknown") for each in LAMBDAS},
    "ours, StableTopK": partial(found, name="stable, items unknown"),
    "ours, LimitedDomainTopK": partial(found, name="limited domain"),
    "ours, SparseVectorTopK": partial(found, name="sparse vector"),
}
#: Where a person is in one count of each histogram only.
ONE_ITEM = {"ours, GaussianTopK": partial(found, name="gaussian, one item each")}
