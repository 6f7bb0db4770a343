"""Searches and cross-validation: every fit's spend is in the caller's accountant."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData
from secretballot.mechanisms import GNMax

OWNERS = np.arange(200) // 2
pytestmark = pytest.mark.filterwarnings("ignore:a copy of the model")


def make(accountant, **parameters):
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    return PrivateTeacherEnsemble(
        learner,
        n_teachers=10,
        student=learner,
        classes=[0, 1],
        accountant=accountant,
        **parameters,
        check_public_rows=False,
    )


def test_clones_share_the_budget(accountant, private, public):
    ensemble = make(accountant, epsilon=20.0)
    copied = clone(ensemble)
    assert copied.accountant is accountant
    copied.fit(*private, X_public=public[0])
    assert accountant.spent().n_rows == 30


def test_cross_validate(accountant, private, public):
    scores = cross_validate(
        make(accountant, epsilon=15.0),
        *private,
        params={"X_public": PublicData(public[0])},
        cv=4,
        error_score="raise",
    )
    assert scores["test_score"].min() > 0.8
    assert (accountant.spent().n_releases, accountant.spent().n_rows) == (4, 4 * 30)


def test_grid_search(accountant, private, public):
    grid = {"mechanism": [GNMax(sigma=2), GNMax(sigma=3)], "n_teachers": [8, 10]}
    # Workers draw with keys of their own. With noise of 2 and 10 teachers a clear row is turned
    # once in 5,000 times, and a student that errs on a fifth of all rows has learned from three
    # such rows of 30, or more: the best of four has not in 1e9 runs.
    search = GridSearchCV(make(accountant), grid, cv=2, n_jobs=2, error_score="raise")
    search.fit(*private, X_public=PublicData(public[0]))
    # Eight fits, and the refit.
    assert accountant.spent().n_releases == 9
    assert accountant.spent().n_rows == 9 * 30
    assert search.best_score_ > 0.8


def test_a_bare_pool_that_could_be_sliced_is_refused(accountant, private):
    pool = private[0] + 0.1
    with pytest.raises(ValueError, match="PublicData"):
        cross_validate(
            make(accountant, epsilon=15.0),
            *private,
            params={"X_public": pool},
            cv=2,
            error_score="raise",
        )
    assert accountant.spent().n_releases == 0


def test_an_exhausted_budget_fails_the_remaining_fits(private, public):
    accountant = PrivacyAccountant(epsilon=4.0, delta=1e-5, order="renyi")
    mechanism = accountant.calibrate(GNMax, n_rows=75, n_columns=2)
    with pytest.warns() as warned:
        search = GridSearchCV(
            make(accountant, mechanism=mechanism),
            {"n_teachers": [8, 9, 10]},
            cv=2,
            n_jobs=2,
            refit=False,
        ).fit(*private, X_public=PublicData(public[0]))
    assert any(issubclass(warning.category, FitFailedWarning) for warning in warned)
    scores = np.concatenate([search.cv_results_[f"split{split}_test_score"] for split in (0, 1)])
    # Two fits are answered in full, one in half; the others get nothing.
    assert np.isnan(scores).sum() == 3
    assert accountant.spent().n_rows == 75
    assert accountant.spent().share <= 1


def test_a_refit_without_budget_raises(private, public):
    accountant = PrivacyAccountant(epsilon=4.0, delta=1e-5, order="renyi")
    mechanism = accountant.calibrate(GNMax, n_rows=60, n_columns=2)
    search = GridSearchCV(make(accountant, mechanism=mechanism), {"n_teachers": [10]}, cv=2)
    with pytest.raises(BudgetExceededError):
        search.fit(*private, X_public=PublicData(public[0]))
    assert accountant.spent().n_rows == 60


def test_owners_without_metadata_routing(private, public):
    accountant = PrivacyAccountant(500.0, 1e-5, unit="owner")
    fitted = cross_validate(
        make(accountant, epsilon=15.0).set_params(n_teachers=5),
        *private,
        params={"X_public": PublicData(public[0]), "owners": OWNERS},
        cv=3,
        error_score="raise",
    )
    assert fitted["test_score"].min() > 0.7
    assert accountant.spent().n_releases == 3


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_owners_with_metadata_routing(private, public):
    accountant = PrivacyAccountant(500.0, 1e-5, unit="owner")
    ensemble = make(accountant, epsilon=15.0).set_fit_request(owners=True, X_public=True)
    inside = make_pipeline(FunctionTransformer(), ensemble)
    search = GridSearchCV(
        inside,
        {"privateteacherensemble__n_teachers": [4, 5]},
        cv=GroupKFold(2),
        error_score="raise",
    )
    search.fit(*private, owners=OWNERS, X_public=PublicData(public[0]), groups=OWNERS)
    assert search.best_score_ > 0.7
    assert accountant.spent().n_releases == 5


@pytest.mark.usefixtures("routing")
def test_unrequested_metadata_is_an_error(accountant, private, public):
    with pytest.raises(ValueError, match="X_public.*not explicitly set as requested"):
        cross_validate(
            make(accountant),
            *private,
            params={"X_public": PublicData(public[0])},
            error_score="raise",
        )
    assert accountant.spent().n_releases == 0


def test_inside_a_pipeline(accountant, private, public):
    steps = make_pipeline(FunctionTransformer(), make(accountant))
    pool = PublicData(public[0])
    steps.fit(*private, privateteacherensemble__X_public=pool)
    assert steps.score(*public) > 0.8
    assert steps.predict_proba(public[0]).shape == (30, 2)
