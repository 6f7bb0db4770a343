"""Owner ids of a batch of a part, hashed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from secretballot._owner_hash import hash_integers, hash_packed
from secretballot._owners import MISSING_IDS, Owners
from secretballot.distributed._tasks import PartError

if TYPE_CHECKING:
    import pyarrow as pa

_MISSING = (
    "the column of owners has missing ids, or texts that stand for one: all such rows would be of "
    "one owner. Leave rows without an id out."
)


def hash_column(column: pa.Array, key: bytes) -> tuple[str, NDArray[np.uint64]]:
    """Return the kind of the owner ids of a column, and the hash of each row's.

    They are those of `Owners.hashes`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        raise PartError(_MISSING)
    kind = column.type
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return "integer", hash_integers(column.to_numpy().astype(np.int64), key)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        plain = pc.utf8_lower(pc.utf8_trim_whitespace(column))
        if pc.any(pc.is_in(plain, pa.array(sorted(MISSING_IDS), type=plain.type))).as_py():
            raise PartError(_MISSING)
        return "string", _hash_text_column(column, key)
    values: list[Any] = column.to_pylist()
    try:
        owners = Owners.read(values, len(values))
    except ValueError:
        raise PartError(
            f"the column of owners ({kind}) has ids that are missing, or neither texts nor whole "
            "numbers."
        ) from None
    return owners.kind, owners.hashes(key)[owners.of_row]


def _hash_text_column(column: pa.Array, key: bytes) -> NDArray[np.uint64]:
    import pyarrow as pa

    texts = column.cast(pa.large_binary())
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return hash_packed(b"" if data is None else data, places, key)
