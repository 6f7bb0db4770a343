"""Two sets more than `sets.py` has: attributes of faces, and a table of many similar columns.

celeba  202,599 faces; the attribute "Attractive" (51 %) from the 39 others
wide    Adult with each column in three noisy versions: a quarter of its values permuted, and .3
        standard deviations added to numbers above their least. Each private row occurs eight times,
        with noise of its own; test and public rows are others
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import sets
from sets import SHARED, Labels, Split
from sklearn.model_selection import train_test_split

N_VERSIONS, N_REPEATS, SWAPPED, DEVIATIONS = 3, 8, 0.25, 0.3
N_ATTRIBUTES, ATTRACTIVE = 40, 2


@cache
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


def _versions(X: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return the noisy versions of all columns."""
    columns: dict[str, object] = {}
    bounds = {}
    for name in X:
        for version in range(N_VERSIONS):
            swapped = rng.random(len(X)) < SWAPPED
            values = X[name].to_numpy() if name in X.attrs["bounds"] else X[name].cat.codes
            noisy = np.where(swapped, rng.permutation(values), values)
            key = f"{name} {version}"
            if name in X.attrs["bounds"]:
                low, high = bounds[key] = X.attrs["bounds"][name]
                added = rng.normal(size=len(X)) * DEVIATIONS * values.std()
                columns[key] = np.clip(noisy + added * (noisy > low), low, high)
            else:
                columns[key] = pd.Categorical.from_codes(noisy, X[name].cat.categories)
    versions = pd.DataFrame(columns)
    versions.attrs["bounds"] = bounds
    return versions


def split(name: str, pool: int, seed: int) -> Split:
    """Return the rows of a seed, as `sets.split` does."""
    if name == "celeba":
        X, y = _celeba()
    elif name == "wide":
        X, y = sets.LOADERS["adult"]()
    else:
        return sets.split(name, pool, seed)
    rest, test = train_test_split(np.arange(len(y)), test_size=sets.TEST_SHARE, random_state=seed)
    public, private = rest[:pool], rest[pool:]
    if name == "wide":
        private = np.tile(private, N_REPEATS)
    rng = np.random.default_rng(seed)
    parts: list[object] = []
    for rows in (private, public, test):
        part = X.iloc[rows].reset_index(drop=True)
        part.attrs.update(X.attrs)
        parts += [_versions(part, rng) if name == "wide" else part, y[rows]]
    return Split(*parts)
