"""Factor of the scores of three classes and more."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import make_blobs
from sklearn.metrics import log_loss

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.linear import _classes
from secretballot.linear._averaged_rounds import AveragedRounds, ScoreEquation
from secretballot.linear._classes import ClassResponse
from secretballot.linear._columns import public_columns
from secretballot.linear._dense_features import ScaledColumns
from secretballot.linear._private_sums import RowSums
from secretballot.linear._response import RoundPlan
from secretballot.tables._private_rows import PrivateRows

N_PUBLIC, N_TEST = 400, 4_000

pytestmark = pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")


def table(size, n_rows=20_000, seed=0):
    """Return rows, classes that follow a softmax with effects of this size, and probabilities."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n_rows + N_PUBLIC + N_TEST, 4))
    effects = [[2.0, -1.0, -1.0], [-1.0, 2.0, -1.0], [0.5, 0.0, -0.5], [0.0, 0.0, 0.0]]
    p = softmax(size * X @ np.array(effects), axis=1)
    y = (rng.random((len(X), 1)) > p.cumsum(axis=1)[:, :2]).sum(axis=1)
    return X, y, p


def fitted(X, y, epsilon=4.0, features="additive", random_state=0, **given):
    """Return a model of the rows that are neither public nor test rows."""
    return PrivateLogisticRegression(
        features,
        classes=[0, 1, 2],
        accountant=PrivacyAccountant(epsilon, 1e-5),
        check_public_rows=False,
        random_state=random_state,
        **given,
    ).fit(X[: -N_PUBLIC - N_TEST], y[: -N_PUBLIC - N_TEST], X_public=PublicData(X[-N_PUBLIC:]))


def held_out(rows):
    return rows[-N_PUBLIC - N_TEST : -N_PUBLIC]


@pytest.fixture
def unscaled(monkeypatch):
    """Return a function that fits a model whose factor is 1."""

    def fit(*arguments, **given):
        with monkeypatch.context() as patched:
            patched.setattr(ScoreEquation, "factor", lambda self: 1.0)
            return fitted(*arguments, **given)

    return fit


@pytest.mark.parametrize(
    ("features", "size", "n_fits"),
    [
        ("additive", 1.0, 1),
        ("additive", 3.0, 1),
        ("linear", 1.0, 1),
        ("linear", 3.0, 1),
        pytest.param("kernel", 1.0, 3, marks=pytest.mark.slow),
        ("kernel", 3.0, 1),
    ],
)
def test_largest_probabilities_are_calibrated(features, size, n_fits, unscaled):
    X, y, _ = table(size)
    X_test, answers = held_out(X), held_out(y)
    gaps = []
    for fit in (fitted, unscaled):
        gap = 0.0
        for seed in range(n_fits):
            p = fit(X, y, features=features, random_state=seed).predict_proba(X_test)
            gap += p.max(axis=1).mean() - np.mean(p.argmax(axis=1) == answers)
        gaps.append(gap / n_fits)
    assert abs(gaps[0]) < 0.035
    assert abs(gaps[0]) < abs(gaps[1]) + 0.005


def test_noise_alone_makes_few_probabilities_sure():
    # With a prior deviation of .25 the log loss was .067 above that of equal probabilities.
    losses = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(7_400, 6)), rng.integers(4, size=7_400)
        model = PrivateLogisticRegression(
            classes=range(4),
            accountant=PrivacyAccountant(0.3, 1e-5),
            check_public_rows=False,
            random_state=seed,
        )
        model.fit(X[:3_000], y[:3_000], X_public=PublicData(X[3_000:3_400]))
        losses.append(log_loss(y[3_400:], model.predict_proba(X[3_400:])))
    assert np.mean(losses) < np.log(4) + 0.03


