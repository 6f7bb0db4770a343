"""The library's mechanisms as methods of the comparison, each with the least noise that fits.

All queries are one plan of a Gaussian budget; purely private draws are priced in a budget of basic
composition too, and the better one is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from joint_and_gaussian import GaussianTopK, JointTopK
from numpy.typing import NDArray

from secretballot.accounting import PrivacyAccountant
from secretballot.mechanisms import ExponentialTopK, LimitedDomainTopK, StableTopK, TopK

#: Part of delta for failures of all queries where nothing else needs any.
NEARLY = 0.999
#: Parts of delta that a Gaussian budget sets aside, half of it for later plans, and that are for
#: failures of all queries: of purely private draws, and of tests.
ASIDE, FEW, MANY = {True: 0.5, False: 0.85}, 0.2, 0.4
#: Draws that are purely private but for these.
PURE = ("exponential", "joint", "limited domain")
#: Ours that looks at sets of other sizes too.
OURS, LAMBDAS = "ours, StableTopK, lambda ", (4, 32, 128)
ALONE = f"{OURS}none, no draws"
#: How many times k of the largest counts are looked at where items are unknown.
FURTHER = 5


@lru_cache(maxsize=4096)
def made(name: str, k: int, epsilon: float, delta: float, n_queries: int) -> TopK:
    """The mechanism with the least noise that n queries of k items fit (epsilon, delta) with."""
    is_pure = name in PURE
    accountant = PrivacyAccountant(
        epsilon, delta, approximation_delta=ASIDE[is_pure] * delta, relation="add_remove"
    )
    failures = (FEW if is_pure else MANY) * delta / n_queries
    plan = accountant.calibrate(maker(name, k, failures), n_queries)
    if not is_pure:
        return plan
    pairs = PrivacyAccountant(epsilon, delta, order=math.inf, relation="add_remove")
    basic = pairs.calibrate(maker(name, k, NEARLY * delta / n_queries), n_queries)
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
}
#: Where a person is in one count of each histogram only.
ONE_ITEM = {"ours, GaussianTopK": partial(found, name="gaussian, one item each")}
