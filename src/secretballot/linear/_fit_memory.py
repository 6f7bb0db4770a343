"""Memory of a fit of many columns, from public numbers alone."""

from __future__ import annotations

import math

from secretballot.linear._feature_maps import MOST_PUBLIC_ROWS
from secretballot.linear.features import stores_pairs
from secretballot.linear.rounds import N_SYNTHETIC

#: Bytes of each reference row for each pair of its entries, in either order. (Measured: 20 bytes at
#: the peak.)
_BYTES_PER_PAIR = 16
#: Largest memory of a fit, in bytes.
_MOST_MEMORY = 8 * 10**9


def too_many_columns(
    *, n_columns: int, n_entries: int, n_features: int, n_public: int, n_pairs: int
) -> str:
    """Describe why a fit of so many columns is refused; "" if it is not."""
    if not n_pairs and not stores_pairs(n_entries, n_features):
        return ""
    n_rows = min(n_public, MOST_PUBLIC_ROWS) + N_SYNTHETIC
    all_entries = n_entries + n_pairs
    memory = _BYTES_PER_PAIR * n_rows * all_entries**2
    if memory <= _MOST_MEMORY:
        return ""
    most_entries = math.isqrt(_MOST_MEMORY // (_BYTES_PER_PAIR * n_rows))
    most_columns = n_columns * most_entries // all_entries
    most_rows = _MOST_MEMORY // (_BYTES_PER_PAIR * all_entries**2) - N_SYNTHETIC
    fewer_rows = f", or at most {most_rows:,} public rows" if most_rows > 0 and n_public else ""
    return (
        f"{n_columns:,} columns are too many for a fit, which would take about "
        f"{memory / 1e9:,.0f} GB of memory ({_BYTES_PER_PAIR} bytes times {n_rows:,} reference "
        f"rows times the square of {all_entries:,} entries a row), and at most "
        f"{_MOST_MEMORY / 1e9:.0f} GB are taken. Nothing was released or spent. Use at most "
        f"{most_columns:,} columns: "
        f"columns=[...] names those to read{fewer_rows}."
    )
