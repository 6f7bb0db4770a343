"""Readings of columns: kind, bins or categories, missing public cells, and notes of problems."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import warn
from secretballot._base._view import Shown, Table, View
from secretballot.linear._additive_bins import AdditiveBins, public_bins
from secretballot.linear._column_bins import CategoryBins
from secretballot.linear._columns import Categories, PublicColumn
from secretballot.tables._cells import column_cells, date_text, missing_cells, range_text
from secretballot.tables._column_bounds import Bounds

if TYPE_CHECKING:
    import pandas as pd

Item = TypeVar("Item")


class ShownList(Shown, list[Item]):
    """Base class of lists whose items are rows of a table."""

    #: Title in HTML, and names of the columns of the table.
    title: str
    headings: tuple[str, ...]

    def records(self) -> list[tuple[object, ...]]:
        """Return the rows of the table, each with a value for each heading."""
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a data frame.

        Returns
        -------
        DataFrame of pandas

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "to_frame() makes a data frame of pandas, which is not installed: "
                "pip install pandas. Without it, the items of this list have the same numbers."
            ) from None
        return pd.DataFrame(self.records(), columns=list(self.headings))

    def _view(self) -> View:
        rows = [tuple(map(_text, record)) for record in self.records()]
        return View(self.title, (Table(self.headings, rows),))


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


#: Least share of cells with a text of their own in a column of identifiers, and of numbers and
#: dates among texts or objects.
_MOST_SHARE = 0.9
#: Columns with fewer public cells have no notes that rest on shares.
_FEWEST_CELLS = 10
#: Fewest public rows beside the most frequent cell in columns that are not equal by chance.
_FEWEST_OTHERS = 5
#: Most texts of numbers that are taken for codes, such as months.
_MOST_CODES = 12
#: Most other texts that a remedy names.
_MOST_SHOWN = 5
#: Logarithm of the chance that independent integers in a range all differ, below which they are
#: identifiers.
_LOG_CHANCE = math.log(0.01)
#: Distance of a code for missing from all other values, in mean distances between these.
_CODE_DISTANCE = 10.0

_CURRENCY = "$\u00a2\u00a3\u00a5\u20a0-\u20bf"
_SPACE = " \u00a0\u202f"
#: Texts of numbers, but not of codes with zeros in front, with a currency before or a unit after.
_NUMBER = re.compile(
    rf"[+-]?(?P<before>[A-Z]{{0,3}}[{_CURRENCY}])?[{_SPACE}]*[+-]?"
    rf"(?P<number>(?!0\d)\d+(?:[.,'{_SPACE}]\d{{3}})*(?:[.,]\d+)?)(?P<power>e[+-]?\d+)?[{_SPACE}]*"
    rf"(?P<after>(?:[^\W\d_]|[%\u2030\u00b0{_CURRENCY}])[^\d.,;:<>()+-]{{0,19}})?\.?",
    re.IGNORECASE,
)
#: Separators of decimals and of thousands, in the order in which they are tried.
_SEPARATORS = [(".", sep) for sep in ["", ",", "'", *_SPACE]] + [
    (",", sep) for sep in ["", ".", "'", *_SPACE]
]
_DATE = re.compile(
    r"(?P<first>\d{1,4})([-./])(?P<second>\d{1,2})\2(?P<last>\d{1,4})(?P<time>[T ]\d{1,2}:\d\d.*)?"
)
#: Largest number of a month: a larger one is a day.
_MOST_MONTHS = 12
#: Codes for missing. 99999 is none: it is the largest amount of some tables, such as Adult.
_CODE = re.compile(r"-9{2,}|9{3,4}")
#: Words of names, such as "member_id" and "AccountNo", and the last ones of identifiers.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_LAST_WORDS = ("key", "no", "nr", "number")


def _note(column: PublicColumn, first_name: Hashable) -> str:
    """Describe a problem of a column; the first column with the same cells has `first_name`."""
    cells = column.numbers if column.reader.is_number else column.texts()
    values, counts = np.unique(cells, return_counts=True)
    n_missing = int(np.isnan(column.cells).sum())
    n_cells = int(counts.sum())
    if not n_cells:
        return "no public row has it"
    if len(values) < 2 and not n_missing:
        return "constant"
    if column.reader.is_number and len(values) < 2 and values[0] != 1:  # 1 is a mark
        return "constant wherever it is not missing"
    n_others = n_cells + n_missing - max(int(counts.max()), n_missing)
    if first_name != column.name and n_others >= _FEWEST_OTHERS:
        return f"the same as {first_name!r} in every public row"
    if n_cells < _FEWEST_CELLS:
        return ""
    if column.reader.is_number:
        return "" if column.reader.days else _note_of_numbers(column, values)
    return "" if column.reader.listed is not None else _note_of_texts(column, values, counts)


def _note_of_numbers(column: PublicColumn, values: NDArray[np.float64]) -> str:
    for end, code, other_values in (
        ("smallest", values[0], values[1:]),
        ("largest", values[-1], values[:-1]),
    ):
        if _is_code(float(code), other_values):
            return f"the {end} value is {code:.0f}: is it a code for missing?"
    x = column.numbers
    if not column.has_integers() or len(values) < len(x):
        return ""
    n_pairs, n_integers = len(x) * (len(x) - 1) / 2, values[-1] - values[0] + 1
    steps = np.diff(x)
    if (steps > 0).all() or (steps < 0).all():
        return ""  # row numbers are warned of where the file's columns are checked
    if -n_pairs / n_integers < _LOG_CHANCE or _is_id(column.name):
        return "every public row has another integer, as with identifiers"
    return ""


def _is_code(code: float, other_values: NDArray[np.float64]) -> bool:
    """Return True for a number such as -999 or 9999 that lies apart from all other values."""
    if not code.is_integer() or not _CODE.fullmatch(f"{code:.0f}") or not len(other_values):
        return False
    mean_distance = float(np.ptp(other_values)) / max(len(other_values) - 1, 1)
    return float(np.abs(other_values - code).min()) > _CODE_DISTANCE * mean_distance


def _is_id(name: Hashable) -> bool:
    """Return True for a name such as "id", "id_client", "member_id" or "AccountNo"."""
    words = [word.lower() for word in _WORD.findall(str(name))]
    return "id" in words or (bool(words) and words[-1] in _LAST_WORDS)


def _note_of_texts(column: PublicColumn, texts: NDArray[np.str_], counts: NDArray[np.intp]) -> str:
    """Describe numbers and dates as texts, identifiers, and texts that are all rare."""
    n_cells = int(counts.sum())
    cells = column_cells(column.values)
    n_numbers = sum(
        isinstance(cell, Real | Decimal) and not isinstance(cell, bool | np.bool_)
        for cell in cells[~missing_cells(column.values)]
    )
    if cells.dtype.kind == "O" and n_numbers > _MOST_SHARE * n_cells:
        return (
            "objects, nearly all numbers, read as categories; "
            "pandas.to_numeric(X[column], errors='coerce') makes numbers"
        )
    by_text = dict(zip(texts.tolist(), counts.tolist(), strict=True))
    if note := _NumberTexts.of(by_text).note():
        return note
    dates = {text: match for text in by_text if (match := _DATE.fullmatch(text.strip()))}
    if sum(by_text[text] for text in dates) > _MOST_SHARE * n_cells:
        remedy = _date_remedy(list(dates.values()), has_others=len(dates) < len(by_text))
        return f"dates as texts, read as categories; {remedy}"
    if len(texts) > _MOST_SHARE * n_cells:
        return "nearly every public row has another text, as with names and identifiers"
    categories = public_bins([column], 1, {}).columns[0]
    return "" if categories.other_code else "no text is in three public rows: all are 'others'"


def _date_remedy(dates: Sequence[re.Match[str]], *, has_others: bool) -> str:
    """Describe how to convert texts to dates, with the order of day and month that they show."""
    years_last = [date for date in dates if len(date["first"]) <= 2]
    day_first = any(int(date["first"]) > _MOST_MONTHS for date in years_last)
    month_first = any(int(date["second"]) > _MOST_MONTHS for date in years_last)
    if day_first and month_first:
        return "write the day, the month and the year in one order"
    forms = {(len(date["last"]), date["time"] is None, date[2]) for date in dates}
    is_mixed = len(forms) > 1 or any(len(date["last"]) == 2 for date in years_last)
    options = ", errors='coerce'" * has_others + ", format='mixed'" * is_mixed
    plain = f"pandas.to_datetime(X[column]{options})"
    days = f"pandas.to_datetime(X[column], dayfirst=True{options})"
    if years_last and not day_first and not month_first:
        return f"if the day stands first, {days} makes dates; if the month does, {plain}"
    return f"{days if day_first else plain} makes dates"


class _NumberTexts(NamedTuple):
    """Numbers among the texts of a column."""

    share: float  # share of cells that are numbers without a unit, or with the most frequent one
    numbers: list[str]  # digits and separators of these numbers
    unit: str  # the unit or currency; empty if there is none
    has_units: bool  # true if there are other units
    other_texts: list[str]  # all other texts

    @classmethod
    def of(cls, counts: dict[str, int]) -> _NumberTexts:
        numbers, units = dict[str, str](), dict[str, str]()
        for text in counts:
            match = _NUMBER.fullmatch(text.strip())
            if not match:
                continue
            unit = (match["before"] or "") + (match["after"] or "").strip()
            if unit and match["power"]:
                continue  # the remedy for units would join the two numbers
            numbers[text], units[text] = match["number"], unit
        totals = Counter[str]()
        for text, unit in units.items():
            if unit:
                totals[_singular(unit)] += counts[text]
        [(first, _)] = totals.most_common(1) or [("", 0)]
        read = [text for text in units if _singular(units[text]) in ("", first)]
        return cls(
            share=sum(counts[text] for text in read) / sum(counts.values()),
            numbers=[numbers[text] for text in read],
            unit=max((units[text] for text in read), default=""),
            has_units=len(totals) > 1,
            other_texts=[text for text in counts if text not in set(read)],
        )

    def note(self) -> str:
        """Describe the numbers, and how to convert them; "" if they are few, or codes."""
        n_texts = len(self.numbers) + len(self.other_texts)
        if self.share <= _MOST_SHARE or n_texts <= (1 if self.unit else _MOST_CODES):
            return ""
        kind = f"numbers with {self.unit!r} as texts" if self.unit else "numbers as texts"
        return f"{kind}, read as categories; {self._remedy()}"

    def _remedy(self) -> str:
        readings = self._readings()
        if self.has_units or not readings:
            return "write all in one unit, with one decimal separator"
        if len(readings) == 1:
            return f"{self._conversion(*readings[0])} makes numbers"
        number = next(text for text in self.numbers if len({*_values(text, readings)}) > 1)
        return f"is {number!r} " + "; or ".join(
            f"{value:.12g}? {self._conversion(*separators)} makes such numbers"
            for value, separators in zip(_values(number, readings), readings, strict=True)
        )

    def _conversion(self, point: str, thousands: str) -> str:
        if self.unit or not thousands.isascii():  # which read_csv does not take
            replace = "" if point == "." else ".str.replace(',', '.')"
            digits = f"X[column].str.replace('[^0-9{point}-]', '', regex=True){replace}"
            return f"pandas.to_numeric({digits}, errors='coerce')"
        options = {"decimal": point if point == "," else "", "thousands": thousands}
        arguments = [f"{option}={value!r}" for option, value in options.items() if value]
        if not arguments and not self.other_texts:
            return "astype(float)"
        if not arguments:
            return "pandas.to_numeric(X[column], errors='coerce')"
        if self.other_texts:
            arguments.append(f"na_values={self.other_texts[:_MOST_SHOWN]!r}")
        return f"pandas.read_csv(file, {', '.join(arguments)})"

    def _readings(self) -> list[tuple[str, str]]:
        """Return separators of decimals and thousands that fit all numbers, one pair a reading."""
        readings = dict[tuple[float, ...], tuple[str, str]]()
        for point, thousands in _SEPARATORS:
            groups = f"[1-9]\\d{{0,2}}(?:[{thousands}]\\d{{3}})+|" if thousands else ""
            form = re.compile(f"(?:{groups}\\d+)(?:[{point}]\\d+)?")
            if all(map(form.fullmatch, self.numbers)):
                separators = point, thousands
                values = tuple(_values(text, [separators])[0] for text in self.numbers)
                readings.setdefault(values, separators)
        return list(readings.values())


def _values(number: str, readings: Sequence[tuple[str, str]]) -> list[float]:
    return [
        float((number.replace(thousands, "") if thousands else number).replace(point, "."))
        for point, thousands in readings
    ]


def _singular(unit: str) -> str:
    return unit.casefold().removesuffix("s")


#: Share of public cells outside of declared categories above which a column has a note.
_MOST_LEFT_OUT = 0.5
#: Labels that a table shows, and columns that a warning names.
_MOST_LABELS, _MOST_WARNED = 6, 10


@dataclass(frozen=True, kw_only=True)
class ColumnReading:
    """Reading of one column, from public rows or declarations.

    Attributes
    ----------
    name : hashable
        The column; its position in an array.
    kind : {"number", "date", "duration", "category"}
        Kind of its cells. Dates and durations are numbers of days.
    labels : tuple of str
        Texts of the bins or categories; of a number without bins its public range.
    missing_share : float or None
        Share of public rows in which it is missing; None without public rows.
    dtype : str
        Type of the public column; empty without public rows.
    note : str
        Problem of the column; empty if it has none.
    """

    name: Hashable
    kind: str
    labels: tuple[str, ...]
    missing_share: float | None = None
    dtype: str = ""
    note: str = ""


class ColumnReadings(ShownList[ColumnReading]):
    """List of the readings of all columns, which prints as a table."""

    title = "Columns"
    headings = ("column", "kind", "bins or categories", "missing", "dtype", "note")

    def records(self) -> list[tuple[object, ...]]:
        """Return a row of the table for each column."""
        return [
            (
                reading.name,
                reading.kind,
                _short(reading.labels),
                reading.missing_share,
                reading.dtype,
                reading.note,
            )
            for reading in self
        ]


def _short(labels: Sequence[str]) -> str:
    shown = ", ".join(labels[:_MOST_LABELS])
    return shown if len(labels) <= _MOST_LABELS else f"{shown}, ... ({len(labels)})"


def public_readings(
    columns: Sequence[PublicColumn],
    declared: Categories,
    bounds: Bounds | None = None,
) -> ColumnReadings:
    readings, names = [], dict[bytes, Hashable]()
    for column in columns:
        first_name = names.setdefault(column.digest(), column.name)
        is_declared = column.name in declared
        reading = ColumnReading(
            name=column.name,
            kind=_kind(column.reader.is_number, column.reader.days),
            labels=_labels(column, declared, (bounds or {}).get(column.name)),
            missing_share=float(np.isnan(column.cells).mean()),
            dtype=str(getattr(column.values, "dtype", "")),
            note=_left_out_note(column, declared) if is_declared else _note(column, first_name),
        )
        readings.append(reading)
    return ColumnReadings(readings)


def _left_out_note(column: PublicColumn, declared: Categories) -> str:
    """Describe public cells that are none of the declared categories, if most are."""
    (bins,) = public_bins([column], 1, declared).columns
    assert isinstance(bins, CategoryBins)
    codes = bins.codes(column.cells)
    share = float((codes == bins.other_code).mean())
    if share <= _MOST_LEFT_OUT:
        return ""
    return f"{share:.0%} of its public cells are none of its declared categories, and share a bin"


def fitted_readings(
    readings: ColumnReadings | None, bins: AdditiveBins, days: Mapping[Hashable, str]
) -> ColumnReadings:
    """Return the readings of public columns, or of declared ones, with the labels of bins."""
    if readings is None:
        return declared_readings(bins, days)
    return ColumnReadings(
        [
            replace(reading, labels=tuple(column.labels()))
            for reading, column in zip(readings, bins.columns, strict=True)
        ]
    )


def declared_readings(
    bins: AdditiveBins, days: Mapping[Hashable, str], bounds: Bounds | None = None
) -> ColumnReadings:
    bounds = bounds or {}
    return ColumnReadings(
        [
            ColumnReading(
                name=column.name,
                kind=_kind(column.other_code is None, days.get(column.name, "")),
                labels=(_bounds_text(bounds[column.name], days.get(column.name, "")),)
                if column.name in bounds
                else tuple(column.labels()),
            )
            for column in bins.columns
        ]
    )


def warn_columns(readings: Sequence[ColumnReading]) -> None:
    """Warn, before anything is spent, of columns with notes and of dates."""
    strange = [f"{reading.name!r} ({reading.note})" for reading in readings if reading.note]
    shown = strange[:_MOST_WARNED]
    if len(strange) > len(shown):
        shown.append(f"and {len(strange) - len(shown)} more")
    if strange:
        warn(
            f"X_public: these columns tell a model little, or something wrong: {', '.join(shown)}. "
            "They take a share of the budget as all columns do. Name the columns to read by "
            "columns=[...]; read_columns(X_public) shows how each is read."
        )
    dates = [repr(reading.name) for reading in readings if reading.kind == "date"]
    if dates:
        warn(
            f"{', '.join(dates)}: dates are read as days since 1970. Columns of the year, the "
            "month or the weekday may say more, in X and X_public: X[column].dt.year, .dt.month, "
            ".dt.weekday."
        )


def _kind(is_number: bool, days: str) -> str:
    if not is_number:
        return "category"
    return {"time": "date", "duration": "duration"}.get(days, "number")


def _labels(
    column: PublicColumn,
    declared: Categories,
    bounds: tuple[float, float] | None,
) -> tuple[str, ...]:
    if not column.reader.is_number:
        return tuple(public_bins([column], 1, declared).columns[0].labels())
    x = column.numbers
    if bounds is None and len(x):
        bounds = float(x.min()), float(x.max())
    return () if bounds is None else (_bounds_text(bounds, column.reader.days),)


def _bounds_text(bounds: tuple[float, float], days: str) -> str:
    return range_text(*bounds, date_text if days == "time" else None)
