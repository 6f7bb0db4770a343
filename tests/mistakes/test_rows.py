"""Mistakes with private rows: their kind, shape, columns and order."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from tests.mistakes._mistake import (
    JOBS,
    LABELS,
    LINEAR,
    PUBLIC_JOBS,
    PUBLIC_TABLE,
    ROWS,
    TABLE,
    Mistake,
    N,
    X,
    cases,
    check,
    teachers,
)

from secretballot import PublicData

TABLES = PublicData(PUBLIC_TABLE)
TWICE = ["age", "age", "pay", "hours"]

MISTAKES = (
    Mistake("rows and labels swapped", "X: expected 2D array", data={"X": LABELS, "y": X}),
    Mistake(
        "one column as a vector", r"X: expected 2D array.*reshape\(-1, 1\)", data={"X": X[:, 0]}
    ),
    Mistake("no rows", "X is (None|of type NoneType).*[Gg]ive", data={"X": None}),
    Mistake("a file name", r"X is of type str, .*pandas.read_csv", data={"X": "rows.csv"}),
    Mistake("a dict of columns", "X is of type dict.*Give a data frame", data={"X": {"age": [1]}}),
    Mistake(
        "a generator", "X is of type generator.*a list of rows", data={"X": (row for row in X)}
    ),
    Mistake(
        "a list of dicts",
        r"not a list of 4 cells. Of dicts make a data frame, pandas.DataFrame\(X\)",
        data={"X": TABLE.to_dict("records")},
    ),
    Mistake("private rows as PublicData", "X is PublicData", data={"X": PublicData(X)}),
    Mistake("a masked array", "X is a masked array.*Leave them out", data={"X": np.ma.array(X)}),
    Mistake(
        "a cube",
        "dim <= 2 is required: give rows of columns",
        data={"X": X[:, :, None], "X_public": PublicData(ROWS[:, :, None])},
        models=LINEAR,
    ),
    Mistake("transposed", "X has 4 rows, and y has 650 entries.*same table", data={"X": X.T}),
    Mistake("fewer labels", "y has 600 entries", data={"X": X, "y": LABELS[:600]}),
    Mistake(
        "labels in a row", r"y has 1 entries.*Pass y.ravel\(\)|1d array", data={"y": LABELS[None]}
    ),
    Mistake(
        "no row at all",
        "0 sample|X has no rows .*give the private rows",
        data={"X": X[:0], "y": []},
    ),
    Mistake(
        "no columns",
        "0 feature",
        data={"X": X[:, :0], "X_public": PublicData(ROWS[:, :0])},
    ),
    Mistake(
        "one row",
        "Use about 13 rows|needs at least as many rows.*lower n_teachers",
        data={"X": X[:1], "y": LABELS[:1]},
    ),
    Mistake(
        "a sparse table",
        r"for X, but dense.*X.toarray\(\)",
        data={"X": csr_array(X)},
        models=LINEAR,
    ),
    Mistake(
        "columns of one name",
        "several columns of the name 'age'. Rename them",
        data={"X": TABLE.set_axis(TWICE, axis=1), "X_public": PUBLIC_TABLE.set_axis(TWICE, axis=1)},
    ),
    Mistake(
        "names of several types",
        "convert them all to strings",
        data={
            "X": TABLE.set_axis(["age", 1, 2, 3], axis=1),
            "X_public": PUBLIC_TABLE.set_axis(["age", 1, 2, 3], axis=1),
        },
    ),
    Mistake(
        "the target among the columns",
        r"X has a column of the name of the target y, 'label'.*X.drop\(columns='label'\)",
        data={
            "X": TABLE.assign(label=LABELS),
            "y": pd.Series(LABELS, name="label"),
            "X_public": PublicData(PUBLIC_TABLE.assign(label=0)),
        },
    ),
    Mistake(
        "the target among the columns, in other codes",
        r"X has a column of the name of the target y, 'label'.*y.rename\('target'\)",
        data={
            "X": TABLE.assign(label=np.where(LABELS == LABELS[0], "yes", "no")),
            "y": pd.Series(LABELS, name="label"),
            "X_public": PublicData(PUBLIC_TABLE.assign(label="no")),
        },
    ),
    Mistake(
        "labels in another order",
        r"y has the index of X in another order.*Pass y.loc\[X.index\]",
        data={
            "X": TABLE,
            "y": pd.Series(LABELS).sample(frac=1, random_state=0),
            "X_public": TABLES,
        },
    ),
    Mistake(
        "labels of other rows",
        r"y has other index labels than X.*y.loc\[X.index\]",
        data={
            "X": TABLE.set_axis(range(1000, 1000 + N)),
            "y": pd.Series(LABELS, index=range(2000, 2000 + N)),
            "X_public": TABLES,
        },
    ),
    Mistake(
        "units of a column changed",
        "X_public does not match X.*same units",
        data={"X": TABLE.assign(age=TABLE.age * 365 + 1000), "X_public": TABLES},
        found="for 1 %",
    ),
    Mistake(
        "scaled before the estimator",
        "X_public does not match X.*same steps of a Pipeline",
        data={"X": X * 50 + 100},
        found="for 1 %",
    ),
    Mistake(
        "numbers with a currency",
        "X_public does not match X.*cells of another type.*'pay'",
        data={"X": TABLE.assign(pay=[f"{pay} EUR" for pay in TABLE.pay]), "X_public": TABLES},
        found="for 1 %",
    ),
    Mistake(
        "categories in capitals",
        "X_public does not match X.*codes.*'job'",
        data={"X": JOBS.assign(job=JOBS.job.str.upper()), "X_public": PublicData(PUBLIC_JOBS)},
        models=LINEAR,
        found="for 1 %",
    ),
    Mistake(
        "a column of missing cells",
        "X_public does not match X",
        data={"X": TABLE.assign(pay=np.nan), "X_public": TABLES},
        found="for 1 %",
    ),
    Mistake(
        "texts for teachers",
        "take make_table_pipeline.estimator, X_public.",
        data={"X": JOBS, "X_public": PublicData(PUBLIC_JOBS)},
        models=(teachers,),
    ),
    Mistake(
        "texts where columns are undeclared",
        "bounds says nothing of the column|no number|categories",
        data={"X": JOBS, "X_public": None},
        settings={"bounds": {"age": (-4, 4)}},
        models=LINEAR,
    ),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_rows(mistake, make):
    check(mistake, make)
