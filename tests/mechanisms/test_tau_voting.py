"""Tau voting: held against every neighbour of tiny votes, in every bound that is charged."""

import itertools
import pickle
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from scipy.special import log_ndtr
from scipy.stats import binom

from secretballot.accounting import ORDERS, PrivacyAccountant, price_plan
from secretballot.costs import ClippedBits, NoisyBit, Step
from secretballot.costs._bit_move import bit_move
from secretballot.costs._clipped_bits import SmallBits, SmallBitsMove, moved_squares
from secretballot.costs._cost import GaussianCost, RenyiCost
from secretballot.costs._game import Node, PaddedValues, play_of, play_row, worst_game
from secretballot.costs._grid import FINE, GaussianPairMove
from secretballot.costs._noise import gaussian_delta
from secretballot.mechanisms import BinaryVoting, TauVoting, clip_ballots
from secretballot.testing._outcome_laws import outcome_law

FINITE = ORDERS[:-1:6]
INDEX = np.arange(0, len(ORDERS) - 1, 6)
SOME = tuple(float(order) for order in ORDERS[:-1:25])
GRID = tuple(map(float, FINITE))
KINDS = [("l2", 0.8), ("l2", 1.3), ("l2", 1.6), ("l1", 0.7), ("l1", 1.5)]


def all_ballots(n_labels):
    return np.array(list(itertools.product((0, 1), repeat=n_labels)))


def clipped(n_labels, tau, norm):
    """All clipped ballots, by the definition."""
    ballots = all_ballots(n_labels).astype(float)
    lengths = np.linalg.norm(ballots, ord=2 if norm == "l2" else 1, axis=1)
    return ballots * np.minimum(1, tau / np.maximum(lengths, 1))[:, None]


def divergences(log_p, log_q, orders=FINITE):
    """Renyi divergences of independent bits, added up; of shape (..., n_orders)."""
    with np.errstate(over="ignore"):
        terms = orders * log_p[..., None] + (1 - orders) * log_q[..., None]
        return np.logaddexp.reduce(terms, axis=-2).sum(axis=-2) / (orders - 1)


def bits(gaps, sigma):
    return np.stack(
        [log_ndtr(gaps / (np.sqrt(2) * sigma)), log_ndtr(-gaps / (np.sqrt(2) * sigma))], -1
    )


