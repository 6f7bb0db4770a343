"""Sets of items that tell nothing of the counts."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests.mistakes._mistake import Mistake, cases, check

from secretballot import PrivacyAccountant, private_top_k
from secretballot.mechanisms import ExponentialTopK, LimitedDomainTopK, StableTopK

VISITS = {"park": 900, "pool": 300, "zoo": 20}
ALL_ITEMS = "all of the 3 known item.*nothing is chosen.*Ask for fewer items"


def top(counts=VISITS, k=3, share=0.1, **settings):
    return lambda accountant: private_top_k(
        counts, k, accountant=accountant, share=share, **settings
    )


MISTAKES = (
    Mistake("all known items", ALL_ITEMS, top()),
    Mistake("all known items by noise", ALL_ITEMS, top(mechanism="exponential")),
    Mistake(
        "all known items by a mechanism",
        ALL_ITEMS,
        lambda a: private_top_k(VISITS, mechanism=ExponentialTopK(k=3, rho=0.1), accountant=a),
    ),
    Mistake("all columns", ALL_ITEMS, top(np.eye(3, dtype=int).repeat(500, axis=0))),
    *(
        Mistake(
            f"noise above all counts, {name}",
            "noise of this release hides counts up to .* 9 rows add 9 to an item at most.*larger",
            top(pd.DataFrame(np.eye(3, dtype=int).repeat(3, axis=0)), k, **settings),
            budget=budget,
        )
        for name, k, settings, budget in (
            ("drawn", 1, {"mechanism": "exponential", "share": 0.0001}, {}),
            ("stable", 1, {"share": 0.0001}, {"approximation_delta": 5e-6}),
            ("a gap", None, {"share": 0.0001}, {"approximation_delta": 5e-6}),
            (
                "a floor",
                1,
                {"domain": "unknown", "mechanism": "limited_domain", "share": 0.1},
                {"approximation_delta": 5e-6},
            ),
        )
    ),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_top_k(mistake, make):
    check(mistake, make)


@pytest.mark.parametrize(
    "settings",
    [{"k": 2}, {"k": None}, {"k": 3, "domain": "unknown"}, {"k": 3, "mechanism": "limited_domain"}],
)
def test_sets_that_counts_determine_are_released(settings):
    accountant = PrivacyAccountant(4.0, 1e-5, approximation_delta=5e-6)
    table = pd.DataFrame(np.repeat(np.eye(3, dtype=int), [900, 300, 20], axis=0), columns=[*"abc"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "a" in top(table, share=0.5, **settings)(accountant).items


@pytest.mark.parametrize(
    "make",
    [
        lambda rho: ExponentialTopK(k=1, rho=rho),
        lambda rho: StableTopK(k=1, rho=rho, delta_t=1e-6),
        lambda rho: StableTopK(rho=rho, delta_t=1e-6),
        lambda rho: StableTopK(k=1, rho=rho, delta_t=1e-6, unknown_domain=True),
        lambda rho: LimitedDomainTopK(k=1, k_max=4, rho=rho, delta_t=1e-6),
    ],
)
def test_a_count_that_noise_hides_is_seldom_named_and_a_much_larger_one_is(make):
    mechanism, rng = make(0.01), np.random.default_rng(0)
    for factor, least, most in ((0.2, 0.0, 0.6), (6.0, 0.9, 1.0)):
        counts = np.zeros((400, 4))
        counts[:, 1] = factor * mechanism.hidden_count
        outcome = mechanism.sample(counts, rng)
        assert least <= (outcome[:, 1] == 1).mean() <= most
