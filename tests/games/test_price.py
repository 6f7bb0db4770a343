"""Prices of plans: curves, prefixes, levels, and the noise for a wanted privacy."""

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest
from scipy.special import ndtr
from tests._fakes import Gaussian, calibrated

from secretballot.accounting import EVERYONE, BudgetExceededError
from secretballot.costs import NoisyBit, Step
from secretballot.costs._cost import Profile, gaussian_budget
from secretballot.costs._noise import gaussian_delta
from secretballot.costs._price import plan_rows, price_law, price_law_cached, price_plan
from secretballot.costs._split_plan import _estimate_share as estimate_share
from secretballot.costs._threshold_search import least_plan_noise
from secretballot.mechanisms import ConfidentGNMax, GNMax, TauVoting


@dataclass(frozen=True)
class Turns:
    """Two members of one level take turns, a third is always there."""

    shifts: dict[str, float] = field(default_factory=dict)

    def laws(self, n_columns=None):
        return {
            group: (Step("vote", NoisyBit(scale=1.0, shift=shift)),)
            for group, shift in self.shifts.items()
        }

    def participation(self, n_rows):
        there = np.arange(n_rows) % 2 == 0
        return {"level/turn-0": there, "level/turn-1": ~there}

    def check_counts(self, counts):
        return np.asarray(counts, dtype=float)

    def state(self, counts):
        return {"vote": counts[:, 0]}


TURNS = Turns({"level/turn-0": 0.1, "level/turn-1": 0.1, "other": 0.05})


def test_a_price_is_a_curve():
    price = price_plan(GNMax(sigma=40), 44, n_columns=2)
    assert price.delta(math.log(2)) < 1e-5 < price.delta(0.68)
    epsilon = price.epsilon(1e-5)
    assert price.delta(epsilon) <= 1e-5 < price.delta(epsilon * (1 - 1e-6))
    share = price.share(math.log(2), 1e-5)
    assert 0.98 < share <= 1
    assert price.delta(share * math.log(2)) <= share * 1e-5
    # What is left of both after half the rows pays for less than the other half.
    half = price_plan(GNMax(sigma=40), 22, n_columns=2).share(math.log(2), 1e-5)
    assert 0.5 < half < share
    assert price.epsilon(0.5) == 0.0
    assert price.epsilon(1e-40) == math.inf
    assert price.share(1e-9, 1e-40) == math.inf


def test_no_rows_cost_nothing():
    price = price_plan(GNMax(sigma=40), 0, n_columns=2)
    assert price.delta(0.0) == 0.0
    assert price.delta(-1.0) == pytest.approx(1 - math.exp(-1), rel=1e-3)
    assert plan_rows(GNMax(sigma=0.1), 5, 0.1, 1e-5, n_columns=2) == 0


@pytest.mark.parametrize("sigma", [1e-70, 1e-3, 0.1, 0.25])
@pytest.mark.parametrize("n_rows", [1, 1000])
def test_rows_with_next_to_no_noise_cost_as_their_noisy_counts(sigma, n_rows):
    price = price_plan(GNMax(sigma=sigma), n_rows, n_columns=2)
    mu = math.sqrt(2 * n_rows) / sigma
    for epsilon in (0.0, 1.0, 100.0):
        assert price.delta(epsilon) == pytest.approx(float(gaussian_delta(mu, epsilon)), rel=1e-3)
    assert price_plan(GNMax(sigma=sigma), 0, n_columns=2).delta(0.0) == 0.0


def test_own_deltas_add_to_noisy_numbers():
    rows = (Step("vote", NoisyBit(scale=1.0, shift=9.0), delta=0.01),)
    delta = price_law_cached(rows, 2).delta(60.0)
    exact = float(gaussian_delta(math.sqrt(2) * 9.0, 60.0))
    assert 0.0199 + 0.98 * exact <= delta <= 0.0202 + 0.98 * exact


def test_rows_that_a_group_sits_out():
    # A level pays what its dearest part does: turn-0 is there 11 times, turn-1 10 times.
    prices = price_plan(TURNS, 21)
    assert list(prices) == ["level", "other"]
    assert prices["level"].delta(0.3) == price_plan(Turns({"a": 0.1}), 11)["a"].delta(0.3)
    later = price_plan(Turns({"level/turn-1": 0.1}), 21)["level"]
    assert later.delta(0.3) == price_plan(Turns({"a": 0.1}), 10)["a"].delta(0.3)
    # The longest prefix: turn-0 is there in rows 0, 2, 4, ...
    epsilon, delta = 0.3, 1e-3
    own = plan_rows(Turns({"a": 0.1}), 50, epsilon, delta)
    assert 1 < own < 20
    limits = {"level": epsilon, "other": 10.0}
    assert plan_rows(TURNS, 50, limits, delta) == 2 * own
    one_less = Turns({"level/turn-0": 0.1})
    assert plan_rows(one_less, 2 * own, limits, delta) == 2 * own
    assert plan_rows(TURNS, own, limits, delta) == own


