"""Pairs of columns: the test that finds them, their price, and what they are good for."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control
from sklearn.metrics import roc_auc_score
from tests.linear.test_neighbours import asked, furthest

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.inspection import TermsDisplay
from secretballot.linear import PairTerm, _classes, _pair_rounds
from secretballot.linear._additive_bins import AdditiveBins, PairedBins
from secretballot.linear._column_bins import CategoryBins, NumberBins
from secretballot.linear._pair_rounds import PairTest, discoveries
from secretballot.linear._response import RoundPlan

MASS = np.outer([0.1, 0.2, 0.3, 0.4], [0.5, 0.3, 0.15, 0.05])
N = 8_000

pytestmark = pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")


def exclusive_or(seed, n=N):
    """Return classes that no column tells alone, and eight columns of noise beside the two."""
    X = np.random.default_rng(seed).normal(size=(n, 10))
    return pd.DataFrame(X, columns=list("abcdefghij")), (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.fixture(scope="module")
def fitted():
    (X, y), (pool, _) = exclusive_or(0), exclusive_or(1, 400)
    accountant = PrivacyAccountant(1.0, 1e-5)
    model = PrivateLogisticRegression(classes=[0, 1], accountant=accountant, random_state=0)
    return model.fit(X, y, X_public=PublicData(pool))


def test_classes_that_two_columns_tell_together(fitted):
    X, y = exclusive_or(2)
    assert ("a", "b") in fitted.interactions_
    assert roc_auc_score(y, fitted.decision_function(X)) > 0.93
    alone = PrivateLogisticRegression(
        classes=[0, 1], accountant=PrivacyAccountant(1.0, 1e-5), interactions=0, random_state=0
    )
    pool = PublicData(exclusive_or(1, 400)[0])
    alone.fit(*exclusive_or(0), X_public=pool)
    assert alone.interactions_ == []
    assert roc_auc_score(y, alone.decision_function(X)) < 0.6


def test_pairs_that_join_last_are_no_sign_of_a_failed_fit():
    # The sums of pairs are asked in the last round for the first time: they are large then, as
    # the columns' own sums are in the first round. Warnings fail tests.
    X, y = exclusive_or(0)
    model = PrivateLogisticRegression(
        classes=[0, 1], accountant=PrivacyAccountant(1.0, 1e-5), rounds=2, random_state=0
    )
    columns = list("abcde")
    model.fit(X[columns], y, X_public=PublicData(exclusive_or(1, 2_000)[0][columns]))
    assert ("a", "b") in model.interactions_


def test_pairs_are_paid_from_the_budget_of_the_fit(fitted):
    spent = fitted.accountant.spent()
    assert 0.99 < spent.share <= 1
    charges = [entry.charges.get("everyone") for entry in fitted.accountant.entries()]
    costs = [cost.at("gaussian") for cost in charges if cost is not None]
    costs = [cost for cost in costs if cost]
    # The check of the public rows, the rounds, and the pairs.
    assert len(costs) == 3
    assert costs[2] == pytest.approx(0.05 * sum(costs), rel=0.02)


def test_terms_of_pairs_are_tables(fitted):
    (pair,) = (term for term in fitted.terms() if term.name == ("a", "b"))
    assert isinstance(pair, PairTerm)
    assert pair.effect.shape == pair.error.shape == tuple(len(texts) for texts in pair.labels)
    assert pair.effect.mean() == pytest.approx(0, abs=1e-9)
    # Equal signs are one class: each quadrant of the table has one sign.
    half = pair.effect.shape[0] // 2, pair.effect.shape[1] // 2
    assert pair.effect[: half[0], : half[1]].mean() > 0.5 > -0.5 > pair.effect[0, half[1] :].mean()
    assert 0 < pair.error.min() < pair.error.max() < np.abs(pair.effect).max()
    display = TermsDisplay.from_estimator(fitted, columns=["a", ("a", "b")])
    assert [ax.get_title() for ax in display.axes_] == ["a", "a and b"]
    np.testing.assert_array_equal(display.axes_[1].images[0].get_array(), pair.effect)


def test_p_values_are_even_where_columns_add():
    rng = np.random.default_rng(0)
    errors = rng.uniform(0.5, 2, MASS.shape) * 1e-4
    rows, columns = rng.normal(size=4), rng.normal(size=4)
    additive = MASS * (rows[:, None] + columns)
    p_values, effects = [], []
    for _ in range(2_000):
        means = additive + rng.normal(size=MASS.shape) * np.sqrt(errors)
        test = PairTest.of(means, MASS, errors)
        p_values.append(test.p_value)
        effects.append(test.effect_variance)
    # Three moments follow the tail, which alone decides.
    for level in (0.2, 0.1, 0.05, 0.01):
        share = np.mean(np.array(p_values) < level)
        assert share == pytest.approx(level, abs=4 * (level / 2_000) ** 0.5)
    assert np.mean(effects) == pytest.approx(0, abs=4 * np.std(effects) / np.sqrt(2_000))


def test_variance_of_the_cells_effects_is_estimated():
    rng = np.random.default_rng(1)
    errors = np.full(MASS.shape, 1e-6)
    estimates = [
        PairTest.of(MASS * rng.normal(scale=0.3, size=MASS.shape), MASS, errors).effect_variance
        for _ in range(1_000)
    ]
    assert np.mean(estimates) == pytest.approx(0.09, rel=0.1)


def test_discoveries_against_scipy():
    rng = np.random.default_rng(2)
    for n_true in (0, 3, 20):
        p_values = np.concatenate([rng.random(40), rng.random(n_true) * 1e-3])
        expected = np.flatnonzero(false_discovery_control(p_values) <= 0.1)
        assert sorted(discoveries(p_values).tolist()) == expected.tolist()


def test_neighbouring_bins_are_merged():
    bins = NumberBins(
        "x", np.array([0.0]), np.array([-1.0, 1.0, 2.0]), np.array([0.4, 0.1, 0.5, 0.7, 0.9])
    )
    groups = bins.merged_bins(np.array([0.3, 0.2, 0.1, 0.2, 0.2]), 2)
    # In the order of the ranks: up to -1, the value 0, then the intervals above.
    assert groups.tolist() == [0, 0, 1, 1, 1]
    assert bins.merged_labels(groups) == ["up to 0", "above -1"]
    jobs = CategoryBins("job", np.array(["clerk", "nurse", "pilot"]))
    groups = jobs.merged_bins(np.array([0.1, 0.5, 0.3, 0.1]), 3)
    assert groups.tolist() == [2, 0, 1, 2]
    assert jobs.merged_labels(groups) == ["nurse", "pilot", "others"]


def distance():
    """Return the largest distance of neighbours in all that a fit with pairs asks."""
    rng = np.random.default_rng(0)
    pool, X = rng.normal(size=(60, 5)), rng.normal(size=(40, 5))
    y = rng.integers(2, size=40)
    how = {"classes": [0, 1], "n_bins": 4, "interactions": 3}
    runs = [asked(*each, pool, **how) for each in ((X, y), (X, np.append(1 - y[0], y[1:])))]
    # Four rounds, and the pairs: the last two rounds have their cells too.
    assert [counts.size for _, counts in runs[0]][2] > 10 * 4
    assert len({counts.size for _, counts in runs[0]}) >= 3
    return furthest(*runs)


@pytest.mark.usefixtures("_coefficients")
def test_a_row_moves_the_sums_of_pairs_by_its_charge():
    assert 0.5 < distance() <= 1


@pytest.mark.usefixtures("_coefficients")
@pytest.mark.parametrize("charged", ["rounds", "pairs"])
def test_pairs_that_are_charged_as_single_columns_fail_the_check(charged, monkeypatch):
    if charged == "rounds":
        monkeypatch.setattr(PairedBins, "norm", AdditiveBins.norm)
    else:
        noisy_sums = RoundPlan.noisy_sums
        monkeypatch.setattr(
            RoundPlan, "noisy_sums", lambda self, sums, *_: noisy_sums(self, sums, 5**0.5)
        )
    assert distance() > 1


@pytest.fixture
def _coefficients(monkeypatch):
    """Replace the posterior, and let all pairs stand out."""

    def fit_posterior(rounds, reference, groups, start, n_people):
        return start

    monkeypatch.setattr(_classes, "fit_posterior", fit_posterior)
    monkeypatch.setattr(_pair_rounds, "discoveries", lambda p_values: np.arange(len(p_values)))
