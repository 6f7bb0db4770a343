"""Private rows that a score counts, with predictions for them: in memory or in parts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.measures._answers import check_foreign_labels, count_foreign
from secretballot.tables._people import People
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._private_rows import Chunk, PrivateRows
from secretballot.tables._table_checks import check_row_order

Floats = NDArray[np.float64]
#: Classes that a model predicts; a list of arrays for several labels a row.
Classes = NDArray[np.generic] | list[NDArray[np.generic]]
#: Function from targets, predictions and people to exact sums over the people.
ScoreSums = Callable[[ArrayLike, ArrayLike, People], Floats]
#: Function from rows to predictions.
Predict = Callable[[ArrayLike], ArrayLike]


@dataclass(frozen=True)
class CellCounts:
    """Count of cells that a model can't read, for warnings; it holds nothing private."""

    count: Callable[[ArrayLike], Floats]  # of rows with the columns of the model
    warn: Callable[[Floats], None]  # by the counts of all rows


@dataclass(frozen=True)
class ScoredRows:
    """Private rows and predictions for them, in memory or in parts.

    Rows in parts are predicted where they are; in memory their table is the predictions.
    """

    rows: PrivateRows[Chunk]
    #: Words about the predictions for the note of the release.
    note: Mapping[str, object] = field(default_factory=dict)
    predict: Predict | None = None  # of parts; holds nothing private
    cells: CellCounts | None = None

    @classmethod
    def of_table(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        people: People,
        note: Mapping[str, object] | None = None,
    ) -> ScoredRows:
        return cls(PrivateRows.of_table(y_pred, y_true, people), note or {})

    @classmethod
    def of_parts(
        cls,
        parts: PrivateParts,
        columns: list[str],
        predict: Predict,
        note: Mapping[str, object],
        cells: CellCounts | None,
    ) -> ScoredRows:
        rows = PrivateRows.of_parts(parts, parts.check_columns(columns), parts.y)
        return cls(rows, note, predict, cells)

    @property
    def n(self) -> int:
        """Number of rows, or owners."""
        return self.rows.n_people

    @property
    def unit(self) -> str:
        return self.rows.unit

    def sum(self, function: ScoreSums) -> Floats:
        """Add up a function of the rows over all people."""
        count = None if self.cells is None else self.cells.count
        sums = self.rows.count(partial(_sums, function, self.predict, count))
        if self.cells is not None:  # workers do not warn: other people may read their logs
            self.cells.warn(sums["cells"])
        return np.asarray(sums["sums"])

    def refuse_foreign_labels(self, classes: Classes) -> None:
        """Refuse missing labels, and labels most of which are none of a model's classes."""
        counts = self.rows.sum(lambda chunk: count_foreign(chunk.target, classes))
        check_foreign_labels(counts, classes)

    def close(self) -> None:
        """Delete what was written for the score."""
        self.rows.close()


def check_order_of_labels(y_true: ArrayLike, y_pred: ArrayLike, owners: ArrayLike | None) -> None:
    """Refuse predictions, and owners, whose rows are in another order than those of the labels."""
    check_row_order("y_pred", y_pred, y_true, "y_true")
    check_row_order("owners", owners, y_true, "y_true")


def _sums(
    function: ScoreSums,
    predict: Predict | None,
    count: Callable[[ArrayLike], Floats] | None,
    chunk: Chunk,
) -> dict[Hashable, Floats]:
    """Return a function's sums of a chunk, and the counts of cells that a model can't read."""
    table = chunk.table
    predicted = table if predict is None else predict(table)
    cells = np.zeros(1) if count is None else count(table)
    sums = chunk.read_target(lambda y: function(y, predicted, chunk.owners))
    return {"sums": sums, "cells": cells}
