"""A picture of how many labels a budget buys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from secretballot._numbers import check_integer
from secretballot.accounting import EVERYONE, RenyiCost, price_plan
from secretballot.inspection._drawing import (
    axes_of,
    caution,
    ink,
    label_text,
    plain_logarithms,
    tells_of_votes,
)
from secretballot.mechanisms import GNMax

_ACCOUNTINGS = ("plan", "renyi")

#: So many rows are priced within a second or two: votes on classes, and others.
_MANY, _FEWER = 512, 64

#: Rows of more classes need some 1 % more noise than rows of two, which are priced much faster.
_MORE_CLASSES = 1.02


class LabelsDisplay:
    """How many rows an epsilon buys, for one or several mechanisms: from public numbers alone.

    Use `from_mechanism` or, of a fitted ensemble, `from_estimator`. Rows are those that are begun:
    behind a threshold some of them get no label.

    Parameters
    ----------
    curves : dict of str to (epsilon, n_rows)
        For each name the epsilon of some numbers of rows.
    delta : float
        The delta of all of them.
    budgets : dict of str to float, default=None
        Budgets that are marked by a line, by level.
    asked : (epsilon, n_rows), default=None
        What a fit asked for, marked by a point.
    sensitive : bool, default=False
        Whether the noise tells of the votes, as it was calibrated to what they had left of a
        data-dependent budget: a caution is drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One for each curve.

    See Also
    --------
    BallotsDisplay : What the noise leaves of votes.

    Examples
    --------
    >>> from secretballot import GNMax
    >>> from secretballot.inspection import LabelsDisplay
    >>> display = LabelsDisplay.from_mechanism(GNMax(sigma=40), n_rows=64)
    >>> epsilon, n_rows = display.curves["GNMax(sigma=40), plan"]
    >>> print(n_rows[-1], epsilon[-1].round(2))
    64 0.84
    """

    def __init__(self, curves, *, delta, budgets=None, asked=None, sensitive=False):
        self.curves = curves
        self.delta = delta
        self.budgets = budgets
        self.asked = asked
        self.sensitive = sensitive

    @classmethod
    def from_mechanism(
        cls, mechanism, *, delta=1e-5, n_columns=2, n_rows=None, accounting=_ACCOUNTINGS, ax=None
    ):
        """Draw what rows of a mechanism, or of several, cost at most.

        Parameters
        ----------
        mechanism : mechanism or dict of str to mechanism
            Of votes, such as `GNMax`; several with their names.
        delta : float, default=1e-5
        n_columns : int, default=2
            Number of classes, or of labels a row. Votes on more than two classes are drawn as votes
            on two with 2 % less noise, which is a little too dear.
        n_rows : int, default=None
            The most rows that are looked at. None: as many as take a second or two.
        accounting : sequence of {"plan", "renyi"}, default=("plan", "renyi")
            All rows as one plan, by its exact worst case; or row by row, by Renyi divergences.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : LabelsDisplay
            The display, drawn.
        """
        curves = _curves(mechanism, delta, n_columns, n_rows, accounting)
        return cls(curves, delta=delta).plot(ax)

    @classmethod
    def from_estimator(cls, estimator, *, n_rows=None, accounting=_ACCOUNTINGS, ax=None):
        """Draw what rows cost with the noise of a fitted ensemble, and mark its budget and pool.

        Nothing is spent.

        Parameters
        ----------
        estimator : PrivateTeacherEnsemble
            Fitted, with a pool that was labelled.
        n_rows : int, default=None
            The most rows that are looked at. None: twice as many as the pool has, but no more than
            take a second or two.
        accounting, ax
            As for `from_mechanism`.

        Returns
        -------
        display : LabelsDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If it has no accountant any more.
        """
        check_is_fitted(estimator, "pool_labels_")
        if estimator.accountant is None:
            raise ValueError(
                "accountant=None: there is no budget to mark. LabelsDisplay.from_mechanism draws "
                "what rows of mechanism_ cost."
            )
        accountant, n_asked = estimator.accountant, len(estimator.pool_labels_.labels)
        n_columns = len(estimator.classes_)
        if n_rows is None:
            # What the pool asked for, and as much again.
            n_rows = min(max(2 * n_asked, _FEWER), _most_rows(estimator.mechanism_))
        curves = _curves(estimator.mechanism_, accountant.delta, n_columns, n_rows, accounting)
        epsilon = accountant.epsilon
        budgets = epsilon if isinstance(epsilon, dict) else {"budget": epsilon}
        asked, n_kinds = None, 1 if isinstance(accounting, str) else len(accounting)
        if n_asked <= n_rows and len(curves) == n_kinds:
            # One level: on the cheapest curve, which is how it is paid for.
            found = [np.interp(np.log(n_asked), np.log(n), np.log(e)) for e, n in curves.values()]
            asked = (float(np.exp(min(found))), n_asked)
        sensitive = tells_of_votes(estimator)
        return cls(
            curves, delta=accountant.delta, budgets=budgets, asked=asked, sensitive=sensitive
        ).plot(ax)

    def plot(self, ax=None):
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : LabelsDisplay
            The display itself.
        """
        ax = axes_of(self, ax)
        self.lines_ = []
        for name, (epsilon, n_rows) in self.curves.items():
            label = label_text(name)
            self.lines_ += ax.plot(epsilon, n_rows, marker="o", markersize=4, label=label)
        for level, budget in (self.budgets or {}).items():
            ax.axvline(budget, color=ink(ax), linewidth=0.8, linestyle="--")
            place = {"xy": (budget, 0), "xycoords": ("data", "axes fraction")}
            text = {"xytext": (-3, 4), "textcoords": "offset points", "rotation": 90}
            style = {"ha": "right", "va": "bottom", "fontsize": "small"}
            ax.annotate(label_text(level), **place, **text, **style)
        if self.asked is not None:
            point = {"marker": "*", "markersize": 12, "linestyle": "", "color": ink(ax)}
            ax.plot(*self.asked, label=f"asked: {self.asked[1]:,} rows", **point)
        ax.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="rows")
        plain_logarithms(ax.xaxis)
        plain_logarithms(ax.yaxis)
        ax.set_title(f"what an epsilon buys, delta = {self.delta:g}")
        if self.sensitive:
            caution(ax)
        ax.legend(fontsize="small")
        return self


