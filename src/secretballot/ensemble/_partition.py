"""Partition of the private rows among the teachers."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._owners import canonical, check_kinds, listed
from secretballot._sklearn_compat import _safe_indexing

Assignment = NDArray[np.intp]
Shards = list[NDArray[np.intp]]


@dataclass(frozen=True)
class OwnedRows:
    """Number of private rows and, where they are split by owner, the owner of each row."""

    n_rows: int
    owners: ArrayLike | None = None

    def split(
        self, n_teachers: int, stream: np.random.SeedSequence, rows: NDArray[np.intp] | None = None
    ) -> Shards:
        """Return the rows of each teacher: each row, or each of `rows`, goes to one teacher."""
        positions = np.arange(self.n_rows) if rows is None else rows
        if self.owners is None:
            teachers = partition_rows(len(positions), n_teachers, stream)
        else:
            owners = self.owners if rows is None else _safe_indexing(self.owners, rows)
            teachers = partition_owners(owners, n_teachers, stream)
        return _shards(positions, teachers, n_teachers)

    def spread(
        self, copies: NDArray[np.intp], n_teachers: int, stream: np.random.SeedSequence
    ) -> Shards:
        """Return the rows of each teacher; a row goes to as many teachers as it has `copies`."""
        if self.owners is None:
            rows, teachers = spread_rows(copies, n_teachers, stream)
        else:
            per_row = _teachers_of(self.owners, copies, n_teachers, stream)
            rows, teachers = np.repeat(np.arange(self.n_rows), copies), np.concatenate(per_row)
        return _shards(rows, teachers, n_teachers)


def _shards(rows: NDArray[np.intp], teachers: Assignment, n_teachers: int) -> Shards:
    """Return the rows of each teacher, ascending."""
    ends = np.cumsum(np.bincount(teachers, minlength=n_teachers))
    return np.split(rows[np.lexsort((rows, teachers))], ends[:-1])


def partition_rows(n_rows: int, n_teachers: int, stream: np.random.SeedSequence) -> Assignment:
    """Assign each row to a teacher by position: a seeded permutation, shards of equal size.

    Depends on the number of rows and the seed alone. Replacing a row therefore changes the shard
    of one teacher; removing one would shift the others, so the split is for ``"replace"`` only.
    """
    if n_rows < n_teachers:
        raise ValueError(
            f"n_teachers={n_teachers} needs at least as many rows, but X has n_samples={n_rows}; "
            "lower n_teachers."
        )
    return np.random.default_rng(stream).permutation(np.arange(n_rows) % n_teachers)


def partition_owners(
    owners: ArrayLike, n_teachers: int, stream: np.random.SeedSequence
) -> Assignment:
    """Assign each row to a teacher by a keyed hash of its owner's id.

    The rank of an id among the others would not do: a changed id would shift all later owners.
    """
    n_owners, n_rows = len(set(listed(owners))), len(listed(owners))
    if n_owners < n_teachers:
        raise ValueError(
            f"n_teachers={n_teachers} needs at least as many owners, but owners has {n_owners} "
            f"different ones (n_samples={n_rows}); lower n_teachers."
        )
    return np.concatenate(_teachers_of(owners, np.ones(n_rows, np.intp), n_teachers, stream))


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


def _teachers_of(
    owners: ArrayLike, copies: NDArray[np.intp], n_teachers: int, stream: np.random.SeedSequence
) -> list[list[int]]:
    """Return different teachers for each row, one a copy; rows of an owner have the same ones."""
    key = stream.generate_state(4).tobytes()
    teachers_of: dict[Any, list[int]] = {}
    kinds = set()
    for position, owner in enumerate(listed(owners)):
        if owner in teachers_of:
            continue
        kind, encoded = canonical(owner, position)
        kinds.add(kind)
        chosen: dict[int, None] = {}  # an ordered set
        attempt = 0
        while len(chosen) < copies[position]:
            digest = blake2b(encoded, digest_size=8, key=key, salt=attempt.to_bytes(16)).digest()
            chosen[int.from_bytes(digest, "big") % n_teachers] = None
            attempt += 1
        teachers_of[owner] = list(chosen)
    check_kinds(kinds)
    return [teachers_of[owner] for owner in listed(owners)]
