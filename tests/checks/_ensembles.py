"""Ensembles on which the common checks and audits run."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble

ESTIMATORS = {
    "logistic regression": LogisticRegression(),
    "tree": DecisionTreeClassifier(max_depth=3),
}


def make_ensemble(estimator: Any, accountant: PrivacyAccountant | None) -> PrivateTeacherEnsemble:
    """Return an ensemble as the checks want it."""
    return PrivateTeacherEnsemble(
        estimator,
        n_teachers=6,
        student=LogisticRegression(),
        classes=[0, 1],
        accountant=accountant,
        random_state=0,
        check_public_rows=False,
    )


#: Functions from an accountant, or None, to an unfitted ensemble.
ENSEMBLES = {name: partial(make_ensemble, estimator) for name, estimator in ESTIMATORS.items()}
