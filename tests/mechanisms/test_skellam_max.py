"""SkellamMax: what it charges for which noise, in every budget; shares; planted errors."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2
from tests._fakes import calibrated
from tests.checks._promises import check_promise
from tests.checks._registry import EXAMPLES

from secretballot.accounting import EVERYONE, BudgetExceededError, PrivacyAccountant, price_plan
from secretballot.costs import Step, _integer_moves
from secretballot.costs._integer_moves import IntegerBit, IntegerCounts
from secretballot.costs._noise import skellam
from secretballot.mechanisms import GNMax, SkellamMax, _noisy_max
from secretballot.testing import Neighbours
from secretballot.testing._outcome_laws import exact_divergence, outcome_law

TOGETHER = SkellamMax(variance=2.25, n_parties=10, n_colluders=3)


def covers_what_colluders_see(mechanism=TOGETHER):
    """Check that the charge covers winners with the noise that colluders can't subtract."""
    honest = SkellamMax(variance=mechanism.share_variance * 7)
    for one, other in (([8, 12], [7, 13]), ([5, 5], [6, 4]), ([5, 5, 0], [6, 4, 0])):
        laws = [outcome_law(honest, [votes]).log_probabilities[0] for votes in (one, other)]
        curve = exact_divergence(*laws).curve
        most = mechanism.max_cost(len(one))[EVERYONE].curve
        assert (curve[:-1] <= most[:-1] * (1 + 1e-9)).all(), "colluders learn more than is charged"


def covers_the_counts():
    """Check that opened counts are charged for both counts that move."""
    mechanism = SkellamMax(variance=2.25, opens="counts")
    f = skellam(2.25, 60).log_pmf
    law, moved = f[1:-1], (f[2:], f[:-2])  # what is beyond has less than 1e-70
    up = exact_divergence(law, moved[0]).curve[:60]
    down = exact_divergence(law, moved[1]).curve[:60]
    charged = mechanism.max_cost(3)[EVERYONE].curve[:60]
    assert (up + down <= charged * (1 + 1e-9)).all(), "counts reveal more than is charged"


def test_the_noise_of_honest_parties_is_charged():
    covers_what_colluders_see()
    assert TOGETHER.share_variance == pytest.approx(2.25 / 7)
    assert TOGETHER.total_variance == pytest.approx(22.5 / 7)
    alone = SkellamMax(variance=2.25)
    for columns in (1, 2, 3, None):
        one, other = (each.max_cost(columns)[EVERYONE].curve for each in (alone, TOGETHER))
        assert (one == other).all()
    assert not alone.max_cost(1)[EVERYONE].curve.any()


def test_counts_cost_more_than_winners():
    covers_the_counts()
    winner, counts = (SkellamMax(variance=9.0, opens=what) for what in ("winner", "counts"))
    for columns in (2, 3):
        one, other = (each.max_cost(columns)[EVERYONE].curve for each in (winner, counts))
        assert (one[:40] < 0.75 * other[:40]).all()


def test_missing_parties_take_their_noise_along():
    remaining = TOGETHER.without(2)
    assert (remaining.n_parties, remaining.n_colluders) == (8, 3)
    assert remaining.share_variance == pytest.approx(TOGETHER.share_variance)
    assert remaining.variance == pytest.approx(2.25 * 5 / 7)
    assert TOGETHER.without(0) == TOGETHER
    assert (
        remaining.max_cost(3)[EVERYONE].curve[:-1] > TOGETHER.max_cost(3)[EVERYONE].curve[:-1]
    ).all()
    with pytest.raises(ValueError, match="void"):
        TOGETHER.without(7)
    # A vote that was paid for is not drawn with less noise than was.
    accountant = PrivacyAccountant(50, 1e-5)
    reservation = accountant.reserve(TOGETHER, 1, n_columns=2)
    with pytest.raises(ValueError, match="tells more than what was paid for"):
        accountant.release(remaining, [[6, 4]], reservation=reservation)
    with pytest.raises(ValueError, match="not paid for"):
        accountant.release(replace(TOGETHER, opens="counts"), [[6, 4]], reservation=reservation)
    accountant.release(replace(TOGETHER, variance=3.0), [[6, 4]], reservation=reservation)


