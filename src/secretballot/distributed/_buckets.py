"""Buckets of one fit: the rows of some owners each, complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from secretballot._private_folder import PrivateFolder
from secretballot.distributed._engine import Engine
from secretballot.distributed._exchange import OWNER, Exchange
from secretballot.distributed._tasks import map_tasks

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


class BucketRows(NamedTuple):
    """Rows of a bucket, on a worker.

    Attributes
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
    hashes : ndarray of shape (n_rows,)
        Hash of each row's owner.
    """

    frame: pd.DataFrame
    hashes: NDArray[np.uint64]


@dataclass(frozen=True)
class Buckets:
    """Rows of all parts, brought together by owner.

    Attributes
    ----------
    engine : Engine
    folder : PrivateFolder
    exchange : Exchange
    n_owners : int
        Number of owners: public.
    filled : list of int
        Buckets that have rows.
    """

    engine: Engine
    folder: PrivateFolder
    exchange: Exchange
    n_owners: int
    filled: list[int]

    def map_filled(self, function: Callable[[int], T], what: str = "bucket") -> Iterator[T]:
        """Yield the results of a function of the numbers of buckets that have rows.

        They come in any order.
        """
        return self._map(partial(_of_filled, function, self.filled), len(self.filled), what)

    def map_all(self, function: Callable[[int], T], what: str = "bucket") -> Iterator[T]:
        """Yield the results of a function of the numbers of all buckets, in any order."""
        return self._map(function, self.exchange.n_buckets, what)

    def map_rows(self, function: Callable[[BucketRows], T]) -> Iterator[T]:
        """Yield the results of a function of the rows of buckets, in any order."""
        return self.map_filled(partial(_on_rows, function, self.exchange))

    def _map(self, function: Callable[[int], T], n_tasks: int, what: str) -> Iterator[T]:
        results = map_tasks(self.engine, self.folder.path, function, n_tasks, what)
        return (result for _, result in results)

    def delete(self) -> None:
        """Delete all rows that were written."""
        self.folder.delete()


def read_bucket(exchange: Exchange, bucket: int) -> BucketRows:
    """Read the rows of one bucket."""
    import pandas as pd

    table = exchange.read_bucket(bucket)
    if table is None:
        return BucketRows(pd.DataFrame(columns=exchange.columns), np.empty(0, dtype=np.uint64))
    hashes = table[OWNER].to_numpy()
    return BucketRows(table.drop_columns([OWNER]).to_pandas(), hashes)


def count_owners(exchange: Exchange, bucket: int) -> int:
    """Count the owners of one bucket."""
    table = exchange.read_bucket(bucket)
    return 0 if table is None else len(np.unique(table[OWNER].to_numpy()))


def _of_filled(function: Callable[[int], T], filled: list[int], index: int) -> T:
    return function(filled[index])


def _on_rows(function: Callable[[BucketRows], T], exchange: Exchange, bucket: int) -> T:
    return function(read_bucket(exchange, bucket))
