"""Fits within other estimators: refused together before the first, and warned of what leaks."""

import json
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from secretballot import BudgetExceededError, PrivacyAccountant, PrivateLogisticRegression
from secretballot.accounting import PrivacyLeakWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 2))
Y = (X[:, 0] > 0).astype(int)
GRID = {"n_bins": [2, 3]}


def model(epsilon=None, accountant=None):
    return PrivateLogisticRegression(
        classes=[0, 1],
        bounds=(-4, 4),
        epsilon=epsilon,
        rounds=1,
        interactions=0,
        accountant=accountant or PrivacyAccountant(4.0, 1e-5),
    )


def paid(estimator, X, y):
    return estimator.score_private(X, y, epsilon=0.1).accuracy


def inner_paid(pipeline, X, y):
    return paid(pipeline[-1], X, y)


#: An estimator around a model, the number of its fits, and the warning of its leak.
AROUND = {
    "grid": (lambda m: GridSearchCV(m, GRID, cv=2, scoring=paid), 5, None),
    "without a refit": (lambda m: GridSearchCV(m, GRID, cv=2, scoring=paid, refit=False), 4, None),
    "folds of groups": (lambda m: GridSearchCV(m, GRID, cv=GroupKFold(3), scoring=paid), 7, None),
    "drawn": (lambda m: RandomizedSearchCV(m, {"n_bins": [2, 3, 4]}, n_iter=3, cv=2), 7, "scores"),
    "few to draw from": (lambda m: RandomizedSearchCV(m, GRID, n_iter=2, cv=2), 5, "scores"),
    "halved": (
        lambda m: HalvingGridSearchCV(m, {"n_bins": [2, 3, 4, 5]}, cv=2, factor=2, scoring=paid),
        15,
        None,
    ),
    "drawn and halved": (
        lambda m: HalvingRandomSearchCV(
            m, {"n_bins": [2, 3, 4, 5]}, n_candidates=3, cv=2, refit=False, min_resources=300
        ),
        6,
        "scores",
    ),
    "scored for nothing": (lambda m: GridSearchCV(m, GRID, cv=2), 5, "scores with held-out"),
    "calibrated": (lambda m: CalibratedClassifierCV(m, cv=3), 3, "the calibration"),
    "one calibration": (
        lambda m: CalibratedClassifierCV(m, cv=3, ensemble=False),
        4,
        "calibration",
    ),
    "a threshold": (lambda m: TunedThresholdClassifierCV(m, cv=2), 3, "learns the threshold"),
    "one split": (lambda m: TunedThresholdClassifierCV(m, cv=0.3, refit=False), 2, "threshold"),
    "stacked": (lambda m: StackingClassifier([("m", m)], cv=2), 3, "final estimator"),
    "two stacked": (
        lambda m: StackingClassifier([("m", m), ("n", clone(m))], cv=2),
        6,
        "final estimator",
    ),
    "calibrated in a search": (
        lambda m: GridSearchCV(
            CalibratedClassifierCV(m, cv=2), {"method": ["sigmoid"]}, cv=2, scoring=lambda *_: 0.0
        ),  # which reads no rows
        6,
        "the calibration",
    ),
}


def fit(around):
    groups = {"groups": np.arange(600) % 6} if "Group" in repr(getattr(around, "cv", "")) else {}
    return around.fit(X, Y, **groups)


@pytest.mark.parametrize("name", AROUND)
def test_too_many_fits_are_refused_before_the_first(name):
    around, n_fits, _ = AROUND[name]
    for epsilon in (None, 3.0):
        inside = model(epsilon)
        # A search wraps the errors of its fits; it warns of each of them.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises((BudgetExceededError, ValueError)) as error:
                fit(around(inside))
        assert f"epsilon_per_fit({n_fits}" in str(error.value)
        assert inside.accountant.entries() == []


@pytest.mark.parametrize("name", AROUND)
def test_the_suggested_epsilon_lets_all_fits_run(name):
    around, n_fits, leak = AROUND[name]
    inside = model()
    inside.set_params(epsilon=inside.accountant.epsilon_per_fit(n_fits, share=0.9))
    if leak is None:
        fit(around(inside))
    else:
        with pytest.warns(PrivacyLeakWarning, match=leak) as caught:
            fit(around(inside))
        assert sum(issubclass(each.category, PrivacyLeakWarning) for each in caught) == 1
    fits = {entry.scope_id for entry in inside.accountant.entries() if "Vector" in entry.mechanism}
    assert len(fits) == n_fits
    assert inside.accountant.spent().share == pytest.approx(0.9, abs=0.06)


