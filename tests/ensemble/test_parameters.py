"""Bad input: an error that names parameter, value and remedy; nothing trained, nothing spent."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData, Upsampling
from secretballot.mechanisms import GNMax

#: Fixtures are fitted again, without public rows.
pytestmark = pytest.mark.filterwarnings("ignore:X_public=None. this fit")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"n_teachers": 0},
            r"'n_teachers' .* must be an int in the range \[1, inf\) or None. Got 0",
        ),
        ({"n_teachers": 2.5}, "'n_teachers' .* Got 2.5"),
        ({"n_teachers": 201}, "n_teachers=201 needs at least as many rows, .* n_samples=200"),
        ({"unanswered": "guess"}, "'unanswered' .* 'guess'"),
        ({"individualization": "weights"}, "'individualization' .*Upsampling'.* Got 'weights'"),
        ({"individualization": Upsampling()}, "individualization=Upsampling.* needs budgets"),
        ({"n_jobs": 1.5}, "'n_jobs' .* Got 1.5"),
        ({"verbose": -1}, "'verbose' .* Got -1"),
        ({"random_state": -3}, "'random_state' .* Got -3"),
        ({"random_state": "x"}, "'random_state' .* Got 'x'"),
        ({"mechanism": GNMax}, "must be an instance of 'secretballot.mechanisms.Mechanism'"),
        ({"mechanism": "gnmax"}, "'mechanism' .* Got 'gnmax'"),
        ({"mechanism": GNMax(sigma=10, weight=0.5)}, "weight below 1"),
        ({"student": LogisticRegression}, "student=LogisticRegression is a class"),
        ({"student": 3}, "'student' .* Got 3"),
        ({"estimator": None}, "'estimator' .* Got None"),
        ({"estimator": LogisticRegression}, "estimator=LogisticRegression is a class"),
        ({"estimator": FrozenEstimator(LogisticRegression())}, "list of FrozenEstimators"),
        (
            {"estimator": make_pipeline(MinMaxScaler(), FrozenEstimator(LogisticRegression()))},
            "ends in, one FrozenEstimator",
        ),
        ({"accountant": 1.0}, "'accountant' .*PrivacyAccountant' or None. Got 1.0"),
        ({"accountant": None}, r"accountant=None: .*PrivacyAccountant\(epsilon, delta\)"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"classes": [0]}, "classes holds 1 class"),
        ({"classes": [0, 2]}, r"y holds labels that are not among the classes \[0, 2\], .* \[1\]"),
        ({"classes": ["0", "1"]}, "y holds labels that are not among the classes"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_bad_parameters(ensemble, private, public, parameters, message):
    accountant = ensemble.accountant
    ensemble.set_params(**parameters)
    # Nothing is checked before fit.
    clone(ensemble)
    repr(ensemble)
    with pytest.raises((ValueError, TypeError), match=message):
        ensemble.fit(*private, X_public=public[0])
    assert accountant.spent().n_releases == 0
    assert not hasattr(ensemble, "_teachers")


X = np.zeros((200, 2))
POOL = np.zeros((30, 2))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"X_public": np.zeros((30, 3))},
            "X_public must have the columns of X: X_public has 3 features",
        ),
        ({"X_public": np.zeros((200, 2))}, r"X_public has as many rows as X \(200\).*PublicData"),
        ({"X_public": PublicData(np.zeros((0, 2)))}, "X_public has 0 rows"),
        ({"X_public": np.zeros(30)}, "X_public: expected 2D array"),
        ({"X_public": "rows.csv"}, "X_public='rows.csv' is no table"),
        ({"X_public": PublicData(3)}, "X_public=3 is no table"),
        ({"X_public": {"age": [3]}}, r"X_public={'age': \[3\]} is no table"),
        ({"X_public": np.array(3.0)}, "X_public=.* is no table"),
        ({"X_public": np.full((30, 2), np.inf)}, "X_public contains infinity"),
        ({"X_public": np.ones((30, 2)) * 1j}, "Complex data not supported"),
        ({"budgets": ["strict"] * 200}, "the accountant has one budget for everyone"),
        ({"owners": np.arange(200)}, "owners was given, .* unit='row'.*unit='owner'"),
        ({"X": None}, "X is None"),
        ({"y": None}, "requires y to be passed, but the target y is None"),
        ({"X": np.zeros(200)}, "X: expected 2D array, got 1D array instead"),
        ({"X": np.zeros((199, 2))}, "inconsistent numbers of samples"),
        ({"y": np.zeros((200, 2, 2), dtype=int)}, r"y has shape \(200, 2, 2\); pass"),
        ({"y": np.full((200, 2), 2)}, "holds other values than 0 and 1: .*MultiLabelBinarizer"),
        ({"y": np.full((200, 2), np.nan)}, "contains NaN or None: each label is present"),
        ({"y": csr_array((200, 1))}, "y has shape .*one label only"),
        ({"y": np.zeros((200, 3), dtype=int)}, r"classes=\[0, 1\] is not what y has, 3 labels"),
        ({"y": np.linspace(0, 1, 200)}, "Unknown label type: continuous"),
        ({"y": np.where(np.arange(200) == 7, np.nan, 1.0)}, "y contains NaN"),
        (
            {"X": np.where(np.arange(400).reshape(200, 2) == 7, np.nan, 0.0), "X_public": None},
            "X contains NaN",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_bad_data(ensemble, private, data, message):
    arguments = {"X": private[0], "y": private[1], "X_public": POOL, **data}
    with pytest.raises(ValueError, match=message):
        ensemble.fit(**arguments)
    assert ensemble.accountant.spent().n_releases == 0


def test_a_pool_with_missing_values_is_refused_before_anything_is_spent(ensemble, private):
    with pytest.raises(ValueError, match="NaN"):
        ensemble.fit(*private, X_public=np.full((30, 2), np.nan))
    assert ensemble.accountant.spent().n_releases == 0


@pytest.mark.parametrize(
    ("unit", "relation", "message"),
    [
        ("owner", "replace", "unit='owner'.*Pass owners="),
        ("voter", "replace", "unit='voter'.*FrozenEstimators"),
        ("row", "add_remove", "relation='add_remove'.*relation='replace'"),
    ],
)
def test_a_budget_with_another_unit_or_relation(ensemble, private, public, unit, relation, message):
    other = PrivacyAccountant(5.0, 1e-5, unit=unit, relation=relation)
    ensemble.set_params(accountant=other)
    with pytest.raises(ValueError, match=message):
        ensemble.fit(*private, X_public=public[0])
    # The same where the budget comes after the training.
    ensemble.set_params(accountant=None).fit(*private).set_params(accountant=other)
    with pytest.raises(ValueError, match=message):
        ensemble.predict_private(public[0])
    assert other.spent().n_releases == 0


def test_owners_need_a_budget_for_owners(ensemble, private, public):
    ensemble.set_params(accountant=PrivacyAccountant(5.0, 1e-5, unit="owner"))
    owners = [f"owner {number % 100}" for number in range(200)]
    ensemble.fit(*private, X_public=public[0], owners=owners)
    assert ensemble.to_student().privacy["split_by"] == "owner"
    with pytest.raises(ValueError, match="n_teachers=10 .* owners has 9 different ones"):
        ensemble.fit(*private, owners=np.arange(200) % 9)


@pytest.mark.parametrize(
    ("owners", "message"),
    [
        (np.arange(201), "owners has 201 entries, but X has 200 rows"),
        (np.arange(199), "owners has 199 entries, but X has 200 rows"),
        (np.arange(200)[:, None], r"owners has shape \(200, 1\); give one owner id per row"),
        ("person", "owners is a text, and no list; give one owner id per row"),
        (7, "owners=7 is no list"),
    ],
    ids=lambda value: value if isinstance(value, str) else "owners",
)
@pytest.mark.parametrize("levels", [False, True])
def test_owners_of_another_length(ensemble, private, owners, message, levels):
    epsilon = {"strict": 5.0, "generous": 9.0} if levels else 5.0
    ensemble.set_params(accountant=PrivacyAccountant(epsilon, 1e-5, unit="owner"))
    budgets = np.where(np.arange(200) < 90, "strict", "generous") if levels else None
    with pytest.raises(ValueError, match=message):
        ensemble.fit(*private, owners=owners, budgets=budgets)


def test_unfitted(ensemble, public):
    with pytest.raises(NotFittedError, match="no teachers yet: call fit with private data"):
        ensemble.predict_private(public[0])
    with pytest.raises(NotFittedError):
        ensemble.predict(public[0])


def test_queries_with_other_columns(ensemble, private):
    ensemble.fit(*private)
    with pytest.raises(ValueError, match="X has 3 features, but PrivateTeacherEnsemble is"):
        ensemble.predict_private(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="expected 2D array"):
        ensemble.predict_private(np.zeros(2))
    assert ensemble.accountant.spent().n_releases == 0


def test_teachers_need_no_probabilities(private, public, accountant):
    ensemble = PrivateTeacherEnsemble(
        LinearSVC(),
        5,
        student=LinearSVC(),
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    ).fit(*private, X_public=public[0])
    assert ensemble.score(*public) > 0.8
    assert not hasattr(ensemble, "predict_proba")


def test_sample_weight_is_refused_with_a_reason(ensemble, private):
    with pytest.raises(TypeError, match="'sample_weight': every teacher's ballot.*class_weight"):
        ensemble.fit(*private, sample_weight=np.ones(200))
    with pytest.raises(TypeError, match="argument 'groups'; it takes X, y, X_public, owners and"):
        ensemble.fit(*private, groups=np.ones(200))


def test_a_refused_seed_is_quoted(ensemble, private, public, tmp_path):
    named = PrivacyAccountant(100.0, 1e-5, ledger=tmp_path / "budget.db")
    ensemble.set_params(accountant=named, random_state=7)
    with pytest.raises(ValueError, match="random_state=7 makes the noise reproducible.*budget.db"):
        ensemble.fit(*private, X_public=public[0])
    assert not hasattr(ensemble, "_teachers")


def test_an_exhausted_cap_names_remedies(ensemble, private, public):
    ensemble.set_params(epsilon=8.0).fit(*private, X_public=public[0])
    # A larger epsilon from now on is no cap of this fit.
    helps = "left of epsilon=8.0 .*another fit with a larger epsilon"
    for epsilon, mechanism in [(8.0, None), (9.0, None), (8.0, GNMax(sigma=1.0))]:
        ensemble.set_params(epsilon=epsilon, mechanism=mechanism)
        with pytest.raises(BudgetExceededError, match=helps) as said:
            ensemble.predict_private(public[0])
        assert "scope" not in str(said.value)
    ensemble.set_params(mechanism=None, epsilon=None).fit(*private, X_public=public[0])
    with pytest.raises(BudgetExceededError, match="left of the budget.*stays free to use"):
        ensemble.predict_private(public[0])
