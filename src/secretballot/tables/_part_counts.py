"""Counts of the rows of parts by public group."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from secretballot._base._files import PrivateFolder
from secretballot.tables._buckets import frame_of
from secretballot.tables._exchange import NO_ROWS, read_batches
from secretballot.tables._tasks import PartError, map_tasks

if TYPE_CHECKING:
    from secretballot.tables._private_parts import PrivateParts


def count_groups(
    parts: PrivateParts, classes: Sequence[Hashable]
) -> dict[Hashable, NDArray[np.intp]]:
    """Count the private rows of each group, by class, and of no class (last), for a release."""
    if parts.groups is None or not isinstance(parts.y, str):
        raise ValueError(
            f"groups={parts.groups!r} and y={parts.y!r}: proportions of parts need the column of "
            "public groups (groups=) and one column of classes (y=)."
        )
    folder = PrivateFolder(parts._scratch)
    try:
        count = partial(_count_part, parts._paths, parts.groups, parts.y, list(classes))
        counts: dict[Hashable, NDArray[np.intp]] = {}
        for _, part in map_tasks(parts._engine, folder.path, count, parts.n_parts, "part"):
            for group, numbers in part.items():
                counts[group] = counts.get(group, 0) + numbers
    finally:
        folder.delete()
    if not counts:
        raise ValueError(NO_ROWS)
    return counts


def _count_part(
    paths: Sequence[str], groups: str, y: str, classes: Sequence[Hashable], index: int
) -> dict[Hashable, NDArray[np.intp]]:
    counts: dict[Hashable, NDArray[np.intp]] = {}
    codes = {label: code for code, label in enumerate(classes)}
    for batch in read_batches(paths[index], [groups, y]):
        table = frame_of(batch)
        if table[groups].isna().any():
            raise PartError(f"the column of groups {groups!r} has missing cells.")
        # Texts and numbers are different classes, True and 1 are not.
        labels = np.array([codes.get(label, len(classes)) for label in table[y].tolist()])
        sizes = table.groupby([table[groups], labels], observed=True).size()
        for (group, code), n_rows in sizes.items():
            row = counts.setdefault(group, np.zeros(len(classes) + 1, dtype=np.intp))
            row[code] += n_rows
    return counts
