"""The Gaussian currency: budgets, costs, and Gaussian curves above privacy profiles."""

import math
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secretballot.costs import PureRelease
from secretballot.costs._cost import GaussianCost, Profile, gaussian_budget, gaussian_share


def exact_delta(mu, epsilon):
    """Delta between N(0, 1) and N(mu, 1), to thirty digits."""
    if mu == 0:
        return mpmath.mpf(0)
    with mpmath.workdps(30):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
            -mu / 2 - epsilon / mu
        )


def covered(cost, epsilon):
    """Delta that a cost allows at `epsilon`, to thirty digits."""
    failure = mpmath.mpf(float(cost.delta))
    return failure + (1 - failure) * exact_delta(math.sqrt(cost.mu2), epsilon)


@pytest.mark.parametrize("epsilon", [0.1, math.log(2), 2.0, 8.0])
@pytest.mark.parametrize(("delta", "failure"), [(1e-5, 0.0), (1e-5, 1e-7), (1e-2, 1e-3)])
def test_a_budget_converts_to_its_pair_and_no_more(epsilon, delta, failure):
    allowed = GaussianCost(gaussian_budget(epsilon, delta, failure), failure)
    assert covered(allowed, epsilon) <= delta
    assert covered(GaussianCost(allowed.mu2 * (1 + 1e-6), failure), epsilon) > delta
    assert epsilon * (1 - 1e-6) < allowed.epsilon(delta) <= epsilon * (1 + 1e-7)


def test_no_budget_where_approximations_use_up_delta():
    assert gaussian_budget(1.0, 1e-5, 1e-5) == 0
    assert GaussianCost(1.0, 1e-5).epsilon(1e-5) == math.inf
    assert GaussianCost.zero().epsilon(0.0) == 0


def test_arithmetic():
    batch = GaussianCost([1.0, 4.0], 1e-6)
    assert (batch.sum().mu2, float(batch.sum().delta)) == pytest.approx((5.0, 2e-6))
    assert (batch.max().mu2, batch.shape) == (4.0, (2,))
    assert (3 * batch[0]).mu2 == 3.0
    assert (0 * GaussianCost(math.inf)).mu2 == 0
    larger = GaussianCost(1.0, 2e-6).parallel(GaussianCost(2.0, 1e-6))
    assert (larger.mu2, float(larger.delta)) == (2.0, 2e-6)
    assert pickle.loads(pickle.dumps(batch)).mu2.tolist() == [1.0, 4.0]
    with pytest.raises(ValueError, match="mu2 must be non-negative"):
        GaussianCost(math.nan)
    with pytest.raises(AttributeError, match="immutable"):
        batch.mu2 = 1.0


def gaussian_profile(mu, epsilon, failure=0.0):
    deltas = [float(exact_delta(mu, at)) for at in epsilon]
    return Profile.from_epsilons(epsilon, failure + (1 - failure) * np.array(deltas))


@pytest.mark.parametrize("mu", [0.05, 0.5, 2.0])
def test_the_profile_of_a_gaussian_pair_costs_its_mu2(mu):
    epsilon = np.linspace(0, 4 * mu + mu**2, 200)
    failure = float(exact_delta(mu, epsilon[-1]))
    cost = gaussian_profile(mu, epsilon).gaussian_cost(failure)
    assert mu * 0.99 < math.sqrt(cost.mu2) < mu * 1.002


@given(
    weights=st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6),
    losses=st.lists(st.floats(-2.0, 2.0), min_size=6, max_size=6),
    failure=st.sampled_from([1e-9, 1e-6, 1e-3]),
)
@settings(deadline=None, max_examples=40)
def test_every_profile_lies_below_its_cost(weights, losses, failure):
    # Any law P, and Q with any likelihood ratios: both directions at 60 nodes, then everywhere.
    p = np.array(weights) / sum(weights)
    q = p * np.exp(losses[: len(p)])
    q = q / q.sum()

    def delta(epsilon):
        ratio = np.exp(epsilon)
        return max(
            float(np.maximum(p - ratio * q, 0).sum()), float(np.maximum(q - ratio * p, 0).sum())
        )

    nodes = np.linspace(0, np.abs(np.log(p / q)).max() + 1e-9, 60)
    profile = Profile.from_epsilons(nodes, np.array([delta(at) for at in nodes]))
    cost = profile.gaussian_cost(failure)
    for epsilon in np.concatenate([np.linspace(0, 5, 23), nodes[::7] + 0.01]):
        assert delta(epsilon) <= covered(cost, epsilon) * (1 + 1e-12)
    # And less would be too little, for what is known from the nodes.
    less = GaussianCost(cost.mu2 * 0.98, failure)
    between = np.linspace(1, profile.ratio[-1], 300)
    chords = np.interp(between, profile.ratio, profile.delta)
    assert cost.mu2 == 0 or any(
        chord > covered(less, math.log(ratio)) for ratio, chord in zip(between, chords, strict=True)
    )


def test_a_tail_above_the_approximation_delta_has_no_price():
    profile = Profile(np.array([1.0, 2.0]), np.array([0.1, 1e-3]))
    assert profile.gaussian_cost(1e-4).mu2 == math.inf
    assert profile.gaussian_cost(1e-3).mu2 < math.inf
    assert profile.gaussian_cost(0.1).mu2 == 0
    assert gaussian_share([(1.0, profile)], 1.0, 1e-4) > 1
    assert gaussian_share([(1.0, profile)], 1.0, 0.0) == math.inf


@pytest.mark.parametrize("failure", [0.1, 0.5, 0.9])
def test_no_shift_is_enough_where_delta_begins_at_1(failure):
    profile = Profile.from_epsilons(np.log([1.0, 2.0]), np.array([1.0, 0.05]))
    assert profile.gaussian_cost(failure).mu2 == math.inf


def test_nodes_above_the_hull_change_nothing():
    epsilon = np.linspace(0, 2, 50)
    smooth = gaussian_profile(0.5, epsilon)
    raised = smooth.delta.copy()
    raised[10:40:3] *= 1.5
    bumpy = Profile(smooth.ratio, raised)
    assert smooth.gaussian_cost(1e-4).mu2 <= bumpy.gaussian_cost(1e-4).mu2
    assert bumpy.gaussian_cost(1e-4).mu2 < 1.02 * smooth.gaussian_cost(1e-4).mu2


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 1.0, 5.0])
def test_pure_privacy(epsilon):
    cost = GaussianCost(PureRelease(epsilon=epsilon).ratio ** 2)
    best = [(math.e**epsilon - math.e**at) / (math.e**epsilon + 1) for at in (0, epsilon / 2)]
    for at, delta in zip((0, epsilon / 2), best, strict=True):
        assert delta <= covered(cost, at) * (1 + 1e-9)
    with mpmath.workdps(30):
        touching = exact_delta(math.sqrt(cost.mu2) * (1 - 1e-6), 0)
        assert touching < mpmath.tanh(mpmath.mpf(epsilon) / 2)


@pytest.mark.parametrize("share", [0.01, 0.3, 1.0, 2.5])
def test_the_share_of_a_budget(share):
    allowed, failure = 0.25, 1e-6
    epsilon = np.linspace(0, 12, 400) * math.sqrt(share * allowed)
    profile = gaussian_profile(
        math.sqrt(share * allowed) * 0.999, epsilon, failure=share * failure * 0.999
    )
    assert gaussian_share([(1.0, profile)], allowed, failure) == pytest.approx(share, rel=1e-2)
