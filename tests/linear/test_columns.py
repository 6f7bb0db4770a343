"""Tables as they come: which columns are read, and as what; dates; types of several libraries."""

import datetime
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PublicData,
)
from secretballot.accounting import BudgetExceededError
from secretballot.tables._cells import read_days

pytestmark = pytest.mark.filterwarnings("ignore:.*dates are read as days")
START = pd.Timestamp("2015-01-01")


def table(n_rows, seed):
    """Return rows, and classes that follow from a date."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_rows),
            "since": START + pd.to_timedelta(rng.integers(0, 2_000, n_rows), unit="D"),
            "job": rng.choice(["clerk", "nurse"], n_rows),
        }
    )
    y = (X["since"] > pd.Timestamp("2017-06-01")).to_numpy().astype(int)
    X.loc[rng.random(n_rows) < 0.1, "since"] = pd.NaT
    return X, y


def model(epsilon=4.0, **given):
    settings = {"classes": [0, 1], "interactions": 0, "rounds": 3} | given
    return PrivateLogisticRegression(accountant=PrivacyAccountant(epsilon, 1e-5), **settings)


X, Y = table(3_000, 0)
POOL = table(300, 1)[0]


@pytest.fixture(scope="module")
def fitted():
    """Return a model that is shared: don't change it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model().fit(X, Y, X_public=PublicData(POOL))


def test_columns_say_how_they_were_read(fitted):
    age, since, job = fitted.columns_
    assert [each.kind for each in fitted.columns_] == ["number", "date", "category"]
    assert job.labels == ("clerk", "nurse", "others")
    assert (*age.labels, "missing") == fitted.terms()[0].labels
    assert since.labels[0].startswith("up to 2015-")
    assert since.missing_share == POOL["since"].isna().mean()
    assert "datetime64" in since.dtype
    assert "since" in str(fitted.columns_)
    assert list(fitted.columns_.to_frame()["column"]) == ["age", "since", "job"]


def test_columns_are_described_before_anything_is_spent():
    asked = model()
    age, since, job = asked.read_columns(PublicData(POOL))
    assert (age.labels, job.labels) == (("18 to 79",), ("clerk", "nurse", "others"))
    assert since.kind == "date"
    assert not asked.accountant.entries()
    assert not hasattr(asked, "columns_")


DECLARED = {
    "bounds": {"age": (0, 120), "since": ("2010-01-01", "2021-06-30")},
    "categories": {"job": ["nurse", "clerk", "cook"]},
}


def test_declared_columns_are_described_without_public_rows():
    asked = model(**DECLARED)
    assert [(each.name, each.kind, each.labels) for each in asked.read_columns()] == [
        ("age", "number", ("0 to 120",)),
        ("since", "date", ("2010-01-01 to 2021-06-30",)),
        ("job", "category", ("clerk", "cook", "nurse", "others")),
    ]
    kinds = {each.name: each.kind for each in asked.fit(X, Y).columns_}
    assert kinds == {each.name: each.kind for each in asked.read_columns()}


def test_bounds_beside_public_rows_are_described():
    age, since, job = model(**DECLARED).read_columns(POOL)
    assert (age.labels, since.labels) == (("0 to 120",), ("2010-01-01 to 2021-06-30",))
    assert job.labels == ("clerk", "cook", "nurse", "others")


@pytest.mark.parametrize(
    ("given", "pool", "message"),
    [
        ({}, None, "X_public=None and bounds=None.*name the columns"),
        ({"bounds": (0, 1)}, None, "X_public=None and bounds=.0, 1..*name the columns"),
        ({"bounds": {"age": (9, 1)}}, None, "bounds of 'age'.*low below high"),
        ({"columns": ["age"], **DECLARED}, None, "'job'.*columns= leaves out"),
        ({"columns": ["age", "pay"], "bounds": {"age": (0, 1)}}, None, "nothing of .*'pay'"),
        ({"bounds": {"town": (0, 1)}}, POOL, "bounds names 'town'"),
        ({"bounds": {"job": (0, 1)}}, POOL, "bounds names 'job', which is no column of numbers"),
    ],
)
def test_wrong_declarations_are_found_when_columns_are_described(given, pool, message):
    with pytest.raises(ValueError, match=message):
        model(**given).read_columns(pool)


