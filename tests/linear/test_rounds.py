"""Rounds of a fit: more budget, few public rows, and three classes and more."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.linear._averaged_rounds import _MOMENTUM, _mean_responses, run_averaged_rounds
from secretballot.linear._classes import ClassResponse
from secretballot.linear._columns import public_columns
from secretballot.linear._dense_features import ScaledColumns
from secretballot.linear._private_sums import RowSums
from secretballot.linear._response import RoundPlan
from secretballot.tables._private_rows import PrivateRows

N_COLUMNS = 24

pytestmark = pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")


def wide_table(n, rng):
    """Return noisy versions of three numbers, and classes that follow from these."""
    factors = rng.normal(size=(n, 3))
    y = (factors @ [1.5, -1.0, 0.5] + rng.logistic(size=n) > 0).astype(int)
    X = np.repeat(factors, N_COLUMNS // 3, axis=1) + rng.normal(size=(n, N_COLUMNS))
    return X, y


def test_more_budget_is_not_worse_where_features_outnumber_public_rows():
    rng = np.random.default_rng(0)
    X, y = wide_table(15_000, rng)
    pool, _ = wide_table(60, rng)
    test, answers = wide_table(4_000, rng)
    scores = []
    for epsilon, seed in itertools.product((1.0, 8.0), range(3)):
        model = PrivateLogisticRegression(
            classes=[0, 1],
            n_bins=8,
            accountant=PrivacyAccountant(epsilon, 1e-5),
            check_public_rows=False,
            random_state=seed,
        ).fit(X, y, X_public=PublicData(pool))
        assert model.coef_.shape[1] > len(pool)
        scores.append(model.score(test, answers))
    assert np.mean(scores[:3]) > 0.724
    assert np.mean(scores[3:]) > np.mean(scores[:3]) - 0.003


def test_few_public_rows_are_not_worse_than_none():
    rng = np.random.default_rng(1)
    X, y = wide_table(10_000, rng)
    test, answers = wide_table(4_000, rng)
    pool, _ = wide_table(30, rng)
    scores = [
        PrivateLogisticRegression(
            classes=[0, 1],
            n_bins=8,
            bounds=(-5, 5),
            accountant=PrivacyAccountant(2.0, 1e-5),
            check_public_rows=False,
            random_state=0,
        )
        .fit(X, y, X_public=public)
        .score(test, answers)
        for public in (None, PublicData(pool))
    ]
    assert scores[1] > scores[0] - 0.005


def dense_rounds(noise, order=(0, 1, 2), seed=0, n_rounds=20):
    """Fit three classes in another order, with noise on each mean; return the posterior."""
    X, y = make_blobs(3_000, 4, centers=3, cluster_std=4.0, random_state=0)
    features = ScaledColumns(public_columns(X[:500], {}), {})
    transformed = features.transform(X)
    rng = np.random.default_rng(seed)
    rows = RowSums(
        transform=lambda block: transformed[block],
        targets=np.argsort(order)[y],
        shares=np.ones(len(X)),
        total=float(len(X)),
        n_numbers=5,
    )
    private = PrivateRows(len(X), "row", None, lambda _: rows)
    sigma = noise * len(X) / features.norm

    def release(_, sums):
        return sums + sigma * rng.normal(size=sums.shape)

    plan = RoundPlan(
        private, float(len(X)), features, transformed[:500], release, sigma, n_rounds, len(X), 1.0
    )
    return run_averaged_rounds(plan, ClassResponse(np.arange(3), False)).posterior


def test_coefficients_are_equivariant_to_the_order_of_classes():
    first, other = (dense_rounds(1e-12, order).coefficients for order in ((0, 1, 2), (2, 0, 1)))
    assert np.abs(first).max() > 0.1
    np.testing.assert_allclose(other, first[:, [2, 0, 1]], atol=1e-8)


def test_standard_errors_of_averaged_rounds_cover_the_noise():
    drawn = [dense_rounds(0.02, seed=seed) for seed in range(40)]
    spread = np.std([posterior.coefficients for posterior in drawn], axis=0)[1:]
    stated = np.sqrt(np.mean([posterior.variances for posterior in drawn], axis=0))[1:]
    # The private rows are the same in all, so their sampling error is not in the spread.
    assert 0.5 < np.sqrt(np.mean((spread / stated) ** 2)) < 1.2


@pytest.mark.parametrize("pull", [0.0, 0.3, 1.3])
def test_mean_responses_against_the_recursion(pull):
    n_rounds, n_discarded = 7, 4
    for index in range(n_rounds):
        value, step, total = 0.0, 0.0, 0.0
        for round_ in range(n_rounds):
            step = _MOMENTUM * step + (1 - _MOMENTUM) * ((round_ == index) - pull * value)
            value += step
            total += value * (round_ >= n_discarded)
        responses = _mean_responses(np.full((n_rounds, 1), pull), n_discarded)
        assert responses[index, 0] == pytest.approx(total / (n_rounds - n_discarded))
