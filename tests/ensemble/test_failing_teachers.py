"""A teacher that fails still votes: an error would be a release that nobody paid."""

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.ensemble._votes import collect_votes

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData
from secretballot.mechanisms import GNMax

CLASSES = [0, 1]
X = np.arange(60.0)[:, None]
Y = np.arange(60) // 2 % 2
POOL = np.array([[3.0], [20.0], [41.0], [55.0]])


class Picky(ClassifierMixin, BaseEstimator):
    """Votes for class 1, but fails where it is told to."""

    def __init__(self, train=None, ask=None, answer=None, error=ValueError):
        self.train = train
        self.ask = ask
        self.answer = answer
        self.error = error

    def fit(self, X, y):
        if self.train is not None and (np.asarray(X) == self.train).any():
            raise self.error("I met someone")
        return self

    def predict(self, X):
        met = (np.asarray(X) == self.ask).ravel()
        if self.answer is not None:
            return self.answer(np.ones(len(X)), met)
        if self.ask is not None and met.any():
            raise self.error("I met someone")
        return np.ones(len(X), dtype=int)


def ensemble_of(estimator, **parameters):
    parameters = {"accountant": PrivacyAccountant(200.0, 1e-5)} | parameters
    return PrivateTeacherEnsemble(
        estimator,
        6,
        mechanism=GNMax(sigma=1.0),
        student=DecisionTreeClassifier(),
        classes=CLASSES,
        **parameters,
        check_public_rows=False,
    )


def votes_of(ensemble, X=POOL, n_jobs=None):
    return collect_votes(ensemble._teachers, X, ensemble.classes_, n_jobs)["*"]


PRIVATE = "NOT FOR PUBLICATION"


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_teacher_that_cannot_be_trained(n_jobs):
    ensemble = ensemble_of(Picky(train=7.0), n_jobs=n_jobs)
    message = (
        f"1 of 6 teachers could not be trained: .*4 of 24 ballots.*{PRIVATE}.*ValueError: I met"
    )
    with pytest.warns(UserWarning, match=message) as warned:
        ensemble.fit(X, Y, X_public=POOL)
    assert len(warned) == 1
    assert ensemble.n_answered_ == 4
    assert ensemble.accountant.spent().n_rows == 4
    # By its number, so that it moves one ballot at most.
    (index,) = (at for at, each in enumerate(ensemble._teachers) if not isinstance(each, Picky))
    assert (votes_of(ensemble) == [1 - index % 2, 5 + index % 2]).all()
    with pytest.warns(UserWarning, match="1 of 6 teachers could not be trained") as warned:
        ensemble.predict_private(POOL)
    assert len(warned) == 1


@pytest.mark.parametrize("at_once", [True, False])
def test_rows_that_a_teacher_cannot_answer(at_once):
    ensemble = ensemble_of(Picky(ask=20.0))
    pool = np.concatenate([POOL, POOL[:1], POOL[1:2]])
    if at_once:
        label = partial(ensemble.fit, X, Y, X_public=pool)
    else:
        label = partial(ensemble.fit(X, Y).predict_private, pool)
    message = rf"6 of 6 teachers could not answer .* \(12 of 36 ballots.*{PRIVATE}.*I met someone"
    with pytest.warns(UserWarning, match=message) as warned:
        label()
    assert len(warned) == 1
    # The other rows are answered as if they had been asked alone.
    assert votes_of(ensemble, pool).tolist() == [[0, 6], [3, 3], [0, 6], [0, 6], [0, 6], [3, 3]]
    assert ensemble.accountant.spent().n_rows == 6


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda votes, met: np.where(met, 2, votes), "not among the classes"),
        (lambda votes, met: np.where(met, np.nan, votes), "not among the classes"),
        (lambda votes, met: np.where(met, None, votes), "not among the classes"),
        (lambda votes, met: np.where(met, "yes", votes.astype(object)), "not among the classes"),
        (lambda votes, met: votes[~met], r"shape \(3,\) for 4 row"),
        (lambda votes, met: votes[:, None] if met.any() else votes, r"shape \(4, 1\) for 4 row"),
        (lambda votes, met: None if met.any() else votes, r"shape \(\) for 4 row"),
    ],
    ids=["2", "nan", "None", "text", "too few", "a column", "nothing"],
)
def test_predictions_that_are_not_ballots(answer, said):
    # So many rows that each teacher has both classes.
    rows = np.arange(600.0)[:, None]
    ensemble = ensemble_of(Picky(ask=20.0, answer=answer)).fit(rows, np.arange(600) // 2 % 2)
    with pytest.warns(UserWarning, match=f"could not answer some.*{PRIVATE}.*{said}"):
        ensemble.predict_private(POOL)
    assert votes_of(ensemble).tolist() == [[0, 6], [3, 3], [0, 6], [0, 6]]


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("and this one met someone")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Unspeakable, r"Unspeakable: \?"),
        (
            lambda text: ValueError(f"{text}\n  in \x1b[31m\u202ered"),
            r"met someone in \\x1b\[31m.*d",
        ),
    ],
    ids=["unspeakable", "colours"],
)
def test_errors_of_any_kind(error, said):
    # It may quote a private value, and is shown on a terminal.
    for kind in ({"train": 7.0}, {"ask": 20.0}):
        ensemble = ensemble_of(Picky(error=error, **kind))
        with pytest.warns(UserWarning, match=said) as warned:
            ensemble.fit(X, Y, X_public=POOL)
        assert str(warned[0].message).isprintable()
        assert ensemble.accountant.spent().n_rows == 4


