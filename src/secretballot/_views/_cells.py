"""Cells of a table that are more than text: bars, shades, keys of colours."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from secretballot._tables import percent, visible
from secretballot._views._escape import html_text

#: How many letters long a bar is in text, and what its kinds are drawn with.
_LETTERS = 20
_DRAWN = {"spent": "=", "this": "#", "": "."}

#: What is aligned to the right: numbers, with what may stand in their place.
#: (No digit can be read in two ways, or a long text of digits would take for ever.)
_NUMBER = re.compile(
    r"|[<>]?[-+]?(\d[\d,]*(\.\d*)?|\.\d+)(e[-+]?\d+)?\s?%?|-?inf|nan|-|\?|withheld"
)


@dataclass(frozen=True)
class Segment:
    """A part of a bar.

    Attributes
    ----------
    kind : {"spent", "this", ""}
        Its colour: what is there, what is meant, or what is empty.
    share : float
        Of the whole bar.
    name : str
        What it stands for; an empty name is not read out.
    """

    kind: str
    share: float
    name: str = ""


@dataclass(frozen=True)
class Bar:
    """A bar between 0 and 1. Its numbers stand beside it: it never says anything alone."""

    segments: tuple[Segment, ...]

    @classmethod
    def of(cls, share: float, name: str = "") -> Bar:
        """Return a bar that is filled up to `share`."""
        return cls((Segment("this", share, name),))

    @classmethod
    def between(cls, low: float, high: float) -> Bar:
        """Return a bar of an interval."""
        return cls((Segment("", low), Segment("this", high - low)))

    @property
    def text(self) -> str:
        """The bar in letters."""
        ends, drawn = 0.0, ""
        for segment in self.segments:
            ends += _within(segment.share)
            n_letters = min(round(ends * _LETTERS), _LETTERS) - len(drawn)
            if not n_letters and segment.kind and segment.share > 0 and len(drawn) < _LETTERS:
                n_letters = 1  # what is little is not nothing
            drawn += _DRAWN[segment.kind] * n_letters
        return f"[{drawn.ljust(_LETTERS, _DRAWN[''])}]"

    @property
    def html(self) -> str:
        """The bar in colours, with a text for who doesn't see them."""
        named = [each for each in self.segments if each.name]
        said = ", ".join(f"{percent(_within(each.share))} {each.name}" for each in named)
        spoken = f' role="img" aria-label="{html_text(said)}"' if said else ' aria-hidden="true"'
        drawn = "".join(
            f'<span class="sb-{each.kind or "empty"}" '
            f'style="width:{100 * _within(each.share):.2f}%"></span>'
            for each in self.segments
        )
        return f'<div class="sb-bar"{spoken}>{drawn}</div>'


@dataclass(frozen=True)
class Shade:
    """A number on a ground that is the darker the larger its share."""

    text: str
    share: float

    @property
    def html(self) -> str:
        """The number on its ground."""
        # The accent of bars, in parts: squared, because what is nearly sure should stand out.
        ground = f"rgba(100,149,237,{0.5 * _within(self.share) ** 2:.2f})"
        return f'<span class="sb-shade" style="background:{ground}">{html_text(self.text)}</span>'


@dataclass(frozen=True)
class Key:
    """A heading with the colour of the segments that it is about."""

    text: str
    kind: str

    @property
    def html(self) -> str:
        """The heading with a small square."""
        return f'<span class="sb-key sb-{self.kind or "empty"}"></span>{html_text(self.text)}'


Cell = str | Bar | Shade | Key


def cell_text(cell: Cell) -> str:
    """Return a cell as text on one line."""
    if isinstance(cell, Key):
        return f"{visible(cell.text)} {_DRAWN[cell.kind]}"
    return visible(cell if isinstance(cell, str) else cell.text)


def cell_html(cell: Cell) -> str:
    """Return a cell as HTML, escaped."""
    return html_text(cell) if isinstance(cell, str) else cell.html


def is_number(cell: Cell) -> bool:
    """Whether a cell belongs to the right of its column."""
    match: Callable[[str], object] = _NUMBER.fullmatch
    return isinstance(cell, Shade) or (isinstance(cell, str) and match(cell) is not None)


def _within(share: float) -> float:
    return min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
