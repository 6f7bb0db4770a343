"""Copies of rows, with their index labels, are warned of wherever each row counts on its own."""

import warnings

import numpy as np
import pandas as pd
import pytest

from secretballot import PrivacyAccountant, PrivateLogisticRegression, private_top_k
from secretballot.accounting import PrivacyLeakWarning
from secretballot.linear import PrivateLinearRegression
from secretballot.measures import private_quantiles
from secretballot.quantification import Bags
from secretballot.tables._table_checks import warn_repeated_rows

RNG = np.random.default_rng(0)
N = 600
TABLE = pd.DataFrame({"age": RNG.integers(20, 60, N), "hours": RNG.normal(40, 5, N)})
LABELS = (TABLE["hours"] > 40).astype(int).rename("y")
PLACE = pd.Series(RNG.choice(["north", "south"], N))


def thrice(table):
    return pd.concat([table] * 3)


def scored(model, y, name):
    accountant = PrivacyAccountant(60.0, 1e-5)
    bounds = {"age": (0, 100), "hours": (0, 100)}
    fitted = model(bounds=bounds, accountant=accountant, epsilon=10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted.fit(TABLE, y)
    return lambda copy: getattr(fitted, name)(copy(TABLE), copy(y), epsilon=10.0)


def classifier(**options):
    return PrivateLogisticRegression(classes=[0, 1], **options)


def regressor(**options):
    return PrivateLinearRegression(target_bounds=(0, 100), **options)


USES = {
    "score": lambda: scored(classifier, LABELS, "score_private"),
    "confusion": lambda: scored(classifier, LABELS, "confusion_private"),
    "score of numbers": lambda: scored(regressor, TABLE["age"].rename("y") + 1, "score_private"),
    "quantiles": lambda: (
        lambda copy: private_quantiles(
            copy(TABLE), bounds=(0, 100), accountant=PrivacyAccountant(1.0, 1e-5), share="rest"
        )
    ),
    "quantiles of one column": lambda: (
        lambda copy: private_quantiles(
            copy(TABLE["age"]),
            bounds=(0, 100),
            accountant=PrivacyAccountant(1.0, 1e-5),
            share="rest",
        )
    ),
    "top k": lambda: (
        lambda copy: private_top_k(
            copy(pd.get_dummies(TABLE["age"])),
            2,
            accountant=PrivacyAccountant(1.0, 1e-5),
            share="rest",
        )
    ),
    "bags": lambda: lambda copy: Bags.from_groups(None, copy(LABELS), copy(PLACE)),
    "bags of a frame": lambda: lambda copy: Bags.from_groups(copy(TABLE), copy(LABELS), "age"),
}


@pytest.mark.parametrize("use", USES)
def test_copies_are_warned_of(use):
    call = USES[use]()
    with pytest.warns(PrivacyLeakWarning, match="holds 1,200 copies of other rows.*Leave copies"):
        call(thrice)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        call(lambda table: table)


def test_owners_may_have_copies():
    accountant = PrivacyAccountant(1.0, 1e-5, unit="owner")
    table = thrice(TABLE)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        private_quantiles(
            table, bounds=(0, 100), accountant=accountant, owners=table.index, share="rest"
        )


@pytest.mark.parametrize("columns", ["age", ["age"], ["age", "hours"]])
def test_tables_of_different_people_are_no_copies(columns):
    rng = np.random.default_rng(0)
    others = TABLE.apply(lambda column: rng.permutation(column))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_repeated_rows(pd.concat([TABLE, others])[columns])
    with pytest.warns(PrivacyLeakWarning, match="X holds 600 copies"):
        warn_repeated_rows(pd.concat([TABLE, TABLE])[columns])