def test_members_with_different_laws_share_a_level():
    shifts = {"level/turn-0": 0.1, "level/turn-1": 1.5}
    dear = price_plan(Turns({"level/turn-1": 1.5}), 20)["level"]
    for order in (1, -1):
        level = price_plan(Turns(dict(list(shifts.items())[::order])), 20)["level"]
        assert level.delta(1.0) == dear.delta(1.0)
        mu2, dear_mu2 = (float(p.gaussian_cost(1e-7).mu2) for p in (level, dear))
        assert mu2 == pytest.approx(dear_mu2, rel=1e-3)


def test_levels_have_limits_of_their_own():
    mechanism = GNMax(sigma=40, weight={"strict": 1.0, "generous": 2.0})
    limits = {"strict": math.log(2), "generous": 0.5}
    strict = plan_rows(GNMax(sigma=40), 100, limits["strict"], 1e-5, n_columns=2)
    generous = plan_rows(GNMax(sigma=20), 100, limits["generous"], 1e-5, n_columns=2)
    assert plan_rows(mechanism, 100, limits, 1e-5, n_columns=2) == min(strict, generous)
    # A cost to everyone has to fit every level, a delta may be per level as well.
    by_level = {"strict": 1e-5, "generous": 1e-6}
    everyone = plan_rows(GNMax(sigma=40), 100, limits, by_level, n_columns=2)
    assert everyone == plan_rows(GNMax(sigma=40), 100, 0.5, 1e-6, n_columns=2)


@pytest.mark.parametrize("other", [EVERYONE, "level"])
def test_overlapping_groups_are_refused(other):
    overlapping = Turns({other: 0.1, "level/turn-0": 0.1})
    for call in (price_plan, partial(plan_rows, epsilon=1.0, delta=1e-5)):
        with pytest.raises(ValueError, match="not for both at once"):
            call(overlapping, 5)


def test_answers_are_counted_where_there_is_a_threshold():
    mechanism = ConfidentGNMax(sigma=40, sigma_threshold=200, threshold=300)
    many, few = (price_plan(mechanism, 30, n_columns=2, n_answers=k).delta(0.4) for k in (None, 5))
    assert few < 0.2 * many


@pytest.mark.parametrize("n_queries", [1, 20, 200])
def test_noise_for_a_wanted_privacy(n_queries):
    wanted = {"epsilon": 1.0, "delta": 1e-5, "n_rows": n_queries, "n_columns": 2}
    game, renyi = (calibrated(GNMax, **wanted, order=order) for order in ("gaussian", "renyi"))
    assert game.sigma < (0.96 if n_queries > 1 else 1.0) * renyi.sigma
    price = price_plan(game, n_queries, n_columns=2)
    # Of few rows the noisy counts are charged.
    mu2 = min(float(price.gaussian_cost(5e-8).mu2), n_queries * 2 / game.sigma**2)
    assert 0.998 <= mu2 / gaussian_budget(1.0, 1e-5, 1e-7) <= 1
    assert price.share(1.0, 1e-5) <= 1
    assert plan_rows(game, n_queries + 1, 1.0, 1e-5, n_columns=2) >= n_queries


def test_noise_for_levels_and_for_thresholds():
    game = calibrated(
        lambda noise: ConfidentGNMax(
            sigma=noise, sigma_threshold=5 * noise, threshold=90, weight={"a": 1.0, "b": 2.0}
        ),
        epsilon={"a": 1.0, "b": 2.0},
        delta=1e-5,
        n_rows=4,
        n_columns=2,
        order="gaussian",
    )
    prices = price_plan(game, 4, n_columns=2)
    shares = [prices[level].share(epsilon, 1e-5) for level, epsilon in (("a", 1.0), ("b", 2.0))]
    assert 0.95 <= max(shares) <= 1  # two plans, and a conversion


def test_a_price_that_falls_in_steps():
    def share(noise, fineness):
        return 1 / (math.floor(8 * noise) / 8)

    assert 1.0 <= least_plan_noise(share, 1.4, 1.3, coarse=False) < 1.125
    assert 1.0 <= least_plan_noise(share, 1.4, 1.3, coarse=True) < 1.125
    # Where nothing else is found to be enough, what was known to be is.
    assert least_plan_noise(lambda n, f: math.inf, 1.4, 1.3, coarse=True) == 1.4


def test_a_price_is_shown_in_one_line():
    price = price_plan(GNMax(sigma=40), 44, n_columns=2)
    assert repr(price) == f"<PlanPrice: epsilon {price.epsilon(1e-5):.4g} at delta 1e-05>"


