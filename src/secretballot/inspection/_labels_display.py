"""Display of how many labels a budget buys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from secretballot._base._numbers import check_integer
from secretballot.costs._groups import EVERYONE
from secretballot.costs._law import NoisyMax
from secretballot.costs._orders import Floats
from secretballot.costs._price import price_plan
from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble
from secretballot.inspection._axes import (
    AxesDisplay,
    caution,
    depends_on_votes,
    draw_line,
    ink,
    label_text,
    plain_logarithms,
    thin,
)
from secretballot.mechanisms._base import Mechanism

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curves: TypeAlias = dict[str, tuple[Floats, NDArray[np.int64]]]

_ACCOUNTINGS = ("plan", "renyi")

#: Numbers of rows that are priced within a second or two: votes on classes, and others.
_CLASS_ROWS, _OTHER_ROWS = 512, 64

#: Rows of more classes need some 1 % more noise than rows of two, which are priced much faster.
_MORE_CLASSES = 1.02


@dataclass(repr=False, eq=False)
class LabelsDisplay(AxesDisplay):
    """Plot of the number of rows that an epsilon buys, for one or several mechanisms.

    Use `from_mechanism` or, for a fitted ensemble, `from_estimator`. Both use public numbers only.
    Rows are those that are begun: with a threshold some of them get no label.

    Parameters
    ----------
    curves : dict of str to (epsilon, n_rows)
        Curves by name: numbers of rows, and their epsilons.
    delta : float
        Delta of all epsilons.
    budgets : dict of str to float, default=None
        Budgets by level, marked by lines.
    pool : (epsilon, n_rows), default=None
        Pool of a fit, marked by a point.
    sensitive : bool, default=False
        Draw a caution, because the noise was calibrated to the rest of a data-dependent budget.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One for each curve.

    Examples
    --------
    >>> from secretballot import GNMax
    >>> from secretballot.inspection import LabelsDisplay
    >>> display = LabelsDisplay.from_mechanism(GNMax(sigma=40), n_rows=64)
    >>> epsilon, n_rows = display.curves["GNMax(sigma=40), plan"]
    >>> print(n_rows[-1], epsilon[-1].round(2))
    64 0.84
    """

    curves: Curves
    _: KW_ONLY
    delta: float
    budgets: Mapping[str, float] | None = None
    pool: tuple[float, int] | None = None
    sensitive: bool = False

    @classmethod
    def from_mechanism(
        cls,
        mechanism: Mechanism | Mapping[str, Mechanism],
        *,
        delta: float = 1e-5,
        n_columns: int = 2,
        n_rows: int | None = None,
        accounting: str | Sequence[str] = _ACCOUNTINGS,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the largest cost of rows of a mechanism, or of several.

        Parameters
        ----------
        mechanism : mechanism or dict of str to mechanism
            A mechanism of votes, such as `GNMax`, or several by name.
        delta : float, default=1e-5
        n_columns : int, default=2
            Number of classes, or of labels a row. Votes on more than two classes are priced as
            votes on two with 2 % less noise, which overstates the cost a little.
        n_rows : int, default=None
            Largest number of rows. None: as many as are priced in a second or two.
        accounting : sequence of {"plan", "renyi"}, default=("plan", "renyi")
            All rows as one plan, by its exact worst case; or row by row, by Renyi divergences.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        LabelsDisplay
        """
        curves = _curves(mechanism, delta, n_columns, n_rows, accounting)
        return cls(curves, delta=delta).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: PrivateTeacherEnsemble,
        *,
        n_rows: int | None = None,
        accounting: str | Sequence[str] = _ACCOUNTINGS,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the cost of rows with the noise of a fitted ensemble, its budget and its pool.

        Nothing is spent.

        Parameters
        ----------
        estimator : PrivateTeacherEnsemble
            Fitted, with a pool that was labelled.
        n_rows : int, default=None
            Largest number of rows. None: twice the pool, but no more than are priced in a second or
            two.
        accounting, ax
            As for `from_mechanism`.

        Returns
        -------
        LabelsDisplay

        Raises
        ------
        ValueError
            If it has no accountant any more.
        """
        check_is_fitted(estimator, "pool_labels_")
        if estimator.accountant is None:
            raise ValueError(
                "accountant=None: there is no budget to mark. LabelsDisplay.from_mechanism draws "
                "the cost of rows of mechanism_."
            )
        accountant, n_pool = estimator.accountant, len(estimator.pool_labels_.labels)
        n_columns = len(estimator.classes_)
        if n_rows is None:
            n_rows = min(max(2 * n_pool, _OTHER_ROWS), _max_rows(estimator.mechanism_))
        curves = _curves(estimator.mechanism_, accountant.delta, n_columns, n_rows, accounting)
        epsilon = accountant.epsilon
        budgets = epsilon if isinstance(epsilon, dict) else {"budget": epsilon}
        pool, n_accountings = None, 1 if isinstance(accounting, str) else len(accounting)
        if n_pool <= n_rows and len(curves) == n_accountings:
            # One level: the pool is paid for by the cheapest curve.
            logs = [np.interp(np.log(n_pool), np.log(n), np.log(e)) for e, n in curves.values()]
            pool = (float(np.exp(min(logs))), n_pool)
        sensitive = depends_on_votes(estimator)
        return cls(
            curves, delta=accountant.delta, budgets=budgets, pool=pool, sensitive=sensitive
        ).plot(ax)

    def _draw_on(self, ax: Axes) -> None:
        self.lines_ = []
        for name, (epsilon, n_rows) in self.curves.items():
            self.lines_ += draw_line(ax, epsilon, n_rows, label_text(name))
        for level, budget in (self.budgets or {}).items():
            ax.axvline(budget, **thin(ax, "--"))
            ax.annotate(
                label_text(level),
                xy=(budget, 0),
                xycoords=("data", "axes fraction"),
                xytext=(-3, 4),
                textcoords="offset points",
                rotation=90,
                ha="right",
                va="bottom",
                fontsize="small",
            )
        if self.pool is not None:
            label = f"pool: {self.pool[1]:,} rows"
            ax.plot(*self.pool, "*", markersize=12, color=ink(ax), label=label)
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="epsilon",
            ylabel="rows",
            title=f"rows that an epsilon buys, delta = {self.delta:g}",
        )
        plain_logarithms(ax.xaxis, ax.yaxis)
        if self.sensitive:
            caution(ax)
        ax.legend(fontsize="small")


def _curves(
    mechanism: Mechanism | Mapping[str, Mechanism],
    delta: float,
    n_columns: int,
    n_rows: int | None,
    accounting: str | Sequence[str],
) -> Curves:
    """Compute the epsilon of 1, 2, 4, ... rows, for each mechanism, accounting and level."""
    accountings = (accounting,) if isinstance(accounting, str) else tuple(accounting)
    if not accountings or not set(accountings) <= set(_ACCOUNTINGS):
        raise ValueError(f'accounting={accounting!r} must be some of "plan" and "renyi".')
    by_name = {_name(mechanism): mechanism} if isinstance(mechanism, Mechanism) else mechanism
    curves = {}
    for name, votes in by_name.items():
        most = _max_rows(votes) // len(by_name) if n_rows is None else n_rows
        check_integer("n_rows", most)
        rows = np.unique([*(2 ** np.arange(int(np.log2(most)) + 1)), most])
        votes, columns = _with_few_classes(votes, n_columns)
        for kind in accountings:
            price = _by_plan if kind == "plan" else _by_renyi
            for level, epsilon in price(votes, rows, delta, columns).items():
                label = name if level == EVERYONE else f"{name}, {level}"
                curves[f"{label}, {kind}"] = (epsilon, rows)
    return curves


def _max_rows(mechanism: Mechanism) -> int:
    return _CLASS_ROWS if _is_noisy_max(mechanism) else _OTHER_ROWS


def _is_noisy_max(mechanism: Mechanism) -> bool:
    """Check for one noisy maximum of the counts of classes."""
    moves = [[type(step.move) for step in law] for law in mechanism.laws().values()]
    return moves == [[NoisyMax]] and not mechanism.multilabel


def _with_few_classes(mechanism: Mechanism, n_columns: int) -> tuple[Mechanism, int | None]:
    """Replace a vote on many classes by one on two with less noise, which is priced faster."""
    if n_columns == 2 or mechanism.multilabel:
        return mechanism, n_columns
    if _is_noisy_max(mechanism):
        return mechanism.scaled(1 / _MORE_CLASSES), 2
    return mechanism, None


def _by_plan(
    mechanism: Mechanism, rows: NDArray[np.int64], delta: float, n_columns: int | None
) -> dict[str, Floats]:
    prices = [price_plan(mechanism, n, n_columns=n_columns) for n in rows.tolist()]
    by_level = [price if isinstance(price, dict) else {EVERYONE: price} for price in prices]
    return {
        level: np.array([price[level].epsilon(delta) for price in by_level])
        for level in by_level[0]
    }


def _by_renyi(
    mechanism: Mechanism, rows: NDArray[np.int64], delta: float, n_columns: int | None
) -> dict[str, Floats]:
    return {
        level: np.asarray((row_cost * rows).epsilon(delta))
        for level, row_cost in mechanism.max_cost(n_columns).items()
        if "/" not in level  # parts of a level take turns: each has other rows
    }


def _name(mechanism: Mechanism) -> str:
    sigma = mechanism.count_noise
    kind = type(mechanism).__name__
    return kind if sigma is None else f"{kind}(sigma={sigma:.4g})"
