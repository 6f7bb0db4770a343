"""Mistakes with a column of texts, and with models of one."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.mistakes._mistake import LABELS, N_PUBLIC, N, teachers

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
        ValueError, match="X is a table of several columns, and X_public is a single column"
    ):
        estimator.fit(TABLES["frame"], LABELS, X_public=PublicData(pd.Series(PUBLIC)))
    assert not estimator.accountant.entries()


@pytest.mark.parametrize("ask", ["predict", "predict_proba"])
def test_a_student_answers_each_row(fitted, ask):
    with pytest.raises(ValueError, match="1 labels for 650 rows.*pass the column"):
        getattr(fitted.to_student(), ask)(TABLES["frame"])