def test_each_run_of_a_search_is_checked():
    inside = model()
    inside.set_params(epsilon=inside.accountant.epsilon_per_fit(5, share=0.6))
    search = GridSearchCV(inside, GRID, cv=2, scoring=paid, error_score="raise")
    search.fit(X, Y)
    spent = inside.accountant.spent().share
    for _ in range(2):
        with pytest.raises(BudgetExceededError, match="GridSearchCV fits 5 times"):
            search.fit(X, Y)
    assert inside.accountant.spent().share == spent


def test_a_refit_after_workers_is_no_first_fit():
    inside = model()
    inside.set_params(epsilon=inside.accountant.epsilon_per_fit(5, share=0.9))
    search = GridSearchCV(inside, GRID, cv=2, scoring=paid, n_jobs=2, error_score="raise")
    assert search.fit(X, Y).best_score_ > 0.5
    assert inside.accountant.spent().share > 0.8


def test_a_model_within_a_pipeline_is_found():
    inside = model()
    steps = make_pipeline(FunctionTransformer(), inside)
    grid = {"privatelogisticregression__n_bins": [2, 3]}
    search = GridSearchCV(steps, grid, cv=2, scoring=inner_paid, error_score="raise")
    with pytest.raises(BudgetExceededError, match="GridSearchCV fits 5 times"):
        search.fit(X, Y)


def test_fits_that_a_search_prices_differently_are_left_to_the_budget():
    grid = {"epsilon": [0.2, 0.4]}
    search = GridSearchCV(model(3.0), grid, cv=2, scoring=paid, refit=False)
    assert search.fit(X, Y).cv_results_["mean_test_score"].min() > 0


def test_what_learns_nothing_from_private_labels_is_silent():
    inside = model(2.0)
    FixedThresholdClassifier(inside, threshold=0.3).fit(X, Y)
    fitted = model(2.0).fit(X, Y)
    public = RNG.normal(size=(100, 2))
    CalibratedClassifierCV(FrozenEstimator(fitted)).fit(public, (public[:, 0] > 0).astype(int))


@pytest.mark.filterwarnings("error::secretballot.accounting.PrivacyLeakWarning")
def test_a_search_that_pays_is_cross_validated():
    inside = model()
    inside.set_params(epsilon=inside.accountant.epsilon_per_fit(10, share=0.8))
    search = GridSearchCV(inside, GRID, cv=2, scoring=paid)
    assert cross_val_score(search, X, Y, cv=2).min() > 0.5
    assert inside.accountant.spent().share > 0.8


def branched(model, X, y):
    return paid(model[-1] if hasattr(model, "steps") else model, X, y)


def test_functions_that_score_steps_of_a_pipeline_are_taken():
    inside = model(0.5)
    steps = make_pipeline(FunctionTransformer(), inside)
    grid = {"privatelogisticregression__n_bins": [2]}
    for scoring in (inner_paid, branched):
        search = GridSearchCV(steps, grid, cv=2, scoring=scoring, refit=False)
        assert search.fit(X, Y).cv_results_["mean_test_score"].min() > 0.5


def test_a_refused_search_keeps_no_rows():
    from secretballot.screening import _enclosing_fits

    search = GridSearchCV(model(), GRID, cv=2, scoring=paid, error_score="raise")
    with pytest.raises(BudgetExceededError):
        search.fit(X, Y)
    refusal = _enclosing_fits._checked_fits[search].refusal()
    assert refusal.__traceback__ is None


@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_statement_names_what_learned_without_noise(n_jobs):
    accountant = PrivacyAccountant(4.0, 1e-5)
    inside = model(accountant.epsilon_per_fit(3), accountant)
    CalibratedClassifierCV(inside, cv=3, n_jobs=n_jobs).fit(X, Y)
    notes = [json.loads(entry.note) for entry in accountant.entries()]
    assert sum(map(bool, notes)) >= 6  # settling has none
    assert all(note["learned_around"] == ["CalibratedClassifierCV"] for note in notes if note)
    assert "NOT PROTECTED: what was learned from private rows" in str(accountant.statement())


