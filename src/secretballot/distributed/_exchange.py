"""Exchange of rows between parts: all rows of an owner go to one bucket."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from secretballot.distributed._part_owners import hash_column
from secretballot.distributed._tasks import PartError

if TYPE_CHECKING:
    import pyarrow as pa

#: Column of the hashes of owners in a bucket's files.
OWNER = "__secretballot_owner"
#: Rows of a part that are read at once.
_BATCH_ROWS = 2**16


class PartSummary(NamedTuple):
    """Summary of a part for the client: the kind of its owners' ids, and numbers of rows."""

    kind: str
    n_rows: int
    n_left_out: int


@dataclass(frozen=True)
class Exchange:
    """Exchange of the rows of all parts, by files that all workers can read.

    A bucket is a folder with one file for each part, which is written under another name first: a
    task that is run twice writes the same file.

    Attributes
    ----------
    paths : list of str
        Parquet files, one a part.
    folder : str
    columns : list of str
        Columns that are kept.
    owners : str
        Column of owner ids.
    key : bytes
        Key of the hash.
    n_buckets : int
    n_teachers : int or None
        Number of teachers, all of whose rows go to one bucket. None: there are none.
    listed : ndarray of shape (n_owners,) or None
        Sorted hashes of the public list of owners; rows of others are left out.
    """

    paths: list[str]
    folder: str
    columns: list[str]
    owners: str
    key: bytes
    n_buckets: int
    n_teachers: int | None = None
    listed: NDArray[np.uint64] | None = None

    def write_part(self, index: int) -> PartSummary:
        """Write the rows of one part into the buckets."""
        kinds, n_rows, n_left_out = set(), 0, 0
        with ExitStack() as stack:
            writers: dict[int, _BucketWriter] = {}
            for batch in read_batches(self.paths[index], [*self.columns, self.owners]):
                kind, hashes = hash_column(batch[self.owners], self.key)
                kinds.add(kind)
                table = _plain_table(batch, self.columns, hashes)
                listed_rows = self._listed_rows(hashes)
                n_rows, n_left_out = (
                    n_rows + len(hashes),
                    n_left_out + len(hashes) - len(listed_rows),
                )
                buckets = self._buckets(hashes[listed_rows])
                for bucket in np.unique(buckets).tolist():
                    if bucket not in writers:
                        writers[bucket] = _BucketWriter(self._folder(bucket), index)
                    rows = listed_rows[buckets == bucket]
                    writers[bucket].write(table.take(rows), stack)
        for writer in writers.values():
            writer.finish()
        if len(kinds) > 1:
            raise PartError("the column of owners mixes ids of several kinds.")
        return PartSummary(min(kinds, default=""), n_rows, n_left_out)

    def read_bucket(self, bucket: int) -> pa.Table | None:
        """Return the rows of a bucket in the order of the parts; None if there are none."""
        import pyarrow as pa

        folder = self._folder(bucket)
        tables = []
        for name in sorted(os.listdir(folder)):
            if name.endswith(".arrow"):
                with pa.memory_map(os.path.join(folder, name)) as file:
                    tables.append(pa.ipc.open_file(file).read_all())
        if not tables:
            return None
        return pa.concat_tables(tables, promote_options="permissive")

    def make_folders(self) -> None:
        """Make the folders of the buckets."""
        for bucket in range(self.n_buckets):
            os.makedirs(self._folder(bucket), mode=0o700)

    def _folder(self, bucket: int) -> str:
        return os.path.join(self.folder, f"bucket-{bucket}")

    def _listed_rows(self, hashes: NDArray[np.uint64]) -> NDArray[np.intp]:
        if self.listed is None:
            return np.arange(len(hashes))
        return np.flatnonzero(np.isin(hashes, self.listed))

    def _buckets(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        if self.n_teachers is None:
            return hashes % np.uint64(self.n_buckets)
        teachers = hashes % np.uint64(self.n_teachers)
        return teachers * np.uint64(self.n_buckets) // np.uint64(self.n_teachers)


class _BucketWriter:
    """File of one part's rows in one bucket."""

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
        """Give the closed file its name."""
        os.replace(self._new, self._path)


def read_batches(path: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield batches of the rows of a part; PartError if it can't be read."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as part:
            yield from part.iter_batches(_BATCH_ROWS, columns=list(dict.fromkeys(columns)))
    except OSError as error:
        raise PartError(
            f"{os.path.basename(path)!r} could not be read ({type(error).__name__})."
        ) from None


def _plain_table(batch: pa.RecordBatch, columns: list[str], hashes: NDArray[np.uint64]) -> pa.Table:
    """Return columns of plain types, with the owners' hashes beside them."""
    import pyarrow as pa

    arrays = []
    for name in columns:
        column = batch[name]
        # Dictionaries differ between batches.
        is_coded = pa.types.is_dictionary(column.type)
        arrays.append(column.cast(column.type.value_type) if is_coded else column)
    return pa.table([*arrays, pa.array(hashes)], names=[*columns, OWNER])
