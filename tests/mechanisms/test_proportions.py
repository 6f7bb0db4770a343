"""Publishing label proportions: laws, costs, calibration and planted errors."""

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, chi2, kstest

from secretballot.accounting import ORDERS, PrivacyAccountant
from secretballot.costs._groups import EVERYONE
from secretballot.costs._noise import dirichlet_delta, dirichlet_renyi
from secretballot.mechanisms import (
    DirichletProportions,
    GaussianProportions,
    LaplacePriorProportions,
    LaplaceProportions,
)
from secretballot.mechanisms._proportions import (
    DirichletProportionsMove,
    _truncated_mean,
    on_grid,
    on_simplex,
)
from secretballot.testing import epsilon_lower_bound

DIRICHLET = DirichletProportions(concentration=0.8, pseudo_count=0.6)
MECHANISMS = [
    DIRICHLET,
    GaussianProportions(sigma=3.0),
    LaplaceProportions(scale=3.0),
    LaplacePriorProportions(scale=3.0),
]
by_name = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)


@by_name
def test_rows_are_proportions_on_the_public_grid(mechanism):
    counts = np.array([[9.0, 1, 0], [1, 0, 0], [300, 300, 400]] * 200)
    out = replace(mechanism, resolution=64).sample(counts, np.random.default_rng(0))
    assert np.all(out >= 0)
    assert np.all(out.sum(axis=1) == 1)
    assert np.all(out * 64 == np.round(out * 64))
    assert (
        replace(mechanism, resolution=2**20).sample(counts, np.random.default_rng(0)).sum() == 600
    )


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=6), st.integers(1, 50))
@settings(max_examples=60)
def test_projection_and_rounding(values, resolution):
    near = on_simplex(np.array([values]))
    assert near.min() >= 0
    assert near.sum() == pytest.approx(1)
    # Nearest: no feasible direction to a corner comes closer.
    corners = np.eye(len(values))
    assert np.all((corners - near) @ (np.array(values) - near[0]) <= 1e-9)
    rounded = on_grid(near, resolution)
    assert rounded.sum() == pytest.approx(1)
    assert np.abs(rounded - near).max() <= 1 / resolution + 1e-9


def test_dirichlet_draws_have_the_stated_law():
    counts = np.tile([7.0, 2.0, 0.0], (20_000, 1))
    out = DIRICHLET._draw(counts, np.random.default_rng(0))
    a = 0.8 * counts[0] + 0.6
    for column in range(3):
        law = beta(a[column], a.sum() - a[column])
        assert kstest(out[:, column], law.cdf).pvalue > 1e-4
    pair = out[:, 0] / (out[:, 0] + out[:, 1])
    assert kstest(pair, beta(a[0], a[1]).cdf).pvalue > 1e-4
    twice = replace(DIRICHLET, concentration=1.6)._draw(counts, np.random.default_rng(0))
    assert kstest(twice[:, 0], beta(a[0], a.sum() - a[0]).cdf).pvalue < 1e-6  # would be noticed


def test_tiny_dirichlet_parameters_draw_numbers():
    tiny = DirichletProportions(concentration=1e-4, pseudo_count=1e-4)
    out = tiny.sample(np.tile([3.0, 1.0, 0.0], (1000, 1)), np.random.default_rng(0))
    assert np.isfinite(out).all()
    assert np.all(out.sum(axis=1) == 1)


@by_name
def test_covariance_matches_draws_inside_the_simplex(mechanism):
    for counts in ([400.0, 350.0, 250.0], [600.0, 400.0]):
        row = np.array(counts)
        out = mechanism.sample(np.tile(row, (40_000, 1)), np.random.default_rng(1))
        stated = mechanism.covariance(row[None] / row.sum(), [row.sum()])[0]
        seen = np.cov(out.T)
        np.testing.assert_allclose(seen, stated, atol=0.05 * np.abs(stated).max())
        np.testing.assert_allclose(out.mean(axis=0), row / row.sum(), atol=2e-3)


