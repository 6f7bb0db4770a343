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


AMOUNTS = "most items .* are numbers with fractions.*private_quantiles for amounts"


@pytest.mark.parametrize("domain", ["known", "unknown"])
@pytest.mark.parametrize("amounts", [(12.5, 900.25, 3.1), (1.5, 2, 2.5, 0.1)])
def test_amounts_as_items_warn_before_anything_is_paid(amounts, domain):
    """A column of sums of money, whose cells are named as items."""
    column = pd.Series(np.repeat(amounts, np.arange(len(amounts)) + 40))
    accountant = PrivacyAccountant(1.0, 1e-5, approximation_delta=5e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=AMOUNTS):
            top(column.value_counts().to_dict(), 1, domain=domain)(accountant)
    assert not accountant.entries()


@pytest.mark.parametrize("names", [[1.0, 2.0, 3.5], ["1.5", "2.5", "3.5"], [None, np.nan, 0.5]])
def test_items_few_of_which_have_fractions_do_not_warn(names):
    counts = dict(zip(names, (900, 300, 20), strict=True))
    top(counts, 1)(PrivacyAccountant(1.0, 1e-5, approximation_delta=5e-6))


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
