"""Tables with a real grouping: a public column makes the bags, and is no feature."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from protocol import Array, data_folder
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from secretballot import load_adult


class Grouped(NamedTuple):
    """Instances, labels, and the number of the group that each is in."""

    X: Array
    y: NDArray[np.int64]
    group: NDArray[np.int64]


#: Set and column; what else says the same is left out too. Numbers are cut at quantiles.
GROUPINGS = {
    "Adult by education": ("adult", "education", ("education_num",), 0),
    "Adult by occupation": ("adult", "occupation", (), 0),
    "Adult by country": ("adult", "native_country", (), 0),
    "Bank by month": ("bank", "month", (), 0),
    "Bank by job": ("bank", "job", (), 0),
    "Credit by age": ("credit", "AGE", (), 14),
    "Credit by limit": ("credit", "LIMIT_BAL", (), 14),
}


def grouped(name: str) -> Grouped | None:
    """Return one of `GROUPINGS`; None where its data is missing."""
    which, column, also, n_quantiles = GROUPINGS[name]
    found = _table(which)
    if found is None:
        return None
    table, y, kinds = found
    values = table[column]
    if n_quantiles:
        values = pd.qcut(values, n_quantiles, duplicates="drop").cat.codes
    left = table.drop(columns=[column, *also])
    kinds = [kind for kind in kinds if kind in left]
    numbers = StandardScaler().fit_transform(left.drop(columns=kinds))
    encoder = OneHotEncoder(sparse_output=False, min_frequency=50)
    X = np.concatenate([numbers, encoder.fit_transform(left[kinds])], axis=1)
    return Grouped(X, y, np.unique(values, return_inverse=True)[1])


def _table(which: str) -> tuple[pd.DataFrame, NDArray[np.int64], list[str]] | None:
    if which == "adult":
        adult = load_adult()
        kinds = [adult.feature_names[column] for column in adult.categorical_features]
        return pd.DataFrame(adult.data, columns=adult.feature_names), adult.target, kinds
    folder = data_folder()
    file = {"bank": "bank_full.csv.gz", "credit": "credit_default.csv.gz"}[which]
    if folder is None or not (folder / file).exists():
        return None
    table = pd.read_csv(folder / file, sep=None, engine="python")
    if which == "credit":
        y = table.pop("default payment next month").to_numpy()
        return table.drop(columns="ID"), y.astype(np.int64), ["SEX", "EDUCATION", "MARRIAGE"]
    kinds = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    y = (table.pop("y") == "yes").to_numpy().astype(np.int64)
    return table, y, [kind for kind in kinds if kind != "y"]
