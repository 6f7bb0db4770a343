"""Budgets that count mu^2: plans of any number add up at their exact price."""

import math

import numpy as np
import pytest
from tests._fakes import Gaussian, Pure, calibrated
from tests.accounting._reserved_rows import tied

from secretballot import publish_proportions
from secretballot.accounting import BudgetExceededError, GaussianCost, PrivacyAccountant, price_plan
from secretballot.accounting._report import replay
from secretballot.costs import PureRelease
from secretballot.costs._cost import gaussian_budget
from secretballot.costs._noise import gaussian_delta
from secretballot.mechanisms import (
    ConfidentGNMax,
    GaussianProportions,
    GNMax,
    LaplaceProportions,
    RoundRobin,
)

LOG2 = math.log(2)


def budget(epsilon=LOG2, delta=1e-5, **options):
    return PrivacyAccountant(epsilon, delta, order="gaussian", **options)


def answered_until_it_ends(accountant, mechanism, at_once):
    answered = 0
    while True:
        try:
            answered += len(accountant.release(mechanism, tied(at_once)))
        except BudgetExceededError:
            return answered


@pytest.mark.parametrize(("at_once", "labels"), [(200, 44), (10, 40), (22, 43)])
def test_labels_in_one_batch_and_in_several(at_once, labels):
    # As measured for the design: 44 in one, 40 in four batches of ten.
    accountant = budget()
    assert answered_until_it_ends(accountant, GNMax(sigma=40), at_once) == labels
    (level,) = accountant.levels
    assert level.order == "gaussian"
    assert level.approximation_delta == pytest.approx(1e-7)
    assert level.amount == gaussian_budget(LOG2, 1e-5, level.approximation_delta)
    spent = accountant.spent()
    assert spent.epsilon <= LOG2
    assert 0.9 < spent.share <= 1
    assert spent.amount <= level.amount
    assert spent.cost.delta <= level.approximation_delta
    assert sum(float(each.charges["everyone"].mu2) for each in accountant.entries()) == (
        pytest.approx(spent.amount)
    )


def test_a_release_pays_the_same_share_of_mu2_and_delta():
    # Of half the delta: what is left of it is needed to spend what comes back.
    accountant = budget()
    accountant.release(GNMax(sigma=40), tied(20))
    cost = accountant.entries()[0].charges["everyone"]
    (level,) = accountant.levels
    assert cost.mu2 / level.amount == pytest.approx(float(cost.delta) / 5e-8)
    plan = price_plan(GNMax(sigma=40), 20, n_columns=2)
    assert plan.gaussian_cost(float(cost.delta)).mu2 == pytest.approx(float(cost.mu2), rel=1e-5)
    for epsilon in np.linspace(0, 3, 50):
        above = gaussian_delta(math.sqrt(float(cost.mu2)), epsilon)
        assert plan.delta(epsilon) <= cost.delta + (1 - cost.delta) * above


def test_the_ledger_goes_on_with_it(tmp_path):
    path = tmp_path / "budget.ledger"
    accountant = budget({"strict": 0.5, "lax": 1.0}, ledger=path)
    mechanism = GNMax(sigma=400, weight={"strict": 1.0, "lax": 2.0})
    for _ in range(70):  # beyond a checkpoint
        accountant.release(mechanism, tied(1))
    again = PrivacyAccountant.open(path)
    assert again.levels == accountant.levels
    for level, spent in again.spent().items():
        assert spent.amount == accountant.spent()[level].amount > 0
        assert replay(again._ledger)[level].share == pytest.approx(spent.share)
    assert again._ledger.verify().n_entries == 70
    text = " ".join(str(again.statement()).split())
    assert "Costs are added up as mu^2" in text
    assert "Renyi divergences" not in text
    assert again.statement().to_dict()["levels"][0]["order"] == "gaussian"
    assert "spent" in repr(again)


