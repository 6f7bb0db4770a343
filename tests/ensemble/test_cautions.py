"""What only looks like a choice is told before anything is trained or spent."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PublicData

OWNERS = np.arange(200) % 40
LEVELS = {"strict": 90.0, "generous": 200.0}


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"n_teachers": 1}, {}, r"one teacher only: .* \(n_teachers=100\)"),
        (
            {"accountant": PrivacyAccountant(LEVELS, 1e-5)},
            {},
            r"the levels 'strict', 'generous', but budgets was not given: .* fit\(..., budgets=\)",
        ),
        ({"epsilon": 101}, {}, "epsilon=101 is more than the accountant's budget of 100.0"),
        (
            {
                "accountant": PrivacyAccountant(LEVELS, 1e-5),
                "epsilon": {"strict": 91, "generous": 300},
            },
            {"budgets": np.where(OWNERS < 20, "strict", "generous")},
            "epsilon={'strict': 91, 'generous': 300} is more than the accountant's budget of {",
        ),
        (
            {"accountant": PrivacyAccountant(90.0, 0.006)},
            {},
            "delta=0.006 is above 1/n = 0.005 for n=200: .* well below that",
        ),
        (
            {"accountant": PrivacyAccountant(90.0, 0.03, unit="owner")},
            {"owners": OWNERS},
            "delta=0.03 is above 1/n = 0.025 for n=40",
        ),
    ],
    ids=["one teacher", "levels", "epsilon", "epsilon of levels", "delta", "delta of owners"],
)
def test_settings(ensemble, private, public, parameters, data, message):
    ensemble.set_params(**parameters)
    with pytest.warns(UserWarning, match=message) as warned:
        ensemble.fit(*private, X_public=public[0][:4], **data)
    assert len(warned) == 1
    # Not where nothing is released; and it is told once.
    ensemble.fit(*private, **data)


def test_a_cap_below_one_level_is_no_mistake(ensemble, private, public):
    ensemble.set_params(accountant=PrivacyAccountant(LEVELS, 1e-5), epsilon=91)
    budgets = np.where(OWNERS < 20, "strict", "generous")
    ensemble.fit(*private, X_public=public[0], budgets=budgets)
    assert ensemble.n_answered_ == 30


def frame(X):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"age": X[:, 0], "job": "cook", "pay": X[:, 1]})


@pytest.mark.parametrize("make", [np.asarray, frame], ids=["array", "frame"])
def test_a_pool_in_other_units(ensemble, private, public, make):
    columns = ["age", "pay"] if make is frame else [0, 1]
    learner = make_pipeline(make_column_transformer(("passthrough", columns)), LogisticRegression())
    ensemble.set_params(estimator=learner, student=None, epsilon=9.0)
    X, y = private
    X = X - X.min(axis=0) + 1.0
    pool = np.exp(X[:30])
    column = "'age'" if make is frame else "0"
    message = f"outside of all values of X in 2 .* such as {column}. .*transform_input"
    with pytest.warns(UserWarning, match=f"{message}.*NOT FOR PUBLICATION") as warned:
        ensemble.fit(make(X), y, X_public=make(pool))
    assert len(warned) == 1
    ensemble.fit(make(X), y, X_public=PublicData(make(X[:30])))
    # A few rows may be anywhere.
    ensemble.fit(make(X), y, X_public=make(pool[:7]))
