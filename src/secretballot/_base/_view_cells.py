"""Cells of a table: text, bars, shaded numbers, keys of colours."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from secretballot._base._tables import percent, visible

#: Length of a bar in text, and the letter of each kind of segment.
_LETTERS = 20
_LETTER_OF_KIND = {"spent": "=", "this": "#", "": "."}

#: Cells that are aligned to the right: numbers, and words in their place. (The pattern matches a
#: digit in one way only, so that a long text of digits takes no exponential time.)
_NUMBER = re.compile(
    r"|[<>]?[-+]?(\d[\d,]*(\.\d*)?|\.\d+)(e[-+]?\d+)?\s?%?|-?inf|nan|-|\?|withheld"
)


@dataclass(frozen=True)
class Segment:
    """Segment of a bar.

    Attributes
    ----------
    kind : {"spent", "this", ""}
        Colour: spent before, the subject of the bar, or empty.
    share : float
        Share of the bar.
    name : str
        Name for screen readers; empty for none.
    """

    kind: str
    share: float
    name: str = ""


@dataclass(frozen=True)
class Bar:
    """Bar between 0 and 1. The numbers stand beside it in the table."""

    segments: tuple[Segment, ...]

    @classmethod
    def of(cls, share: float, name: str = "") -> Bar:
        """Make a bar that is filled up to `share`."""
        return cls((Segment("this", share, name),))

    @classmethod
    def between(cls, low: float, high: float) -> Bar:
        """Make a bar of an interval."""
        return cls((Segment("", low), Segment("this", high - low)))

    @property
    def text(self) -> str:
        """The bar in letters."""
        end, letters = 0.0, ""
        for segment in self.segments:
            end += _within(segment.share)
            n_letters = min(round(end * _LETTERS), _LETTERS) - len(letters)
            if not n_letters and segment.kind and segment.share > 0 and len(letters) < _LETTERS:
                n_letters = 1  # a small share is visible
            letters += _LETTER_OF_KIND[segment.kind] * n_letters
        return f"[{letters.ljust(_LETTERS, _LETTER_OF_KIND[''])}]"

    @property
    def html(self) -> str:
        """The bar in colours, with a label for screen readers."""
        named = [segment for segment in self.segments if segment.name]
        label = ", ".join(f"{percent(_within(part.share))} {part.name}" for part in named)
        aria = f' role="img" aria-label="{html_text(label)}"' if label else ' aria-hidden="true"'
        spans = "".join(
            f'<span class="sb-{segment.kind or "empty"}" '
            f'style="width:{100 * _within(segment.share):.2f}%"></span>'
            for segment in self.segments
        )
        return f'<div class="sb-bar"{aria}>{spans}</div>'


@dataclass(frozen=True)
class Shade:
    """Number on a background that is darker for a larger share."""

    text: str
    share: float

    @property
    def html(self) -> str:
        """The number on its background."""
        # The colour of bars, transparent; squared, so that large shares stand out.
        ground = f"rgba(100,149,237,{0.5 * _within(self.share) ** 2:.2f})"
        return f'<span class="sb-shade" style="background:{ground}">{html_text(self.text)}</span>'


@dataclass(frozen=True)
class Key:
    """Heading with the colour of its segments."""

    text: str
    kind: str

    @property
    def html(self) -> str:
        """The heading with a small square."""
        return f'<span class="sb-key sb-{self.kind or "empty"}"></span>{html_text(self.text)}'


Cell = str | Bar | Shade | Key


def cell_text(cell: Cell) -> str:
    """Convert a cell to text on one line."""
    if isinstance(cell, Key):
        return f"{visible(cell.text)} {_LETTER_OF_KIND[cell.kind]}"
    return visible(cell if isinstance(cell, str) else cell.text)


def cell_html(cell: Cell) -> str:
    """Convert a cell to escaped HTML."""
    return html_text(cell) if isinstance(cell, str) else cell.html


def is_number(cell: Cell) -> bool:
    """Check for a number, which is aligned to the right."""
    match: Callable[[str], object] = _NUMBER.fullmatch
    return isinstance(cell, Shade) or (isinstance(cell, str) and match(cell) is not None)


def html_text(text: str) -> str:
    """Escape text for HTML, also within the quotes of an attribute."""
    return escape(visible(text), quote=True)


def _within(share: float) -> float:
    return min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
