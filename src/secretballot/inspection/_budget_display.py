"""Display of a budget being spent, against rows or time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from numpy.typing import ArrayLike

from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.inspection._axes import (
    AxesLike,
    PanelsDisplay,
    caution,
    draw_line,
    label_text,
    thin,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Accuracies: TypeAlias = Mapping[str, tuple[ArrayLike | None, Any]]


@dataclass(repr=False, eq=False, kw_only=True)
class BudgetDisplay(PanelsDisplay):
    """Plot of the used share of a budget against rows or time, with accuracies beside it.

    Use `from_accountant` to make one from what the ledger recorded.

    Parameters
    ----------
    rows : array-like of shape (n_releases + 1,)
        Number of rows begun after each release, 0 before the first.
    shares : dict of str to array-like of shape (n_releases + 1,)
        For each level of the budget, the share of it that was used after each release, at the
        order on which the budget gates.
    times : array-like of datetime of shape (n_releases + 1,), default=None
        When each share was reached. They take the place of rows on the axis.
    accuracy : dict of str to (n_labels, accuracy), default=None
        Curves (or, where ``n_labels`` is None, one number, a horizontal line) to draw beside the
        budget, such as the accuracy of a student trained on the first ``n_labels`` labels. The
        display only draws them: computed on public data they cost nothing; computed on private
        data they are a release of their own.
    sensitive : bool, default=False
        Draw a caution, because the shares depend on the votes (data-dependent accounting).

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the budget.
    accuracy_ax_ : matplotlib Axes or None
        Axes with the accuracy.
    figure_ : matplotlib Figure
        Figure that holds them.
    lines_ : list of matplotlib Line2D
        One line for each level, then one for each accuracy.

    Examples
    --------
    >>> from secretballot.inspection import BudgetDisplay
    >>> display = BudgetDisplay(
    ...     rows=[0, 100, 200],
    ...     shares={"everyone": [0, 0.4, 0.8]},
    ...     accuracy={"student": ([50, 100, 200], [0.7, 0.78, 0.8]), "teacher": (None, 0.76)},
    ... ).plot()
    >>> display.ax_.get_ylabel()
    'share of the budget spent'
    """

    rows: ArrayLike
    shares: Mapping[str, ArrayLike]
    times: ArrayLike | None = None
    accuracy: Accuracies | None = None
    sensitive: bool = False

    @classmethod
    def from_accountant(
        cls,
        accountant: PrivacyAccountant,
        *,
        against: str = "rows",
        accuracy: Accuracies | None = None,
        axes: AxesLike = None,
    ) -> Self:
        """Draw what an accountant has released so far.

        Reads the ledger only; nothing is spent.

        Parameters
        ----------
        accountant : PrivacyAccountant
            The budget to look at.
        against : {"rows", "time"}, default="rows"
            What the axis shows. Against time there is a step also where rows are paid for
            beforehand, or given back.
        accuracy : dict of str to (n_labels, accuracy), default=None
            What to draw beside it; see the class.
        axes : sequence of matplotlib Axes, default=None
            Where to draw; see `plot`.

        Returns
        -------
        BudgetDisplay
        """
        if against not in ("rows", "time"):
            raise ValueError(f'against={against!r} must be "rows" or "time".')
        if against == "time" and accuracy:
            raise ValueError('accuracy is drawn over rows; leave it out with against="time".')
        times, states = None, accountant.history()
        if against == "time":
            times, states = map(list, zip(*accountant.timeline(), strict=True))
        rows = [max(spent.n_rows for spent in state.values()) for state in states]
        shares = {level: [state[level].share for state in states] for level in states[0]}
        sensitive = accountant.accounting == "data_dependent"
        display = cls(rows=rows, shares=shares, times=times, accuracy=accuracy, sensitive=sensitive)
        return display.plot(axes)

    def plot(self, axes: AxesLike = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            The axes for the budget and, if there is an accuracy, a second one for it. A new
            figure with one above the other if None.

        Returns
        -------
        self
        """
        # The accuracy goes on top: it is what the budget below it bought.
        panels = self._open_axes(axes, 2 if self.accuracy else 1, size=(6.4, 3.2), sharex=True)
        self.accuracy_ax_, self.ax_ = (None, *panels)[-2:]
        self.lines_ = []
        self._draw_budget(self.ax_)
        if self.accuracy:
            self._draw_accuracy(self.accuracy_ax_, self.accuracy)
        if self.sensitive:
            caution(self.ax_)
        return self

    def _draw_budget(self, ax: Axes) -> None:
        steps = {} if self.times is None else {"drawstyle": "steps-post"}
        for level, share in self.shares.items():
            name = "budget" if len(self.shares) == 1 else label_text(level)
            at = self.rows if self.times is None else self.times
            self.lines_ += draw_line(ax, at, share, name, **steps)
        ax.axhline(1, **thin(ax, "--"))
        ax.set(ylim=(0, 1.05), xlabel="rows begun", ylabel="share of the budget spent")
        if self.times is not None:
            from matplotlib.dates import ConciseDateFormatter

            ax.set(xlabel="time (UTC)")
            formatter = ConciseDateFormatter(ax.xaxis.get_major_locator())  # type: ignore[no-untyped-call]
            ax.xaxis.set_major_formatter(formatter)
        if len(self.shares) > 1:
            ax.legend()

    def _draw_accuracy(self, ax: Axes, accuracy: Accuracies) -> None:
        for name, (n_labels, score) in accuracy.items():
            label, colour = label_text(name), f"C{len(self.lines_)}"
            if n_labels is None:
                self.lines_.append(ax.axhline(score, linestyle=":", color=colour, label=label))
            else:
                self.lines_ += draw_line(ax, n_labels, score, label, color=colour)
        ax.set(ylabel="accuracy")
        ax.legend(fontsize="small")
