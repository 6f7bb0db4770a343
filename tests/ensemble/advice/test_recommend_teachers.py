"""Advice from public numbers: what noise leaves of ballots, how many teachers, which estimator."""

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from tests._fakes import calibrated

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble, recommend_teachers
from secretballot.ensemble._mechanism_choice import choose_n_teachers
from secretballot.ensemble._target import ClassTarget
from secretballot.ensemble.advice import recommended_n_teachers
from secretballot.mechanisms import GNMax, LaplaceProportions

BUDGET = {"epsilon": 1.0, "delta": 1e-5}


@pytest.fixture(scope="module")
def advice():
    return recommend_teachers(n_private=3_000, n_public=16, n_teachers=[20, 200], **BUDGET)


def test_survival_probabilities_of_majorities(advice):
    assert [(row.n_public, row.n_teachers) for row in advice.rows] == [
        (n_public, n_teachers)
        for n_public in (16, 4, 1)
        for n_teachers in sorted([20, 200, advice.n_teachers])
    ]
    for row in advice.rows:
        exact = calibrated(GNMax, **BUDGET, n_rows=row.n_public, n_columns=2).sigma
        assert row.sigma == exact
        noise = np.sqrt(2) * exact
        for share, survival in row.survival.items():
            assert survival == pytest.approx(ndtr((2 * share - 1) * row.n_teachers / noise))
        assert row.evidence == pytest.approx(np.sqrt(row.n_public) * row.n_teachers / noise)
        assert row.rows_per_teacher == 3_000 / row.n_teachers


def test_all_other_ballots_on_one_class_is_the_worst_case():
    advice = recommend_teachers(
        n_private=900, n_public=4, n_classes=5, n_teachers=[60], n_rows=[], **BUDGET
    )
    row = next(row for row in advice.rows if row.n_teachers == 60)
    two = calibrated(GNMax, **BUDGET, n_rows=4, n_columns=2).sigma
    assert two < row.sigma < 1.02 * two
    noise = np.random.default_rng(0).normal(size=(100_000, 5), scale=row.sigma)
    for others in ([24, 0, 0, 0], [12, 12, 0, 0], [6, 6, 6, 6]):
        won = ((noise + [36, *others]).argmax(axis=1) == 0).mean()
        # Five standard deviations of the simulation.
        assert won > row.survival[0.6] - 5 * 0.5 / np.sqrt(100_000)


def test_text_values_and_frame(advice):
    text = str(advice)
    assert "if 60% agree" in text
    assert text.endswith(advice.reason)
    values = advice.to_dict()
    assert values["rows"][0]["survival"] == advice.rows[0].survival
    frame = advice.frame()
    assert frame["survival 0.75"].tolist() == [row.survival[0.75] for row in advice.rows]


def test_recommended_estimator_and_reason(advice):
    assert advice.estimator == "PrivateLogisticRegression"
    assert "teachers" in advice.reason
    text = recommend_teachers(
        n_private=3_000, n_public=16, n_teachers=[20], n_rows=[], plain_table=False, **BUDGET
    )
    assert text.estimator == "PrivateTeacherEnsemble"
    assert "LogisticRegression:" not in text.reason
    poor = recommend_teachers(n_private=100, n_public=16, n_teachers=[5], n_rows=[], **BUDGET)
    assert "too little for a student to learn from" in poor.reason


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_private": 0}, "n_private=0"),
        ({"n_public": 1.5}, r"n_public=1\.5"),
        ({"n_classes": 1}, "n_classes=1"),
        ({"n_teachers": [200]}, "n_teachers=200"),
        ({"n_rows": [5]}, "n_rows=5"),
        ({"epsilon": 0}, "epsilon"),
    ],
)
def test_out_of_range(wrong, message):
    with pytest.raises(ValueError, match=message):
        recommend_teachers(**{"n_private": 100, "n_public": 4, **BUDGET, **wrong})


def test_evidence_equals_the_rows_of_a_teacher_at_the_recommended_number():
    for n_private, n_public, sigma in ((34_000, 2_000, 189.0), (34_000, 400, 85.0)):
        usual = recommended_n_teachers(n_private, n_public, sigma, 2)
        evidence = np.sqrt(n_public) * usual / (np.sqrt(2) * sigma)
        assert evidence == pytest.approx(n_private / usual, rel=0.1)  # two digits
    assert recommended_n_teachers(100, 400, 1e6, 2) == 5
    assert recommended_n_teachers(5, 400, 1e6, 2) == 1
    assert recommended_n_teachers(8_000, 2_000, 100.0, 50) == 53


@pytest.mark.parametrize("mechanism", [None, GNMax(sigma=9.0)], ids=repr)
def test_n_teachers_none_is_the_recommended_number(private, public, mechanism):
    accountant = PrivacyAccountant(20.0, 1e-5)
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        None,
        mechanism=mechanism,
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    ).fit(*private, X_public=public[0][:12])
    assert ensemble.n_teachers_ == recommended_n_teachers(200, 12, ensemble.mechanism_.sigma, 2)
    assert ensemble.n_teachers is None


def test_the_number_is_the_default(private, public):
    assert PrivateTeacherEnsemble(LogisticRegression()).n_teachers is None


@pytest.mark.parametrize(("n_rows", "n_teachers"), [(5, 1), (200, 20), (2_000, 100)])
def test_a_fixed_number_under_unknown_noise(n_rows, n_teachers):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, 2)), np.arange(n_rows) % 2
    ensemble = PrivateTeacherEnsemble(GaussianNB(), classes=[0, 1])
    assert ensemble.fit(X, y).n_teachers_ == n_teachers
    # With public rows their labels are released, and they have twice as many rows.
    n_teachers = max(1, min(100, n_rows // 20))
    # A mechanism whose noise is of another kind; it is refused for other reasons.
    accountant = PrivacyAccountant(1.0, 1e-5)
    ensemble.set_params(mechanism=LaplaceProportions(scale=1.0), accountant=accountant)
    assert choose_n_teachers(ensemble, n_rows, X, ClassTarget(np.arange(2))) == n_teachers