@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
def test_the_statement_names_steps_that_learned():
    accountant = PrivacyAccountant(4.0, 1e-5)
    make_pipeline(StandardScaler(), model(2.0, accountant)).fit(X, Y)
    (name,) = json.loads(accountant.entries()[0].note)["learned_around"]
    assert name == "the step 'standardscaler' of a Pipeline (StandardScaler)"
    before = len(accountant.entries())
    model(1.0, accountant).fit(X, Y)
    assert "learned_around" not in accountant.entries()[before].note


@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
def test_the_statement_names_a_bag_that_repeats_rows():
    accountant = PrivacyAccountant(4.0, 1e-5)
    BaggingClassifier(model(1.0, accountant), 2).fit(X, Y)
    assert json.loads(accountant.entries()[0].note)["learned_around"] == [
        "BaggingClassifier (copies of rows in a fit)"
    ]
    assert "REPEATED" in str(accountant.statement())


def test_a_later_refusal_does_not_say_that_nothing_was_spent():
    accountant = PrivacyAccountant(4.0, 1e-5)

    class Uncounted(GridSearchCV):
        """Search whose fits are more than it says."""

        def _run_search(self, evaluate_candidates, **context):
            for _ in range(2):
                evaluate_candidates([{"n_bins": 2}, {"n_bins": 3}], **context)

    inside = model(accountant.epsilon_per_fit(5, share=0.9), accountant)
    search = Uncounted(inside, GRID, cv=2, scoring=paid, error_score="raise")
    with pytest.raises(BudgetExceededError, match="what earlier ones spent stays spent"):
        search.fit(X, Y)


def shared_score(estimator, X, y):
    return estimator.score_private(X, y, share=0.08).accuracy


def sharp_score(estimator, X, y):
    return estimator.score_private(X, y, sigma=0.5).accuracy


SHARED = {"scoring": shared_score, "error_score": "raise"}
#: A search, or a function, with scores of a known share, and the numbers of fits and scores.
SHARED_SCORES = {
    "grid": (lambda m: GridSearchCV(m, GRID, cv=3, **SHARED).fit(X, Y), 7, 6),
    "without a refit": (
        lambda m: GridSearchCV(m, GRID, cv=3, refit=False, **SHARED).fit(X, Y),
        6,
        6,
    ),
    "default folds": (
        lambda m: GridSearchCV(m, {"n_bins": [3]}, **SHARED).fit(X, Y),
        6,
        5,
    ),
    "workers": (
        lambda m: GridSearchCV(m, GRID, cv=3, n_jobs=2, **SHARED).fit(X, Y),
        7,
        6,
    ),
    "a function": (
        lambda m: cross_val_score(m, X, Y, cv=GroupKFold(3), groups=np.arange(600), **SHARED),
        3,
        3,
    ),
}


@pytest.mark.parametrize("name", SHARED_SCORES)
def test_scores_that_the_fits_leave_too_little_for_are_refused_before_the_first(name):
    run, n_fits, n_scores = SHARED_SCORES[name]
    accountant = PrivacyAccountant(4.0, 1e-5)
    with pytest.raises(
        BudgetExceededError,
        match=rf"{n_scores} scores alone take.*epsilon_per_fit\({n_fits}, share",
    ):
        run(model(accountant.epsilon_per_fit(n_fits, share=0.95), accountant))
    assert accountant.entries() == []


def test_the_remedy_of_scores_pays_for_all_of_them():
    accountant = PrivacyAccountant(4.0, 1e-5)
    epsilon = accountant.epsilon_per_fit(6, share=0.2)

    def cheap_score(estimator, X, y):
        return estimator.score_private(X, y, epsilon=epsilon).accuracy

    asked = model(accountant.epsilon_per_fit(7, share=0.8), accountant)
    GridSearchCV(asked, GRID, cv=3, scoring=cheap_score, error_score="raise").fit(X, Y)
    assert accountant.spent().share > 0.99


def test_scores_that_fit_what_is_left_and_those_of_other_noise_are_no_reason_to_refuse():
    accountant = PrivacyAccountant(4.0, 1e-5)
    asked = model(accountant.epsilon_per_fit(3, share=0.5), accountant)
    cross_val_score(asked, X, Y, cv=3, **SHARED)
    # The first fit is not refused: what these scores cost is not read.
    accountant = PrivacyAccountant(4.0, 1e-5)
    asked = model(accountant.epsilon_per_fit(3, share=0.5), accountant)
    with pytest.raises(BudgetExceededError, match="a larger sigma= than"):
        cross_val_score(asked, X, Y, cv=3, scoring=sharp_score, error_score="raise")
    assert accountant.entries()
