"""Learners that are no classifiers, and other parameters of the wrong kind, found unpaid."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.ensemble import IsolationForest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.mistakes._mistake import (
    CLASSIFIERS,
    LABELS,
    POOL,
    ROWS,
    Mistake,
    X,
    cases,
    check,
    logistic,
    teachers,
)

from secretballot import PrivacyAccountant, PrivateTeacherEnsemble
from secretballot.ensemble import PrivateChoice
from secretballot.parties import Collaboration, Party
from secretballot.quantification import Bags, publish_proportions

NO_CLASSIFIERS = {
    "clusters": (KMeans(2), "is a clusterer"),
    "clusters, last of a pipeline": (make_pipeline(StandardScaler(), KMeans(2)), "is a clusterer"),
    "clusters, searched": (GridSearchCV(KMeans(2), {"n_init": [1, 2]}), "is a clusterer"),
    "outliers": (IsolationForest(), "is an outlier detector"),
    "a scaler": (StandardScaler(), "has no predict method"),
    "numbers": (LinearRegression(), "is a regressor"),
    "a class": (GaussianNB, "GaussianNB is a class; give an instance"),
}


def learner(name, at, value, message):
    settings = {"learner": value, "student": GaussianNB()} if at == "teacher" else {at: value}
    return Mistake(
        f"{at}: {name}",
        f"(?s){'estimator' if at == 'teacher' else at}=.*{message}",
        settings=settings,
        models=(teachers,),
    )


def parties_agree(make):
    def call(_):
        parties = [
            Party(
                GaussianNB(), name=f"{i}", accountant=PrivacyAccountant(4.0, 1e-5), classes=[0, 1]
            ).fit(X[i::4], LABELS[i::4])
            for i in range(4)
        ]
        Collaboration(parties).agree(make, n_rows=5)

    return call


MISTAKES = (
    *(
        learner(name, at, *found)
        for name, found in NO_CLASSIFIERS.items()
        for at in ("teacher", "student")
        if name != "a class"
    ),
    *(
        Mistake(
            f"party: {name}",
            f"(?s)estimator=.*{message}",
            lambda a, value=value: Party(value, name="a", accountant=a, classes=[0, 1]),
        )
        for name, (value, message) in NO_CLASSIFIERS.items()
    ),
    *(
        Mistake(
            f"agree: {name}",
            f"make={said} is no mechanism. Pass the class itself, such as GNMax",
            parties_agree(make),
        )
        for name, make, said in (
            ("its name", "GNMax", "'GNMax'"),
            ("nothing", None, "None"),
            ("another class", GaussianNB, "<ABCMeta>"),
        )
    ),
    Mistake(
        "parties: clusters",
        r"estimator\[0\] is a clusterer",
        data={"X": None, "y": None},
        settings={"learner": [FrozenEstimator(KMeans(2).fit(X))], "student": GaussianNB()},
        models=(teachers,),
        budget={"unit": "voter"},
    ),
    Mistake("no workers", "'n_jobs' .*1, inf.*Got 0", settings={"n_jobs": 0}, models=(teachers,)),
    Mistake(
        "a child without its part",
        r"budget 'x'.*child\(name, epsilon=\.\.\.\) makes one",
        lambda a: a.child("x"),
    ),
    Mistake(
        "labels for classes",
        r"classes=<650 labels> names a class twice. Name each once, such as classes=\[0, 1\]",
        settings={"classes": LABELS},
        models=CLASSIFIERS,
    ),
    Mistake(
        "labels for classes of proportions",
        "classes=<650 labels> names a class twice",
        lambda a: publish_proportions(
            Bags.from_groups(None, LABELS, np.arange(len(X)) % 9), LABELS, 1.0, 1e-5
        ),
    ),
    Mistake(
        "labels for classes of a party",
        "classes=<650 labels> names a class twice",
        lambda a: Party(GaussianNB(), name="a", accountant=a, classes=LABELS),
    ),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_learners(mistake, make):
    check(mistake, make)


@pytest.fixture(scope="module")
def labelled():
    """An ensemble with released labels, and no student yet."""
    accountant = PrivacyAccountant(4.0, 1e-5)
    return teachers(accountant, student=None).fit(X, LABELS, X_public=POOL)


@pytest.mark.parametrize(
    ("student", "message"),
    [
        *NO_CLASSIFIERS.values(),
        ("x", "student='x' is no estimator; give a classifier"),
        (LogisticRegression, "is a class"),
        (PrivateChoice([GaussianNB()]), "is made by fit"),
    ],
)
def test_students_of_labels_that_are_paid_for(labelled, student, message):
    before = vars(labelled).get("student_")
    with pytest.raises(ValueError, match=message):
        labelled.fit_student(student)
    assert vars(labelled).get("student_") is before


def test_classifiers_pass(labelled):
    for student in (GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())):
        assert labelled.fit_student(student).predict(ROWS).shape == (len(ROWS),)
    one = FrozenEstimator(GaussianNB().fit(X, LABELS))
    PrivateTeacherEnsemble([one], classes=[0, 1]).fit(None, None)


def test_logistic_regression_knows_its_classes():
    """Names of classes are listed in the error, if they are few."""
    with pytest.raises(ValueError, match=r"classes=\[0, 1, 1\] names a class twice"):
        logistic(PrivacyAccountant(4.0, 1e-5), classes=[0, 1, 1]).fit(X, LABELS, X_public=POOL)
