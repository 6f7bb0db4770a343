"""Buckets of one fit: the rows of some owners each, complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION, PrivacyLeakWarning, warn
from secretballot._base._files import PrivateFolder
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.tables._cells import column_cells
from secretballot.tables._engine import Engine
from secretballot.tables._exchange import (
    FIRST,
    LEVEL,
    NO_ROWS,
    OWNER,
    TEACHER,
    Division,
    Exchange,
    LevelColumn,
)
from secretballot.tables._levels import Levels
from secretballot.tables._owners import LIKE_IDS, check_kinds
from secretballot.tables._part_owners import ID_FORMS
from secretballot.tables._tasks import PartError, map_tasks

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from secretballot.tables._private_parts import PrivateParts

#: Rows of a bucket by default, and the most buckets.
_BUCKET_ROWS, _MOST_BUCKETS = 250_000, 512

T = TypeVar("T")


class BucketRows(NamedTuple):
    """Rows of a bucket, on a worker."""

    frame: pd.DataFrame
    hashes: NDArray[np.uint64]  # of each row's owner
    levels: NDArray[np.integer[Any]] | None = None  # position of each owner's level
    #: of each row, which is there once for each of its teachers
    teachers: NDArray[np.integer[Any]] | None = None
    is_first: NDArray[np.bool_] | None = None  # True for the rows of one of an owner's teachers

    def once(self) -> BucketRows:
        if self.is_first is None or self.is_first.all():
            return self
        return BucketRows(self.frame[self.is_first], self.hashes[self.is_first])


@dataclass(frozen=True)
class Buckets:
    """Rows of all parts, brought together by owner."""

    engine: Engine
    folder: PrivateFolder
    exchange: Exchange
    n_owners: int  # public
    filled: list[int]  # numbers of the buckets that have rows

    @classmethod
    def of(
        cls,
        parts: PrivateParts,
        names: list[str],
        key: bytes,
        division: Division | None = None,
        levels: tuple[str, ...] = (),
    ) -> Buckets:
        """Bring the rows of each owner together; the caller deletes them."""
        if parts.owners is None:
            raise ValueError(
                "owners=None: rows in parts are counted by owner. Give owners=, the column of "
                "owner ids; if each row is a person of its own, a column of row ids."
            )
        listed = parts._listed
        folder = PrivateFolder(parts._scratch)
        try:
            exchange = Exchange(
                paths=parts._paths,
                folder=folder.path,
                columns=names,
                owners=parts.owners,
                key=key,
                types={name: parts._types[name] for name in names},
                n_buckets=_choose_n_buckets(parts, division),
                division=division,
                budgets=LevelColumn(str(parts.budgets), levels) if levels else None,
                listed=None if listed is None else np.sort(listed.hashes(key)),
            )
            is_one_form = _write(exchange, parts._engine, "" if listed is None else listed.kind)
            counts = _count(exchange, parts._engine)
            if not is_one_form and listed is None:
                _warn_of_like(exchange, parts._engine, sum(counts.values()))
        except BaseException:
            folder.delete()
            raise
        n_owners = sum(counts.values()) if listed is None else len(listed.ids)
        filled = [bucket for bucket, n_present in sorted(counts.items()) if n_present]
        return cls(parts._engine, folder, exchange, n_owners, filled)

    def map_filled(self, function: Callable[[int], T]) -> Iterator[T]:
        """Yield a function's results for the numbers of buckets that have rows, in any order."""
        return self._map(partial(_of_filled, function, self.filled), len(self.filled))

    def count_levels(self, accountant: PrivacyAccountant) -> Levels:
        """Count the owners of each level: public."""
        assert self.exchange.budgets is not None
        count = partial(count_levels, n_levels=len(self.exchange.budgets.levels))
        people = np.asarray(sum(self.map_rows(count)))
        return Levels.of_people(people, accountant, np.empty(0, dtype=np.intp))

    def map_all(self, function: Callable[[int], T]) -> Iterator[T]:
        return self._map(function, self.exchange.n_buckets)

    def map_rows(self, function: Callable[[BucketRows], T]) -> Iterator[T]:
        """Yield a function's results for the rows of each bucket, in any order."""
        return self.map_filled(partial(_on_rows, function, self.exchange))

    def _map(self, function: Callable[[int], T], n_tasks: int) -> Iterator[T]:
        results = map_tasks(self.engine, self.folder.path, function, n_tasks, "bucket")
        return (result for _, result in results)

    def delete(self) -> None:
        self.folder.delete()


