"""Coverage of intervals in simulated worlds."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import norm, t

from secretballot.mechanisms import GaussianProportions
from secretballot.quantification import MMDClassRatioEstimator, _intervals
from secretballot.quantification._class_means import (
    class_directions,
    fit_signed,
    inverse_above,
    unmix,
)
from secretballot.quantification._kernels import BagGram

CENTRES = np.array([[1.5, 0.0], [0.0, 1.5], [-1.5, 0.0]])
TRAINING = np.array(
    [[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7], [0.5, 0.4, 0.1], [0.1, 0.2, 0.7]]
)
WANTED = np.array([[0.3, 0.3, 0.4], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1], [0.0, 0.0, 1.0]])


def draw(rng, counts):
    return CENTRES[np.repeat(np.arange(3), counts)] + rng.normal(size=(counts.sum(), 2))


@cache
def simulated(seed, sigma=None, size=200, **options):
    """A world: an estimator fitted on its bags, its groups, and their ratios."""
    rng = np.random.default_rng(seed)
    counts = np.array([rng.multinomial(size, p) for p in TRAINING])
    tests = np.array([rng.multinomial(size, p) for p in WANTED])
    released, covariance = counts / size, None
    if sigma is not None:
        # Before projection on the simplex, which has no covariance; here it hardly ever acts.
        noise = rng.normal(size=counts.shape) * sigma
        released = np.maximum((counts + noise - noise.mean(axis=1, keepdims=True)) / size, 0)
        released /= released.sum(axis=1, keepdims=True)
        sizes = np.full(len(released), size)
        covariance = GaussianProportions(sigma=sigma).covariance(released, sizes)
    estimator = MMDClassRatioEstimator(gamma=0.2, diagonal=0.0, random_state=seed, **options)
    bags = [draw(rng, c) for c in counts]
    estimator.fit(bags, released, covariance=covariance)
    return estimator, [draw(rng, c) for c in tests], tests / size


def coverage(confidence, n_worlds, target="group", **world):
    """How often every ratio of every group is covered, and how wide intervals are."""
    inside, widths = [], []
    for seed in range(n_worlds):
        estimator, groups, ratios = simulated(seed, **world)
        interval = estimator.predict_interval(groups, confidence, target=target)
        truth = ratios if target == "group" else WANTED
        inside.append((interval.lower <= truth + 1e-9) & (truth <= interval.upper + 1e-9))
        widths.append(interval.upper - interval.lower)
        assert (interval.lower <= interval.ratios).all()
        assert (interval.ratios <= interval.upper).all()
    # Ratios of exactly 0 and 1 are covered from one side; they are not what the rate is about.
    return np.mean(np.array(inside)[:, :3]), np.mean(widths), np.mean(np.array(inside)[:, 3])


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_intervals_cover_at_their_rate(confidence):
    rate, _, at_the_edge = coverage(confidence, 40)
    # 360 ratios, correlated within a world: a standard error of about .03 at .5, .01 at .95.
    assert abs(rate - confidence) < 0.03 + 0.1 * (1 - confidence)
    assert at_the_edge > confidence - 0.05


@pytest.mark.parametrize("n_worlds", [20, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("options", [{"features": "rff"}, {"kernel": "linear"}], ids=str)
def test_intervals_with_features_cover_at_their_rate(options, n_worlds):
    rate, _, _ = coverage(0.9, n_worlds, **options)
    assert abs(rate - 0.9) < 0.06


@pytest.mark.filterwarnings("ignore::secretballot.quantification.MisfitWarning")  # by chance
@pytest.mark.parametrize("target", ["group", "population"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 10])
def test_intervals_of_small_groups_cover_at_their_rate(size, target):
    """The variance of a few instances is hardly known from these."""
    n_worlds, inside, widths = 25, [], []
    for seed in range(n_worlds):
        estimator = simulated(seed)[0]
        rng = np.random.default_rng([seed, size])
        wanted = rng.dirichlet(np.full(3, 0.7), size=8)
        counts = np.array([rng.multinomial(size, p) for p in wanted])
        groups = [draw(rng, c) for c in counts]
        ratios, lower, upper = estimator.predict_interval(groups, target=target)
        np.testing.assert_allclose(ratios, estimator.predict(groups), atol=1e-9)
        truth = counts / size if target == "group" else wanted
        inside.append((lower <= truth) & (truth <= upper))
        widths.append(upper - lower)
    n_groups = 8 * n_worlds  # whose three ratios may be covered together
    assert np.mean(inside) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / n_groups)
    assert np.mean(widths) < {1: 0.99, 2: 0.95, 3: 0.9, 5: 0.8, 10: 0.7}[size]


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "linear"},
        {"features": "rff"},
        {"solver": "bag_mixture"},
        {"group_effects": True},
        {"group_effects": True, "kernel": "linear"},
    ],
    ids=str,
)
def test_of_constant_features_nothing_but_the_bags_is_known(value, options):
    P = np.array([[0.8, 0.2], [0.7, 0.3], [0.6, 0.4], [0.9, 0.1]])
    bags = [np.full((20, 3), value)] * 4
    with pytest.warns(UserWarning, match="can't be told apart"):
        model = MMDClassRatioEstimator(random_state=0, **options).fit(bags, P)
    groups = [np.full((size, 3), value) for size in (1, 2, 20)]
    for target in ("group", "population"):
        ratios, lower, upper = model.predict_interval(groups, target=target)
        np.testing.assert_allclose(ratios, [[0.75, 0.25]] * 3, atol=1e-4)
        np.testing.assert_allclose(ratios, model.predict(groups), atol=1e-4)
        np.testing.assert_array_equal(lower, 0)
        np.testing.assert_array_equal(upper, 1)


def test_intervals_for_a_population_are_wider():
    rate, width, _ = coverage(0.9, 24, target="population")
    _, narrower, _ = coverage(0.9, 10)
    assert abs(rate - 0.9) < 0.06
    assert narrower < 0.95 * width


@pytest.mark.filterwarnings("ignore::secretballot.quantification.MisfitWarning")  # by chance
@pytest.mark.parametrize("n_worlds", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_known_noise_is_covered(n_worlds):
    """Noise that is not known of is not covered."""
    rate, width, _ = coverage(0.9, n_worlds, sigma=8.0)
    assert abs(rate - 0.9) < 0.06
    assert width > 1.1 * coverage(0.9, 10)[1]


def test_more_confidence_is_wider_and_estimates_are_the_prediction():
    rng = np.random.default_rng(0)
    bags = [draw(rng, (p * 200).astype(int)) for p in TRAINING]
    fitted = MMDClassRatioEstimator(random_state=0).fit(bags, TRAINING)
    groups = bags[:2]
    narrow, wide = (fitted.predict_interval(groups, c) for c in (0.5, 0.99))
    assert (wide.upper - wide.lower > narrow.upper - narrow.lower).all()
    np.testing.assert_allclose(narrow.ratios, fitted.predict(groups), atol=1e-9)
    for confidence in (1e-18, np.nextafter(1, 0)):
        interval = np.array(fitted.predict_interval(groups, confidence))
        assert np.isfinite(interval).all()
    assert (interval[2] - interval[1] >= wide.upper - wide.lower).all()
    again = fitted.predict_interval(groups, 0.5)
    for first, other in zip(narrow, again, strict=True):
        np.testing.assert_array_equal(first, other)


def test_variances_of_few_instances_are_widened_by_t(monkeypatch):
    rng = np.random.default_rng(0)
    y = [np.repeat([0, 1], counts) for counts in ([15, 5], [5, 15], [10, 10])]
    bags = [3.0 * labels[:, None] + rng.normal(size=(20, 2)) for labels in y]
    P = np.array([[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]])
    model = MMDClassRatioEstimator(kernel="linear", diagonal=0.0, random_state=0).fit(bags, P)
    _, lower, upper = model.predict_interval(bags[2:], 0.8)
    monkeypatch.setattr(_intervals, "_student_factor", lambda tail, freedom: 1.0)
    _, low, high = model.predict_interval(bags[2:], 0.8)
    assert ((lower > 0) & (upper < 1)).all()
    wider = t.isf(0.1, 19) / norm.isf(0.1)  # of 20 parts
    np.testing.assert_allclose((upper - lower) / (high - low), wider, rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1.0}, "confidence=1.0 must be a finite number above 0 and below 1"),
        ({"target": "people"}, "'group' or 'population'"),
        ({"n_resamples": 3}, "at least 20"),
    ],
)
def test_bad_requests(options, message):
    rng = np.random.default_rng(0)
    bags = [draw(rng, (p * 200).astype(int)) for p in TRAINING]
    fitted = MMDClassRatioEstimator(gamma=0.2, random_state=0).fit(bags, TRAINING)
    with pytest.raises(ValueError, match=message):
        fitted.predict_interval(bags, **options)


def test_noise_of_the_proportions_moves_ratios_as_much_as_intervals_say():
    """Instances without any spread: what is left is the noise, drawn again 1,000 times."""
    rng = np.random.default_rng(0)
    centres = np.array([[3.0, 0, 0], [0, 2, 0], [0, 1, 1]])
    P = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6], [0.4, 0.4, 0.2]])
    true_ratios = np.array([[0.1, 0.1, 0.8], [0.8, 0.1, 0.1]])
    bags = [np.repeat(centres, np.rint(30_000 * p).astype(int), axis=0) for p in P]
    groups = [np.repeat(centres, np.rint(30_000 * p).astype(int), axis=0) for p in true_ratios]
    covariance = np.array([s * (np.eye(3) - 1 / 3) for s in (2e-4, 1e-4, 1e-5, 4e-4)])
    model = MMDClassRatioEstimator(kernel="linear", diagonal=0.0, random_state=0)
    model.fit(bags, P, covariance=covariance)
    _, lower, upper = model.predict_interval(groups, 0.9, n_resamples=4000)
    variance = np.zeros(4)
    estimates = []
    for _ in range(1000):
        noise = [rng.multivariate_normal(np.zeros(3), S) for S in covariance]
        gram = BagGram(P @ centres @ centres.T @ P.T, variance)
        A = unmix(P + noise, gram, covariance)
        M = A.T @ P @ centres
        inverse = inverse_above(*class_directions(M @ M.T), np.zeros(2))
        estimates.append(
            fit_signed(M @ M.T, M @ (true_ratios @ centres).T, inverse, P.mean(axis=0))
        )
    low, high = np.quantile(estimates, [0.05, 0.95], axis=0)
    inside = (lower > 0) & (upper < 1)
    assert inside.sum() >= 4
    np.testing.assert_allclose((upper - lower)[inside], (high - low)[inside], rtol=0.12)
