"""Plan of the releases of a fit, in order: names, mechanisms and shares of what it may spend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from secretballot._base._view import Bar, Cell, Shown, Table, View, percent
from secretballot.accounting._budget_handle import BudgetHandle
from secretballot.accounting._protocol import ReleaseMechanism
from secretballot.ledger._budget import ONLY_LEVEL, Scope

#: The word of a note under which the ledger keeps the name of a planned release.
RELEASE = "release"


@dataclass(frozen=True, kw_only=True)
class PlannedRelease:
    """Release that follows from public numbers.

    Attributes
    ----------
    name : str
        Name, which the entries of the ledger have too.
    mechanism : mechanism
        How the counts become an answer.
    n_rows : int
        The most rows that are drawn.
    share : float
        Share of what the fit may spend; of the level that spends most of it.
    reads : str
        What it reads of private rows, in words.
    n_columns : int or None
        Columns of the counts, where the price depends on it.
    note : dict
        Public facts that the ledger keeps with it, beside those of the fit.
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
        """The note of its entries in the ledger, beside the fit's."""
        return {**self.note, RELEASE: self.name}


@dataclass(frozen=True)
class ReleasePlan(Shown):
    """All releases of a fit, in order; ``plan[name]`` is one of them. It prints as a table.

    Attributes
    ----------
    releases : tuple of PlannedRelease
        Their names differ.

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
            for level, share in (price if isinstance(price, dict) else {ONLY_LEVEL: price}).items():
                shares[level] = shares.get(level, 0.0) + share
        return shares[ONLY_LEVEL] if shares.keys() == {ONLY_LEVEL} else shares

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
