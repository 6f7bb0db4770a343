"""Test of bags: mixtures of the same classes, or not."""

import warnings

import numpy as np
import pytest
from scipy.stats import f
from tests.quantification._worlds import CENTRES, world

from secretballot.quantification import MisfitWarning, MMDClassRatioEstimator
from secretballot.quantification._class_means import shrink_variance
from secretballot.quantification._kernels import PartSums, SubBags
from secretballot.quantification._misfit import BagErrors, bag_errors, within_share


def moved_world(seed, shift, n_bags=12, size=150, noise=0.0):
    """Bags and groups of three classes, all of one bag moved alike; proportions with noise."""
    rng = np.random.default_rng(seed)
    bags, P = [], []
    for law in rng.dirichlet(np.ones(3), size=2 * n_bags):
        y = rng.choice(3, size=size, p=law)
        bags.append(CENTRES[y] + shift * rng.normal(size=3) + rng.normal(size=(size, 3)))
        P.append(np.bincount(y, minlength=3) / size)
    P = np.array(P)
    released = P[:n_bags] + noise * rng.normal(size=(n_bags, 3)) @ (np.eye(3) - 1 / 3)
    return bags[:n_bags], released, bags[n_bags:], P[n_bags:]


def fit(bags, P, covariance=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MisfitWarning)
        model = MMDClassRatioEstimator(random_state=0, gamma=0.1, diagonal=0.0, **options)
        return model.fit(bags, P, covariance=covariance)


@pytest.mark.parametrize(
    ("options", "noise"), [({"kernel": "linear"}, 0.02), ({"features": "rff"}, 0.0)], ids=str
)
def test_p_values_are_uniform_without_misfit(options, noise):
    """24 worlds: a p-value below .01 in a few at most, and ratios about 1."""
    covariance_of_noise = noise**2 * np.tile(np.eye(3) - 1 / 3, (12, 1, 1))
    results = []
    for seed in range(24):
        bags, P, _, _ = moved_world(seed, 0.0, noise=noise)
        released = np.clip(P, 0, None)
        released /= released.sum(axis=1, keepdims=True)
        covariance = covariance_of_noise if noise else None
        results.append(fit(bags, released, covariance, **options).diagnostics_.misfit)
    p_values = np.array([misfit.p_value for misfit in results])
    assert results[0].degrees_of_freedom == 9
    assert (p_values < 0.01).sum() <= 2
    assert 0.25 < (p_values < 0.5).mean() < 0.75  # neither too bold nor too timid
    assert 0.85 < np.mean([misfit.ratio for misfit in results]) < 1.15


def test_small_bags_are_not_rejected():
    """Whose variance happens to be small don't count for all: bags of 2 to 5 instances."""
    results = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = [rng.choice(2, rng.integers(2, 6), p=law) for law in rng.dirichlet(np.ones(2), size=40)]
        bags = [CENTRES[labels] + rng.normal(size=(len(labels), 3)) for labels in y]
        P = np.array([np.bincount(labels, minlength=2) / len(labels) for labels in y])
        results.append(fit(bags, P, kernel="linear").diagnostics_.misfit)
    assert sum(misfit.p_value < 0.05 for misfit in results) <= 2
    assert 0.7 < np.mean([misfit.ratio for misfit in results]) < 1.05


def test_bags_with_other_class_means_are_warned_of():
    for seed in range(3):
        bags, P, _, _ = moved_world(seed, 0.5)
        with pytest.warns(MisfitWarning, match="not mixtures of the same classes") as caught:
            model = MMDClassRatioEstimator(kernel="linear", random_state=0).fit(bags, P)
        assert caught[0].filename == __file__
        misfit = model.diagnostics_.misfit
        assert misfit.significant
        assert misfit.p_value < 1e-6
        assert misfit.ratio > 3


def test_unstated_noise_of_proportions_is_a_misfit():
    bags, P, _, _ = moved_world(0, 0.0, size=2000, noise=0.05)
    released = np.clip(P, 0, None)
    released /= released.sum(axis=1, keepdims=True)
    covariance_of_noise = 0.05**2 * np.tile(np.eye(3) - 1 / 3, (12, 1, 1))
    with pytest.warns(UserWarning, match="nothing was said of their noise"):
        blind = fit(bags, released, kernel="linear")
    assert blind.diagnostics_.misfit.significant
    informed = fit(bags, released, covariance_of_noise, kernel="linear")
    assert not informed.diagnostics_.misfit.significant


