"""Scores of numbers on private rows: what rows cast, what is charged, what is refused."""

import json
import math
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import mean_squared_error, r2_score

from secretballot import PrivacyAccountant
from secretballot.accounting import BudgetExceededError
from secretballot.measures import price_regression_score, regression_score_private
from secretballot.measures._number_scores import unit_sum
from secretballot.measures._squared_errors import ErrorScale, diameter
from secretballot.tables._people import People

pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with random_state")

RNG = np.random.default_rng(0)
TRUTH = RNG.uniform(0, 10, 600)
PREDICTED = TRUTH + RNG.normal(size=600)
BOUNDS = (-2.0, 12.0)


def budget(epsilon=1.0, **options):
    return PrivacyAccountant(epsilon, 1e-5, **options)


def score(accountant, truth=TRUTH, predicted=PREDICTED, **arguments):
    arguments = {"target_bounds": BOUNDS, "random_state": 0, **arguments}
    return regression_score_private(accountant, truth, predicted, **arguments)


def nearly(truth, predicted, **arguments):
    """The score with next to no noise."""
    accountant = budget(1e9, unit="owner" if "owners" in arguments else "row")
    return score(accountant, truth, predicted, sigma=1e-4, **arguments)


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_a_score_costs_its_price(order):
    accountant = budget(order=order)
    price = price_regression_score(accountant, len(TRUTH), target_bounds=BOUNDS, sigma=6.0)
    assert accountant.spent().share == 0
    released = score(accountant, sigma=6.0)
    assert accountant.spent().share == pytest.approx(price.share, rel=1e-9)
    (entry,) = accountant.entries()
    assert entry.n_rows == 1
    assert json.loads(entry.mechanism)["mechanism"] == "VectorSum"
    note = json.loads(entry.note)
    assert (note["measured"], note["n_counted"]) == ("squared errors", 600)
    assert (released.n, released.unit, released.sigma, released.level) == (600, "row", 6.0, 0.95)
    assert price.largest_error == released.largest_error == 14.0


@pytest.mark.parametrize(("r2", "std"), [(0.5, 0.25), (0.9, 0.15), (0.2, 0.12)])
@pytest.mark.parametrize(("n", "share"), [(6_000, 0.9), (20_000, 0.2), (60_000, 0.02)])
def test_the_price_promises_the_width_that_scores_have(n, share, r2, std):
    given = {"target_bounds": (0.0, 1.0), "share": share}
    promised = price_regression_score(budget(), n, r2=r2, target_std=std, **given).half_width
    widths = []
    for seed in range(9):
        rng = np.random.default_rng(seed)
        predicted = 0.5 + std * math.sqrt(r2) * rng.normal(size=n)
        truth = predicted + std * math.sqrt(1 - r2) * rng.normal(size=n)
        low, high = score(budget(), truth, predicted, random_state=seed, **given).r2_interval
        widths.append((high - low) / 2)
    assert 0.85 < np.median(widths) / promised < 1.15
    assert 0.5 < min(widths) / promised
    assert max(widths) / promised < 2


def test_a_width_that_noise_makes_infinite_is_promised_as_such():
    given = {"target_bounds": (0.0, 1.0), "target_std": 0.01, "share": 0.01}
    assert price_regression_score(budget(), 5_000, **given).half_width == math.inf


def test_the_cost_is_that_of_the_noise():
    accountant = budget(3.0)
    released = score(accountant, epsilon=0.5)
    alone = budget(0.5)
    score(alone, sigma=released.sigma)
    assert 0.99 < alone.spent().share <= 1
    accountant = budget(4.0)
    price = price_regression_score(accountant, 600, target_bounds=BOUNDS)
    assert price.sigma == pytest.approx(math.sqrt(600) / 8)
    score(accountant, share=price.share)
    assert accountant.spent().amount == pytest.approx(64 / 600, rel=1e-8)


