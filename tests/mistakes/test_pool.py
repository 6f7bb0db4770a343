"""Mistakes with public rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from tests.mistakes._mistake import (
    ALL,
    JOBS,
    LINEAR,
    PUBLIC_JOBS,
    PUBLIC_TABLE,
    ROWS,
    TABLE,
    Mistake,
    X,
    cases,
    check,
    logistic,
    teachers,
)

from secretballot import GNMax, PublicData
from secretballot.ensemble import make_table_pipeline

GAPS = np.where(np.random.default_rng(0).random(ROWS.shape) < 0.1, np.nan, ROWS)


def pool(name, message, rows, models=ALL, X=X, found="before"):
    return Mistake(name, message, data={"X": X, "X_public": rows}, models=models, found=found)


MISTAKES = (
    pool("public rows forgotten", "neither X_public nor bounds.*Pass fit", None, LINEAR),
    pool("the private rows", "is X itself.*Pass rows of other people", X),
    pool("the private rows, wrapped", "is X itself.*Pass rows of other people", PublicData(X)),
    pool("a slice of private rows", "shares memory with X.*Pass rows of other", X[:100]),
    pool("copies of private rows", "100 rows that are rows of X too", X[:100].copy()),
    pool("a sample of a data frame", "index labels", TABLE.sample(100, random_state=0), X=TABLE),
    pool(
        "a sample without its index",
        "50 rows that are rows of X too.*Pass rows of other people",
        TABLE.sample(50, random_state=1).set_axis(range(9000, 9050)),
        X=TABLE,
    ),
    pool(
        "as many rows as private ones", r"Pass X_public=PublicData\(", np.tile(ROWS, (6, 1))[:650]
    ),
    pool("rows and their labels", r"tuple of 2 parts.*X_public=X_public\[0\]", (ROWS, [0] * 120)),
    pool("a file name", "X_public='pool.csv' is no table; give", "pool.csv"),
    pool("their number", "X_public=100 is no table; give", 100),
    pool("one column as a vector", "X_public: expected 2D array.*reshape", ROWS[:, 0]),
    pool("no rows", "X_public has 0 rows; give", ROWS[:0]),
    pool("five rows", "X_public has 5 sample.*give at least 10.*or .*bounds", ROWS[:5], LINEAR),
    pool(
        "three rows", "X_public has 3 row.* too few .* 2 classes.*at least 4", ROWS[:3], (teachers,)
    ),
    pool("a column less", "X_public must have the columns of X", ROWS[:, :3]),
    pool(
        "the target's column left in",
        r"X_public must have the columns of X.*X_public.drop\(columns=\['label'\]\)",
        PublicData(PUBLIC_TABLE.assign(label=1)),
        X=TABLE,
    ),
    pool(
        "a column of X is missing",
        r"X_public must have the columns of X.*X.drop\(columns=\['visits'\]\)",
        PublicData(PUBLIC_TABLE.drop(columns="visits")),
        X=TABLE,
    ),
    pool(
        "names in capitals",
        r"in any order: X lacks \['AGE'",
        PublicData(PUBLIC_TABLE.rename(columns=str.upper)),
        X=TABLE,
    ),
    pool("an infinite cell", "X_public contains infinity", np.where(ROWS > 2, np.inf, ROWS)),
    pool("a sparse pool", r"for X_public, but dense.*X_public.toarray", csr_array(ROWS), LINEAR),
    pool(
        "an empty column",
        r"3 .no public row has it.*columns=\[...\]",
        np.column_stack([ROWS[:, :3], np.full(120, np.nan)]),
        LINEAR,
    ),
    pool(
        "missing cells for teachers", "make_table_pipeline.estimator, X_public.", GAPS, (teachers,)
    ),
    pool(
        "one row repeated",
        r"tell a model little, or something wrong: 0 .constant.*columns=\[...\]",
        np.tile(ROWS[:1], (120, 1)),
        LINEAR,
    ),
    pool(
        "another unit in the pool",
        "X_public does not match X.*Give both the same units.*decimal points .12.5, not '12,5'",
        PublicData(PUBLIC_TABLE.assign(pay=PUBLIC_TABLE.pay * 100 + 900)),
        X=TABLE,
        found="for 1 %",
    ),
    pool(
        "columns of an array swapped",
        "X_public does not match X.*Give both the same units",
        PublicData(ROWS * [100, 1, 1, 1]),
        X=X * [1, 100, 1, 1],
        found="for 1 %",
    ),
    Mistake(
        "may_be_private=1",
        "may_be_private=1 is neither True nor False",
        lambda a: logistic(a).fit(X, X[:, 0] > 0, X_public=PublicData(X, may_be_private=1)),
    ),
    Mistake(
        "identifiers in an encoder",
        "'id': nothing can be learned from these columns",
        lambda a: make_table_pipeline(
            LogisticRegression(), PUBLIC_JOBS.assign(id=[f"person {row}" for row in range(120)])
        ),
    ),
    Mistake(
        "an encoder of other columns",
        "make_table_pipeline|encoder.*drop",
        lambda a: teachers(
            a,
            learner=make_table_pipeline(
                LogisticRegression(), PublicData(PUBLIC_JOBS.assign(tax=np.arange(120) % 7.0))
            ),
            mechanism=GNMax(sigma=5),
        ).fit(JOBS, X[:, 0] > 0, X_public=PublicData(PUBLIC_JOBS)),
    ),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_pool(mistake, make):
    check(mistake, make)
