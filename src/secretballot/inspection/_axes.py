"""Axes, colours and texts of displays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._view import visible
from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.typing import ColorType

#: Axes that users give.
AxesLike: TypeAlias = "Axes | Sequence[Axes] | NDArray[np.object_] | None"

#: Text above a picture that depends on the votes.
CAUTION = "data dependent: itself sensitive"


class PanelsDisplay:
    """Picture on one or several axes of a figure."""

    figure_: Figure
    lines_: list[Line2D]

    def _open_axes(
        self,
        axes: AxesLike,
        n_axes: int = 1,
        *,
        n_columns: int = 1,
        size: tuple[float, float] | None = None,
        sharex: bool = False,
    ) -> NDArray[np.object_]:
        """Return `axes` as an array; those of a new figure, with panels of this size, if None."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                f"{type(self).__name__} draws with matplotlib: install the extra `plot` "
                "of this package."
            ) from error
        if axes is None:
            n_rows = -(-n_axes // n_columns)
            figsize = size and (size[0] * n_columns, size[1] * n_rows)
            _, grid = plt.subplots(
                n_rows,
                n_columns,
                layout="constrained",
                figsize=figsize,
                sharex=sharex,
                squeeze=False,
            )
            for empty in grid.ravel()[n_axes:]:
                empty.remove()
            axes = grid.ravel()[:n_axes]
        panels = np.ravel(np.asarray(axes, dtype=object))
        if len(panels) != n_axes:
            raise ValueError(f"axes has {len(panels)} entries; this display draws on {n_axes}.")
        self.figure_ = panels[0].figure
        return panels


class AxesDisplay(PanelsDisplay, ABC):
    """Picture on one axes."""

    ax_: Axes

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        self
        """
        (self.ax_,) = self._open_axes(ax)
        self._draw_on(self.ax_)
        return self

    @abstractmethod
    def _draw_on(self, ax: Axes) -> None:
        """Draw on the axes."""


def draw_line(ax: Axes, x: ArrayLike, y: ArrayLike, label: str, **style: Any) -> list[Line2D]:
    """Draw a line with a small point for each value."""
    return ax.plot(x, y, marker="o", markersize=4, label=label, **style)


def thin(ax: Axes, style: str) -> dict[str, Any]:
    """Return the style of a thin line across the axes, in the colour of its text."""
    return {"color": ink(ax), "linewidth": 0.8, "linestyle": style}


def ink(ax: Axes) -> ColorType:
    """Return the colour of an axes' text, which is visible on light and dark backgrounds."""
    return ax.xaxis.label.get_color()


def plain_logarithms(*axes: Axis) -> None:
    """Write plain numbers on logarithmic axes: 0.5, 20, 1,000."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis in axes:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(_plain))
        axis.set_minor_formatter(NullFormatter())


# Not a lambda: figures are pickled with their formatters.
def _plain(value: float, position: int | None) -> str:
    return f"{value:,.10g}"


def label_text(name: object) -> str:
    """Escape a name for matplotlib, where a dollar sign begins a formula."""
    return visible(str(name)).replace("$", r"\$")


def depends_on_votes(estimator: PrivateTeacherEnsemble) -> bool:
    """Check for noise that was calibrated to the rest of a data-dependent budget."""
    accountant = estimator.accountant
    return (
        estimator.mechanism is None
        and accountant is not None
        and accountant.accounting == "data_dependent"
    )


def caution(ax: Axes) -> None:
    """Write above a picture that it depends on the votes."""
    title = ax.get_title()
    ax.set_title((f"{title}\n" if title else "") + CAUTION, fontsize="small")
