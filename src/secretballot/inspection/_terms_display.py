"""Plot of the terms of a logistic regression, by column."""

from __future__ import annotations

import numpy as np

from secretballot.inspection._axes import ink, label_text, pyplot

#: Largest number of categories; those with the largest effects are drawn.
_MAX_CATEGORIES = 15
_COLUMNS, _WIDTH, _HEIGHT = 3, 3.6, 2.8
#: Half width of the bands in standard deviations.
_BAND = 2.0


class TermsDisplay:
    """Plot of the contribution of each column to the log odds, with its known error.

    Use `from_estimator` to make one from a fitted `PrivateLogisticRegression`. Numbers are steps
    over their bins, values that are a bin of their own are points, and categories are sorted
    points. Effects are centred: the mean over the bins of a column, each counted alike, is 0.
    Bands are two standard deviations either way, by the known errors (noise, sample, public rows).

    Parameters
    ----------
    terms : sequence of AdditiveTerm
        As `PrivateLogisticRegression.terms` returns them.
    target : object, default=None
        Of which class they are; for the label of the axes.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (n_terms,)
        One panel for each term.
    figure_ : matplotlib Figure

    See Also
    --------
    secretballot.linear.PrivateLogisticRegression.terms : The numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
    >>> from secretballot.inspection import TermsDisplay
    >>> X = np.random.default_rng(0).normal(size=(1_000, 2))
    >>> model = PrivateLogisticRegression(
    ...     classes=[0, 1], accountant=PrivacyAccountant(epsilon=1.0, delta=1e-5)
    ... ).fit(X[:900], X[:900, 0] > 0, X_public=PublicData(X[900:]))
    >>> display = TermsDisplay.from_estimator(model, columns=[0])
    >>> display.axes_[0].get_title()
    'column 0'
    """

    def __init__(self, terms, *, target=None):
        self.terms = terms
        self.target = target

    @classmethod
    def from_estimator(cls, estimator, columns=None, *, target=None, axes=None):
        """Draw the terms of a fitted model. Nothing is spent.

        Parameters
        ----------
        estimator : PrivateLogisticRegression
            Fitted, with additive features.
        columns : sequence, default=None
            Names of the columns to draw (positions, if it was fitted on an array), in this order.
            All of them if None.
        target : object, default=None
            Class whose log odds are drawn. None: the second of two classes.
        axes : sequence of matplotlib Axes, default=None
            Where to draw; see `plot`.

        Returns
        -------
        display : TermsDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If a column is unknown, the features are not additive, or ``target`` is none of the
            classes, or is missing with more than two.
        """
        terms = estimator.terms(target)
        if columns is not None:
            by_name = {term.name: term for term in terms}
            unknown = [name for name in columns if name not in by_name]
            if unknown or not len(columns):
                raise ValueError(
                    f"columns={columns!r} must be some of the columns that the model was fitted "
                    f"on: {list(by_name)}."
                )
            terms = [by_name[name] for name in columns]
        target = estimator.classes_[-1] if target is None else target
        return cls(terms, target=target).plot(axes)

    def plot(self, axes=None):
        """Draw the display.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            As many as there are terms; a new figure if None.

        Returns
        -------
        display : TermsDisplay
            The display itself.
        """
        plt = pyplot(self)
        n_terms = len(self.terms)
        if axes is None:
            n_columns = min(n_terms, _COLUMNS)
            n_rows = -(-n_terms // n_columns)
            size = (_WIDTH * n_columns, _HEIGHT * n_rows)
            _, grid = plt.subplots(
                n_rows, n_columns, layout="constrained", figsize=size, squeeze=False
            )
            for empty in grid.flat[n_terms:]:
                empty.remove()
            axes = grid.flat[:n_terms]
        self.axes_ = np.ravel(np.asarray(axes, dtype=object))
        if len(self.axes_) != n_terms:
            raise ValueError(f"axes has {len(self.axes_)} entries; this display draws {n_terms}.")
        self.figure_ = self.axes_[0].figure
        added = "added to the log odds"
        if self.target is not None:
            added += f" of {label_text(self.target)}"
        for ax, term in zip(self.axes_, self.terms, strict=True):
            name = term.name if isinstance(term.name, str) else f"column {term.name}"
            ax.set_title(label_text(name))
            if term.edges is None:
                _draw_categories(ax, term, added)
            else:
                _draw_number(ax, term, added)
        return self


def _draw_number(ax, term, added):
    n_values = len(term.values)
    effect, error = term.effect[n_values:], _BAND * term.error[n_values:]
    ends = _ends(term.values, term.edges)
    band = {"color": "C0", "fill": True, "alpha": 0.25, "linewidth": 0}
    ax.stairs(effect + error, ends, baseline=effect - error, **band)
    ax.stairs(effect, ends, baseline=None, color="C0")
    if n_values:
        style = {"fmt": "o", "markersize": 4, "color": "C1"}
        apart = _BAND * term.error[:n_values]
        ax.errorbar(term.values, term.effect[:n_values], yerr=apart, **style)
    ax.axhline(0, color=ink(ax), linewidth=0.8, linestyle=":")
    ax.set(ylabel=added)


def _ends(values, edges):
    """Add a finite end for the first and the last interval, which are open."""
    points = np.union1d(values, edges)
    if not len(points):
        return np.array([0.0, 1.0])
    width = (points[-1] - points[0]) / max(len(points) - 1, 1) or max(abs(points[0]), 1.0) / 2
    return np.concatenate([points[:1] - width, edges, points[-1:] + width])


def _draw_categories(ax, term, added):
    shown = np.argsort(-np.abs(term.effect), kind="stable")[:_MAX_CATEGORIES]
    shown = shown[np.argsort(term.effect[shown], kind="stable")]
    places = np.arange(len(shown))
    style = {"fmt": "o", "markersize": 4, "color": "C0"}
    ax.errorbar(term.effect[shown], places, xerr=_BAND * term.error[shown], **style)
    ax.set_yticks(places, [label_text(term.labels[at]) for at in shown], fontsize="small")
    ax.axvline(0, color=ink(ax), linewidth=0.8, linestyle=":")
    ax.set(xlabel=added)
    if len(shown) < len(term.labels):
        ax.set_title(f"{ax.get_title()} ({len(shown)} of {len(term.labels)})")
