"""Noisy check, the first release of a fit, that public rows or declarations match private rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.stats import binom

from secretballot._base._errors import (
    NOT_FOR_PUBLICATION,
    BudgetExceededError,
    CompletedInterrupt,
)
from secretballot._base._sklearn_compat import _num_samples
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._release_plan import PlannedRelease, Run, unpaid_run
from secretballot.ledger._budget import Scope, by_level
from secretballot.mechanisms._noisy_counts import NoisyCounts
from secretballot.tables._columns import Column, Header
from secretballot.tables._fit_checks import price_of_all
from secretballot.tables._frames import (
    column_names,
    container_kind,
    public_table,
    sparse_columns,
)
from secretballot.tables._people import People
from secretballot.tables._row_schema import TARGETS

#: Noise on the count as a share of the people, and its largest value.
_NOISE_SHARE, _MOST_NOISE = 0.08, 1_000.0
#: Column and count if no column is compared.
_NO_COUNT: tuple[Hashable, float] = (None, 0.0)
#: Largest probability of a false alarm.
_FALSE_ALARM = 1e-3
#: Description of the count in the note of the release.
_PUBLIC_NOTE = "rows outside of the public rows"
_DECLARED_NOTE = "rows outside of declared bounds and categories"
_TARGETS_NOTE = ", or of target_bounds"
#: Problem and remedy in the error of a refused fit.
_PUBLIC_WORDS = (
    "X_public does not match X: about {share:.0%} of the private rows lie outside of what it shows "
    "in a column (numbers beyond its range, categories that it does not have, cells of another "
    "type).",
    "Give both the same units and codes, numbers with decimal points (12.5, not '12,5'), and the "
    "same steps of a Pipeline, take months or weekdays of dates of other years",
)
_DECLARED_WORDS = (
    "bounds or categories do not match X: about {share:.0%} of the private rows lie outside of "
    "what is declared of a column (numbers beyond its bounds, or that can't be read; other "
    "categories).",
    "Declare bounds in the unit of the column, and categories as they are spelt and coded in X",
)
_TARGETS_WORDS = (
    "target_bounds={bounds!r} does not match y: about {share:.0%} of the private targets lie "
    "beyond it, and would be clipped to it.",
    "Declare bounds in the unit of y that hold nearly all targets",
)
#: Keys of a fit's note about its ballots, whose weights do not apply to this count.
_BALLOT_KEYS = ("people", "individualization")
#: Largest cost of a check, as a share of what the fit (or other release) after it may spend.
MOST_BUDGET_SHARE = 0.01
#: Share of the budget that is left unspent for rounding.
_ROUNDING_SHARE = 1e-6
#: Most columns that are compared. Of wider tables, such as images, an evenly spaced sample is.
_MOST_COLUMNS = 2_000


@dataclass(frozen=True, kw_only=True)
class PublicRowsCheck:
    """Check of public rows, or of declared columns: a noisy count, charged like any release.

    The count is the largest, over all columns, of the people whose cell lies outside of the ranges
    and categories of the public rows; without public rows, outside of declared bounds and
    categories. The target of a regression is one column more. An owner counts the share of rows.
    Replacing one person changes it by 1 at most, however many columns there are.
    """

    n: int  # rows, or owners
    sigma: float | None = None  # noise on the count; None: there is no check
    share: float = 0.0  # of the fit's budget
    skipped: str = ""  # reason for no check
    count: float | None = None  # noisy, once it is released
    is_declared: bool = False  # True if declared columns are compared, and no public rows
    target_bounds: tuple[float, float] | None = None  # of a regression

    #: Name of the release in a plan.
    NAME: ClassVar[str] = "public rows check"
    #: Index of its noise among the seeded releases of a fit, larger than any other.
    NOISE_INDEX: ClassVar[int] = 2**31

    @classmethod
    def of(
        cls,
        accountant: PrivacyAccountant,
        n: int,
        X_public: ArrayLike | None,
        scope: Scope | None,
        target_bounds: tuple[float, float] | None = None,
        *,
        is_wanted: bool,
        is_reserved: bool = False,
    ) -> PublicRowsCheck:
        """Return the pending check of a fit of `n` rows, or owners: its noise and its price."""
        check = cls(n=n, is_declared=X_public is None, target_bounds=target_bounds)
        if not is_wanted:
            return replace(check, skipped="check_public_rows=False")
        if is_reserved:
            return replace(check, skipped="all releases are drawn from a reservation")
        if X_public is not None:
            n_public, shape = _num_samples(X_public), getattr(X_public, "shape", (0,))
            if math.prod(shape[1:]) * _false_alarm(n_public) > _FALSE_ALARM:
                few = f"{n_public} public rows show too little of what there is"
                return replace(check, skipped=few)
        sigma = min(_NOISE_SHARE * n, _MOST_NOISE)
        share = share_of(accountant, NoisyCounts(sigma=sigma), scope)
        if share > MOST_BUDGET_SHARE:
            return replace(
                check, skipped=f"it would cost more than {MOST_BUDGET_SHARE:.0%} of the fit"
            )
        return replace(check, sigma=sigma, share=share)

    @property
    def remaining_share(self) -> float:
        return share_after(self.share)

    def planned(self) -> list[PlannedRelease]:
        """Return the release of the count, if there is one."""
        if self.sigma is None:
            return []
        shown = "what is declared" if self.is_declared else "the public rows"
        measured = _DECLARED_NOTE if self.is_declared else _PUBLIC_NOTE
        if self.target_bounds is not None:
            measured += _TARGETS_NOTE
        return [
            PlannedRelease(
                name=self.NAME,
                mechanism=NoisyCounts(sigma=self.sigma),
                n_rows=1,
                n_columns=1,
                share=self.share,
                reads=f"people whose cells lie outside of {shown}, by column",
                note={"measured": measured, "n_counted": self.n},
            )
        ]

    def draw(self, run: Run, totals: Callable[[], Mapping[Hashable, float]]) -> PublicRowsCheck:
        """Draw the count of a run; ValueError if it is over half of the people."""
        if self.sigma is None:
            return self
        column, count = max(totals().items(), key=itemgetter(1), default=_NO_COUNT)
        return self._judged(float(run.release(self.NAME, [[count]])[0, 0]), column)

    def release_count(
        self,
        accountant: PrivacyAccountant,
        totals: Callable[[], Mapping[Hashable, float]],
        *,
        scope: Scope | None,
        random_state: int | np.random.SeedSequence | None,
        note: Mapping[str, object],
    ) -> PublicRowsCheck:
        """Release the count; ValueError, with the cost spent, if it is over half of the people."""
        if self.sigma is None:
            return self
        (release,) = self.planned()
        of_fit = {key: value for key, value in note.items() if key not in _BALLOT_KEYS}
        run = unpaid_run(
            accountant, release, scope=scope, note=of_fit, noise=lambda *_: random_state
        )
        try:
            return self.draw(run, totals)
        except CompletedInterrupt:
            raise KeyboardInterrupt from None  # the count is not the answer of the user's call

    def _judged(self, noisy: float, column: Hashable) -> PublicRowsCheck:
        """Return the check with its count; ValueError if it is over half of the people."""
        if noisy > self.n / 2:
            problem, remedy = _DECLARED_WORDS if self.is_declared else _PUBLIC_WORDS
            if column == TARGETS:
                problem, remedy = _TARGETS_WORDS
            share = min(max(noisy / self.n, 0), 1)
            place = "" if column == TARGETS else f"The column is {column!r}. "
            raise ValueError(
                f"{problem.format(share=share, bounds=self.target_bounds)} The fit would learn "
                f"next to nothing; it was not begun, and {self.share:.2g} of what it may spend was "
                f"paid for this check. {remedy}, or pass check_public_rows=False. "
                f"{place}{NOT_FOR_PUBLICATION}"
            )
        return replace(self, count=noisy)

    def __str__(self) -> str:
        checked = "declared columns" if self.is_declared else "public rows"
        if self.sigma is None:
            return f"{checked} not checked: {self.skipped}"
        return f"{checked} checked for {self.share:.2g} of the fit"


def people_outside(
    people: People, masks: Iterable[tuple[Hashable, NDArray[np.bool_]]]
) -> dict[Hashable, float]:
    """Count the people with a masked cell, by column."""
    totals = {}
    for name, outside in masks:
        totals[name] = float(people.total(outside.astype(np.float64)))
    return totals


def _false_alarm(n_public: int) -> float:
    """Compute the probability that matching public rows are refused, for a column of numbers.

    The probability p that a new row lies outside of the range of m others has the distribution
    Beta(2, m - 1), so P(p > x) = P(Binomial(m, x) <= 1).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    line = np.clip(0.5 + _NOISE_SHARE * nodes, 0, 1)
    return float(binom.cdf(1, n_public, line) @ weights / weights.sum())


