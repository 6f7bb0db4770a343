"""Features of one column of a table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.tables._columns import Column, category_texts

#: Least number of public rows of a category that is not declared, and most categories of a column.
_FEWEST_ROWS, _MOST_CATEGORIES = 2, 100
#: Least share of the public rows whose category has a feature.
_LEAST_SHARE = 0.5


@dataclass(frozen=True)
class EncodedColumn:
    """Features of a column: a scaled number, or indicators of categories; and of missing cells."""

    column: Column
    categories: tuple[int, ...] = ()  # codes that have an indicator; none for numbers
    mean: float = 0.0  # of the public numbers, as the scale
    scale: float = 1.0

    @classmethod
    def of(
        cls, name: Hashable, values: ArrayLike, declared: Sequence[Hashable] | None
    ) -> EncodedColumn | None:
        """Describe a public column; None if nothing can be learned from it."""
        column = Column.of(name, values, declared, fewest=_FEWEST_ROWS)
        cells = column.read(values)
        known = cells[np.isfinite(cells)]
        if column.is_number:
            if not len(known) or column.low == column.high:
                return None
            return cls(column, (), float(known.mean()), float(known.std()))
        if declared is not None:
            texts = category_texts(declared).tolist()
            return cls(column, tuple(map(column.texts.index, texts)))
        rows = np.bincount(known[known >= 0].astype(np.intp), minlength=len(column.texts))
        frequent = np.argsort(-rows, kind="stable")[:_MOST_CATEGORIES]
        frequent = frequent[rows[frequent] >= _FEWEST_ROWS]
        if rows[frequent].sum() < _LEAST_SHARE * len(known):
            return None
        return cls(column, tuple(np.sort(frequent).tolist()))

    def names(self) -> list[str]:
        name = self.column.name
        names = [f"{name}={self.column.texts[code]}" for code in self.categories] or [str(name)]
        return [*names, f"{name} is missing"] if self.column.nullable else names

    def encode(self, values: ArrayLike) -> NDArray[np.float64]:
        """Compute the features of cells, each by itself: (n_rows, n_features)."""
        cells = self.column.read(values)
        missing = np.isnan(cells)
        if self.column.is_number:
            missing |= np.isinf(cells)
            features = (np.where(missing, self.mean, cells)[:, None] - self.mean) / self.scale
        else:
            features = (cells[:, None] == self.categories).astype(np.float64)
        return np.column_stack([features, missing]) if self.column.nullable else features
