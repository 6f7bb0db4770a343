"""Random cosines of columns: the kernel they approximate, exactness, and what they are good for."""

import numpy as np
import pandas as pd
import pytest

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.linear._columns import public_columns
from secretballot.linear._dense_features import KernelFeatures
from secretballot.tables._columns import Columns

pytestmark = pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")


def raw_table(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, 3)) * [1, 50, 1e-4]
    return pd.DataFrame(numbers, columns=list("abc")).assign(d=rng.choice(["x", "y", "z"], n_rows))


COLUMNS = Columns.of(raw_table(500))


def table(n_rows, seed=0):
    """Return rows as they are read."""
    return COLUMNS.read(raw_table(n_rows, seed)).table


@pytest.fixture(scope="module")
def features():
    return KernelFeatures(public_columns(raw_table(500), {}), {})


def test_inner_products_approximate_a_gaussian_kernel(features):
    X = table(40, seed=1)
    scaled = features._scaling.transform_columns(list(X.T))
    cosines = features._cosines(scaled)
    squares = ((scaled[:, None] - scaled[None]) ** 2).sum(axis=2)
    errors = cosines @ cosines.T - np.exp(-squares / (2 * 4))
    # Each inner product is a mean of 400 products, of a variance of at most 1 / 400.
    assert np.sqrt(np.mean(errors**2)) < 0.06


def test_features_of_a_row_do_not_depend_on_other_rows(features):
    X = table(257, seed=2)
    X[3, :2] = [np.nan, 1e300]
    together = features.transform_private(X)
    assert np.isfinite(together).all()
    assert (np.linalg.norm(together, axis=1) <= features.norm * (1 + 1e-12)).all()
    for rows in (slice(0, 1), slice(3, 4), slice(5, 77), slice(100, 257)):
        assert (features.transform_private(X[rows]) == together[rows]).all()


def test_classes_that_columns_tell_together():
    def spirals(n_rows, seed):
        X = np.random.default_rng(seed).normal(size=(n_rows, 4))
        return X, (X[:, 0] * X[:, 1] > 0) + 2 * (X[:, 2] * X[:, 3] > 0)

    (X, y), (test, answers) = spirals(8_000, 0), spirals(2_000, 1)
    scores = {}
    for kind in ("additive", "kernel"):
        model = PrivateLogisticRegression(
            kind,
            classes=range(4),
            accountant=PrivacyAccountant(9.0, 1e-5),
            random_state=0,
        ).fit(X, y, X_public=PublicData(spirals(400, 2)[0]))
        scores[kind] = model.score(test, answers)
    assert scores["additive"] < 0.35
    assert scores["kernel"] > 0.7
