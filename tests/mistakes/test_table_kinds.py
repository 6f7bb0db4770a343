"""Texts beside matrices of numbers, sparse public rows, and bounds of the wrong kind."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.mistakes._mistake import (
    LINEAR,
    N_PUBLIC,
    PUBLIC_TABLE,
    TABLE,
    Mistake,
    N,
    cases,
    check,
    logistic,
    numbers,
    teachers,
)

from secretballot import PrivacyAccountant, PublicData

_RNG = np.random.default_rng(0)
WORDS = np.array([f"word{number}" for number in range(40)])
TEXTS = pd.DataFrame({column: _RNG.choice(WORDS, N) for column in range(3)})
COUNTS = _RNG.integers(0, 2, (N_PUBLIC, 3)).astype(float)
PRIVATE_COUNTS = _RNG.integers(0, 2, (N, 3)).astype(float)
COMMENTS = pd.Series(_RNG.choice(WORDS, N_PUBLIC), name="comment")
OF_TEXTS = {"learner": make_pipeline(TfidfVectorizer(), LogisticRegression())}
DAYS = pd.DataFrame({"day": pd.date_range("2020", periods=N), "age": np.arange(N) % 70})
PUBLIC_DAYS = pd.DataFrame(
    {"day": pd.date_range("2020", periods=N_PUBLIC, freq="5D"), "age": np.arange(N_PUBLIC) % 60}
).sample(frac=1, random_state=0)
#: Columns of texts that hold some numbers, which the noisy check finds.
SOME_NUMBERS = pd.DataFrame({0: np.where(np.arange(N) % 9, TEXTS[0], "1"), 1: 1.0, 2: 1.0})


def kinds(name, X, rows, models=(teachers,), settings=None):
    return Mistake(
        name,
        "tables of two kinds.*Nothing was released or spent.*make_pipeline",
        data={"X": X, "X_public": PublicData(rows)},
        models=models,
        settings=settings or {},
    )


def dates(name, bounds, message):
    return Mistake(
        name,
        message,
        data={"X": DAYS, "X_public": PUBLIC_DAYS},
        settings={"bounds": bounds},
        models=LINEAR,
    )


MISTAKES = (
    *(
        kinds(f"texts beside {make.__name__}", TEXTS, make(COUNTS))
        for make in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array)
    ),
    kinds("texts beside an array of numbers", TEXTS, COUNTS, (logistic, numbers, teachers)),
    kinds("objects beside a sparse matrix", TEXTS.to_numpy(object), sparse.csr_array(COUNTS)),
    kinds("a column of texts beside a sparse matrix", TEXTS[0], sparse.csr_array(COUNTS)),
    Mistake(
        "a list of texts beside numbers, which it is by every private cell",
        "tables of two kinds.*Nothing was released or spent.*make_pipeline.*NOT FOR PUBLICATION",
        data={"X": TEXTS[0].tolist(), "X_public": PublicData(COUNTS)},
        models=(teachers,),
    ),
    Mistake(
        "a private list with a short row",
        "^X has a row that is not a list of 3 cells.*NOT FOR PUBLICATION",
        data={"X": [*PRIVATE_COUNTS[1:].tolist(), [1.0]], "X_public": PublicData(COUNTS)},
        models=(logistic, teachers),
    ),
    kinds("numbers beside a column of texts", PRIVATE_COUNTS, COMMENTS, settings=OF_TEXTS),
    kinds(
        "a sparse matrix beside a column of texts",
        sparse.csr_matrix(PRIVATE_COUNTS),
        COMMENTS,
        settings=OF_TEXTS,
    ),
    kinds(
        "a sparse matrix beside objects",
        sparse.csr_matrix(PRIVATE_COUNTS),
        TEXTS[:N_PUBLIC].to_numpy(object)[::-1],
        settings={"student": None},
    ),
    *(
        Mistake(
            f"{name} beside a sparse matrix",
            "X_public does not match X.*NOT FOR PUBLICATION",
            data={"X": X, "X_public": PublicData(sparse.csr_matrix(COUNTS))},
            models=(teachers,),
            found="for 1 %",
        )
        for name, X in {
            "mixed columns": SOME_NUMBERS,
            "other units": sparse.csr_matrix(1_000 * PRIVATE_COUNTS + 5),
        }.items()
    ),
    dates(
        "years as bounds of dates",
        {"day": (2020, 2024)},
        "'day' of X_public holds times, .* are numbers.*Nothing was.*'2020-01-01', '2024-12-31'",
    ),
    dates("one pair for dates too", (0, 100), r"holds times, .* are numbers.*by column: bounds="),
    dates(
        "dates as bounds of numbers",
        {"age": ("2020-01-01", "2024-12-31")},
        r"'age' of X_public holds numbers, .* are times.*Declare numbers, \(low, high\)",
    ),
    dates(
        "durations as bounds of dates",
        {"day": (pd.Timedelta(0), pd.Timedelta(days=30))},
        "holds times, .* are durations.*Declare times",
    ),
)


@pytest.mark.filterwarnings("ignore:'day'")
@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_table_kinds(mistake, make):
    check(mistake, make)


@pytest.mark.filterwarnings("ignore:'day'")
@pytest.mark.parametrize("make", LINEAR)
def test_bounds_of_dates_beside_public_rows_are_taken(make):
    accountant = PrivacyAccountant(4.0, 1e-5)
    model = make(accountant, bounds={"day": ("2020-01-01", "2021-12-31"), "age": (0, 80)})
    assert model.read_columns(PUBLIC_DAYS)[0].labels == ("2020-01-01 to 2021-12-31",)


@pytest.mark.parametrize(
    ("kind", "form"), [(float, "csr_matrix"), (int, "csc_array"), (bool, "coo_matrix")]
)
@pytest.mark.parametrize("make", LINEAR)
def test_linear_models_read_and_price_sparse_public_rows(make, form, kind):
    rows = (COUNTS > 0).astype(kind)
    table = getattr(sparse, form)(rows)
    for columns in (None, [0, 2]):
        model = make(PrivacyAccountant(4.0, 1e-5), columns=columns)
        assert list(model.read_columns(table)) == list(model.read_columns(rows))
        assert str(model.price_fit(2_000, table)) == str(model.price_fit(2_000, rows))


RECORDS, PUBLIC_RECORDS = (
    pd.DataFrame({"age": _RNG.integers(18, 90, n), "pay": _RNG.normal(size=n)}).to_records(
        index=False
    )
    for n in (N, N_PUBLIC)
)
LABELS = (RECORDS["pay"] > 0).astype(int)


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)], ids=str)
@pytest.mark.parametrize("make", [*LINEAR, teachers])
def test_the_remedy_of_structured_arrays(make, shape):
    tables = {"X": RECORDS.reshape(shape), "X_public": PUBLIC_RECORDS.reshape(shape)}
    model = make(PrivacyAccountant(4.0, 1e-5))

    def fit():
        return model.fit(tables["X"], LABELS, X_public=PublicData(tables["X_public"]))

    for _ in tables:
        with pytest.raises(ValueError, match=r"is a structured array.*Pass .*DataFrame") as error:
            fit()
        assert not model.accountant.entries()
        name, remedy = re.search(r"(\w+) is .*, (pandas.*)\.$", str(error.value)).groups()
        tables[name] = eval(remedy, {"pandas": pd, name: tables[name]})
    assert list(fit().predict(tables["X"]).shape) == [N]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_sparse_rows_to_score_where_the_fit_had_a_table():
    labels = (TABLE["age"] > 0).astype(int).to_numpy()
    model = logistic(PrivacyAccountant(9.0, 1e-5), epsilon=5.0)
    model.fit(TABLE, labels, X_public=PublicData(PUBLIC_TABLE))
    rows = sparse.csr_array(TABLE.to_numpy())
    for given in (rows, rows.toarray()):  # read alike, but for the noise
        assert model.score_private(given, labels, share=0.1).accuracy > 0.9
