"""Display of the dependencies between labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from secretballot.ensemble import PrivateLabels, PublicData
from secretballot.inspection._axes import AxesDisplay, label_text
from secretballot.inspection._label_dependencies import label_dependencies

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Largest number of labels for which the shares are written into the picture.
_MAX_WRITTEN = 12


@dataclass(repr=False, eq=False)
class DependencyDisplay(AxesDisplay):
    """Picture of the dependencies between labels.

    Use `from_labels` to make one from public or released labels.

    Parameters
    ----------
    dependencies : ndarray of shape (n_labels, n_labels)
        Result of `label_dependencies`.
    names : sequence of str, default=None
        Names of the labels; their numbers if None.
    condition : {"absent", "present"}, default="absent"
        State of the first label that the shares are conditional on.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    image_ : matplotlib AxesImage

    See Also
    --------
    label_dependencies : The numbers.

    Examples
    --------
    >>> from secretballot import PublicData
    >>> from secretballot.inspection import DependencyDisplay
    >>> labels = PublicData([[0, 0], [0, 0], [0, 1], [1, 1]])
    >>> display = DependencyDisplay.from_labels(labels, names=["shadow", "fluid"])
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['shadow', 'fluid']
    """

    dependencies: ArrayLike
    _: KW_ONLY
    names: Sequence[str] | None = None
    condition: str = "absent"

    @classmethod
    def from_labels(
        cls,
        labels: PublicData | PrivateLabels,
        *,
        names: Sequence[str] | None = None,
        condition: str = "absent",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the dependencies of labels.

        Parameters
        ----------
        labels : PublicData or PrivateLabels
            Public or released labels; see `label_dependencies`.
        names, condition
            As for the class.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        DependencyDisplay
        """
        dependencies = label_dependencies(labels, condition=condition)
        return cls(dependencies, names=names, condition=condition).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        size = min(4 + 0.25 * len(np.asarray(self.dependencies)), 12)
        return size + 1, size

    def _draw_on(self, ax: Axes) -> None:
        table = np.asarray(self.dependencies, dtype=float)
        names = range(len(table)) if self.names is None else self.names
        if table.ndim != 2 or table.shape != (len(names), len(names)):
            raise ValueError(
                f"dependencies has shape {table.shape} and there are {len(names)} names; give a "
                "square table, and one name for each label."
            )
        self.image_ = ax.imshow(table, vmin=0, vmax=1, cmap="viridis")
        shown = [label_text(name) for name in names]
        ax.set_xticks(range(len(table)), shown, rotation=90)
        ax.set_yticks(range(len(table)), shown)
        ax.set(
            xlabel=f"... is {self.condition} too",
            ylabel=f"where this label is {self.condition} ...",
        )
        if len(table) <= _MAX_WRITTEN:
            for (row, column), share in np.ndenumerate(table):
                text = "" if np.isnan(share) else f"{share:.2f}"
                colour = "black" if share > 0.6 else "white"
                ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
        self.figure_.colorbar(self.image_, ax=ax, label="share of rows")
