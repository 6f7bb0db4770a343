"""Cells and tables for people, as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

WITHHELD = "withheld"


def text_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return aligned columns, with a line under the headings."""
    shown, *cells = [[visible(cell) for cell in row] for row in [headings, *rows]]
    widths = [max(len(row[i]) for row in [shown, *cells]) for i in range(len(headings))]
    lines = [shown, ["-" * width for width in widths], *cells]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def visible(text: str) -> str:
    """Return text on one line, with escapes for what would act instead of being read.

    What a ledger holds was written by others, and so were names of files: none of it may move the
    cursor, begin a line, change the direction of reading, or fail to be printed. (Controls, marks
    of direction and lone surrogates are what Python calls not printable.)
    """
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


def percent(share: float | None) -> str:
    """Return a share for a table, or that it is withheld; next to none, or to all, is not it."""
    if share is None:
        return WITHHELD
    if 0 < share < 0.0005:
        return "<0.1%"
    return ">99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"


def plain_number(value: float | str) -> float | str:
    """Return a number that every reader of JSON knows; ``float`` turns it back, if it was one."""
    return value if isinstance(value, str) or math.isfinite(value) else str(value)


def order_text(order: float | str) -> str:
    """Return the order of a budget for a table."""
    return order if order == "gaussian" else f"{float(order):.4g}"


def mechanism_text(description: Any) -> str:
    """Return the public parameters of a mechanism on one line."""
    if not isinstance(description, dict):
        return str(description)
    parameters = dict(description)
    name = parameters.pop("mechanism", None) or parameters.pop("event", "?")
    return f"{name}({', '.join(f'{key}={_short(value)}' for key, value in parameters.items())})"


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        if "mechanism" in value:
            return mechanism_text(value)
        return f"{{{', '.join(f'{key}: {_short(each)}' for key, each in value.items())}}}"
    return repr(value)
