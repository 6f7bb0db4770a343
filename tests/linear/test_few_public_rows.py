"""Bins of numbers beside few public rows: equal widths, and quantiles of skewed columns."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import r2_score, roc_auc_score

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PublicData,
)
from secretballot.linear import _additive_bins
from secretballot.linear._additive_bins import public_bins
from secretballot.linear._columns import public_columns

pytestmark = pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")

POOLS = (15, 25, 50, 90)
SKEWED = np.random.default_rng(0).lognormal(sigma=2, size=5_000)


@pytest.fixture
def equal_widths(monkeypatch):
    """Plant the fault: no column is too skewed for equal widths."""

    def plant():
        monkeypatch.setattr(_additive_bins, "_SKEWED_SHARE", 2.0)

    return plant


def bins_of(x, n_bins, bounds=None):
    """Bins of one public column."""
    (column,) = public_columns(np.reshape(x, (-1, 1)), {})
    declared = None if bounds is None else {column.name: bounds}
    return public_bins([column], n_bins, {}, declared).columns[0]


def fullest_share(bins, x):
    """Share of the rows in the fullest bin."""
    return np.bincount(bins.codes(x)).max() / len(x)


@pytest.mark.parametrize("bounds", [None, (0, 1_000)])
@pytest.mark.parametrize("n_bins", [5, 11, 20])
@pytest.mark.parametrize("n_public", POOLS)
def test_no_bin_holds_most_rows_of_a_skewed_column(n_public, n_bins, bounds, equal_widths):
    public = np.random.default_rng(n_public).lognormal(sigma=2, size=n_public)
    bins = bins_of(public, n_bins, bounds)
    assert bins.n_bins == n_bins
    assert fullest_share(bins, SKEWED) < 0.5
    equal_widths()
    assert fullest_share(bins_of(public, n_bins, bounds), SKEWED) > 0.5


@pytest.mark.parametrize("bounds", [None, (-8, 8)])
@pytest.mark.parametrize("n_bins", [3, 8, 20])
@pytest.mark.parametrize("n_public", POOLS[1:])
def test_other_columns_have_equal_widths(n_public, n_bins, bounds):
    rng = np.random.default_rng(0)
    columns = {
        "uniform": rng.uniform(-8, 8, size=n_public),
        "normal": rng.normal(0, 2.5, size=n_public),
        "halves": rng.integers(-16, 17, size=n_public) / 2,
        "a frequent value": np.where(rng.random(n_public) < 0.6, 0, rng.uniform(-8, 8, n_public)),
    }
    for name, x in columns.items():
        equal = np.linspace(*(bounds or (x.min(), x.max())), n_bins + 1)[1:-1]
        np.testing.assert_array_equal(bins_of(x, n_bins, bounds).edges, equal, err_msg=name)


def test_no_edge_is_outside_of_declared_bounds():
    public = np.random.default_rng(0).lognormal(sigma=2, size=50) * 10
    bins = bins_of(public, 11, (0, 100))
    assert not np.array_equal(bins.edges, np.linspace(0, 100, 12)[1:-1])
    assert 0 <= bins.edges.min() < bins.edges.max() <= 100


def test_missing_public_numbers_leave_equal_widths():
    public = np.full(50, np.nan)
    public[:3] = [1.0, 1.1, 90.0]
    np.testing.assert_array_equal(
        bins_of(public, 11, (0, 100)).edges, np.linspace(0, 100, 12)[1:-1]
    )


def rows(n_rows, seed):
    z = np.random.default_rng(seed).normal(size=(n_rows, 4))
    return np.exp(1.5 * z), z @ [1.0, -1.0, 1.0, 0.7]


def area(n_public):
    """Area under the ROC curve with so many public rows."""
    (X, signal), (X_test, signal_test) = rows(4_000, 0), rows(4_000, 1)
    noise = np.random.default_rng(2).logistic(size=(2, 4_000))
    model = PrivateLogisticRegression(
        classes=[0, 1], accountant=PrivacyAccountant(1.0, 1e-5), random_state=0
    ).fit(X, signal > noise[0], X_public=rows(90, 3)[0][:n_public])
    return roc_auc_score(signal_test > noise[1], model.decision_function(X_test))


def explained(n_public):
    """R^2 of a regression with so many public rows."""
    (X, signal), (X_test, signal_test) = rows(4_000, 0), rows(4_000, 1)
    model = PrivateLinearRegression(
        target_bounds=(-6, 6), accountant=PrivacyAccountant(1.0, 1e-5), random_state=0
    ).fit(X, signal.clip(-6, 6), X_public=rows(90, 3)[0][:n_public])
    return r2_score(signal_test, model.predict(X_test))


@pytest.mark.parametrize("quality", [area, explained])
def test_more_public_rows_of_skewed_columns_do_no_harm(quality, equal_widths):
    few, more = quality(25), quality(90)
    assert more > few - 0.01
    equal_widths()
    assert quality(90) < more - 0.03


@pytest.mark.parametrize("features", ["kernel", "linear", "additive"])
@pytest.mark.parametrize("n_public", [20, 30])
@pytest.mark.usefixtures("few_cosines")
def test_features_of_whole_rows_are_warned_of_few_public_rows_before_anything_is_spent(
    features, n_public
):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2_000, 3))
    accountant = PrivacyAccountant(2.0, 1e-5)
    model = PrivateLinearRegression(
        features, target_bounds=(-3, 3), accountant=accountant, check_public_rows=False
    )
    X_public = PublicData(rng.normal(size=(n_public, 3)))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="features=")
        if features == "additive" or n_public == 30:
            model.fit(rows, rows[:, 0], X_public=X_public)
            return
        with pytest.raises(UserWarning, match="its 20 samples.*features='additive'"):
            model.fit(rows, rows[:, 0], X_public=X_public)
    assert accountant.spent().epsilon == 0