def test_a_spent_budget_refuses():
    accountant = budget()
    released = len(accountant.release(GNMax(sigma=40), tied(500)))
    assert released == 44
    with pytest.raises(BudgetExceededError, match=r"Not even one row fits the mu\^2"):
        accountant.release(GNMax(sigma=40), tied(1))
    with pytest.raises(BudgetExceededError, match="Not even one"):
        accountant.release(Pure(epsilon=1.0), tied(1))
    assert len(accountant.entries()) == 1


@pytest.mark.parametrize("epsilon", [0.3, None])
def test_a_fit_s_own_epsilon(epsilon):
    accountant = budget(1.0)
    scope = accountant.scope(epsilon)
    mechanism = accountant.calibrate(GNMax, 12, n_columns=2, scope=scope)
    allowed = gaussian_budget(epsilon or 1.0, 1e-5, 1e-7)
    assert len(accountant.release(mechanism, tied(40), scope=scope)) == 12
    # Calibrated noise takes what the fit may spend, and no more.
    assert 0.99 * allowed < accountant.spent().amount <= allowed
    with pytest.raises(BudgetExceededError):
        accountant.release(mechanism, tied(1), scope=scope)
    if epsilon is not None:
        other = accountant.scope(epsilon)
        assert len(accountant.release(mechanism, tied(40), scope=other)) == 12
        replay(accountant._ledger)


def test_calibration():
    sigma = calibrated(GNMax, epsilon=LOG2, delta=1e-5, n_rows=44, n_columns=2, order="gaussian")
    assert 39.5 < sigma.sigma < 40  # 44 rows fit at 40
    vectors = calibrated(Gaussian, epsilon=1, delta=1e-5, n_rows=10, order="gaussian")
    assert answered_until_it_ends(budget(1.0), vectors, 10) == 10
    confident = calibrated(
        lambda noise: ConfidentGNMax(sigma=noise, sigma_threshold=5 * noise, threshold=1),
        epsilon=1,
        delta=1e-5,
        n_rows=6,
        n_columns=2,
        order="gaussian",
    )
    # All of them, also if all pass.
    accountant = budget(1.0)
    assert len(accountant.release(confident, tied(6) * 1e3)) == 6
    assert accountant.spent().share > 0.97


def test_mechanisms_without_a_game():
    accountant = budget(1.0)
    accountant.release(Pure(epsilon=0.05), tied(1))

    mu2 = PureRelease(epsilon=0.05).ratio ** 2
    assert mu2 * (1 - 1e-6) <= accountant.spent().amount < 1.01 * mu2
    accountant = budget(1.0)
    accountant.release(Gaussian(sigma=30.0), tied(7))
    exact = 7 * 2 / 30**2
    # That it is a Gaussian can't be seen from its Renyi curve.
    assert exact < accountant.spent().amount < 2.6 * exact


def test_proportions_are_charged_exactly():
    accountant = budget(1.0, unit="label")
    accountant.release(GaussianProportions(sigma=30), [[500, 300, 200], [10, 10, 10]])
    assert accountant.spent().amount == pytest.approx(2 / 30**2, rel=1e-6)
    assert accountant.spent().cost.delta <= 1e-15
    before = accountant.spent().amount
    accountant.release(LaplaceProportions(scale=20), [[500, 500]])
    assert accountant.spent().amount - before <= PureRelease(epsilon=1 / 20).ratio ** 2 * (1 + 1e-6)
    published = publish_proportions(
        [[0] * 50 + [1] * 30 + [2] * 90], [0, 1, 2], epsilon=0.3, delta=1e-6, accountant=accountant
    )
    assert published.proportions.shape == (1, 3)
    assert accountant.spent().share < 1


