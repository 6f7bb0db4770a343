"""What is shown of labels that were released."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from secretballot._views._cells import Bar, Cell
from secretballot._views._parts import Part, Prose, Table

#: So many classes, or labels of a row, are counted one by one, and so many rows are shown.
_MOST_CLASSES, _FIRST = 12, 8


def label_parts(labels: Any, answered: Any, names: Sequence[str] | None = None) -> list[Part]:
    """Return what was answered, how often each class was released, and the first rows.

    Parameters
    ----------
    labels, answered : ndarray of shape (n_rows,) or (n_rows, n_labels)
        Labels that were released, and whether each was.
    names : sequence of str, default=None
        Of several labels a row.
    """
    labels, answered = np.asarray(labels), np.asarray(answered, dtype=bool)
    n_rows = len(labels)
    if labels.ndim > 1:
        told = f"{int(answered.sum()):,} of {answered.size:,} labels of {n_rows:,} rows answered"
        return [Prose.of(told), _several(labels, answered, names)]
    known = Counter(str(label) for label in labels[answered].tolist())
    rows: list[Sequence[Cell]] = [
        (label, f"{count:,}", f"{count / n_rows:.1%}", Bar.of(count / n_rows))
        for label, count in heapq.nsmallest(
            _MOST_CLASSES, known.items(), key=lambda each: (-each[1], each[0])
        )
    ]
    shown = [
        str(label) if there else "unanswered"
        for label, there in zip(labels[:_FIRST].tolist(), answered[:_FIRST], strict=True)
    ]
    further = ", ..." if n_rows > _FIRST else ""
    parts: list[Part] = [Prose.of(f"{int(answered.sum()):,} of {n_rows:,} rows answered")]
    if rows:
        parts.append(Table(("class", "rows", "of all", ""), rows))
    if len(known) > len(rows):
        parts.append(Prose.of(f"and {len(known) - len(rows):,} rarer classes", quiet=True))
    if shown:
        parts.append(Prose.of(f"first rows: {', '.join(shown)}{further}", quiet=True))
    return parts


def _several(labels: Any, answered: Any, names: Sequence[str] | None) -> Table:
    n_rows, n_labels = labels.shape
    rows: list[Sequence[Cell]] = []
    for at in range(min(n_labels, _MOST_CLASSES)):
        there = answered[:, at]
        n_present = int((labels[there, at] == 1).sum())
        name = str(at) if names is None else str(names[at])
        counts = (n_present, int(there.sum()) - n_present, int((~there).sum()))
        share = Bar.of(n_present / max(n_rows, 1))
        rows.append((name, *(f"{count:,}" for count in counts), share))
    if n_labels > _MOST_CLASSES:
        rows.append((f"and {n_labels - _MOST_CLASSES:,} more", "", "", "", ""))
    return Table(("label", "present", "absent", "unanswered", ""), rows)
