"""Ensembles inside, behind and around other estimators: the page around.md."""

import numpy as np
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData
from secretballot.mechanisms import GNMax

CENTRES = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
NB = GaussianNB()


def rows_of(n_rows, seed):
    y = np.arange(n_rows) % 3
    return CENTRES[y] + np.random.default_rng(seed).normal(size=(n_rows, 2)), y


(X, Y), (POOL, TRUTH) = rows_of(180, 0), rows_of(24, 1)


def ensemble_of(accountant=None, **parameters):
    parameters = {"estimator": NB, "student": NB, "classes": [0, 1, 2]} | parameters
    return PrivateTeacherEnsemble(
        n_teachers=6,
        mechanism=GNMax(sigma=0.5),
        accountant=accountant or PrivacyAccountant(1e4, 1e-5),
        **parameters,
        check_public_rows=False,
    )


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize(
    "learner",
    [
        make_pipeline(StandardScaler(), NB),
        GridSearchCV(NB, {"var_smoothing": [1e-9, 1e-3]}, cv=2),
        StackingClassifier([("one", NB), ("other", NB)], final_estimator=NB, cv=2),
        VotingClassifier([("one", NB), ("other", NB)], voting="soft"),
        OneVsRestClassifier(NB),
        CalibratedClassifierCV(NB, cv=2),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_preprocessing_inside_the_ensemble_is_private(learner):
    ensemble = ensemble_of(estimator=learner, student=learner).fit(X, Y, X_public=POOL)
    assert ensemble.accountant.spent().n_releases == 1
    assert ensemble.score(POOL, TRUTH) > 0.8


def behind(step, **options):
    ensemble = ensemble_of().set_fit_request(X_public=True)
    return Pipeline([("step", step), ("ensemble", ensemble)], **options)


LOG = FunctionTransformer(np.log)


@pytest.mark.filterwarnings("ignore:a copy of the model")
@pytest.mark.usefixtures("routing")
def test_a_pipeline_step_transforms_the_pool_if_routed():
    far, pool = np.exp(X), np.exp(POOL)
    steps = behind(LOG, transform_input=["X_public"]).fit(far, Y, X_public=pool)
    assert steps.score(pool, TRUTH) > 0.9
    with pytest.raises(TypeError, match="PublicData"):
        steps.fit(far, Y, X_public=PublicData(pool))
    with pytest.raises(ValueError, match="X_public has as many rows as X"):
        steps.fit(far, Y, X_public=1.01 * far)
    # In cross-validation the pool stays whole.
    before = steps[-1].accountant.spent().n_rows
    scores = cross_validate(steps, far, Y, params={"X_public": pool}, cv=2, error_score="raise")
    assert scores["test_score"].min() > 0.9
    assert steps[-1].accountant.spent().n_rows == before + 2 * len(pool)


def test_transforming_the_pool_needs_metadata_routing():
    steps = Pipeline([("step", LOG), ("ensemble", ensemble_of())], transform_input=["X_public"])
    with pytest.raises(ValueError, match="metadata routing"):
        steps.fit(np.exp(X), Y, ensemble__X_public=POOL)


@pytest.mark.filterwarnings("ignore:a copy of the model")
@pytest.mark.parametrize("routed", [False, True])
def test_outputs_of_a_multi_output_classifier_add_up(routed):
    accountant = PrivacyAccountant(1e4, 1e-5)
    ensemble = ensemble_of(accountant, classes=[0, 1], epsilon=5e3)
    with sklearn.config_context(enable_metadata_routing=routed):
        if routed:
            ensemble.set_fit_request(X_public=True)
        outputs = MultiOutputClassifier(ensemble)
        outputs.fit(X, np.column_stack([Y == 0, Y == 1]).astype(int), X_public=POOL)
    assert accountant.spent().n_releases == 2
    assert outputs.score(POOL, np.column_stack([TRUTH == 0, TRUTH == 1])) > 0.8


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    ("around", "classes", "releases"),
    [
        (OneVsRestClassifier, [0, 1], 3),
        (lambda each: VotingClassifier([("one", each), ("other", each)]), range(3), 2),
        (lambda each: CalibratedClassifierCV(each, cv=3), [0, 1, 2], 3),
    ],
    ids=["one against the rest", "voting", "calibrated"],
)
def test_each_fit_of_a_meta_estimator_spends(around, classes, releases):
    accountant = PrivacyAccountant(1e4, 1e-5)
    ensemble = ensemble_of(accountant, classes=classes).set_fit_request(X_public=True)
    with pytest.warns(PrivacyLeakWarning, match="a copy of the model"):
        fitted = around(ensemble).fit(X, Y, X_public=POOL)
    assert accountant.spent().n_releases == releases
    assert fitted.score(POOL, TRUTH) > 0.7
    # The set of classes is that of the private labels, and nobody has warned.
    assert fitted.classes_.tolist() == [0, 1, 2]


@pytest.mark.filterwarnings("ignore:a copy of the model")
@pytest.mark.usefixtures("routing")
def test_a_meta_estimator_reveals_a_rare_label():
    named = np.where(np.arange(180) == 7, "rare", np.array(["a", "b", "c"])[Y])
    ensemble = ensemble_of(classes=range(4)).set_fit_request(X_public=True)
    fitted = VotingClassifier([("one", ensemble)]).fit(X, named, X_public=POOL)
    assert "rare" in fitted.classes_


@pytest.mark.filterwarnings("ignore:a copy of the model")
def test_meta_estimators_without_routing():
    ensemble = ensemble_of()
    with pytest.warns(PrivacyLeakWarning, match="a copy of the model"):
        calibrated = CalibratedClassifierCV(ensemble, cv=2).fit(X, Y, X_public=POOL)
    assert calibrated.score(POOL, TRUTH) > 0.7
    assert ensemble.accountant.spent().n_releases == 2
    steps = Pipeline([("ensemble", ensemble)]).fit(X, Y, ensemble__X_public=POOL)
    assert steps.score(POOL, TRUTH) > 0.9
    for around in (OneVsRestClassifier(ensemble), VotingClassifier([("one", ensemble)])):
        with pytest.raises(ValueError, match="enable_metadata_routing=True"):
            around.fit(X, Y, X_public=POOL)


@pytest.mark.filterwarnings("ignore:a copy of the model")
@pytest.mark.usefixtures("routing")
def test_bagging_seeds_the_noise(tmp_path):
    named = PrivacyAccountant(1e4, 1e-5, ledger=tmp_path / "budget.db")
    for accountant in (None, named):
        ensemble = ensemble_of(accountant).set_fit_request(X_public=True)
        around = BaggingClassifier(ensemble, 2, bootstrap=False)
        if accountant is None:
            with pytest.warns(PrivacyLeakWarning, match="reproducible"):
                around.fit(X, Y, X_public=POOL)
        else:
            with pytest.raises(ValueError, match="refused on the named ledger"):
                around.fit(X, Y, X_public=POOL)
