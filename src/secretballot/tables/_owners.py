"""Ids of owners: checks, and a canonical form of equal ids."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Sequence, Set
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION, PrivacyLeakWarning, marked_errors, warn
from secretballot._base._owner_hash import hash_integers, hash_texts
from secretballot._base._sklearn_compat import _num_samples

#: Whole numbers of 64 bits are hashed as 8 bytes, all others as texts.
_LARGE = 2**63
#: Texts that stand for a missing id, without regard to case.
MISSING_IDS = frozenset(
    {"", "nan", "none", "null", "nat", "<na>", "na", "n/a", "unknown", "-", "--", "?"}
)
#: Most characters of an id: a text of a million takes half a minute to hash.
MOST_CHARACTERS = 1000
_TOO_LARGE = 10**MOST_CHARACTERS


#: What ids of one plain text differ in.
LIKE_IDS = "case, in spaces at their ends, or in forms of Unicode"
#: Marks that are not shown, and are no formats: a joiner, and variation selectors.
_HIDDEN = frozenset("\u034f") | frozenset(map(chr, range(0xFE00, 0xFE10)))


def one_column(name: str, values: Any) -> str:
    """Return the remedy for a table of one column that is to be a column; "" for other tables."""
    if np.shape(values)[1:] != (1,):
        return ""
    if hasattr(values, "columns"):
        return f": {name}[{next(iter(values.columns))!r}]"
    is_list = isinstance(values, list | tuple)
    return f": [row[0] for row in {name}]" if is_list else f": {name}.ravel()"


def check_owners(owners: ArrayLike, n_rows: int) -> None:
    if isinstance(owners, str):
        raise ValueError(
            "owners is a text, and no list; give one owner id per row, such as the column itself, "
            "owners=table['person']. Then leave it out of X, and of X_public."
        )
    if isinstance(owners, bytes) or not hasattr(owners, "__len__"):
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
        raise ValueError(
            f"owners has shape {shape}; give one owner id per row{one_column('owners', owners)}."
        )


@dataclass(frozen=True)
class Owners:
    """Owners of rows, numbered in the order of their first rows."""

    of_row: NDArray[np.intp]  # number of each row's owner
    kind: str  # "integer", "string" or "bytes"
    ids: list[bytes]

    @classmethod
    def read(cls, owners: ArrayLike, n_rows: int) -> Owners:
        check_owners(owners, n_rows)
        with marked_errors("owners"):
            # NumPy would convert a list of mixed types to strings.
            ids = np.asarray(owners, dtype=None if hasattr(owners, "dtype") else object)
            # Short floats stay what they are: whole numbers are exact in fewer of them.
            return cls._of_ids(list(ids) if ids.dtype.kind == "f" else ids.tolist())

    @classmethod
    def _of_ids(cls, owners: Sequence[object]) -> Owners:
        number_of: dict[object, int] = {}  # of each value
        numbers: dict[tuple[str, bytes], int] = {}  # of each id: 1 and 1.0 are equal ids
        of_row = np.empty(len(owners), dtype=np.intp)
        for row, owner in enumerate(owners):
            number = number_of.get(owner) if isinstance(owner, Hashable) else None
            if number is None:
                id_ = canonical(owner, row)
                number = number_of[owner] = numbers.setdefault(id_, len(numbers))
            of_row[row] = number
        kinds = {kind for kind, _ in numbers}
        check_kinds(kinds)
        kind, ids = min(kinds, default="integer"), [id_ for _, id_ in numbers]
        if kind != "integer":
            _warn_of_like(ids, of_row)
        return cls(of_row, kind, ids)

    def hashes(self, key: bytes) -> NDArray[np.uint64]:
        if self.kind != "integer":
            return hash_texts(self.ids, key)
        is_short = np.array([-_LARGE <= int(id_) < _LARGE for id_ in self.ids], dtype=bool)
        short = [int(id_) for id_, fits in zip(self.ids, is_short, strict=True) if fits]
        long = [id_ for id_, fits in zip(self.ids, is_short, strict=True) if not fits]
        hashes = np.empty(len(self.ids), dtype=np.uint64)
        hashes[is_short] = hash_integers(np.array(short, dtype=np.int64), key)
        hashes[~is_short] = hash_texts(long, key)
        return hashes


def canonical(owner: object, position: int) -> tuple[str, bytes]:
    """Return the kind and the bytes of an id, equal for equal ids."""
    if _is_long(owner):
        raise ValueError(
            f"owners[{position}] has more than {MOST_CHARACTERS:,} characters, and is no id: give "
            f"the column of ids. {NOT_FOR_PUBLICATION}"
        )
    if not isinstance(owner, Integral | np.bool_) and plain_text(owner) in MISSING_IDS:
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
        # From here on floats of this type leave out whole numbers.
        digits = np.finfo(type(owner)).nmant if isinstance(owner, np.floating) else 52
        if abs(float(owner)) >= 2.0 ** min(digits + 1, 53):
            raise ValueError(
                f"owners[{position}] is a float too large to be exact, as a missing id makes of "
                "a column of whole numbers: ids of several people may be equal. Read ids as texts "
                f"or whole numbers, and leave rows without an id out. {NOT_FOR_PUBLICATION}"
            )
        return "integer", str(int(owner)).encode()  # type: ignore[call-overload]
    raise ValueError(
        f"owners[{position}] is not an owner id ({type(owner).__name__}): give strings, bytes or "
        f"whole numbers. {NOT_FOR_PUBLICATION}"
    )


def _is_long(owner: object) -> bool:
    if isinstance(owner, Integral):
        return abs(int(owner)) >= _TOO_LARGE
    return isinstance(owner, str | bytes) and len(owner) > MOST_CHARACTERS


def plain_text(owner: object) -> str:
    """Return an id without what differs by mistake: case, spaces at its ends, forms of Unicode."""
    text = owner.decode("utf-8", "surrogateescape") if isinstance(owner, bytes) else str(owner)
    if text.isascii():
        return text.strip().casefold()
    letters = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    shown = (x for x in letters if unicodedata.category(x) != "Cf" and x not in _HIDDEN)
    return "".join(shown).strip()


def _warn_of_like(ids: Sequence[bytes], of_row: NDArray[np.intp]) -> None:
    numbers: dict[str, int] = {}
    for number, id_ in enumerate(ids):
        if (other := numbers.setdefault(plain_text(id_), number)) != number:
            rows = [
                int(np.flatnonzero(of_row == owner_number)[-1]) for owner_number in (other, number)
            ]
            warn(
                f"owners[{rows[0]}] and owners[{rows[1]}] differ in {LIKE_IDS} alone, and count as "
                "two owners. If they are one person, it is protected less than was stated: give "
                "ids in one form, such as owners.str.strip(), .str.casefold() and "
                f".str.normalize('NFKC'). {NOT_FOR_PUBLICATION}",
                PrivacyLeakWarning,
            )
            return


def check_kinds(kinds: Set[str]) -> None:
    if len(kinds) > 1:
        raise ValueError(
            f"owners mixes ids of kinds {sorted(kinds)}: the same owner could be counted as two. "
            f"Give all ids as strings, or all as integers. {NOT_FOR_PUBLICATION}"
        )
