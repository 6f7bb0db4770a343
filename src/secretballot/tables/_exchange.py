"""Exchange of rows between parts: all rows of an owner go to one bucket."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from secretballot.tables._part_owners import ID_FORMS, HashedOwners, hash_column, plain_texts
from secretballot.tables._tasks import PartError

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns of a bucket's files: hashes of owners, positions of their levels, numbers of teachers,
#: and True for the rows of one of an owner's teachers.
OWNER, LEVEL = "__secretballot_owner", "__secretballot_level"
TEACHER, FIRST = "__secretballot_teacher", "__secretballot_first"
#: Function from a key to the hash of each row's owner.
OwnerHashes = Callable[[bytes], NDArray[np.uint64]]
#: Function from hashes of owners, and the positions of their levels, to the rows of each teacher.
Assign = Callable[[OwnerHashes, "NDArray[np.intp] | None"], Sequence[NDArray[np.intp]]]
NO_ROWS = "the parts have no rows."
#: Rows of a part that are read at once.
_BATCH_ROWS = 2**16


class PartSummary(NamedTuple):
    """Kind and forms of a part's owner ids, and numbers of rows, for the client."""

    kind: str
    forms: frozenset[str]
    n_rows: int
    n_left_out: int


@dataclass(frozen=True)
class Division:
    """Division of owners, who may have several teachers; a teacher's rows go to one bucket."""

    n_teachers: int
    assign: Assign


@dataclass(frozen=True)
class LevelColumn:
    """Column of the owners' privacy levels, which are stored by position in `levels`."""

    name: str
    levels: tuple[str, ...]

    def positions(self, batch: pa.RecordBatch) -> NDArray[np.intp]:
        import pyarrow as pa
        import pyarrow.compute as pc

        column = _plain(batch[self.name])
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            places = pc.index_in(column, pa.array(self.levels, type=column.type))
            if not places.null_count:
                return np.asarray(places.to_numpy(), dtype=np.intp)
        raise PartError(
            f"the column of budgets {self.name!r} has cells that are no level of the accountant: "
            f"every row needs one of {', '.join(map(repr, self.levels))}."
        )


