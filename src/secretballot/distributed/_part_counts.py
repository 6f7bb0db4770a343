"""Counts of the rows of one part."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from secretballot.distributed._exchange import read_batches
from secretballot.distributed._tasks import PartError

if TYPE_CHECKING:
    import pandas as pd


def count_part(
    paths: Sequence[str], groups: str, y: str, classes: Sequence[Hashable], index: int
) -> dict[Hashable, NDArray[np.intp]]:
    """Count the rows of each group and class in one part, and those of no class at the end."""
    counts: dict[Hashable, NDArray[np.intp]] = {}
    codes = {label: code for code, label in enumerate(classes)}
    for batch in read_batches(paths[index], [groups, y]):
        table: pd.DataFrame = batch.to_pandas()
        if table[groups].isna().any():
            raise PartError(f"the column of groups {groups!r} has missing cells.")
        # Texts and numbers are different classes.
        labels = table[y].astype(object).map(codes).fillna(len(classes)).astype(int)
        for (group, code), n_rows in labels.groupby([table[groups], labels]).size().items():
            row = counts.setdefault(group, np.zeros(len(classes) + 1, dtype=np.intp))
            row[code] += n_rows
    return counts
