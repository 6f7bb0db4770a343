"""Teachers that are pipelines of skrub, each fitted to the rows of one teacher."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.checks._ensemble_checks import votes_after

from secretballot import PrivacyAccountant, PrivateTeacherEnsemble, PublicData

skrub = pytest.importorskip("skrub", reason="skrub is an extra: skrub")

N_TEACHERS = 6
JOBS = ("nurse", "pilot", "teacher", "judge", "baker", "12")


@pytest.fixture(scope="module")
def table():
    """Return a table of numbers, texts and missing cells, and its labels."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, size=400).astype(float),
            "job": rng.choice(JOBS, p=[0.3, 0.3, 0.3, 0.05, 0.03, 0.02], size=400),
            "code": rng.integers(100, 999, size=400).astype(str),
        }
    )
    y = (X["age"] + 20 * (X["job"] == "pilot") > 60).astype(int).to_numpy()
    X.loc[::9, "age"], X.loc[::11, "job"] = np.nan, None
    X.loc[::50, "code"] = "none"  # most teachers see numerals alone
    return X, y


def ensemble(accountant=None):
    """Return an ensemble of pipelines that few rows each are for."""
    estimator = skrub.tabular_pipeline(LogisticRegression())
    return PrivateTeacherEnsemble(
        estimator,
        N_TEACHERS,
        student=estimator,
        classes=[0, 1],
        accountant=accountant,
        random_state=0,
    )


@pytest.mark.filterwarnings("ignore")
def test_teachers_and_a_student_are_fitted_and_teachers_warn_together(table):
    X, y = table
    accountant = PrivacyAccountant(epsilon=200.0, delta=1e-5)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        fitted = ensemble(accountant).fit(X[:300], y[:300], X_public=PublicData(X[300:]))
    of_teachers = [str(one.message) for one in warned if "teachers warned" in str(one.message)]
    assert len(of_teachers) == 1
    assert "Found unknown categories" in of_teachers[0]
    assert len({str(one.message) for one in warned}) == len(warned)
    assert np.mean(fitted.to_student().predict(X[300:]) == y[300:]) > 0.75


def test_one_row_moves_one_ballot(table):
    X, y = table
    private, labels, public = X[:300], y[:300], X[300:]
    votes = votes_after(ensemble, private, labels, public)
    assert len(np.unique(votes, axis=0)) > 5
    strange = pd.DataFrame({"age": [1e6], "job": ["unheard of"], "code": [None]})
    other, other_labels = private.copy(), labels.copy()
    other.iloc[0], other_labels[0] = strange.iloc[0], 1 - labels[0]
    moved = np.abs(votes_after(ensemble, other, other_labels, public) - votes).sum(axis=1)
    assert 0 < moved.max() <= 2  # else nothing was tried
