"""Data frames, texts, sparse matrices, and labels of every kind."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import get_tags

from secretballot.ensemble import PrivateTeacherEnsemble


@pytest.mark.parametrize(
    "names",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([-1, 1]),
        np.array([False, True]),
        np.array([3, 70], dtype=np.uint8),
        np.array([0.0, 1.0]),
    ],
    ids=lambda names: f"{names.dtype}-{names[0]}",
)
def test_labels(ensemble, private, public, names):
    (X, y), (pool, truth) = private, public
    ensemble.set_params(classes=names, epsilon=40.0).fit(X, names[y], X_public=pool)
    assert ensemble.classes_.tolist() == names.tolist()
    assert ensemble.score(pool, names[truth]) > 0.8
    assert ensemble.predict(pool).dtype == names.dtype
    labels, answered = ensemble.pool_labels_
    assert (labels[answered] == names[truth][answered]).mean() > 0.8


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.coo_array, sp.csc_matrix, sp.lil_array])
def test_sparse(ensemble, private, public, make):
    assert get_tags(ensemble).input_tags.sparse
    ensemble.fit(make(private[0]), private[1], X_public=make(public[0]))
    assert ensemble.n_features_in_ == 2
    assert ensemble.score(make(public[0]), public[1]) > 0.8


def test_tags_combine_estimator_and_student(ensemble):
    ensemble.set_params(student=GaussianNB())
    assert not get_tags(ensemble).input_tags.sparse
    ensemble.set_params(student=None)
    assert get_tags(ensemble).estimator_type is None
    assert get_tags(ensemble).input_tags.sparse


def test_data_frames(private, public, accountant):
    pandas = pytest.importorskip("pandas")

    def frame(X):
        job = np.where(X[:, 1] > 0, "clerk", "cook")
        return pandas.DataFrame({"age": X[:, 0], "job": job}, index=np.arange(len(X)) + 1000)

    learner = make_pipeline(
        make_column_transformer(
            (StandardScaler(), ["age"]), (OneHotEncoder(handle_unknown="ignore"), ["job"])
        ),
        LogisticRegression(),
    )
    ensemble = PrivateTeacherEnsemble(
        learner,
        10,
        student=clone(learner),
        classes=[0, 1],
        accountant=accountant,
        n_jobs=2,
        check_public_rows=False,
    )
    y = pandas.Series(private[1], index=np.arange(len(private[1])) + 1000)
    ensemble.fit(frame(private[0]), y, X_public=frame(public[0]))
    assert ensemble.feature_names_in_.tolist() == ["age", "job"]
    assert ensemble.to_student().feature_names_in_.tolist() == ["age", "job"]
    assert ensemble.score(frame(public[0]), public[1]) > 0.8
    with pytest.raises(ValueError, match=r"X_public must have the columns of X(.|\n)*wage"):
        ensemble.fit(
            frame(private[0]), y, X_public=frame(public[0]).rename(columns={"age": "wage"})
        )


def test_texts(accountant):
    texts = ["a good film", "a bad film"] * 30
    learner = make_pipeline(TfidfVectorizer(), LogisticRegression())
    ensemble = PrivateTeacherEnsemble(
        learner,
        5,
        student=learner,
        classes=["bad", "good"],
        accountant=accountant,
        check_public_rows=False,
    )
    y = ["good", "bad"] * 30
    ensemble.fit(texts, y, X_public=["good, good", "so bad"] * 4)
    assert ensemble.predict(["good", "bad"]).tolist() == ["good", "bad"]


def test_missing_values_reach_the_estimator(ensemble, private, public):
    X, pool = private[0].copy(), public[0].copy()
    X[::7, 1] = pool[::7, 1] = np.nan
    imputed = make_pipeline(SimpleImputer(), LogisticRegression())
    ensemble.set_params(estimator=imputed, student=imputed)
    ensemble.fit(X, private[1], X_public=pool)
    assert ensemble.score(pool, public[1]) > 0.8


def test_pickling(ensemble, private, public):
    ensemble.set_params(epsilon=30.0).fit(*private, X_public=public[0])
    copied = pickle.loads(pickle.dumps(ensemble))
    assert (copied.predict(public[0]) == ensemble.predict(public[0])).all()
    before = ensemble.accountant.spent()
    copied.set_params(epsilon=None).fit(*private, X_public=public[0])
    # One budget, whoever holds it.
    assert ensemble.accountant.spent().n_rows == before.n_rows + 30
