"""Moves that choose among candidates: closed forms, brute force, and dominating noisy numbers."""

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr, ndtri_exp

from secretballot.costs import BoundedRange, NoisyBit, PureRelease
from secretballot.costs._orders import ORDERS
from secretballot.costs._selection import FewDraws, NoisyGaps, charged_draws, offered_draws

SOME = (1.25, 2.0, 8.0, 64.0, 1024.0)
FINITE = tuple(ORDERS[:-1])


def precisely(width, order):
    """The best of all two-outcome laws at one order, in numbers of 60 digits."""
    with mpmath.workdps(60):
        w, a = mpmath.mpf(width), mpmath.mpf(float(order))
        total = 1 - mpmath.exp(-a * w)
        x = (a - 1) / a * total / (mpmath.exp(-w) - mpmath.exp(-a * w))
        x = min(max(x, mpmath.mpf(1)), mpmath.exp(w))
        q = (1 / x - mpmath.exp(-w)) / (1 - mpmath.exp(-w))
        moment = q * x**a + (1 - q) * (x * mpmath.exp(-w)) ** a
        return float(mpmath.log(moment) / (a - 1))


def on_a_grid(width, order, n_nodes=4001):
    """The same at many t, which no closed form of the best one enters."""
    t = width * np.linspace(0, 1, n_nodes)[1:-1]
    log_q = np.log(np.expm1(width - t)) - np.log(np.expm1(width))
    log_rest = np.log(-np.expm1(-t)) - np.log(-np.expm1(-width))
    return np.max(np.logaddexp(log_q + order * t, log_rest + order * (t - width))) / (order - 1)


@pytest.mark.parametrize("width", [1e-8, 1e-3, 0.1, 1.0, 7.0, 50.0])
def test_a_bounded_range_is_the_best_of_two_outcomes(width):
    curve = BoundedRange(width=width).worst_case()
    assert curve[-1] == width
    for order, value in zip(FINITE[::9], curve[:-1:9], strict=True):
        truth = precisely(width, order)
        room = 1e-9 if width >= 0.05 else 1e-6
        assert truth * (1 - 1e-15) <= value <= truth * (1 + room)
        assert value <= order * width**2 / 8
        if width >= 0.05:
            assert truth * 0.999 <= on_a_grid(width, order) <= truth * (1 + 1e-9)
    single = BoundedRange(width=width).worst_case((8.0,))
    assert single == curve[np.flatnonzero(ORDERS == 8)]
    assert (BoundedRange(width=width).exact(np.zeros(3)) == curve).all()


@pytest.mark.parametrize("scale", [0.5, 2.0, 30.0])
def test_no_neighbours_of_an_exponential_mechanism_cost_more(scale):
    # Random changes are far from the worst: where half of the weight is on scores that rise.
    rng, scores = np.random.default_rng(7), 6
    p = rng.dirichlet(np.full(scores, 0.4), 4000)
    change = np.where(rng.random(p.shape) < 0.8, rng.random(p.shape) < 0.5, rng.random(p.shape))
    q = p * np.exp(change / scale)
    log_p, log_q = np.log(p), np.log(q / q.sum(axis=1, keepdims=True))
    bound = BoundedRange(width=1 / scale)
    for order, most in zip(SOME, bound.worst_case(SOME), strict=True):
        ways = [(log_p, log_q), (log_q, log_p)]
        moments = [np.logaddexp.reduce(order * a + (1 - order) * b, axis=1) for a, b in ways]
        worst = np.max(moments) / (order - 1)
        assert 0.6 * most < worst <= most * (1 + 1e-9)


@pytest.mark.parametrize("width", [1e-3, 0.2, 2.0, 9.0, 30.0])
def test_a_noisy_number_reaches_every_corner(width):
    bound = BoundedRange(width=width)
    t = width * np.linspace(0, 1, 2001)[1:-1]
    log_p = np.log(-np.expm1(t - width)) - np.log(-np.expm1(-width))
    log_rest = np.log(-np.expm1(-t)) - np.log(-np.expm1(-width)) + t - width
    likely = np.where(log_p < -0.5, ndtri_exp(log_p), -ndtri_exp(log_rest))
    need = likely - ndtri_exp(log_p - t)
    assert need.max() <= bound.ratio * (1 + 1e-9)
    assert need.max() == pytest.approx(bound.ratio, rel=1e-5)
    pure = PureRelease(epsilon=width)
    corner = log_ndtr(pure.ratio / 2) - log_ndtr(-pure.ratio / 2)
    assert width <= corner <= width * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [1e-8, 1e-3, 0.3, 2.0, 50.0])
