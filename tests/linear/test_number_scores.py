"""R^2 of a fitted regression on private rows: what is released, charged, clipped and refused."""

from copy import copy
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import r2_score
from sklearn.preprocessing import FunctionTransformer

from secretballot import PrivacyAccountant, PrivateLinearRegression, PublicData
from secretballot.accounting import BudgetExceededError
from secretballot.measures import PrivateRegressionScore, RegressionScorePrice
from secretballot.tables._people import People

pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with random_state")
N, BOUNDS = 6_000, (-10.0, 30.0)


class Counted(PrivacyAccountant):
    """Keep the exact numbers of scores."""

    def release(self, mechanism, counts, **options):
        """Keep the numbers, and release them."""
        self.counted = np.asarray(counts)
        self.charged = getattr(mechanism, "sensitivity", None)
        return super().release(mechanism, counts, **options)


def table(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.uniform(18, 90, n_rows), "job": rng.choice(["a", "b"], n_rows)})
    y = X.age / 9 + 4 * (X.job == "a") + 2 * rng.normal(size=n_rows)
    return X, y.to_numpy()


X, Y = table(N)
POOL = PublicData(table(300, 1)[0])


def model(epsilon=200.0, **given):
    given = {"target_bounds": BOUNDS, "epsilon": epsilon / 2, "random_state": 0, **given}
    given = {"accountant": Counted(epsilon, 1e-5), **given}
    return PrivateLinearRegression(check_public_rows=False, **given)


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X, Y, X_public=POOL)


def true_r2(fitted, X, y):
    return r2_score(np.clip(y, *BOUNDS), fitted.predict(X).clip(*BOUNDS))


def test_a_score_is_released_and_charged(fitted):
    fitted._n_scores = 0  # the same noise in any order of the tests
    before = fitted.accountant.spent().share
    price = fitted.price_score(N, sigma=4.0)
    assert isinstance(price, RegressionScorePrice)
    assert fitted.accountant.spent().share == before
    score = fitted.score_private(X, Y, sigma=4.0)
    assert isinstance(score, PrivateRegressionScore)
    assert fitted.accountant.spent().share - before == pytest.approx(price.share, rel=1e-6)
    assert fitted.accountant.entries()[-1].n_rows == 1
    assert price.largest_error == score.largest_error
    assert score.r2 == pytest.approx(true_r2(fitted, X, Y), abs=0.02)
    low, high = score.r2_interval
    assert low < true_r2(fitted, X, Y) < high
    assert (high - low) / 2 == pytest.approx(price.half_width, rel=0.5)
    assert score.rmse == pytest.approx(2.0, abs=0.2)
    assert fitted.score_private(X, Y, sigma=4.0) != score  # the noise is drawn anew


def test_a_clone_pays_from_the_same_budget(fitted):
    again = clone(fitted)
    assert again.accountant is fitted.accountant
    with pytest.raises(NotFittedError):
        again.price_score(N, sigma=9.0)
    with pytest.raises(NotFittedError):
        again.score_private(X, Y, sigma=9.0)
    entries = len(fitted.accountant.entries())
    copy(fitted).score_private(X, Y, sigma=9.0)
    assert len(fitted.accountant.entries()) == entries + 1


def test_what_cannot_be_paid_is_refused(fitted):
    entries = len(fitted.accountant.entries())
    for given, error, message in (
        ({"sigma": 1e-3}, BudgetExceededError, "Nothing was released"),
        ({"share": 0.05, "largest_error": -1.0}, ValueError, "largest_error=-1"),
        ({"share": 0.05, "owners": range(N)}, ValueError, "owners was given"),
        ({"share": 0.05, "level": 2}, ValueError, "level=2"),
    ):
        with pytest.raises(error, match=message):
            fitted.score_private(X, Y, **given)
    assert not fitted.price_score(N, sigma=1e-3).fits
    with pytest.raises(ValueError, match="NaN"):
        fitted.score_private(X, np.where(np.arange(N) == 3, np.nan, Y), share=0.05)
    with pytest.raises(ValueError, match="y has the index of X in another order"):
        fitted.score_private(X, pd.Series(Y)[::-1], share=0.05)
    with pytest.raises(ValueError, match="another budget than the one of the fit"):
        copy(fitted).set_params(accountant=PrivacyAccountant(9.0, 1e-5)).score_private(
            X, Y, share=0.05
        )
    with pytest.raises(ValueError, match="accountant=None"):
        copy(fitted).set_params(accountant=None).score_private(X, Y, share=0.05)
    assert len(fitted.accountant.entries()) == entries


