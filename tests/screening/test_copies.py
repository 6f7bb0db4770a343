"""Copies of a model that tools around it fit: each names its part, and is recorded."""

import json
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_validate,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from secretballot import (
    BudgetExceededError,
    PrivacyAccountant,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
)
from secretballot.accounting import PrivacyLeakWarning
from secretballot.mechanisms import GNMax

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 2))
Y = (X[:, 0] > 0).astype(int)
GRID = {"n_bins": [2, 3]}
REMEDY = r"pass epsilon=accountant\.epsilon_per_fit\(n_fits\)"


def model(epsilon=None, accountant=None, **settings):
    return PrivateLogisticRegression(
        classes=[0, 1],
        bounds=(-4, 4),
        epsilon=epsilon,
        rounds=1,
        interactions=0,
        accountant=accountant or PrivacyAccountant(4.0, 1e-5),
        **settings,
    )


def paid(estimator, X, y):
    return estimator.score_private(X, y, epsilon=0.1).accuracy


def score_of_last_step(pipeline, X, y):
    return paid(pipeline[-1], X, y)


def in_pipeline(inside):
    search = {"privatelogisticregression__n_bins": [2, 3]}
    steps = make_pipeline(FunctionTransformer(), inside)
    return GridSearchCV(steps, search, cv=2, scoring=score_of_last_step).fit(X, Y)


#: What fits copies of a model, and how many.
TOOLS = {
    "grid": (lambda m: GridSearchCV(m, GRID, cv=2, scoring=paid).fit(X, Y), 5),
    "grid with workers": (lambda m: GridSearchCV(m, GRID, cv=2, n_jobs=2).fit(X, Y), 5),
    "drawn": (lambda m: RandomizedSearchCV(m, GRID, n_iter=2, cv=2).fit(X, Y), 5),
    "halved": (lambda m: HalvingGridSearchCV(m, GRID, cv=2, factor=2).fit(X, Y), 7),
    "a pipeline in a search": (in_pipeline, 5),
    "cross-validated": (lambda m: cross_validate(m, X, Y, cv=3), 3),
    "predicted": (lambda m: cross_val_predict(m, X, Y, cv=3), 3),
    "calibrated": (lambda m: CalibratedClassifierCV(m, cv=3).fit(X, Y), 3),
    "calibrated by workers": (lambda m: CalibratedClassifierCV(m, cv=3, n_jobs=2).fit(X, Y), 3),
    "a threshold": (lambda m: TunedThresholdClassifierCV(m, cv=2).fit(X, Y), 3),
    "stacked": (lambda m: StackingClassifier([("m", m)], cv=2).fit(X, Y), 3),
    "voting": (lambda m: VotingClassifier([("a", m), ("b", m)]).fit(X, Y), 2),
    "outputs": (lambda m: MultiOutputClassifier(m).fit(X, np.column_stack([Y, 1 - Y])), 2),
    "by hand": (lambda m: clone(m).fit(X, Y), 1),
    "sent elsewhere": (lambda m: pickle.loads(pickle.dumps(clone(m))).fit(X, Y), 1),
}


# All others are among the mistakes in searches.
@pytest.mark.parametrize("name", ["calibrated by workers", "sent elsewhere"])
def test_a_copy_without_a_part_of_the_budget_is_refused(name):
    run, _ = TOOLS[name]
    inside = model()
    with pytest.raises(ValueError, match=REMEDY):
        run(inside)
    assert inside.accountant.entries() == []


@pytest.mark.parametrize("name", TOOLS)
def test_copies_that_name_their_part_are_fitted_and_recorded(name):
    run, n_fits = TOOLS[name]
    accountant = PrivacyAccountant(4.0, 1e-5)
    inside = model(accountant.epsilon_per_fit(n_fits, share=0.9), accountant)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        run(inside)
    leaks = [str(each.message) for each in caught if each.category is PrivacyLeakWarning]
    if "workers" not in name:
        assert leaks
        assert all("Tools around a model" in leak for leak in leaks)
    entries = [entry for entry in accountant.entries() if "Vector" in entry.mechanism]
    assert len({entry.scope_id for entry in entries}) == n_fits
    assert all(json.loads(entry.note)["copy"] is True for entry in entries if entry.note != "{}")
    statement = str(accountant.statement())
    assert "NOT PROTECTED: what a tool around the model may have learned" in statement
    assert "fitted as copies" in statement


def test_a_mechanism_or_a_reservation_is_a_part_too():
    accountant = PrivacyAccountant(20.0, 1e-5)
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(), n_teachers=10, classes=[0, 1], accountant=accountant
    )
    public = RNG.normal(size=(2, 2))
    with pytest.raises(ValueError, match=REMEDY):
        clone(ensemble).fit(X, Y, X_public=public)
    sure = GNMax(sigma=3.0)
    reservation = accountant.reserve(sure, 2, n_columns=2)
    for part in ({"mechanism": sure}, {"mechanism": sure, "reservation": reservation}):
        n_before = len(accountant.entries())
        with pytest.warns(PrivacyLeakWarning):
            clone(ensemble).set_params(**part).fit(X, Y, X_public=public)
        notes = [json.loads(entry.note) for entry in accountant.entries()[n_before:]]
        assert any(note.get("copy") is True for note in notes)
    assert "fitted as copies" in str(accountant.statement())


def test_fits_that_exceed_the_budget_score_nan():
    accountant = PrivacyAccountant(4.0, 1e-5)
    inside = model(accountant.epsilon_per_fit(3), accountant)
    with pytest.warns() as caught:
        search = GridSearchCV(inside, GRID, cv=2, refit=False).fit(X, Y)
    assert any(each.category is FitFailedWarning for each in caught)
    scores = [search.cv_results_[f"split{fold}_test_score"] for fold in (0, 1)]
    assert np.isnan(scores).sum() == 1
    with pytest.raises(BudgetExceededError):
        inside.fit(X, Y)


@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
def test_reports_of_skore_fit_copies_too():
    skore = pytest.importorskip("skore", reason="skore is not installed")
    accountant = PrivacyAccountant(4.0, 1e-5)
    with pytest.raises(ValueError, match=REMEDY):
        skore.CrossValidationReport(model(accountant=accountant), X, Y, splitter=3)
    assert accountant.entries() == []
    inside = model(accountant.epsilon_per_fit(3), accountant)
    report = skore.CrossValidationReport(inside, X, Y, splitter=3)
    entries = accountant.entries()
    assert len({entry.scope_id for entry in entries}) == 3
    assert all(json.loads(entry.note)["copy"] is True for entry in entries if entry.note != "{}")
    assert "fitted as copies" in str(accountant.statement())
    report.metrics.accuracy()  # exact, and outside of the guarantee, as the statement says
    assert len(accountant.entries()) == len(entries)


@pytest.mark.filterwarnings("error")
def test_a_pipeline_and_what_holds_a_fitted_model_make_no_copies():
    accountant = PrivacyAccountant(4.0, 1e-5)
    steps = make_pipeline(StandardScaler(), model(accountant=accountant)).fit(X, Y)
    assert all("copy" not in entry.note for entry in accountant.entries())
    assert accountant.spent().share > 0.9
    public = RNG.normal(size=(100, 2))
    labels = (public[:, 0] > 0).astype(int)
    CalibratedClassifierCV(FrozenEstimator(steps)).fit(public, labels)
    FixedThresholdClassifier(FrozenEstimator(steps), threshold=0.3).fit(public, labels)
    assert "NOT PROTECTED" not in str(accountant.statement())
