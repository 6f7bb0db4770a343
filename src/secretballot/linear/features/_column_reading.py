"""Readings of columns: kind, bins or categories, missing public cells, and problems."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from secretballot._base._errors import warn
from secretballot.linear.features._additive_bins import AdditiveBins, public_bins
from secretballot.linear.features._column_bins import ColumnFeatures
from secretballot.linear.features._column_notes import column_notes
from secretballot.linear.features._columns import Categories, PublicColumn
from secretballot.linear.features._shown_list import ShownList
from secretballot.tables._cells import date_text
from secretballot.tables._column_bounds import Bounds
from secretballot.tables._number_ranges import range_text

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
    bins: AdditiveBins | None = None,
    bounds: Bounds | None = None,
) -> ColumnReadings:
    features: Sequence[ColumnFeatures | None] = (
        bins.columns if bins is not None else len(columns) * [None]
    )
    return ColumnReadings(
        [
            ColumnReading(
                name=column.name,
                kind=_kind(column, declared),
                labels=_labels(column, declared, column_features, (bounds or {}).get(column.name)),
                missing_share=column.missing_share(),
                dtype=str(getattr(column.values, "dtype", "")),
                note="" if column.name in declared else note,
            )
            for column, column_features, note in zip(
                columns, features, column_notes(columns), strict=True
            )
        ]
    )


def declared_readings(
    bins: AdditiveBins, days: Mapping[Hashable, str], bounds: Bounds | None = None
) -> ColumnReadings:
    bounds = bounds or {}
    kinds = {"time": "date", "duration": "duration"}
    return ColumnReadings(
        [
            ColumnReading(
                name=column.name,
                kind="category"
                if column.other_code is not None
                else kinds.get(days.get(column.name, ""), "number"),
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


def _kind(column: PublicColumn, declared: Categories) -> str:
    if column.name in declared or not column.is_number:
        return "category"
    return {"time": "date", "duration": "duration"}.get(column.days, "number")


def _labels(
    column: PublicColumn,
    declared: Categories,
    features: ColumnFeatures | None,
    bounds: tuple[float, float] | None,
) -> tuple[str, ...]:
    if features is not None:
        return tuple(features.labels())
    if _kind(column, declared) == "category":
        return tuple(public_bins([column], 1, declared).columns[0].labels())
    x = column.numbers()
    if bounds is None and len(x):
        bounds = float(x.min()), float(x.max())
    return () if bounds is None else (_bounds_text(bounds, column.days),)


def _bounds_text(bounds: tuple[float, float], days: str) -> str:
    return range_text(*bounds, date_text if days == "time" else None)