CONFIDENT = ConfidentGNMax(sigma=10, sigma_threshold=20, threshold=60)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_rows": -1}, "n_rows=-1 must be an integer of at least 0"),
        ({"n_rows": 2.5}, r"n_rows=2\.5 must be"),
        ({"n_rows": True}, "n_rows=True must be"),
    ],
)
def test_bad_plans_are_refused(arguments, message):
    plan = {"mechanism": CONFIDENT, "n_rows": 5, **arguments}
    for call in (price_plan, partial(plan_rows, epsilon=1.0, delta=1e-5)):
        with pytest.raises(ValueError, match=message):
            call(**plan)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_answers": 0}, "n_answers=0 must be an integer of at least 1"),
        ({"n_answers": 2, "mechanism": GNMax(sigma=9)}, "n_answers=2 needs a threshold"),
    ],
)
def test_n_answers_without_a_threshold_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        price_plan(**{"mechanism": CONFIDENT, "n_rows": 5, **arguments})


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        (math.nan, 1e-5, "epsilon=nan must be a finite number above 0"),
        (0.5, math.nan, "delta=nan must be"),
        (0.5, 1e5, r"delta=100000\.0 must be"),
        ({"strict": 0.5}, 1e-5, r"epsilon=\{'strict': 0\.5\} has no level 'generous'"),
        (0.5, {"generous": 1e-5}, "delta=.* has no level 'strict'"),
    ],
)
def test_budgets_need_a_pair_for_every_level(epsilon, delta, message):
    mechanism = GNMax(sigma=9, weight={"strict": 1.0, "generous": 2.0})
    with pytest.raises(ValueError, match=message):
        plan_rows(mechanism, 5, epsilon, delta, n_columns=2)
    if not isinstance(epsilon, dict) and not isinstance(delta, dict):
        with pytest.raises(ValueError, match=message):
            price_plan(GNMax(sigma=9), 5, n_columns=2).share(epsilon, delta)


def test_bad_parameters():
    wanted = {"epsilon": 1.0, "delta": 1e-5, "n_rows": 5}
    with pytest.raises(ValueError, match="order='odd' must be"):
        calibrated(GNMax, **wanted, order="odd")
    with pytest.raises(BudgetExceededError, match="leave order as it is"):
        calibrated(Gaussian, **wanted, order=math.inf)


@pytest.mark.parametrize(
    ("tau", "norm"),
    [
        *((1.6, "l2"), (1.0, "l1")),
        *(pytest.param(tau, "l2", marks=pytest.mark.slow) for tau in (1.0, 3.0)),
    ],
)
def test_estimated_price_of_clipped_ballots_is_near_the_game(tau, norm):
    mechanism = TauVoting(sigma=20.0, n_votes=50, tau=tau, norm=norm)
    price = price_plan(mechanism, 20, n_columns=6).gaussian_cost(1e-7).mu2
    (law,) = mechanism.laws(6).values()
    expected = estimate_share(law, 20, 1e-7) * law[0].move.noisy_numbers_mu2 * 20
    assert expected == pytest.approx(price, rel=0.03)


RATIO = 2 / (math.sqrt(2) * 40)
#: Share of the mu^2 of noisy counts that rows at sigma 40 cost, and that they are worth unused.
GAUSSIAN = [
    (1, (1.002, 1.0015, 1.001), 1.0),
    (4, (0.838, 0.814, 0.786), 0.761),
    (10, (0.736, 0.722, 0.708), 0.697),
    (44, (0.665, 0.661, 0.657), 0.655),
    (88, (0.652, 0.650, 0.648), 0.647),
]


@pytest.mark.parametrize(("n_rows", "shares", "unused"), GAUSSIAN)
def test_plans_in_the_gaussian_currency(n_rows, shares, unused):
    price = price_plan(GNMax(sigma=40), n_rows, n_columns=2)
    full = n_rows * RATIO**2
    for failure, share in zip((1e-10, 1e-8, 1e-6), shares, strict=True):
        assert price.gaussian_cost(failure).mu2 / full == pytest.approx(share, abs=6e-4)
        # Where a search for noise begins.
        (law,) = GNMax(sigma=40).laws(2).values()
        assert estimate_share(law, n_rows, failure) == pytest.approx(share, rel=0.02)
    assert price.refund() / full == pytest.approx(unused, abs=6e-4)
    # Less comes back than was paid, unless a large approximation delta had paid for the rest.
    assert price.refund() < price.gaussian_cost(1e-8).mu2


