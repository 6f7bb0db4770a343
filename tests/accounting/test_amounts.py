"""Amounts of single answers: a share of the whole budget, all that is left, or an epsilon."""

import math

import numpy as np
import pytest

from secretballot import PrivacyAccountant
from secretballot.accounting import BudgetExceededError, PrivacyLeakWarning
from secretballot.measures import (
    confusion_private,
    price_score,
    private_quantiles,
    private_top_k,
    regression_score_private,
    score_private,
)
from secretballot.mechanisms import ExponentialTopK, GaussianProportions
from secretballot.quantification import publish_proportions

TRUTH = np.arange(20_000) % 2
PREDICTED = np.where(np.arange(20_000) % 5, TRUTH, 0)
AGES = 20 + np.arange(20_000) % 60
ITEMS = np.array([900, 880, 860, 40, 30, 20])

ANSWERS = {
    "quantiles": lambda a, **amount: private_quantiles(
        AGES, bounds=(0, 99), accountant=a, **amount
    ),
    "top k": lambda a, **amount: private_top_k(ITEMS, 3, accountant=a, **amount),
    "accuracy": lambda a, **amount: score_private(a, TRUTH, PREDICTED, **amount),
    "confusion": lambda a, **amount: confusion_private(
        a, TRUTH, PREDICTED, classes=[0, 1], **amount
    ),
    "regression": lambda a, **amount: regression_score_private(
        a, TRUTH, PREDICTED, target_bounds=(0, 1), **amount
    ),
}
#: Answers that use their share up whatever it is; a stable set takes a part of its delta.
EXACT = ("quantiles", "accuracy", "confusion", "regression")


def budget(order="gaussian", epsilon=1.0, unit="row"):
    aside = 5e-7 if order != math.inf else None
    return PrivacyAccountant(epsilon, 1e-5, order=order, approximation_delta=aside, unit=unit)


@pytest.mark.parametrize("name", ANSWERS)
def test_without_an_amount_nothing_is_answered(name):
    accountant = budget()
    with pytest.raises(ValueError, match=r"needs the amount .*share=0.05.*share='rest'.*epsilon="):
        ANSWERS[name](accountant)
    for amount in ({"share": 0.1, "epsilon": 0.1}, {"share": 1.5}, {"share": "all"}, {"share": 0}):
        with pytest.raises(ValueError, match="share="):
            ANSWERS[name](accountant, **amount)
    assert accountant.entries() == []


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
@pytest.mark.parametrize("name", ANSWERS)
def test_a_share_is_a_part_of_the_whole_budget_and_four_quarters_are_all(name, order):
    accountant = budget(order)
    spent = [0.0]
    for _ in range(4):
        ANSWERS[name](accountant, share=0.25)
        spent.append(accountant.spent().share)
    taken = np.diff(spent)
    assert (taken <= 0.25).all()
    assert (taken > (0.2499 if name in EXACT else 0.1)).all()


@pytest.mark.parametrize("name", EXACT)
def test_the_rest_is_all_that_is_left(name):
    accountant = budget()
    ANSWERS[name](accountant, share=0.3)
    ANSWERS[name](accountant, share="rest")
    assert accountant.spent().share == pytest.approx(1, abs=1e-6)
    with pytest.raises(BudgetExceededError):
        ANSWERS[name](accountant, share="rest")


@pytest.mark.parametrize("name", ANSWERS)
def test_a_share_that_is_more_than_what_is_left_is_refused(name):
    accountant = budget()
    score_private(accountant, TRUTH, PREDICTED, share=0.8)
    n_entries = len(accountant.entries())
    with pytest.raises(BudgetExceededError, match=r"share=0.3 takes 30.0% .* and 20.0% is left"):
        ANSWERS[name](accountant, share=0.3)
    assert len(accountant.entries()) == n_entries


def test_shares_by_level():
    accountant = budget(epsilon={"strict": 1.0, "generous": 3.0})
    ANSWERS["accuracy"](accountant, share=0.2)
    spent = {level: report.share for level, report in accountant.spent().items()}
    assert spent["strict"] == pytest.approx(0.2, rel=1e-6)
    assert spent["generous"] < 0.2
    ANSWERS["accuracy"](accountant, share={"strict": 0.5, "generous": 0.01})
    more = accountant.spent()["generous"].share - spent["generous"]
    assert more == pytest.approx(0.01, rel=1e-6)
    with pytest.raises(ValueError, match="share=.*must name every level"):
        ANSWERS["accuracy"](accountant, share={"strict": 0.5})


