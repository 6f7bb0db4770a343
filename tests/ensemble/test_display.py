"""What is shown of an ensemble: nothing private."""

import re

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData


@pytest.fixture
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 2)) + 31337.0
    y = rng.integers(2, size=70)
    ensemble = PrivateTeacherEnsemble(
        DecisionTreeClassifier(),
        n_teachers=7,
        student=DecisionTreeClassifier(),
        classes=[0, 1],
        accountant=PrivacyAccountant(epsilon=9.0, delta=1e-5),
        check_public_rows=False,
    )
    return ensemble.fit(X, y, X_public=PublicData(np.zeros((5, 2)))), X


def test_public_attributes_hold_nothing_private(fitted):
    public = {name for name in vars(fitted[0]) if name.endswith("_") and name[0] != "_"}
    assert public == {
        "classes_",
        "mechanism_",
        "n_answered_",
        "n_features_in_",
        "n_teachers_",
        "pool_labels_",
        "public_rows_check_",
        "student_",
    }


@pytest.mark.parametrize("show", [repr, str, lambda ensemble: ensemble._repr_html_()])
def test_displays(fitted, show):
    shown = show(fitted[0])
    assert "PrivateTeacherEnsemble" in shown
    assert "31337" not in shown
    for name in ("_teachers", "votes", "_labelling", "ConstantTeacher", "partition"):
        assert not re.search(rf"\b{name}\b\s*(=|<|:)", shown)


def test_no_row_or_label_stays_on_the_ensemble(fitted):
    ensemble, X = fitted
    for name, value in vars(ensemble).items():
        if isinstance(value, np.ndarray):
            assert len(value) != len(X), name
