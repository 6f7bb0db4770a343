"""What a view is made of. Each part can be text and HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from secretballot._tables import text_table, visible
from secretballot._views._cells import Cell, Key, cell_html, cell_text, is_number
from secretballot._views._escape import html_text

_WIDTH = 79

#: Text that is longer may be broken in a cell of HTML.
_LONG = 40


@dataclass(frozen=True)
class Prose:
    """A paragraph, or several lines of one.

    Attributes
    ----------
    lines : tuple of str
    wrapped : bool
        Whether text is broken into lines of 79 letters.
    quiet : bool
        Whether it is less important than the rest.
    """

    lines: tuple[str, ...]
    wrapped: bool = False
    quiet: bool = False

    @classmethod
    def of(cls, *lines: str, wrapped: bool = False, quiet: bool = False) -> Prose:
        """Return the paragraph of these lines."""
        return cls(lines, wrapped, quiet)

    @property
    def text(self) -> str:
        """The lines."""
        shown = map(visible, self.lines)
        return "\n".join(textwrap.fill(each, _WIDTH) if self.wrapped else each for each in shown)

    @property
    def html(self) -> str:
        """The paragraph."""
        kind = ' class="sb-quiet"' if self.quiet else ""
        return f"<p{kind}>{'<br>'.join(map(html_text, self.lines))}</p>"


@dataclass(frozen=True)
class Heading:
    """What the next parts are about."""

    title: str

    @property
    def text(self) -> str:
        """The title in capitals."""
        return visible(self.title).upper()

    @property
    def html(self) -> str:
        """The title of a section."""
        return f"<h3>{html_text(self.title)}</h3>"


@dataclass(frozen=True)
class Items:
    """Sentences, one below the other."""

    sentences: tuple[str, ...]
    wrapped: bool = False

    @property
    def text(self) -> str:
        """A line, or several, for each sentence."""
        shown = [f"- {visible(each)}" for each in self.sentences]
        if self.wrapped:
            shown = [textwrap.fill(each, _WIDTH, subsequent_indent="  ") for each in shown]
        return "\n".join(shown)

    @property
    def html(self) -> str:
        """A list."""
        return f"<ul>{''.join(f'<li>{html_text(each)}</li>' for each in self.sentences)}</ul>"


@dataclass(frozen=True)
class Table:
    """Cells below headings, or beside them where the table has no headings.

    Attributes
    ----------
    headings : sequence of str or Key
        Empty for facts: rows of a name and what it is.
    rows : sequence of sequences of cells
    folded : str
        What HTML shows in place of a table that is only seen when it is asked for; text leaves it
        out.
    """

    headings: Sequence[str | Key]
    rows: Sequence[Sequence[Cell]]
    folded: str = ""

    @property
    def text(self) -> str:
        """Aligned columns."""
        if self.folded:
            return ""
        cells = [[cell_text(cell) for cell in row] for row in self.rows]
        if self.headings:
            return text_table([cell_text(each) for each in self.headings], cells)
        width = max((len(name) for name, *_ in cells), default=0)
        return "\n".join(
            f"{name.ljust(width)}  {'  '.join(rest)}".rstrip() for name, *rest in cells
        )

    @property
    def html(self) -> str:
        """A table whose numbers are aligned to the right."""
        n_columns = max(map(len, self.rows), default=len(self.headings))
        aligned = [
            bool(self.headings) and all(is_number(row[at]) for row in self.rows if at < len(row))
            for at in range(max(n_columns, len(self.headings)))
        ]
        kinds = [' class="sb-number"' if right else "" for right in aligned]
        head = "".join(
            f'<th scope="col"{kind}>{cell_html(heading)}</th>'
            for heading, kind in zip(self.headings, kinds, strict=False)
        )
        body = "".join(f"<tr>{''.join(self._cells(row, kinds))}</tr>" for row in self.rows)
        above = f"<thead><tr>{head}</tr></thead>" if self.headings else ""
        table = f"<table>{above}<tbody>{body}</tbody></table>"
        if self.folded:
            return f"<details><summary>{html_text(self.folded)}</summary>{table}</details>"
        return table

    def _cells(self, row: Sequence[Cell], kinds: Sequence[str]) -> Iterable[str]:
        for at, (cell, kind) in enumerate(zip(row, kinds, strict=False)):
            if isinstance(cell, str) and len(cell) > _LONG:
                kind = ' class="sb-long"'
            names = not self.headings and not at
            tag, more = ("th", ' scope="row"') if names else ("td", "")
            yield f"<{tag}{more}{kind}>{cell_html(cell)}</{tag}>"


Part = Prose | Heading | Items | Table


def facts(*rows: tuple[Cell, ...], folded: str = "") -> Table:
    """Return names with what they are, one below the other."""
    return Table((), rows, folded)
