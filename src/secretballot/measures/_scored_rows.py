"""Private rows that a score counts, with predictions for them: in memory or in parts."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._owner_hash import KEY_SIZE
from secretballot.measures._answers import check_foreign_labels, count_foreign
from secretballot.tables._buckets import BucketRows, Buckets
from secretballot.tables._known_cells import CellCheck
from secretballot.tables._people import People
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._table_checks import check_row_order
from secretballot.tables._tasks import target_errors

Floats = NDArray[np.float64]
#: Classes that a model predicts; a list of arrays for several labels a row.
Classes = NDArray[np.generic] | list[NDArray[np.generic]]
#: Function from targets, predictions and people to exact sums over the people.
ScoreSums = Callable[[ArrayLike, ArrayLike, People], Floats]
#: Function from rows to predictions.
Predict = Callable[[ArrayLike], ArrayLike]


class ScoredRows(ABC):
    """Private rows and predictions for them."""

    #: Number of rows, or owners.
    n: int
    #: "row" or "owner".
    unit: str
    #: Words about the predictions for the note of the release.
    note: Mapping[str, object]

    @abstractmethod
    def sum(self, function: ScoreSums) -> Floats:
        """Add up a function of the rows over all people."""

    @abstractmethod
    def refuse_foreign_labels(self, classes: Classes) -> None:
        """Refuse missing labels, and labels most of which are none of a model's classes."""

    def close(self) -> None:
        """Delete what was written for the score."""
        return


def check_order_of_labels(y_true: ArrayLike, y_pred: ArrayLike, owners: ArrayLike | None) -> None:
    """Refuse predictions, and owners, whose rows are in another order than those of the labels."""
    check_row_order("y_pred", y_pred, y_true, "y_true")
    check_row_order("owners", owners, y_true, "y_true")


@dataclass(frozen=True)
class TableScores(ScoredRows):
    """Rows in memory."""

    y_true: ArrayLike
    y_pred: ArrayLike
    people: People
    note: Mapping[str, object] = field(default_factory=dict)

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.people.n

    @property
    def unit(self) -> str:  # type: ignore[override]
        return self.people.unit

    def sum(self, function: ScoreSums) -> Floats:
        return function(self.y_true, self.y_pred, self.people)

    def refuse_foreign_labels(self, classes: Classes) -> None:
        check_foreign_labels(count_foreign(self.y_true, classes), classes)


@dataclass(frozen=True)
class PartScores(ScoredRows):
    """Rows in parts, which are predicted where they are."""

    buckets: Buckets
    columns: list[str]  # that the model reads
    targets: str | list[str]
    predict: Predict  # holds nothing private
    note: Mapping[str, object]
    cells: CellCheck | None = None

    @classmethod
    def of(
        cls,
        parts: PrivateParts,
        columns: list[str],
        predict: Predict,
        note: Mapping[str, object],
        cells: CellCheck | None,
    ) -> PartScores:
        names = [*parts.check_columns(columns), *parts.targets]
        buckets = Buckets.of(parts, names, secrets.token_bytes(KEY_SIZE))
        return cls(buckets, columns, parts.y, predict, note, cells)

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.buckets.n_owners

    @property
    def unit(self) -> str:  # type: ignore[override]
        return "owner"

    def sum(self, function: ScoreSums) -> Floats:
        """Add up the sums of all buckets, in any order: they are exact."""
        count = None if self.cells is None else self.cells.count
        compute = partial(
            _bucket_sums, function, self.columns, self.targets, self.predict, count, self.n
        )
        sums, counts = zip(*self.buckets.map_rows(compute), strict=True)
        if self.cells is not None:  # workers do not warn: other people may read their logs
            self.cells.warn_counts(np.asarray(sum(counts)))
        return np.asarray(sum(sums))

    def refuse_foreign_labels(self, classes: Classes) -> None:
        targets = self.targets
        counts = self.buckets.map_rows(lambda rows: count_foreign(rows.frame[targets], classes))
        check_foreign_labels(np.asarray(sum(counts)), classes)

    def close(self) -> None:
        self.buckets.delete()


def _bucket_sums(
    function: ScoreSums,
    columns: list[str],
    targets: str | list[str],
    predict: Predict,
    count: Callable[[ArrayLike], Floats] | None,
    n: int,
    rows: BucketRows,
) -> tuple[Floats, Floats]:
    people = People.of_numbers(np.unique(rows.hashes, return_inverse=True)[1], n)
    table = rows.frame[columns]
    predicted, counts = predict(table), np.zeros(1) if count is None else count(table)
    with target_errors(targets):
        return function(rows.frame[targets], predicted, people), counts
