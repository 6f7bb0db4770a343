"""Features of one column of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._objects import cached_property
from secretballot.tables._cells import cell_text, text_finder
from secretballot.tables._column_schema import ColumnSchema

#: Least number of public rows of a category that is not declared, and most categories of a column.
_FEWEST_ROWS, _MOST_CATEGORIES = 2, 100
#: Least share of the public rows whose category has a feature.
_LEAST_SHARE = 0.5
#: Units of times: a day.
_DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class EncodedColumn:
    """Features of a column: a scaled number, or indicators of categories; and of missing cells."""

    schema: ColumnSchema
    categories: tuple[str, ...] = ()  # texts that have an indicator; none for numbers
    mean: float = 0.0  # of the public numbers, as the scale
    scale: float = 1.0

    @classmethod
    def of(
        cls, name: Hashable, values: ArrayLike, declared: Sequence[Hashable] | None
    ) -> EncodedColumn | None:
        """Describe a public column; None if nothing can be learned from it."""
        schema = ColumnSchema.of(name, values, declared)
        column = cls(schema)
        if schema.kind in ("category", "text"):
            texts = column._texts(values)
            counts = Counter(text for text in texts if text is not None)
            if declared is not None:
                categories = [
                    text for category in declared if (text := cell_text(category)) is not None
                ]
            else:
                frequent = counts.most_common(_MOST_CATEGORIES)
                categories = [text for text, count in frequent if count >= _FEWEST_ROWS]
                if sum(counts[text] for text in categories) < _LEAST_SHARE * counts.total():
                    return None
            return cls(schema, tuple(sorted(set(categories))))
        if schema.kind == "object":
            return None
        numbers = column._numbers(values)
        present = numbers[~np.isnan(numbers)]
        if len(present) == 0 or present.min() == present.max():
            return None
        return cls(schema, (), float(present.mean()), float(present.std()))

    @property
    def has_missing(self) -> bool:
        """True if missing cells have an indicator, as in columns with missing public cells."""
        return bool(self.schema.nullable)

    def names(self) -> list[str]:
        name = self.schema.name
        names = [f"{name}={text}" for text in self.categories] or [str(name)]
        return [*names, f"{name} is missing"] if self.has_missing else names

    def encode(self, values: ArrayLike) -> NDArray[np.float64]:
        """Compute the features of cells, each by itself: (n_rows, n_features)."""
        if self.categories:
            texts = self._texts(values)
            features = np.zeros((len(texts), len(self.categories)))
            find = text_finder(self._codes)
            codes = np.array([find(text, -1) for text in texts], dtype=np.intp)
            rows = np.flatnonzero(codes >= 0)
            features[rows, codes[rows]] = 1.0
            missing = np.array([text is None for text in texts])
        else:
            numbers = self._numbers(values)
            missing = np.isnan(numbers)
            features = (np.where(missing, self.mean, numbers)[:, None] - self.mean) / self.scale
        return np.column_stack([features, missing]) if self.has_missing else features

    @cached_property
    def _codes(self) -> dict[str | None, int]:
        return {text: code for code, text in enumerate(self.categories)}

    def _texts(self, values: ArrayLike) -> list[str | None]:
        plain = self.schema.plain(values)
        if self.schema.kind == "text":
            return list(plain.tolist())
        texts = [*map(cell_text, self.schema.categories), None]  # -1 is missing
        return [texts[code] for code in plain.tolist()]

    def _numbers(self, values: ArrayLike) -> NDArray[np.float64]:
        plain = self.schema.plain(values)
        if self.schema.kind == "time":
            plain = plain - plain.dtype.type(0, np.datetime_data(plain.dtype)[0])
        if self.schema.kind in ("time", "duration"):
            plain = plain / _DAY
        return np.asarray(plain, dtype=np.float64)
