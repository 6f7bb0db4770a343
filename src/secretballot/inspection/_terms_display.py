"""Display of the terms of a logistic regression, by column."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from secretballot.inspection._axes import AxesLike, PanelsDisplay, label_text, thin
from secretballot.linear._additive_term import AdditiveTerm, PairTerm
from secretballot.linear._private_linear_regression import PrivateLinearRegression
from secretballot.linear._private_logistic_regression import PrivateLogisticRegression

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Largest number of categories; those with the largest effects are drawn.
_MAX_CATEGORIES = 15
#: Most panels beside each other, and the size of one in inches.
_MAX_COLUMNS, _PANEL_SIZE = 3, (3.6, 2.8)
#: Half width of the bands in standard deviations.
_BAND = 2.0


@dataclass(repr=False, eq=False)
class TermsDisplay(PanelsDisplay):
    """Plot of the contribution of each column to a prediction, with its known error.

    Use `from_estimator` to make one from a fitted `PrivateLogisticRegression` or
    `PrivateLinearRegression`. Numbers are steps over their bins, or lines between their knots;
    values that are a bin of their own are points, and categories are sorted points. Pairs of
    columns are maps of the bins of both. Effects are centred: the mean over the bins of a column,
    each counted alike, is 0. Bands are two standard deviations either way, by the known errors
    (noise, sample, public rows). A dashed line is the effect of missing cells, if it is clear.

    Parameters
    ----------
    terms : sequence of AdditiveTerm or PairTerm
        As `PrivateLogisticRegression.terms` returns them.
    target : object, default=None
        Of which class they are; for the label of the axes.
    quantity : str, default="log odds"
        To what effects are added; for the label of the axes.

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

    terms: Sequence[AdditiveTerm | PairTerm]
    _: KW_ONLY
    target: object = None
    quantity: str = "log odds"

    @classmethod
    def from_estimator(
        cls,
        estimator: PrivateLogisticRegression | PrivateLinearRegression,
        columns: Sequence[Hashable] | None = None,
        *,
        target: Hashable = None,
        axes: AxesLike = None,
    ) -> Self:
        """Draw the terms of a fitted model. Nothing is spent.

        Parameters
        ----------
        estimator : PrivateLogisticRegression or PrivateLinearRegression
            Fitted, with additive features.
        columns : sequence, default=None
            Names of the columns to draw (positions, if it was fitted on an array), in this order.
            All of them if None.
        target : object, default=None
            Class, or index of a label, whose log odds are drawn; not for numbers. None: the second
            of two `classes_`, which are sorted.
        axes : sequence of matplotlib Axes, default=None
            Where to draw; see `plot`.

        Returns
        -------
        TermsDisplay

        Raises
        ------
        ValueError
            If a column is unknown, the features are not additive, or ``target`` is none of the
            classes, or is missing with more than two.
        """
        of_numbers = isinstance(estimator, PrivateLinearRegression)
        if of_numbers and target is not None:
            raise ValueError(f"target={target!r} is for classes and labels, not for numbers.")
        explain: Callable[..., list[AdditiveTerm | PairTerm]] = estimator.terms
        terms = explain() if target is None else explain(target)
        if columns is not None:
            by_name = {term.name: term for term in terms}
            unknown = [name for name in columns if name not in by_name]
            if unknown or not len(columns):
                raise ValueError(
                    f"columns={columns!r} must be some of the columns that the model was fitted "
                    f"on: {list(by_name)}."
                )
            terms = [by_name[name] for name in columns]
        if of_numbers:
            return cls(terms, quantity="prediction").plot(axes)
        of_class = estimator.classes_[-1] if target is None else target
        return cls(terms, target=of_class).plot(axes)

    def plot(self, axes: AxesLike = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            As many as there are terms; a new figure if None.

        Returns
        -------
        self
        """
        n_terms = len(self.terms)
        n_columns = min(n_terms, _MAX_COLUMNS)
        self.axes_ = self._open_axes(axes, n_terms, n_columns=n_columns, size=_PANEL_SIZE)
        added = f"added to the {self.quantity}"
        if self.target is not None:
            added += f" of {label_text(self.target)}"
        for ax, term in zip(self.axes_, self.terms, strict=True):
            ax.set_title(label_text(_title(term.name)))
            if isinstance(term, PairTerm):
                _draw_pair(term, ax, added)
            else:
                _draw_column(term, ax, added)
        return self


def _draw_column(term: AdditiveTerm, ax: Axes, added: str) -> None:
    """Draw the term of one column, with a label that says what is added."""
    if term.values is not None and term.knots is not None:
        _draw_knots(ax, term, term.values, term.knots)
        ax.set(ylabel=added)
    elif term.values is None or term.edges is None:
        _draw_categories(ax, term)
        ax.set(xlabel=added)
    else:
        _draw_number(ax, term, term.values, term.edges)
        ax.set(ylabel=added)
    if term.missing is not None and term.missing_error is not None:
        is_clear = abs(term.missing) > _BAND * term.missing_error
        draw_line = ax.axvline if term.values is None else ax.axhline
        if is_clear:
            draw_line(term.missing, color="C2", linestyle="--", linewidth=1, label="missing")
            ax.legend(fontsize="small")


def _draw_pair(term: PairTerm, ax: Axes, added: str) -> None:
    largest = float(np.abs(term.effect).max()) or 1.0
    image = ax.imshow(term.effect, cmap="PuOr", vmin=-largest, vmax=largest, aspect="auto")
    rows, columns = (np.arange(len(labels)) for labels in term.labels)
    ax.set_yticks(rows, [label_text(text) for text in term.labels[0]], fontsize="small")
    ax.set_xticks(
        columns, [label_text(text) for text in term.labels[1]], fontsize="small", rotation=90
    )
    ax.figure.colorbar(image, ax=ax, label=added)


def _title(name: Hashable) -> str:
    if isinstance(name, tuple):
        return " and ".join(_title(part) for part in name)
    return name if isinstance(name, str) else f"column {name}"


def _draw_number(
    ax: Axes, term: AdditiveTerm, values: NDArray[np.float64], edges: NDArray[np.float64]
) -> None:
    (step, half_width), ends = _between(term), _ends(values, edges)
    ax.stairs(
        step + half_width,
        ends,
        baseline=step - half_width,
        color="C0",
        fill=True,
        alpha=0.25,
        linewidth=0,
    )
    ax.stairs(step, ends, baseline=None, color="C0")
    _draw_values(ax, term, values)


def _draw_knots(
    ax: Axes, term: AdditiveTerm, values: NDArray[np.float64], knots: NDArray[np.float64]
) -> None:
    effect, error = _between(term)
    ax.fill_between(knots, effect - error, effect + error, color="C0", alpha=0.25, linewidth=0)
    ax.plot(knots, effect, color="C0")
    _draw_values(ax, term, values)


def _between(term: AdditiveTerm) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the effects of intervals, or knots, and the half widths of their bands."""
    chosen = ~term.is_value
    chosen[_n_present(term) :] = False
    return term.effect[chosen], _BAND * term.error[chosen]


def _n_present(term: AdditiveTerm) -> int:
    """Return the number of labels without that of missing cells."""
    return len(term.labels) - (term.missing is not None)


def _draw_values(ax: Axes, term: AdditiveTerm, values: NDArray[np.float64]) -> None:
    """Draw the effects of single values as points."""
    if len(values):
        single = term.is_value
        error = _BAND * term.error[single]
        ax.errorbar(values, term.effect[single], yerr=error, fmt="C1o", markersize=4)
    ax.axhline(0, **thin(ax, ":"))


def _ends(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add a finite end for the first and the last interval, which are open."""
    points = np.union1d(values, edges)
    if not len(points):
        return np.array([0.0, 1.0])
    width = (points[-1] - points[0]) / max(len(points) - 1, 1) or max(abs(points[0]), 1.0) / 2
    return np.concatenate([points[:1] - width, edges, points[-1:] + width])


def _draw_categories(ax: Axes, term: AdditiveTerm) -> None:
    n_present = _n_present(term)
    shown = np.argsort(-np.abs(term.effect[:n_present]), kind="stable")[:_MAX_CATEGORIES]
    shown = shown[np.argsort(term.effect[shown], kind="stable")]
    places = np.arange(len(shown))
    effect, error = term.effect[shown], _BAND * term.error[shown]
    ax.errorbar(effect, places, xerr=error, fmt="C0o", markersize=4)
    ax.set_yticks(places, [label_text(term.labels[at]) for at in shown], fontsize="small")
    ax.axvline(0, **thin(ax, ":"))
    if len(shown) < n_present:
        ax.set_title(f"{ax.get_title()} ({len(shown)} of {n_present})")
