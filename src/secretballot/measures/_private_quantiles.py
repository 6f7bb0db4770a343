"""Private quantiles: columns of numbers in, their quantiles out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from secretballot._base._errors import NOT_FOR_PUBLICATION, CompletedInterrupt, warn
from secretballot._base._numbers import check_integer, check_no_public_data, check_number, quoted
from secretballot._base._view import Prose, Shown, Table, View
from secretballot.accounting._accountant import PrivacyAccountant, check_accountant
from secretballot.accounting._answers import Share, answer_scope, check_amount
from secretballot.accounting._protocol import RandomState
from secretballot.accounting._release_plan import PlannedRelease, Run, unpaid_run
from secretballot.ledger._budget import Scope
from secretballot.measures._number_columns import NumberColumns, RankSums
from secretballot.measures._rank_grid import LEAST_ERRORS, NoisyRanks, RankGrid
from secretballot.mechanisms._noisy_counts import NoisyCounts
from secretballot.tables._cells import date_text
from secretballot.tables._column_bounds import date_bounds, read_bounds
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._public_rows_check import MOST_BUDGET_SHARE, share_after, share_of
from secretballot.tables._table_checks import check_row_order

#: Noise on the count as a share of the people: the first that is cheap enough is taken.
_NOISE_SHARES = (0.04, 0.08)
#: Largest noise on the count.
_MOST_NOISE = 1_000.0
#: Standard deviations of the noise by which an accepted count is below the number of people.
_ERRORS = 3.0
#: Largest share of the people, by this count, without a warning.
_FEW_OUTSIDE = 0.25
#: Largest number of bins of a column, and of all columns.
_MOST_BINS, _ALL_BINS = 4096, 2**20


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivateQuantiles(Shown):
    """Quantiles of columns, as `private_quantiles` releases them.

    Attributes
    ----------
    columns : tuple
        Names, or positions, of the columns.
    q : ndarray of shape (n_levels,)
        Levels of the quantiles, between 0 and 1.
    values : ndarray of shape (n_columns, n_levels)
        The quantiles; NaN for a column in which nobody seems to have a value. Dates are days since
        1970 (``pandas.to_datetime(values, unit="D")``), and durations days.
    rank_error : float
        Largest standard deviation of the share of people below a value: the noise alone.
    n : int
        Number of rows, or owners.
    unit : str
        ``"row"``, or ``"owner"``.
    bounds_check : str
        What the check of the bounds cost, or why there was none.
    """

    columns: tuple[Hashable, ...]
    q: NDArray[np.float64]
    values: NDArray[np.float64]
    rank_error: float
    n: int
    unit: str
    bounds_check: str
    _ranks: NoisyRanks = field(repr=False)
    _dates: frozenset[Hashable] = field(repr=False)

    def interval(self, confidence: float = 0.9) -> NDArray[np.float64]:
        """Return intervals for the quantiles of these rows. Free of charge.

        Each covers the noise, and the width of a bin, with the given probability; not the
        sampling of rows.

        Parameters
        ----------
        confidence : float, default=0.9

        Returns
        -------
        ndarray of shape (n_columns, n_levels, 2)
            Lower and upper ends.
        """
        check_number("confidence", confidence, above=0, below=1)
        width = float(ndtri((1 + confidence) / 2)) * self.rank_error
        return self._ranks.intervals(self.q, width)

    def _view(self) -> View:
        rows = [
            (str(name), *(self._text(name, value) for value in values))
            for name, values in zip(self.columns, self.values, strict=True)
        ]
        table = Table(("", *(f"{level:.3g}" for level in self.q)), rows)
        counted = f"{self.n:,} {self.unit}s, noise {self.rank_error:.2%} in a rank"
        notes = (Prose.of(counted, quiet=True), Prose.of(self.bounds_check, quiet=True))
        return View("PrivateQuantiles", (table, *notes))

    def _text(self, name: Hashable, value: float) -> str:
        is_date = name in self._dates and not np.isnan(value)
        return date_text(value) if is_date else f"{value:.5g}"


@dataclass(frozen=True)
class BoundsCheck:
    """Check of declared bounds: a noisy count, charged like any release.

    The count is the largest, over all columns, of the people without a value within the bounds.
    Replacing one person changes it by 1 at most, however many columns there are.
    """

    n: int
    #: Noise on the count; None where there is no check.
    sigma: float | None
    #: Share of what the release may spend.
    share: float

    NAME: ClassVar[str] = "bounds check"

    @classmethod
    def of(cls, accountant: PrivacyAccountant, n: int, scope: Scope) -> BoundsCheck:
        for noise_share in _NOISE_SHARES:
            sigma = min(noise_share * n, _MOST_NOISE)
            share = share_of(accountant, NoisyCounts(sigma=sigma), scope)
            if share <= MOST_BUDGET_SHARE:
                return cls(n, sigma, share)
        return cls(n, None, 0.0)

    @property
    def remaining_share(self) -> float:
        return share_after(self.share)

    def planned(self, unit: str) -> list[PlannedRelease]:
        """Return the release of the count, if there is one."""
        if self.sigma is None:
            return []
        measured = f"{unit}s without a value within bounds"
        return [
            PlannedRelease(
                name=self.NAME,
                mechanism=NoisyCounts(sigma=self.sigma),
                n_rows=1,
                share=self.share,
                reads=f"{measured}, the most of all columns",
                n_columns=1,
                note={"measured": measured, "n_counted": self.n},
            )
        ]

    def draw(self, run: Run, counted: RankSums) -> None:
        """Draw the count; ValueError, with the cost spent, if it is close to all people."""
        if self.sigma is None:
            return
        worst, count = max(counted.n_outside.items(), key=itemgetter(1))
        try:
            noisy = float(run.release(self.NAME, [[count]])[0, 0])
        except CompletedInterrupt:
            raise KeyboardInterrupt from None  # the count is not the answer of the user's call
        if noisy > self.n - _ERRORS * self.sigma:
            raise ValueError(
                f"about {min(noisy / self.n, 1):.0%} of the {counted.unit}s have no value within "
                "the bounds of a column: its cells are missing, or lie outside. Quantiles would be "
                f"a bound; they were not released, and {self.share:.2g} of what they may cost was "
                "paid for this check. Declare bounds in the unit of the column, or leave it out. "
                f"The column is {worst!r}. {NOT_FOR_PUBLICATION}"
            )
        if noisy > _FEW_OUTSIDE * self.n:
            # Of several columns, only private cells tell which one it is.
            column = f"the column {worst!r}" if len(counted.n_outside) == 1 else "a column"
            warn(
                f"about {noisy / self.n:.0%} of the {counted.unit}s, by the noisy count of the "
                f"check, have no value within the bounds of {column}: its cells are missing, lie "
                "outside, or are no numbers, such as '1,234.56', or infinite. Quantiles are those "
                "of the cells that are numbers. Declare bounds in the unit of the column. If it "
                "holds texts, pass numbers, pandas.to_numeric(X[column].str.replace(',', '')); if "
                "it holds infinite numbers, X[column].clip(low, high) counts them at the bounds."
            )

    def __str__(self) -> str:
        if self.sigma is None:
            return f"bounds not checked: it would cost more than {MOST_BUDGET_SHARE:.0%}"
        return f"bounds checked for {self.share:.2g} of the cost"


def private_quantiles(
    X: ArrayLike | PrivateParts,
    q: float | ArrayLike = (0.25, 0.5, 0.75),
    *,
    bounds: ArrayLike | Mapping[Hashable, ArrayLike],
    accountant: PrivacyAccountant,
    epsilon: float | dict[str, float] | None = None,
    share: Share = None,
    owners: ArrayLike | None = None,
    n_bins: int = 1024,
    random_state: int | np.random.Generator | None = None,
) -> PrivateQuantiles:
    """Release all quantiles of all columns by one noisy sum. **This spends budget.**

    Parameters
    ----------
    X : array-like, Series or data frame of shape (n_rows,) or (n_rows, n_columns), or PrivateParts
        Private numbers, times or durations. Cells that are none count as missing; others are moved
        to the nearest bound. Of `PrivateParts`, bounds select any columns but those of owners and
        groups.
    q : float or array-like of shape (n_levels,), default=(0.25, 0.5, 0.75)
        Levels between 0 and 1. Further ones cost nothing. Least and largest values depend on
        single people, and are not released.
    bounds : pair, array-like of shape (n_columns, 2) or dict
        Declared ``(low, high)`` of all columns, of each, or by column; a dict selects the columns
        that are released, and is needed for `PrivateParts`. Times, or texts of these in ISO 8601,
        declare a column of times, and durations one of durations. Bounds that are too wide cost
        little.
    accountant : PrivacyAccountant
        The budget of these rows. Its relation is ``"replace"``.
    epsilon : float or dict of str to float, default=None
        Largest cost of this release; or `share`.
    share : float, dict of str to float or "rest", default=None
        Largest cost as a part of the whole budget, as ``accountant.price`` returns it; ``"rest"``:
        all that is left.
    owners : array-like of shape (n_rows,), default=None
        Owner id of each row, and the accountant's unit is ``"owner"``. All owners have equal
        weight. None beside `PrivateParts`.
    n_bins : int, default=1024
        Bins between the bounds: half of them even, half with widths proportional to the distance
        from 0. A quantile is known to the width of a bin at best.
    random_state : int, Generator or None, default=None
        None: a cryptographic generator. A seed is for tests, and protects nobody.

    Returns
    -------
    PrivateQuantiles

    Raises
    ------
    ValueError
        If no amount is given, a parameter is out of range, no cell of a column can be read as a
        number, noise would drown every quantile of so few rows, or owners and the accountant's
        unit don't go together; nothing is spent. If hardly anybody has a value within the bounds of
        a column; the check, up to 1 % of the release, is paid.
    BudgetExceededError
        If the remaining budget is too small, or less than `epsilon` or `share`; nothing is spent.

    See Also
    --------
    private_top_k : The most frequent items.

    Notes
    -----
    The released vector is the histogram of each column, multiplied by the square root of the matrix
    of prefix sums [1]_. Multiplied by this root again it gives ranks, whose noise hardly grows with
    the number of bins: at 1,024 bins its standard deviation is about ``4 sqrt(n_columns) / mu``
    people, for every rank of every column.

    Before, a noisy count of the people without a value within the bounds of a column (the largest
    of all columns, with noise of 4 or 8 % of the people) is released, an entry of its own in the
    ledger; above a quarter of the people it warns. Where it would cost more than 1 % of the
    release, below some 470 people at epsilon 1 and delta 1e-5, there is none, and such columns are
    paid for.

    References
    ----------
    .. [1] Fichtenberger, Henzinger and Upadhyay, "Constant matters: Fine-grained error bound on
       differentially private continual observation" (ICML 2023).

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.measures import private_quantiles
    >>> ages = 20 + np.arange(40_000) % 60
    >>> accountant = PrivacyAccountant(epsilon=1, delta=1e-5)
    >>> released = private_quantiles(
    ...     ages, [0.1, 0.5], bounds=(0, 120), accountant=accountant, share=0.2
    ... )
    >>> bool(abs(released.values[0, 1] - 50) < 1)
    True
    """
    check_integer("n_bins", n_bins, least=2, most=_MOST_BINS)
    levels = _check_levels(q)
    check_accountant(accountant)
    check_no_public_data("X", X)
    check_amount("private_quantiles", epsilon=epsilon, share=share)
    check_row_order("owners", owners, X)
    columns = NumberColumns.of(X, owners, accountant)
    if isinstance(X, PrivateParts) and not isinstance(bounds, Mapping):
        raise ValueError(
            f"bounds={quoted(bounds)}: columns of parts are found by name. Give a dict, such as "
            '{"age": (0, 120)}.'
        )
    declared = read_bounds(bounds, columns.names, columns.not_texts)
    days = date_bounds(bounds, columns.names)
    if not declared:
        raise ValueError("bounds names no column; give (low, high) of at least one.")
    if len(declared) * n_bins > _ALL_BINS:
        raise ValueError(
            f"n_bins={n_bins!r} for each of {len(declared)} columns are more than {_ALL_BINS} "
            "numbers; use fewer bins, or release some of the columns."
        )
    rank_grid = RankGrid.between(list(declared), declared, n_bins)
    counted = columns.rank_sums(rank_grid, declared, days)
    scope = answer_scope(accountant, epsilon, share)
    check = BoundsCheck.of(accountant, counted.n_people, scope)
    mechanism = accountant.calibrate(
        rank_grid.mechanism, 1, scope=scope, share=check.remaining_share
    )
    _check_noise(rank_grid.error(mechanism.sigma), counted)

    release = PlannedRelease(
        name="quantiles",
        mechanism=mechanism,
        n_rows=1,
        share=check.remaining_share,
        reads=f"numbers of {counted.unit}s below each value, by column",
        note={"measured": "quantiles", "n_counted": counted.n_people},
    )

    def noise(name: str, _: int) -> RandomState:
        if name == release.name or isinstance(random_state, np.random.Generator | None):
            return random_state
        return np.random.SeedSequence(random_state, spawn_key=(1,))

    releases = [*check.planned(counted.unit), release]
    run = unpaid_run(accountant, *releases, scope=scope, noise=noise)
    check.draw(run, counted)

    def result(released: NDArray[np.float64]) -> PrivateQuantiles:
        ranks = rank_grid.ranks(released, mechanism.sigma, counted.n_people)
        return PrivateQuantiles(
            columns=rank_grid.names,
            q=levels,
            values=ranks.quantiles(levels),
            rank_error=ranks.error / counted.n_people,
            n=counted.n_people,
            unit=counted.unit,
            bounds_check=str(check),
            _ranks=ranks,
            _dates=frozenset(name for name, kind in days.items() if kind == "time"),
        )

    return run.answer(release.name, counted.sums, result)


def _check_noise(error: float, counted: RankSums) -> None:
    """Raise ValueError if ranks are so noisy that no column would have quantiles."""
    if LEAST_ERRORS * error >= counted.n_people:
        raise ValueError(
            f"noise would move each rank by some {error:,.0f} {counted.unit}s, and there are "
            f"{counted.n_people:,}: no quantile could be told. Nothing was released or spent. Use "
            f"a larger epsilon, more {counted.unit}s, or bounds= of fewer columns."
        )


def _check_levels(q: float | ArrayLike) -> NDArray[np.float64]:
    try:
        levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
    except (TypeError, ValueError):  # a word, a dict, lists of different lengths
        levels = np.array([np.nan])
    has_lists = isinstance(q, list | tuple) and any(isinstance(part, list | tuple) for part in q)
    if has_lists or levels.ndim != 1 or not len(levels):
        raise ValueError(
            f"q={quoted(q)} must be one number, or one list of levels for all columns, such as "
            "[0.1, 0.5]: further levels cost nothing."
        )
    if not ((levels > 0) & (levels < 1)).all():
        raise ValueError(
            f"q={quoted(q)} must hold levels between 0 and 1, both excluded, such as 0.5 for the "
            "median. The least and the largest value depend on single people. Use 0.01 and 0.99."
        )
    return levels
