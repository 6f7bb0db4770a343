"""Parts of a view, each as text and as HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from secretballot._base._tables import text_table, visible
from secretballot._base._view_cells import Cell, Key, cell_html, cell_text, html_text, is_number

_WIDTH = 79


def _filled(line: str, indent: str = "") -> str:
    """Break a line at its spaces; numbers such as 1e-05 stay whole."""
    return textwrap.fill(
        line,
        _WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


#: Cells of HTML with longer text may break lines.
_LONG = 40


@dataclass(frozen=True)
class Prose:
    """Paragraph of one or several lines.

    Attributes
    ----------
    lines : tuple of str
    wrapped : bool
        Break the text into lines of 79 letters.
    quiet : bool
        Show it as less important.
    """

    lines: tuple[str, ...]
    wrapped: bool = False
    quiet: bool = False

    @classmethod
    def of(cls, *lines: str, wrapped: bool = False, quiet: bool = False) -> Prose:
        """Make a paragraph of lines."""
        return cls(lines, wrapped, quiet)

    @property
    def text(self) -> str:
        """The lines."""
        lines = map(visible, self.lines)
        return "\n".join(_filled(line) if self.wrapped else line for line in lines)

    @property
    def html(self) -> str:
        """The paragraph."""
        kind = ' class="sb-quiet"' if self.quiet else ""
        return f"<p{kind}>{'<br>'.join(map(html_text, self.lines))}</p>"


@dataclass(frozen=True)
class Heading:
    """Heading of the parts that follow."""

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
    """List of sentences."""

    sentences: tuple[str, ...]
    wrapped: bool = False

    @property
    def text(self) -> str:
        """A line, or several, for each sentence."""
        lines = [f"- {visible(sentence)}" for sentence in self.sentences]
        if self.wrapped:
            lines = [_filled(line, indent="  ") for line in lines]
        return "\n".join(lines)

    @property
    def html(self) -> str:
        """A list."""
        return f"<ul>{''.join(f'<li>{html_text(text)}</li>' for text in self.sentences)}</ul>"


@dataclass(frozen=True)
class Answers:
    """Questions, each with an answer of some sentences."""

    answers: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """A paragraph for each question."""
        lines = [f"{visible(question)}: {visible(answer)}" for question, answer in self.answers]
        return "\n".join(_filled(line, indent="  ") for line in lines)

    @property
    def html(self) -> str:
        """A list of descriptions."""
        pairs = (
            f"<dt>{html_text(question)}</dt><dd>{html_text(answer)}</dd>"
            for question, answer in self.answers
        )
        return f"<dl>{''.join(pairs)}</dl>"


@dataclass(frozen=True)
class Blanks:
    """Lines to be filled in by hand."""

    names: tuple[str, ...]

    @property
    def text(self) -> str:
        """A line of underscores for each name."""
        width = max(map(len, self.names))
        return "\n".join(f"{visible(name).ljust(width)}  {'_' * 40}" for name in self.names)

    @property
    def html(self) -> str:
        """A ruled line for each name."""
        lines = (f"<p><span>{html_text(name)}</span><span></span></p>" for name in self.names)
        return f'<div class="sb-blanks">{"".join(lines)}</div>'


@dataclass(frozen=True)
class Table:
    """Table with headings, or of facts: names and their values.

    Attributes
    ----------
    headings : sequence of str or Key
        Empty for facts.
    rows : sequence of sequences of cells
    folded : str
        Summary that HTML shows until a reader opens the table; text omits such a table.
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
            return text_table([cell_text(heading) for heading in self.headings], cells)
        width = max((len(name) for name, *_ in cells), default=0)
        return "\n".join(
            f"{name.ljust(width)}  {'  '.join(values)}".rstrip() for name, *values in cells
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
            tag, scope = ("th", ' scope="row"') if names else ("td", "")
            yield f"<{tag}{scope}{kind}>{cell_html(cell)}</{tag}>"


Part = Prose | Heading | Items | Answers | Blanks | Table


def facts(*rows: tuple[Cell, ...], folded: str = "") -> Table:
    """Make a table of names and their values."""
    return Table((), rows, folded)
