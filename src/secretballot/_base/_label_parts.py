"""View of released labels."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._view_cells import Bar, Cell
from secretballot._base._view_parts import Part, Prose, Table

#: Largest numbers of classes (or labels of a row) in the table, and of rows shown.
_MAX_CLASSES, _MAX_ROWS = 12, 8


def label_parts(
    labels: ArrayLike, answered: ArrayLike, names: Sequence[str] | None = None
) -> list[Part]:
    """Make parts with the number of answers, a table of classes, and the first rows.

    Parameters
    ----------
    labels, answered : ndarray of shape (n_rows,) or (n_rows, n_labels)
        Labels, and True for those that were released.
    names : sequence of str, default=None
        Names of the labels, if a row has several.
    """
    labels, answered = np.asarray(labels), np.asarray(answered, dtype=bool)
    n_rows = len(labels)
    if labels.ndim > 1:
        count = f"{int(answered.sum()):,} of {answered.size:,} labels of {n_rows:,} rows answered"
        return [Prose.of(count), _table_of_labels(labels, answered, names)]
    counts = Counter(str(label) for label in labels[answered].tolist())
    rows: list[Sequence[Cell]] = [
        (label, f"{count:,}", f"{count / n_rows:.1%}", Bar.of(count / n_rows))
        for label, count in heapq.nsmallest(
            _MAX_CLASSES, counts.items(), key=lambda item: (-item[1], item[0])
        )
    ]
    first_rows = [
        str(label) if is_answered else "unanswered"
        for label, is_answered in zip(
            labels[:_MAX_ROWS].tolist(), answered[:_MAX_ROWS], strict=True
        )
    ]
    further = ", ..." if n_rows > _MAX_ROWS else ""
    parts: list[Part] = [Prose.of(f"{int(answered.sum()):,} of {n_rows:,} rows answered")]
    if rows:
        parts.append(Table(("class", "rows", "of all", ""), rows))
    if len(counts) > len(rows):
        parts.append(Prose.of(f"and {len(counts) - len(rows):,} rarer classes", quiet=True))
    if first_rows:
        parts.append(Prose.of(f"first rows: {', '.join(first_rows)}{further}", quiet=True))
    return parts


def _table_of_labels(
    labels: NDArray[np.int64], answered: NDArray[np.bool_], names: Sequence[str] | None
) -> Table:
    n_rows, n_labels = labels.shape
    rows: list[Sequence[Cell]] = []
    for at in range(min(n_labels, _MAX_CLASSES)):
        rows_answered = answered[:, at]
        n_present = int((labels[rows_answered, at] == 1).sum())
        name = str(at) if names is None else str(names[at])
        n_answered = int(rows_answered.sum())
        counts = (n_present, n_answered - n_present, n_rows - n_answered)
        share = Bar.of(n_present / max(n_rows, 1))
        rows.append((name, *(f"{count:,}" for count in counts), share))
    if n_labels > _MAX_CLASSES:
        rows.append((f"and {n_labels - _MAX_CLASSES:,} more", "", "", "", ""))
    return Table(("label", "present", "absent", "unanswered", ""), rows)
