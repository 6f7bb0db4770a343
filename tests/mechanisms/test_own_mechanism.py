"""A mechanism from outside of the library, in one file: the recipe of docs/development."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from secretballot.accounting import PrivacyAccountant, price_plan
from secretballot.audit import OutcomeLaw, audit_epsilon
from secretballot.checks import MechanismExample, check_mechanism
from secretballot.divergences import PureRelease, Step
from secretballot.ensemble import PrivateTeacherEnsemble
from secretballot.mechanisms import Mechanism

VOTES = np.array([[9.0, 1.0, 0.0], [4.0, 3.0, 3.0], [5.0, 5.0, 0.0]])


@dataclass(frozen=True, kw_only=True)
class LaplaceMax(Mechanism):
    """Report-noisy-max with Laplace noise: each row is (2 / scale)-private under replacement."""

    scale: float

    relations: ClassVar[frozenset[str]] = frozenset({"replace"})

    def laws(self, n_columns=None):
        return {"*": (Step("vote", PureRelease(epsilon=2 / self.scale)),)}

    def sample(self, counts: Any, rng: np.random.Generator):
        return (counts + rng.laplace(scale=self.scale, size=counts.shape)).argmax(axis=1)

    def executed(self, outcome):
        return {"vote": np.ones(len(outcome))}

    def state(self, counts):
        return {}

    def outcome_law(self, counts):
        """Integrate over the noise of the winner of two classes."""
        ahead = (counts[:, 0] - counts[:, 1]) / self.scale
        tail = np.exp(-np.abs(ahead)) * (2 + np.abs(ahead)) / 4  # of a sum of two Laplace numbers
        first = np.where(ahead > 0, 1 - tail, tail)
        return OutcomeLaw(np.arange(2), np.log(np.stack([first, 1 - first], axis=1)))


MOVED = tuple(np.array(pair, dtype=float)[:, None] for pair in ([[5, 5], [6, 4]], [[8, 2], [7, 3]]))
EXAMPLE = MechanismExample(
    # Noisy maxima reveal less than a purely private release of the same epsilon can.
    mechanism=LaplaceMax(scale=1.0),
    counts=VOTES[:, :2],
    neighbours=MOVED,
    tightness=0.3,
)


def test_common_checks_pass():
    check_mechanism(EXAMPLE)


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


def test_price_of_a_plan_is_that_of_randomised_response():
    price = price_plan(LaplaceMax(scale=2.0), 1, n_columns=2)
    assert price.epsilon(delta=1e-9) == pytest.approx(1.0, rel=1e-3)


def test_audit_finds_what_is_spent_and_half_the_noise():
    claim = LaplaceMax(scale=1.0)
    assert audit_epsilon(claim, list(MOVED), delta=1e-2, n_draws=20_000, random_state=0).holds

    def half_the_noise(data, n_draws, rng):
        return LaplaceMax(scale=0.3).sample(np.repeat(data, n_draws, axis=0), rng)

    planted = audit_epsilon(
        claim, list(MOVED), delta=1e-2, draw=half_the_noise, n_draws=20_000, random_state=0
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
