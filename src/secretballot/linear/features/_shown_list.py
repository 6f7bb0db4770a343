"""Lists that print as a table, show as HTML, and convert to a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from secretballot._base._view import Shown, Table, View

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
