"""Counts with Gaussian noise: what a person can move, what it costs, planted errors."""

from itertools import product
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from tests.checks._promises import check_promise
from tests.checks._registry import EXAMPLES

from secretballot.accounting import EVERYONE, ORDERS, PrivacyAccountant
from secretballot.mechanisms import NoisyCounts


def furthest(n_columns, relation):
    """Largest l2 move of counts by one person, whose parts may be in all of them."""
    parts = np.array(list(product((0.0, 0.25, 0.5, 1.0), repeat=n_columns)))
    people = parts[parts.sum(axis=1) <= 1]
    nobody = np.zeros((1, n_columns))
    others = people if relation == "replace" else nobody
    return np.linalg.norm(people[:, None] - others, axis=-1).max()


def divergence(shift, order):
    """Renyi divergence of two normal laws, by quadrature in numbers of 30 digits."""
    with mpmath.workdps(30):
        a, m = mpmath.mpf(order), mpmath.mpf(shift)
        integral = mpmath.quad(
            lambda x: mpmath.npdf(x, m) ** a * mpmath.npdf(x) ** (1 - a),
            [-40, -8, 0, a * m, 8 + a * m, 40 + a * m],
        )
        return float(mpmath.log(integral) / (a - 1))


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("n_columns", [1, 2, 4])
def test_cost_is_that_of_the_largest_move_of_a_person(n_columns, relation):
    mechanism = NoisyCounts(sigma=3.0, relation=relation)
    shift = furthest(n_columns, relation) / 3.0
    curve = mechanism.max_cost(n_columns)[EVERYONE]
    for order in (2.0, 8.0):
        assert float(curve.at(order)) == pytest.approx(divergence(shift, order), rel=1e-9)
    assert (curve.curve[:-1] <= mechanism.max_cost()[EVERYONE].curve[:-1]).all()


@pytest.mark.parametrize(("shape", "mu2"), [((1, 1), 1.0), ((1, 9), 2.0), ((3, 9), 6.0)])
def test_gaussian_budgets_charge_the_exact_mu2(shape, mu2):
    accountant = PrivacyAccountant(epsilon=4, delta=1e-5)
    accountant.release(NoisyCounts(sigma=20.0), np.full(shape, 50.0))
    assert accountant.spent().amount == pytest.approx(mu2 / 400, rel=1e-9)
    assert accountant.spent().cost.delta == 0


def test_levels_pay_for_their_weight():
    costs = NoisyCounts(sigma=4.0, weight={"low": 0.5, "high": 2.0}).max_cost(1)
    assert float(costs["high"].at(2.0)) == pytest.approx(16 * float(costs["low"].at(2.0)))


def test_released_numbers_are_on_a_grid_with_the_stated_noise():
    accountant = PrivacyAccountant(epsilon=1e4, delta=1e-5, order="renyi")
    counts = np.full((20_000, 2), 9.3)
    with pytest.warns(UserWarning, match="reproducible"):
        drawn = accountant.release(NoisyCounts(sigma=5.0), counts, random_state=1)
    assert (drawn * 1024 % 1 == 0).all()
    error = drawn - 9.3
    # Means and covariances of 20,000 draws: six standard errors, 1e-8 in all.
    assert np.abs(error.mean(axis=0)).max() < 6 * 5 / np.sqrt(20_000)
    np.testing.assert_allclose(np.cov(error.T), 25 * np.eye(2), atol=6 * 25 * np.sqrt(2 / 20_000))


def half_the_noise(patch):
    sample = NoisyCounts.sample

    def quiet(self, counts, rng):
        return counts + (sample(self, counts, rng) - counts) / 2

    patch.setattr(NoisyCounts, "sample", quiet)


def test_half_the_noise_is_found(monkeypatch):
    half_the_noise(monkeypatch)
    with pytest.raises(AssertionError, match="epsilon"):
        check_promise("claim_survives_the_audit", EXAMPLES["NoisyCounts"])


def test_an_uncharged_second_cell_is_found(monkeypatch):
    # Charged as if somebody who leaves one cell didn't come to another.
    flat = SimpleNamespace(sqrt=lambda _: 1.0)
    monkeypatch.setattr("secretballot.mechanisms._noisy_counts.math", flat)
    curve = NoisyCounts(sigma=3.0).max_cost(4)[EVERYONE].curve
    assert (curve[:-1] < ORDERS[:-1] * (furthest(4, "replace") / 3.0) ** 2 / 2).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sigma": 0}, r"sigma=0 must be a finite number above 0"),
        ({"sigma": 2, "relation": "swap"}, r"relation='swap' is unknown"),
        ({"sigma": 2, "weight": {"a": 0}}, r"weight=0 of the level 'a'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        NoisyCounts(**parameters)
