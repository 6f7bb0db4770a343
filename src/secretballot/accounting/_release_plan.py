"""Plan of the releases of a fit, in order, and the run that pays for them and draws them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import CompletedInterrupt
from secretballot._base._interrupts import HeldInterrupts, completed
from secretballot._base._view import Bar, Cell, Shown, Table, View, percent
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._budget_handle import BudgetHandle
from secretballot.accounting._protocol import RandomState, ReleaseMechanism
from secretballot.accounting._reservations import Reservation
from secretballot.ledger._budget import Scope, by_level, without_only_level

#: Key of a note under which the ledger keeps the name of a planned release.
RELEASE = "release"


@dataclass(frozen=True, kw_only=True)
class PlannedRelease:
    """Release that follows from public numbers.

    Attributes
    ----------
    name : str
        Name, which the entries of the ledger have too.
    mechanism : mechanism
        Mechanism of the release.
    n_rows : int
        The most rows that are drawn.
    share : float
        Share of what the fit may spend; the largest of all levels.
    reads : str
        Private quantities that it reads, in words.
    n_columns : int or None
        Number of columns of the counts, if the price depends on it.
    note : dict
        Public facts that the ledger keeps with it, in addition to those of the fit.
    """

    name: str
    mechanism: ReleaseMechanism
    n_rows: int
    share: float
    reads: str
    n_columns: int | None = None
    note: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def words(self) -> dict[str, Any]:
        """Note of its entries in the ledger, in addition to that of the fit."""
        return {**self.note, RELEASE: self.name}


@dataclass(frozen=True)
class ReleasePlan(Shown):
    """All releases of a fit, in order; ``plan[name]`` is one of them. It prints as a table.

    Attributes
    ----------
    releases : tuple of PlannedRelease
        Releases with different names.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from secretballot import PrivacyAccountant, PrivateLogisticRegression
    >>> X, _ = make_classification(500, random_state=0)
    >>> accountant = PrivacyAccountant(epsilon=1.0, delta=1e-5)
    >>> model = PrivateLogisticRegression(classes=[0, 1], accountant=accountant)
    >>> plan = model.plan_fit(36_000, X)
    >>> [release.name for release in plan]
    ['public rows check', 'sums', 'pairs']
    >>> round(plan.price(accountant), 2)
    1.0
    """

    releases: tuple[PlannedRelease, ...]

    def __post_init__(self) -> None:
        for name, count in Counter(release.name for release in self).items():
            if count > 1:
                raise ValueError(
                    f"releases has {count} of the name {name!r}, by which one of them is paid for "
                    "and drawn: give each its own."
                )

    def __iter__(self) -> Iterator[PlannedRelease]:
        return iter(self.releases)

    def __len__(self) -> int:
        return len(self.releases)

    def __getitem__(self, name: str) -> PlannedRelease:
        for release in self.releases:
            if release.name == name:
                return release
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(release.name == name for release in self.releases)

    def price(
        self, accountant: BudgetHandle, *, scope: Scope | None = None
    ) -> float | dict[str, float]:
        """Compute the share of the whole budget that all releases take together. Free.

        Parameters
        ----------
        accountant : PrivacyAccountant
        scope : Scope, default=None
            A part of the run with a cap of its own.

        Returns
        -------
        float or dict of str to float
            Per level if epsilon was given per level.

        Raises
        ------
        BudgetExceededError
            If one of them does not fit what is left.
        """
        shares = dict[str, float]()
        for release in self:
            price = accountant.price(
                release.mechanism, release.n_rows, n_columns=release.n_columns, scope=scope
            )
            for level, share in by_level(price).items():
                shares[level] = shares.get(level, 0.0) + share
        return without_only_level(shares)

    def _view(self) -> View:
        rows: list[list[Cell]] = [
            [
                release.name,
                f"{release.n_rows:,}",
                Bar.of(release.share, "of the fit"),
                percent(release.share),
                release.reads,
            ]
            for release in self
        ]
        return View("ReleasePlan", (Table(("release", "rows", "", "share", "reads"), rows),))

    def __repr__(self) -> str:
        return str(self)


R = TypeVar("R")

#: Function from the name of a release, and the number of its rows drawn before, to a seed or None.
NoiseStreams = Callable[[str, int], RandomState]


class Run:
    """Releases of a plan, by name: rows that are reserved, and others that are paid when drawn."""

    def __init__(
        self,
        accountant: PrivacyAccountant,
        plan: ReleasePlan,
        reservations: Mapping[str, Reservation],
        scope: Scope | None,
        note: Mapping[str, Any],
        noise: NoiseStreams,
    ) -> None:
        self.plan, self.scope = plan, scope
        self._accountant, self._reservations = accountant, reservations
        self._note, self._noise = note, noise
        self._n_drawn = Counter[str]()

    def release(self, name: str, counts: ArrayLike) -> NDArray[Any]:
        """Draw the next rows of a planned release; Ctrl-C after it is a `CompletedInterrupt`."""
        planned = self.plan[name]
        n_before = self._n_drawn[name]
        self._n_drawn[name] += len(np.atleast_2d(counts))
        reservation = self._reservations.get(name)
        words = planned.note if reservation is None else planned.words
        return self._accountant.release(
            planned.mechanism,
            counts,
            reservation=reservation,
            random_state=self._noise(name, n_before),
            scope=self.scope,
            note={**self._note, **words},
        )

    def answer(self, name: str, counts: ArrayLike, result: Callable[[NDArray[Any]], R]) -> R:
        """Draw the next rows, and build the answer from them; `CompletedInterrupt` has it too."""
        return completed(lambda: self.release(name, counts), result)


def unpaid_run(
    accountant: PrivacyAccountant,
    *releases: PlannedRelease,
    scope: Scope | None,
    noise: NoiseStreams,
    note: Mapping[str, Any] | None = None,
) -> Run:
    """Return the run of single releases, each of which is paid for when it is drawn."""
    return Run(accountant, ReleasePlan(releases), {}, scope, note or {}, noise)


@contextmanager
def paid_run(
    accountant: PrivacyAccountant,
    plan: ReleasePlan,
    *,
    scope: Scope,
    note: Mapping[str, Any],
    noise: NoiseStreams,
) -> Iterator[Run]:
    """Pay for a plan; at the end, rows that were not drawn are refunded, even after an error."""
    reservations: Mapping[str, Reservation] = {}
    try:
        try:
            reservations = accountant.reserve_plan(plan, scope, note)
        except CompletedInterrupt as interrupt:
            reservations = cast("dict[str, Reservation]", interrupt.answer)
            raise
        yield Run(accountant, plan, reservations, scope, note, noise)
    finally:
        with HeldInterrupts() as interrupts:
            interrupts.hold()
            if reservations:
                accountant._settle(reservations.values(), skips_settled=True)
