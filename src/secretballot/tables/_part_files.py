"""Parquet files of private parts: their paths, and the columns that all of them have."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from secretballot.tables._exchange import FIRST, LEVEL, OWNER, TEACHER

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns that an error lists.
_MOST_NAMED = 30


def list_files(paths: str | Path | Sequence[str | Path]) -> list[str]:
    if isinstance(paths, str | os.PathLike):
        path = Path(paths)
        files = [path]
        if path.is_dir():
            files = sorted(file for file in path.glob("*.parquet") if file.name[0] not in "._")
    else:
        files = [Path(path) for path in paths]
    missing = [str(file) for file in files if not file.is_file()]
    if missing or not files:
        raise ValueError(
            (f"paths: {missing[0]!r} is no file." if missing else f"paths={paths!r} has no parts.")
            + " Give Parquet files, or a folder of them (*.parquet)."
        )
    counts = Counter(map(os.path.realpath, files))
    twice, n_times = counts.most_common(1)[0]
    if n_times > 1:
        raise ValueError(f"paths names {twice!r} twice: its rows would count twice.")
    return [os.path.abspath(file) for file in files]


def shared_types(paths: list[str], needed: Sequence[str]) -> tuple[dict[str, pa.DataType], int]:
    """Return the columns of all parts with their types, and the number of rows; refuse others."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Before pandas makes one, pyarrow reads periods and intervals as numbers.
    pa.array(pd.PeriodIndex([], freq="D").array)
    types: dict[str, pa.DataType] = {}
    n_rows = 0
    for index, path in enumerate(paths):
        part = f"part {index} ({os.path.basename(path)!r})"
        try:
            with pq.ParquetFile(path) as file:
                schema: pa.Schema = file.schema_arrow
                n_rows += file.metadata.num_rows
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{part} is no Parquet file that can be read ({type(error).__name__})."
            ) from None
        names = list(schema.names)
        for name in needed:
            if name not in names:
                more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
                raise ValueError(
                    f"{part} lacks the column {name!r}; it has {names[:_MOST_NAMED]!r}{more}."
                )
        for name, n_times in Counter(names).items():
            if n_times > 1:
                raise ValueError(f"{part} has {n_times} columns {name!r}: rename them.")
        if types and set(types) != set(names):
            other = sorted(set(types) ^ set(names))[0]
            raise ValueError(
                f"{part} has other columns than part 0: {other!r} is in one of them only."
            )
        _merge_types(types, schema, part)
    for name in {OWNER, LEVEL, TEACHER, FIRST} & set(types):
        raise ValueError(f"{name!r} is the name of a column; rename it.")
    return types, n_rows


def _merge_types(types: dict[str, pa.DataType], schema: pa.Schema, part: str) -> None:
    import pyarrow as pa

    for field in schema:
        is_coded = pa.types.is_dictionary(field.type)
        kind = field.type.value_type if is_coded else field.type
        so_far = types.setdefault(field.name, kind)
        if kind == so_far:
            continue
        pair = [pa.schema([(field.name, type_)]) for type_ in (so_far, kind)]
        try:
            types[field.name] = pa.unify_schemas(pair, promote_options="permissive").types[0]
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            raise ValueError(
                f"{part} has the column {field.name!r} of another type than parts before it: "
                f"{kind} instead of {so_far}. Write all parts with one type."
            ) from None