def test_private_rows_do_not_change_how_columns_are_read():
    strange = X.assign(age="x", since=1.5, job=pd.NaT)
    runs = [
        model(check_public_rows=False, n_bins=4).fit(rows, Y, X_public=PublicData(POOL))
        for rows in (X, X.assign(age=X["age"].where(X.index > 0, "x")))
    ]
    # Bins may be at released quantiles, which have noise.
    one, other = ([(e.kind, e.dtype, e.missing_share) for e in run.columns_] for run in runs)
    assert one == other
    assert runs[0].columns_[2].labels == runs[1].columns_[2].labels
    assert (runs[0].predict_proba(strange[:5]) == runs[0].predict_proba(strange[:1])).all()


@pytest.mark.parametrize("columns", [["since", "age"], [1, 0], np.array(["age", "since"])])
def test_columns_that_are_not_named_are_left_out(columns):
    fitted = model(columns=columns).fit(X, Y, X_public=PublicData(POOL))
    assert [each.name for each in fitted.columns_] == ["age", "since"]
    assert [term.name for term in fitted.terms()] == ["age", "since"]
    assert fitted.n_features_in_ == 3
    changed = X.assign(job="other")[["job", "since", "age"]][:50]
    ordered = changed[["age", "since", "job"]]
    np.testing.assert_array_equal(fitted.predict_proba(ordered), fitted.predict_proba(X[:50]))


@pytest.mark.parametrize(
    "pool",
    [POOL[["since", "age"]], POOL[["age", "since"]], POOL.assign(town="x")],
)
@pytest.mark.parametrize("columns", [["since", "age"], [0, 1]])
def test_public_rows_need_the_columns_that_are_read(columns, pool):
    fitted = model(columns=columns).fit(X, Y, X_public=PublicData(pool))
    assert [term.name for term in fitted.terms()] == ["age", "since"]
    assert fitted.public_rows_check_.count is not None
    assert list(fitted.feature_names_in_) == list(X.columns)
    whole = fitted.predict_proba(X[:50])
    np.testing.assert_array_equal(fitted.predict_proba(X[["age", "since"]][:50]), whole)
    asked = model(columns=["age", "job"])
    if "job" not in pool:
        with pytest.raises(
            ValueError, match="columns= names .'job'., which X_public does not have"
        ):
            asked.fit(X, Y, X_public=PublicData(pool))
        assert not asked.accountant.entries()


def test_private_rows_with_fewer_columns_are_no_public_rows():
    asked = model(columns=["age", "since"])
    rows = X[["age", "since"]][:200].copy().set_axis(range(9_000, 9_200))
    with pytest.raises(ValueError, match="rows that are rows of X too"):
        asked.fit(X, Y, X_public=PublicData(rows))
    assert not asked.accountant.entries()
    declared = PublicData(rows, may_be_private=True)
    asked.fit(X, Y, X_public=declared)


def test_columns_of_arrays_keep_their_positions():
    rows = np.random.default_rng(0).normal(size=(1_500, 4))
    for bounds, pool in ((None, PublicData(rows[:200] + 0.01)), ({1: (-3, 3), 3: (-3, 3)}, None)):
        fitted = model(columns=[3, 1], bounds=bounds).fit(rows, rows[:, 3] > 0, X_public=pool)
        assert [term.name for term in fitted.terms()] == [1, 3]
        assert fitted.score(rows, rows[:, 3] > 0) > 0.9


