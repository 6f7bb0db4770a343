"""Text of cells and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

WITHHELD = "withheld"


def text_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Align columns, with a line under the headings."""
    shown, *cells = [[visible(cell) for cell in row] for row in [headings, *rows]]
    widths = [max(len(row[i]) for row in [shown, *cells]) for i in range(len(headings))]
    lines = [shown, ["-" * width for width in widths], *cells]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def visible(text: str) -> str:
    """Escape unprintable letters of a text: controls, marks of direction, surrogates.

    Others wrote the texts of ledgers and the names of files. None of them may move the cursor,
    begin a line, change the direction of reading, or fail to be printed.
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def percent(share: float | None) -> str:
    """Format a share for a table; None is withheld, and only 0 and 1 are shown as 0 % and 100 %."""
    if share is None:
        return WITHHELD
    if 0 < share < 0.0005:
        return "<0.1%"
    return ">99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"


def entry_count(number: int) -> str:
    """Format a number of ledger entries."""
    return "1 entry" if number == 1 else f"{number} entries"


def plain_number(value: float | str) -> float | str:
    """Convert an infinity or nan, which JSON lacks, to text that ``float`` reads."""
    return value if isinstance(value, str) or math.isfinite(value) else str(value)


def order_text(order: float | str) -> str:
    """Format the order of a budget for a table."""
    return order if order == "gaussian" else f"{float(order):.4g}"


def mechanism_text(description: object) -> str:
    """Format the public parameters of a mechanism on one line."""
    if not isinstance(description, dict):
        return str(description)
    parameters = dict(description)
    name = parameters.pop("mechanism", None) or parameters.pop("event", "?")
    return f"{name}({', '.join(f'{key}={_short(value)}' for key, value in parameters.items())})"


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        if "mechanism" in value:
            return mechanism_text(value)
        return f"{{{', '.join(f'{key}: {_short(entry)}' for key, entry in value.items())}}}"
    return repr(value)
