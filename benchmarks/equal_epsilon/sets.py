"""Three tables with what is public about their columns, and their splits.

Public are the names of the columns, the categories of the categorical ones (the dtype has them) and
bounds of the numbers (`bounds`): round numbers from the codebooks, or such as a bank would name.
Numbers beyond their bounds are moved to them, for everybody.

adult   45,222 complete rows; earns more than 50,000 dollars (25 %)
bank    45,211 rows; the call sold a deposit (12 %). The length of the call is among the columns
credit  30,000 rows; doesn't pay next month (22 %)
celeba  202,599 faces; the attribute "Attractive" (51 %) from the 39 others; not among `available`

A split has a fifth of the rows to test on, and a pool: public rows without labels, taken from the
others; what is left is private.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from secretballot.datasets import load_adult

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
TEST_SHARE = 0.2
POOLS = (400, 2_000, 7_000)
N_ATTRIBUTES, ATTRACTIVE = 40, 2

Labels = NDArray[np.int64]
Bounds = dict[str, tuple[float, float]]

ADULT: Bounds = {
    "age": (17, 90),
    "fnlwgt": (10_000, 1_500_000),
    "education_num": (1, 16),
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 5_000),
    "hours_per_week": (1, 99),
}
BANK: Bounds = {
    "day": (1, 31),
    "campaign": (1, 20),
    "duration": (0, 1_800),
    "pdays": (-1, 500),
    "previous": (0, 20),
    "age": (18, 95),
    "balance": (-2_000, 20_000),
}
_LATE = ("PAY_0", *(f"PAY_{month}" for month in range(2, 7)))
CREDIT: Bounds = {
    "LIMIT_BAL": (0, 1_000_000),
    "AGE": (20, 80),
    **dict.fromkeys(_LATE, (-2, 9)),
    **{f"BILL_AMT{month}": (-50_000, 500_000) for month in range(1, 7)},
    **{f"PAY_AMT{month}": (0, 100_000) for month in range(1, 7)},
}
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_YES = "no yes"
BANK_CATEGORIES = {
    "poutcome": "failure other success unknown",
    "job": "admin. blue-collar entrepreneur housemaid management retired self-employed services "
    "student technician unemployed unknown",
    "marital": "divorced married single",
    "education": "primary secondary tertiary unknown",
    "default": _YES,
    "housing": _YES,
    "loan": _YES,
    "contact": "cellular telephone unknown",
    "month": _MONTHS,
}
CREDIT_CATEGORIES = {"SEX": "1 2", "EDUCATION": "0 1 2 3 4 5 6", "MARRIAGE": "0 1 2 3"}


class Split(NamedTuple):
    """Rows of one seed; a method sees neither `y_pool` nor `y_test`."""

    X_private: pd.DataFrame
    y_private: Labels
    X_pool: pd.DataFrame
    y_pool: Labels
    X_test: pd.DataFrame
    y_test: Labels


def _declared(
    X: pd.DataFrame, bounds: Bounds, categories: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """Return only the declared columns, in the types that were declared."""
    columns = {name: X[name].astype(float).clip(*pair) for name, pair in bounds.items()}
    for name, values in categories.items():
        columns[name] = pd.Series(pd.Categorical(X[name].astype(str), values))
    declared = pd.DataFrame(columns)
    if declared.isna().to_numpy().any():
        raise ValueError("A value is missing, or is not among the declared categories.")
    declared.attrs["bounds"] = bounds
    return declared


def _adult() -> tuple[pd.DataFrame, Labels]:
    adult = load_adult(complete_only=True, as_frame=True)
    return _declared(adult.data, ADULT, adult.categories), np.asarray(adult.target)


def _read(name: str, label: str) -> tuple[pd.DataFrame, NDArray[np.object_]]:
    X = pd.read_csv(SHARED / name)
    return X, X.pop(label).to_numpy()


def _bank() -> tuple[pd.DataFrame, Labels]:
    X, y = _read("bank_full.csv.gz", "y")
    return _declared(X, BANK, _split(BANK_CATEGORIES)), (y == "yes").astype(int)


def _credit() -> tuple[pd.DataFrame, Labels]:
    X, y = _read("credit_default.csv.gz", "default payment next month")
    return _declared(X, CREDIT, _split(CREDIT_CATEGORIES)), y.astype(int)


def _split(categories: Mapping[str, str]) -> dict[str, list[str]]:
    return {name: values.split() for name, values in categories.items()}


def _celeba() -> tuple[pd.DataFrame, Labels]:
    with np.load(SHARED / "celeba_attributes.npz") as packed:
        attributes = np.unpackbits(packed["packed"], axis=1)[:, :N_ATTRIBUTES]
    others = np.delete(attributes, ATTRACTIVE, axis=1).astype(str)
    X = pd.DataFrame(
        {
            f"attribute {index}": pd.Categorical(column, list("01"))
            for index, column in enumerate(others.T)
        }
    )
    X.attrs["bounds"] = {}
    return X, attributes[:, ATTRACTIVE].astype(int)


LOADERS = {"adult": _adult, "bank": _bank, "credit": _credit, "celeba": _celeba}
_load = cache(lambda name: LOADERS[name]())


def available() -> list[str]:
    """Names of the sets that are here: Adult comes with the package."""
    return ["adult", "bank", "credit"] if SHARED.is_dir() else ["adult"]


def split(name: str, pool: int, seed: int) -> Split:
    """Return the rows of a seed. Test rows are the same for all pools, smaller pools are within
    larger ones."""
    X, y = _load(name)
    rest, test = train_test_split(np.arange(len(y)), test_size=TEST_SHARE, random_state=seed)
    public, private = rest[:pool], rest[pool:]
    parts = ((X.iloc[rows].reset_index(drop=True), y[rows]) for rows in (private, public, test))
    return Split(*(half for part in parts for half in part))


def numbers(X: pd.DataFrame) -> list[str]:
    """Names of the columns with declared bounds; the others are categorical."""
    return [name for name in X if name in X.attrs["bounds"]]


def categorical(X: pd.DataFrame) -> list[str]:
    """Names of the columns with declared categories."""
    return [name for name in X if name not in X.attrs["bounds"]]
