"""Limits of tests between neighbours: closed forms, tight examples and brute force."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm
from tests._fakes import calibrated

from secretballot.accounting import PrivacyAccountant
from secretballot.accounting._trade_off import GaussianTradeOff, PairTradeOff, level_trade_off
from secretballot.costs._exact_max import max_log_probabilities
from secretballot.costs._noise import gaussian_delta
from secretballot.mechanisms import GNMax

FACTORS = (1.5, 3.0, 9.0, 99.0)
FALSE_ALARMS = (0.0, 1e-6, 0.01, 0.05, 0.1, 0.4, 0.9, 1.0)
ROUNDING = 1 + 1e-12
EPSILONS = (1e-3, 0.1, 0.5, 1.0, 2.0, 2.2, 4.0, 10.0, 40.0, 1e4)


def best_guess(p, q):
    """The probability that the best guess between P and Q, equally likely, is right."""
    return sum(map(max, p, q)) / 2


def by_odds(p, q):
    """Outcomes by the odds of P to Q, the highest first."""
    return sorted(
        zip(p, q, strict=True),
        key=lambda pair: pair[0] / pair[1] if pair[1] else math.inf,
        reverse=True,
    )


def rise(p, q, factor):
    """The largest P(S) with P(S) >= factor Q(S), over sets S that may include parts of outcomes."""
    inside = spare = p[0] * 0
    for mass, other in by_odds(p, q):
        short = factor * other - mass
        if short > spare:
            return inside + spare / short * mass
        inside, spare = inside + mass, spare - short
    return inside


def power(p, q, false_alarms):
    """The power of the best test at a rate of false alarms, by Neyman and Pearson."""
    inside, left = p[0] * 0, false_alarms
    for mass, other in by_odds(p, q):
        if other > left:
            return inside + left / other * mass
        inside, left = inside + mass, left - other
    return inside


def tight_pair(ratio, delta):
    """Randomised response that tells all with probability delta: (log ratio, delta)-private."""
    rest = (1 - delta) / (1 + ratio)
    return [delta, ratio * rest, rest, delta * 0], [delta * 0, rest, ratio * rest, delta]


@pytest.mark.parametrize("ratio", [Fraction(5, 4), Fraction(3), Fraction(12)])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 1000), Fraction(1, 5)])
def test_pairs_are_exact(ratio, delta):
    """The randomised response of the pair reaches every bound, in exact arithmetic."""
    p, q = tight_pair(ratio, delta)
    bound = PairTradeOff(math.log(ratio), float(delta))
    assert bound.best_guess() == pytest.approx(float(best_guess(p, q)), rel=1e-8)
    assert bound.best_guess() == pytest.approx(float((ratio + delta) / (ratio + 1)), rel=1e-8)
    for factor in FACTORS:
        attained = float(rise(p, q, Fraction(factor)))
        assert bound.rise(factor) == pytest.approx(attained, rel=1e-8)
        assert bound.rise(factor) >= attained
    for rate in FALSE_ALARMS:
        attained = float(power(p, q, Fraction(rate)))
        assert bound.power(rate) == pytest.approx(attained, rel=1e-8, abs=1e-12)


def test_pairs_in_figures():
    """At epsilon log 3 and delta .1: guesses of 3.1/4, and ninefold odds with .1 * 9/(9 - 3)."""
    bound = PairTradeOff(math.log(3), 0.1)
    assert bound.best_guess() == pytest.approx(0.775)
    assert bound.rise(9.0) == pytest.approx(0.15)
    assert bound.power(0.05) == pytest.approx(0.25)
    assert PairTradeOff(2.0, 0.0).rise(9.0) == 0
    # Below the odds of e^epsilon there is no limit by delta, but by 1 - e^-epsilon (1 - delta - a).
    assert PairTradeOff(math.log(12), 0.0).rise(9.0) == pytest.approx(9 * 11 / (9 * 12 - 1))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_no_private_pair_does_better(epsilon):
    """Random pairs of laws, at the least delta that they have at epsilon, by brute force."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        p, q = rng.dirichlet([0.3] * 5, size=2)
        excess = [np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p))]
        bound = PairTradeOff(epsilon, float(max(excess)))
        assert best_guess(p, q) <= bound.best_guess()
        for factor in FACTORS:
            assert rise(list(p), list(q), factor) <= bound.rise(factor) * ROUNDING
        for rate in FALSE_ALARMS:
            assert power(p, q, rate) <= bound.power(rate) * ROUNDING


def test_a_suspicion_is_a_set_with_odds():
    """Whenever a belief has risen by a factor, its outcomes are such a set: all sets of one law."""
    p, q = np.random.default_rng(2).dirichlet([0.5] * 6, size=2)
    for factor in FACTORS:
        risen = p[p >= factor * q].sum()
        sets = itertools.product([False, True], repeat=6)
        reached = [p[list(s)].sum() for s in sets if p[list(s)].sum() >= factor * q[list(s)].sum()]
        assert risen <= max(reached) <= rise(list(p), list(q), factor) + 1e-12


