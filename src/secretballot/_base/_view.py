"""Text of cells and tables, and views: one description of an object, for text and for HTML.

The style is for light and dark themes: text inherits its colour, lines and backgrounds are
transparent grey, and the one colour is scikit-learn's for fitted estimators.
"""

from __future__ import annotations

import heapq
import math
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Repeated three times to override the rules of notebooks and themes for tables.
_VIEW = ".sb-view.sb-view.sb-view"
_LINE = "1px solid rgba(128,128,128,.35)"
_COLOR = "var(--sklearn-color-fitted-level-3,cornflowerblue)"

_RULES = {
    "": "box-sizing:border-box;width:fit-content;max-width:100%;margin:.5em 0;padding:.5em .8em;"
    f"border:{_LINE};border-radius:.35em;color:inherit;background:transparent;"
    "font-size:.875rem;line-height:1.45;overflow-x:auto",
    " p": "margin:.3em 0!important;max-width:46rem;color:inherit;overflow-wrap:anywhere",
    " .sb-title": "margin:0 0 .3em!important",
    " .sb-quiet": "opacity:.72",
    " h3": "margin:.9em 0 .2em;padding:0;border:0;font-size:1em;font-weight:600;color:inherit",
    " ul": "margin:.3em 0;padding-left:1.2em;max-width:46rem",
    " li": "margin:.15em 0;overflow-wrap:anywhere",
    " dl": "margin:.3em 0;max-width:46rem",
    " dt": "margin:.5em 0 0;font-weight:600;color:inherit",
    " dd": "margin:0;overflow-wrap:anywhere;color:inherit",
    " .sb-blanks": "margin:.8em 0;max-width:30rem",
    " .sb-blanks p": "display:flex;gap:1em;margin:.9em 0!important",
    " .sb-blanks span:first-child": "flex:0 0 7em",
    " .sb-blanks span:last-child": f"flex:1;border-bottom:{_LINE}",
    " summary": "cursor:pointer;opacity:.72",
    " table": "display:table;width:auto;min-width:0;margin:.3em 0;border:0;border-collapse:"
    "collapse;background:transparent;color:inherit;font-size:1em;table-layout:auto;"
    "box-shadow:none",
    " tr": "background:transparent;border:0",
    " :is(th,td)": "padding:.18em 1.1em .18em 0;border:0;background:transparent;color:inherit;"
    "text-align:left;vertical-align:middle;white-space:nowrap;font-weight:normal;max-width:none",
    " :is(th,td):last-child": "padding-right:0",
    " :is(thead th,th[scope=row])": "opacity:.72",
    " thead th": f"border-bottom:{_LINE}",
    " .sb-number": "text-align:right;font-variant-numeric:tabular-nums",
    " .sb-long": "white-space:normal;min-width:16em;max-width:26em;overflow-wrap:anywhere",
    " .sb-bar": "display:flex;width:14em;height:.7em;border-radius:.35em;overflow:hidden;"
    "background:rgba(128,128,128,.2)",
    " .sb-bar span": "display:block;flex:none;height:100%",
    " .sb-key": "display:inline-block;width:.7em;height:.7em;margin-right:.35em;"
    "border-radius:.15em;background:rgba(128,128,128,.2)",
    " .sb-bar .sb-empty": "background:transparent",
    " .sb-spent": "background:rgba(128,128,128,.65)",
    " .sb-this": f"background:{_COLOR}",
    " .sb-shade": "display:block;padding:.1em .5em;border-radius:.2em",
}

STYLE = "".join(f"{_VIEW}{part}{{{rule}}}" for part, rule in _RULES.items())


WITHHELD = "withheld"
#: Length of a bar in text, and the letter of each kind of segment.
_LETTERS = 20
_LETTER_OF_KIND = {"spent": "=", "this": "#", "": "."}

#: Cells that are aligned to the right: numbers, and words in their place. (The pattern matches a
#: digit in one way only, so that a long text of digits takes no exponential time.)
_NUMBER = re.compile(
    r"|[<>]?[-+]?(\d[\d,]*(\.\d*)?|\.\d+)(e[-+]?\d+)?\s?%?|-?inf|nan|-|\?|withheld"
)


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

    Others wrote the texts of ledgers and the names of files. None may move the cursor, begin a
    line, change the direction of reading, or fail to be printed.
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
    return "1 entry" if number == 1 else f"{number} entries"


def plain_number(value: float | str) -> float | str:
    """Convert an infinity or nan, which JSON lacks, to text that ``float`` reads."""
    return value if isinstance(value, str) or math.isfinite(value) else str(value)


def order_text(order: float | str) -> str:
    return order if order == "gaussian" else f"{float(order):.4g}"


