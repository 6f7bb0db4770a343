"""Ids of owners: checks, and a canonical form of equal ids."""

from __future__ import annotations

from collections.abc import Sequence, Set
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._errors import NOT_FOR_PUBLICATION, PrivacyLeakWarning, warn
from secretballot._sklearn_compat import _num_samples

#: Texts that stand for a missing id, without regard to case.
_MISSING = frozenset({"", "nan", "none", "null", "nat", "<na>"})


def check_owners(owners: ArrayLike, n_rows: int) -> None:
    """Check that there is one id for each row; `canonical` checks the ids."""
    if isinstance(owners, str | bytes) or not hasattr(owners, "__len__"):
        raise ValueError(
            f"owners={owners!r} is no list; give one owner id per row. {NOT_FOR_PUBLICATION}"
        )
    if _num_samples(owners) != n_rows:
        raise ValueError(
            f"owners has {_num_samples(owners)} entries, but X has {n_rows} rows; give one owner "
            "id per row."
        )
    shape = np.asarray(owners, dtype=object).shape
    if len(shape) != 1:
        raise ValueError(f"owners has shape {shape}; give one owner id per row.")


def number_owners(owners: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    """Check owner ids and number the owner of each row, in the order of their first rows."""
    check_owners(owners, n_rows)
    ids = [canonical(owner, row) for row, owner in enumerate(listed(owners))]
    check_kinds({kind for kind, _ in ids})
    _warn_of_like(ids)
    numbers: dict[tuple[str, bytes], int] = {}
    return np.array([numbers.setdefault(id_, len(numbers)) for id_ in ids], dtype=np.intp)


def listed(owners: ArrayLike) -> list[object]:
    """Convert owner ids to a list."""
    # NumPy would convert a list of mixed types to strings.
    return np.asarray(owners, dtype=None if hasattr(owners, "dtype") else object).tolist()


def canonical(owner: object, position: int) -> tuple[str, bytes]:
    """Return the kind and the bytes of an id, equal for equal ids."""
    if not isinstance(owner, Integral | np.bool_) and _text(owner) in _MISSING:
        raise ValueError(
            f"owners[{position}] is missing, or a text that stands for a missing id: all such rows "
            "would be of one owner. Leave rows without an id out, of X and y too. "
            f"{NOT_FOR_PUBLICATION}"
        )
    if isinstance(owner, str):
        # A lone surrogate has no encoding, but may be in an id read from a damaged file.
        return "string", owner.encode("utf-8", "surrogatepass")
    if isinstance(owner, bytes):
        return "bytes", owner
    if isinstance(owner, Integral | np.bool_):
        return "integer", str(int(owner)).encode()
    if isinstance(owner, Real) and float(owner).is_integer():
        # Conversions of data frames turn integer columns to floats.
        return "integer", str(int(owner)).encode()  # type: ignore[call-overload]
    raise ValueError(
        f"owners[{position}] is not an owner id ({type(owner).__name__}): give strings, bytes or "
        f"whole numbers. {NOT_FOR_PUBLICATION}"
    )


def _text(owner: object) -> str:
    """Return an id without what differs by mistake: case, and spaces at its ends."""
    text = owner.decode("utf-8", "surrogateescape") if isinstance(owner, bytes) else str(owner)
    return text.strip().casefold()


def _warn_of_like(ids: Sequence[tuple[str, bytes]]) -> None:
    """Warn if ids differ in case or outer spaces alone, as those of one person may."""
    if not ids or ids[0][0] == "integer":
        return
    rows: dict[str, int] = {}
    for id_, row in {id_: row for row, id_ in enumerate(ids)}.items():
        if (other := rows.setdefault(_text(id_[1]), row)) != row:
            warn(
                f"owners[{other}] and owners[{row}] differ in case or in spaces at their ends "
                "alone, and count as two owners. If they are one person, it is protected less "
                "than was stated: give ids in one form, such as owners.str.strip() and "
                f".str.casefold(). {NOT_FOR_PUBLICATION}",
                PrivacyLeakWarning,
            )
            return


def check_kinds(kinds: Set[str]) -> None:
    """Refuse ids of several kinds, as one owner may have two of them."""
    if len(kinds) > 1:
        raise ValueError(
            f"owners mixes ids of kinds {sorted(kinds)}: the same owner could be counted as two. "
            f"Give all ids as strings, or all as integers. {NOT_FOR_PUBLICATION}"
        )