def test_levels_of_a_budget_pay_alike():
    accountant = budget({"low": 1.0, "high": 3.0})
    released = score(accountant, epsilon={"low": 0.5, "high": 2.0})
    shares = price_regression_score(
        accountant, 600, target_bounds=BOUNDS, sigma=released.sigma
    ).share
    spent = accountant.spent()
    assert {level: spent[level].share for level in shares} == pytest.approx(shares)
    assert shares["low"] > shares["high"]


def test_without_noise_it_is_that_of_scikit_learn():
    released = nearly(TRUTH, PREDICTED)
    assert released.r2 == pytest.approx(r2_score(TRUTH, PREDICTED.clip(*BOUNDS)), abs=1e-3)
    assert released.mse == pytest.approx(
        mean_squared_error(TRUTH, PREDICTED.clip(*BOUNDS)), abs=0.01
    )
    assert released.r2_interval[0] < released.r2 < released.r2_interval[1]
    assert released.rmse_interval[0] < released.rmse < released.rmse_interval[1]
    assert pickle.loads(pickle.dumps(released)) == released


@pytest.mark.filterwarnings("ignore:.*The noise hides the mean squared error")
def test_noise_is_as_large_as_it_says():
    accountant = budget(1e4)
    scale = ErrorScale.between(BOUNDS)
    drawn = [score(accountant, sigma=2.0, random_state=seed).mse for seed in range(80)]
    expected = 14.0**2 * 2.0 / 600 / scale.weights[0]
    assert np.std(drawn) == pytest.approx(expected, rel=0.4)  # five standard errors


@pytest.mark.filterwarnings("ignore:.*The noise hides .* or rows are too few")
def test_owners_have_equal_weight():
    # One has three rows with errors of 0, 0 and 3; another a row with an error of 1.
    truth, predicted = [1.0, 5.0, 6.0, 8.0], [1.0, 5.0, 9.0, 7.0]
    released = nearly(truth, predicted, owners=["a", "a", "a", "b"])
    assert released.mse == pytest.approx((9 / 3 + 1) / 2, abs=0.02)
    variance = np.cov(truth, aweights=[1, 1, 1, 3], ddof=0)
    assert released.r2 == pytest.approx(1 - 2 / float(variance), abs=0.01)
    assert (released.n, released.unit) == (2, "owner")


@pytest.mark.parametrize("strange", [None, math.nan, math.inf, -math.inf, "x", [1.0]], ids=repr)
def test_a_row_without_a_prediction_has_the_largest_error(strange):
    predicted = [*PREDICTED[:-1].tolist(), strange]
    for largest, error in ((None, 14.0), (3.0, 3.0)):
        given = {"largest_error": largest}
        others = nearly(TRUTH[:-1], PREDICTED[:-1], **given).mse * 599
        assert nearly(TRUTH, predicted, **given).mse * 600 - others == pytest.approx(
            error**2, rel=0.3
        )


SCALES = {
    "bounds": ErrorScale.between((-1.0, 1.0)),
    "clipped": ErrorScale.between((-1.0, 1.0), 0.5),
    "little clipped": ErrorScale.between((-1.0, 1.0), 0.01),
    "good": replace(
        ErrorScale.between((-1.0, 1.0), 1.0), centre=-0.4, largest_deviation=1.4, unexplained=0.01
    ),
    "alike": replace(
        ErrorScale.between((-1.0, 1.0), 0.5), centre=0.1, largest_deviation=0.5, unexplained=1.0
    ),
}


def grid_vectors(scale):
    """Return the vectors of rows on a grid of targets and predictions, ends among them."""
    deviations = np.linspace(-1.1, 1.1, 111) * scale.largest_deviation + scale.centre
    targets = np.concatenate([deviations, [-1e300, -1.0, 1.0, 1e300]])
    errors = np.array([-9.0, -1.0, -0.7, -0.4, 0.0, 0.5, 0.9, 1.0, 9.0]) * scale.largest_error
    pairs = [(z, np.clip(z, -1, 1) + error) for z, error in product(targets, errors)]
    pairs += [(z, math.nan) for z in targets]
    return scale.vectors(*np.array(pairs).T)


