"""Refusals and warnings that quote private values say that they are not for publication."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import secretballot
from secretballot import (
    ConfidentGNMax,
    GNMax,
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.measures import (
    confusion_private,
    private_top_k,
    regression_score_private,
    score_private,
)
from secretballot.mechanisms import StableTopK
from secretballot.quantification import publish_proportions

X, POOL = np.arange(80.0).reshape(40, 2), np.arange(20.0).reshape(10, 2)[::-1] % 14 + 0.5
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
    "owner that is no list": ({"unit": "owner", "owners": SECRET.encode()}, True),
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


class Hostile:
    """An object that can't be compared, hashed or shown."""

    def _refuse(self, *_):
        raise RuntimeError(SECRET)

    __eq__ = __ne__ = __hash__ = __str__ = __repr__ = __float__ = _refuse


LABELS = [
    *(10**400, 10**5000, 4711j, 4711.5, b"\xff", [4711], [4711, 1], {"a": 4711}, np.arange(2)),
    *(Decimal("sNaN"), Fraction(10**400, 3), pd.NA, pd.Timestamp(4711), object(), Hostile()),
]


def number(y):
    model = PrivateLinearRegression(target_bounds=(0, 1), accountant=PrivacyAccountant(9.0, 1e-5))
    model.fit(X, y, X_public=PublicData(POOL))


def confusion(y):
    confusion_private(PrivacyAccountant(9.0, 1e-5), y, Y, classes=[0, 1], share=0.05)


TARGETS = {
    "classes": lambda y: regression(y=y),
    "votes": lambda y: ensemble(y=y),
    "votes for what y has": lambda y: ensemble(y=y, classes=None),
    "number": number,
    "score": lambda y: score_private(PrivacyAccountant(9.0, 1e-5), y, Y, share=0.05),
    "confusion": confusion,
    "regression score": lambda y: regression_score_private(
        PrivacyAccountant(900.0, 1e-5), y, Y, target_bounds=(0, 1), share=0.5
    ),
    "owners": lambda ids: regression(unit="owner", owners=ids),
    "levels": lambda names: regression(levels=LEVELS, budgets=names),
}


@pytest.mark.parametrize("form", [list, lambda cells: cells, pd.Series])
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.filterwarnings("ignore")
def test_refusals_of_any_cell_of_a_column(name, form):
    n_refused = 0
    for cell in LABELS:
        for row in (0, 7):  # some checks look at the first alone
            given = {"owners": range(40), "levels": NAMES}.get(name, Y)
            column = np.empty(40, dtype=object)
            column[:] = list(given)
            column[row] = cell
            try:
                TARGETS[name](form(column))
            except ValueError as error:
                message, n_refused = str(error), n_refused + 1
                assert message.endswith("NOT FOR PUBLICATION, as it depends on private rows.")
                assert "\n" not in message  # as NumPy shows all labels
    assert n_refused > 10 or name in ("score", "confusion")  # there it is a wrong answer


@pytest.mark.parametrize("cell", [np.nan, np.inf, 4711j, {"a": 4711}])
def test_refusals_of_cells_without_public_rows(cell):
    table = X.astype(type(cell) if isinstance(cell, complex) else object)
    table[3, 0] = cell
    model = PrivateTeacherEnsemble(
        LogisticRegression(), 5, classes=[0, 1], mechanism=GNMax(sigma=2)
    )
    with pytest.raises((ValueError, TypeError), match="NOT FOR PUBLICATION"):
        model.set_params(accountant=PrivacyAccountant(9.0, 1e-5)).fit(table, Y)


def test_refusals_of_counts():
    budget = PrivacyAccountant(1.0, 1e-5)
    people = np.array([[1, 4711], [1, 1]])
    for ask in (
        lambda: private_top_k(people, 1, accountant=budget, share="rest"),
        lambda: private_top_k(people.clip(0, 1), 1, accountant=budget, max_items=1, share="rest"),
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
