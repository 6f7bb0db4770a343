"""Inner products of bags, and the mixtures of bags that are classes."""

import numpy as np
import pytest
from tests.quantification._worlds import world

from secretballot.quantification._class_means import unmix
from secretballot.quantification._kernels import KernelEmbedding, cut_bags


def test_self_similarity_is_removed():
    """The squared length of a bag's mean is unbiased without it, over many draws."""
    rng = np.random.default_rng(0)
    grams = []
    for _ in range(300):
        X = rng.normal(size=(12, 2)) + [1, 0]
        parts, bags = cut_bags([X], 4, 0)
        (sums,) = KernelEmbedding(bags, parts, np.array([0.3]), None).sums()
        grams.append(sums.gram())
    biased = np.mean([g.with_diagonal(1.0)[0, 0] for g in grams])
    unbiased = np.mean([g.with_diagonal(0.0)[0, 0] for g in grams])
    # E exp(-.3 |x - y|^2) for independent x, y: |x - y|^2 is twice a chi-squared of 2 degrees.
    truth = 1 / (1 + 4 * 0.3)
    assert abs(unbiased - truth) < 0.01
    assert biased - truth > 0.03


@pytest.mark.parametrize("solver", ["class_mean", "bag_mixture"])
@pytest.mark.parametrize("noisy", [False, True])
def test_mixtures_of_bags_are_the_classes(solver, noisy):
    bags, P, _, _, _ = world(n_bags=7)
    parts, bags = cut_bags(bags, 20, 0)
    (sums,) = KernelEmbedding(bags, parts, np.array([0.1]), None).sums()
    gram = sums.gram()
    covariance = np.tile(0.01 * (np.eye(3) - 1 / 3), (7, 1, 1)) if noisy else None
    A = unmix(P, gram, covariance, solver)
    np.testing.assert_allclose(P.T @ A, np.eye(3), atol=1e-9)
