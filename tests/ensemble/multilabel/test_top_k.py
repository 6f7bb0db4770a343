"""Sets of labels above the largest gap, in an ensemble."""

import numpy as np
import pytest
from tests.ensemble.multilabel._rows import POOL, TRUTH, X, Y, ensemble_of

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import Upsampling, Vanishing, Weighting
from secretballot.ensemble.advice._survival import survival
from secretballot.ensemble.individual import Assignment
from secretballot.mechanisms import ExponentialTopK, RoundRobin, StableTopK

#: With this noise the test asks for a gap of about 5 of 10 votes.
GIVEN = {"rho": 20.0, "delta_t": 1e-8}


def budget(epsilon=1e4):
    return PrivacyAccountant(epsilon, 1e-4, order="renyi", approximation_delta=5e-5)


def test_rows_are_answered_whole_and_may_have_no_label():
    mechanism = StableTopK(**GIVEN, n_votes=10)
    ensemble = ensemble_of(mechanism=mechanism, student=None, accountant=budget())
    labels, answered = ensemble.fit(X, Y, X_public=POOL).pool_labels_
    row = answered.all(axis=1)
    assert (row == answered.any(axis=1)).all()
    assert row.mean() > 0.8
    assert (labels[row] == TRUTH[row]).mean() > 0.95
    empty = row & (TRUTH.sum(axis=1) == 0)
    assert empty.any()
    assert (labels[empty] == 0).all()
    # Nobody looks above the most voted label where the number of votes isn't said.
    blind = ensemble_of(mechanism=StableTopK(**GIVEN), student=None, accountant=budget())
    labels, answered = blind.fit(X, Y, X_public=POOL).pool_labels_
    assert (labels[answered.all(axis=1)].sum(axis=1) > 0).all()


def test_a_fixed_number_of_labels():
    ensemble = ensemble_of(mechanism=StableTopK(**GIVEN, k=2), accountant=budget())
    labels, answered = ensemble.fit(X, Y, X_public=POOL).pool_labels_
    assert answered.all()
    assert (labels.sum(axis=1) == 2).all()
    two = TRUTH.sum(axis=1) == 2
    assert (labels[two] == TRUTH[two]).mean() > 0.9
    assert ensemble.predict(X).shape == Y.shape


@pytest.mark.parametrize("kind", [Weighting, Upsampling, Vanishing])
@pytest.mark.parametrize("n_votes", [None, 10])
def test_levels_pay_for_the_influence_of_their_ballots(kind, n_votes):
    accountant = PrivacyAccountant(
        {"low": 300.0, "high": 900.0}, 1e-4, order="renyi", approximation_delta=5e-5
    )
    levels = np.array(["low", "high"])[np.arange(len(X)) % 2]
    mechanism = StableTopK(rho=5.0, delta_t=1e-8, n_votes=n_votes)
    ensemble = ensemble_of(
        mechanism=mechanism, accountant=accountant, student=None, individualization=kind()
    ).fit(X, Y, X_public=POOL, budgets=levels)
    labels, answered = ensemble.pool_labels_
    assert answered.any()
    assert (labels[answered] == TRUTH[answered]).mean() > 0.9
    spent = accountant.spent()
    cost = {level: float(one.cost.at(2.0)) for level, one in spent.items()}
    assert cost["high"] > cost["low"] > 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"relation": "add_remove"}, "is proven for the relation"),
        ({"weight": 0.5}, "less than a ballot that counts 1 costs"),
        ({"n_votes": 11}, "counts on n_votes=11 ballots"),
        ({"k": 4}, "k=4 items are wanted and counts has 3"),
        ({"max_items": 2}, "max_items=2 labels, and a teacher may name all 3"),
    ],
)
def test_mechanisms_that_undercharge_are_refused(parameters, message):
    mechanism = StableTopK(**GIVEN, **parameters)
    accountant = budget()
    with pytest.raises(ValueError, match=message):
        ensemble_of(mechanism=mechanism, accountant=accountant).fit(X, Y, X_public=POOL)
    assert accountant.spent().n_rows == 0
    with pytest.raises(ValueError, match="not proven for ballots that are replaced"):
        RoundRobin(mechanism=StableTopK(**GIVEN, relation="add_remove"), turns={"low": (1, 2)})


def test_survival_of_a_unanimous_set():
    rng = np.random.default_rng(0)
    mechanism = StableTopK(rho=1.0, delta_t=1e-6, n_votes=10, choice_share=0.3)
    expected = survival(mechanism, Assignment(10), 3, 5)
    drawn = mechanism.sample(np.tile([[10.0, 10.0, 0.0]], (20_000, 1)), rng)
    assert 0.05 < expected < 0.95
    # Another size is chosen now and then, and hardly ever released.
    right = 1 / (1 + 3 * np.exp(-10 * np.sqrt(8 * 0.3) / 4))
    assert right > 0.9
    # Six standard deviations of 20,000 tries.
    assert (drawn[:, 0] >= 0).mean() == pytest.approx(expected * right, abs=0.022)
    for other in (StableTopK(rho=3.0, delta_t=1e-6, k=2), ExponentialTopK(rho=3.0, k=2)):
        assert survival(other, Assignment(10), 3, 5) is None
