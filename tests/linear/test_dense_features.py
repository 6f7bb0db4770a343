"""Dense features: any unit, constant columns, huge numbers."""

import warnings

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PublicData,
)
from secretballot.linear._columns import public_columns
from secretballot.linear._dense_features import ScaledColumns
from secretballot.linear._design import PriorGroup
from secretballot.linear._posterior import LOG_ODDS, updated_variances

pytestmark = pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
N = 3_000
ROWS = np.random.default_rng(0).normal(size=(N + 200, 5))
NUMBER = ROWS[:, 0] - ROWS[:, 1] + np.random.default_rng(1).normal(size=len(ROWS)) / 2


def numbers(features):
    return PrivateLinearRegression(
        features,
        target_bounds=(-10, 10),
        accountant=PrivacyAccountant(2.0, 1e-5),
        check_public_rows=False,
        random_state=0,
    )


def classes(features):
    return PrivateLogisticRegression(
        features,
        classes=[0, 1],
        accountant=PrivacyAccountant(2.0, 1e-5),
        check_public_rows=False,
        random_state=0,
    )


def in_units(unit):
    return FunctionTransformer(lambda rows: unit * rows)


@pytest.mark.parametrize("unit", [2.0**-100, 2.0**-20, 2.0**20, 2.0**200])
def test_the_unit_of_a_transformers_output_does_not_matter(unit):
    # Short features had no vote for residuals left: numbers failed after the budget was spent.
    public = PublicData(ROWS[N:])
    expected = numbers(in_units(1.0)).fit(ROWS[:N], NUMBER[:N], X_public=public)
    model = numbers(in_units(unit)).fit(ROWS[:N], NUMBER[:N], X_public=public)
    np.testing.assert_array_equal(model.predict(ROWS), expected.predict(ROWS))
    assert model.score(ROWS, NUMBER) > 0.8

    y = NUMBER > 0
    likely = classes(in_units(1.0)).fit(ROWS[:N], y[:N], X_public=public).predict_proba(ROWS)
    model = classes(in_units(unit)).fit(ROWS[:N], y[:N], X_public=public)
    np.testing.assert_array_equal(model.predict_proba(ROWS), likely)


@pytest.mark.parametrize("features", ["linear", "kernel", FunctionTransformer()])
@pytest.mark.parametrize("value", [0.0, 0.1])
@pytest.mark.filterwarnings("ignore:X_public. these columns tell a model little")
@pytest.mark.usefixtures("few_cosines")
def test_constant_columns_give_the_mean(features, value):
    # Public rows of .1 differ from their computed mean by rounding.
    rows = np.full((N, 3), value)
    model = numbers(features).fit(rows, NUMBER[:N], X_public=PublicData(rows[:200] + 0.0))
    assert np.isfinite(model.coef_).all()
    assert model.predict(rows[:1])[0] == pytest.approx(NUMBER[:N].mean(), abs=0.5)


@pytest.mark.parametrize("unit", [2.0**-1060, 2.0**1020])
def test_numbers_of_any_size_are_scaled(unit):
    small = np.round(ROWS[:50], 2)
    expected = ScaledColumns(public_columns(small, {}), {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = ScaledColumns(public_columns(small * unit, {}), {})
        transformed = features.transform(small * unit)
    np.testing.assert_allclose(transformed, expected.transform(small), atol=0.02)


def test_coefficients_of_short_features_may_be_large():
    groups = [
        PriorGroup(slice(0, 2), np.eye(2), is_column=False),
        PriorGroup(slice(2, 4), np.eye(2)),
    ]
    variances = updated_variances(
        groups, np.array([0.0, 60, 60, 60, 60]), np.zeros((5, 5)), LOG_ODDS, np.full(2, 0.5)
    )
    assert variances[0] > 1_000
    assert variances[1] == 10
