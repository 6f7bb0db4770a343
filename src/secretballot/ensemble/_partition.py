"""Partition of the private rows among the teachers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._base._owner_hash import KEY_SIZE
from secretballot.tables._exchange import OwnerHashes

Assignment = NDArray[np.intp]
Shards = list[NDArray[np.intp]]


@dataclass(frozen=True)
class SplitRows(ABC):
    """Private rows that are split among teachers."""

    n_rows: int
    levels: NDArray[np.integer[Any]] | None = None  # (n_rows,): position of each row's level

    @abstractmethod
    def split(
        self, n_teachers: int, stream: np.random.SeedSequence, rows: NDArray[np.intp] | None = None
    ) -> Shards:
        """Return the rows of each teacher: each row, or each of `rows`, goes to one teacher."""

    @abstractmethod
    def spread(
        self, copies: NDArray[np.intp], n_teachers: int, stream: np.random.SeedSequence
    ) -> Shards:
        """Return the rows of each teacher; a row goes to as many teachers as it has `copies`."""


@dataclass(frozen=True)
class NumberedRows(SplitRows):
    """Rows in memory that are split by position."""

    def split(
        self, n_teachers: int, stream: np.random.SeedSequence, rows: NDArray[np.intp] | None = None
    ) -> Shards:
        positions = np.arange(self.n_rows) if rows is None else rows
        return _shards(positions, partition_rows(len(positions), n_teachers, stream), n_teachers)

    def spread(
        self, copies: NDArray[np.intp], n_teachers: int, stream: np.random.SeedSequence
    ) -> Shards:
        rows, teachers = spread_rows(copies, n_teachers, stream)
        return _shards(rows, teachers, n_teachers)


@dataclass(frozen=True, kw_only=True)
class HashedRows(SplitRows):
    """Rows that are split by a keyed hash of their owner's id.

    The rank of an id among the others would not do: a changed id would shift all later owners.
    """

    hashes: OwnerHashes  # function from a key to the hash of each row's owner

    def split(
        self, n_teachers: int, stream: np.random.SeedSequence, rows: NDArray[np.intp] | None = None
    ) -> Shards:
        positions = np.arange(self.n_rows) if rows is None else rows
        teachers = teachers_of_hashes(self.hashes(hash_key(stream))[positions], n_teachers)
        return _shards(positions, teachers, n_teachers)

    def spread(
        self, copies: NDArray[np.intp], n_teachers: int, stream: np.random.SeedSequence
    ) -> Shards:
        """Rows of an owner have the same teachers, one a copy."""
        chosen = np.full((self.n_rows, copies.max(initial=0)), -1)
        n_chosen = np.zeros(self.n_rows, dtype=np.intp)
        searching, attempt = np.flatnonzero(copies), 0
        while len(searching):
            hashes = self.hashes(hash_key(stream, attempt))
            teachers = teachers_of_hashes(hashes, n_teachers)[searching]
            is_new = (chosen[searching] != teachers[:, None]).all(axis=1)
            found = searching[is_new]
            chosen[found, n_chosen[found]] = teachers[is_new]
            n_chosen[found] += 1
            searching, attempt = np.flatnonzero(n_chosen < copies), attempt + 1
        rows, places = np.nonzero(chosen >= 0)
        return _shards(rows, chosen[rows, places], n_teachers)


def _shards(rows: NDArray[np.intp], teachers: Assignment, n_teachers: int) -> Shards:
    """Return the rows of each teacher, ascending."""
    ends = np.cumsum(np.bincount(teachers, minlength=n_teachers))
    return np.split(rows[np.lexsort((rows, teachers))], ends[:-1])


def partition_rows(n_rows: int, n_teachers: int, stream: np.random.SeedSequence) -> Assignment:
    """Assign each row to a teacher by position: a seeded permutation, shards of equal size.

    Depends on the number of rows and the seed alone. Replacing a row therefore changes the shard
    of one teacher; removing one would shift the others, so the split is for ``"replace"`` only.
    """
    check_not_empty(n_rows)
    if n_rows < n_teachers:
        raise ValueError(
            f"n_teachers={n_teachers} needs at least as many rows, but X has n_samples={n_rows}; "
            "lower n_teachers."
        )
    return np.random.default_rng(stream).permutation(np.arange(n_rows) % n_teachers)


def check_n_teachers(n_teachers: int, n_owners: int, size: str) -> None:
    check_not_empty(n_owners)
    if n_owners < n_teachers:
        raise ValueError(
            f"n_teachers={n_teachers} needs at least as many owners, but owners has {n_owners} "
            f"different ones ({size}); lower n_teachers."
        )


def check_not_empty(n_rows: int) -> None:
    """Refuse a table without rows, whatever the number of teachers."""
    if not n_rows:
        raise ValueError("X has no rows (n_samples=0): give the private rows, 1 at least.")


def hash_key(stream: np.random.SeedSequence, attempt: int = 0) -> bytes:
    """Return the key of an attempt to find a teacher."""
    words = KEY_SIZE // 4
    return stream.generate_state(words * (attempt + 1))[words * attempt :].tobytes()


def teachers_of_hashes(hashes: NDArray[np.uint64], n_teachers: int) -> Assignment:
    return (hashes % np.uint64(n_teachers)).astype(np.intp)


def spread_rows(
    copies: NDArray[np.intp], n_teachers: int, stream: np.random.SeedSequence
) -> tuple[NDArray[np.intp], Assignment]:
    """Return the row and the teacher of every copy, by position: no teacher has a row twice.

    Rows with the same number of copies are shuffled and dealt in rounds, one row a teacher. Each
    copy of a round is dealt with an offset of its own, which differs between rounds: no two
    teachers come to share most of their rows.
    """
    rng = np.random.default_rng(stream)
    rows, teachers = [], []
    next_seat = 0
    for n_copies in np.unique(copies):
        shuffled = rng.permutation(np.flatnonzero(copies == n_copies))
        seat = next_seat + np.arange(len(shuffled))
        n_rounds = int(seat[-1] // n_teachers) + 1
        offsets = np.argsort(rng.random((n_rounds, n_teachers)), axis=1)[:, :n_copies]
        rows.append(np.repeat(shuffled, n_copies))
        teachers.append(((seat[:, None] + offsets[seat // n_teachers]) % n_teachers).ravel())
        next_seat = int(seat[-1] + 1) % n_teachers
    return np.concatenate(rows), np.concatenate(teachers)