def test_shares_add_up_to_the_total_noise():
    rng, counts = np.random.default_rng(0), np.array([5, 4, 5])
    shares = [TOGETHER.share((20_000, 3), np.random.default_rng([7, k])) for k in range(10)]
    together = (counts + sum(shares)).argmax(axis=1)
    at_once = TOGETHER.sample(np.tile(counts, (20_000, 1)), rng)
    (log_p,) = outcome_law(TOGETHER, [counts]).log_probabilities
    for drawn in (together, at_once):
        seen, expected = np.bincount(drawn, minlength=3), 20_000 * np.exp(log_p)
        assert ((seen - expected) ** 2 / expected).sum() < chi2.isf(1e-9, 2)
    assert shares[0].dtype == np.int64
    assert TOGETHER.share(3, rng).shape == (3,)


@pytest.mark.parametrize("opens", ["winner", "counts"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_every_budget_is_kept_by_calibrated_noise(order, n_classes, opens):
    def make(noise):
        return SkellamMax(variance=noise**2, n_parties=5, n_colluders=1, opens=opens)

    wanted = {"epsilon": 4, "delta": 1e-5, "n_rows": 6, "n_columns": n_classes, "order": order}
    mechanism = calibrated(make, **wanted)
    accountant = PrivacyAccountant(4, 1e-5, order=order)
    answers = accountant.release(mechanism, np.full((7, n_classes), 9))
    assert len(answers) == 6
    assert answers.dtype == np.int64
    # Normal noise would have to be about as much; less is not enough. (Of high Renyi orders less
    # is, as tails are heavier.)
    if opens == "winner" and n_classes == 2 and order != "renyi":
        normal = calibrated(GNMax, **wanted)
        assert normal.sigma < math.sqrt(mechanism.variance) < normal.sigma * 1.03


def test_calibrate_finds_the_variance_of_a_class():
    mechanism = calibrated(SkellamMax, epsilon=2, delta=1e-5, n_rows=4, n_columns=2, order="renyi")
    assert mechanism == SkellamMax(variance=mechanism.variance)
    accountant = PrivacyAccountant(2, 1e-5, order="renyi")
    assert len(accountant.release(mechanism, [[30, 20]] * 5)) == 4


def test_a_plan_of_two_classes_is_a_game():
    # The Gaussian bits that it is played with are the exact ones' size, but for 1 / (6 variance).
    ours = price_plan(SkellamMax(variance=100.0), 10, n_columns=2).epsilon(1e-5)
    normal = price_plan(GNMax(sigma=10.0), 10, n_columns=2).epsilon(1e-5)
    assert normal < ours < normal * 1.003


def test_levels_pay_for_their_weight():
    cost = SkellamMax(variance=9.0, weight={"low": 1, "high": 3}).max_cost(2)
    plain = SkellamMax(variance=9.0, weight=3).max_cost(2)
    assert (cost["high"].curve == plain[EVERYONE].curve).all()
    assert (cost["low"].curve[:-1] < cost["high"].curve[:-1]).all()


def test_known_votes_are_refused():
    with pytest.warns(UserWarning, match="data_dependent"):
        accountant = PrivacyAccountant(8, 1e-5, order="renyi", accounting="data_dependent")
    with pytest.raises(ValueError, match="worst case only"):
        accountant.release(SkellamMax(variance=25.0), [[30, 4]])
    assert not accountant.entries()
    for refused in (
        lambda: SkellamMax(variance=25.0).max_cost(2, [[30, 4]]),
        lambda: SkellamMax(variance=25.0).cost([0], [[30, 4]]),
    ):
        with pytest.raises(ValueError, match="worst case only"):
            refused()


def half_the_noise(patch):
    draw = _noisy_max.draw_skellam
    patch.setattr(_noisy_max, "draw_skellam", lambda v, *shape: draw(v / 4, *shape))


def ties_go_to_the_last(patch):
    def sample(self, counts, rng):
        noisy = counts + self.share(counts.shape, rng)
        return noisy.shape[1] - 1 - noisy[:, ::-1].argmax(axis=1)

    patch.setattr(SkellamMax, "sample", sample)


def ties_charged_as_a_coin(patch):
    def cost(table, moved, orders):
        gaps = np.arange(-60, 60)
        first, second = (
            np.logaddexp(table.cdf_at(side * gaps), table.cdf_at(side * gaps - 1)) - np.log(2)
            for side in (1, -1)
        )
        moments = [
            orders[:, None] * each[moved:] + (1 - orders[:, None]) * each[:-moved]
            for each in (first, second)
        ]
        return np.logaddexp(*moments).max(axis=1)

    patch.setattr(_integer_moves, "_largest_bit", cost)
    _integer_moves.worst_integer_bit.cache_clear()


def charged_by(step):
    def fault(patch):
        patch.setattr(SkellamMax, "_step", lambda self, n_columns, weight: step(self))

    return fault


HALF_A_MOVE = charged_by(lambda self: Step("vote", IntegerBit.from_variance(2 * self.variance, 1)))
ALL_NOISE = charged_by(
    lambda self: Step("vote", IntegerBit.from_variance(2 * self.total_variance, 2))
)
AS_WINNER = charged_by(lambda self: Step("counts", IntegerBit.from_variance(2 * self.variance, 2)))
ONE_COUNT = charged_by(
    lambda self: Step("counts", IntegerCounts.from_variance(2 * self.variance, 1))
)


def on(example, promise):
    """Return a check on an example; at ties, where rules of ties tell most."""
    tied = tuple(
        Neighbours(np.array([one], float), np.array([other], float))
        for one, other in (([5, 5], [6, 4]), ([6, 5], [5, 6]), ([8, 12], [7, 13]))
    )
    chosen = EXAMPLES[example]
    if example.endswith("two classes"):
        chosen = replace(chosen, neighbours=tied)
    return lambda: check_promise(promise, chosen)


TWO, COUNTS = "SkellamMax of two classes", "SkellamMax of counts"
PLANTED = {
    "half the noise": (half_the_noise, on(TWO, "claim_survives_the_audit")),
    "ties go to the last": (ties_go_to_the_last, on(TWO, "draws_follow_the_stated_law")),
    "ties charged as a coin": (ties_charged_as_a_coin, on(TWO, "charges_pass_the_filter")),
    "a shift of 1": (HALF_A_MOVE, on(TWO, "charges_pass_the_filter")),
    "colluders' noise charged": (ALL_NOISE, covers_what_colluders_see),
    "counts charged as a winner": (AS_WINNER, covers_the_counts),
    "counts charged as one": (ONE_COUNT, covers_the_counts),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_errors_are_found(name, monkeypatch):
    fault, check = PLANTED[name]
    fault(monkeypatch)
    try:
        with pytest.raises(AssertionError):
            check()
    finally:
        _integer_moves.worst_integer_bit.cache_clear()


@pytest.mark.parametrize("check", [c for _, c in PLANTED.values()], ids=list(PLANTED))
def test_the_checks_pass_without_planted_errors(check):
    check()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"variance": 0.0}, "variance"),
        ({"variance": math.nan}, "variance"),
        ({"variance": 1e10}, "at most"),
        ({"variance": 1.0, "n_parties": 0}, "n_parties"),
        ({"variance": 1.0, "n_parties": 3}, "its own share"),
        ({"variance": 1.0, "n_parties": 3, "n_colluders": 3}, "fewer"),
        ({"variance": 1.0, "n_parties": 3, "n_colluders": 1.5}, "n_colluders"),
        ({"variance": 1.0, "opens": "all"}, "opens"),
        ({"variance": 1.0, "weight": 0.5}, "weight"),
        ({"variance": 1.0, "weight": {}}, "no level"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        SkellamMax(**parameters)


def test_counts_are_whole_and_nothing_beyond_the_budget_is_drawn():
    accountant = PrivacyAccountant(1, 1e-5)
    with pytest.raises(ValueError, match="integer"):
        accountant.release(SkellamMax(variance=100.0), [[2.5, 1.0]])
    with pytest.raises(BudgetExceededError):
        accountant.release(SkellamMax(variance=0.1), [[2, 1]])
    assert not accountant.entries()
    assert pickle.loads(pickle.dumps(TOGETHER)) == TOGETHER


def test_variance_that_changes_no_number_is_refused():
    with pytest.raises(ValueError, match=r"variance=1e-70 must be at least 1e-60"):
        SkellamMax(variance=1e-70)
    assert PrivacyAccountant(1e3, 1e-5).price(SkellamMax(variance=1e-2), n_columns=2) > 0
