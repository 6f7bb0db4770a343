"""Noise leaves something of a vote, or of many together; else nothing is asked."""

import re
import warnings

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression
from tests.ensemble.conftest import make_blobs

from secretballot.accounting import BudgetExceededError, PrivacyAccountant, PrivacyLeakWarning
from secretballot.ensemble import PrivateTeacherEnsemble, Upsampling, Vanishing, Weighting
from secretballot.ensemble.advice import check_noise, warn_noise
from secretballot.ensemble.advice._survival import MIN_SURVIVAL, evidence, is_useful, survival
from secretballot.ensemble.individual import Assignment
from secretballot.mechanisms import (
    BinaryVoting,
    ConfidentGNMax,
    GNMax,
    LaplaceProportions,
    TauVoting,
)


@pytest.fixture
def private():
    return make_blobs(2_000)


def test_survival_of_a_unanimous_vote():
    votes = Assignment(10)
    assert survival(GNMax(sigma=8), votes, 2, 3) == pytest.approx(ndtr(10 / (8 * np.sqrt(2))))
    threshold = ConfidentGNMax(sigma=8, sigma_threshold=5, threshold=7)
    both = ndtr(3 / 5) * survival(GNMax(sigma=8), votes, 2, 3)
    assert survival(threshold, votes, 2, 3) == pytest.approx(both)
    counted = ConfidentGNMax(sigma=8, sigma_threshold=5, threshold=7, n_votes=10)
    assert survival(counted, votes, 2, 3) == pytest.approx(both)
    # All ten on one of five classes: it wins where its noise and ten beat four other noises.
    noise = np.random.default_rng(0).normal(size=(200_000, 5), scale=8)
    seen = (noise[:, 0] + 10 > noise[:, 1:].max(axis=1)).mean()
    # Six standard deviations of the simulation: wrong once in 5e8 seeds.
    assert abs(survival(GNMax(sigma=8), votes, 5, 3) - seen) < 6 * 0.5 / np.sqrt(200_000)
    assert survival(LaplaceProportions(scale=1.0), votes, 2, 3) is None


@pytest.mark.parametrize(("tau", "ahead"), [(2.0, 10), (1.0, 10), (0.75, 5), (0.5, 0)])
def test_survival_of_a_label_with_ballots_clipped_below_one(tau, ahead):
    """All absent is not the hardest: a present label has 10 tau of 10 votes."""
    mechanism = TauVoting(sigma=2, n_votes=10, tau=tau)
    expected = ndtr(ahead / (2 * np.sqrt(2)))
    assert survival(mechanism, Assignment(10), 6, 3) == pytest.approx(expected)


def test_survival_of_next_to_no_noise():
    assert survival(GNMax(sigma=1e-9), Assignment(10), 3, 30) == pytest.approx(1)


@pytest.mark.filterwarnings("ignore:X_public=None. this fit")
def test_noise_that_would_drown_all_votes_is_refused_before_anything_is_trained(private, public):
    accountant = PrivacyAccountant(epsilon=1.0, delta=1e-5)
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(), 10, classes=[0, 1], accountant=accountant, check_public_rows=False
    )
    with pytest.raises(
        BudgetExceededError, match="all 10 teachers .* agree, a label would win"
    ) as refused:
        ensemble.fit(*private, X_public=public[0])
    assert not hasattr(ensemble, "_teachers")
    # What the error advises would do.
    said = (
        r"sigma=([\d.]+), .* Use some (\d+) teachers, or about (\d+) rows, or about ([\d.]+) times"
    )
    sigma, teachers, rows, times = map(float, re.search(said, str(refused.value)).groups())
    assert survival(GNMax(sigma=sigma), Assignment(int(teachers)), 2, 30) >= MIN_SURVIVAL
    assert survival(GNMax(sigma=sigma), Assignment(int(teachers) - 2), 2, 30) < MIN_SURVIVAL
    for better in (
        {"X_public": public[0][: int(rows)]},
        {"accountant": PrivacyAccountant(times, 1e-5), "X_public": public[0]},
    ):
        spending = better.get("accountant", PrivacyAccountant(1.0, 1e-5))
        ensemble.set_params(accountant=spending).fit(*private, X_public=better["X_public"])
        assert spending.spent().n_releases == 1
    ensemble.set_params(accountant=accountant)
    # In predict_private too; and who insists is warned.
    ensemble.fit(*private)
    with pytest.raises(BudgetExceededError, match=r"mechanism=GNMax\(sigma=.*\) insists"):
        ensemble.predict_private(public[0])
    assert accountant.spent().n_releases == 0
    ensemble.set_params(mechanism=GNMax(sigma=np.ceil(sigma)))
    with pytest.warns(
        UserWarning, match=r"probability 0.62 only, even if all 10 teachers \(of 200"
    ):
        ensemble.predict_private(public[0])
    assert accountant.spent().n_rows == 30


