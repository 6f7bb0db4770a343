"""Columns as Arrow's stream format, and the checks of a stream from a stranger.

The format can hold more than was sent: compressed buffers, columns of nothing, run lengths. Only
columns whose memory is in the stream itself are read.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from secretballot.transport import MessageError

#: Bytes of a cell that is a number, and of one that is a text, beside its characters.
_NUMBER, _TEXT = 8, 96
#: Bytes that a character takes at most, and a column beside its cells.
_CHARACTER, _COLUMN = 4, 4_096
#: Bytes that a byte of names and tags takes at most: a tag may list categories, as JSON.
_DESCRIBED = 32
#: Decoded tables may take this multiple of the longest message.
MOST_DECODED = 2

#: Positions of fields in Arrow's flatbuffers.
_HEADER, _BATCH_OF_DICTIONARY, _COMPRESSION = 2, 1, 3


def load_arrow() -> ModuleType:
    """Return the library; ImportError names the extra that installs it."""
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError as error:
        raise ImportError(
            "Tables with texts or named columns need pyarrow: pip install 'secretballot[remote]'."
        ) from error
    module: ModuleType = pyarrow
    return module


def encode(columns: Mapping[str, Any], tags: Mapping[str, str]) -> memoryview:
    """Return columns as bytes.

    Parameters
    ----------
    columns : dict of str to pyarrow.Array
    tags : dict of str to str
        What each column is where it came from.
    """
    arrow = load_arrow()
    fields = [
        arrow.field(name, column.type, metadata={"tag": tags[name]})
        for name, column in columns.items()
    ]
    batch = arrow.record_batch(list(columns.values()), schema=arrow.schema(fields))
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return memoryview(sink.getvalue())


def decode(body: Any, max_bytes: int) -> list[tuple[str, str, Any]]:
    """Return the name, tag and array of each column.

    Parameters
    ----------
    body : bytes-like
    max_bytes : int
        The longest message; a table may take twice of it in memory.

    Raises
    ------
    MessageError
    """
    arrow = load_arrow()
    try:
        _check_messages(arrow, body, max_bytes)
        (batch,) = arrow.ipc.open_stream(arrow.py_buffer(body))
        for field in batch.schema:
            if not _is_plain(arrow, field.type):
                raise MessageError(f"a column is of type {str(field.type)[:40]!r}")
        batch.validate(full=True)
        check_decoded(sum(map(_decoded_size, batch.columns)), max_bytes)
        return [
            (field.name, (field.metadata or {})[b"tag"].decode(), column)
            for field, column in zip(batch.schema, batch.columns, strict=True)
        ]
    except MessageError:
        raise
    except (arrow.ArrowException, ValueError, KeyError, TypeError, OSError, struct.error) as error:
        raise MessageError(f"what came is no table ({type(error).__name__})") from None


def check_decoded(size: int, max_bytes: int) -> None:
    """Refuse a table that takes much more memory than its message."""
    if size > MOST_DECODED * max_bytes:
        raise MessageError(
            f"a table takes {size:,} bytes of memory, and {MOST_DECODED * max_bytes:,} are allowed"
        )


def text_size(n_cells: int, n_bytes: int) -> int:
    """Return the most memory of texts, from their number and their length in UTF-8."""
    return _TEXT * n_cells + _CHARACTER * n_bytes


def _decoded_size(column: Any) -> int:
    if hasattr(column, "dictionary"):
        return _COLUMN + _NUMBER * len(column) + _decoded_size(column.dictionary)
    per_cell = text_size(len(column), column.nbytes) if _is_text(column) else _NUMBER * len(column)
    return _COLUMN + per_cell


def _is_text(column: Any) -> bool:
    return bool(load_arrow().types.is_large_string(column.type))


def _is_plain(arrow: ModuleType, kind: Any) -> bool:
    """Return whether a type is of numbers, booleans, texts, times or categories."""
    of = arrow.types
    if of.is_dictionary(kind):
        kind = kind.value_type
        return not of.is_dictionary(kind) and _is_plain(arrow, kind)
    return any(
        is_kind(kind)
        for is_kind in (
            of.is_boolean,
            of.is_integer,
            of.is_floating,
            of.is_large_string,
            of.is_timestamp,
            of.is_duration,
        )
    )


def _check_messages(arrow: ModuleType, body: Any, max_bytes: int) -> None:
    """Refuse more than one batch, compressed ones, and long schemas: they become much more."""
    kinds = []
    for message in arrow.ipc.MessageReader.open_stream(arrow.py_buffer(body)):
        kinds.append(message.type)
        if message.type == "schema":
            check_decoded(_DESCRIBED * message.metadata.size, max_bytes)
        if message.type != "schema" and _is_compressed(message.metadata, message.type):
            raise MessageError("a table is compressed")
    n_dictionaries = len(kinds) - 2
    if kinds != ["schema", *["dictionary"] * n_dictionaries, "record batch"]:
        raise MessageError("a table has another number of parts than one")


def _is_compressed(metadata: Any, kind: str) -> bool:
    """Return whether the flatbuffer of a batch names a compression; pyarrow does not tell."""
    view = memoryview(metadata)

    def follow(at: int) -> int:
        return at + int(struct.unpack_from("<I", view, at)[0])

    def field(table: int, index: int) -> int:
        """Return where a field of a table is; 0 if it has none."""
        vtable = table - struct.unpack_from("<i", view, table)[0]
        (size,) = struct.unpack_from("<H", view, vtable)
        if 4 + 2 * index >= size:
            return 0
        (offset,) = struct.unpack_from("<H", view, vtable + 4 + 2 * index)
        return table + offset if offset else 0

    batch = follow(field(follow(0), _HEADER))
    if kind == "dictionary":
        batch = follow(field(batch, _BATCH_OF_DICTIONARY))
    return field(batch, _COMPRESSION) != 0
