"""Several students, of which private rows or teachers' ballots choose one, and the budget pays."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from tests.ensemble.conftest import make_blobs

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.ensemble import PrivateChoice, PrivateTeacherEnsemble, PublicData, PublicStudent
from secretballot.ensemble._shards import ShardReader
from secretballot.ensemble._target import ClassTarget
from secretballot.ensemble.student import _student_choice as choosing
from secretballot.ensemble.student._student_choice import count_right_answers
from secretballot.mechanisms import BinaryVoting, GNMax
from secretballot.tables._people import People
from secretballot.tables._private_rows import PrivateRows
from secretballot.tables._row_schema import RowSchema
from secretballot.tables._rowwise_check import choose_calls

MODEL = LogisticRegression()
#: Noise that ten like-minded teachers are beyond.
VOTE = GNMax(sigma=2.0)
#: The second of three is right nearly always, the others half the time.
THREE = [DummyClassifier(strategy="prior"), MODEL, DummyClassifier(strategy="constant", constant=1)]
GRID = (DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2], "criterion": ["gini"]})


@pytest.fixture
def public():
    """Fewer rows than elsewhere, since budgets are calibrated to them."""
    return make_blobs(12, seed=2)


def made(student, accountant, **options):
    options = {"n_teachers": 10, "classes": [0, 1], "estimator": MODEL, **options}
    return PrivateTeacherEnsemble(
        student=student, accountant=accountant, **options, check_public_rows=False
    )


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_the_best_candidate_is_chosen_with_a_reserved_share(order, scoring, private, public):
    accountant = PrivacyAccountant(40.0, 1e-5, order=order)
    student = PrivateChoice(THREE, scoring=scoring, share=0.3)
    ensemble = made(student, accountant, epsilon=30.0).fit(*private, X_public=public[0])
    chosen = ensemble.student_
    # By 90 more right answers, or 9 more ballots, at noise of 3: beside them there is no chance.
    assert (chosen.best_index_, chosen.best_params_, chosen.n_candidates_) == (1, {}, 3)
    assert (ensemble.predict(private[0]) == private[1]).mean() > 0.9
    # All rows have labels: nothing of what was set aside was promised to them.
    assert ensemble.n_answered_ == 12
    paid, labels, drawn = accountant.entries()
    assert (paid.n_rows, labels.n_rows, drawn.n_rows) == (0, 12, 1)
    assert not drawn.charges
    assert ("GNMax" if scoring else "BestOfCounts") in paid.mechanism
    (of_choice,), (of_labels,) = paid.charges.values(), labels.charges.values()
    level = accountant.levels[0].order
    share = of_choice.at(level) / (of_choice.at(level) + of_labels.at(level))
    assert 0.25 < share < 0.35


def test_a_choice_costs_its_share_and_levels_pay_alike(public):
    X, y = make_blobs(400)
    budgets = np.where(np.arange(400) < 200, "strict", "generous")
    accountant = PrivacyAccountant({"strict": 20.0, "generous": 60.0}, 1e-5)
    ensemble = made(PrivateChoice(THREE, share=0.2), accountant)
    ensemble.fit(X, y, X_public=public[0], budgets=budgets)
    paid = accountant.entries()[0].charges
    assert float(paid["strict"].mu2) == pytest.approx(float(paid["generous"].mu2))
    assert float(paid["strict"].mu2) == pytest.approx(0.2 * accountant.levels[0].amount, rel=0.01)
    assert ensemble.student_.best_index_ == 1


def test_parties_choose_by_ballot(public):
    parties = [FrozenEstimator(clone(MODEL).fit(*make_blobs(60, seed=at))) for at in range(9)]
    accountant = PrivacyAccountant(30.0, 1e-5, unit="voter")
    ensemble = made(PrivateChoice(THREE, share=0.5), accountant, estimator=parties)
    ensemble.fit(None, None, X_public=public[0])
    assert ensemble.student_.best_index_ == 1
    assert "GNMax" in accountant.entries()[0].mechanism


def test_labels_and_grids(public):
    X, y = make_blobs(200)
    both = np.stack([y, 1 - y], axis=1)
    estimator = MultiOutputClassifier(MODEL)
    grid = (MultiOutputClassifier(MODEL), {"estimator": [MODEL, DummyClassifier()]})
    ensemble = made(
        PrivateChoice(grid),
        PrivacyAccountant(40.0, 1e-5),
        classes=None,
        estimator=estimator,
        mechanism=BinaryVoting(sigma=2.0, n_votes=10),
    )
    ensemble.fit(X, both, X_public=public[0])
    assert list(ensemble.student_.best_params_) == ["estimator"]
    assert (ensemble.predict(X) == both).mean() > 0.9


def test_one_candidate_needs_no_choice_and_pays_for_none(ensemble, private, public):
    ensemble.set_params(student=PrivateChoice([MODEL]), mechanism=VOTE).fit(
        *private, X_public=public[0]
    )
    assert len(ensemble.accountant.entries()) == 1
    assert ensemble.student_.best_index_ == 0


def test_candidates_that_cannot_learn_are_left_out(ensemble, private, public):
    class Picky(DummyClassifier):
        """It has seen made-up labels; of the real ones it wants more."""

        def fit(self, X, y):
            if np.mean(y) != 0.5:
                raise ValueError("these labels are not for me")
            return super().fit(X, y)

    ensemble.set_params(student=PrivateChoice([Picky(), Picky(), MODEL]), mechanism=VOTE)
    with pytest.warns(UserWarning, match="2 of 3 candidates could not be fitted .* not for me"):
        ensemble.fit(*private, X_public=public[0])
    assert ensemble.student_.best_index_ == 2
    # There was nothing left to choose: what was set aside came back.
    assert [entry.n_rows for entry in ensemble.accountant.entries()] == [0, 12, 0]
    ensemble.set_params(student=PrivateChoice([Picky(), Picky()]))
    ensemble.set_params(accountant=PrivacyAccountant(100.0, 1e-5))
    with pytest.warns(UserWarning, match="could not be fitted on the 12 answered rows"):
        ensemble.fit(*private, X_public=public[0])
    assert [entry.n_rows for entry in ensemble.accountant.entries()] == [0, 12, 0]


def test_a_refused_pool_refunds_the_share(ensemble, private, public):
    ensemble.set_params(mechanism=GNMax(sigma=0.01), student=PrivateChoice(THREE))
    with pytest.raises(BudgetExceededError):
        ensemble.fit(*private, X_public=public[0])
    assert ensemble.accountant.spent().share == pytest.approx(0, abs=1e-12)


def test_reserved_rows_leave_room(ensemble, private, public):
    ensemble.set_params(reservation=4, student=PrivateChoice(THREE, share=0.2))
    ensemble.fit(*private, X_public=public[0])
    assert ensemble.n_answered_ == 12
    assert ensemble.predict_private(public[0][:4]).answered.all()
    assert ensemble.accountant.spent().share <= 1


class Fussy(ClassifierMixin, BaseEstimator):
    """Predicts the sign of the first feature, and fails on all rows at once if one is odd."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        if (np.abs(X) > 100).any():
            raise ValueError("out of range")
        return (X[:, 0] > 0).astype(int)