def test_a_data_dependent_budget_withholds_the_noise_that_drowns(private, public):
    """Calibrated noise depends on what is left, and so on the votes of earlier releases."""
    with pytest.warns(PrivacyLeakWarning):
        accountant = PrivacyAccountant(epsilon=1.0, delta=1e-5, accounting="data_dependent")
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(), 10, classes=[0, 1], accountant=accountant, check_public_rows=False
    )
    with pytest.raises(BudgetExceededError, match="all 10 .* The figures are withheld") as refused:
        ensemble.fit(*private, X_public=public[0])
    assert re.findall(r"[\d.]*\d", str(refused.value)) == [
        "30",
        "10",
        "200",
    ]  # numbers of rows and teachers


@pytest.mark.parametrize("individualization", [Upsampling(), Weighting(), Vanishing()], ids=repr)
def test_noise_that_drowns_individual_budgets_is_refused(private, public, individualization):
    accountant = PrivacyAccountant({"strict": 0.5, "generous": 1.5}, 1e-5)
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        10,
        individualization=individualization,
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    )
    budgets = np.where(np.arange(2_000) % 4, "strict", "generous")
    with pytest.raises(BudgetExceededError, match=r"agree, a label would win with probability"):
        ensemble.fit(*private, X_public=public[0], budgets=budgets)
    assert accountant.spent()["strict"].n_releases == 0


def test_many_noisy_labels_are_useful_to_a_student():
    # 400 rows and 100 teachers at sigma 150: a unanimous vote wins with .68.
    votes, noisy = Assignment(100), GNMax(sigma=150)
    assert 0.6 < survival(noisy, votes, 2, 400) < MIN_SURVIVAL
    assert is_useful(noisy, votes, 2, 400, learns=True)
    assert not is_useful(noisy, votes, 2, 400, learns=False)
    assert not is_useful(noisy, votes, 2, 100, learns=True)
    # Noise for all rows: the evidence is the teachers' and the budget's, whatever the rows.
    for n_rows in (400, 40_000):
        right = survival(GNMax(sigma=8 * np.sqrt(n_rows)), votes, 2, n_rows)
        assert evidence(right, n_rows, 0.5) == pytest.approx(100 / 8 / np.sqrt(2))


def test_a_pool_from_which_no_student_learns_is_refused_unspent(private, public):
    accountant = PrivacyAccountant(epsilon=1.0, delta=1e-5)
    student = LogisticRegression()
    ensemble = PrivateTeacherEnsemble(
        student, 10, student=student, classes=[0, 1], accountant=accountant, check_public_rows=False
    )
    message = (
        r"win with probability 0.62 only.* Use some (\d+) teachers, or about .* fewer rows too"
    )
    with pytest.raises(BudgetExceededError, match=message) as refused:
        ensemble.fit(*private, X_public=public[0])
    assert accountant.spent().n_releases == 0
    assert not hasattr(ensemble, "_teachers")
    teachers = int(re.search(r"some (\d+)", str(refused.value)).group(1))
    ensemble.set_params(n_teachers=teachers).fit(*private, X_public=public[0])
    assert accountant.spent().n_rows == 30


def test_a_pool_with_drowned_single_labels_is_labelled_for_a_student(private):
    pool = np.random.default_rng(2).normal(size=(120, 2))
    student = LogisticRegression()
    ensemble = PrivateTeacherEnsemble(
        student,
        40,
        student=student,
        classes=[0, 1],
        accountant=PrivacyAccountant(epsilon=1.0, delta=1e-5),
        check_public_rows=False,
    ).fit(*private, X_public=pool)
    assert survival(ensemble.mechanism_, Assignment(40), 2, 120) < MIN_SURVIVAL
    assert ensemble.n_answered_ == 120


@pytest.mark.parametrize(("sigma", "drowned"), [(119, True), (60, False)])
def test_drowned_ballots_on_several_labels_are_warned_of(sigma, drowned):
    # 119 on 100 ballots: a unanimous label is answered rightly with .72.
    mechanism, assignment = BinaryVoting(sigma=sigma, n_votes=100), Assignment(100)
    assert is_useful(mechanism, assignment, 22, 400, learns=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_noise(mechanism, assignment, 22, 400, learns=True)
        for withhold in (False, True):
            check_noise(
                lambda sigma: mechanism,
                sigma,
                assignment,
                22,
                400,
                learns=True,
                epsilon_factor=lambda factor: factor,
                withhold=withhold,
            )
    messages = [str(each.message) for each in caught]
    assert len(messages) == 2 * drowned  # none where the figures are withheld
    assert all("drowns the ballots on 22 labels" in message for message in messages)