@pytest.mark.parametrize(("mu", "delta"), [(0.27, 1e-7), (1.0, 0.0), (2.0, 0.1), (1e-3, 1e-6)])
def test_normals_are_exact(mu, delta):
    bound = GaussianTradeOff(mu, delta)
    assert bound.best_guess() == pytest.approx(delta + (1 - delta) * norm.cdf(mu / 2), rel=1e-8)
    # The total variation is the least delta at epsilon 0.
    distance = delta + (1 - delta) * float(gaussian_delta(mu, 0.0))
    assert bound.best_guess() == pytest.approx((1 + distance) / 2, rel=1e-8)
    for rate in (1e-6, 0.01, 0.5):
        inner = norm.isf(rate / (1 - delta)) - mu
        assert bound.power(rate) == pytest.approx(delta + (1 - delta) * norm.sf(inner), rel=1e-8)
    for factor in FACTORS:

        def excess(rate, factor=factor):
            return delta + (1 - delta) * norm.sf(norm.isf(rate) - mu) - factor * (1 - delta) * rate

        if delta:
            rate = brentq(excess, 1e-300, 1 - 1e-12, xtol=1e-300, rtol=1e-13)
            attained = factor * (1 - delta) * rate
            assert bound.rise(factor) == pytest.approx(attained, rel=1e-6)


def test_normals_in_figures():
    """Odds of e^(mu z - mu^2/2): the set beyond z, by hand."""
    for z in (1.0, 2.0, 4.0):
        factor = norm.sf(z - 1.5) / norm.sf(z)
        assert GaussianTradeOff(1.5, 0.0).rise(factor) == pytest.approx(norm.sf(z - 1.5), rel=1e-6)


@pytest.mark.parametrize("mu", [0.3, 1.2])
def test_no_draw_of_normals_does_better(mu):
    """Two normals in narrow bins, all told with probability .01, by brute force."""
    edges = np.concatenate([[-np.inf], np.linspace(-6, 8, 1_500), [np.inf]])
    p, q = (0.99 * np.diff(norm.cdf(edges - shift)) for shift in (mu, 0.0))
    p, q = [*p, 0.01, 0.0], [*q, 0.0, 0.01]
    bound = GaussianTradeOff(mu, 0.01)
    pairs = [(best_guess(p, q), bound.best_guess())]
    pairs += [(rise(p, q, factor), bound.rise(factor)) for factor in FACTORS]
    pairs += [(power(p, q, rate), bound.power(rate)) for rate in FALSE_ALARMS]
    for attained, limit in pairs:
        assert attained <= limit + 1e-12
        assert attained == pytest.approx(limit, rel=1e-3)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_gaussian_budget_keeps_its_pair(epsilon):
    """The limits by mu are below those by (epsilon, delta), which they imply."""
    accountant = PrivacyAccountant(min(epsilon, 10.0), 1e-5)
    (level,) = accountant.levels
    ours, pair = level_trade_off(level), PairTradeOff(level.epsilon, level.delta)
    assert isinstance(ours, GaussianTradeOff)
    assert ours.best_guess() <= pair.best_guess()
    for factor in FACTORS:
        assert ours.rise(factor) <= pair.rise(factor)
    for rate in FALSE_ALARMS:
        assert ours.power(rate) <= pair.power(rate)


@pytest.mark.parametrize("order", ["renyi", 16.0, math.inf])
def test_other_budgets_have_the_limits_of_their_pair(order):
    (level,) = PrivacyAccountant(1.0, 1e-5, order=order).levels
    assert level_trade_off(level) == PairTradeOff(1.0, 1e-5)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [0.0, 1e-12, 1e-5, 0.3])
def test_limits_are_in_order(epsilon, delta):
    """Larger factors are rarer, more false alarms give more power, and probabilities end at 1."""
    for bound in (PairTradeOff(epsilon, delta), GaussianTradeOff(min(epsilon, 30.0), delta)):
        assert 0.5 <= bound.best_guess() <= 1
        rises = [bound.rise(factor) for factor in (*FACTORS, 1e9)]
        powers = [bound.power(rate) for rate in FALSE_ALARMS]
        assert rises == sorted(rises, reverse=True)
        assert powers == sorted(powers)
        assert delta <= rises[-1] <= rises[0] <= 1
        assert delta <= powers[0] <= powers[-1] <= 1


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_votes_that_spend_a_budget_keep_its_limits(epsilon):
    """Eight votes of one budget: their exact law under neighbours, for the worst of many votes."""
    mechanism = calibrated(GNMax, 8, epsilon=epsilon, delta=1e-5, n_columns=2)
    bound = level_trade_off(PrivacyAccountant(epsilon, 1e-5).levels[0])
    guesses = []
    for lead in np.linspace(-4, 4, 9):
        votes = np.array([[50 + lead, 50 - lead], [49 + lead, 51 - lead]])
        (a, b) = np.exp(max_log_probabilities(votes, mechanism.sigma))[:, 0]
        p, q = ([math.prod(row) for row in itertools.product([x, 1 - x], repeat=8)] for x in (a, b))
        guesses.append(best_guess(p, q))
        for factor in FACTORS:
            assert rise(p, q, factor) <= bound.rise(factor) * ROUNDING
        for rate in FALSE_ALARMS:
            assert power(p, q, rate) <= bound.power(rate) * ROUNDING
    assert 0.7 < (max(guesses) - 0.5) / (bound.best_guess() - 0.5) <= 1
