"""Warnings of columns that are the target in other codes, by what was released."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from secretballot import (
    PrivacyAccountant,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)

N, N_PUBLIC = 4_000, 100
#: Columns that are the target in other codes; "nearly" only correlates with it.
CODES = {
    "booleans": lambda y, rng: y == "b",
    "numbers": lambda y, rng: np.where(y == "b", 7, 3),
    "texts of numbers": lambda y, rng: np.where(y == "b", "1", "0"),
    "nearly": lambda y, rng: np.where(rng.random(len(y)) < 0.75, y == "b", y == "a"),
}


def table(n, seed, code):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, "b", "a")
    X = pd.DataFrame({"age": rng.integers(18, 80, n), "other": rng.normal(size=n) + 2 * (y == "b")})
    return X.assign(outcome=CODES[code](y, rng)), y


def fitted(kind, X, y, X_public):
    accountant = PrivacyAccountant(8.0, 1e-6)
    settings = {"classes": ["a", "b"], "accountant": accountant}
    if kind == "linear":
        model = PrivateLogisticRegression(**settings)
    else:
        model = PrivateTeacherEnsemble(DecisionTreeClassifier(random_state=0), 200, **settings)
    return model.fit(X, y, X_public=PublicData(X_public))


@pytest.mark.parametrize("kind", ["linear", "teachers"])
@pytest.mark.parametrize("code", [code for code in CODES if code != "nearly"])
def test_a_column_with_one_value_for_each_class_warns(kind, code):
    (X, y), (X_public, _) = table(N, 0, code), table(N_PUBLIC, 1, code)
    with pytest.warns(UserWarning, match=r"the column 'outcome' .* y in other codes.*X.drop"):
        fitted(kind, X, y, X_public)


@pytest.mark.parametrize("kind", ["linear", "teachers"])
def test_a_correlated_column_does_not_warn(kind):
    code = "nearly"
    (X, y), (X_public, _) = table(N, 0, code), table(N_PUBLIC, 1, code)
    fitted(kind, X, y, X_public)
