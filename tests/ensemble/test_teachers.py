"""Teachers: what they see, how they are seeded, and that all of them vote."""

import threading
import tracemalloc

import numpy as np
import pytest
from joblib import parallel_config
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from tests._programs import run_python
from tests.ensemble._votes import collect_votes

from secretballot.ensemble import PrivateTeacherEnsemble
from secretballot.ensemble._teacher_ballots import ConstantTeacher
from secretballot.ensemble._teachers import Shard, train_teacher
from secretballot.tables._randomness import Randomness
from secretballot.tables._tasks import batches

CLASSES = np.array([0, 1])


def votes_of(ensemble, X):
    """Votes, as no user gets to see them."""
    return collect_votes(ensemble._teachers, X, ensemble.classes_, ensemble.n_jobs)["*"]


def train(X, y, estimator=None, index=0):
    stream = Randomness.from_seed(0).teacher(index)
    shard = Shard(index, "*", np.asarray(X), np.asarray(y), stream)
    return train_teacher(estimator or LogisticRegression(), shard, CLASSES)


def test_a_shard_with_one_class_votes_for_it():
    teacher = train([[0.0], [1.0]], [1, 1])
    assert teacher.predict(np.zeros((3, 1))).tolist() == [1, 1, 1]


def test_an_empty_shard_votes_by_its_number():
    for index, label in enumerate([0, 1, 0]):
        teacher = train(np.empty((0, 1)), np.empty(0, dtype=int), index=index)
        assert teacher.predict(np.zeros((2, 1))).tolist() == [label, label]


_CHECK = """
from tests.ensemble.conftest import make_blobs
from tests.ensemble.test_teachers import check_votes
check_votes(make_blobs(200), make_blobs(30, seed=1), "multiprocessing")
"""


@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_votes_do_not_depend_on_jobs_or_backend(private, public, backend):
    check_votes(private, public, backend)


def test_votes_of_forked_workers_are_the_same():
    done = run_python("-c", _CHECK)
    assert done.returncode == 0, done.stderr


def check_votes(private, public, backend):
    forest = RandomForestClassifier(n_estimators=3)
    make = lambda n_jobs: PrivateTeacherEnsemble(  # noqa: E731
        forest, n_teachers=12, random_state=0, n_jobs=n_jobs
    )
    expected = votes_of(make(None).fit(*private), public[0])
    with parallel_config(backend):
        ensemble = make(2).fit(*private)
        votes = votes_of(ensemble, public[0])
    assert (votes == expected).all()
    assert (votes.sum(axis=1) == 12).all()


@pytest.mark.parametrize("n_jobs", [1, 2, 7])
@pytest.mark.parametrize("n_teachers", [1, 3, 250])
def test_batches_contain_each_teacher_once(n_teachers, n_jobs):
    assert [index for batch in batches(n_teachers, n_jobs) for index in batch] == list(
        range(n_teachers)
    )


class Alone(ClassifierMixin, BaseEstimator):
    """Votes for 1 where no other thread could interfere."""

    def predict(self, X):
        return np.repeat(int(threading.current_thread() is threading.main_thread()), len(X))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_workers_do_not_share_warning_filters(n_jobs):
    # scikit-learn sets them for each task: in threads one sees those that another is setting.
    votes = collect_votes([Alone() for _ in range(5)], np.zeros((3, 1)), CLASSES, n_jobs)["*"]
    assert (votes == [0, 5]).all()


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_memory_is_bounded_by_the_counts(n_jobs):
    teachers = [ConstantTeacher(CLASSES[:1]) for _ in range(200)]
    X = np.zeros((20_000, 1))
    tracemalloc.start()
    try:
        votes = collect_votes(teachers, X, CLASSES, n_jobs)["*"]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (votes == [200, 0]).all()
    # One byte for each query and teacher would be four million.
    assert peak < 4_000_000


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


class Careless(ClassifierMixin, BaseEstimator):
    """Answers by the sign, writes over what it was asked, and fails where a row is 9."""

    def predict(self, X):
        asked = dense(X).copy()
        X *= -1.0
        if (asked == 9.0).any():
            raise ValueError("nine")
        return (asked[:, 0] > 0).astype(int)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("kind", ["array", "sparse", "frame", "list"])
def test_a_teacher_cannot_change_the_rows_of_others(kind, n_jobs):
    # Scalers with copy=False do that: one private row would reach the ballots of all teachers.
    rows = [[1.0], [-1.0], [9.0]]
    make = {"array": np.asarray, "sparse": csr_array, "list": lambda X: [np.array(x) for x in X]}
    asked = (make.get(kind) or pytest.importorskip("pandas").DataFrame)(rows)
    teachers = [Careless() if kind != "list" else CarelessOfLists() for _ in range(5)]
    votes = collect_votes(teachers, asked, CLASSES, n_jobs)["*"]
    # On the row that all fail at, they vote by their number.
    assert votes.tolist() == [[0, 5], [5, 0], [3, 2]]
    assert dense(asked).tolist() == rows


class CarelessOfLists(Careless):
    def predict(self, X):
        codes = super().predict(np.array(X))
        for row in X:
            row *= -1.0
        return codes


class Witness(ClassifierMixin, BaseEstimator):
    """Remembers what it was shown."""

    def fit(self, X, y):
        self.X_, self.y_, self.classes_ = X, y, np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


def test_teachers_see_their_shard_with_its_columns_and_labels():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"age": range(20), "job": ["a", "b"] * 10})
    y = np.array(["no", "yes"] * 10)
    ensemble = PrivateTeacherEnsemble(Witness(), n_teachers=3).fit(X, pandas.Series(y))
    seen = [teacher for teacher in ensemble._teachers if isinstance(teacher, Witness)]
    assert seen
    for teacher in seen:
        assert list(teacher.X_.columns) == ["age", "job"]
        assert (teacher.y_ == y[teacher.X_["age"]]).all()
    assert ensemble.feature_names_in_.tolist() == ["age", "job"]