def share_of(accountant: PrivacyAccountant, mechanism: NoisyCounts, scope: Scope | None) -> float:
    """Compute a check's share of what a scope may spend; infinity if it exceeds it."""
    try:
        price = by_level(accountant.price(mechanism, n_columns=1, scope=scope))
        budget = price_of_all(accountant, scope)
    except BudgetExceededError:
        return math.inf
    share = 0.0
    for level, cost in price.items():
        if budget[level] > 0:
            share = max(share, cost / budget[level])
    return share


def share_after(share: float) -> float:
    return (1 - share) * (1 - _ROUNDING_SHARE) if share else 1.0


def cells_outside(
    X: ArrayLike,
    X_public: ArrayLike,
    categories: Mapping[Hashable, Sequence[Hashable]] | None = None,
    names: Sequence[Hashable] = (),
) -> Iterator[tuple[Hashable, NDArray[np.bool_]]]:
    """Yield, column by column, the mask of private cells outside of the public ones.

    Numbers, booleans, times and durations are outside if they are beyond the public range.
    Categories and texts are outside if no public row shows them and they were not declared, unless
    a quarter of the public cells occur only once. A cell that does not fit the public type is
    outside, and so is a missing cell where no public cell is missing. `categories` are public,
    whether rows show them or not. Without `names` columns have those of the public rows, or their
    positions. A row's mask depends on that row and on public rows alone.
    """
    if container_kind(X_public) in ("", "column", "list"):
        return
    shown: ArrayLike = public_table(X_public, "X_public")
    header = Header(column_names(shown), np.shape(shown)[1:])
    names = names or header.names or range(math.prod(header.shape))
    positions = np.unique(np.linspace(0, len(names) - 1, _MOST_COLUMNS, dtype=int)).tolist()
    tables: list[Iterable[ArrayLike]] = []
    for table in (X, shown):
        if issparse(table):
            tables.append(sparse_columns(table, positions))
        else:
            tables.append(map(header.match_columns(table).__getitem__, positions))
    for index, private, public in zip(positions, *tables, strict=True):
        name = names[index]
        column = Column.of(name, public, (categories or {}).get(name))
        yield name, column.outside(column.read(private))
