"""Tables that are right, to be mutated, and how a reader uses what comes of them."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse
from tests.attacks._mutations import mutated_bytes, mutated_words

from secretballot.parties._stream import MessageError
from secretballot.parties._table import decode_table, encode_table

try:
    import polars as pl
except ImportError:  # readers can do without it
    pl = None

#: The longest message.
MOST = 2**16
FRAME = pd.DataFrame(
    {
        "number": [1.5, np.nan, -0.0, 2],
        "small": np.array([1, 2, 3, 4], np.int8),
        "maybe": pd.array([True, None, False, True], dtype="boolean"),
        "count": pd.array([1, None, 2**53 + 1, 3], dtype="Int64"),
        "text": ["a", None, "żółć 𝄞", ""],
        "object": pd.Series(["a", None, np.nan, "b"], dtype=object),
        "kind": pd.Categorical(["b", None, "a", "b"], categories=["b", "a", "c"], ordered=True),
        "when": pd.to_datetime(["2020-01-01", None, "1950-02-03", "2020-01-01"]),
        "where": pd.to_datetime(["2020-01-01"] * 4).tz_localize("Europe/Warsaw"),
        7: pd.to_timedelta([1, 2, 3, None], unit="s"),
    }
)
TABLES = [
    FRAME,
    FRAME[["kind"]],
    FRAME[["text", "object"]],
    np.arange(12.0).reshape(4, 3),
    np.array([[True], [False]]),
    np.array([["a", ""], ["żółć", "𝄞"]]),
    np.array([["a", None], [np.nan, "b"]], dtype=object),
    ["one", "two", ""],
    csr_array(np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, 3]])),
]
if pl is not None:
    POLARS = pl.DataFrame(
        {
            "number": [1.5, None, -0.0, 2],
            "small": pl.Series([1, 2, None, 4], dtype=pl.Int8),
            "maybe": [True, None, False, True],
            "text": ["a", None, "żółć 𝄞", ""],
            "kind": pl.Series(["a", "b", None, "a"], dtype=pl.Enum(["b", "a", "c"])),
            "learnt": pl.Series(["a", "b", None, "a"], dtype=pl.Categorical),
            "where": pl.Series(FRAME["when"].to_numpy()).dt.replace_time_zone("Europe/Warsaw"),
            "long": pl.Series(FRAME[7].to_numpy()),
        }
    )
    TABLES += [POLARS, POLARS[["where"]]]
SENT = [encode_table(table) for table in TABLES]


def hostile_table(rng):
    """Fields and bytes of a table that somebody else wrote."""
    fields, body = SENT[rng.integers(0, len(SENT))]
    which = rng.integers(0, 4)
    if which != 0:
        body = mutated_bytes(rng, body, [other for _, other in SENT])
    if which == 0 or which == 3:
        fields = mutated_words(rng, fields)
    return fields, body


def read(fields, body):
    """Read a table, and look at every cell of it; None if it is refused."""
    try:
        table = decode_table(fields, body, MOST)
    except MessageError:
        return None
    size = _size(table)
    assert size <= 2 * MOST + 2**14, f"{size} bytes of {len(body)}"
    return table


def _size(table):
    """Bytes of a table; every cell of it is looked at."""
    if pl is not None and isinstance(table, pl.DataFrame):
        table.to_arrow()
        str(table)
        with suppress(ValueError, OverflowError):  # years that Python does not have
            table.rows()
        return table.estimated_size()
    if isinstance(table, pd.DataFrame):
        for at in range(table.shape[1]):  # names may be the same
            table.iloc[:, at].astype(str).tolist()
        return table.memory_usage(deep=True, index=False).sum()
    if isinstance(table, list):
        return sum(map(len, table)) * 4 + 8 * len(table)
    if issparse(table):
        table.sum(axis=1)
        return table.data.nbytes + table.indices.nbytes + table.indptr.nbytes
    str(table.tolist())
    return table.nbytes
