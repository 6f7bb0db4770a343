"""Rows as numbers: nothing is learnt from private rows.

`linear` scales numbers by the declared bounds, or by mean and deviation of public rows, and gives a
category a column. `binned` gives each bin of a number a column too: an additive model of the bins
is then a linear one. Bins are quantiles of public rows, the values that many of them share apart.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sets import categorical, numbers
from sklearn.decomposition import PCA

Matrix = NDArray[np.float64]
Encode = Callable[[pd.DataFrame], Matrix]
#: A value that this share of the public rows have gets a bin of its own.
OWN_BIN = 0.1
#: The constant column, in lengths of a row.
CONSTANT = 0.3


def indicators(X: pd.DataFrame) -> Matrix:
    """Return a column of zeros and ones for each declared category."""
    blocks = [np.eye(len(X[name].cat.categories))[X[name].cat.codes] for name in categorical(X)]
    return np.hstack([np.empty((len(X), 0)), *blocks])


def _within_bounds(X: pd.DataFrame) -> Matrix:
    low, high = np.array([X.attrs["bounds"][name] for name in numbers(X)]).T
    return (X[numbers(X)].to_numpy() - low) / (high - low)


def by_bounds(X: pd.DataFrame) -> Matrix:
    """Return numbers in [0, 1], and indicators of categories."""
    return np.hstack([_within_bounds(X), indicators(X)])


def category_codes(X: pd.DataFrame) -> Matrix:
    """Return categories as numbers in [0, 1], in the declared order."""
    each = [X[name].cat.codes / (len(X[name].cat.categories) - 1) for name in categorical(X)]
    return np.column_stack([np.empty((len(X), 0)), *each])


def codes(X: pd.DataFrame) -> Matrix:
    """Return numbers in [0, 1], and categories as numbers in [0, 1], in the declared order."""
    return np.column_stack([_within_bounds(X), category_codes(X)])


def _standard(public: pd.DataFrame) -> Encode:
    """Return what scales numbers by the public rows' means and deviations, up to three."""
    values = public[numbers(public)].to_numpy()
    mean, deviation = values.mean(axis=0), np.maximum(values.std(axis=0), 1e-9)
    return lambda X: np.clip((X[numbers(X)].to_numpy() - mean) / deviation, -3, 3)


def scaled(public: pd.DataFrame) -> Encode:
    """Return what scales by the public rows' means and deviations, up to three deviations."""
    standard = _standard(public)
    return lambda X: np.hstack([standard(X), indicators(X)])


def symmetric_encoder(columns: str, public: pd.DataFrame) -> Encode:
    """Return what makes columns between -1 and 1, the last of which is constant.

    ``"codes"`` has categories as numbers, ``"scaled"`` as columns; another name is a number of
    principal components of the public rows.
    """
    standard = _standard(public)
    encode = {
        "codes": lambda X: np.hstack([standard(X) / 3, 2 * category_codes(X) - 1]),
        "scaled": lambda X: np.hstack([standard(X) / 3, indicators(X)]),
    }.get(columns)
    if encode is None:
        whitened = components(public, int(columns.split()[0]))
        encode = lambda X: np.clip(whitened(X) / 3, -1, 1)  # noqa: E731
    return lambda X: np.column_stack([encode(X), np.ones(len(X))])


def _cuts(values: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    found, counts = np.unique(values, return_counts=True)
    own = found[counts >= OWN_BIN * len(values)]
    rest = values[~np.isin(values, own)]
    quantiles = np.quantile(rest, np.arange(1, n_bins) / n_bins) if len(rest) else []
    around = np.concatenate([own, np.nextafter(own, np.inf)])
    return np.unique(np.concatenate([around, quantiles]))


def binned(public: pd.DataFrame, n_bins: int) -> Encode:
    """Return what gives each bin of a number, and each category, a column of zeros and ones."""
    cuts = {name: _cuts(public[name].to_numpy(), n_bins) for name in numbers(public)}

    def encode(X: pd.DataFrame) -> Matrix:
        blocks = [
            np.eye(len(cut) + 1)[np.searchsorted(cut, X[name].to_numpy(), side="right")]
            for name, cut in cuts.items()
        ]
        return np.hstack([*blocks, indicators(X)])

    return encode


def components(public: pd.DataFrame, n_components: int) -> Encode:
    """Return the public rows' principal components of scaled columns, of equal deviation."""
    encode = scaled(public)
    found = PCA(n_components, whiten=True, random_state=0).fit(encode(public))
    return lambda X: found.transform(encode(X))


def encoder(columns: str, public: pd.DataFrame) -> Encode:
    """Return what makes rows of length at most 1, a constant among the columns.

    The unit is the public rows' usual length, what is longer is shortened; for ``"bounds"``, which
    needs no public rows, the longest that a row can be.
    """
    if columns == "bounds":
        encode: Encode = by_bounds
        length = np.sqrt(public.shape[1])
    else:
        encode = {
            "scaled": lambda: scaled(public),
            "components": lambda: components(public, 30),
            "bins": lambda: binned(public, 16),
            "few bins": lambda: binned(public, 8),
        }[columns]()
        length = np.sqrt((encode(public) ** 2).sum(axis=1).mean())
    constant = CONSTANT * length

    def with_constant(X: pd.DataFrame) -> Matrix:
        rows = np.column_stack([encode(X), np.full(len(X), constant)])
        rows /= np.hypot(length, constant)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)

    return with_constant
