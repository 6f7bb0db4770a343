"""Warnings and refusals of cells that are unlike those of the public rows, or of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.stats import binom

from secretballot._base._errors import NOT_FOR_PUBLICATION, warn
from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot._base._view import percent
from secretballot.tables._cells import column_cells, date_text, range_text
from secretballot.tables._columns import Columns
from secretballot.tables._frames import column_names, container_kind, row_shape

Floats = NDArray[np.float64]

#: Fewest rows for which there is a warning.
FEWEST_ROWS = 20
#: Largest share of a column's cells, out of range or not known, without a warning.
_MOST_SHARE = 0.5
#: Columns with at least this share of unknown cells in the fit are never warned of.
_FEW = 0.25
#: Share of a column's present cells above which nearly all are unknown.
_NEARLY_ALL = 0.9
#: Most rows of a sample for a warning.
_MOST_ROWS = 2_000
#: Rows that are read together.
_BLOCK_ROWS = 2**17
#: Most columns that a warning names.
_MOST_WARNED = 10
#: Most categories of a column that a warning names.
_MOST_LABELS = 2
#: Last words of a warning: rows to predict may be public, and rows to score are private.
_IF_PRIVATE = f"If X is private, so is this warning: {NOT_FOR_PUBLICATION}"
#: Largest probability that half of new rows from the same distribution are out of a public range.
_FALSE_ALARM = 1e-3


@dataclass(frozen=True, eq=False)
class CellCheck:
    """Comparison of the cells of rows with those of a fit."""

    columns: Columns
    expected: Floats  # (2, n_columns): share of missing cells, and of unknown ones, in the fit
    ranges: Floats  # (2, n_columns): least and largest number; NaN without a range
    # By the position of a column: mask of known categories, by code, and labels for warnings.
    known_categories: Mapping[int, tuple[NDArray[np.bool_], Sequence[str]]]
    far_words: str = (  # explanation of numbers out of range, and the remedy
        "The fit had no public rows there. Give columns in the units of the fit, and missing cells "
        "as NaN"
    )
    hint: str = ""  # where to see how columns are read

    @classmethod
    def of(
        cls, X_public: ArrayLike, categories: Mapping[Any, Sequence[Any]] | None = None
    ) -> CellCheck:
        """Compare with public rows, and declared categories."""
        columns = Columns.of(X_public, categories)
        table = columns.read(X_public, "X_public").table
        # Probability that half of new rows are out of the range of n rows from the same
        # distribution: that of at most one head in n throws of a fair coin.
        few = table.shape[1] * binom.cdf(1, np.isfinite(table).sum(axis=0), 0.5) > _FALSE_ALARM
        few |= [column.kind not in ("number", "time") for column in columns.columns]
        ranges = np.array([(column.low, column.high) for column in columns.columns]).T
        expected = np.stack([np.isnan(table).mean(axis=0), np.zeros(table.shape[1])])
        known_categories = {}
        for at, column in enumerate(columns.columns):
            if not column.is_number:
                codes = table[table[:, at] >= 0, at].astype(np.intp)
                rows = np.bincount(codes, minlength=len(column.texts))
                frequent = np.argsort(-rows, kind="stable")[:_MOST_LABELS]
                # Names and free text are always new.
                mask = np.append(np.ones(len(rows), dtype=bool), column.is_free)
                known_categories[at] = mask, [column.texts[code] for code in frequent]
        return cls(columns, expected, np.where(few, np.nan, ranges), known_categories)

    def named_like(self, X: ArrayLike) -> CellCheck:
        return replace(self, columns=self.columns.named_like(X))

    def count(self, X: ArrayLike) -> Floats:
        """Count rows, and missing, unknown and far cells of each column; counts of parts add up."""
        n_rows = _num_samples(X)
        if n_rows <= _BLOCK_ROWS:
            return self._count(self.columns.read(X).table)
        blocks = np.array_split(np.arange(n_rows), -(-n_rows // _BLOCK_ROWS))
        return np.sum([self.count(_safe_indexing(X, rows)) for rows in blocks], axis=0)

    def _count(self, table: Floats) -> Floats:
        missing, unknown = np.isnan(table), np.isinf(table)
        far = ((table < self.ranges[0]) | (table > self.ranges[1])) & ~unknown
        for at, (is_known, _) in self.known_categories.items():
            codes = np.where(missing[:, at], -1, table[:, at]).astype(np.intp)
            unknown[:, at] = ~is_known[codes] & ~missing[:, at]
        counts = [mask.sum(axis=0, dtype=np.float64) for mask in (missing, unknown, far)]
        return np.concatenate([[len(table)], *counts])

    def warn_read(self, table: Floats) -> None:
        """Warn as `warn_counts` does, from a sample of converted rows."""
        if len(table) >= FEWEST_ROWS:
            self.warn_counts(self._count(table[_spaced(len(table))]))

    def warn(self, X: Any) -> None:
        """Warn as `warn_counts` does, from a sample of rows; ignore tables of other columns."""
        if isinstance(X, list | tuple) and len({np.shape(row) for row in X}) > 1:
            return  # the estimator has an error for rows of several lengths
        if not container_kind(X) or issparse(X) or row_shape(X) != self.columns.shape:
            return
        names, n_rows = column_names(X), _num_samples(X)
        if None not in (names, self.columns.names) and names != self.columns.names:
            return
        if n_rows >= FEWEST_ROWS:
            self.warn_counts(self.count(_safe_indexing(X, _spaced(n_rows))))

    def are_texts_for_numbers(self, X: ArrayLike) -> bool:
        """Return True if a column of public numbers has other cells in X, such as texts."""
        if container_kind(X) in ("", "numbers"):
            return False
        columns = zip(self.columns.columns, self.columns.match_columns(X), strict=True)
        return any(
            bool(np.isinf(column.read(values)).any())
            for column, values in columns
            if column.kind in ("number", "boolean") and column_cells(values).dtype.kind == "O"
        )

    def warn_counts(self, counts: Floats) -> None:
        """Warn of columns most of whose cells are unknown or out of range, by counts of rows."""
        if counts[0] < FEWEST_ROWS:
            return
        missing, unknown, far = np.split(counts[1:] / counts[0], 3)
        shown = []
        for at in np.flatnonzero(far > _MOST_SHARE).tolist():
            text = date_text if self.columns.columns[at].kind == "time" else None
            low, high = self.ranges[:, at].tolist()
            public_range = range_text(low, high, text)
            shown.append(f"{self._name(at)} ({percent(far[at])} out of {public_range})")
        if shown:
            warn(
                "most numbers of X are out of the range of the public rows, or the declared "
                f"bounds, in {_shorten(shown)}. {self.far_words}{self.hint}. {_IF_PRIVATE}"
            )
        lost, expected = missing + unknown, self.expected.sum(axis=0)
        is_lost = (lost > _MOST_SHARE) & (expected < _FEW)
        shown = [
            f"{self._name(at)} ({percent(lost[at])}, against {percent(expected[at])} in the "
            f"fit{self._known(at)})"
            for at in np.flatnonzero(is_lost | self._are_unknown(counts, _MOST_SHARE)).tolist()
        ]
        if shown:
            warn(
                "most cells of X are missing, can't be read, or are none of the model's "
                f"categories in {_shorten(shown)}. All such cells are predicted alike. "
                f"Spell, code and convert columns as for the fit{self.hint}. {_IF_PRIVATE}"
            )

    def refuse(self, counts: Floats, remedy: str) -> None:
        """Raise ValueError if nearly all present cells of a column of public rows are unknown."""
        for at in np.flatnonzero(self._are_unknown(counts, _NEARLY_ALL)).tolist():
            raise ValueError(
                f"nearly all cells of the column {self._name(at)} can't be read, or are none of "
                f"the model's categories{self._known(at)}: all such rows would be answered alike. "
                "Nothing was released or spent. Spell, code and convert columns as for the fit"
                f"{remedy}."
            )

    def _are_unknown(self, counts: Floats, share: float) -> NDArray[np.bool_]:
        """Return a mask of columns whose share of unknown cells is larger, unlike in the fit."""
        missing, unknown, _ = np.split(counts[1:], 3)
        present = counts[0] - missing
        few = self.expected[1] < _FEW * (1 - self.expected[0])
        return np.asarray((unknown > share * present) & (present >= FEWEST_ROWS) & few)

    def _name(self, position: int) -> str:
        return repr(
            (self.columns.names or [column.name for column in self.columns.columns])[position]
        )

    def _known(self, position: int) -> str:
        labels = self.known_categories.get(position, ((), ()))[1][:_MOST_LABELS]
        return f"; it knows {', '.join(map(repr, labels))}" if labels else ""


def _spaced(n_rows: int) -> NDArray[np.intp]:
    return np.linspace(0, n_rows - 1, min(n_rows, _MOST_ROWS)).astype(np.intp)


def _shorten(columns: list[str]) -> str:
    """Join the texts of the first columns, and the number of the others."""
    n_more = len(columns) - _MOST_WARNED
    return ", ".join([*columns[:_MOST_WARNED], *([f"and {n_more} more"] if n_more > 0 else [])])
