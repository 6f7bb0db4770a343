"""What rows cost in a Gaussian budget before they are drawn, and what of it comes back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from secretballot.accounting._own_delta import own_delta_fault
from secretballot.accounting._protocol import ReleaseMechanism
from secretballot.divergences import (
    EVERYONE,
    Cost,
    GaussianCost,
    HasGaussianCost,
    Profile,
    RenyiCost,
    gaussian_share,
)
from secretballot.games import (
    FINE,
    Fineness,
    PlannedMechanism,
    PlanPiece,
    RowPart,
    SplitPlan,
    has_game,
)

#: What may be charged to each group: mu^2, and delta for approximations.
Left = Mapping[str, tuple[float, float]]

#: What a sum of charges may be rounded up by.
_ROUNDING = 1 - 1e-12


@dataclass(frozen=True)
class Span:
    """Rows of a plan, and answers if they are counted apart: from one up to before another."""

    rows: tuple[int, int]
    answers: tuple[int, int] | None = None

    def __iter__(self) -> Iterator[tuple[RowPart, int, int]]:
        if self.answers is None:
            yield "rows", *self.rows
        else:
            yield "thresholds", *self.rows
            yield "answers", *self.answers


class GaussianTerms:
    """The prices of one mechanism's rows where mu^2 adds up.

    Parameters
    ----------
    mechanism : mechanism
    n_rows : int
        The most rows that will be asked for.
    n_columns : int or None
    known : array or None
        Votes to be charged for as they are.
    levels : tuple of str
        Of the budget.
    """

    def __init__(
        self,
        mechanism: ReleaseMechanism,
        n_rows: int,
        n_columns: int | None,
        known: Any,
        levels: tuple[str, ...],
        fineness: Fineness = FINE,
    ) -> None:
        self._mechanism, self._n_columns, self._levels = mechanism, n_columns, levels
        self._plan: SplitPlan | None = None
        self._fineness = fineness
        if mechanism.rows == "sequential" and hasattr(mechanism, "laws"):
            planned = cast("PlannedMechanism", mechanism)
            if all(map(has_game, planned.laws(n_columns).values())):
                self._plan = SplitPlan(planned, n_rows, n_columns, known)
        self.has_threshold = self._plan is not None and self._plan.has_threshold

    @property
    def has_game(self) -> bool:
        """Whether rows are priced as plans."""
        return self._plan is not None

    def whole(self, n_rows: int) -> Span:
        """Return rows as they are reserved where each of them may be answered."""
        return Span((0, n_rows), (0, n_rows) if self.has_threshold else None)

    def noisy_numbers(self, span: Span, left: Left) -> float:
        """Return the share of what is left that the noise behind the outcomes would take.

        Plans cost less, but not half as much.
        """
        return self._largest(span, left, lambda piece, _: piece.noisy_numbers_mu2)

    def expected(self, span: Span, left: Left) -> float:
        """Return about what share of what is left rows will take; NaN if nobody knows."""

        def amount(piece: PlanPiece, delta: float) -> float:
            found = piece.estimate_mu2(delta)
            return math.nan if found is None else found

        return self._largest(span, left, amount)

    def _largest(
        self, span: Span, left: Left, amount: Callable[[PlanPiece, float], float]
    ) -> float:
        assert self._plan is not None
        pieces = [self._plan.pieces(*piece) for piece in span]
        shares = []
        for group in self._plan.groups:
            for name in self._named(group):
                mu2, delta = self._room(*left[name])
                taken = sum(amount(each[group], delta / len(pieces)) for each in pieces)
                shares.append(taken / mu2 if mu2 > 0 else math.inf)
        return max(shares) if not any(map(math.isnan, shares)) else math.nan

    @property
    def names(self) -> tuple[str, ...]:
        """Who is charged: levels of the budget, or parts of them."""
        if self._plan is not None:
            groups = self._plan.groups
        else:
            groups = tuple(self._mechanism.max_cost(self._n_columns))
        return tuple(name for group in groups for name in self._named(group))

    def _named(self, group: str) -> tuple[str, ...]:
        return self._levels if group == EVERYONE else (group,)

    def shares(self, span: Span, left: Left) -> dict[str, float]:
        """Return which part of what is left rows take, of its mu^2 and its delta alike."""
        return {
            name: _share(priced, *self._room(*left[name]))
            for group, priced in self._priced(span).items()
            for name in self._named(group)
        }

    def charges(self, span: Span, left: Left) -> dict[str, Cost] | None:
        """Return what rows cost, or None if it is more than is left."""
        charges: dict[str, Cost] = {}
        for group, priced in self._priced(span).items():
            for name in self._named(group):
                mu2, delta = self._room(*left[name])
                share = _share(priced, mu2, delta)
                if share > 1:
                    return None
                if len(priced) == 1 and isinstance(priced[0], GaussianCost):
                    charges[name] = priced[0]  # it is what it is
                else:
                    charges[name] = GaussianCost(share * mu2 * _ROUNDING, share * delta * _ROUNDING)
        return charges

    def refund(self, span: Span) -> dict[str, Cost]:
        """Return the mu^2 that may be given back for rows and answers that were not drawn.

        The deltas beside it stay paid.
        """
        if self._plan is None:
            return {}
        refunds: dict[str, Cost] = {}
        for piece in span:
            for group, unused in self._plan.pieces(*piece).items():
                back = unused.refund()
                for name in self._named(group):
                    refunds[name] = refunds[name] + back if name in refunds else back
        return refunds

    def own_delta_fault(self, n_rows: int, left: Left) -> str:
        """Say that rows' own deltas don't fit what is left; nothing if they do."""
        room = {name: self._room(*pair)[1] for name, pair in left.items()}
        return own_delta_fault(self._mechanism, n_rows, self._n_columns, room)

    def _room(self, mu2: float, delta: float) -> tuple[float, float]:
        """Return what of the rest rows may take: plans half of its delta, which hardly costs more.

        The delta of a plan doesn't come back, and what does needs some to be spent again.
        """
        return (mu2, delta / 2) if self.has_game else (mu2, delta)

    def _priced(self, span: Span) -> dict[str, list[HasGaussianCost]]:
        """Return the plans that each group's rows are made of."""
        if self._plan is None:
            return {group: [each] for group, each in self._without_game(span).items()}
        pieces = [self._plan.pieces(*piece, self._fineness) for piece in span]
        return {
            group: [each[group].exact_cost or each[group] for each in pieces]
            for group in self._plan.groups
        }

    def _without_game(self, span: Span) -> dict[str, HasGaussianCost]:
        """Return what rows cost that have no game: their own prices, or their Renyi curves."""
        start, stop = span.rows
        parallel = self._mechanism.rows == "parallel"
        own: Callable[..., Any] | None = getattr(self._mechanism, "priced", None)
        if own is not None:
            each = own(self._n_columns)
            if parallel:
                return {EVERYONE: each}
            if isinstance(each, GaussianCost):
                return {EVERYONE: (stop - start) * each}
        there = self._mechanism.participation(stop)
        priced: dict[str, HasGaussianCost] = {}
        for group, cost in self._mechanism.max_cost(self._n_columns).items():
            rows = there.get(group, np.ones(stop, dtype=bool))
            times = 1 if parallel else int(rows[start:].sum())
            priced[group] = Profile.from_renyi(times * cast("RenyiCost", cost))
        return priced


def _share(priced: list[HasGaussianCost], mu2: float, delta: float) -> float:
    # The delta is divided about as the mu^2 is.
    sizes = [float(each.gaussian_cost(delta / len(priced)).mu2) for each in priced]
    whole = sum(sizes)
    parts = [size / whole if 0 < whole < math.inf else 1 / len(sizes) for size in sizes]
    return gaussian_share(list(zip(parts, priced, strict=True)), mu2, delta)