def furthest():
    """How far one person's rows can move the counts of candidates, by brute force."""
    X, y = make_blobs(12)
    owners = np.arange(12) // 2
    fitted = [Fussy().fit(X, y), KNeighborsClassifier(3).fit(X, y)]
    students = [PublicStudent(each, np.array([0, 1]), {}) for each in fitted]
    candidates = [choose_calls(each, "predict", RowSchema.of(X)) for each in students]
    accountant = PrivacyAccountant(1.0, 1e-5, unit="owner")
    target = ClassTarget(np.array([0, 1]))

    def counts(X, y):
        people = People.from_owners(accountant, owners, len(X))
        rows = PrivateRows.of_table(X, y, people).read(ShardReader(None, target).read)
        data = SimpleNamespace(rows=rows, target=target, is_in_parts=False)
        return count_right_answers(candidates, data)

    base, moved = counts(X, y), []
    for first in (-1e6, -3.0, 3.0, 1e6):
        for labels in ((0, 0), (0, 1), (1, 1)):
            other, labelled = X.copy(), y.copy()
            other[:2, 0], labelled[:2] = first, labels
            moved.append(np.abs(counts(other, labelled) - base).max())
    return max(moved)


def test_one_person_moves_a_count_by_one_at_most(monkeypatch):
    assert 0.5 <= furthest() <= 1 + 1e-12

    # Planted: where a candidate fails it has nothing right at all.
    def all_or_nothing(candidate, X, truth, target):
        try:
            return (candidate.model.predict(X) == truth).astype(float)
        except ValueError:
            return np.zeros(len(truth))

    monkeypatch.setattr(choosing, "_row_scores", all_or_nothing)
    assert furthest() > 2