def test_predictions_releases_and_relative_errors_are_those_without_the_factor(unscaled):
    X, y, _ = table(3.0, n_rows=3_000)
    model, again, other = fitted(X, y), fitted(X, y), unscaled(X, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    factor = model.coef_.ravel() @ other.coef_.ravel() / (other.coef_**2).sum()
    assert factor < 0.9
    np.testing.assert_allclose(model.decision_function(X), factor * other.decision_function(X))
    np.testing.assert_allclose(model.coef_error_, factor * other.coef_error_)
    charges = [str([each.charges for each in m.accountant.entries()]) for m in (model, other)]
    assert charges[0] == charges[1]


@pytest.mark.parametrize("size", [0.5, 3.0])
def test_factor_is_near_one_if_nothing_is_clipped(size, monkeypatch, unscaled):
    monkeypatch.setattr(_classes, "_CLIPPING_NORM", np.sqrt(2))
    X, y, _ = table(size)
    model, other = (fit(X, y, 50.0, "linear") for fit in (fitted, unscaled))
    assert np.linalg.norm(model.coef_) == pytest.approx(np.linalg.norm(other.coef_), rel=0.05)


@pytest.mark.parametrize("n_classes", [3, 5, 10])
def test_scores_of_weak_effects_are_too_large_by_a_known_ratio(n_classes):
    """Clipped residuals have mean 0 at (k - 1) / (k - 2) times the scores of k classes."""
    scores = 1e-3 * np.random.default_rng(0).normal(size=(1, n_classes))
    scores -= scores.mean()
    residuals = ClassResponse(np.arange(n_classes), False)
    large = softmax((n_classes - 1) / (n_classes - 2) * scores, axis=1)
    true = softmax(scores, axis=1)
    # The mean residual along each class.
    for along in np.eye(n_classes)[:, None]:
        means = [
            float((true * residuals.score_products(p, np.ones((1, 1)), along)).sum())
            for p in (large, softmax(np.zeros_like(scores), axis=1))
        ]
        assert abs(means[0]) < 0.01 * abs(means[1])


def equation(factor, variance):
    """Return the equation of residuals that are not clipped, for classes of scores times factor."""
    scores = np.random.default_rng(0).normal(scale=2.0, size=(500, 3))
    p = softmax(scores, axis=1)
    products = scores - (p * scores).sum(axis=1, keepdims=True)
    weights = np.full(500, 1 / 500)
    released = float(weights @ (softmax(factor * scores, axis=1) * products).sum(axis=1))
    return ScoreEquation(released, variance, products, scores, weights, 1e12)


@pytest.mark.parametrize("factor", [0.4, 1.0, 1.7])
def test_factor_solves_the_equation_unless_noise_hides_it(factor):
    moved = factor if factor == 1.0 else factor ** (1 - 0.05 / abs(np.log(factor)))
    assert equation(factor, 0.0).factor() == pytest.approx(moved, rel=1e-3)
    assert equation(factor, 1e6).factor() == pytest.approx(1.0, abs=1e-3)
    between = equation(factor, 0.01).factor()
    assert min(factor, 1.0) - 1e-3 <= between <= max(factor, 1.0) + 1e-3


def noise_left(noise, seed, n_rounds=20):
    """Return what noise adds to the released product of one fit, and its stated deviation."""
    X, y = make_blobs(3_000, 4, centers=3, cluster_std=4.0, random_state=0)
    features = ScaledColumns(public_columns(X[:500], {}), {})
    transformed = features.transform(X)
    rng = np.random.default_rng(seed)
    rows = RowSums(lambda block: transformed[block], y, np.ones(len(X)), float(len(X)), 5)
    private = PrivateRows(len(X), "row", None, lambda _: rows)
    sigma = noise * len(X) / features.norm
    exact, equations = [], []

    def release(_, sums):
        exact.append(features.norm * sums)
        return sums + sigma * rng.normal(size=sums.shape)

    def record(plan, reference, residuals, rounds, coefficients, direction, **given):
        scale = residuals.clipping_norm / len(X)
        products = [scale * (direction * sums).sum() for sums in exact[-len(rounds) :]]
        equations.append((given["released"] - np.mean(products), given["variance"]))
        return equation(1.0, 0.0)

    plan = RoundPlan(
        private, float(len(X)), features, transformed[:500], release, sigma, n_rounds, len(X), 1.0
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ScoreEquation, "of_rounds", record)
        AveragedRounds(plan, ClassResponse(np.arange(3), False)).finish(plan.n_rounds)
    ((left, variance),) = equations
    return left, np.sqrt(variance)


def test_noise_that_moved_the_coefficients_is_not_taken_for_signal():
    left, deviations = np.transpose([noise_left(0.02, seed) for seed in range(30)])
    assert abs(left.mean()) < 0.5 * deviations.mean()
    assert 0.5 < left.std() / deviations.mean() < 1.5