@by_name
@pytest.mark.parametrize("condition", [0, 5])
def test_expected_distortion_matches_draws(mechanism, condition):
    claimed = mechanism.expected_distortion(120, 3, min_count=condition)
    seen = [
        np.abs(mechanism.sample(np.tile(row, (20_000, 1)), np.random.default_rng(2)) - row / 120)
        .sum(axis=1)
        .mean()
        for row in (
            np.array([40.0, 40, 40]),
            np.array([condition, condition, 120.0 - 2 * condition]),
        )
    ]
    assert claimed == pytest.approx(max(seen), rel=0.05)


def neighbours(row, least):
    for i, j in permutations(range(len(row)), 2):
        if row[i] > least:
            other = list(row)
            other[i] -= 1
            other[j] += 1
            yield i, j


@pytest.mark.parametrize(
    ("s", "pseudo", "least"),
    [(0.7, 0.0, 2), (2.0, 0.0, 5), (1.0, 0.4, 0), (0.2, 3.0, 0), (3, 1, 1)],
)
def test_worst_case_is_the_maximum_over_small_bags(s, pseudo, least):
    # Every pair of counts of every bag of at most 30 with three classes, both directions.
    mechanism = DirichletProportions(concentration=s, pseudo_count=pseudo, min_count=least)
    pairs = [(a, b) for a in range(least + 1, 31) for b in range(least, 31) if a + b <= 30 - least]
    x, y = (s * np.array(side, float) + pseudo for side in zip(*pairs, strict=True))
    for epsilon in (0.05, 0.5, 2.0):
        worst = mechanism.move().delta(epsilon)
        every = np.maximum(
            dirichlet_delta(x, y, s, epsilon), dirichlet_delta(y + s, x - s, s, epsilon)
        )
        assert every.max() == pytest.approx(worst, rel=1e-12)
    curve = mechanism.move().worst_case()
    both = np.maximum(dirichlet_renyi(x, y, s), dirichlet_renyi(y + s, x - s, s)).max(axis=0)
    np.testing.assert_allclose(curve, both, rtol=1e-12)


@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=4).filter(lambda row: sum(row) > 0),
    st.floats(0.1, 3),
    st.floats(0.1, 3),
    st.floats(0.02, 3),
)
@settings(max_examples=40)
def test_known_counts_cost_the_maximum_over_neighbours_in_both_directions(row, s, pseudo, epsilon):
    move = DirichletProportionsMove(concentration=s, pseudo_count=pseudo, min_count=0)
    state = np.array([row], float)
    deltas, curves = [0.0], [np.zeros(len(ORDERS))]
    for i, j in neighbours(row, 0):
        x, y = s * row[i] + pseudo, s * row[j] + pseudo
        for pair in ((x, y), (y + s, x - s)):
            deltas.append(float(dirichlet_delta(*pair, s, epsilon)))
            curves.append(dirichlet_renyi(*pair, s))
    assert move.known_delta(state, epsilon)[0] == max(deltas)
    np.testing.assert_array_equal(move.exact(state)[0], np.max(curves, axis=0))
    assert max(deltas) <= move.delta(epsilon) * (1 + 1e-9)


def test_an_error_of_one_direction_is_found():
    # The planted error: the data's side alone. At (50, 50) the neighbour's side is dearer.
    both = DirichletProportionsMove(concentration=0.5, pseudo_count=0.0, min_count=49)
    state = np.array([[50.0, 50.0]])
    one_way = float(dirichlet_delta(25.0, 25.0, 0.5, 0.05))
    assert both.known_delta(state, 0.05)[0] > one_way * (1 + 1e-9)
    assert both.known_delta(state, 0.05)[0] == pytest.approx(0.0362296196701277, rel=1e-9)