def read_bucket(exchange: Exchange, bucket: int) -> BucketRows:
    import pandas as pd

    table = exchange.read_bucket(bucket)
    if table is None:
        return BucketRows(pd.DataFrame(columns=exchange.columns), np.empty(0, dtype=np.uint64))
    frame = frame_of(table.select(exchange.columns))
    added = [
        table[name].to_numpy() if name in table.column_names else None
        for name in (LEVEL, TEACHER, FIRST)
    ]
    return BucketRows(frame, table[OWNER].to_numpy(), *added)


def frame_of(table: pa.Table | pa.RecordBatch) -> pd.DataFrame:
    """Return rows as a data frame, whose cells don't depend on other rows.

    A missing cell would make floats of whole numbers, and equal ones of those beyond 2**53. A cell
    that pandas can't hold, such as a date after the year 9999, is missing.
    """
    import pandas as pd
    import pyarrow as pa

    exact = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        # A mapper would make numbers of periods.
        mapper = exact.get if column.null_count and column.type in exact else None
        try:
            columns[name] = column.to_pandas(types_mapper=mapper)
        except (ValueError, OverflowError, pa.ArrowException):
            columns[name] = pd.Series(column_cells(column), dtype=object)
    return pd.DataFrame(columns)


def count_owners(exchange: Exchange, bucket: int) -> int:
    table = exchange.read_bucket(bucket)
    if table is None:
        return 0
    hashes = table[OWNER].to_numpy()
    return len(np.unique(hashes[table[FIRST].to_numpy()] if exchange.division else hashes))


def count_levels(rows: BucketRows, n_levels: int) -> NDArray[np.intp]:
    assert rows.levels is not None
    owners, numbers = np.unique(rows.hashes, return_inverse=True)
    level_of = np.empty(len(owners), dtype=np.intp)
    level_of[numbers] = rows.levels
    if (level_of[numbers] != rows.levels).any():
        raise PartError(
            "the column of budgets gives the rows of an owner different levels; an owner has one."
        )
    return np.bincount(level_of, minlength=n_levels)


def _choose_n_buckets(parts: PrivateParts, division: Division | None) -> int:
    n_buckets = parts._n_buckets
    if n_buckets is None:
        n_buckets = min(max(parts._n_rows // _BUCKET_ROWS, 1), _MOST_BUCKETS)
    return n_buckets if division is None else min(n_buckets, division.n_teachers)


def _write(exchange: Exchange, engine: Engine, listed_kind: str = "") -> bool:
    """Write all parts into buckets; return True if ids of owners are all in one form."""
    for bucket in range(exchange.n_buckets):
        os.makedirs(exchange.bucket_folder(bucket), mode=0o700)
    kinds, forms, n_rows, n_left_out = {listed_kind}, frozenset(ID_FORMS), 0, 0
    n_parts = len(exchange.paths)
    for _, part in map_tasks(engine, exchange.folder, exchange.write_part, n_parts, "part"):
        kinds.add(part.kind)
        forms &= part.forms
        n_rows, n_left_out = n_rows + part.n_rows, n_left_out + part.n_left_out
    check_kinds(kinds - {""})
    if n_rows == 0:
        raise ValueError(NO_ROWS)
    if n_left_out == n_rows:
        raise ValueError(
            "owner_ids lists no owner of any row: all rows would be left out. Give ids as they are "
            f"in the column {exchange.owners!r}. Nothing was spent. {NOT_FOR_PUBLICATION}"
        )
    if n_left_out:
        warn(
            f"{n_left_out} of {n_rows} rows are of owners that owner_ids does not list; they "
            f"were left out. {NOT_FOR_PUBLICATION}",
            PrivacyLeakWarning,
        )
    return bool(forms)


def _count(exchange: Exchange, engine: Engine) -> dict[int, int]:
    count = partial(count_owners, exchange)
    return dict(map_tasks(engine, exchange.folder, count, exchange.n_buckets, "bucket"))


def _warn_of_like(exchange: Exchange, engine: Engine, n_owners: int) -> None:
    """Warn of ids that have the same plain text, as those of one person may."""
    folder = os.path.join(exchange.folder, "plain-ids")
    os.mkdir(folder, 0o700)
    plain = replace(exchange, folder=folder, columns=[], division=None, budgets=None, is_plain=True)
    _write(plain, engine)
    n_like = n_owners - sum(_count(plain, engine).values())
    if n_like:
        warn(
            f"{n_like} of {n_owners} owner ids differ from others in {LIKE_IDS} alone, and count "
            "as owners of their own. If they are one person, it is protected less than was "
            f"stated: write ids in one form. {NOT_FOR_PUBLICATION}",
            PrivacyLeakWarning,
        )


def _of_filled(function: Callable[[int], T], filled: list[int], index: int) -> T:
    return function(filled[index])


def _on_rows(function: Callable[[BucketRows], T], exchange: Exchange, bucket: int) -> T:
    return function(read_bucket(exchange, bucket))