def furthest(vectors):
    """Return the largest distance between two vectors."""
    lengths = (vectors**2).sum(axis=1)
    return math.sqrt((lengths[:, None] + lengths - 2 * vectors @ vectors.T).max())


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_no_two_rows_are_further_apart_than_is_charged(scale):
    assert 0.999 < furthest(grid_vectors(scale)) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_the_diameter_of_any_weights_is_attained(seed):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.05, 1, 8)
    weights[3] *= weights[0] / 2
    q, t = np.meshgrid(np.linspace(0, 1, 13), np.linspace(-1, 1, 201))
    numbers = np.stack([q, t, t**2, q**2, q * t, q * t**2, t**3, t**4], axis=-1).reshape(-1, 8)
    assert furthest(numbers * weights) == pytest.approx(diameter(weights), rel=1e-4)
    assert furthest(numbers * weights) <= diameter(weights) * (1 + 1e-12)


def test_faults_of_vectors_would_be_seen():
    vectors = grid_vectors(SCALES["clipped"])
    assert furthest(2 * vectors) > 1  # half of the noise
    for number in range(8):  # not clipped
        assert furthest(np.where(np.arange(8) == number, 4 * vectors, vectors)) > 1


def exact_change(people, one, other, scale):
    """Return the squared distance of two data sets' sums, as a fraction of what is charged."""
    charged = Fraction(unit_sum(1.0).sensitivity) ** 2
    sums = [
        each.sum_averages(scale.vectors(*rows))
        for each, rows in zip(people, (one, other), strict=True)
    ]
    moved = zip(*(each.tolist() for each in sums), strict=True)
    return sum((Fraction(a) - Fraction(b)) ** 2 for a, b in moved) / charged


#: Rows that are far from each other: (target, prediction).
FAR = [(1.0, -1.0), (1.0, math.nan), (-1.0, 1.0), (0.0, 0.0), (-0.14, -0.14), (1e300, -1e300)]


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_a_row_moves_exact_sums_by_no_more_than_is_charged(scale):
    rng = np.random.default_rng(0)
    rows, worst = rng.uniform(-1, 1, size=(2, 5000)), Fraction(0)
    people = People.from_owners(budget(), None, 5000)
    for one, other in product(FAR, FAR):
        replaced = []
        for row in (one, other):
            data = rows.copy()
            data[:, 17] = row
            replaced.append(data)
        worst = max(worst, exact_change((people, people), *replaced, scale))
    assert Fraction(1, 2) < worst <= 1
    order = rng.permutation(5000)
    sums = [people.sum_averages(scale.vectors(*rows[:, at])) for at in (order, slice(None))]
    assert (sums[0] == sums[1]).all()


