"""One-hot vectors of a bucket's rows in a file, which every round reads."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from uuid import uuid4

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from secretballot.linear.features import Floats
from secretballot.linear.rounds import PrivateRows, Targets


@dataclass(frozen=True)
class StoredRows:
    """Sparse vectors with the fewest bytes, and what belongs to the rows."""

    codes: NDArray[np.unsignedinteger]  # (n_entries,): features of the entries, row by row
    # (n_rows + 1,): place of each row's first entry. None: all rows have equally many.
    ends: NDArray[np.int64] | None
    weights: Floats | None  # (n_entries,): entries; None: all are 1
    n_features: int
    targets: Targets  # this and the others: see `PrivateRows`
    shares: Floats
    total: float
    n_numbers: int
    weight_bits: int

    @classmethod
    def of(cls, rows: PrivateRows) -> StoredRows | None:
        """Return sparse vectors; None for dense ones, or if there are no rows."""
        blocks = [features for _, features in rows.blocks()]
        if not blocks or not all(isinstance(features, csr_array) for features in blocks):
            return None
        table = vstack(blocks, format="csr")
        n_rows, n_features = table.shape
        sizes = np.diff(table.indptr)
        return cls(
            codes=table.indices.astype(np.min_scalar_type(n_features)),
            ends=None if n_rows and (sizes == sizes[0]).all() else table.indptr.astype(np.int64),
            weights=None if (table.data == 1).all() else table.data,
            n_features=n_features,
            targets=rows.targets,
            shares=rows.shares,
            total=rows.total,
            n_numbers=rows.n_numbers,
            weight_bits=rows.weight_bits,
        )

    @classmethod
    def load(cls, path: str) -> StoredRows:
        stored: StoredRows = joblib.load(path, mmap_mode="r")
        return stored

    def save(self, path: str) -> None:
        """Write the file, under another name first: a task may be run twice."""
        new = f"{path}.{uuid4().hex}"
        joblib.dump(self, new)
        os.replace(new, path)

    def rows(self) -> PrivateRows:
        return PrivateRows(
            transform=self._features,
            targets=self.targets,
            shares=self.shares,
            total=self.total,
            n_numbers=self.n_numbers,
            weight_bits=self.weight_bits,
        )

    def _features(self, rows: slice) -> csr_array:
        start, stop, _ = rows.indices(len(self.shares))
        if self.ends is None:
            n_entries = len(self.codes) // max(len(self.shares), 1)
            ends = n_entries * np.arange(start, stop + 1)
        else:
            ends = self.ends[start : stop + 1]
        part = slice(ends[0], ends[-1])
        codes = self.codes[part].astype(np.int32)
        weights = _ones(len(codes)) if self.weights is None else np.asarray(self.weights[part])
        shape = (stop - start, self.n_features)
        return csr_array((weights, codes, (ends - ends[0]).astype(np.int32)), shape=shape)


@lru_cache(maxsize=2)
def _ones(n_entries: int) -> Floats:
    """Return entries of one-hot rows: those of a whole block, or of the last one of a bucket.

    Two fifths of a round would be spent on making them again.
    """
    ones = np.ones(n_entries)
    ones.flags.writeable = False
    return ones