def test_a_pure_release_is_randomised_response(epsilon):
    curve = PureRelease(epsilon=epsilon).worst_case()
    assert curve[-1] == epsilon
    with mpmath.workdps(60):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        for order, value in zip(FINITE[::9], curve[:-1:9], strict=True):
            a = mpmath.mpf(float(order))
            moment = p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)
            truth = float(mpmath.log(moment) / (a - 1))
            room = 0 if epsilon >= 1e-2 else order * epsilon**2
            assert truth <= value <= truth * (1 + 1e-9) + room
    assert (PureRelease(epsilon=epsilon).exact(np.zeros(3)) == curve).all()


def winners(gaps, shifts):
    """The laws of the largest of some noisy scores, for each row of shifts; sigma is 1."""
    z = np.linspace(-9, 14, 1401)
    scores = np.asarray(gaps) + shifts
    below = ndtr(z - scores[..., None])
    density = np.exp(-((z - scores[..., None]) ** 2) / 2) / np.sqrt(2 * np.pi)
    all_others = np.stack(
        [np.prod(np.delete(below, k, axis=-2), axis=-2) for k in range(len(gaps))], 1
    )
    return (density * all_others).sum(axis=-1) * (z[1] - z[0])


@pytest.mark.parametrize(
    "gaps", [(0, 0), (1.2, 0), (0, 0, 0), (2, 1, 0), (0, 0, 0, 0), (3, 1, 0, 0)]
)
@pytest.mark.parametrize("shift", [0.05, 0.6, 2.0])
def test_noisy_gaps_against_numerical_integration(gaps, shift):
    p = winners(gaps, np.zeros((1, len(gaps))))
    q = winners(gaps, shift * np.array(list(product((-1, 0, 1), repeat=len(gaps)))))
    assert p.sum() == pytest.approx(1, abs=1e-9)
    assert q.sum(axis=1) == pytest.approx(1, abs=1e-9)
    bound = NoisyGaps(sigma=1.0, shift=shift, n_scores=len(gaps)).worst_case(SOME[:3])
    for order, most in zip(SOME, bound, strict=False):
        for first, second in ((p, q), (q, p)):
            moment = np.log((first**order * second ** (1 - order)).sum(axis=1)) / (order - 1)
            assert moment.max() <= most
    # Two scores are a noisy bit that moves by twice as much.
    if gaps == (0, 0):
        assert bound[1] >= NoisyBit(scale=1.0, shift=np.sqrt(2) * shift).worst_case((2.0,))[0]


def test_many_scores_cost_little_more_than_two():
    assert not NoisyGaps(sigma=1.0, shift=1.0, n_scores=1).worst_case().any()
    few, many = (NoisyGaps(sigma=9.0, shift=1.0, n_scores=n) for n in (2, 10**6))
    assert (few.worst_case()[:-1] < many.worst_case()[:-1]).all()
    assert many.worst_case((64.0,)) < 4 * 64 / 81 / 2 + np.log(1e6) / 63 + 1e-12
    assert (many.exact(np.zeros(2)) == many.worst_case()).all()


@pytest.mark.parametrize("most", [1, 2, 3, 5, 17, 50])
def test_few_draws_cost_the_most_of_any_number(most):
    draws = FewDraws(width=0.7, most=most)
    curve = draws.worst_case()
    for n in range(1, most + 1):
        charged = charged_draws(n, most)
        assert n <= charged < 1.51 * n
        member = BoundedRange(width=0.7 / math.sqrt(charged + 2))
        assert (n * member.worst_case() <= curve).all()
        assert n * member.ratio**2 <= draws.ratio**2 * (1 + 1e-12)
    assert (curve[:-1] <= FINITE * np.array(0.7**2 / 8) * (1 + 1e-12)).all()
    assert curve[-1] == pytest.approx(0.7 * most / math.sqrt(most + 2))
    assert (draws.exact(np.zeros(2)) == curve).all()
    assert offered_draws(most)[-1] == most
    assert charged_draws(0, most) == 0


@pytest.mark.parametrize(
    "move",
    [
        lambda width: BoundedRange(width=width),
        lambda width: PureRelease(epsilon=width),
        lambda width: FewDraws(width=width, most=5),
        lambda width: NoisyGaps(sigma=1.0, shift=width, n_scores=4),
    ],
)
def test_domination_orders_moves_by_cost(move):
    moves = [move(width) for width in np.geomspace(1e-6, 40, 60)]
    curves = np.array([member.worst_case() for member in moves])
    assert (np.diff(curves[:, :-1], axis=0) >= 0).all()
    assert (np.diff(curves[:, :-1], axis=1) >= -1e-9 * curves[:, 1:-1]).all()
    if hasattr(moves[0], "ratio"):
        assert (np.diff([member.ratio for member in moves]) > 0).all()
