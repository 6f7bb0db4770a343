"""Rows to predict whose columns are in another order than in the fit, lack some, or have others."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from tests.mistakes._mistake import (
    ALL,
    COLUMNS,
    JOBS,
    LABELS,
    PUBLIC_JOBS,
    PUBLIC_TABLE,
    TABLE,
    TARGETS,
    numbers,
    teachers,
)

from secretballot import PrivacyAccountant, PublicData
from secretballot.ensemble import TableEncoder, make_table_pipeline
from secretballot.quantification import (
    LabelProportionsClassifier,
    MMDClassRatioEstimator,
    PerBag,
    SoftmaxClassRatioEstimator,
)

pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with")
BAGS = np.arange(len(TABLE)) % 10 + 10 * (LABELS == 1) * (np.arange(len(TABLE)) % 3 > 0)
TABLES = [TABLE[BAGS == bag] for bag in np.unique(BAGS)]
RATIOS = np.array([[1 - share, share] for share in (LABELS[BAGS == b].mean() for b in range(20))])
OTHERS = {
    "order": (lambda frame: frame[COLUMNS[::-1]], None),
    "more": (lambda frame: frame.assign(label=1), None),
    "order and more": (lambda frame: frame.assign(label=1)[["label", *COLUMNS[::-1]]], None),
    "fewer": (lambda frame: frame.drop(columns="pay"), r"lacks the columns \['pay'\] of the fit"),
    "renamed": (lambda frame: frame.rename(columns={"pay": "PAY"}), r"lacks the columns \['pay'\]"),
}


def private(make):
    model = make(PrivacyAccountant(100.0, 1e-5), epsilon=40.0, random_state=0)
    y = TARGETS if make is numbers else LABELS
    return model.fit(TABLE, y, X_public=PublicData(PUBLIC_TABLE))


def models():
    """Return each model that predicts, with what its methods are given: rows, or bags of them."""
    by_name = {make.__name__: (private(make), None) for make in ALL}
    by_name["student"] = (by_name["teachers"][0].to_student(), None)
    labels = LabelProportionsClassifier(features=None, random_state=0)
    by_name["label proportions"] = (labels.fit(TABLES, proportions=RATIOS), None)
    for estimator in (MMDClassRatioEstimator(random_state=0), SoftmaxClassRatioEstimator()):
        by_name[type(estimator).__name__] = (estimator.fit(TABLES, RATIOS), "bag")
    by_name["PerBag"] = (PerBag(TableEncoder()).fit(TABLES), "bag")
    return by_name


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return models()


NAMES = [
    *("logistic", "teachers", "numbers", "student", "label proportions"),
    *("MMDClassRatioEstimator", "SoftmaxClassRatioEstimator", "PerBag"),
]
ASKS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "predict_interval")


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", NAMES)
def test_the_remedy(fitted, name, other):
    model, kind = fitted[name]
    (change, message), rows = OTHERS[other], TABLE.iloc[:50]
    y = (TARGETS if name == "numbers" else LABELS)[:50] if kind is None else RATIOS[:1]
    asks = [getattr(model, ask) for ask in (*ASKS, "transform") if hasattr(model, ask)]
    if hasattr(model, "score"):
        asks.append(lambda X: model.score(X, y))
    assert asks
    for ask in asks:
        given = (lambda table: [table]) if kind else (lambda table: table)
        with pytest.raises(ValueError, match=message) as error:
            ask(given(change(rows)))
        assert "The feature names should match those that were passed" in str(error.value)
        if message is None:
            remedy = re.search(r"its order: (.*)\.$", str(error.value))[1]
            table = eval(remedy, {"X": change(rows), "bag": change(rows), "model": model})
            np.testing.assert_equal(ask(given(table)), ask(given(rows)))


@pytest.mark.parametrize("make", ALL)
def test_the_remedy_of_polars(make):
    model = make(PrivacyAccountant(100.0, 1e-5), epsilon=40.0, random_state=0)
    y = TARGETS if make is numbers else LABELS
    rows, pool = pl.from_pandas(TABLE), PublicData(pl.from_pandas(PUBLIC_TABLE))
    model.fit(rows, y, X_public=pool)
    for ask in (model.predict, lambda X: model.score(X, y)):
        with pytest.raises(ValueError, match="same order") as error:
            ask(rows.select(COLUMNS[::-1]))
        remedy = re.search(r"its order: (.*)\.$", str(error.value))[1]
        table = eval(remedy, {"X": rows.select(COLUMNS[::-1]), "model": model})
        np.testing.assert_array_equal(ask(table), ask(rows))


# Encoders of public rows, inside an ensemble


def fit_with_encoder(order, encoded=PUBLIC_JOBS):
    learner = make_table_pipeline(LogisticRegression(), encoded)
    model = teachers(PrivacyAccountant(100.0, 1e-5), learner=learner, epsilon=40.0, random_state=0)
    return model.fit(JOBS[order], LABELS, X_public=PublicData(PUBLIC_JOBS))


def test_private_rows_in_another_order_than_the_public_ones_of_an_encoder():
    order = [*JOBS.columns]
    model, other = fit_with_encoder(order), fit_with_encoder(order[::-1])
    expected = model.predict_proba(JOBS)
    np.testing.assert_allclose(other.predict_proba(JOBS[order[::-1]]), expected)
    # A student with such an encoder finds columns by name itself.
    for rows in (JOBS, JOBS[order[::-1]], JOBS.assign(number=1)):
        np.testing.assert_allclose(other.to_student().predict_proba(rows), expected)
    private_rows = JOBS[order[::-1]]
    assert other.score_private(private_rows, LABELS, epsilon=20.0).accuracy > 0.9


def test_an_encoder_of_columns_that_private_rows_lack():
    learner = make_table_pipeline(LogisticRegression(), PUBLIC_JOBS)
    model = teachers(PrivacyAccountant(100.0, 1e-5), learner=learner, epsilon=40.0)
    with pytest.raises(ValueError, match=r"X lacks the columns \['job'\]") as error:
        model.fit(TABLE, LABELS, X_public=PublicData(PUBLIC_TABLE))
    assert not model.accountant.entries()
    rows = eval(re.search(r"X_public\.drop\(.*?\)", str(error.value))[0], {"X_public": PUBLIC_JOBS})
    fixed = make_table_pipeline(LogisticRegression(), rows)
    model.set_params(estimator=fixed, student=fixed)
    assert model.fit(TABLE, LABELS, X_public=PublicData(PUBLIC_TABLE)).score(TABLE, LABELS) > 0.9


def test_columns_with_numbers_as_names_go_by_position():
    """Those of a data frame that was made of an array."""
    encoder = TableEncoder().fit(pd.DataFrame(PUBLIC_TABLE.to_numpy()))
    with pytest.warns(UserWarning, match="X has feature names"):
        features = encoder.transform(TABLE)
    np.testing.assert_array_equal(features, encoder.transform(TABLE.to_numpy()))


@pytest.mark.parametrize("make", [make for make in ALL if make is not teachers])
def test_records_to_predict_are_answered_with_a_data_frame(make):
    model = private(make)
    records = TABLE.head(3).to_dict("records")
    with pytest.raises(ValueError, match=r"X has .* make a data frame, pandas.DataFrame\(X\)"):
        model.predict(records)
    assert len(model.predict(pd.DataFrame(records))) == 3
