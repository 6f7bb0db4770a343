"""Which teacher sees which private rows."""

from __future__ import annotations

from hashlib import blake2b
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._sklearn_compat import _num_samples

Assignment = NDArray[np.intp]


def partition_rows(n_rows: int, n_teachers: int, stream: np.random.SeedSequence) -> Assignment:
    """Teacher of each row, by position: a seeded permutation into shards of equal size.

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
    owners: Any, n_rows: int, n_teachers: int, stream: np.random.SeedSequence
) -> Assignment:
    """Teacher of each row, by a keyed hash of the id of its owner.

    Never by the rank of the id among the others: a changed id would then shift all later owners.
    """
    if _num_samples(owners) != n_rows:
        raise ValueError(
            f"owners has {_num_samples(owners)} entries, but X has {n_rows} rows; give one owner "
            "id per row."
        )
    ids = np.asarray(owners)
    if ids.ndim != 1:
        raise ValueError(f"owners has shape {ids.shape}; give one owner id per row.")
    # Through object: a list that mixes types would else be made strings by NumPy.
    listed = ids.tolist() if hasattr(owners, "dtype") else list(owners)
    key = stream.generate_state(4).tobytes()
    teacher_of: dict[Any, int] = {}
    kinds = set()
    for position, owner in enumerate(listed):
        if owner in teacher_of:
            continue
        kind, encoded = _canonical(owner, position)
        kinds.add(kind)
        digest = blake2b(encoded, digest_size=8, key=key).digest()
        teacher_of[owner] = int.from_bytes(digest, "big") % n_teachers
    if len(kinds) > 1:
        raise ValueError(
            f"owners mixes ids of kinds {sorted(kinds)}: the same owner could be counted as two. "
            "Give all ids as strings, or all as integers."
        )
    if len(teacher_of) < n_teachers:
        raise ValueError(
            f"n_teachers={n_teachers} needs at least as many owners, but owners has "
            f"{len(teacher_of)} different ones (n_samples={n_rows}); lower n_teachers."
        )
    return np.array([teacher_of[owner] for owner in listed], dtype=np.intp)


def _canonical(owner: Any, position: int) -> tuple[str, bytes]:
    """Kind and bytes of an id; the same for all ids that are equal."""
    if isinstance(owner, str):
        # A lone surrogate has no encoding, but may be in an id read from a damaged file.
        return "string", owner.encode("utf-8", "surrogatepass")
    if isinstance(owner, bytes):
        return "bytes", owner
    if isinstance(owner, Integral | np.bool_):
        return "integer", str(int(owner)).encode()
    if isinstance(owner, Real) and float(owner).is_integer():
        # An integer column of a data frame becomes float in many a conversion.
        return "integer", str(int(owner)).encode()
    raise ValueError(
        f"owners[{position}]={owner!r} is not an owner id: give strings, bytes or integers, and "
        "one for every row (a row without an owner needs an id of its own)."
    )


def shards(assignment: Assignment, n_teachers: int) -> list[NDArray[np.intp]]:
    """Positions of each teacher's rows, ascending; empty where it has none."""
    order = np.argsort(assignment, kind="stable")
    ends = np.cumsum(np.bincount(assignment, minlength=n_teachers))
    return np.split(order, ends[:-1])
