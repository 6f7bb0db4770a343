"""Owner ids of a batch of a part, hashed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secretballot._base._owner_hash import hash_integers, hash_packed
from secretballot.tables._owners import MISSING_IDS, MOST_CHARACTERS, Owners, plain_text
from secretballot.tables._tasks import PartError

if TYPE_CHECKING:
    import pyarrow as pa

_MISSING = (
    "the column of owners has missing ids, or texts that stand for one: all such rows would be of "
    "one owner. Leave rows without an id out."
)
_LONG = (
    f"the column of owners has texts of more than {MOST_CHARACTERS:,} characters, which are no "
    "ids. Name the column of ids."
)

#: Forms of ids, which are functions of their plain texts: different ids of one form have different
#: plain texts.
ID_FORMS = ("lower", "upper")


class HashedOwners(NamedTuple):
    """Owners of the rows of a batch."""

    kind: str
    hashes: NDArray[np.uint64]  # of each row's owner, as of `Owners.hashes`
    forms: frozenset[str] = frozenset(ID_FORMS)  # that all ids have


def hash_column(column: pa.Array, key: bytes) -> HashedOwners:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        raise PartError(_MISSING)
    kind = column.type
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return HashedOwners("integer", hash_integers(column.to_numpy().astype(np.int64), key))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        if pc.any(pc.greater(pc.utf8_length(column), MOST_CHARACTERS)).as_py():
            raise PartError(_LONG)
        plain = plain_texts(column)
        if pc.any(pc.is_in(plain, pa.array(sorted(MISSING_IDS), type=plain.type))).as_py():
            raise PartError(_MISSING)
        return HashedOwners("string", _hash_text_column(column, key), _forms(column, plain))
    # Short floats stay what they are: whole numbers are exact in fewer of them.
    is_float = pa.types.is_floating(kind)
    values: Any = column.to_numpy(zero_copy_only=False) if is_float else column.to_pylist()
    try:
        owners = Owners.read(values, len(values))
    except ValueError:
        raise PartError(
            f"the column of owners ({kind}) has ids that are missing, neither texts nor whole "
            f"numbers, of more than {MOST_CHARACTERS:,} characters, or floats too large to be "
            "exact."
        ) from None
    hashes = owners.hashes(key)[owners.of_row]
    if owners.kind == "integer":
        return HashedOwners(owners.kind, hashes)
    # Texts of unusual types, and bytes.
    is_lower = plain_texts(column).to_pylist() == values
    return HashedOwners(owners.kind, hashes, frozenset({"lower"} if is_lower else ()))


def plain_texts(column: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        plain = pc.utf8_lower(pc.utf8_trim_whitespace(column))
        others = pc.invert(pc.string_is_ascii(column))
        texts = [plain_text(id_) for id_ in column.filter(others).to_pylist()]
        return pc.replace_with_mask(plain, others, pa.array(texts, column.type))
    pairs = ((id_, plain_text(id_)) for id_ in column.to_pylist())
    return pa.array(
        [
            text if isinstance(id_, str) else text.encode("utf-8", "surrogateescape")
            for id_, text in pairs
        ]
    )


def _forms(column: pa.Array, plain: pa.Array) -> frozenset[str]:
    import pyarrow.compute as pc

    changed = {"lower": plain, "upper": pc.ascii_upper(plain)}
    return frozenset(
        form for form, texts in changed.items() if pc.all(pc.equal(column, texts)).as_py()
    )


def _hash_text_column(column: pa.Array, key: bytes) -> NDArray[np.uint64]:
    import pyarrow as pa

    texts = column.cast(pa.large_binary())
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return hash_packed(b"" if data is None else data, places, key)
