"""Counts of items of private rows in parts: each owner counts once an item."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Hashable
from functools import partial
from typing import NamedTuple

import numpy as np

from secretballot._base._owner_hash import KEY_SIZE
from secretballot.measures._item_counts import ItemCounts
from secretballot.tables._buckets import BucketRows, Buckets
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._tasks import target_errors


class _BucketItems(NamedTuple):
    """Counts of one bucket, with the largest contribution and the most items of an owner."""

    counts: dict[Hashable, float]
    largest: float
    most_items: int


def items_of_parts(parts: PrivateParts, max_contribution: float, domain: str) -> ItemCounts:
    """Count the owners of each item: a column of items, or one column of counts an item."""
    if isinstance(parts.y, str) and domain == "known":
        raise ValueError(
            f"domain='known', and the items are what the private column {parts.y!r} holds: pass "
            "domain='unknown', or name one column for each public item (y=[...])."
        )
    buckets = Buckets.of(parts, parts.targets, secrets.token_bytes(KEY_SIZE))
    try:
        counts, largest, most_items = Counter[Hashable](), 0.0, 0
        for part in buckets.map_rows(partial(_count_bucket, parts.y, max_contribution)):
            counts.update(part.counts)
            largest, most_items = max(largest, part.largest), max(most_items, part.most_items)
    finally:
        buckets.delete()
    items = ItemCounts.from_input(counts)
    return ItemCounts(items.counts, items.names, largest, most_items)


def _count_bucket(y: str | list[str], max_contribution: float, rows: BucketRows) -> _BucketItems:
    owners = np.unique(rows.hashes, return_inverse=True)[1]
    if isinstance(y, str):
        cells = rows.frame[[y]].set_axis(["item"], axis=1)
        pairs = cells.assign(owner=owners).dropna().drop_duplicates()
        counts = pairs["item"].value_counts().to_dict()
        most_items = int(pairs["owner"].value_counts().max()) if len(pairs) else 0
        return _BucketItems(counts, float(len(pairs) > 0), most_items)
    with target_errors(y):
        items = ItemCounts.from_input(rows.frame[y], max_contribution, owners)
    counts = dict(zip(y, items.counts.tolist(), strict=True))
    return _BucketItems(counts, items.largest, items.most_items)