@pytest.mark.parametrize("n_rows", [1, 3, 700])
def test_an_owner_moves_exact_sums_by_no_more_than_is_charged(n_rows):
    rng, scale = np.random.default_rng(1), SCALES["clipped"]
    others, worst = rng.uniform(-1, 1, size=(2, 300)), Fraction(0)
    for one, other, n_others in product(FAR, FAR[::2], (1, 49)):
        data, people = [], []
        for row, n in ((one, n_rows), (other, n_others)):
            mine = np.repeat(np.array(row)[:, None], n, axis=1)
            mine[:, 1::2] = np.array(FAR[3])[:, None] if n == 49 else mine[:, 1::2]
            owners = np.concatenate([np.zeros(n, int), 1 + np.arange(300) // 3])
            people.append(People.from_owners(budget(unit="owner"), owners, len(owners)))
            data.append(np.concatenate([mine, others], axis=1))
        worst = max(worst, exact_change(people, *data, scale))
    assert Fraction(1, 2) < worst <= 1


def test_owners_without_averages_would_be_seen():
    scale, mine = SCALES["clipped"], np.array([[1.0] * 3, [-1.0] * 3])
    people = People(1, "owner", np.ones(3))
    assert exact_change((people, people), mine, 0 * mine, scale) > 1


@pytest.mark.parametrize(
    ("accountant", "arguments", "message"),
    [
        ({}, {"predicted": PREDICTED[:5]}, r"y_true has 600 rows and y_pred shape \(5,\)"),
        ({}, {"predicted": np.ones((600, 2))}, r"y_pred shape \(600, 2\)"),
        ({}, {"truth": []}, r"NOT FOR PUBLICATION"),
        ({}, {"truth": np.where(np.arange(600) == 3, np.nan, TRUTH)}, r"NaN.*NOT FOR PUBLICATION"),
        ({}, {"truth": ["a"] * 600}, r"NOT FOR PUBLICATION"),
        ({}, {"truth": np.ma.masked_array(TRUTH)}, r"y_true is a masked array"),
        ({}, {"predicted": np.ma.masked_array(TRUTH)}, r"y_pred is a masked array"),
        ({}, {"target_bounds": None}, r"target_bounds=None"),
        ({}, {"target_bounds": (3, 3)}, r"target_bounds=\(3, 3\) is no pair"),
        ({}, {"target_bounds": (-1e308, 1e308)}, r"is no pair"),
        ({}, {"target_bounds": "ab"}, r"target_bounds='ab' is no pair"),
        ({}, {"largest_error": 0.0}, r"largest_error=0\.0 must be a finite number above 0"),
        ({}, {"largest_error": math.inf}, r"largest_error=inf must be"),
        ({}, {"owners": range(600)}, r"owners was given, but the accountant's unit='row'"),
        ({"unit": "owner"}, {}, r"Pass owners=, one owner id per row"),
        ({"unit": "owner"}, {"owners": [1] * 3}, r"owners has 3 entries"),
        ({"relation": "add_remove"}, {}, r"relation='add_remove'"),
        ({}, {"sigma": 0}, r"sigma=0\.0 must be a finite number above 0"),
        ({}, {"sigma": 3, "epsilon": 1}, r"epsilon=1 and sigma=3: give one"),
        ({}, {"level": 1.0}, r"level=1\.0 must be"),
    ],
)
def test_bad_input_spends_nothing(accountant, arguments, message):
    accountant = budget(**accountant)
    given = {} if arguments.keys() & {"epsilon", "sigma"} else {"share": 0.05}
    with pytest.raises(ValueError, match=message):
        score(accountant, **arguments, **given)
    assert not accountant.entries()


def test_scores_beyond_the_budget_are_refused():
    accountant = budget()
    with pytest.raises(BudgetExceededError):
        score(accountant, sigma=0.1)
    price = price_regression_score(accountant, 600, target_bounds=BOUNDS, sigma=0.1)
    assert price.share > 1
    assert not price.fits
    assert "score more rows, accept a wider interval" in " ".join(str(price).split())
    for given, message in (
        ({"r2": 1.0}, "r2=1"),
        ({"target_std": -1.0}, "target_std=-1"),
        ({"target_bounds": (1, 0)}, "target_bounds"),
    ):
        with pytest.raises(ValueError, match=message):
            price_regression_score(accountant, 600, **{"target_bounds": BOUNDS, **given})
    with pytest.raises(ValueError, match="accountant=None"):
        score(None, share=0.05)
    assert not accountant.entries()


def test_extreme_bounds_and_errors_are_numbers():
    released = nearly(TRUTH * 1e300, PREDICTED * 1e300, target_bounds=(-2e300, 1.2e301))
    assert released.r2 == pytest.approx(nearly(TRUTH, PREDICTED).r2, abs=1e-3)
    assert math.isfinite(released.rmse)
    tiny = nearly(TRUTH, PREDICTED, largest_error=1e-70)
    assert tiny.rmse == pytest.approx(1e-70, rel=0.01)
