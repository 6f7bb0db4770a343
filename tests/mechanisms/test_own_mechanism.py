"""A mechanism from outside of the library, in one file: the recipe of docs/development."""

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace
from sklearn.linear_model import LogisticRegression

from secretballot.accounting import BudgetExceededError, PrivacyAccountant, price_plan
from secretballot.costs import Move, PureRelease, Step, draw_laplace
from secretballot.ensemble import PrivateTeacherEnsemble
from secretballot.mechanisms import Mechanism, check_count_spacing
from secretballot.testing import MechanismExample, audit_epsilon, check_mechanism

VOTES = np.array([[9.0, 1.0, 0.0], [4.0, 3.0, 3.0], [5.0, 5.0, 0.0]])


@dataclass(frozen=True, kw_only=True)
class LaplaceMax(Mechanism):
    """Report-noisy-max with Laplace noise: each row is (2 / scale)-private under replacement."""

    scale: float

    def laws(self, n_columns=None):
        return {"*": (Step("vote", PureRelease(epsilon=2 / self.scale)),)}

    def sample(self, counts: Any, rng: np.random.Generator):
        return (counts + self.scale * draw_laplace(counts.shape, rng)).argmax(axis=1)

    def check_counts(self, counts):
        return check_count_spacing(self.scale, super().check_counts(counts), "scale")

    def outcome_law(self, counts):
        """Integrate over the noisy count of the winner."""
        chances = [[self._chance(row, j) for j in range(len(row))] for row in counts]
        return np.arange(counts.shape[1]), np.log(chances)

    def _chance(self, row, winner):
        def density(x):
            others = laplace.cdf(x - np.delete(row, winner), scale=self.scale)
            return laplace.pdf(x - row[winner], scale=self.scale) * others.prod()

        # Densities have kinks at the counts; beyond 40 scales there is less than 1e-17.
        ends = [row.min() - 40 * self.scale, *np.unique(row), row.max() + 40 * self.scale]
        return sum(quad(density, *piece, epsabs=1e-14)[0] for piece in pairwise(ends))


MOVED = tuple(
    np.array(pair, dtype=float)[:, None]
    for pair in ([[5, 5, 0], [6, 4, 0]], [[8, 2, 1], [7, 3, 1]])
)
EXAMPLE = MechanismExample(
    # Noisy maxima reveal less than a purely private release of the same epsilon can.
    mechanism=LaplaceMax(scale=1.0),
    counts=VOTES,
    neighbours=MOVED,
    tightness=0.3,
)


def test_common_checks_pass_without_warnings():
    with warnings.catch_warnings():
        # Without pytest's filters, as in a program of one's own.
        warnings.simplefilter("error")
        assert check_mechanism(EXAMPLE) == {}


@pytest.mark.parametrize("order", ["gaussian", "renyi", np.inf])
def test_charged_reserved_and_drawn(order):
    accountant = PrivacyAccountant(epsilon=4.0, delta=1e-5, order=order)
    mechanism = LaplaceMax(scale=20.0)
    share = accountant.price(mechanism, 3, n_columns=3)
    assert 0 < share < 1
    assert len(accountant.release(mechanism, VOTES)) == 3
    spent = accountant.spent().epsilon
    reservation = accountant.reserve(mechanism, 6, n_columns=3)
    noisier = LaplaceMax(scale=25.0)
    assert len(accountant.release(noisier, VOTES, reservation=reservation)) == 3
    with pytest.raises(ValueError, match="'vote' of '\\*' tells more than what was paid for"):
        accountant.release(LaplaceMax(scale=19.0), VOTES, reservation=reservation)
    accountant.settle(reservation)
    assert accountant.spent().epsilon > spent


@pytest.mark.parametrize(
    ("epsilon", "gaussian"), [(0.1, 0.436), (0.5, 2.55), (1.0, 5.58), (2.0, 12.3)]
)
def test_one_row_costs_its_epsilon_unless_the_budget_is_gaussian(epsilon, gaussian):
    mechanism = LaplaceMax(scale=2 / epsilon)
    spent = {}
    for order in ("renyi", np.inf, "gaussian"):
        accountant = PrivacyAccountant(epsilon=20.0, delta=1e-5, order=order)
        accountant.release(mechanism, VOTES[:1])
        spent[order] = accountant.spent().epsilon
    assert spent["renyi"] == spent[np.inf] == pytest.approx(epsilon, rel=1e-9)
    assert spent["gaussian"] == pytest.approx(gaussian, rel=3e-3)


def test_many_rows_cost_less_in_a_gaussian_budget():
    spent = {}
    for order in ("renyi", "gaussian"):
        accountant = PrivacyAccountant(epsilon=20.0, delta=1e-5, order=order)
        accountant.release(LaplaceMax(scale=20.0), np.repeat(VOTES[:1], 100, axis=0))
        spent[order] = accountant.spent().epsilon
    assert spent == pytest.approx({"renyi": 4.61, "gaussian": 4.39}, rel=2e-3)


def test_the_refusal_names_the_cheaper_budget():
    accountant = PrivacyAccountant(epsilon=3.0, delta=1e-5)
    with pytest.raises(BudgetExceededError, match="order='renyi'"):
        accountant.release(LaplaceMax(scale=2.0), VOTES)


@dataclass(frozen=True)
class CurveAlone(Move):
    """A move without a play: of a purely private release its Renyi curve, and nothing else."""

    epsilon: float

    def worst_case(self, orders=None):
        return PureRelease(epsilon=self.epsilon).worst_case(orders)


class UnplayedLaplaceMax(LaplaceMax):
    def laws(self, n_columns=None):
        return {"*": (Step("vote", CurveAlone(2 / self.scale)),)}


def test_moves_without_a_play_take_twice_the_share_in_a_gaussian_budget():
    mechanism = UnplayedLaplaceMax(scale=200.0)
    renyi, gaussian = (
        PrivacyAccountant(epsilon=1.0, delta=1e-5, order=order).price(mechanism, 100, n_columns=3)
        for order in ("renyi", "gaussian")
    )
    assert gaussian / renyi == pytest.approx(2.12, abs=0.01)


def test_price_of_a_plan_is_that_of_randomised_response():
    price = price_plan(LaplaceMax(scale=2.0), 1, n_columns=2)
    assert price.epsilon(delta=1e-9) == pytest.approx(1.0, rel=1e-3)


def test_audit_finds_what_is_spent_and_too_little_noise():
    claim = LaplaceMax(scale=1.0)
    assert audit_epsilon(claim, list(MOVED), delta=1e-2, n_draws=20_000, random_state=0).holds

    def too_little_noise(data, n_draws, rng):
        return LaplaceMax(scale=0.3).sample(np.repeat(data, n_draws, axis=0), rng)

    planted = audit_epsilon(
        claim, list(MOVED), delta=1e-2, draw=too_little_noise, n_draws=20_000, random_state=0
    )
    assert not planted.holds


def test_an_ensemble_uses_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] > 0).astype(int)
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        n_teachers=30,
        mechanism=LaplaceMax(scale=4.0),
        classes=[0, 1],
        accountant=PrivacyAccountant(epsilon=8.0, delta=1e-5),
        check_public_rows=False,
    ).fit(X, y)
    answer = ensemble.predict_private(rng.normal(size=(10, 2)))
    assert len(answer.labels) == 10