def test_a_share_is_what_a_price_says():
    accountant = budget()
    price = price_score(accountant, len(TRUTH))
    score = score_private(accountant, TRUTH, PREDICTED, share=price.share)
    assert score.sigma == pytest.approx(price.sigma, rel=1e-6)
    assert price_score(accountant, len(TRUTH), share=0.1).share == pytest.approx(0.1, rel=1e-6)


def test_a_share_of_a_child_is_a_part_of_the_child():
    accountant = budget()
    child = accountant.child("team", epsilon=0.5)
    ANSWERS["quantiles"](child, share=0.25)
    assert 0.25 * (1 - 2e-6) < child.spent().share <= 0.25  # a millionth is kept for rounding


def test_noise_of_its_own_needs_no_amount():
    accountant = budget()
    private_top_k(ITEMS, accountant=accountant, mechanism=ExponentialTopK(k=3, rho=0.001))
    labels = budget(unit="label")
    mechanism = GaussianProportions(sigma=20.0)
    publish_proportions([TRUTH], [0, 1], mechanism=mechanism, accountant=labels)
    assert len(accountant.entries()) == len(labels.entries()) == 1


@pytest.mark.parametrize(
    ("order", "mechanism"),
    [(math.inf, "auto"), (math.inf, "gaussian"), ("gaussian", "auto"), ("gaussian", "gaussian")],
)
def test_proportions_take_a_share(order, mechanism):
    accountant = budget(order, unit="label")
    for parts in range(1, 5):
        publish_proportions(
            [TRUTH], [0, 1], None, None, mechanism, accountant=accountant, share=0.25
        )
        assert 0.2499 * parts < accountant.spent().share <= 0.25 * parts
    accountant = budget(order, unit="label")
    publish_proportions([TRUTH], [0, 1], mechanism=mechanism, accountant=accountant, share="rest")
    assert accountant.spent().share > 0.999


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "needs the amount.*share=0.05"),
        ({"share": 0.1, "epsilon": 0.1}, "epsilon=0.1 and share=0.1: give one"),
        ({"share": 0.1, "delta": 1e-6}, "leave delta out"),
        ({"epsilon": 0.1}, "delta=None: give"),
        ({"share": 0.1, "accountant": None}, "share=0.1 is a part of the budget of accountant="),
        ({"epsilon": 0.1, "accountant": None}, "delta=None: give"),
    ],
)
def test_proportions_without_one_amount_are_refused(given, message):
    accountant = budget(math.inf, unit="label")
    with pytest.raises(ValueError, match=message):
        publish_proportions([TRUTH], [0, 1], **{"accountant": accountant, **given})
    assert accountant.entries() == []


def test_a_second_budget_for_the_same_labels_warns_and_names_the_remedy():
    rng = np.random.default_rng(7)
    bags = [rng.integers(2, size=500) for _ in range(3)]
    with pytest.raises(ValueError, match="delta"):
        publish_proportions(bags, [0, 1], 0.5, 2.0)
    publish_proportions(bags, [0, 1], 0.5, 1e-6)
    words = "same labels.*epsilons.*add up.*accountant=.*NOT FOR PUBLICATION"
    with pytest.warns(PrivacyLeakWarning, match=words):
        publish_proportions([bag.copy() for bag in bags], [0, 1], 0.5, 1e-6)
    # Other labels, and one accountant for all.
    publish_proportions([1 - bag for bag in bags], [0, 1], 0.5, 1e-6)
    accountant = PrivacyAccountant(1.0, 1e-5, unit="label", order=math.inf)
    for _ in range(2):
        publish_proportions(bags, [0, 1], 0.5, 1e-6, accountant=accountant)


def test_labels_of_texts_are_remembered_too():
    bags = [["ill", "well", "well"] * 20, ["ill", "ill", "well", "well"] * 20]
    publish_proportions(bags, ["ill", "well"], 0.5, 1e-6)
    with pytest.warns(PrivacyLeakWarning, match="same labels"):
        publish_proportions(bags, ["ill", "well"], 0.5, 1e-6)