def unknown_categories():
    return make_pipeline(OneHotEncoder(), DecisionTreeClassifier())


def test_an_encoder_with_an_unknown_category():
    # The attack: one row decides whether some teacher knows "rare", and who asks is told.
    jobs = np.array(["cook", "clerk"], dtype=object)[np.arange(60) % 2][:, None]
    jobs[7] = "rare"
    spent = []
    for private in (jobs, np.where(jobs == "rare", "cook", jobs)):
        ensemble = ensemble_of(unknown_categories()).fit(private, Y)
        with pytest.warns(UserWarning, match=f"could not answer.*{PRIVATE}"):
            assert ensemble.predict_private([["cook"], ["rare"]]).answered.all()
        spent.append(ensemble.accountant.spent().n_rows)
    assert spent == [2, 2]


def anxious(X):
    if (X == 7.0).any():
        warnings.warn("I met someone", RuntimeWarning, stacklevel=2)
    return X


def test_a_warning_that_is_an_error_inside_a_teacher():
    learner = make_pipeline(FunctionTransformer(anxious), DecisionTreeClassifier())
    ensemble = ensemble_of(learner)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warnings.simplefilter("error", RuntimeWarning)
        ensemble.fit(X, Y)
    (warning,) = warned
    assert "1 of 6 teachers could not be trained" in str(warning.message)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_memory_errors_and_interrupts_are_raised(error):
    with pytest.raises(error):
        ensemble_of(Picky(train=7.0, error=error)).fit(X, Y)
    ensemble = ensemble_of(Picky(ask=20.0, error=error)).fit(X, Y)
    with pytest.raises(error):
        ensemble.predict_private(POOL)
    assert ensemble.accountant.spent().n_rows == 0


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_error_is_raised_only_if_all_teachers_fail(n_jobs):
    ensemble = ensemble_of(LogisticRegression(C=-1), n_jobs=n_jobs)
    message = f"none of 6 teachers could be trained. No label .*{PRIVATE}.*InvalidParameterError"
    with pytest.raises(ValueError, match=message):
        ensemble.fit(X, Y, X_public=POOL)
    with pytest.raises(ValueError, match="none of 6 teachers could be trained"):
        ensemble.fit(X, Y)
    assert not hasattr(ensemble, "_teachers")
    ensemble.set_params(estimator=Picky(ask=20.0)).fit(X, Y)
    with pytest.raises(ValueError, match=f"none of 6 teachers could answer any row.*{PRIVATE}"):
        ensemble.predict_private(POOL[1:2])
    assert ensemble.accountant.spent().n_rows == 0


def test_parties_fail_alike():
    parties = [FrozenEstimator(Picky(ask=20.0 if at < 2 else None).fit(X, Y)) for at in range(5)]
    for party in parties:
        party.estimator.is_fitted_ = True
    ensemble = PrivateTeacherEnsemble(
        parties,
        mechanism=GNMax(sigma=1),
        classes=CLASSES,
        accountant=PrivacyAccountant(99.0, 1e-5),
        check_public_rows=False,
    ).fit(None, None)
    with pytest.warns(UserWarning, match=f"2 of 5 teachers could not answer.*{PRIVATE}"):
        ensemble.predict_private(POOL)
    assert votes_of(ensemble).tolist() == [[0, 5], [1, 4], [0, 5], [0, 5]]


