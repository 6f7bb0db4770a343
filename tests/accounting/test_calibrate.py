"""Noise for a wanted privacy: enough, and no more."""

import math
from dataclasses import dataclass

import pytest
from tests._fakes import Fake, Gaussian, Grouped, Parallel, Pure, Thresholded, calibrated, votes

from secretballot.accounting import EVERYONE, BudgetExceededError, PrivacyAccountant, RenyiCost
from secretballot.ledger._budget import budget_levels
from secretballot.mechanisms import (
    BestOfCounts,
    ConfidentGNMax,
    GaussianProportions,
    GNMax,
    NoisyCounts,
    VectorSum,
)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("n_rows", [1, 100, 1_000_000])
def test_the_noise_of_a_gaussian_in_closed_form(epsilon, n_rows):
    mechanism = calibrated(Gaussian, epsilon=epsilon, delta=1e-5, n_rows=n_rows, order="renyi")
    (level,) = budget_levels(epsilon, 1e-5, order="renyi")
    assert mechanism.sigma == pytest.approx((n_rows * level.order / level.amount) ** 0.5, rel=1e-8)
    total = n_rows * RenyiCost(mechanism.row_cost()[EVERYONE].curve)
    assert float(total.epsilon(1e-5)) <= epsilon


@pytest.mark.parametrize("n_rows", [1, 7, 10_000])
def test_as_many_rows_as_asked_for_fit_and_no_more(n_rows):
    mechanism = calibrated(Gaussian, epsilon=1.0, delta=1e-5, n_rows=n_rows, order="renyi")
    accountant = PrivacyAccountant(1.0, 1e-5, order="renyi")
    assert len(accountant.release(mechanism, votes(n_rows + 1))) == n_rows
    # A little less noise, and the last row would not fit.
    less = Gaussian(sigma=mechanism.sigma * (1 - 1e-6))
    other = PrivacyAccountant(1.0, 1e-5, order="renyi")
    if n_rows > 1:
        assert len(other.release(less, votes(n_rows))) == n_rows - 1
    with pytest.raises(BudgetExceededError):
        other.release(less, votes(1))


def test_calibration_to_the_rest_of_a_budget():
    accountant = PrivacyAccountant(1.0, 1e-5, order="renyi")
    accountant.release(Gaussian(sigma=60), votes(40))
    half = accountant.calibrate(Gaussian, 500)
    assert len(accountant.release(half, votes(600))) == 500
    assert accountant.spent().share == pytest.approx(1, abs=1e-6)
    # What is left now is a rounding margin, which buys nothing.
    with pytest.raises(BudgetExceededError):
        accountant.release(half, votes(1))
    with pytest.raises(BudgetExceededError, match="Next to nothing"):
        accountant.calibrate(Gaussian, 1)


def test_rows_one_release_at_a_time_fit_as_well():
    accountant = PrivacyAccountant(1.0, 1e-5, order="renyi")
    mechanism = accountant.calibrate(Gaussian, 50)
    for _ in range(50):
        accountant.release(mechanism, votes(1))
    with pytest.raises(BudgetExceededError):
        accountant.release(mechanism, votes(1))


def test_a_used_up_budget_has_no_noise():
    accountant = PrivacyAccountant(1.0, 0.0, order=math.inf)
    accountant.release(Pure(epsilon=1.0), votes(1))
    with pytest.raises(BudgetExceededError, match="Next to nothing is left of the budget"):
        accountant.calibrate(lambda noise: Pure(epsilon=1 / noise), 1)


def test_a_scope_is_calibrated_to_its_cap():
    accountant = PrivacyAccountant(3.0, 1e-5, order="renyi")
    scope = accountant.scope(1.0)
    mechanism = accountant.calibrate(Gaussian, 100, scope=scope)
    alone = calibrated(Gaussian, epsilon=1.0, delta=1e-5, n_rows=100, order="renyi")
    assert mechanism.sigma == pytest.approx(alone.sigma, rel=1e-8)
    assert len(accountant.release(mechanism, votes(101), scope=scope)) == 100
    # The budget binds where it has less left than the scope allows.
    wide = accountant.calibrate(Gaussian, 100, scope=accountant.scope(50.0))
    assert wide.sigma == pytest.approx(accountant.calibrate(Gaussian, 100).sigma, rel=1e-9)


