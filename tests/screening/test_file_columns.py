"""Columns of a file that can't be meant: refused, or warned of, by public facts alone."""

import io

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.ensemble import make_table_pipeline

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
N, N_PUBLIC = 600, 60
X = pandas.DataFrame({"age": RNG.normal(50, 9, N).round(), "job": RNG.choice(["a", "b"], N)})
Y = (X["age"] > 50).to_numpy(dtype=int)
POOL = pandas.DataFrame(
    {"age": RNG.normal(50, 9, N_PUBLIC).round(), "job": RNG.choice(["a", "b"], N_PUBLIC)}
)


def classes(X_public, **declared):
    del X_public
    accountant = PrivacyAccountant(8.0, 1e-5)
    return PrivateLogisticRegression(classes=[0, 1], accountant=accountant, **declared)


def numbers(X_public, **declared):
    del X_public
    accountant = PrivacyAccountant(8.0, 1e-5)
    return PrivateLinearRegression(target_bounds=(0, 1), accountant=accountant, **declared)


def teachers(X_public, **declared):
    learner = make_table_pipeline(LogisticRegression(), X_public)
    accountant = PrivacyAccountant(8.0, 1e-5)
    return PrivateTeacherEnsemble(learner, 20, classes=[0, 1], accountant=accountant, **declared)


MODELS = pytest.mark.parametrize("make", [classes, numbers, teachers])


def with_column(rows, name, values):
    """Return rows with one column more, in front of the others."""
    table = rows.copy()
    table.insert(0, "new", values)
    return table.rename(columns={"new": name})


def refuse(model, rows, X_public, message):
    with pytest.raises(ValueError, match=message):
        model.fit(rows, Y, X_public=None if X_public is None else PublicData(X_public))
    assert model.accountant.entries() == []


@MODELS
@pytest.mark.parametrize(("separator", "name"), [("\t", "tabs"), (";", "semicolons")])
def test_a_file_that_was_read_as_one_column_is_refused(make, separator, name):
    misread, pool = (
        pandas.read_csv(io.StringIO(table.to_csv(sep=separator, index=False)))
        for table in (X, POOL)
    )
    assert pool.shape[1] == 1
    refuse(make(pool), misread, pool, f"whose name holds {name}: .*sep=")
    if make is not teachers:
        refuse(make(pool, categories={pool.columns[0]: ["a"]}), misread, None, f"holds {name}")


@MODELS
@pytest.mark.parametrize("name", ["Unnamed: 0", "index", "level_0", "", "nan"])
@pytest.mark.parametrize("step", [1, -2])
def test_a_column_without_a_name_that_numbers_the_rows_is_refused(make, name, step):
    rows = with_column(X, name, RNG.permutation(N))
    pool = with_column(POOL, name, step * np.arange(N_PUBLIC))
    refuse(make(pool), rows, pool, "seems to number the rows of a file: .*Leave it out, .*or name")


def test_dates_number_the_rows_too():
    days = pandas.date_range("2020-01-01", periods=N_PUBLIC)
    pool = with_column(POOL, "index", days)
    rows = with_column(X, "index", RNG.choice(days, N))
    refuse(classes(pool), rows, pool, "the column 'index' of X_public seems to number the rows")


@MODELS
def test_a_named_column_that_rises_from_row_to_row_is_warned_of(make):
    pool = with_column(POOL, "id", np.arange(N_PUBLIC))
    rows = with_column(X, "id", RNG.choice(N_PUBLIC, N))
    with pytest.warns(UserWarning, match="the values of 'id' all differ, and rise or fall"):
        make(pool).fit(rows, Y, X_public=PublicData(pool))


@MODELS
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("index", RNG.permutation(N_PUBLIC) / 2),  # a price index, say
        ("index", np.arange(N_PUBLIC) // 2),
        ("years; weeks", RNG.permutation(N_PUBLIC) / 2),
    ],
)
def test_columns_that_may_be_meant_are_read(make, name, values):
    rows, pool = with_column(X, name, RNG.choice(values, N)), with_column(POOL, name, values)
    make(pool).fit(rows, Y, X_public=PublicData(pool))


def test_readings_of_columns_refuse_them_too():
    pool = with_column(POOL, "Unnamed: 0", np.arange(N_PUBLIC))
    with pytest.raises(ValueError, match="seems to number the rows"):
        classes(pool).read_columns(pool)
    assert len(classes(pool, columns=["age", "job"]).read_columns(pool)) == 2