@pytest.mark.parametrize(
    ("norm", "tau", "n_labels", "ballots"),
    [
        ("l2", 0.8, 4, 1),
        ("l2", 1.3, 3, 1),
        ("l2", 1.6, 4, 1),
        ("l1", 0.7, 3, 1),
        ("l1", 1.5, 4, 1),
        ("l2", 1.0, 2, 2),
        ("l1", 1.5, 2, 2),
    ],
)
def test_no_replaced_ballot_reveals_more_than_is_charged(norm, tau, n_labels, ballots):
    sigma, n_votes = 1.1, 3
    mechanism = TauVoting(sigma=sigma, n_votes=n_votes, tau=tau, norm=norm, ballots=ballots)
    some = clipped(n_labels, tau, norm)
    moved = (some[:, None] - some).reshape(-1, n_labels)
    for _ in range(ballots - 1):
        moved = np.unique((moved[:, None] + moved).reshape(-1, n_labels).round(12), axis=0)
    # Whatever the other teachers say, and whatever they can't: votes near a tie tell most.
    votes = [sum(each) for each in itertools.combinations_with_replacement(some, n_votes)]
    votes = np.unique(np.sort(np.array(votes), axis=1).round(12), axis=0)
    votes = votes[:: max(1, len(votes) // 30)]
    charged = mechanism.max_cost(n_labels, votes)["*"].curve[:, INDEX]
    worst = mechanism.max_cost(n_labels)["*"].curve[INDEX]
    enumerated = np.zeros_like(charged)
    for row, positives in enumerate(votes):
        here = bits(2 * positives - n_votes, sigma)
        there = bits(2 * (positives + moved) - n_votes, sigma)
        both = np.maximum(divergences(here, there), divergences(there, here))
        enumerated[row] = both.max(axis=0)
    assert (enumerated <= charged * (1 + 1e-9)).all()
    assert (charged <= worst * (1 + 1e-9)).all()
    assert (worst <= mechanism.max_cost()["*"].curve[INDEX] * (1 + 1e-9)).all()
    assert (enumerated.max(axis=0) > 0.4 * worst).any()
    if ballots == 1:
        # Planted: noise of half the variance, as if it were charged for all of it.
        cheap = replace(mechanism, sigma=sigma * np.sqrt(2)).max_cost(n_labels)["*"].curve[INDEX]
        assert (_worst_of_all_gaps(moved, sigma) > 1.2 * cheap).any()


def _worst_of_all_gaps(moved, sigma):
    """The largest sum of single bits' worst cases over what neighbours move."""
    sizes, inverse = np.unique(np.abs(moved).round(12), return_inverse=True)
    each = np.array(
        [
            NoisyBit(scale=1.0, shift=float(np.sqrt(2) * size / sigma)).worst_case(GRID)
            for size in sizes
        ]
    )
    return each[inverse.reshape(moved.shape)].sum(axis=1).max(axis=0)


@pytest.mark.parametrize(("norm", "tau"), KINDS)
def test_the_worst_case_is_close_to_that_of_the_worst_pair_of_ballots(norm, tau):
    for n_labels in (1, 3, 4, 5):
        some = clipped(n_labels, tau, norm)
        moved = (some[:, None] - some).reshape(-1, n_labels)
        law = ClippedBits(sigma=1.1, tau=tau, norm=norm, n_labels=n_labels)
        charged, truth = law.worst_case(GRID), _worst_of_all_gaps(moved, 1.1)
        assert (truth <= charged * (1 + 1e-9)).all()
        assert (charged <= 1.03 * truth).all()


@pytest.mark.parametrize(("norm", "tau"), [*KINDS, ("l2", 0.3), ("l2", 5.0), ("l1", 9.0)])
def test_squared_sensitivity_to_a_ballot(norm, tau):
    for n_labels in (1, 2, 3, 5, 7):
        some = clipped(n_labels, tau, norm)
        truth = ((some[:, None] - some) ** 2).sum(axis=-1).max()
        largest_square = moved_squares(tau, n_labels, norm).sum(axis=1).max()
        simple = min(2 * (tau**2 if norm == "l2" else tau * min(tau, 1)), n_labels)
        assert largest_square == pytest.approx(truth, rel=1e-12)
        assert truth <= simple * (1 + 1e-12)
        assert largest_square <= moved_squares(tau, None, norm).sum(axis=1).max() * (1 + 1e-12)
    if norm == "l2":
        assert moved_squares(tau, 70, norm).sum(axis=1).max() == pytest.approx(2 * tau**2)


def test_divergence_of_a_bit_grows_faster_than_the_square_of_its_shift():
    ratios = np.geomspace(1e-3, 20, 60)
    per_square = np.array(
        [NoisyBit(scale=1.0, shift=float(ratio)).worst_case(SOME) / ratio**2 for ratio in ratios]
    )
    assert (np.diff(per_square, axis=0) > 0).all()


def test_published_charges_are_for_one_noisy_count():
    # a tau^2 / sigma^2 is too little for noise on both counts, of one order already.
    tau, sigma = 1.0, 0.9
    moved = np.array([[tau, -tau, 0.0]])
    assert (_worst_of_all_gaps(moved, sigma) > FINITE * tau**2 / sigma**2).any()
    # Labels on which teachers agree cost little.
    mechanism = TauVoting(sigma=3.0, n_votes=90, tau=1.2)
    cost = mechanism.cost(np.zeros((1, 3)), [[80.0, 1.0, 0.0]])["*"].at(10.0)
    assert cost < 0.01 * mechanism.max_cost(3)["*"].at(10.0)


def hockey_stick(move, deltas, losses):
    """The most that one row tells over gaps on a grid, by enumeration of what bits come out."""
    gaps = np.linspace(-1.5, 1.5, 7)
    largest_delta = np.zeros(len(losses))
    for delta in deltas:
        scale = np.sqrt(2) * move.sigma
        for gap in itertools.product(*(gaps if each else [0.0] for each in delta)):
            here = bits(np.array(gap) * scale, move.sigma)
            there = bits(np.array(gap) * scale + 2 * delta, move.sigma)
            picks = np.array(list(itertools.product((0, 1), repeat=len(delta))))
            labels = np.arange(len(delta))
            p, q = (np.exp(each[labels, picks].sum(axis=1)) for each in (here, there))
            excess = np.maximum(p - np.exp(-losses)[:, None] * q, 0).sum(axis=1)
            largest_delta = np.maximum(largest_delta, excess)
    return largest_delta


@pytest.mark.parametrize(("norm", "tau"), KINDS)
def test_the_game_value_of_a_row_exceeds_every_neighbour(norm, tau):
    losses = np.array([-2.0, -1.0, -0.4, 0.0, 0.4, 1.0])
    for n_labels in (2, 3):
        move = ClippedBits(sigma=1.1, tau=tau, norm=norm, n_labels=n_labels)
        (value,) = islice(worst_game((Step("labels", move),), FINE.coarser(2.0)), 1, 2)
        some = clipped(n_labels, tau, norm)
        moved = np.unique(np.abs((some[:, None] - some).reshape(-1, n_labels)).round(12), axis=0)
        truth = hockey_stick(move, moved, losses)
        assert (truth <= value.at(losses)).all()
        assert (value.at(losses) < 1.6 * truth + 0.01).all()


def test_plans_use_the_cheapest_of_three_bounds():
    def played(**parameters):
        move = ClippedBits(sigma=9.0, **parameters)
        return Node("labels", play_of(move), 1, ()).expand()

    whole = played(tau=1.8, norm="l2", n_labels=20)
    assert whole.times == 2
    assert [
        (one.times, round(one.play.move.shift * 9 / np.sqrt(2), 3)) for one in whole.either[:2]
    ] == [
        (3, 1.0),
        (4, 0.9),
    ]
    assert [one.play.move.n_bits for one in whole.either[2:]] == list(range(5, 21))
    assert whole.either[2].play.move.ratio == pytest.approx(np.sqrt(2) * 1.8 / np.sqrt(5) / 9)
    few = played(tau=1.8, norm="l2", n_labels=3)
    assert (few.times, few.either) == (3, ())
    # Of any number of labels, and of several ballots: noisy numbers.
    for other in ({"n_labels": None}, {"ballots": 3}):
        move = ClippedBits(sigma=9.0, **{"tau": 1.8, "norm": "l2", "n_labels": 20, **other})
        (value,) = islice(worst_game((Step("labels", move),)), 1, 2)
        mu = np.sqrt(2 * 2 * 1.8**2) / 9 * move.ballots
        assert float(value.at(np.array(-0.5))) == pytest.approx(gaussian_delta(mu, 0.5), rel=1e-3)
    # Of very many labels sizes are grouped: the most labels of a group, and the largest shift.
    many = [one.play.move for one in played(tau=1.8, norm="l2", n_labels=400).either[2:]]
    assert len(many) < 40
    assert many[-1].n_bits == 400
    assert many[-1].ratio == pytest.approx(np.sqrt(2) * 1.8 / np.sqrt(many[-2].n_bits + 1) / 9)


def test_many_small_bits_cost_little_more_than_one_by_one():
    law = (Step("bit", NoisyBit(scale=1.0, shift=0.2), times=4),)
    (before,) = islice(worst_game(law, FINE.coarser(0.5, 2.0)), 6, 7)
    span = (before.first, before.first + len(before.values))
    n_bits, ratio = 12, 0.08
    fine = bit_move(ratio, before.grid, 0.02, 1.0)
    apart = play_row(
        (Node("bits", NoisyBit(scale=1.0, shift=ratio), n_bits, ()),), before, span, lambda _: fine
    )
    whole = SmallBitsMove(fine, SmallBits(n_bits, ratio, most_played=12), before.grid, None)
    values = PaddedValues.from_function(before, *span, whole.pad)
    together = whole.best(values, values)
    assert whole._noisy_number_bound(n_bits, fine.best(values, values), values)[1] <= 0.02
    # What a few per cent of the gaps' margins and chords add to the bits is not added here.
    gain, most = apart.values - before.values, together - before.values
    assert (most >= 0.97 * gain - 1e-12).all()
    assert (most <= 1.03 * gain + 1e-9).all()
    assert_no_gap_exceeds(together, before, span, n_bits, ratio)


@pytest.mark.parametrize("n_rows", [0, 1, 6])
@pytest.mark.parametrize("n_bits", [3, 12])
def test_a_bound_after_few_bits_is_on_the_safe_side(n_bits, n_rows):
    """Also at the end of a plan, where bits are not alike, and beside other choices."""
    law = (Step("bit", NoisyBit(scale=1.0, shift=0.2), times=4),)
    before, last = islice(worst_game(law, FINE.coarser(0.5, 2.0)), n_rows, n_rows + 2)
    span, ratio = (last.first, last.first + len(last.values)), 0.3 / n_bits**0.5
    fine = bit_move(ratio, before.grid, 0.02, 1.0)
    sizes = [SmallBits(n_bits, ratio, most_played=played) for played in (n_bits, 2, 1)]
    moves = [SmallBitsMove(fine, bits, before.grid, None) for bits in sizes]
    values = PaddedValues.from_function(before, *span, moves[0].pad)
    exact, two, one = (move.best(values, values) for move in moves)
    for bound in (two, one):
        assert_no_gap_exceeds(bound, before, span, n_bits, ratio)
    # Where no shorter number bounds a bit, it is one of its own shift.
    bound, extra = moves[0]._noisy_number_bound(n_bits, fine.best(values, values), values)
    number = GaussianPairMove(n_bits**0.5 * ratio, before.grid).best(values, values)
    assert extra < np.inf or (bound >= number).all()
    assert extra == np.inf or n_rows
    # Beside a choice of more value the first bound is taken, and the larger of both stays.
    for reached in (one + 1e-9, exact):
        beside = replace(moves[0], reached=reached).best(values, values)
        assert_no_gap_exceeds(np.maximum(beside, reached), before, span, n_bits, ratio)
        assert (np.maximum(beside, reached) <= np.maximum(exact, reached) + 1e-12).all()


def assert_no_gap_exceeds(bound, before, span, n_bits, ratio):
    """Against the truth, from below: an adversary who plays the same gap again and again."""
    for gap in (-1.0, -0.3, 0.0, 0.2, 0.6, 1.0):
        log_p, log_q = (log_ndtr([x, -x]) for x in (gap, gap - ratio))
        losses = before.grid.step * np.arange(*span)
        truth = sum(
            binom.pmf(n, n_bits, np.exp(log_p[0]))
            * before.at(losses + n * (log_p - log_q)[0] + (n_bits - n) * (log_p - log_q)[1])
            for n in range(n_bits + 1)
        )
        assert (truth <= bound + 1e-15).all()


def test_a_long_plan_costs_the_sum_of_its_bits():
    mechanism = TauVoting(sigma=6.0, n_votes=50, tau=1.0)
    price = price_plan(mechanism, 12, n_columns=4).epsilon(1e-5)
    law = mechanism.laws(4)["*"][0].move
    renyi = RenyiCost(12 * law.worst_case()).epsilon(1e-5)
    numbers = float(GaussianCost(12 * law.noisy_numbers_mu2).epsilon(1e-5))
    assert 0.85 * renyi < price < 0.95 * renyi < numbers


def test_a_budget_pays_for_rows():
    for order in ("gaussian", "renyi"):
        accountant = PrivacyAccountant(8.0, 1e-5, order=order)
        mechanism = accountant.calibrate(
            lambda noise: TauVoting(sigma=noise, n_votes=50, tau=1.0), 3, n_columns=3
        )
        outcome = accountant.release(mechanism, np.tile([48.0, 2.0, 0.0], (4, 1)))
        assert outcome.shape == (3, 3)
        assert 0.997 < accountant.spent().share <= 1
    accountant = PrivacyAccountant(8.0, 1e-5)
    reservation = accountant.reserve(mechanism, 2, n_columns=3)
    for dearer in ({"tau": 1.1}, {"norm": "l1"}, {"sigma": 0.1}, {"ballots": 2}, {"weight": 2.0}):
        with pytest.raises(ValueError, match="tells more than what was paid for"):
            accountant.release(
                replace(mechanism, **dearer), [[40.0, 1.0, 0.0]], reservation=reservation
            )
    # Of two labels D2 is 2 for both, and yet a ballot on both of them gets more.
    paid, longer = (ClippedBits(sigma=9.0, tau=tau, norm="l2", n_labels=2) for tau in (1.0, 1.3))
    assert paid.noisy_numbers_mu2 == longer.noisy_numbers_mu2
    assert paid.dominated_by(longer)
    assert not longer.dominated_by(paid)
    # Less in all, and yet one label moves further; two ballots, and they weigh as much as one.
    paid = ClippedBits(sigma=9.0, tau=1.8, norm="l2", n_labels=20, weight=2.0)
    further = replace(paid, tau=1.0, sigma=5.4)
    assert further.noisy_numbers_mu2 < paid.noisy_numbers_mu2
    for other in (further, replace(paid, weight=1.0, ballots=2)):
        assert not other.dominated_by(paid)
    less = replace(mechanism, tau=0.9, sigma=2 * mechanism.sigma)
    assert accountant.release(less, [[40.0, 1.0]], reservation=reservation).shape == (1, 2)


def test_draws_follow_the_law_and_levels_pay_for_their_weight():
    mechanism = TauVoting(sigma=2.0, n_votes=10, tau=1.0)
    votes = np.tile([6.0, 4.0], (100_000, 1))
    outcome = mechanism.sample(votes, np.random.default_rng(0))
    law = outcome_law(mechanism, votes[:1])
    for which, log_p in zip(law.outcomes, law.log_probabilities[0], strict=True):
        # Seven standard deviations: a rate below 1e-10.
        share = (outcome == which).all(axis=1).mean()
        assert abs(share - np.exp(log_p)) < 7 * np.sqrt(np.exp(log_p) / 1e5)
    levels = replace(mechanism, weight={"a": 1.0, "b": 2.0}).max_cost(4, order=3.0)
    halved = replace(mechanism, sigma=1.0).max_cost(4, order=3.0)["*"]
    assert levels["b"].at(3.0) == pytest.approx(halved.at(3.0), rel=1e-12)
    assert levels["a"].at(3.0) < levels["b"].at(3.0)
    twice = mechanism.scaled(2.0)
    assert (twice.sigma, twice.n_votes, twice.tau) == (4.0, 20.0, 1.0)
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    assert len({mechanism.laws(4)["*"], pickle.loads(pickle.dumps(mechanism.laws(4)["*"]))}) == 1
    # Ballots that are never clipped cost what Binary voting does.
    whole, binary = TauVoting(sigma=2.0, n_votes=10, tau=9.0), BinaryVoting(sigma=2.0, n_votes=10)
    ours, theirs = (each.max_cost(3, order=9.0)["*"].at(9.0) for each in (whole, binary))
    assert ours == pytest.approx(theirs, rel=1e-12)


def test_clipped_ballots():
    for norm, tau in KINDS:
        np.testing.assert_allclose(
            clip_ballots(all_ballots(4), tau, norm), clipped(4, tau, norm), rtol=1e-15
        )
    assert clip_ballots(np.ones((2, 3, 4), dtype=bool), 1.0).shape == (2, 3, 4)
    with pytest.warns(UserWarning, match=r"tau=2 is no less than sqrt\(n_labels\) of n_labels=4"):
        clip_ballots(all_ballots(4), 2)
    with pytest.warns(UserWarning, match="no less than n_labels of n_labels=1"):
        clip_ballots([[1], [0]], 1.0, "l1")
    for bad, message in (
        ([[0.5, 1.0]], "must be 0"),
        ([], "pass an array"),
        (1, "pass an"),
    ):
        with pytest.raises(ValueError, match=message):
            clip_ballots(bad, 1.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sigma": 0.0}, "sigma=0.0"),
        ({"tau": 0.0}, "tau=0.0 must be"),
        ({"tau": float("nan")}, "tau=nan must be"),
        ({"norm": "l3"}, "norm='l3' is unknown; use 'l2' or 'l1'"),
        ({"weight": 60.0}, "n_votes=50 must be"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        TauVoting(**{"sigma": 9.0, "n_votes": 50, "tau": 1.5, **parameters})


def test_sums_of_unclipped_ballots_are_refused():
    mechanism = TauVoting(sigma=9.0, n_votes=50, tau=1.2)
    with pytest.raises(ValueError, match=r"a row, 1, of norm 63.*clip_ballots"):
        mechanism.check_counts([[40.0, 40.0, 0.0], [45.0, 45.0, 0.0]])
    with pytest.raises(ValueError, match="51 ballots for label 0"):
        mechanism.check_counts([[51.0, 0.0]])
