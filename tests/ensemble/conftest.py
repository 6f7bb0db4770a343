"""Small data with an easy answer, and budgets of which nothing is left on disk."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble


def make_blobs(n_rows, seed=0):
    """Two classes, four units apart in the first of two features."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    X = rng.normal(size=(n_rows, 2))
    X[:, 0] += 4.0 * y - 2.0
    return X, y


@pytest.fixture
def private():
    return make_blobs(200)


@pytest.fixture
def public():
    return make_blobs(30, seed=1)


@pytest.fixture
def accountant():
    return PrivacyAccountant(epsilon=100.0, delta=1e-5)


@pytest.fixture
def ensemble(accountant):
    """Ten teachers and a student, with noise as users have it, keyed by the name of the test."""
    return PrivateTeacherEnsemble(
        LogisticRegression(),
        n_teachers=10,
        student=LogisticRegression(),
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    )
