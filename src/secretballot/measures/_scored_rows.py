"""Private rows that a score counts, with predictions for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.measures._answers import check_foreign_labels, count_foreign
from secretballot.tables._known_cells import CellCheck
from secretballot.tables._people import People
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
class ScoredRows:
    """Private rows, and what predicts them; None: the tables of the rows are predictions."""

    rows: PrivateRows[Chunk]
    predict: Predict | None = None  # holds nothing private
    #: Words about the predictions for the note of the release.
    note: Mapping[str, object] = field(default_factory=dict)
    cells: CellCheck | None = None

    @classmethod
    def of_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        people: People,
        note: Mapping[str, object] | None = None,
    ) -> ScoredRows:
        return cls(PrivateRows.of_table(y_pred, y_true, people), note=note or {})

    def sum(self, function: ScoreSums) -> Floats:
        """Add up a function of the rows over all people, in any order: its sums are exact."""
        count = None if self.cells is None else self.cells.count
        compute = partial(_sum_chunk, function, self.predict, count)
        sums, counts = zip(*self.rows.map(compute), strict=True)
        if self.cells is not None:  # workers do not warn: other people may read their logs
            self.cells.warn_counts(np.asarray(sum(counts)))
        return np.asarray(sum(sums))

    def refuse_foreign_labels(self, classes: Classes) -> None:
        """Refuse missing labels, and labels most of which are none of a model's classes."""
        counts = self.rows.map(lambda chunk: chunk.read_target(lambda y: count_foreign(y, classes)))
        check_foreign_labels(np.asarray(sum(counts)), classes)


def _sum_chunk(
    function: ScoreSums,
    predict: Predict | None,
    count: Callable[[ArrayLike], Floats] | None,
    chunk: Chunk,
) -> tuple[Floats, Floats]:
    predicted = chunk.table if predict is None else predict(chunk.table)
    counts = np.zeros(1) if count is None else count(chunk.table)
    return chunk.read_target(lambda y: function(y, predicted, chunk.owners)), counts


def check_order_of_labels(y_true: ArrayLike, y_pred: ArrayLike, owners: ArrayLike | None) -> None:
    """Refuse predictions, and owners, whose rows are in another order than those of the labels."""
    check_row_order("y_pred", y_pred, y_true, "y_true")
    check_row_order("owners", owners, y_true, "y_true")