def mechanism_text(description: object) -> str:
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


@dataclass(frozen=True)
class Segment:
    """Segment of a bar: its colour (spent before, the bar's subject, or empty), and its share.

    `name` is for screen readers; empty for none.
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
        return cls((Segment("this", share, name),))

    @classmethod
    def between(cls, low: float, high: float) -> Bar:
        return cls((Segment("", low), Segment("this", high - low)))

    @property
    def text(self) -> str:
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
        return f'<span class="sb-key sb-{self.kind or "empty"}"></span>{html_text(self.text)}'


Cell = str | Bar | Shade | Key


def cell_text(cell: Cell) -> str:
    if isinstance(cell, Key):
        return f"{visible(cell.text)} {_LETTER_OF_KIND[cell.kind]}"
    return visible(cell if isinstance(cell, str) else cell.text)


def cell_html(cell: Cell) -> str:
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


_WIDTH = 79


def _filled(line: str, indent: str = "") -> str:
    """Break a line at its spaces; numbers such as 1e-05 stay whole."""
    return textwrap.fill(
        line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


#: Cells of HTML with longer text may break lines.
_LONG = 40


@dataclass(frozen=True)
class Prose:
    """Paragraph of lines, which may be broken at 79 letters, or shown as less important."""

    lines: tuple[str, ...]
    wrapped: bool = False
    quiet: bool = False

    @classmethod
    def of(cls, *lines: str, wrapped: bool = False, quiet: bool = False) -> Prose:
        return cls(lines, wrapped, quiet)

    @property
    def text(self) -> str:
        lines = map(visible, self.lines)
        return "\n".join(_filled(line) if self.wrapped else line for line in lines)

    @property
    def html(self) -> str:
        kind = ' class="sb-quiet"' if self.quiet else ""
        return f"<p{kind}>{'<br>'.join(map(html_text, self.lines))}</p>"


@dataclass(frozen=True)
class Heading:
    """Heading of the parts that follow."""

    title: str

    @property
    def text(self) -> str:
        return visible(self.title).upper()

    @property
    def html(self) -> str:
        return f"<h3>{html_text(self.title)}</h3>"


@dataclass(frozen=True)
class Items:
    """List of sentences."""

    sentences: tuple[str, ...]
    wrapped: bool = False

    @property
    def text(self) -> str:
        lines = [f"- {visible(sentence)}" for sentence in self.sentences]
        if self.wrapped:
            lines = [_filled(line, indent="  ") for line in lines]
        return "\n".join(lines)

    @property
    def html(self) -> str:
        return f"<ul>{''.join(f'<li>{html_text(text)}</li>' for text in self.sentences)}</ul>"


@dataclass(frozen=True)
class Answers:
    """Questions, each with an answer of some sentences."""

    answers: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        lines = [f"{visible(question)}: {visible(answer)}" for question, answer in self.answers]
        return "\n".join(_filled(line, indent="  ") for line in lines)

    @property
    def html(self) -> str:
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
        width = max(map(len, self.names))
        return "\n".join(f"{visible(name).ljust(width)}  {'_' * 40}" for name in self.names)

    @property
    def html(self) -> str:
        lines = (f"<p><span>{html_text(name)}</span><span></span></p>" for name in self.names)
        return f'<div class="sb-blanks">{"".join(lines)}</div>'


@dataclass(frozen=True)
class Table:
    """Table with headings, or of facts: names and their values, without headings.

    `folded` is a summary that HTML shows until a reader opens the table; text omits such a table.
    """

    headings: Sequence[str | Key]
    rows: Sequence[Sequence[Cell]]
    folded: str = ""

    @property
    def text(self) -> str:
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
    return Table((), rows, folded)


class Shown:
    """Mixin that prints an object's view, and shows it as HTML in a notebook."""

    def _view(self) -> View:
        raise NotImplementedError

    def __str__(self) -> str:
        return self._view().text

    def _repr_html_(self) -> str:
        return self._view().html


@dataclass(frozen=True, repr=False)
class View(Shown):
    """View of an object; `about` is beside the title in HTML, `between` separates parts in text."""

    title: str
    parts: tuple[Part, ...]
    about: str = ""
    between: str = "\n\n"

    @property
    def text(self) -> str:
        return self.between.join(text for part in self.parts if (text := part.text))

    @property
    def html(self) -> str:
        """Fragment of escaped HTML, with its style."""
        about = f' <span class="sb-quiet">{html_text(self.about)}</span>' if self.about else ""
        parts = "".join(part.html for part in self.parts)
        title = f'<p class="sb-title"><strong>{html_text(self.title)}</strong>{about}</p>'
        return f'<style>{STYLE}</style><div class="sb-view">{title}{parts}</div>'

    def _view(self) -> View:
        return self

    __repr__ = Shown.__str__