def _curves(mechanism, delta, n_columns, n_rows, accounting):
    """Return the epsilon of 1, 2, 4, ... rows, for each mechanism, accounting and level."""
    accountings = (accounting,) if isinstance(accounting, str) else tuple(accounting)
    unknown = [each for each in accountings if each not in _ACCOUNTINGS]
    if unknown or not accountings:
        raise ValueError(f'accounting={accounting!r} must be some of "plan" and "renyi".')
    several = mechanism if isinstance(mechanism, dict) else {_name(mechanism): mechanism}
    curves = {}
    for name, each in several.items():
        most = _most_rows(each) // len(several) if n_rows is None else n_rows
        check_integer("n_rows", most)
        rows = np.unique(np.append(2 ** np.arange(int(np.log2(most)) + 1), most))
        each, columns = _quick(each, n_columns)
        for kind in accountings:
            priced = _by_plan if kind == "plan" else _by_renyi
            for level, epsilon in priced(each, rows, delta, columns).items():
                said = name if level == EVERYONE else f"{name}, {level}"
                curves[f"{said}, {kind}"] = (epsilon, rows)
    return curves


def _most_rows(mechanism):
    return _MANY if isinstance(mechanism, GNMax) else _FEWER


def _quick(mechanism, n_columns):
    """Return what is priced in place of votes on many classes, and for how many columns."""
    if n_columns == 2 or getattr(mechanism, "multilabel", False):
        return mechanism, n_columns
    if isinstance(mechanism, GNMax):
        return replace(mechanism, sigma=mechanism.sigma / _MORE_CLASSES), 2
    return mechanism, None


def _by_plan(mechanism, rows, delta, n_columns):
    if not hasattr(mechanism, "laws"):
        raise ValueError(
            f'accounting="plan" takes a mechanism of votes, not {mechanism!r}; "renyi" takes any.'
        )
    found = {}
    for n in rows.tolist():
        price = price_plan(mechanism, n, n_columns=n_columns)
        levels = price if isinstance(price, dict) else {EVERYONE: price}
        for level, each in levels.items():
            found.setdefault(level, []).append(each.epsilon(delta))
    return {level: np.array(epsilon) for level, epsilon in found.items()}


def _by_renyi(mechanism, rows, delta, n_columns):
    found = {}
    for level, one in mechanism.max_cost(n_columns).items():
        if "/" not in level:  # parts of a level take turns, and the rows of each are others
            sums = RenyiCost(rows[:, None] * one.curve, rows * one.delta)
            found[level] = np.asarray(sums.epsilon(delta))
    return found


def _name(mechanism):
    sigma = getattr(mechanism, "sigma", None)
    kind = type(mechanism).__name__
    return kind if sigma is None else f"{kind}(sigma={sigma:.4g})"