def test_the_strictest_level_decides():
    levels = {"strict": 0.5, "generous": 3.0}
    mechanism = calibrated(Gaussian, epsilon=levels, delta=1e-5, n_rows=10, order="renyi")
    alone = calibrated(Gaussian, epsilon=0.5, delta=1e-5, n_rows=10, order="renyi")
    assert mechanism.sigma == pytest.approx(alone.sigma, rel=1e-8)
    shared = calibrated(
        lambda noise: Grouped(rates={"strict": noise**-2, "generous/x/1": 100 * noise**-2}),
        epsilon=levels,
        delta=1e-5,
        n_rows=10,
        order="renyi",
    )
    generous = calibrated(Gaussian, epsilon=3.0, delta=1e-5, n_rows=1000, order="renyi")
    assert shared.rates["generous/x/1"] == pytest.approx(100 * generous.sigma**-2, rel=1e-6)


def test_a_function_of_the_noise():
    mechanism = calibrated(
        lambda noise: Thresholded(bit=noise**-2 / 10, vote=noise**-2),
        epsilon=1.0,
        delta=1e-5,
        n_rows=100,
        order="renyi",
    )
    # Every row is charged the most it can cost.
    assert len(PrivacyAccountant(1.0, 1e-5, order="renyi").release(mechanism, votes(101))) == 100


def test_pure_costs_and_their_deltas():
    mechanism = calibrated(
        lambda noise: Pure(epsilon=1 / noise),
        epsilon=2.0, delta=0.0, n_rows=8, order=math.inf,
    )  # fmt: skip
    assert mechanism.epsilon == pytest.approx(0.25, rel=1e-8)
    assert mechanism.epsilon <= 0.25
    by_delta = calibrated(
        lambda noise: Pure(epsilon=0.1 / noise, delta=1e-6 / noise),
        epsilon=10.0, delta=1e-5, n_rows=8, order=math.inf,
    )  # fmt: skip
    assert 8 * by_delta.delta == pytest.approx(1e-5, rel=1e-8)


def test_parallel_rows_cost_as_much_as_one():
    mechanism = calibrated(
        lambda noise: Parallel(epsilon=1 / noise),
        epsilon=2.0, delta=0.0, n_rows=1000, order=math.inf,
    )  # fmt: skip
    assert mechanism.epsilon == pytest.approx(2.0, rel=1e-8)


@dataclass(frozen=True, kw_only=True)
class Stepped(Fake):
    """A cost that falls in steps, as a search must survive."""

    sigma: float

    def row_cost(self):
        return {
            EVERYONE: Gaussian(sigma=max(math.floor(4 * self.sigma) / 4, 1e-3)).row_cost()[EVERYONE]
        }


@pytest.mark.parametrize("n_rows", range(80, 110, 3))
def test_a_cost_with_steps_is_still_certified(n_rows):
    mechanism = calibrated(Stepped, epsilon=1.0, delta=1e-5, n_rows=n_rows, order="renyi")
    needed = calibrated(Gaussian, epsilon=1.0, delta=1e-5, n_rows=n_rows, order="renyi").sigma
    assert math.floor(4 * mechanism.sigma) / 4 >= needed * (1 - 1e-9)
    assert mechanism.sigma <= needed + 0.25 + 1e-6


@dataclass(frozen=True, kw_only=True)
class Hasty(Gaussian):
    """Is a little too low at a single order, as bounds that are searched for may be."""

    def max_cost(self, n_columns=None, counts=None, *, order=None):
        return {EVERYONE: self.row_cost()[EVERYONE] * (1.0 if order is None else 1 - 1e-4)}


def test_calibration_is_certified_with_the_charge_of_a_release():
    mechanism = calibrated(Hasty, epsilon=1.0, delta=1e-5, n_rows=100, order="renyi")
    assert len(PrivacyAccountant(1.0, 1e-5, order="renyi").release(mechanism, votes(100))) == 100
    exact = calibrated(Gaussian, epsilon=1.0, delta=1e-5, n_rows=100, order="renyi")
    assert mechanism.sigma == pytest.approx(exact.sigma, rel=1e-3)


def test_noise_that_never_suffices():
    with pytest.raises(ValueError, match="no amount of noise"):
        calibrated(
            lambda noise: Grouped(rates={EVERYONE: 1.0}),
            epsilon=1.0,
            delta=1e-5,
            n_rows=100,
            order="renyi",
        )