def test_owners_are_averaged():
    owners = np.arange(N) // 3
    of_owners = model(accountant=Counted(200.0, 1e-5, unit="owner"))
    of_owners.fit(X, Y, X_public=POOL, owners=owners)
    score = of_owners.score_private(X, Y, owners=owners, sigma=3.0)
    assert (score.n, score.unit) == (N // 3, "owner")
    assert score.r2 == pytest.approx(true_r2(of_owners, X, Y), abs=0.05)
    with pytest.raises(ValueError, match="Pass owners="):
        of_owners.score_private(X, Y, share=0.05)


@pytest.mark.parametrize("cell", [np.nan, None, np.inf, -1e300, "x", 1j, [1.0]], ids=repr)
def test_a_cell_changes_its_own_row_alone(fitted, cell):
    fitted.score_private(X, Y, sigma=9.0)
    counted, other = fitted.accountant.counted, X.astype(object)
    for name in X:
        column = pd.Series(other[name].tolist(), dtype=object)
        column[5] = cell
        fitted.score_private(other.assign(**{name: column}), Y, sigma=9.0)
        assert ((counted - fitted.accountant.counted) ** 2).sum() <= 1


FAR = [(18.0, 1e300), (90.0, -1e300), (90.0, 10.0), (1e300, 0.0), (-1e300, 1e300)]


@pytest.mark.parametrize("unit", ["row", "owner"])
@pytest.mark.parametrize("planted", [False, True])
def test_neighbours_move_exact_sums_by_no_more_than_is_charged(unit, planted, monkeypatch):
    accountant = Counted(1e4, 1e-5, unit=unit)
    ids = None if unit == "row" else np.arange(600) // 3
    given = {"bounds": {"age": (0, 100)}, "categories": {"job": ["a", "b"]}}
    one = model(epsilon=20.0, accountant=accountant, **given).fit(X[:600], Y[:600], owners=ids)
    if planted:  # owners' vectors are added up, or rows' are twice as long
        factor = 2.0 if unit == "row" else 1.0
        monkeypatch.setattr(People, "sum_averages", lambda self, v: factor * v.sum(axis=0))
    moved = slice(9, 10) if unit == "row" else slice(9, 12)
    sums = []
    for age, target in FAR:
        rows, y = X[:600].copy(), Y[:600].copy()
        rows.iloc[moved, 0], y[moved] = age, target
        one.score_private(rows, y, owners=ids, sigma=1.0)
        sums.append([Fraction(each) for each in accountant.counted.ravel().tolist()])
    worst = (
        max(sum((a - b) ** 2 for a, b in zip(*pair, strict=True)) for pair in combinations(sums, 2))
        / Fraction(accountant.charged) ** 2
    )
    assert worst > 1 if planted else Fraction(1, 4) < worst <= 1


def without_one_age(rows):
    if (rows["age"] == 47.11).any():
        raise RuntimeError("not shown")
    return rows


def test_a_row_that_cannot_be_predicted_has_the_largest_error():
    numbers, pool = X[["age"]], PublicData(table(300, 1)[0][["age"]])
    frozen = FrozenEstimator(FunctionTransformer(without_one_age).fit(pool.X))
    plain = model(features=frozen).fit(numbers, Y, X_public=pool)
    given = {"sigma": 0.2, "largest_error": 8.0}
    before = plain.score_private(numbers, Y, **given).mse * N
    changed = numbers.copy()
    changed.loc[:99, "age"] = 47.11
    after = plain.score_private(changed, Y, **given).mse * N
    errors = (plain.predict(numbers[:100]).clip(*BOUNDS) - Y[:100]).clip(-8, 8)
    assert after - before == pytest.approx(100 * 64 - (errors**2).sum(), rel=0.05)


def test_errors_are_clipped_where_the_noise_asks_for_it(fitted):
    scales = [fitted._error_scale(noise, None) for noise in (1e-7, 1e-3, 1e-2, 1e-1)]
    sizes = [scale.largest_error for scale in scales]
    assert sizes[0] == 40.0  # without noise none is
    assert sizes[0] > sizes[1] >= sizes[2] >= sizes[3] > 2.3 * 2.0
    for scale in scales:
        assert scale.centre == pytest.approx(Y.mean(), abs=0.5)
        assert scale.deviation == pytest.approx(Y.std(), rel=0.15)
        assert scale.unexplained == pytest.approx(1 - true_r2(fitted, X, Y), abs=0.1)
        assert scale.largest_deviation >= 2 * scale.deviation
    assert fitted._error_scale(0.1, 5.0).largest_error == 5.0
    assert fitted._error_scale(0.1, 500.0).largest_error == 40.0


@pytest.mark.filterwarnings("ignore:target_bounds=.* over 100 times")
def test_bounds_that_are_far_too_wide_cost_little():
    widths = []
    for bounds in (BOUNDS, (-100.0, 300.0), (-1_000.0, 3_000.0)):
        wide = model(target_bounds=bounds).fit(X, Y, X_public=POOL)
        low, high = wide.score_private(X, Y, sigma=8.0).r2_interval
        widths.append(high - low)
        assert low < true_r2(wide, X, Y) < high
    assert widths[1] < 1.5 * widths[0]
    assert widths[2] < 4 * widths[0]  # residuals are far below the least scale of a fit


def test_a_histogram_without_a_tail_is_not_believed(fitted):
    expected = fitted._expected_errors
    none = replace(expected, residuals=replace(expected.residuals, large=0.0))
    for noise in (1e-5, 1e-3):
        largest = expected.scale(noise).largest_error
        assert none.scale(noise).largest_error == pytest.approx(largest, rel=0.1)


def test_intervals_hold_the_r2_of_the_rows(fitted):
    truth, held = true_r2(fitted, X, Y), []
    for _ in range(30):
        low, high = fitted.score_private(X, Y, sigma=20.0).r2_interval
        held.append(low <= truth <= high)
    assert np.mean(held) > 0.8  # of .95 and more: 3.8 standard errors, with the noise of this test