#: A page loads nothing and runs nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_ON_PAGE = "main .sb-view.sb-view.sb-view"

_PAGE_STYLE = (
    ":root{color-scheme:light}"
    "body{margin:0;background:#fff;color:#1b1b1b;"
    "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif}"
    "main{box-sizing:border-box;max-width:54rem;margin:0 auto;padding:1.5rem 1rem}"
    f"{_ON_PAGE}{{width:auto;margin:0;padding:0;border:0;font-size:1rem}}"
    f"{_ON_PAGE} .sb-title{{font-size:1.6rem}}"
    f"{_ON_PAGE} h3{{margin-top:1.4em;font-size:1.1rem}}"
    f"{_ON_PAGE} :is(p,ul,dl){{max-width:none}}"
    f"@media (max-width:45rem){{{_ON_PAGE} table{{display:block;overflow-x:auto;font-size:.74rem}}"
    f"{_ON_PAGE} :is(th,td){{white-space:normal;padding-right:.5em}}}}"
    # On paper nothing can be scrolled, and what belongs together stays on one page.
    "@page{margin:18mm}"
    "@media print{main{max-width:none;padding:0}"
    f"{_ON_PAGE}{{overflow:visible;font-size:10.5pt}}"
    f"{_ON_PAGE} :is(th,td){{white-space:normal;padding-right:.7em;overflow-wrap:anywhere}}"
    f"{_ON_PAGE} :is(li,dd,tr,.sb-blanks){{break-inside:avoid}}"
    f"{_ON_PAGE} :is(h3,dt){{break-after:avoid}}}}"
)


def html_page(view: View) -> str:
    """Return a self-contained page that shows a view, escaped."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html_text(view.title)}</title>\n"
        f"<style>{_PAGE_STYLE}</style>\n</head>\n<body>\n<main>{view.html}</main>\n</body>\n</html>\n"
    )


#: Largest numbers of classes (or labels of a row) in the table, and of rows shown.
_MAX_CLASSES, _MAX_ROWS = 12, 8


def label_parts(
    labels: ArrayLike, answered: ArrayLike, names: Sequence[str] | None = None
) -> list[Part]:
    """Make parts with the number of answers, a table of classes or labels, and the first rows."""
    labels, answered = np.asarray(labels), np.asarray(answered, dtype=bool)
    n_rows = len(labels)
    if labels.ndim > 1:
        count = f"{int(answered.sum()):,} of {answered.size:,} labels of {n_rows:,} rows answered"
        return [Prose.of(count), _table_of_labels(labels, answered, names)]
    counts = Counter(str(label) for label in labels[answered].tolist())
    rows: list[Sequence[Cell]] = [
        (label, f"{count:,}", f"{count / n_rows:.1%}", Bar.of(count / n_rows))
        for label, count in heapq.nsmallest(
            _MAX_CLASSES, counts.items(), key=lambda item: (-item[1], item[0])
        )
    ]
    first_rows = [
        str(label) if is_answered else "unanswered"
        for label, is_answered in zip(
            labels[:_MAX_ROWS].tolist(), answered[:_MAX_ROWS], strict=True
        )
    ]
    further = ", ..." if n_rows > _MAX_ROWS else ""
    parts: list[Part] = [Prose.of(f"{int(answered.sum()):,} of {n_rows:,} rows answered")]
    if rows:
        parts.append(Table(("class", "rows", "of all", ""), rows))
    if len(counts) > len(rows):
        parts.append(Prose.of(f"and {len(counts) - len(rows):,} rarer classes", quiet=True))
    if first_rows:
        parts.append(Prose.of(f"first rows: {', '.join(first_rows)}{further}", quiet=True))
    return parts


def _table_of_labels(
    labels: NDArray[np.int64], answered: NDArray[np.bool_], names: Sequence[str] | None
) -> Table:
    n_rows, n_labels = labels.shape
    rows: list[Sequence[Cell]] = []
    for at in range(min(n_labels, _MAX_CLASSES)):
        rows_answered = answered[:, at]
        n_present = int((labels[rows_answered, at] == 1).sum())
        name = str(at) if names is None else str(names[at])
        n_answered = int(rows_answered.sum())
        counts = (n_present, n_answered - n_present, n_rows - n_answered)
        share = Bar.of(n_present / max(n_rows, 1))
        rows.append((name, *(f"{count:,}" for count in counts), share))
    if n_labels > _MAX_CLASSES:
        rows.append((f"and {n_labels - _MAX_CLASSES:,} more", "", "", "", ""))
    return Table(("label", "present", "absent", "unanswered", ""), rows)