@pytest.mark.parametrize(
    ("student", "message"),
    [
        (PrivateChoice([]), r"candidates=\[\] must be a list"),
        (PrivateChoice([MODEL, 3]), r"candidates\[1\]=3 is no estimator"),
        (PrivateChoice([MODEL, DummyClassifier]), r"candidates\[1\]=.* is a class"),
        (PrivateChoice([MODEL, Ridge()]), r"candidates\[1\]=Ridge\(\) is a regressor"),
        (PrivateChoice([MODEL, KNeighborsClassifier(99)]), r"KNeighbors.* could not be fitted on"),
        (PrivateChoice([MODEL, (GRID[0], {"depth": [1]})]), r"Invalid parameter 'depth'"),
        (PrivateChoice(THREE, share=1.0), r"share=1\.0 must be a finite number above 0 and below"),
        (PrivateChoice(THREE, scoring="good"), r"scoring='good' must be None, a scorer's name"),
        (PrivateChoice(THREE, scoring=lambda e, X, y: 1 / 0), r"could not score .* ZeroDivision"),
    ],
)
def test_bad_input_spends_nothing(student, message, ensemble, private, public):
    with pytest.raises(ValueError, match=message):
        ensemble.set_params(student=student).fit(*private, X_public=public[0])
    assert not ensemble.accountant.entries()


def test_a_choice_cannot_be_fitted_alone(private):
    with pytest.raises(TypeError, match="Give it as student="):
        PrivateChoice(THREE).fit(*private)
    assert not hasattr(PrivateChoice(THREE), "classes_")


@pytest.mark.filterwarnings("ignore:a copy of the model")
def test_clones_searches_and_public_students(private, public):
    accountant = PrivacyAccountant(50.0, 1e-5)
    student = PrivateChoice([*THREE, GRID], share=0.3)
    assert [each.params.get("max_depth") for each in clone(student).expand()[3:]] == [1, 2]
    ensemble = made(student, accountant, epsilon=30.0, mechanism=GNMax(sigma=4.0))
    search = GridSearchCV(ensemble, {"student__share": [0.2, 0.3]}, cv=2, refit=False)
    search.set_params(estimator__epsilon=10.0).fit(*private, X_public=PublicData(public[0]))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    ensemble.set_params(accountant=PrivacyAccountant(50.0, 1e-5))
    ensemble.fit(*private, X_public=public[0])
    published = pickle.loads(pickle.dumps(ensemble.to_student()))
    assert (published.predict(private[0]) == ensemble.predict(private[0])).all()
    assert published.predict_proba(private[0]).shape == (200, 2)
    assert not hasattr(clone(ensemble).student, "best_index_")
    private_words = [name for name in vars(ensemble.student_) if not name.endswith("_")]
    assert private_words == ["candidates", "scoring", "share", "rows_per_call"]
    assert "best_index_" in vars(ensemble.student_)


class OfBatch(DummyClassifier):
    """Predict by the rows that come together."""

    def predict(self, X):
        """Return class 1 for the rows above the middle of all."""
        first = np.asarray(X)[:, 0]
        return (first > np.median(first)).astype(int)


def test_a_candidate_that_depends_on_other_rows_is_refused_before_anything_is_paid(private, public):
    budget = PrivacyAccountant(10.0, 1e-5)
    student = PrivateChoice([MODEL, OfBatch()])
    ensemble = PrivateTeacherEnsemble(MODEL, 10, student=student, classes=[0, 1], accountant=budget)
    with pytest.raises(ValueError, match="that row alone"):
        ensemble.fit(*private, X_public=public[0])
    assert not budget.entries()
