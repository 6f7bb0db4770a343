"""Labels released from votes on labels: by all mechanisms, budgets, levels and kinds of fits."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_classifiers_multilabel_output_format_predict,
    check_classifiers_multilabel_output_format_predict_proba,
    check_classifiers_multilabel_representation_invariance,
)
from tests._quietly import quietly
from tests.ensemble.multilabel._rows import (
    N_LABELS,
    PER_LABEL,
    POOL,
    TRUTH,
    X,
    Y,
    ensemble_of,
    make_rows,
)

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.accounting._report import replay
from secretballot.ensemble import (
    PrivateTeacherEnsemble,
    PublicData,
    Upsampling,
    Vanishing,
    Weighting,
)
from secretballot.ensemble.advice._survival import survival
from secretballot.ensemble.individual import Assignment
from secretballot.mechanisms import BinaryVoting, PowersetVoting, StableTopK, TauVoting
from secretballot.testing import for_sklearn

MECHANISMS = {
    "binary": BinaryVoting(sigma=1.0, n_votes=10),
    "with a threshold": BinaryVoting(sigma=1.0, n_votes=10, threshold=8, sigma_threshold=1.0),
    "tau": TauVoting(sigma=0.7, n_votes=10, tau=1.4),
    "powerset": PowersetVoting(sigma=1.0, n_labels=N_LABELS),
}
TOP_K = {
    "top k": StableTopK(rho=20.0, delta_t=1e-8, n_votes=10),
    "top 2": StableTopK(rho=20.0, delta_t=1e-8, k=2),
}


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
@pytest.mark.parametrize("kind", MECHANISMS | TOP_K)
def test_labels_are_released_and_paid(kind, order):
    accountant = PrivacyAccountant(400.0, 1e-5, order=order, approximation_delta=5e-6)
    ensemble = ensemble_of(mechanism=(MECHANISMS | TOP_K)[kind], accountant=accountant)
    # Two labels on each of three rows may have one of them on all.
    quietly(ensemble.fit, X, Y, X_public=POOL[:3])
    labels, answered = ensemble.pool_labels_
    assert labels.shape == answered.shape == (3, N_LABELS)
    assert ((labels == -1) == ~answered).all()
    assert answered.all() or kind in ("with a threshold", "top k")
    paid = accountant.spent()
    assert 0 < paid.share <= 1
    assert paid.n_rows == 3
    released = ensemble.predict_private(POOL[:2])
    assert released.labels.shape == (2, N_LABELS)
    assert accountant.spent().share > paid.share
    replay(accountant._ledger)


@pytest.mark.parametrize(
    "mechanism",
    [
        TauVoting(sigma=0.7, n_votes=10, tau=1.4, threshold=7, sigma_threshold=1.0),
        PowersetVoting(sigma=1.0, n_labels=N_LABELS, threshold=8, sigma_threshold=1.0),
        BinaryVoting(sigma=1.0, n_votes=10, hierarchy={2: 0}),
    ],
    ids=["tau", "powerset", "hierarchy"],
)
def test_unanswered_and_absent_labels(mechanism):
    ensemble = ensemble_of(mechanism=mechanism, student=None).fit(X, Y, X_public=POOL)
    labels, answered = ensemble.pool_labels_
    if isinstance(mechanism, BinaryVoting):
        assert answered.all()
        assert (labels[labels[:, 0] == 0, 2] == 0).all()
        assert (labels[:, :2] == TRUTH[:, :2]).mean() > 0.9
        return
    # Ten ballots on most rows agree: a tenth of the cells at least is answered, and rightly.
    assert answered.mean() > 0.1
    assert (labels[answered] == TRUTH[answered]).mean() > 0.8
    if isinstance(mechanism, PowersetVoting):
        assert (answered.all(axis=1) == answered.any(axis=1)).all()
    assert ensemble.accountant.spent().n_rows == 30


def test_noise_is_calibrated_to_all_labels_of_the_pool():
    accountant = PrivacyAccountant(16.0, 1e-5)
    ensemble = ensemble_of(accountant=accountant, n_teachers=50)
    ensemble.fit(*make_rows(500), X_public=POOL)
    mechanism = ensemble.mechanism_
    assert isinstance(mechanism, BinaryVoting)
    assert mechanism.n_votes == 50
    assert 0.99 < accountant.spent().share <= 1
    with pytest.raises(BudgetExceededError):
        ensemble.predict_private(POOL)
    entry = accountant.statement().to_dict()
    assert "BinaryVoting" in str(entry)


def test_noise_that_drowns_even_unanimous_labels_is_refused():
    message = r"would drown them: even if all 10 .*mechanism=BinaryVoting\(n_votes=10, "
    with pytest.raises(BudgetExceededError, match=message):
        ensemble_of(accountant=PrivacyAccountant(0.5, 1e-5)).fit(X, Y, X_public=POOL)


def test_survival_of_unanimous_labels():
    assignment, rng = Assignment(10), np.random.default_rng(0)
    for mechanism in (
        BinaryVoting(sigma=5.0, n_votes=10),
        BinaryVoting(sigma=5.0, n_votes=10, threshold=8, sigma_threshold=4.0),
        TauVoting(sigma=5.0, n_votes=10, tau=1.2),
        TauVoting(sigma=5.0, n_votes=10, tau=1.2, threshold=8, sigma_threshold=4.0),
        BinaryVoting(sigma=5.0, n_votes=10, hierarchy={2: 1}),
        PowersetVoting(sigma=3.0, n_labels=2, threshold=8, sigma_threshold=2.0),
        PowersetVoting(sigma=5.0, n_labels=N_LABELS),
        PowersetVoting(sigma=3.0, n_labels=12, max_positives=4),
    ):
        n_labels = getattr(mechanism, "n_labels", N_LABELS)
        counting = mechanism.counting(n_labels)
        votes = np.zeros((1, n_labels), dtype=int)
        cast = counting.begin(votes, 10)
        for _ in range(9):
            cast = counting.add(cast, votes)
        counts = mechanism.check_counts(counting.total({"*": cast}, {"*": np.asarray(1.0)}))
        drawn = mechanism.sample(np.repeat(counts, 40_000, axis=0), rng)
        together = isinstance(mechanism, PowersetVoting)
        seen = (drawn == 0).all(axis=1).mean() if together else (drawn[:, 0] == 0).mean()
        # Six standard errors, for eight mechanisms: 2e-8.
        assert abs(survival(mechanism, assignment, n_labels, 3) - seen) < 6 * 0.5 / 200


LEVELS = np.where(np.arange(len(X)) % 10 < 7, "strict", "generous")


@pytest.mark.parametrize(
    ("kind", "variant"),
    [
        *(("binary", variant) for variant in (Upsampling(), Weighting(), Vanishing())),
        ("with a threshold", Vanishing()),
        ("tau", Upsampling()),
        ("powerset", Weighting()),
    ],
    ids=repr,
)
def test_individual_budgets(kind, variant):
    accountant = PrivacyAccountant({"strict": 25.0, "generous": 75.0}, 1e-5, order="renyi")
    ensemble = ensemble_of(
        mechanism=MECHANISMS[kind], individualization=variant, accountant=accountant
    )
    quietly(ensemble.fit, X, Y, X_public=POOL, budgets=LEVELS)
    n_begun = accountant.spent()["strict"].n_rows
    assert 1 <= n_begun < len(POOL)
    labels, answered = ensemble.pool_labels_
    assert answered[:n_begun].any()
    assert (labels[answered] == TRUTH[answered]).mean() > 0.8
    shares = {level: spent.share for level, spent in accountant.spent().items()}
    assert 0.5 < max(shares.values()) <= 1
    mechanism = ensemble.mechanism_
    if variant == Vanishing():
        mechanism = mechanism.mechanism
    counted = getattr(mechanism, "n_votes", None)
    if counted is not None and variant != Vanishing():
        assert counted == pytest.approx(ensemble.n_teachers_)


def test_turns_leave_out_ballots_evenly():
    """A row on which fewer take part is decided by the majority of those who do."""
    accountant = PrivacyAccountant({"strict": 1.0, "generous": 4.0}, 1e-5, order="renyi")
    ensemble = ensemble_of(individualization=Vanishing(), accountant=accountant, student=None)
    quietly(ensemble.fit, X, Y, budgets=LEVELS)
    assignment = ensemble._labelling.facts.assignment
    groups = list(zip(*np.unique(assignment.groups, return_counts=True), strict=True))
    # Ballots on 99 labels: none is longer than 1, but half for each label is.
    short = assignment.individualize(TauVoting(sigma=1.0, n_votes=10, tau=1.0), 99)
    one_label = {group: n * np.eye(1, 99).repeat(20, axis=0) for group, n in groups}
    short.check_counts(assignment.add_up(one_label, short, short.counting(99)))
    mechanism = assignment.individualize(MECHANISMS["binary"], N_LABELS)
    votes = {group: np.repeat([[0, n, n]], 20, axis=0) for group, n in groups}
    counts = assignment.add_up(votes, mechanism, mechanism.counting(N_LABELS))
    n_votes = mechanism.mechanism.n_votes
    assert counts[:, 0] + counts[:, 1] == pytest.approx(n_votes)
    missing = counts[:, 0] * 2
    assert missing.min() == 0
    assert missing.max() > 0  # else nothing was tested
    mechanism.check_counts(counts)
    # With a threshold too, though on average no whole number of ballots is there.
    assignment.individualize(MECHANISMS["with a threshold"], N_LABELS).check_counts(counts)


def test_a_reservation_is_drawn_from():
    for kind in ("binary", "powerset"):
        mechanism, accountant = MECHANISMS[kind], PrivacyAccountant(90.0, 1e-5, order="renyi")
        reservation = accountant.reserve(mechanism, 6, n_columns=N_LABELS)
        paid = accountant.spent().amount
        for _ in range(2):
            ensemble = ensemble_of(accountant=accountant, reservation=reservation, student=None)
            ensemble.fit(X, Y, X_public=POOL[:3])
            assert ensemble.pool_labels_.answered.all()
        assert accountant.spent().amount == paid


def test_owners_and_pickles():
    owners = np.repeat(np.arange(100), 3)
    accountant = PrivacyAccountant(1e4, 1e-5, unit="owner", order="renyi")
    ensemble = ensemble_of(accountant=accountant, mechanism=MECHANISMS["binary"])
    ensemble.fit(X, Y, X_public=POOL[:10], owners=owners)
    copied = pickle.loads(pickle.dumps(ensemble))
    assert (copied.predict(POOL) == ensemble.predict(POOL)).all()
    assert copied.predict_private(POOL[:2]).answered.all()
    assert not hasattr(clone(ensemble), "student_")


@pytest.mark.parametrize("classes", [None, [[0, 1]] * N_LABELS], ids=["learned", "declared"])
def test_parties(classes):
    parties = [
        FrozenEstimator(clone(PER_LABEL).fit(X[start::10], Y[start::10])) for start in range(10)
    ]
    ensemble = ensemble_of(parties, classes=classes).fit(None, None, X_public=POOL)
    assert (ensemble.pool_labels_.labels == TRUTH).mean() > 0.9
    other = FrozenEstimator(clone(PER_LABEL.estimator).fit(X, Y[:, 0]))
    with pytest.raises(ValueError, match="the parties differ in what they predict"):
        ensemble_of([*parties, other]).fit(None, None, X_public=POOL)


@pytest.mark.parametrize(
    "party",
    [
        RidgeClassifier(),
        MLPClassifier(8, solver="lbfgs", max_iter=200, random_state=0),
        make_pipeline(StandardScaler(), OneVsRestClassifier(RidgeClassifier())),
    ],
    ids=["ridge", "network", "pipeline"],
)
def test_parties_that_number_their_labels(party):
    """Their classes_ is 0, 1, 2 as if rows had one class of three."""
    parties = [FrozenEstimator(clone(party).fit(X[start::10], Y[start::10])) for start in range(10)]
    ensemble = ensemble_of(parties).fit(None, None, X_public=POOL)
    assert [each.tolist() for each in ensemble.classes_] == [[0, 1]] * N_LABELS
    assert (ensemble.pool_labels_.labels == TRUTH).mean() > 0.9


@pytest.mark.filterwarnings("ignore:a copy of the model")
def test_a_search_spends_for_each_fit():
    accountant = PrivacyAccountant(1e4, 1e-5, order="renyi")
    grid = {"mechanism": [MECHANISMS["binary"], MECHANISMS["powerset"]]}
    search = GridSearchCV(
        ensemble_of(accountant=accountant),
        grid,
        cv=2,
        n_jobs=2,
        scoring=["f1_macro", "roc_auc", "average_precision"],
        refit="f1_macro",
    )
    search.fit(X, Y, X_public=PublicData(POOL))
    assert accountant.spent().n_releases == 5
    assert search.best_score_ > 0.8
    assert search.cv_results_["mean_test_roc_auc"].min() > 0.8


@pytest.mark.parametrize(
    "check",
    [
        check_classifiers_multilabel_representation_invariance,
        check_classifiers_multilabel_output_format_predict,
        check_classifiers_multilabel_output_format_predict_proba,
    ],
    ids=lambda check: check.__name__,
)
def test_scikit_learn_on_labels(check):
    mechanism = BinaryVoting(sigma=0.1, n_votes=3)
    ensemble = PrivateTeacherEnsemble(PER_LABEL, 3, student=PER_LABEL, mechanism=mechanism)
    quietly(check, "ensemble", for_sklearn(ensemble))
