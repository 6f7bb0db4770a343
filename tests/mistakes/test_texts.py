"""Mistakes with a column of texts, and with models of one."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.mistakes._mistake import LABELS, N_PUBLIC, N, logistic, teachers

from secretballot import PrivacyAccountant, PublicData
from secretballot._base._errors import NOT_FOR_PUBLICATION

_RNG = np.random.default_rng(0)
WORDS = np.array(["good bad", "great awful", "fine poor"])
TEXTS = [
    f"{WORDS[at].split()[1 - label]} it is"
    for at, label in zip(_RNG.integers(3, size=N), LABELS, strict=True)
]
PUBLIC = TEXTS[:N_PUBLIC]
LEARNER = make_pipeline(CountVectorizer(), LogisticRegression())
COLUMNS = {
    "pandas": (pd.Series, "fillna"),
    "objects": (lambda texts: pd.Series(texts, dtype=object), "fillna"),
    "strings": (lambda texts: pd.Series(texts, dtype="string"), "fillna"),
    "polars": (pl.Series, "fill_null"),
}
NUMBERS = np.arange(N)
TABLES = {
    "frame": pd.DataFrame({"comment": TEXTS}),
    "two columns": pd.DataFrame({"comment": TEXTS, "other": TEXTS}),
    "polars": pl.DataFrame({"comment": TEXTS}),
    "array": np.array(TEXTS, dtype=object)[:, None],
    "lists": [[text] for text in TEXTS],
}


def model(**settings):
    return teachers(PrivacyAccountant(30.0, 1e-5), learner=LEARNER, epsilon=20.0, **settings)


def with_gaps(texts):
    return [None if at % 50 == 0 else text for at, text in enumerate(texts)]


@pytest.fixture(scope="module")
def fitted():
    return model().fit(pd.Series(TEXTS), LABELS, X_public=PublicData(pd.Series(PUBLIC)))


@pytest.mark.parametrize("kind", COLUMNS)
def test_the_remedy_of_missing_public_texts(kind):
    make, fill = COLUMNS[kind]
    X, X_public = make(with_gaps(TEXTS)), make(with_gaps(PUBLIC))
    estimator = model()
    with pytest.raises(ValueError, match=r"X\.fillna\(''\) and X_public\.fillna\(''\)"):
        estimator.fit(X, LABELS, X_public=PublicData(X_public))
    assert not estimator.accountant.entries()
    X, X_public = (getattr(texts, fill)("") for texts in (X, X_public))
    estimator.fit(X, LABELS, X_public=PublicData(X_public))
    assert estimator.score(X, LABELS) > 0.9


@pytest.mark.parametrize("ask", ["predict", "predict_proba", "score", "score_private"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_missing_texts_are_refused_by_predictions_and_scores(fitted, kind, ask):
    make, fill = COLUMNS[kind]
    X, before = make(with_gaps(TEXTS)), len(fitted.accountant.entries())
    arguments = {"y": LABELS} if "score" in ask else {}
    arguments |= {"share": 0.01} if ask == "score_private" else {}
    with pytest.raises(ValueError, match="13 cells that are no texts") as error:
        getattr(fitted, ask)(X, **arguments)
    assert len(fitted.accountant.entries()) == before
    assert f"X.{fill}('')" in str(error.value)
    assert NOT_FOR_PUBLICATION in str(error.value)
    getattr(fitted, ask)(getattr(X, fill)(""), **arguments)


@pytest.mark.parametrize(
    "ask", ["predict", "predict_proba", "predict_private", "score", "score_private"]
)
@pytest.mark.parametrize("kind", [*TABLES, "numbers"])
def test_tables_are_refused_by_models_of_texts(fitted, kind, ask):
    X, before = TABLES.get(kind, NUMBERS), len(fitted.accountant.entries())
    arguments = {"y": LABELS} if "score" in ask else {}
    arguments |= {"share": 0.01} if ask == "score_private" else {}
    message = "numbers|1D array" if kind == "numbers" else r"is a table, .* such as \w+\['text'\]"
    with pytest.raises(ValueError, match=message):
        getattr(fitted, ask)(X, **arguments)
    assert len(fitted.accountant.entries()) == before


def test_a_series_of_numbers_is_refused_with_a_mark(fitted):
    """One text among them would make it a series of objects, which is read."""
    with pytest.raises(ValueError, match="a column of numbers.*NOT FOR PUBLICATION"):
        fitted.score_private(pd.Series(np.arange(N)), LABELS, share=0.01)


def test_the_remedy_of_a_table(fitted):
    with pytest.raises(ValueError, match="is a table") as error:
        fitted.predict(TABLES["frame"].rename(columns={"comment": "text"}))
    remedy = re.search(r"such as (X\['text'\])", str(error.value))[1]
    column = eval(remedy, {"X": {"text": TABLES["frame"]["comment"]}})
    assert len(fitted.predict(column)) == N


def test_a_private_table_beside_public_texts():
    estimator = model()
    with pytest.raises(
        ValueError, match="X is a table of columns, and X_public is a single column"
    ):
        estimator.fit(TABLES["frame"], LABELS, X_public=PublicData(pd.Series(PUBLIC)))
    assert not estimator.accountant.entries()


@pytest.mark.parametrize("ask", ["predict", "predict_proba"])
def test_a_student_answers_each_row(fitted, ask):
    with pytest.raises(ValueError, match="1 labels for 650 rows.*pass the column"):
        getattr(fitted.to_student(), ask)(TABLES["frame"])


# Remedies, followed to the end

FREE = [f"{text} {number}" for number, text in enumerate(TEXTS)]
FREE_PUBLIC = [f"{text} {number + N}" for number, text in enumerate(PUBLIC)]


def follow(make, X, X_public, message, **settings):
    """Fit what is refused before it is paid; return the remedy, and a fit of what it names."""
    accountant = PrivacyAccountant(30.0, 1e-5)
    given = {"epsilon": 20.0, **settings}
    with pytest.raises(ValueError, match=message) as error:
        make(accountant, **given).fit(X, LABELS, X_public=PublicData(X_public))
    assert accountant.spent().share < 0.01

    def fit(X, X_public, **changed):
        model = make(accountant, **{**given, **changed})
        return model.fit(X, LABELS, X_public=PublicData(X_public))

    return str(error.value), fit


def named(pattern, text, **names):
    """Evaluate what an error names, with what an import gives."""
    steps = {step.__name__: step for step in (*STEPS, LogisticRegression, make_pipeline)}
    return eval(re.search(pattern, text)[1], {**steps, "pandas": pd, **names})


STEPS = (CountVectorizer, TfidfVectorizer, HashingVectorizer, make_column_transformer)
COLUMN_STEP = r"(make_column_transformer\(\(\w+\(.*?\), .*?\)\)) of sklearn"


@pytest.mark.parametrize(
    ("X", "X_public"),
    [
        (TABLES["frame"], TABLES["frame"][:N_PUBLIC]),
        (TABLES["frame"].assign(n=1.0), TABLES["frame"].assign(n=1.0)[:N_PUBLIC]),
        (TABLES["frame"].assign(n=1.0)[["n", "comment"]], TABLES["frame"].assign(n=1.0)),
        (TABLES["polars"], TABLES["polars"][:N_PUBLIC]),
        (TABLES["array"], TABLES["array"][:N_PUBLIC].copy()),
        (TABLES["lists"], TABLES["lists"][:N_PUBLIC]),
    ],
    ids=["frame", "two columns", "texts second", "polars", "array", "lists"],
)
def test_the_remedy_of_tables_for_readers_of_texts(X, X_public):
    X_public = X_public[:N_PUBLIC]
    text, fit = follow(teachers, X, X_public, "reads one text a row", learner=LEARNER)
    step = named(COLUMN_STEP, text)
    model = fit(X, X_public, learner=make_pipeline(step, LogisticRegression()))
    assert model.score_private(X, LABELS, share=0.05).accuracy > 0.9


def test_the_student_alone_reads_texts():
    frame = TABLES["frame"]
    learner = make_pipeline(
        make_column_transformer((CountVectorizer(), "comment")), LogisticRegression()
    )
    text, fit = follow(
        teachers, frame, frame[:N_PUBLIC], "^student begins", learner=learner, student=LEARNER
    )
    student = make_pipeline(named(COLUMN_STEP, text), LogisticRegression())
    assert fit(frame, frame[:N_PUBLIC], student=student).score(frame, LABELS) > 0.9


def test_readers_of_texts_in_teachers_alone():
    model = teachers(None, learner=LEARNER, student=None)
    with pytest.raises(ValueError, match="^estimator begins with CountVectorizer"):
        model.fit(TABLES["frame"], LABELS)
    model.fit(pd.Series(TEXTS), LABELS)


@pytest.mark.parametrize(
    ("kind", "features"),
    [
        ("frame", HashingVectorizer(n_features=64)),
        ("frame", make_pipeline(CountVectorizer())),
        *((kind, CountVectorizer()) for kind in ("series", "list", "array")),
    ],
)
def test_the_remedy_of_features_that_read_texts(kind, features):
    make = {"frame": lambda texts: pd.DataFrame({"text": texts}), "series": pd.Series}
    make |= {"list": list, "array": lambda texts: np.array(texts, dtype=object)}
    X, X_public = make[kind](TEXTS), make[kind](PUBLIC)
    text, fit = follow(logistic, X, X_public, "^features begins with", features=features)
    if kind != "frame":
        X, X_public = (named(r"Pass (.*?),", text, X=rows) for rows in (X, X_public))
    model = fit(X, X_public, features=named(COLUMN_STEP, text))
    assert model.score(X, LABELS) > 0.9


@pytest.mark.parametrize(
    "make",
    [
        pd.Series,
        lambda texts: np.array(texts, dtype=object),
        lambda texts: pd.DataFrame({"comment": texts}),
        lambda texts: np.array(texts, dtype=object)[:, None],
    ],
    ids=["series", "objects", "frame", "array"],
)
def test_the_remedy_of_teachers_without_a_reader(make):
    """No encoder of tables learns from texts that no two rows share."""
    X, X_public = make(FREE), make(FREE_PUBLIC)
    learner = LogisticRegression()
    text, fit = follow(
        teachers, X, X_public, "could not convert string", learner=learner, student=None
    )
    model = named(r"(make_pipeline\(.*?LogisticRegression\(\)\))", text)
    fitted = fit(X, X_public, learner=model, student=model)
    assert fitted.score(X, LABELS) > 0.9


@pytest.mark.parametrize("least", [40, 100])
def test_the_remedy_of_words_that_too_few_rows_of_a_teacher_have(least):
    X, X_public = pd.Series(TEXTS), pd.Series(PUBLIC)
    learner = make_pipeline(CountVectorizer(min_df=least), LogisticRegression())
    message = "none of 20 teachers.*min_df counts the rows of one teacher, which has about 32"
    text, fit = follow(teachers, X, X_public, message, learner=learner)
    for value in re.findall(r"such as min_df=([.\d]*\d)", text):
        learner = make_pipeline(CountVectorizer(min_df=eval(value)), LogisticRegression())
        assert fit(X, X_public, learner=learner, epsilon=10.0).score(X, LABELS) > 0.9


@pytest.mark.parametrize("private_table", [True, False])
def test_the_remedy_of_a_table_beside_a_column(private_table):
    tables = {"X": pd.DataFrame({"comment": TEXTS}), "X_public": pd.DataFrame({"comment": PUBLIC})}
    columns = {name: table["comment"] for name, table in tables.items()}
    name = "X" if private_table else "X_public"
    rows = {**columns, name: tables[name]}
    text, fit = follow(teachers, **rows, message="of two kinds", learner=LEARNER)
    rows[name] = named(r"such as (X\w*\[.*?\])", text, **tables)
    assert fit(**rows).score(columns["X"], LABELS) > 0.9


@pytest.mark.parametrize("make", [list, pd.Series, lambda texts: np.array(texts, dtype=object)])
def test_one_dimension_is_refused_by_linear_models_without_cells(make):
    message = "^X: expected 2D array, got 1D array instead, of shape"
    follow(logistic, make(TEXTS), make(PUBLIC), message)
