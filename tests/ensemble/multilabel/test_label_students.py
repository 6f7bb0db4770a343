"""Students of labels: what each learns from rows that are answered in part."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags
from tests.ensemble.multilabel._rows import PER_LABEL, POOL, TRUTH, X, Y, ensemble_of

from secretballot.ensemble import PrivateLabels, PublicStudent
from secretballot.ensemble.student import fit_student
from secretballot.mechanisms import BinaryVoting
from secretballot.tables._randomness import Randomness

LABELS = [np.array([0, 1])] * 3


class Recording(LogisticRegression):
    """Keeps what it was shown."""

    def fit(self, X, y):
        self.shown_ = X, y
        return super().fit(X, np.where(y == 1, 1, 0))


def fit(student, released, unanswered="drop"):
    labels = PrivateLabels(released, released >= 0)
    return fit_student(student, POOL, labels, LABELS, unanswered, Randomness.from_seed(0))


def in_part():
    """Some labels of some rows are not answered; no row of the first twenty has all."""
    released = TRUTH.copy()
    rows = np.arange(len(released))
    released[rows[:20], rows[:20] % 3] = -1
    return released


@pytest.mark.parametrize("wrap", [MultiOutputClassifier, OneVsRestClassifier])
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_each_label_is_learned_from_the_rows_that_have_it(wrap, in_pipeline):
    student = wrap(Recording())
    student = make_pipeline(StandardScaler(), student) if in_pipeline else student
    released = in_part()
    fitted = fit(student, released)
    for label, each in enumerate(fitted.estimators_):
        rows, shown = (each[-1] if in_pipeline else each).shown_
        answered = released[:, label] >= 0
        assert (shown == released[answered, label]).all()
        assert in_pipeline or (rows == POOL[answered]).all()
    assert (PublicStudent(fitted, LABELS, {}).predict(POOL) == TRUTH).mean() > 0.95
    assert fitted.n_features_in_ == 3


def test_all_labels_together_are_learned_from_rows_that_have_all():
    forest = fit(RandomForestClassifier(3, bootstrap=False, random_state=0), in_part())
    assert (forest.predict(POOL[20:]) == TRUTH[20:]).all()
    labels = PrivateLabels(in_part()[:20], in_part()[:20] >= 0)
    with pytest.raises(ValueError, match="not one of 20 rows has all .*MultiOutputClassifier"):
        fit_student(forest, POOL[:20], labels, LABELS, "drop", Randomness.from_seed(0))


def test_marked_cells():
    student = MultiOutputClassifier(Recording())
    released = in_part()
    for label, each in enumerate(fit(student, released, "mark").estimators_):
        assert (each.shown_[1] == released[:, label]).all()
    fitted = fit(
        MultiOutputClassifier(SelfTrainingClassifier(LogisticRegression())), released, "mark"
    )
    assert (fitted.predict(POOL) == TRUTH).mean() > 0.95
    # A joint student gets the whole table, marks and all.
    tree = fit(RandomForestClassifier(3, random_state=0), released, "mark")
    assert [each.tolist() for each in tree.classes_] == [[-1, 0, 1]] * 3


@pytest.mark.parametrize("student", [PER_LABEL, ClassifierChain(LogisticRegression())])
def test_a_label_that_is_never_present_is_predicted_absent(student):
    released = TRUTH.copy()
    released[:, 1] = 0
    released[:, 2] = 1
    with pytest.warns(UserWarning, match=r"2 of 3 labels \(1, 2\) are present in all"):
        fitted = fit(student, released)
    predicted = fitted.predict(POOL)
    assert (predicted[:, 1:] == [0, 1]).all()
    assert (predicted[:, 0] == TRUTH[:, 0]).mean() > 0.9
    released[:, 0] = 1
    with pytest.warns(UserWarning, match=r"3 of 3 labels \(0, 1, 2\)"):
        fitted = fit(student, released)
    public = PublicStudent(fitted, LABELS, {})
    assert (public.predict(POOL) == [1, 0, 1]).all()
    assert (public.predict_proba(POOL) == [1, 0, 1]).all()


def test_a_student_of_varying_labels_predicts_all_labels():
    released = TRUTH.copy()
    released[:, 1] = 0
    with pytest.warns(UserWarning, match=r"1 of 3 labels \(1\)"):
        public = PublicStudent(fit(RandomForestClassifier(3), released), LABELS, {})
    assert get_tags(public).input_tags.sparse
    assert cross_val_score(public, POOL, released, cv=2).mean() > 0.8


def test_a_label_that_its_student_cannot_learn():
    released = TRUTH.copy()
    released[:, 1] = np.arange(len(released)) < 3
    with pytest.raises(ValueError, match=r"on label 1, present in 3 of 30 rows.*pool_labels_"):
        fit(MultiOutputClassifier(CalibratedClassifierCV(LogisticRegression(), cv=5)), released)


def test_without_probabilities():
    ensemble = ensemble_of(student=MultiOutputClassifier(LinearSVC())).fit(X, Y, X_public=POOL)
    assert (ensemble.predict(POOL) == TRUTH).mean() > 0.9
    assert not hasattr(ensemble, "predict_proba")
    assert not hasattr(ensemble.to_student(), "predict_proba")


def test_partly_answered_rows_reach_the_student():
    mechanism = BinaryVoting(sigma=0.5, n_votes=10, threshold=9.5, sigma_threshold=0.5)
    pool = np.concatenate([POOL] * 3)
    ensemble = ensemble_of(mechanism=mechanism).fit(X, Y, X_public=pool)
    answered = ensemble.pool_labels_.answered
    # Five labels of six pass, or fewer where teachers differ: of 90 rows with three labels some
    # have all of them, and others have not, but for 1e-9.
    assert 0 < ensemble.n_answered_ < 90
    assert answered.sum() > 3 * ensemble.n_answered_
    assert (ensemble.predict(POOL) == TRUTH).mean() > 0.8


@pytest.mark.parametrize(
    ("student", "message"),
    [
        (LogisticRegression(), r"for each of 3 labels; MultiOutputClassifier\(estimator\) makes"),
        (make_pipeline(StandardScaler(), LinearSVC()), "for each of 3 labels"),
    ],
    ids=["logistic", "pipeline"],
)
def test_students_that_cannot_learn_labels_are_refused_beforehand(student, message):
    ensemble = ensemble_of(student=student)
    with pytest.raises(ValueError, match=message):
        ensemble.fit(X, Y, X_public=POOL)
    assert ensemble.accountant.spent().n_releases == 0
    assert not hasattr(ensemble, "_teachers")
