"""A picture of a budget being spent, against rows or time."""

from __future__ import annotations

import numpy as np

from secretballot.inspection._axes import caution, ink, label_text, pyplot


class BudgetDisplay:
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

    def __init__(self, *, rows, shares, times=None, accuracy=None, sensitive=False):
        self.rows = rows
        self.shares = shares
        self.times = times
        self.accuracy = accuracy
        self.sensitive = sensitive

    @classmethod
    def from_accountant(cls, accountant, *, against="rows", accuracy=None, axes=None):
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
        display : BudgetDisplay
            The display, drawn.
        """
        if against not in ("rows", "time"):
            raise ValueError(f'against={against!r} must be "rows" or "time".')
        if against == "time" and accuracy:
            raise ValueError('accuracy is drawn over rows; leave it out with against="time".')
        times = None
        if against == "time":
            times, states = zip(*accountant.timeline(), strict=True)
        else:
            states = accountant.history()
        rows = [max(spent.n_rows for spent in state.values()) for state in states]
        shares = {level: [state[level].share for state in states] for level in states[0]}
        sensitive = accountant.accounting == "data_dependent"
        display = cls(rows=rows, shares=shares, times=times, accuracy=accuracy, sensitive=sensitive)
        return display.plot(axes)

    def plot(self, axes=None):
        """Draw the display.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            The axes for the budget and, if there is an accuracy, a second one for it. A new
            figure with one above the other if None.

        Returns
        -------
        display : BudgetDisplay
            The display itself.
        """
        plt = pyplot(self)
        n_axes = 2 if self.accuracy else 1
        if axes is None:
            size = (6.4, 3.2 * n_axes)
            _, axes = plt.subplots(n_axes, sharex=True, layout="constrained", figsize=size)
        axes = np.ravel(np.asarray(axes, dtype=object))
        if len(axes) != n_axes:
            raise ValueError(f"axes has {len(axes)} entries; this display draws on {n_axes}.")
        # The accuracy goes on top: it is what the budget below it bought.
        self.ax_ = axes[-1]
        self.accuracy_ax_ = axes[0] if self.accuracy else None
        self.figure_ = self.ax_.figure
        self.lines_ = []
        for level, share in self.shares.items():
            name = "budget" if len(self.shares) == 1 else label_text(level)
            style = {"marker": "o", "markersize": 4, "label": name}
            if self.times is None:
                self.lines_ += self.ax_.plot(self.rows, share, **style)
            else:
                self.lines_ += self.ax_.plot(self.times, share, drawstyle="steps-post", **style)
        self.ax_.axhline(1, color=ink(self.ax_), linewidth=0.8, linestyle="--")
        self.ax_.set(ylim=(0, 1.05), xlabel="rows begun", ylabel="share of the budget spent")
        if self.times is not None:
            self.ax_.set(xlabel="time (UTC)")
            locator = self.ax_.xaxis.get_major_locator()
            self.ax_.xaxis.set_major_formatter(plt.matplotlib.dates.ConciseDateFormatter(locator))
        if len(self.shares) > 1:
            self.ax_.legend()
        if self.accuracy:
            for name, (n_labels, score) in self.accuracy.items():
                label = label_text(name)
                if n_labels is None:
                    style = {"linestyle": ":", "color": f"C{len(self.lines_)}", "label": label}
                    self.lines_.append(self.accuracy_ax_.axhline(score, **style))
                else:
                    style = {"marker": "o", "markersize": 4, "color": f"C{len(self.lines_)}"}
                    self.lines_ += self.accuracy_ax_.plot(n_labels, score, label=label, **style)
            self.accuracy_ax_.set(ylabel="accuracy")
            self.accuracy_ax_.legend(fontsize="small")
        if self.sensitive:
            caution(self.ax_)
        return self
