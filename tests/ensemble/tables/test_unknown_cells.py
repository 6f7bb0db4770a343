"""Rows whose cells are spelt otherwise than in the fit, for ensembles of tables."""

import datetime
import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from secretballot import (
    BudgetExceededError,
    GNMax,
    PrivacyAccountant,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.ensemble import TableEncoder, make_table_pipeline

pytestmark = [
    pytest.mark.filterwarnings("ignore:Noise drawn with"),
    pytest.mark.filterwarnings("ignore:the targets of some"),
]
START = pd.Timestamp("2015-01-01")


def visits(n_rows, seed):
    """Return a table in which only cells of "lab" are missing."""
    rng = np.random.default_rng(seed)
    lab = np.where(rng.random(n_rows) < 0.5, np.nan, rng.normal(size=n_rows))
    days = pd.to_timedelta(rng.integers(0, 2_000, n_rows), unit="D")
    return pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], n_rows),
            "age": rng.integers(18, 80, n_rows),
            "lab": lab,
            "since": START + days,
            "name": [f"{seed}-{row}" for row in range(n_rows)],
        }
    )


X, POOL, ROWS = visits(600, 0), visits(200, 1), visits(100, 2)
Y = (X["sex"] == "F").astype(int).to_numpy()
COMMAS = ROWS.assign(lab=[None if np.isnan(x) else str(x).replace(".", ",") for x in ROWS["lab"]])
UNKNOWN = {
    "spelt": (ROWS.assign(sex=ROWS["sex"] + "emale "), r"'sex' \(100.0%, .* it knows '[FM]', '"),
    "small": (ROWS.assign(sex=ROWS["sex"].str.lower()), r"'sex' \(100.0%"),
    "texts": (ROWS.assign(age="old"), r"'age' \(100.0%, against 0.0% in the fit"),
    "commas": (COMMAS, r"'lab' \(100.0%, against 5\d.\d% in the fit"),
    "dates": (ROWS.assign(since="the first of May"), r"'since' \(100.0%"),
}


@cache
def fitted(convert=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_table_pipeline(LogisticRegression(), POOL)
        convert = convert or (lambda frame: frame)
        return PrivateTeacherEnsemble(
            model,
            6,
            student=model,
            mechanism=GNMax(sigma=1.0),
            classes=[0, 1],
            epsilon=20.0,
            accountant=PrivacyAccountant(100.0, 1e-5, unit="owner"),
            random_state=0,
        ).fit(convert(X), Y, X_public=PublicData(convert(POOL)), owners=np.arange(len(X)))


@pytest.mark.parametrize("convert", [None, pl.from_pandas])
@pytest.mark.parametrize("kind", UNKNOWN)
def test_an_ensemble_and_its_student_warn_of_unknown_cells(kind, convert):
    (rows, message), model = UNKNOWN[kind], fitted(convert)
    rows = rows if convert is None else convert(rows)
    for of in (model, model.to_student()):
        for ask in (of.predict, of.predict_proba):
            with pytest.warns(UserWarning, match=f"most cells of X .*{message}.*Spell") as caught:
                ask(rows)
            assert len(caught) == 1
            assert "'name'" not in str(caught[0].message)


def test_known_cells_do_not_warn():
    model = fitted()
    half = pd.concat([ROWS[:50], UNKNOWN["spelt"][0][:50]])
    for rows in (ROWS, half, UNKNOWN["spelt"][0][:19], ROWS.assign(name="new")):
        for of in (model, model.to_student()):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                of.predict(rows)


@pytest.mark.parametrize("kind", UNKNOWN)
def test_predict_private_refuses_unknown_cells_before_it_pays(kind):
    rows, _ = UNKNOWN[kind]
    model, column = fitted(), UNKNOWN[kind][1].split("'")[1]
    spent = model.accountant.spent().share
    with pytest.raises(ValueError, match=f"nearly all cells of the column '{column}'.*Nothing"):
        model.predict_private(rows)
    assert model.accountant.spent().share == spent
    model.set_params(check_public_rows=False)
    try:
        with (
            pytest.warns(UserWarning, match=f"most cells of X .*'{column}'"),
            pytest.raises(BudgetExceededError),
        ):
            model.predict_private(rows)
    finally:
        model.set_params(check_public_rows=True)


@pytest.mark.parametrize("kind", UNKNOWN)
def test_a_score_of_unknown_cells_warns_and_quotes_no_cell(kind):
    """Private rows are not refused: a refusal would say what they hold."""
    rows, message = UNKNOWN[kind]
    with pytest.warns(UserWarning, match=f"{message}.*If X is private") as caught:
        fitted().score_private(rows, Y[:100], owners=np.arange(100), share=0.01)
    messages = [str(each.message) for each in caught]
    mark = "NOT FOR PUBLICATION, as it depends on private rows."
    assert all(message.endswith(mark) for message in messages)
    shown = "".join(messages)
    assert "emale " not in shown
    assert "old" not in shown
    assert "," not in shown.partition("'lab' (")[2].partition("against")[0].strip(", ")


def test_dates_may_be_days_as_in_linear_models():
    model = fitted()
    days = (ROWS["since"] - pd.Timestamp("1970-01-01")).dt.days
    encoder = TableEncoder().fit(POOL[["age", "since"]])
    expected = encoder.transform(ROWS[["age", "since"]])
    iso = ROWS["since"].dt.strftime("%Y-%m-%d")
    dates = [datetime.date.fromisoformat(day) for day in iso]
    for since in (days, days.astype(float), days.astype(object), iso, dates):
        rows = ROWS.assign(since=since)
        np.testing.assert_allclose(encoder.transform(rows[["age", "since"]]), expected)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(model.predict_proba(rows), model.predict_proba(ROWS))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="most")
        model.score_private(ROWS.assign(since=days), Y[:100], owners=np.arange(100), share=0.01)
    periods = ROWS[["age"]].assign(since=ROWS["since"].dt.to_period("D"))
    assert TableEncoder().fit(periods).left_out_ == []