def test_a_regression_reads_chosen_columns():
    regression = PrivateLinearRegression(
        target_bounds=(0, 1), columns=["since"], accountant=PrivacyAccountant(4.0, 1e-5)
    ).fit(X, Y, X_public=PublicData(POOL))
    assert regression.score(X, Y) > 0.5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"columns": ["town"]}, "columns names 'town'"),
        ({"columns": [3]}, "columns names 3.*positions below 3"),
        ({"columns": []}, "one column at least"),
        ({"columns": ["age", 0]}, "twice"),
        ({"columns": ["age"], "categories": {"job": ["clerk"]}}, "'job'.*columns= leaves out"),
        ({"bounds": {"since": ("2020-01-01", "2019-01-01")}}, "bounds of 'since'.*low below high"),
    ],
)
def test_invalid_columns_cost_nothing(given, message):
    asked = model(**given)
    with pytest.raises(ValueError, match=message):
        asked.fit(X, Y, X_public=PublicData(POOL))
    assert not asked.accountant.entries()


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ([f"person {at}" for at in range(300)], "another text"),
        (300 * ["same"], "constant"),
        (np.ones(300), "constant"),
        (np.full(300, np.nan), "no public row has it"),
        (np.repeat([f"town {at}" for at in range(150)], 2), "all are 'others'"),
        ([f"{at / 10:.1f}" for at in range(300)], "numbers as texts.*astype"),
        ([f"{at % 20},0" for at in range(300)], "numbers as texts.*decimal=','"),
        ([*map(str, np.linspace(-1, 1e6, 290)), *["?"] * 10], "numbers as texts.*to_numeric"),
        ([f"{at % 28 + 1}.{at % 12 + 1}.2013" for at in range(300)], "dates as texts.*to_datetime"),
        ([f"2013-01-{at % 28 + 1:02} 10:00" for at in range(300)], "dates as texts.*to_datetime"),
        (np.array([1, 2] * 150, dtype=object), "nearly all numbers"),
    ],
)
def test_columns_that_tell_little_are_warned_of_by_name(cells, note):
    pool = POOL.assign(odd=cells)
    rows = pd.concat(10 * [pool], ignore_index=True)
    (reading,) = (each for each in model().read_columns(pool) if each.name == "odd")
    assert re.search(note, reading.note)
    asked = model(epsilon=1e-9)
    with (
        pytest.warns(UserWarning, match=r"'odd'.*columns=\["),
        pytest.raises(BudgetExceededError, match="Nothing was released"),
    ):
        asked.fit(rows, Y, X_public=PublicData(pool))
    assert not asked.accountant.entries()  # it warns before anything is spent
    assert not any(each.note for each in model(columns=["age", "job"]).read_columns(pool))


@pytest.mark.parametrize(
    "cells",
    [
        [str(at % 12) for at in range(300)],  # codes
        [f"{at % 40:05}" for at in range(300)],
        [["7", "seven", "eight"][at % 3] for at in range(300)],
    ],
)
def test_codes_as_texts_are_categories(cells):
    assert not any(each.note for each in model().read_columns(POOL.assign(odd=cells)))


@pytest.mark.filterwarnings("default:.*dates are read as days")
def test_dates_are_warned_of_with_what_may_say_more():
    with pytest.warns(UserWarning, match=r"'since'.*year, the month or the weekday"):
        model().fit(X, Y, X_public=PublicData(POOL))


DATES = {
    "seconds": lambda dates: dates.astype("datetime64[s]"),
    "zone": lambda dates: dates.dt.tz_localize("Europe/Berlin"),
    "period": lambda dates: dates.dt.to_period("D"),
    "text": lambda dates: dates.dt.strftime("%Y-%m-%d"),
}


@pytest.mark.parametrize("kind", DATES)
def test_dates_of_any_type_are_days(kind, fitted):
    other = X.assign(since=DATES[kind](X["since"]))
    if kind == "zone":
        # Midnight in Berlin is on the day before in UTC.
        assert np.mean(fitted.predict(other) == fitted.predict(X)) > 0.99
    else:
        np.testing.assert_array_equal(fitted.predict_proba(other), fitted.predict_proba(X))
    if kind != "text":  # texts are categories where public rows have them
        pool = POOL.assign(since=DATES[kind](POOL["since"]))
        assert model().fit(other, Y, X_public=PublicData(pool)).score(X, Y) > 0.9


def test_bounds_may_be_dates():
    bounds = {"since": (datetime.date(2014, 1, 1), "2021-01-01"), "age": (0, 100)}
    fitted = model(bounds=bounds, categories={"job": ["clerk", "nurse"]}).fit(X, Y)
    assert fitted.score(X, Y) > 0.9
    assert fitted.columns_[1].kind == "date"


