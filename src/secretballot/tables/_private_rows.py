"""Private rows, read chunk by chunk: a table in memory is one chunk, rows in parts are many."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import uuid4

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._owner_hash import KEY_SIZE
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.tables._buckets import Buckets, read_bucket
from secretballot.tables._exchange import Division, Exchange
from secretballot.tables._levels import Levels, level_names
from secretballot.tables._people import People
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._tasks import batches, run_tasks, save_whole, target_errors

T = TypeVar("T")
S = TypeVar("S")
K = TypeVar("K")
R = TypeVar("R")
#: Numbers of rows, or of people, by column.
Counts = Mapping[Hashable, Any]
#: Key of the number of rows among the counts of misfits by column.
_N_ROWS = ("number of rows",)


@dataclass(frozen=True)
class Chunk:
    """Private rows that are read at once: all rows of some people."""

    table: ArrayLike  # cells as they were given
    target: Any  # None if nothing is learned of rows
    owners: People  # owner and weight of each row
    levels: NDArray[np.integer[Any]] | None = None  # position of each row's level
    #: places of the rows of each teacher, by its number, if rows are divided among teachers
    shards: Mapping[int, NDArray[np.intp]] | None = None
    target_columns: str | list[str] | None = None  # of parts

    def read_target(self, read: Callable[[Any], T]) -> T:
        """Read the target by a function; for rows in parts, errors quote no cell of it."""
        if self.target_columns is None:
            return read(self.target)
        with target_errors(self.target_columns):
            return read(self.target)


@dataclass(frozen=True)
class PrivateRows(Generic[T]):
    """Private rows: public facts about them, and sums of functions of their chunks.

    `T` is the type of a loaded chunk: `Chunk` at first, then the result of `read` or `keep`. Sums
    are equal in memory and in parts, bit by bit, if functions return multiples of a power of two
    at which the sum over all people is exact.
    """

    n_people: int  # rows, or owners
    unit: str  # "row" or "owner"
    levels: Levels | None
    #: loads the chunk of a number; `of_teachers=True`: with the rows of each of its teachers
    load: Callable[..., T]
    buckets: Buckets | None = None  # chunks of rows in parts

    @staticmethod
    def of_table(
        table: ArrayLike,
        target: ArrayLike | None,
        people: People,
        levels: Levels | None = None,
        shards: Sequence[NDArray[np.intp]] | None = None,
    ) -> PrivateRows[Chunk]:
        places = None if shards is None else dict(enumerate(shards))
        chunk = Chunk(table, target, people, None if levels is None else levels.of_row, places)
        return PrivateRows(people.n, people.unit, levels, _constant(chunk))

    @staticmethod
    def of_parts(
        parts: PrivateParts,
        columns: list[str],
        target: str | list[str] | None = None,
        *,
        levels: Levels | PrivacyAccountant | None = None,
        division: Division | None = None,
        key: bytes | None = None,
    ) -> PrivateRows[Chunk]:
        """Group rows by owner into files, which `close` deletes; nothing else is computed.

        If `levels` is an accountant, the owners of each of its levels are counted. `key` is the key
        of the owners' hashes.
        """
        names: tuple[str, ...] = ()
        if levels is not None and parts.budgets is not None:
            names = levels.names if isinstance(levels, Levels) else level_names(levels)
        targets = [target] if isinstance(target, str) else target or []
        key = secrets.token_bytes(KEY_SIZE) if key is None else key
        buckets = Buckets.of(parts, [*columns, *targets], key, division, names)
        if isinstance(levels, PrivacyAccountant):
            try:
                levels = buckets.count_levels(levels) if names else None
            except ValueError:
                buckets.delete()
                raise
        load = partial(_load, buckets.exchange, columns, target, buckets.n_owners)
        return PrivateRows(buckets.n_owners, "owner", levels, load, buckets)

    def map(self, function: Callable[[T], S]) -> Iterator[S]:
        """Yield a function's results for all chunks, in any order."""
        if self.buckets is None:
            yield function(self.load(0))
        else:
            yield from self.buckets.map_filled(partial(_apply, function, self.load))

    def sum(self, function: Callable[[T], NDArray[Any]]) -> NDArray[Any]:
        """Add up a function's results for all chunks, which are exact."""
        return np.asarray(sum(self.map(function)))

    def count(self, function: Callable[[T], Counts]) -> dict[Hashable, Any]:
        """Add up a function's counts of all chunks, by column."""
        return _added(self.map(function))

    def read(self, function: Callable[[T], S]) -> PrivateRows[S]:
        """Apply a function to each chunk: in memory now, in parts whenever a chunk is loaded."""
        if self.buckets is None:
            return self._loaded(_constant(function(self.load(0))))
        return self._loaded(partial(_apply, function, self.load))

    def keep(
        self,
        function: Callable[[T], S],
        pack: Callable[[S], K | None],
        unpack: Callable[[K], S],
        count: Callable[[T], Counts] | None = None,
    ) -> tuple[PrivateRows[S], dict[Hashable, Any]]:
        """Apply a function to all chunks now, and store its results; return these and counts.

        Workers store the results of `pack` in files. If it returns None, the chunk is read again
        whenever it is loaded.
        """
        if self.buckets is None:
            chunk = self.load(0)
            counts = {} if count is None else dict(count(chunk))
            return self._loaded(_constant(function(chunk))), counts
        folder = os.path.join(self.buckets.folder.path, f"kept-{uuid4().hex}")
        os.mkdir(folder, 0o700)
        chunks = _KeptChunks(folder, self.load, function, pack, unpack)
        counts = _added(self.buckets.map_filled(partial(chunks.store, count)))
        return self._loaded(chunks.load), counts

    def by_teacher(
        self,
        shard: Callable[[T, int], S],
        function: Callable[[list[S]], R],
        n_teachers: int,
        n_jobs: int | None,
    ) -> Iterator[R]:
        """Yield a function's results for batches of teachers' shards, in any order.

        `shard` returns the training rows of a teacher, given a chunk and the teacher's number. In
        memory, processes get these rows alone; workers of parts load the whole chunk.
        """
        if self.buckets is None:
            rows = self.load(0)
            tasks = (
                ([shard(rows, number) for number in batch],)
                for batch in batches(n_teachers, n_jobs)
            )
            return run_tasks(function, tasks, n_jobs=n_jobs)
        exchange = self.buckets.exchange
        return self.buckets.map_all(partial(_on_teachers, shard, function, self.load, exchange))

    def _loaded(self, load: Callable[..., S]) -> PrivateRows[S]:
        return PrivateRows(self.n_people, self.unit, self.levels, load, self.buckets)

    def close(self) -> None:
        """Delete the files of rows in parts."""
        if self.buckets is not None:
            self.buckets.delete()