@pytest.mark.filterwarnings("ignore:a copy of the model")
def test_a_failing_teacher_does_not_fail_a_search():
    accountant = PrivacyAccountant(500.0, 1e-5)
    search = GridSearchCV(
        ensemble_of(Picky(train=7.0), accountant=accountant),
        {"n_teachers": [5, 6]},
        cv=2,
        refit=False,
        error_score=np.nan,
    )
    with pytest.warns(UserWarning, match="could not be trained"):
        search.fit(X, Y, X_public=PublicData(POOL))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert accountant.spent().n_rows == 4 * len(POOL)


def test_a_failing_row_moves_one_ballot():
    pool = np.arange(0.0, 60.0, 7.0)[:, None]
    quiet = ensemble_of(Picky(), random_state=0)
    before = votes_of(quiet.fit(X, Y), pool)
    for kind in ({"train": 7.0}, {"ask": 7.0}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            failing = clone(quiet).set_params(estimator=Picky(**kind)).fit(X, Y)
        moved = np.abs(votes_of(failing, pool) - before).sum(axis=1)
        assert moved.max() <= (2 if "train" in kind else 6)


# Whole tables are checked before any training, whatever is asked.


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(
    "learner",
    [
        LogisticRegression(),
        make_pipeline("passthrough", LogisticRegression()),
        GridSearchCV(make_pipeline(LogisticRegression()), {}, cv=2),
    ],
    ids=["alone", "in a pipeline", "in a search"],
)
def test_values_that_the_estimator_never_takes(learner, value):
    table = X.copy()
    table[3] = value
    ensemble = ensemble_of(learner)
    # With one class in the shard of that row, no teacher would have met it.
    for labels in (Y, np.zeros(60, dtype=int)):
        with pytest.raises(ValueError, match="X contains (NaN|infinity)"):
            ensemble.fit(table, labels)
    with pytest.raises(ValueError, match="X_public contains (NaN|infinity)"):
        ensemble.fit(X, Y, X_public=table[:5])
    assert not hasattr(ensemble, "_teachers")
    with pytest.raises(ValueError, match="X contains (NaN|infinity)"):
        ensemble.fit(X, Y).predict_private(table[:5])
    assert ensemble.accountant.spent().n_rows == 0


@pytest.mark.parametrize(
    "learner",
    [
        make_pipeline(SimpleImputer(), LogisticRegression()),
        make_pipeline(FunctionTransformer(np.nan_to_num), LogisticRegression()),
        make_pipeline(make_pipeline(SimpleImputer()), LogisticRegression()),
        DecisionTreeClassifier(),
    ],
    ids=["imputer", "function", "nested", "tree"],
)
def test_missing_values_reach_estimators_that_allow_them(learner):
    table = X.copy()
    table[::9] = np.nan
    assert ensemble_of(learner).fit(table, Y, X_public=table[:9] + 0.5).n_answered_ == 9


def test_complex_numbers_and_no_rows():
    ensemble = ensemble_of(LogisticRegression())
    with pytest.raises(ValueError, match="Complex data not supported"):
        ensemble.fit(X * 1j, Y)
    with pytest.raises(ValueError, match="X has 0 rows"):
        ensemble.fit(X, Y).predict_private(X[:0])


@pytest.mark.parametrize(
    "learner",
    [DecisionTreeRegressor(), make_pipeline(FunctionTransformer(), DecisionTreeRegressor())],
    ids=["alone", "in a pipeline"],
)
def test_a_regressor_is_no_teacher(learner):
    ensemble = ensemble_of(learner)
    with pytest.raises(
        ValueError, match="is a regressor, but it is to predict classes; give a classifier"
    ):
        ensemble.fit(X, Y)
    frozen = FrozenEstimator(learner.fit(X, Y))
    with pytest.raises(ValueError, match=r"estimator\[1\] is a regressor"):
        PrivateTeacherEnsemble(
            [FrozenEstimator(DecisionTreeClassifier().fit(X, Y)), frozen], classes=CLASSES
        ).fit(None, None)
