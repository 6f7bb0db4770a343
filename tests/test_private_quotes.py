"""Refusals and warnings that quote private values say that they are not for publication."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import secretballot
from secretballot import (
    ConfidentGNMax,
    GNMax,
    PrivacyAccountant,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.mechanisms import StableTopK
from secretballot.quantification import publish_proportions
from secretballot.selection import private_top_k

X, POOL = np.arange(80.0).reshape(40, 2), np.arange(20.0).reshape(10, 2) + 0.5
Y = np.arange(40) % 2
SECRET = "4711"
CONFIDENT = {"sigma": 2.0, "sigma_threshold": 2.0, "threshold": 50.0}


def regression(X=X, y=Y, *, unit="row", levels=1.0, **data):
    model = PrivateLogisticRegression(
        classes=[0, 1], accountant=PrivacyAccountant(levels, 1e-5, unit=unit)
    )
    model.fit(X, y, X_public=PublicData(POOL), **data)


def ensemble(X=X, y=Y, *, unit="row", levels=9.0, classes=(0, 1), **data):
    PrivateTeacherEnsemble(
        LogisticRegression(),
        10,
        classes=classes if classes is None else list(classes),
        mechanism=GNMax(sigma=2.0),
        accountant=PrivacyAccountant(levels, 1e-5, unit=unit),
    ).fit(X, y, X_public=PublicData(POOL), **data)


def with_secret(values, secret):
    column = np.array(values, dtype=object)
    column[3] = secret
    return column


LEVELS = {"low": 0.5, "high": 1.0}
NAMES = np.array(["low", "high"], dtype=object)[Y]
OWNERS = np.arange(40) // 2
FITS = {
    "label": ({"y": np.where(np.arange(40) == 3, 4711, Y)}, True),
    "label of text": ({"y": np.where(np.arange(40) == 0, SECRET, Y.astype(str))}, True),
    "missing label": ({"y": np.where(np.arange(40) == 3, np.nan, Y)}, False),
    "owner": ({"unit": "owner", "owners": with_secret(OWNERS, (1, 4711))}, False),
    "owner that is no list": ({"unit": "owner", "owners": SECRET}, True),
    "kinds of owners": ({"unit": "owner", "owners": with_secret(OWNERS, SECRET)}, False),
    "level": ({"levels": LEVELS, "budgets": with_secret(NAMES, SECRET)}, True),
    "level of number": ({"levels": LEVELS, "budgets": with_secret(NAMES, 4711)}, True),
    "owner of levels": (
        {
            "levels": LEVELS,
            "unit": "owner",
            "owners": np.where(OWNERS == 1, 4711, OWNERS),
            "budgets": NAMES,
        },
        False,
    ),
    "row": ({"X": [*X.tolist()[1:], [4711.0]]}, False),
}


@pytest.mark.parametrize("fit", [regression, ensemble])
@pytest.mark.parametrize("name", FITS)
def test_refusals_of_fits(fit, name):
    arguments, quoted = FITS[name]
    with pytest.raises(ValueError, match="NOT FOR PUBLICATION") as error:
        fit(**arguments)
    assert SECRET in str(error.value) or not quoted
    assert SECRET not in str(error.value) or name != "owner"


@pytest.mark.parametrize(
    "y",
    [
        np.full(40, 4711),
        with_secret(Y, {4711}),
        np.column_stack([Y, np.where(np.arange(40) == 3, 4711, Y)]),
    ],
    ids=["one class", "set", "indicator"],
)
def test_refusals_of_labels(y):
    with pytest.raises(ValueError, match="y ") as error:
        ensemble(y=y, classes=None)
    assert "NOT FOR PUBLICATION" in str(error.value)


def test_refusals_of_counts():
    budget = PrivacyAccountant(1.0, 1e-5)
    people = np.array([[1, 4711], [1, 1]])
    for ask in (
        lambda: private_top_k(people, 1, accountant=budget),
        lambda: private_top_k(people.clip(0, 1), 1, accountant=budget, max_items=1),
        lambda: StableTopK(rho=0.1, delta_t=1e-6, n_votes=100).check_counts([[4711.0, 0]]),
        lambda: ConfidentGNMax(**CONFIDENT, n_votes=100).check_counts([[4711.0, 0]]),
        lambda: ConfidentGNMax(**CONFIDENT, n_votes=2).check_counts([[0.5, 1.5]]),
        lambda: GNMax(sigma=1e-7).check_counts([[4711e9, 0]]),
        lambda: publish_proportions([[0, 1], [1, 4711]], classes=[0, 1], epsilon=1.0, delta=0.0),
    ):
        with pytest.raises(ValueError, match="NOT FOR PUBLICATION"):
            ask()
    assert not budget.entries()


def test_the_words_stand_in_one_place():
    package = Path(secretballot.__file__).parent
    files = [path.name for path in package.rglob("*.py") if "FOR PUBLICATION" in path.read_text()]
    assert files == ["_errors.py"]
