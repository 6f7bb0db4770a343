"""Explicit features of a kernel."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from tests.quantification._worlds import fitted, world

from secretballot.quantification import MMDClassRatioEstimator, _kernels
from secretballot.quantification._kernels import ExplicitFeatures


@pytest.mark.parametrize("features", ["rff", "nystroem"])
def test_random_features_agree_with_the_exact_kernel(features):
    bags, P, tests, _, _ = world()
    options = {"gamma": 0.1, "diagonal": 0.0}
    exact = fitted(**options).predict(tests)

    def gap(n_components):
        estimates = [
            MMDClassRatioEstimator(
                features=features, n_components=n_components, random_state=seed, **options
            )
            .fit(bags, P)
            .predict(tests)
            for seed in range(6)
        ]
        return np.sqrt(np.mean((np.array(estimates) - exact) ** 2))

    # Error like 1 / sqrt(n_components), here a factor of 5; landmarks converge faster, and sooner.
    coarse, fine = (gap(16), gap(400)) if features == "rff" else (gap(4), gap(100))
    assert coarse > 0.005
    assert fine < coarse / 2.5


@pytest.mark.parametrize("kind", ["rff", "nystroem", None])
def test_sums_are_those_of_the_features(kind):
    rng = np.random.default_rng(0)
    X, sizes = rng.normal(size=(5000, 3)), np.array([3000, 7, 1993])
    gammas = np.array([0.1, 0.2, 0.4, 1.0]) if kind else np.ones(1)
    features = ExplicitFeatures(kind, X, gammas, 20, 0)
    sums, lengths = features.sums(X, sizes, features.numbers)
    for number in features.numbers:
        parts = np.split(features.table(X, number), np.cumsum(sizes)[:-1])
        # Single precision: of means, 1e-5, where having 20 landmarks costs .1.
        means = [part.mean(axis=0, dtype=float) for part in parts]
        np.testing.assert_allclose(sums[number] / sizes[:, None], means, atol=5e-5)
        for part, length in zip(parts, lengths[number], strict=True):
            squares = (part**2).sum(axis=1, dtype=float)
            # Five standard errors of those that are measured; all of the short part are.
            few = min(len(part), _kernels._LENGTH_ROWS)
            off = 5 * squares.std() / few**0.5 if few < len(part) and kind else 0
            assert length / len(part) == pytest.approx(squares.mean(), rel=1e-5, abs=off)
            assert off < 0.25


@pytest.mark.parametrize(("kind", "atol"), [("rff", 0.04), ("nystroem", 1e-6)])
def test_features_multiply_to_the_kernel_also_far_from_the_origin(kind, atol):
    rng = np.random.default_rng(0)
    X, gammas = rng.normal(size=(30, 3)), np.array([0.1, 0.2, 0.4])
    for far in (0, 1e6):
        features = ExplicitFeatures(kind, X + far, gammas, 20_000, 0)
        for number, gamma in enumerate(gammas):
            table = features.table(X + far, number)
            np.testing.assert_allclose(table @ table.T, rbf_kernel(X, gamma=gamma), atol=atol)
            if kind == "rff":
                np.testing.assert_allclose((table**2).sum(axis=1), 1, rtol=1e-5)


def test_instances_that_are_alike_are_no_obstacle():
    """More landmarks than distinct instances: their kernel has no inverse."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(5, 3)), 40, axis=0)
    table = ExplicitFeatures("nystroem", X, np.array([0.5]), 100, 0).table(X, 0)
    np.testing.assert_allclose(table @ table.T, rbf_kernel(X, gamma=0.5), atol=1e-5)
