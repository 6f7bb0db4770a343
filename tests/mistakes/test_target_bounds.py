"""Bounds of targets that most targets exceed."""

import warnings

import numpy as np
import pandas as pd
import pytest

from secretballot import PrivacyAccountant, PrivateLinearRegression, PublicData
from secretballot.tables import PrivateParts

pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with random_state")
N = 3000


def draw(seed, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] + X[:, 1] / 2 + rng.normal(scale=0.5, size=n), rng.normal(size=(300, 4))


def skewed(seed):
    """Draw targets of which most lie near the lower bound, and none beyond."""
    X, y, public = draw(seed)
    return X, np.exp(1.2 * y), public


def fit(X, y, public, bounds, seed, budget=1.0, **settings):
    accountant = PrivacyAccountant(budget, 1e-5)
    model = PrivateLinearRegression(
        target_bounds=bounds, accountant=accountant, random_state=seed, **settings
    )
    if public is None:
        return model.fit(X, y)
    return model.fit(X, y, X_public=PublicData(public))


def finding(*arguments, **settings):
    """Return the words by which a fit refuses bounds, or warns of them; "" if it does neither."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit(*arguments, **settings)
        except ValueError as error:
            return str(error)
    texts = [str(warning.message) for warning in caught]
    return next((text for text in texts if "lie beyond" in text), "")


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_targets_of_which_most_are_beyond_the_bounds_are_found(epsilon):
    for seed in range(5):
        X, y, public = draw(seed)
        found = finding(X, y, public, (-6, np.quantile(y, 0.2)), seed, epsilon)
        assert "target_bounds=" in found
        assert "Declare bounds in the unit of y" in found


@pytest.mark.parametrize("make", [draw, skewed])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_targets_within_the_bounds_give_no_alarm(make, epsilon):
    for seed in range(5):
        X, y, public = make(seed)
        bounds = (-9, 9) if make is draw else (0, 200)
        assert finding(X, y, public, bounds, seed, epsilon) == ""


def test_a_column_beyond_the_public_rows_is_not_taken_for_targets():
    """A category that public rows lack, and skewed targets within generous bounds."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, public = (
            pd.DataFrame({"age": rng.uniform(20, 90, n), "ward": rng.choice(wards, n)})
            for n, wards in ((6_000, ["A", "B", "new"]), (400, ["A", "B"]))
        )
        days = np.exp(0.6 + 0.012 * X["age"] + rng.normal(0, 0.6, len(X)))
        assert finding(X, days.rename("days"), public, (0, 120), seed) == ""


@pytest.mark.parametrize("n", [300, N])
@pytest.mark.parametrize("quantile", [0.65, 0.7])
def test_targets_of_which_a_third_is_beyond_the_bounds_are_warned_of(quantile, n):
    for seed in range(2):
        X, y, public = draw(seed, n)
        found = finding(X, y, public, (-9, np.quantile(y, quantile)), seed)
        assert "more than a quarter of the targets lie beyond target_bounds=(-9.0, " in found
        assert "Name wider bounds" in found
        assert "NOT FOR PUBLICATION" in found


@pytest.mark.parametrize("declared", [False, True])
def test_most_targets_beyond_the_bounds_are_refused_for_the_price_of_the_check(declared):
    X, y, public = draw(0)
    accountant = PrivacyAccountant(1.0, 1e-5)
    bounds = {"bounds": (-6, 6)} if declared else {}
    model = PrivateLinearRegression(
        target_bounds=(0, 6), accountant=accountant, random_state=0, **bounds
    )
    pool = {} if declared else {"X_public": PublicData(public)}
    with pytest.raises(ValueError, match=r"target_bounds=\(0.0, 6.0\) .*NOT FOR PUBLICATION"):
        model.fit(X, 1000 * y, **pool)
    assert accountant.spent().share < 0.0101


def test_targets_in_parts_are_counted_too(tmp_path):
    X, y, public = draw(0)
    frame = pd.DataFrame(X, columns=list("abcd"))
    owned = frame.assign(y=1000 * y, who=np.arange(N))
    owned.to_parquet(tmp_path / "rows.parquet")
    parts = PrivateParts.from_parquet(tmp_path / "rows.parquet", owners="who", y="y")
    accountant = PrivacyAccountant(1.0, 1e-5, unit="owner")
    model = PrivateLinearRegression(target_bounds=(0, 6), accountant=accountant, random_state=0)
    pool = PublicData(pd.DataFrame(public, columns=list("abcd")))
    with pytest.raises(ValueError, match="target_bounds=.* private targets lie beyond"):
        model.fit(parts, X_public=pool)
    model.set_params(target_bounds=(-9_000, np.quantile(1000 * y, 0.65)))
    with pytest.warns(UserWarning, match="a quarter of the targets lie beyond target_bounds="):
        model.fit(parts, X_public=pool)


@pytest.mark.filterwarnings("ignore:target_bounds=.*nearly all private targets seem to lie")
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_scores_that_far_too_wide_bounds_hide_are_refused(epsilon):
    X, y, public = draw(0)
    y = 9 + y
    model = fit(X, y, public, (0, 5_000), 0, epsilon, epsilon=0.8 * epsilon)
    spent = model.accountant.spent().share
    assert model.price_score(N, share=0.05).half_width == np.inf
    with pytest.raises(ValueError, match="warning of the fit: noise hides .*closer target_bounds="):
        model.score_private(X, y, share=0.05)
    assert model.accountant.spent().share == spent
    with pytest.warns(UserWarning, match="The noise hides"):
        assert np.isfinite(model.score_private(X, y, sigma=N / 50).rmse_interval[1])


def test_scores_within_bounds_that_are_ten_times_too_wide_are_released():
    X, y, public = draw(0)
    model = fit(X, y, public, (-20, 20), 0, 8.0, epsilon=7.0)
    assert model.score_private(X, y, share=0.05).r2_interval[0] > 0