@pytest.mark.parametrize("cost", [price_plan(GNMax(sigma=5), 12, n_columns=2)])
def test_the_gaussian_curve_lies_above_the_plan_s_everywhere(cost):
    claimed = cost.gaussian_cost(1e-6)
    for epsilon in np.random.default_rng(0).uniform(0, 12, 60):
        above = gaussian_delta(math.sqrt(claimed.mu2), epsilon)
        assert cost.delta(epsilon) <= claimed.delta + (1 - claimed.delta) * above
        assert gaussian_delta(math.sqrt(cost.refund()), epsilon) <= cost.delta(epsilon) * (1 + 1e-8)
    # A tenth less would be too little; without a delta beside it the noisy counts are paid.
    less = [gaussian_delta(0.95 * math.sqrt(claimed.mu2), each) for each in np.linspace(0, 4, 400)]
    value = [cost.delta(each) for each in np.linspace(0, 4, 400)]
    assert np.any(np.array(value) > claimed.delta + np.array(less))
    assert cost.gaussian_cost(0.0).mu2 == math.inf
    # Planted: the delta forgotten; and a curve of which too few epsilons are known.
    far = np.linspace(4, 12, 200)
    assert any(cost.delta(each) > gaussian_delta(math.sqrt(claimed.mu2), each) for each in far)
    near = np.linspace(0, 2, 200)
    short = Profile.from_epsilons(near, np.array([cost.delta(each) for each in near]))
    assert short.gaussian_cost(1e-6).mu2 == math.inf


def losses(n_rows, sigma):
    """Losses, and their probability under P, of rows that are all tied half-way."""
    half = math.sqrt(2) / sigma / 2
    ones = np.arange(n_rows + 1)
    ways = np.array([math.comb(n_rows, k) for k in ones])
    up, down = ndtr(half), ndtr(-half)
    return (2 * ones - n_rows) * math.log(up / down), ways * up**ones * down ** (n_rows - ones)


@pytest.mark.parametrize("first", [(3, 2.0), (6, 4.0)])
def test_the_next_plan_may_be_chosen_by_the_outcome_of_the_last(first):
    """Exact delta of two plans, of which the outcome of one decides the other: below the sums."""
    failure, plans = 1e-4, [(1, 1.3), (2, 1.9), (5, 3.1), (9, 4.2)]

    def cost(plan):
        return price_plan(GNMax(sigma=plan[1]), plan[0], n_columns=2).gaussian_cost(failure)

    budget = cost(first) + max((cost(plan) for plan in plans), key=lambda each: float(each.mu2))
    loss, p = losses(*first)
    following = [losses(*plan) for plan in plans]
    for epsilon in (0.1, 1.0, 2.5, 4.0):
        # The best plan after each outcome, as nothing but its cost has to fit.
        value = [
            max(
                float(np.sum(q * np.maximum(-np.expm1(epsilon - each - more), 0.0)))
                for more, q in following
            )
            for each in loss
        ]
        claim = budget.delta + (1 - budget.delta) * gaussian_delta(
            math.sqrt(float(budget.mu2)), epsilon
        )
        exact = float(np.dot(p, value))
        assert exact <= claim
        assert exact > 0.5 * claim or epsilon > 2
    # What the noisy counts of the same rows would cost is more than what is claimed here.
    counts = sum(2 * n_rows / sigma**2 for n_rows, sigma in (first, plans[-1]))
    assert float(budget.mu2) < 1.5 * counts


def test_stopping_for_the_refund_gains_nothing():
    n_rows, sigma, failure = 8, 3.0, 1e-5
    price = price_plan(GNMax(sigma=sigma), n_rows, n_columns=2)
    paid = float(price.gaussian_cost(failure).mu2)
    for drawn in (2, 5):
        rest = price_plan(GNMax(sigma=sigma), n_rows - drawn, n_columns=2)
        loss, p = losses(drawn, sigma)
        stopped = math.sqrt(rest.refund())
        for epsilon in (0.2, 1.0, 3.0):
            # After each outcome the better of two: noisy counts for the refund, or the rows.
            best = [
                max(float(gaussian_delta(stopped, epsilon - each)), rest_worth)
                for each, rest_worth in zip(
                    loss, rest_at(loss, epsilon, n_rows - drawn, sigma), strict=True
                )
            ]
            claim = failure + (1 - failure) * gaussian_delta(math.sqrt(paid), epsilon)
            assert float(np.dot(p, best)) <= claim


def rest_at(loss, epsilon, n_rows, sigma):
    more, q = losses(n_rows, sigma)
    return [float(np.sum(q * np.maximum(-np.expm1(epsilon - each - more), 0.0))) for each in loss]


def test_longer_plans_go_on_from_shorter_ones():
    (law,) = GNMax(sigma=31).laws(2).values()
    for n_rows in (3, 40, 20, 41, 0):
        price = price_plan(GNMax(sigma=31), n_rows, n_columns=2)
        (one,), (other,) = (each._value_functions for each in (price, price_law(law, n_rows)))
        assert (one.values == other.values).all(), n_rows
        assert one.first == other.first
