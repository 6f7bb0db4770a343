"""Explicit features of a kernel."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from tests.quantification._worlds import fitted, world

from secretballot.quantification import MMDClassRatioEstimator, _kernels
from secretballot.quantification._kernels import FourierFeatures, NystroemFeatures


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


def test_feature_lengths_estimated_from_a_sample():
    rng = np.random.default_rng(0)
    X, sizes = rng.normal(size=(5000, 3)), np.array([3000, 7, 1993])
    gammas = np.array([0.1, 0.2, 0.4, 1.0])
    for features in (
        FourierFeatures(3, gammas, 64, 0),
        NystroemFeatures(X, gammas, 20, np.random.default_rng(0)),
    ):
        sums, lengths = features.sums(X, sizes, range(4))
        for number in range(4):
            whole = features.transform(X, [number])[0].astype(float)
            parts = np.split(whole, np.cumsum(sizes)[:-1])
            truth = np.array([part.sum(axis=0) for part in parts])
            # Single precision: of means, 1e-5, where having 20 landmarks costs .1.
            np.testing.assert_allclose(
                sums[number] / sizes[:, None], truth / sizes[:, None], atol=5e-5
            )
            for part, length in zip(parts, lengths[number], strict=True):
                squares = (part**2).sum(axis=1)
                # Five standard errors of those measured in one block; all of the short part are.
                few = min(len(part), _kernels._LENGTH_ROWS)
                off = 5 * squares.std() / few**0.5 if few < len(part) else 1e-5
                assert length / len(part) == pytest.approx(squares.mean(), abs=off + 1e-5)
                assert off < 0.25


def test_random_features_are_the_kernel_on_average():
    rng = np.random.default_rng(0)
    X, gammas = rng.normal(size=(30, 3)), np.array([0.1, 0.2, 0.4])
    features = FourierFeatures(3, gammas, 20_000, 0)
    for gamma, waves in zip(gammas, features.transform(X, range(3)), strict=True):
        np.testing.assert_allclose(waves @ waves.T, rbf_kernel(X, gamma=gamma), atol=0.04)


@pytest.mark.parametrize("gap", [0.0, 2e3], ids=["near", "far"])
def test_landmarks_use_single_precision_only_where_accurate(gap, monkeypatch):
    """Two clouds far apart have distances within one that single precision can't hold."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) + gap * np.repeat([[-1], [1]], 200, axis=0) + 1e5
    gammas = np.array([0.25, 0.5])
    sizes = np.array([150, 250])

    def computed():
        features = NystroemFeatures(X, gammas, 40, np.random.default_rng(0))
        sums, lengths = features.sums(X, sizes, [0, 1])
        return features.transform(X[:5], [1])[0], [one @ one.T for one in sums], lengths

    assert computed()[0].dtype == np.float64  # of few instances nothing is rounded
    monkeypatch.setattr(_kernels, "_MANY_ROWS", 400)
    some, products, lengths = computed()
    assert some.dtype == (np.float64 if gap else np.float32)
    monkeypatch.setattr(_kernels, "_SINGLE_RANGE", 0.0)
    double = computed()
    assert double[0].dtype == np.float64
    np.testing.assert_allclose(some, double[0], atol=1e-3)
    np.testing.assert_allclose(products, double[1], rtol=1e-5)
    np.testing.assert_allclose(lengths, double[2], rtol=1e-3)