@dataclass(frozen=True)
class Exchange:
    """Exchange of the rows of all parts, by files that all workers can read.

    A bucket is a folder with one file for each part, which is written under another name first: a
    task that is run twice writes the same file.
    """

    paths: list[str]  # Parquet files, one a part
    folder: str
    columns: list[str]  # that are kept
    #: of the columns, in all parts: they don't depend on the rows of a bucket
    types: dict[str, pa.DataType]
    owners: str  # column of owner ids
    key: bytes  # of the hash
    n_buckets: int
    division: Division | None = None  # None: buckets have any owners
    budgets: LevelColumn | None = None
    is_plain: bool = False  # True if the plain texts of ids are hashed
    #: sorted hashes of the public list of owners; rows of others are left out
    listed: NDArray[np.uint64] | None = None

    def write_part(self, index: int) -> PartSummary:
        kinds, forms, n_rows, n_left_out = set(), frozenset(ID_FORMS), 0, 0
        columns = [*self.columns, self.owners]
        if self.budgets is not None:
            columns.append(self.budgets.name)
        with ExitStack() as stack:
            writers: dict[int, _BucketWriter] = {}
            for read in read_batches(self.paths[index], columns):
                kind, hashes, batch_forms = self._hash(read, self.key)
                kinds.add(kind)
                forms &= batch_forms
                batch, n_rows = read, n_rows + len(hashes)
                if self.listed is not None:
                    listed_rows = np.flatnonzero(np.isin(hashes, self.listed))
                    n_left_out += len(hashes) - len(listed_rows)
                    batch, hashes = batch.take(listed_rows), hashes[listed_rows]
                for bucket, table in self._divide(batch, hashes):
                    if bucket not in writers:
                        writers[bucket] = _BucketWriter(self.bucket_folder(bucket), index)
                    writers[bucket].write(table, stack)
        for writer in writers.values():
            writer.finish()
        if len(kinds) > 1:
            raise PartError("the column of owners mixes ids of several kinds.")
        return PartSummary(min(kinds, default=""), forms, n_rows, n_left_out)

    def read_bucket(self, bucket: int) -> pa.Table | None:
        import pyarrow as pa

        folder = self.bucket_folder(bucket)
        tables = []
        for name in sorted(os.listdir(folder)):
            if name.endswith(".arrow"):
                with pa.memory_map(os.path.join(folder, name)) as file:
                    tables.append(pa.ipc.open_file(file).read_all())
        if not tables:
            return None
        return pa.concat_tables(tables)

    def teachers(self, bucket: int) -> range:
        """Return the teachers whose rows are in a bucket."""
        assert self.division is not None
        return teachers_of_task(self.division.n_teachers, self.n_buckets, bucket)

    def bucket_folder(self, bucket: int) -> str:
        return os.path.join(self.folder, f"bucket-{bucket}")

    def _divide(
        self, batch: pa.RecordBatch, hashes: NDArray[np.uint64]
    ) -> Iterator[tuple[int, pa.Table]]:
        import pyarrow as pa

        arrays = {name: self._cast(batch, name) for name in self.columns}
        arrays[OWNER] = pa.array(hashes)
        levels = None
        if self.budgets is not None:
            levels = self.budgets.positions(batch)
            arrays[LEVEL] = pa.array(levels.astype(np.int16))
        rows, added = np.arange(len(hashes)), dict[str, NDArray[Any]]()
        if self.division is None:
            buckets = self._buckets(hashes)
        else:
            rows, added = self._teachers(batch, hashes, levels, self.division)
            buckets = added[TEACHER] * self.n_buckets // self.division.n_teachers
        table = pa.table(arrays)
        for bucket in np.unique(buckets).tolist():
            chosen = np.flatnonzero(buckets == bucket)
            part = table.take(rows[chosen])
            for name, values in added.items():
                part = part.append_column(name, pa.array(values[chosen]))
            yield bucket, part

    def _teachers(
        self,
        batch: pa.RecordBatch,
        hashes: NDArray[np.uint64],
        levels: NDArray[np.intp] | None,
        division: Division,
    ) -> tuple[NDArray[np.intp], dict[str, NDArray[Any]]]:
        def owner_hashes(key: bytes) -> NDArray[np.uint64]:
            return hashes if key == self.key else self._hash(batch, key).hashes

        shards = division.assign(owner_hashes, levels)
        rows = np.concatenate(shards)
        teachers = np.repeat(np.arange(len(shards)), [len(shard) for shard in shards])
        is_first = np.full(len(rows), len(rows) == batch.num_rows)
        if not is_first.all():
            is_first[np.unique(rows, return_index=True)[1]] = True
        return rows, {TEACHER: teachers, FIRST: is_first}

    def _cast(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        import pyarrow as pa

        try:
            return _plain(batch[name]).cast(self.types[name])
        except pa.ArrowException:
            raise PartError(
                f"the column {name!r} has cells that are no {self.types[name]}, its type for all "
                "parts: floats hold no whole numbers beyond 2**53, for instance. Write all parts "
                "with one type."
            ) from None

    def _hash(self, batch: pa.RecordBatch, key: bytes) -> HashedOwners:
        column = batch[self.owners]
        return hash_column(plain_texts(_plain(column)) if self.is_plain else column, key)

    def _buckets(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return hashes % np.uint64(self.n_buckets)


def teachers_of_task(n_teachers: int, n_tasks: int, task: int) -> range:
    """Return the teachers of one task: those whose rows are in one bucket."""
    # Bucket t * n_tasks // n_teachers has teacher t.
    ends = [-(-number * n_teachers // n_tasks) for number in (task, task + 1)]
    return range(*ends)


class _BucketWriter:
    def __init__(self, folder: str, part: int) -> None:
        self._path = os.path.join(folder, f"{part:06d}.arrow")
        self._new = f"{self._path}.{uuid4().hex}"
        self._writer: Any = None

    def write(self, table: pa.Table, stack: ExitStack) -> None:
        """Append rows; the stack closes the file."""
        import pyarrow as pa

        if self._writer is None:
            self._writer = stack.enter_context(pa.ipc.new_file(self._new, table.schema))
        self._writer.write_table(table)

    def finish(self) -> None:
        os.replace(self._new, self._path)


def read_batches(path: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as part:
            yield from part.iter_batches(_BATCH_ROWS, columns=list(dict.fromkeys(columns)))
    except OSError as error:
        raise PartError(
            f"{os.path.basename(path)!r} could not be read ({type(error).__name__})."
        ) from None


def _plain(column: pa.Array) -> pa.Array:
    """Return a column of a plain type: dictionaries differ between batches."""
    import pyarrow as pa

    is_coded = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if is_coded else column