def test_parts_take_turns():
    mechanism = RoundRobin(
        mechanism=GNMax(sigma=40, weight={"a": 1.0, "b": 1.0}), turns={"a": (1, 2), "b": (1, 1)}
    )
    accountant = budget({"a": 0.5, "b": LOG2})
    scope = accountant.scope()
    assert len(accountant.release(mechanism, tied(30), scope=scope)) == 30
    charges = accountant.entries()[0].charges
    first = mechanism.part("a", 0)
    assert set(charges) == {first, mechanism.part("a", 1), "b"}
    half = price_plan(GNMax(sigma=40), 15, n_columns=2)
    assert charges[first].mu2 == pytest.approx(
        float(half.gaussian_cost(float(charges[first].delta)).mu2), rel=1e-5
    )
    # In another fit they are other people: what the fits paid adds up.
    one = accountant.spent()["a"].amount
    accountant.release(mechanism, tied(10), scope=accountant.scope())
    fifth = accountant.entries()[1].charges[first].mu2
    assert accountant.spent()["a"].amount == pytest.approx(one + float(fifth))
    replay(accountant._ledger)


def test_thresholds_are_reserved_apart_from_votes():
    accountant = budget()
    mechanism = ConfidentGNMax(sigma=40, sigma_threshold=200, threshold=300)
    rng = np.random.default_rng(0)
    top = rng.integers(180, 250, 1000)
    outcome = accountant.release(mechanism, np.c_[top, 250 - top])
    answers = int((outcome >= 0).sum())
    # Where the Renyi filter ends after 36 votes.
    assert 40 <= answers <= 44
    assert len(outcome) > 2 * answers
    # Rows that fail cost next to nothing, and the votes that they had reserved come back.
    accountant = budget()
    outcome = accountant.release(mechanism, np.full((100, 2), 1.0) * [[20, 10]])
    assert len(outcome) == 100
    paid = accountant.spent().amount
    thresholds = 100 / 200**2
    votes = int((outcome >= 0).sum()) * 2 / 40**2
    assert 0.6 * (thresholds + votes) < paid < 1.1 * (thresholds + votes) + 0.002
    replay(accountant._ledger)


def test_a_row_of_two_classes_behind_a_threshold_is_one_move():
    mechanism = ConfidentGNMax(sigma=40, sigma_threshold=200, threshold=300, n_votes=250)
    accountant = budget()
    assert len(accountant.release(mechanism, tied(30) * 125 / 120)) == 30
    cost = accountant.entries()[0].charges["everyone"]
    plan = price_plan(mechanism, 30, n_columns=2)
    assert plan.gaussian_cost(float(cost.delta)).mu2 == pytest.approx(float(cost.mu2), rel=1e-5)
    # Less than 30 votes cost, as all of them may pass where thresholds are apart.
    assert cost.mu2 < 0.5 * price_plan(GNMax(sigma=40), 30, n_columns=2).gaussian_cost(1e-7).mu2


def test_refunds_can_be_spent_again():
    accountant = budget()
    mechanism = accountant.calibrate(GNMax, 40, n_columns=2)
    reservation = accountant.reserve(mechanism, 40, n_columns=2)
    assert accountant.remaining().share < 0.01
    accountant.release(mechanism, tied(20), reservation=reservation)
    accountant.settle(reservation)
    # A little more than was paid for twenty of the forty is needed for a plan of twenty.
    assert accountant.remaining().share > 0.45
    assert len(accountant.release(mechanism, tied(40))) == 19


@pytest.mark.parametrize("order", ["gauss", "Renyi"])
def test_unknown_kinds(order):
    with pytest.raises(ValueError, match=f"order={order!r} must be 'gaussian', 'renyi', or"):
        PrivacyAccountant(1.0, 1e-5, order=order)


def test_too_little_delta():
    with pytest.raises(ValueError, match=r"no mu\^2 is left|less than"):
        budget(1.0, approximation_delta=1e-5)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        budget(1.0, 0.0)
    with pytest.raises(ValueError, match="has 'gaussian' only"):
        GaussianCost(1.0).at(2.0)