CALIBRATED = {
    "dirichlet, promise": lambda e, d: DirichletProportions.calibrated(e, d, min_count=20),
    "dirichlet, pseudo-counts": lambda e, d: DirichletProportions.calibrated(
        e, d, pseudo_count=2.0
    ),
    "gaussian": lambda e, d: GaussianProportions.calibrated(e, d, n_classes=4),
    "gaussian, two classes": lambda e, d: GaussianProportions.calibrated(e, d, n_classes=2),
    "laplace": lambda e, d: LaplaceProportions.calibrated(e, d, n_classes=4),
    "laplace, two classes": lambda e, d: LaplaceProportions.calibrated(e, d, n_classes=2),
    "laplace prior": lambda e, d: LaplacePriorProportions.calibrated(e, d, n_classes=4),
}


@pytest.mark.parametrize("name", CALIBRATED)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.05, 0.05), (1.0, 1e-6), (3.0, 1e-10)])
def test_calibrated_noise_is_the_least_for_the_pair(name, epsilon, delta):
    mechanism = CALIBRATED[name](epsilon, delta)
    n_columns = 2 if "two" in name else 4
    cost = mechanism.max_cost(n_columns)[EVERYONE]
    assert float(cost.at(np.inf)) == epsilon
    assert delta * (1 - 1e-4) <= float(cost.delta) <= delta
    accountant = PrivacyAccountant(epsilon, delta, unit="label", order=np.inf)
    counts = np.full((3, n_columns), 25)
    assert accountant.release(mechanism, counts).shape == (3, n_columns)
    assert accountant.remaining().share < 1e-5
    assert type(mechanism)(**vars(mechanism)) == mechanism
    assert json.loads(json.dumps(mechanism.describe()))["epsilon"] == epsilon


def test_two_classes_need_less_gaussian_noise():
    three, two = (GaussianProportions.calibrated(1, 1e-5, n_classes=c).sigma for c in (3, 2))
    assert three == pytest.approx(np.sqrt(2) * two, rel=1e-9)
    assert GaussianProportions.calibrated(1, 1e-5).sigma == three
    # Analytic, not the textbook's sqrt(2 log(1.25 / delta)) * sensitivity / epsilon.
    assert three < 0.8 * np.sqrt(2) * np.sqrt(2 * np.log(1.25e5))


def test_bags_compose_in_parallel_and_releases_add_up():
    mechanism = LaplaceProportions.calibrated(0.5, 0, n_classes=3)
    accountant = PrivacyAccountant(1.0, 0, unit="label", order=np.inf)
    accountant.release(mechanism, np.full((100, 3), 7))
    assert accountant.spent().amount == 0.5
    accountant.release(mechanism, [[1, 2, 3]])
    assert accountant.spent().amount == 1.0


def test_data_dependent_costs_are_at_most_the_worst_case():
    for mechanism in (DIRICHLET, replace(DIRICHLET, epsilon=0.7), GaussianProportions(sigma=2.0)):
        counts = np.array([[4.0, 3.0, 8.0], [50.0, 60.0, 70.0]])
        known = mechanism.cost(np.zeros_like(counts), counts)[EVERYONE]
        most = mechanism.max_cost(3)[EVERYONE]
        assert known.shape == (2,)
        assert np.all(known.curve <= most.curve * (1 + 1e-9))
        assert np.all(known.delta <= most.delta * (1 + 1e-9))
        same = mechanism.max_cost(3, counts)[EVERYONE]
        np.testing.assert_array_equal(same.curve, known.curve)
    dear = replace(DIRICHLET, epsilon=0.7).cost(np.zeros((2, 3)), counts)[EVERYONE].delta
    assert dear[1] < dear[0]  # large counts give less away


PAIR = ([[1.0, 0, 5]], [[0.0, 1, 5]])
SMALL = [
    DirichletProportions(concentration=2.0, pseudo_count=0.5, resolution=6),
    GaussianProportions(sigma=0.8, resolution=6),
    LaplaceProportions(scale=0.8, resolution=6),
]


def proven(mechanism, delta, n=40_000):
    rng = np.random.default_rng(0)
    return epsilon_lower_bound(
        *(mechanism.sample(np.repeat(side, n, axis=0), rng) for side in PAIR), delta
    )