def test_a_free_mechanism_needs_next_to_no_noise():
    mechanism = calibrated(
        lambda noise: Grouped(rates={EVERYONE: 0.0 * noise}),
        epsilon=1.0,
        delta=1e-5,
        n_rows=9,
        order="renyi",
    )
    assert mechanism.rates == {EVERYONE: 0.0}


def test_bad_parameters():
    with pytest.raises(TypeError, match="lambda noise: Thresholded"):
        calibrated(Thresholded, epsilon=1.0, delta=1e-5, n_rows=1, order="renyi")
    with pytest.raises(TypeError, match="a mechanism class with a field sigma"):
        calibrated(Gaussian(sigma=1), epsilon=1.0, delta=1e-5, n_rows=1, order="renyi")
    for n_rows in (0, -1, 1.5, True, "many"):
        with pytest.raises(ValueError, match="n_rows=.*integer of at least 1"):
            calibrated(Gaussian, epsilon=1.0, delta=1e-5, n_rows=n_rows, order="renyi")
        with pytest.raises(ValueError, match="n_rows="):
            PrivacyAccountant(1.0, 1e-5, order="renyi").calibrate(Gaussian, n_rows)
    with pytest.raises(ValueError, match="epsilon=0"):
        calibrated(Gaussian, epsilon=0, delta=1e-5, n_rows=1, order="renyi")


@pytest.mark.parametrize("order", ["gaussian", "renyi", math.inf])
def test_a_calibrated_share_is_charged(order):
    accountant = PrivacyAccountant({"strict": 1.0, "generous": 3.0}, 1e-5, order=order)
    accountant.reserve(BestOfCounts(scale=30.0), 1)
    share_left = accountant.remaining()["strict"].share
    made = accountant.calibrate(lambda noise: BestOfCounts(scale=noise), 2, share=0.25)
    price = accountant.price(made, 2)
    # The price is a share of mu^2 and delta; of one of them a little more may be left.
    assert 0.99 * 0.25 * share_left < price["strict"] < 0.25 * share_left * (1 + 1e-6)
    assert price["generous"] < price["strict"]
    before = accountant.spent()["strict"].share
    accountant.reserve(made, 2)
    assert accountant.spent()["strict"].share == pytest.approx(before + price["strict"], rel=1e-9)


def test_a_price_is_asked_for_and_nothing_spent():
    accountant = PrivacyAccountant(1.0, 1e-5)
    vote = ConfidentGNMax(sigma=60.0, sigma_threshold=100.0, threshold=90.0)
    assert 0 < accountant.price(vote, 1, n_columns=3) < accountant.price(vote, 2, n_columns=3) < 1
    with pytest.raises(BudgetExceededError, match="times the mu"):
        accountant.price(GNMax(sigma=1.0), 100)
    assert not accountant.entries()
    with pytest.raises(ValueError, match="share=1.5 must be at most 1"):
        accountant.calibrate(GNMax, 1, share=1.5)
    with pytest.raises(ValueError, match="share=0 must be a finite number above 0"):
        accountant.calibrate(GNMax, 1, share=0)


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_the_price_of_parallel_rows_is_the_charge_of_their_release(order):
    accountant = PrivacyAccountant(2.0, 1e-5, unit="label", order=order)
    mechanism = GaussianProportions(sigma=20.0)
    share = accountant.price(mechanism, 3, n_columns=2)
    assert share == accountant.price(mechanism, 300, n_columns=2)
    accountant.release(mechanism, [[30, 20]] * 3)
    assert accountant.spent().share == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize("kind", [VectorSum, NoisyCounts])
@pytest.mark.parametrize(("n_rows", "epsilon"), [(4, 11 / 7), (7, 2.0), (23, 30 / 7), (25, 32 / 7)])
def test_single_releases_fit_noise_calibrated_for_all(kind, n_rows, epsilon):
    # Prices add exactly: only what is rounded could refuse the last.
    accountant = PrivacyAccountant(epsilon, 1e-5)
    mechanism = accountant.calibrate(kind, n_rows=n_rows)
    for _ in range(n_rows):
        assert accountant.release(mechanism, [[1.0, 2.0]]).shape == (1, 2)
    assert accountant.spent().share == pytest.approx(1, abs=1e-8)