def test_terms_are_tables(fitted):
    terms = fitted.terms()
    frame = terms.to_frame()
    assert list(frame.columns) == ["column", "bin", "effect", "error"]
    assert len(frame) == sum(len(term.effect) for term in terms)
    job = frame[frame["column"] == "job"]
    assert list(job["bin"]) == ["clerk", "nurse", "others", "missing"]
    np.testing.assert_array_equal(job["effect"], terms[2].effect)
    assert "<table>" in terms._repr_html_()
    assert isinstance(terms, list)


def test_html_of_terms_is_escaped():
    pool, rows = (each.assign(job="<b>") for each in (POOL, X))
    with pytest.warns(UserWarning, match="constant"):
        terms = model().fit(rows, Y, X_public=PublicData(pool)).terms()
    assert "&lt;b&gt;" in terms._repr_html_()
    assert "<b>" not in terms._repr_html_()


def plain(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "whole": rng.integers(0, 9, n_rows),
            "number": rng.normal(size=n_rows),
            "flag": rng.random(n_rows) < 0.5,
            "kind": rng.choice(["u", "v"], n_rows),
        }
    )
    return X, ((X["whole"] > 4) ^ (rng.random(n_rows) < 0.05)).to_numpy().astype(int)


def nullable(X):
    types = {"whole": "Int64", "number": "Float64", "flag": "boolean", "kind": "string"}
    return X.astype(types)


def arrow(X):
    pytest.importorskip("pyarrow")
    return X.convert_dtypes(dtype_backend="pyarrow")


def polars(X):
    return pytest.importorskip("polars").DataFrame(X.to_dict("list"))


def holed(convert):
    """Return the table with missing cells in a nullable type."""

    def with_holes(X):
        return convert(nullable(X).mask(np.arange(len(X))[:, None] % 7 == np.arange(4)))

    return with_holes


TYPES = {
    "numpy": lambda X: X,
    "nullable": nullable,
    "arrow": arrow,
    "polars": polars,
    "category": lambda X: X.assign(kind=X["kind"].astype("category")),
    "holes": holed(lambda X: X),
    "arrow, holes": holed(arrow),
    "polars, holes": holed(lambda X: polars(X.astype(object).where(X.notna(), None))),
}


@pytest.mark.filterwarnings("ignore:.*do not fit")
@pytest.mark.parametrize("kind", TYPES)
def test_types_of_libraries(kind):
    rows, y = plain(2_000, 0)
    convert = TYPES[kind]
    fitted = model().fit(convert(rows), y, X_public=PublicData(convert(plain(300, 1)[0])))
    kinds = [each.kind for each in fitted.columns_]
    assert kinds == ["number", "number", "category", "category"]
    assert fitted.columns_[2].labels[:2] == ("False", "True")
    assert fitted.columns_[3].labels[:2] == ("u", "v")
    assert fitted.score(convert(rows), y) > (0.85 if "holes" in kind else 0.9)


@pytest.mark.parametrize("columns", [None, ["age", "since"]])
def test_scores_on_private_rows_read_the_same_columns(columns):
    fitted = model(20.0, columns=columns).set_params(epsilon=10.0)
    fitted.fit(X, Y, X_public=PublicData(POOL))
    score = fitted.score_private(X, Y, epsilon=8.0)
    assert score.accuracy == pytest.approx(fitted.score(X, Y), abs=0.02)
    fitted.score_private(X.to_numpy(), Y, epsilon=1.0)


@pytest.mark.parametrize("kind", ["time", "duration"])
@pytest.mark.parametrize("others", [[1, 2], [1.5, np.nan], ["x", None], [True, False]])
def test_days_of_a_cell_are_the_same_whatever_the_other_cells_are(kind, others):
    for cell in (7, 7.0, True, datetime.date(1970, 1, 8), np.timedelta64(7, "D"), "1970-01-08"):
        alone = read_days(np.array([cell], dtype=object), kind)[0]
        for column in (pd.Series([cell, *others]), np.array([cell, *others], dtype=object)):
            np.testing.assert_equal(read_days(column, kind)[0], alone)


def test_public_columns_come_in_any_order():
    """Columns go together by name, and new rows have the order of the private ones."""
    fitted = model().fit(X, Y, X_public=PublicData(POOL[POOL.columns[::-1]]))
    assert list(fitted.feature_names_in_) == list(X.columns)
    assert [each.name for each in fitted.columns_] == list(X.columns)
    assert fitted.score(X, Y) > 0.9