@pytest.mark.parametrize("mechanism", SMALL, ids=lambda m: type(m).__name__)
def test_audits_of_the_pair_and_of_half_the_noise(mechanism):
    epsilon = 1.5
    delta = mechanism.move(3).delta(epsilon)
    assert proven(mechanism, delta) <= epsilon
    noise = {
        DirichletProportions: {"concentration": 6.0},
        GaussianProportions: {"sigma": 0.4},
        LaplaceProportions: {"scale": 0.4},
    }[type(mechanism)]
    assert proven(replace(mechanism, **noise), delta) > epsilon


def test_the_prior_estimate_is_the_posterior_mean():
    grid = (np.arange(200_000) + 0.5) / 200_000 * 20
    for centre in (-9.0, -1.0, 0.0, 3.0, 17.5, 20.0, 31.0):
        for scale in (0.5, 4.0, 200.0):
            weight = np.exp(-np.abs(grid - centre) / scale + max(-centre, centre - 20, 0) / scale)
            mean = (grid * weight).sum() / weight.sum()
            ours = _truncated_mean(np.array([[centre]]), scale, np.array([[20.0]]))
            assert ours[0, 0] == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DirichletProportions(concentration=1), "would be revealed"),
        (lambda: DirichletProportions(concentration=0, min_count=1), "concentration=0 must be"),
        (lambda: DirichletProportions(concentration=1, min_count=-1), "min_count=-1 must be"),
        (lambda: DirichletProportions(concentration=1, min_count=1.5), "min_count=1.5 must be"),
        (
            lambda: DirichletProportions(concentration=1, pseudo_count=float("nan")),
            "pseudo_count=nan must be",
        ),
        (lambda: GaussianProportions(sigma=-1), "sigma=-1 must be a finite number above 0"),
        (lambda: LaplaceProportions(scale=0), "scale=0 must be a finite number above 0"),
        (lambda: LaplaceProportions(scale=1, epsilon=0), "epsilon=0 must be a finite number"),
        (lambda: LaplaceProportions(scale=1, resolution=0), "resolution=0 must be an integer"),
        (lambda: GaussianProportions.calibrated(1, 0), "delta=0 takes Laplace noise"),
        (lambda: DirichletProportions.calibrated(1, 0, min_count=3), "delta=0 takes Laplace noise"),
        (lambda: LaplaceProportions.calibrated(-1, 0), "epsilon=-1 must be"),
        # However little a label adds, two labels to three is a matter of which class is left.
        (lambda: DirichletProportions.calibrated(1, 0.01, min_count=2), "larger min_count"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[3]], "two classes"),
        ([[1.5, 2]], "whole numbers"),
        ([[1, 2], [0, 0]], "bag 1 is empty"),
        ([[1, 2], [3]], "rows of different lengths"),
        (None, "counts is of <class 'NoneType'>"),
        (np.ma.array([[5, 3]], mask=[[1, 0]]), "counts is a masked array"),
        # To a float these are the same number; to whom they are charged to they are not.
        ([[2**60, 2**60 + 128]], r"above 2\*\*53, which floats can't hold apart"),
        ([[1e300, 3]], r"above 2\*\*53"),
        ([[9, 2], [9, 1]], "min_count=2 is promised, but bag 1"),
    ],
)
def test_bad_counts_are_refused_and_nothing_is_spent(counts, message):
    mechanism = DirichletProportions(concentration=1, min_count=2, epsilon=1)
    accountant = PrivacyAccountant(1, 0.05, unit="label", order=np.inf)
    with pytest.raises(ValueError, match=message):
        accountant.release(mechanism, counts)
    assert not accountant.entries()


def test_chi_square_of_gaussian_noise():
    out = GaussianProportions(sigma=3.0)._draw(
        np.tile([4000.0, 3000.0, 3000.0], (5000, 1)), np.random.default_rng(3)
    )
    # Projected on the plane of sum one: two degrees of freedom are left.
    squares = ((out - [0.4, 0.3, 0.3]) ** 2).sum(axis=1) * (10_000 / 3.0) ** 2
    assert kstest(squares, chi2(2).cdf).pvalue > 1e-4