@dataclass(frozen=True)
class _KeptChunks(Generic[T, S, K]):
    """Results of a function for each chunk, stored in files of the workers."""

    folder: str
    load_chunk: Callable[..., T]
    function: Callable[[T], S]
    pack: Callable[[S], K | None]
    unpack: Callable[[K], S]

    def store(self, count: Callable[[T], Counts] | None, bucket: int) -> Counts:
        chunk = self.load_chunk(bucket)
        packed = self.pack(self.function(chunk))
        if packed is not None:
            save_whole(packed, self._path(bucket))
        return {} if count is None else count(chunk)

    def load(self, bucket: int) -> S:
        path = self._path(bucket)
        if os.path.exists(path):
            return self.unpack(joblib.load(path, mmap_mode="r"))
        return self.function(self.load_chunk(bucket))

    def _path(self, bucket: int) -> str:
        return os.path.join(self.folder, f"{bucket}.rows")


def _load(
    exchange: Exchange,
    columns: list[str],
    target: str | list[str] | None,
    n_people: int,
    bucket: int,
    of_teachers: bool = False,
) -> Chunk:
    rows, shards = read_bucket(exchange, bucket), None
    if of_teachers:
        numbers = exchange.teachers(bucket)
        shards = {number: np.flatnonzero(rows.teachers == number) for number in numbers}
    else:
        rows = rows.once()
    owners = People.of_numbers(np.unique(rows.hashes, return_inverse=True)[1], n_people)
    y = None if target is None else rows.frame[target]
    return Chunk(rows.frame[columns], y, owners, rows.levels, shards, target_columns=target)


def _on_teachers(
    shard: Callable[[T, int], S],
    function: Callable[[list[S]], R],
    load: Callable[..., T],
    exchange: Exchange,
    bucket: int,
) -> R:
    rows = load(bucket, of_teachers=True)
    return function([shard(rows, number) for number in exchange.teachers(bucket)])


def _constant(chunk: T) -> Callable[..., T]:
    return lambda *_, **__: chunk


def _apply(function: Callable[[T], S], load: Callable[..., T], bucket: int, **options: bool) -> S:
    return function(load(bucket, **options))


def misfit_counts(misfits: Mapping[Hashable, NDArray[np.bool_]], n_rows: int) -> Counts:
    """Count the misfits of a chunk by column, which may lack columns that have none."""
    return {_N_ROWS: n_rows, **{name: int(rows.sum()) for name, rows in misfits.items()}}


def misfit_shares(counts: Counts) -> dict[Hashable, float]:
    """Return shares of rows from the sums of `misfit_counts`."""
    return {name: count / counts[_N_ROWS] for name, count in counts.items() if name != _N_ROWS}


def _added(parts: Iterable[Counts]) -> dict[Hashable, Any]:
    counts: dict[Hashable, Any] = {}
    for part in parts:
        for name, count in part.items():
            counts[name] = counts.get(name, 0) + count
    return counts
