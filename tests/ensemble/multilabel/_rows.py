"""Rows with three labels: which of three features are positive."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble

N_LABELS = 3
PER_LABEL = MultiOutputClassifier(LogisticRegression())


def make_rows(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], size=(n_rows, N_LABELS)) * rng.uniform(1, 3, (n_rows, N_LABELS))
    return X, (X > 0).astype(int)


X, Y = make_rows(300)
POOL, TRUTH = make_rows(30, seed=1)


def ensemble_of(estimator=PER_LABEL, n_teachers=10, **parameters):
    """Ten teachers with room for noise that changes next to nothing."""
    parameters = {
        "student": PER_LABEL,
        "accountant": PrivacyAccountant(1e4, 1e-5, order="renyi"),
    } | parameters
    return PrivateTeacherEnsemble(estimator, n_teachers, **parameters, check_public_rows=False)
