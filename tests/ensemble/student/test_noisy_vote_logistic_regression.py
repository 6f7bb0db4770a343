"""A student that knows the noise: its likelihood, what it is told, and scikit-learn's checks."""

import pickle

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import NoisyVoteLogisticRegression, PrivateTeacherEnsemble, Weighting
from secretballot.ensemble.advice import vote_noise
from secretballot.ensemble.individual import Plan
from secretballot.ensemble.student._noisy_vote_logistic_regression import _log_win
from secretballot.mechanisms import BinaryVoting, ConfidentGNMax, GNMax, PowersetVoting


@parametrize_with_checks(
    [NoisyVoteLogisticRegression(), NoisyVoteLogisticRegression(vote_noise=0.2)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_probability_that_a_class_wins():
    shares = np.array([[0.7, 0.3], [0.2, 0.8]])
    two, _ = _log_win(shares, np.array([1, 1]), 0.5)
    assert np.exp(two) == pytest.approx(ndtr(np.array([-0.4, 0.6]) / (0.5 * np.sqrt(2))))
    shares = np.tile([0.5, 0.3, 0.15, 0.05], (4, 1))
    four, _ = _log_win(shares, np.arange(4), 0.3)
    assert np.exp(four).sum() == pytest.approx(1, abs=1e-6)
    noisy = shares[0] + np.random.default_rng(0).normal(scale=0.3, size=(200_000, 4))
    seen = np.bincount(noisy.argmax(axis=1)) / 200_000
    # Six standard deviations of the simulation.
    assert np.exp(four) == pytest.approx(seen, abs=6 * 0.5 / np.sqrt(200_000))
    # A class without ballots beside two: as two classes are, but for it.
    three, _ = _log_win(np.array([[0.6, 0.4, 0.0]]), np.array([0]), 0.05)
    assert np.exp(three[0]) == pytest.approx(ndtr(0.2 / (0.05 * np.sqrt(2))), rel=1e-4)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("noise", [0.02, 0.3, 4.0])
def test_gradient_of_the_likelihood(n_classes, noise):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(20, 3)), rng.integers(n_classes, size=20)
    student = NoisyVoteLogisticRegression(vote_noise=noise, C=2.0)
    n_outputs = 1 if n_classes == 2 else n_classes
    at = rng.normal(scale=0.3, size=4 * n_outputs)
    loss, slope = (lambda w, i=i: student._loss(w, X, codes, n_outputs)[i] for i in (0, 1))
    assert check_grad(loss, slope, at) < 1e-4 * np.linalg.norm(slope(at))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_are_estimated_from_noisy_winners(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 2))
    true = 1.5 * rng.normal(size=(2, n_classes))
    shares = np.exp(X @ true)
    shares /= shares.sum(axis=1, keepdims=True)
    winners = (shares + rng.normal(scale=0.5, size=shares.shape)).argmax(axis=1)
    student = NoisyVoteLogisticRegression(vote_noise=0.5, C=10).fit(X, winners)
    plain = LogisticRegression().fit(X, winners)
    off, plain_off = (abs(each.predict_proba(X) - shares).mean() for each in (student, plain))
    assert off < 0.03
    assert plain_off > 2 * off


def test_without_noise_it_is_logistic_regression():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.choice(["a", "b", "c"], 50)
    plain = LogisticRegression(C=0.1, max_iter=500).fit(X, y)
    student = NoisyVoteLogisticRegression().fit(X, y)
    assert student.predict_proba(X) == pytest.approx(plain.predict_proba(X))
    assert (student.predict(X) == plain.predict(X)).all()


def test_the_ensemble_sets_the_noise_of_nested_students(private, public, accountant):
    student = make_pipeline(StandardScaler(), NoisyVoteLogisticRegression())
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        10,
        mechanism=GNMax(sigma=3.0),
        student=student,
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    ).fit(*private, X_public=public[0])
    assert ensemble.student_[-1].vote_noise == pytest.approx(0.3)
    assert student[-1].vote_noise is None
    assert pickle.loads(pickle.dumps(ensemble.student_)).predict(public[0]).shape == (30,)
    # What was said by hand stays; and rows may be unanswered.
    ensemble.set_params(
        student=NoisyVoteLogisticRegression(vote_noise=0.7),
        mechanism=ConfidentGNMax(sigma=3, sigma_threshold=2.5, threshold=8),
        accountant=PrivacyAccountant(100.0, 1e-5),
    ).fit(*private, X_public=public[0])
    assert ensemble.student_.vote_noise == 0.7
    assert 0 < ensemble.n_answered_ < 30


def test_noise_as_a_share_of_all_ballots(private, public):
    assert vote_noise(ConfidentGNMax(sigma=5, sigma_threshold=9, threshold=2), Plan(20), 7) == 0.25
    assert vote_noise(BinaryVoting(sigma=5, n_votes=20), Plan(20), 7) == 0.25
    assert vote_noise(PowersetVoting(sigma=5, n_labels=3), Plan(20), 7) is None
    accountant = PrivacyAccountant({"strict": 20.0, "generous": 60.0}, 1e-5)
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        10,
        individualization=Weighting(),
        student=NoisyVoteLogisticRegression(),
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    )
    budgets = np.where(np.arange(200) % 4, "strict", "generous")
    ensemble.fit(*private, X_public=public[0][:12], budgets=budgets)
    weight, groups = ensemble.mechanism_.weight, ensemble._labelling.facts.plan.groups
    total = sum(weight[group] for group in groups)
    assert ensemble.student_.vote_noise == pytest.approx(ensemble.mechanism_.sigma / total)


def test_the_noise_of_label_students_is_set(private, public, accountant):
    X, y = private
    ensemble = PrivateTeacherEnsemble(
        MultiOutputClassifier(LogisticRegression()),
        10,
        student=MultiOutputClassifier(NoisyVoteLogisticRegression()),
        mechanism=BinaryVoting(sigma=3.0, n_votes=10),
        accountant=accountant,
        check_public_rows=False,
    ).fit(X, np.stack([y, 1 - y], axis=1), X_public=public[0][:12])
    noises = {model.vote_noise for model in ensemble.student_.estimators_}
    assert noises == {0.3}