def test_misfit_of_few_many_and_equal_bags():
    bags, P, _, _, _ = world()
    # As many bags as classes: whatever they are like, there are classes that make them.
    assert fit(bags[:3], P[:3]).diagnostics_.misfit is None
    many, shares, _, _ = moved_world(1, 0.0, n_bags=450, size=20)
    misfit = fit(many, shares, kernel="linear").diagnostics_.misfit
    assert misfit.degrees_of_freedom == 397  # of 400 bags, at random, by two parts of each
    assert not misfit.significant
    for seed in range(4):  # residuals of bags of equal instances are rounding
        rng = np.random.default_rng(seed)
        shares = np.c_[rng.random(5), np.zeros(5)]
        shares[:, 1] = 1 - shares[:, 0]
        equal = np.tile((shares @ rng.normal(size=(2, 2)))[:, None], (1, 9, 1))
        model = fit(equal, shares, np.zeros((5, 2, 2)), kernel="linear")
        misfit = model.diagnostics_.misfit
        assert (misfit.ratio, misfit.p_value) == (1.0, 1.0)
        assert model.predict_interval(equal).ratios == pytest.approx(shares)
        wrong = np.r_[shares, shares[1:2]]
        broken = fit(np.r_[equal, equal[:1]], wrong, np.zeros((6, 2, 2)), kernel="linear")
        assert broken.diagnostics_.misfit.significant


def test_the_within_share_is_an_upper_bound():
    P, spread, sizes = np.array([[0.5, 0.5], [0.2, 0.8]]), np.full(2, 0.02), np.full(2, 100)
    means = np.diag([1.0, 1.0])
    sure = within_share(P, spread, sizes, means, np.tile(means, (20, 1, 1)))
    np.testing.assert_allclose(sure, [1 - 0.5 / 2, 1 - 0.32 / 2])
    unsure = np.array([means * (1 + off) for off in (0.1, -0.1) * 10])
    error = 2 * np.sqrt(19) * 0.1
    bound = within_share(P, spread, sizes, means, unsure)
    np.testing.assert_allclose(bound, 1 - (1 - sure) * (1 - error))
    assert (within_share(P, spread, sizes, means, 5 * unsure - 4 * means) == 1).all()
    assert within_share(P, spread, sizes, 9 * means, 9 * np.tile(means, (20, 1, 1))).min() > 0.09


def test_the_tail_is_that_of_the_quadratic_form():
    rng = np.random.default_rng(0)
    terms = rng.normal(size=(12, 3))
    owner = np.repeat([0, 1, 2], 4)
    N = np.array([[2.0, -1.0, 0.3], [-1.0, 1.0, 0.2], [0.3, 0.2, 1.5]])
    errors = BagErrors(terms @ terms.T, owner, np.zeros(12))
    factors = rng.normal(size=(200_000, 12))
    means = np.stack([factors[:, owner == k] @ terms[owner == k] for k in range(3)], axis=1)
    forms = np.einsum("sid,ij,sjd->s", means, N, means)
    mean, _ = errors.tail(N, 0.0)
    np.testing.assert_allclose(mean, forms.mean(), rtol=0.02)
    for share in (0.5, 0.1, 0.01):
        tail = errors.tail(N, np.quantile(forms, 1 - share))[1]
        np.testing.assert_allclose(tail, share, rtol=0.15)
    # Of a scale that is estimated the tail is that of F.
    estimated = BagErrors(np.eye(4), np.zeros(4, dtype=int), np.full(4, 1 / 5))
    np.testing.assert_allclose(estimated.tail(np.ones((1, 1)), 40.0)[1], f.sf(10, 4, 20), rtol=1e-6)


def test_the_tail_allows_for_laplace_noise():
    rng = np.random.default_rng(0)
    sums = (rng.laplace(scale=np.sqrt(0.5), size=(100_000, 24)) ** 2).sum(axis=1)
    bag = np.arange(24)
    parts = SubBags(np.ones(48, dtype=np.int64), np.repeat(bag, 2))
    sums_of_parts = PartSums(np.eye(48), np.ones(48), parts, is_gram=True)
    roots = np.eye(24)[:, :, None] * np.sqrt(2)  # a bag's mean has the squared length 1 / 2
    errors = bag_errors(sums_of_parts, np.zeros(24), roots, np.eye(24))
    mean, tail = errors.tail(np.eye(24), np.quantile(sums, 0.99))
    assert mean == pytest.approx(24)
    assert 0.008 < tail < 0.04


def test_variances_of_small_bags_are_shrunk():
    sizes = np.array([2, 5, 1000])
    np.testing.assert_allclose(shrink_variance(3 / sizes, sizes), 3 / sizes)
    shrunk = shrink_variance(np.array([0.0, 3 / 1000, 3 / 1000]), np.array([2, 1000, 1000]))
    np.testing.assert_allclose(shrunk * [2, 1000, 1000], [2.5, 3, 3], rtol=0.01)
