"""The student: free, public, and trained on what was released."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateLabels, PrivateTeacherEnsemble, PublicStudent
from secretballot.ensemble.student import fit_student
from secretballot.mechanisms import GNMax
from secretballot.tables._randomness import Randomness

CLASSES = np.array(["no", "yes"])
X = np.array([[0.0], [1.0], [2.0], [3.0]])


def released(*labels):
    return PrivateLabels(
        np.array(labels, dtype=object), np.array([label is not None for label in labels])
    )


def test_without_a_student_there_is_no_prediction():
    ensemble = PrivateTeacherEnsemble(LogisticRegression())
    assert not is_classifier(ensemble)
    for method in ("predict", "predict_proba", "score"):
        assert not hasattr(ensemble, method)
    for method in (lambda: ensemble.predict(X), lambda: ensemble.score(X, [0, 0, 1, 1])):
        with pytest.raises(AttributeError, match="student=None, so .* predict_private"):
            method()
    ensemble.set_params(student=LogisticRegression())
    assert is_classifier(ensemble)
    with pytest.raises(NotFittedError):
        ensemble.predict(X)


def test_predictions_cost_nothing(ensemble, private, public):
    ensemble.fit(*private, X_public=public[0])
    before = ensemble.accountant.spent()
    ensemble.predict(private[0])
    ensemble.predict_proba(private[0])
    ensemble.score(*private)
    after = ensemble.accountant.spent()
    assert (after.share, after.n_releases) == (before.share, before.n_releases)


def test_unanswered_rows_are_dropped_or_marked():
    labels = released("no", None, "yes", "yes")
    tree = RandomForestClassifier(n_estimators=2)
    dropped = fit_student(tree, X, labels, CLASSES, "drop", Randomness.from_seed(0))
    assert dropped.classes_.tolist() == [0, 1]
    marked = fit_student(tree, X, labels, CLASSES, "mark", Randomness.from_seed(0))
    assert marked.classes_.tolist() == [-1, 0, 1]
    # A student that doesn't know -1 gives it no probability, and is told if it predicts it.
    student = PublicStudent(marked, CLASSES, {})
    assert student.predict_proba(X).shape == (4, 2)
    constant = DummyClassifier(strategy="constant", constant=-1).fit(X, [-1, 0, 1, 1])
    with pytest.raises(ValueError, match="no class for 4 rows.*unanswered='drop'"):
        PublicStudent(constant, CLASSES, {}).predict(X)


def test_a_semi_supervised_student(ensemble, private, public):
    student = SelfTrainingClassifier(LogisticRegression())
    mechanism = ensemble.accountant.calibrate(GNMax, n_rows=20, n_columns=2)
    ensemble.set_params(student=student, unanswered="mark", mechanism=mechanism)
    with pytest.warns(UserWarning, match="the budget ended after 20 of 30 rows"):
        ensemble.fit(*private, X_public=public[0])
    assert ensemble.n_answered_ == 20
    assert ensemble.score(*public) > 0.8


def test_one_class_makes_a_constant_student():
    labels = released("yes", None, "yes", "yes")
    with pytest.warns(UserWarning, match="all 3 answered rows have the label 'yes'"):
        fitted = fit_student(
            LogisticRegression(), X, labels, CLASSES, "drop", Randomness.from_seed(0)
        )
    student = PublicStudent(fitted, CLASSES, {})
    assert student.predict(X).tolist() == ["yes"] * 4
    assert student.predict_proba(X).tolist() == [[0, 1]] * 4


def test_a_pool_without_answers_is_refused():
    with pytest.raises(ValueError, match="not one of the 2 rows of X_public was answered"):
        fit_student(
            LogisticRegression(),
            X[:2],
            released(None, None),
            CLASSES,
            "drop",
            Randomness.from_seed(0),
        )


def test_labels_are_kept_if_the_student_fails(ensemble, private, public):
    class Failing(LogisticRegression):
        n_fits = 0

        def fit(self, X, y):
            type(self).n_fits += 1
            if self.n_fits > 1:  # after it was tried out
                raise ValueError("I don't feel like it")
            return super().fit(X, y)

    ensemble.set_params(student=Failing())
    with pytest.warns(UserWarning, match="kept in pool_labels_.*I don't feel like it"):
        ensemble.fit(*private, X_public=public[0])
    assert ensemble.pool_labels_.answered.sum() == 30
    assert len(ensemble._teachers) == 10


def test_a_student_keeps_the_seed_it_has():
    labels = released("no", "no", "yes", "yes")
    forest = RandomForestClassifier(n_estimators=2, random_state=3)
    assert (
        fit_student(forest, X, labels, CLASSES, "drop", Randomness.from_seed(0)).random_state == 3
    )
    forest.set_params(random_state=None)
    seeds = [
        fit_student(forest, X, labels, CLASSES, "drop", Randomness.from_seed(seed)).random_state
        for seed in (0, 0, 1, None)
    ]
    assert seeds[0] == seeds[1] != seeds[2]
    assert seeds[3] is None


def test_to_student_holds_nothing_private(ensemble, private, public):
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    X_, y = private
    names = np.array(["no", "yes"])
    ensemble.set_params(estimator=scaled, student=scaled, classes=names)
    ensemble.fit(X_, names[y], X_public=public[0])
    student = ensemble.to_student()
    stored = pickle.dumps(student)
    for private_part in (
        b"TeacherEnsemble",
        b"Accountant",
        b"ConstantTeacher",
        b"_ledger",
        b".ledger",
    ):
        assert private_part not in stored
    loaded = pickle.loads(stored)
    assert (loaded.predict(X_) == ensemble.predict(X_)).all()
    assert (loaded.predict_proba(X_) == ensemble.predict_proba(X_)).all()
    assert loaded.score(X_, names[y]) == ensemble.score(X_, names[y])
    assert (loaded.classes_ == names).all()
    assert loaded.n_features_in_ == 2
    assert {"unit": "row", "epsilon": 100.0, "delta": 1e-5}.items() <= loaded.privacy.items()
    assert 0.99 < loaded.privacy["share_spent"] <= 1
    assert loaded.privacy["n_teachers"] == 10
    assert loaded.privacy["seeded"] is False
    # The statement is what was true then; the accountant's goes on.
    assert loaded.statement() == ensemble.statement()
    assert [each["n_rows"] for each in loaded.statement().released] == [30]
    assert "cryptographic" in str(loaded.statement())


def test_the_statement_of_a_student_that_is_sent_without_the_ledger(
    ensemble, private, public, tmp_path
):
    accountant = PrivacyAccountant(epsilon=100.0, delta=1e-5, ledger=tmp_path / "named.ledger")
    ensemble.set_params(accountant=accountant).fit(*private, X_public=public[0])
    statement, stored = accountant.statement(), pickle.dumps(ensemble.to_student())
    for file in tmp_path.iterdir():
        file.unlink()
    for handle in (b"Accountant", b"_ledger", b".ledger", bytes(tmp_path)):
        assert handle not in stored
    loaded = pickle.loads(stored)
    assert loaded.statement() == statement
    assert loaded.statement().to_dict() == loaded.privacy["statement"]


def test_a_public_student_stays_fitted():
    fitted = LogisticRegression().fit(X, [0, 0, 1, 1])
    student = PublicStudent(fitted, CLASSES, {"unit": "row"})
    assert is_classifier(student)
    assert student.fit(X[:0], []) is student
    assert clone(student) is student
    assert make_pipeline(student).fit(X, CLASSES[[0, 0, 1, 1]]).predict(X)[3] == "yes"
    with pytest.raises(AttributeError):
        student.feature_names_in_  # noqa: B018
    with pytest.raises(ValueError, match="not made by PrivateTeacherEnsemble.to_student"):
        student.statement()


def test_predictions_before_a_pool_is_labelled(ensemble, private):
    with pytest.raises(NotFittedError, match="no teachers yet"):
        ensemble.to_student()
    ensemble.fit(*private)
    with pytest.raises(NotFittedError, match="no student yet: call fit with X_public"):
        ensemble.to_student()
    with pytest.raises(NotFittedError, match="student=None: give an estimator, and call fit"):
        ensemble.set_params(student=None).to_student()
