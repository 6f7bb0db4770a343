"""How a release is priced in a Gaussian budget: as plans that are fixed before they are drawn."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from secretballot._errors import BudgetExceededError
from secretballot.accounting._gaussian_terms import GaussianTerms, Span
from secretballot.accounting._limits import Limits
from secretballot.accounting._protocol import ReleaseMechanism
from secretballot.divergences import GAUSSIAN, Cost, GaussianCost, check_groups
from secretballot.games import find_most_rows
from secretballot.ledger import Totals

_Left = tuple[tuple[str, float, float], ...]

#: Rows that are taken to make an answer until outcomes tell, and how many answers that counts for.
_ROWS_PER_ANSWER, _PRIOR = 3.0, 5.0

#: How often what is left over behind a threshold is reserved anew.
_MOST_ROUNDS = 16


class InMu2:
    """The longest plan that fits is begun, and pays for all its rows, whatever comes out.

    Behind a threshold so many rows and answers are reserved as what is left allows, at as many rows
    for an answer as the outcomes so far had; when either is used up, what is left of the other
    comes back and is reserved anew. That depends on outcomes which are recorded, and on nothing
    else, so each price is fixed before what it pays for is drawn.
    """

    def __init__(
        self,
        limits: Limits,
        mechanism: ReleaseMechanism,
        n_rows: int,
        n_columns: int | None,
        known: Any,
    ) -> None:
        self._limits, self._mechanism, self._n_rows = limits, mechanism, n_rows
        self._terms = GaussianTerms(mechanism, n_rows, n_columns, known, limits.levels)
        check_groups(self._terms.names, limits.levels, "laws()")
        self._answered: NDArray[np.bool_] | None = None
        # What is asked for before the draw is asked for again in the ledger's transaction, and
        # only computed again if another process has spent in between.
        self._whole = lru_cache(maxsize=4)(self._whole_rows)

    @property
    def note(self) -> dict[str, Any]:
        """What is added to the note of the release."""
        return {} if self._terms.has_threshold else {"priced": "as one plan"}

    def admit_first(self, totals: Totals) -> None:
        """Raise BudgetExceededError if not even one row fits."""
        left = self._left(totals)
        if not self._terms.has_threshold:
            self._whole(left)
        elif self._affordable(0, _ROWS_PER_ANSWER, _pairs(left)) is None:
            self._refuse(left)

    def settle(self, outcome: Any) -> None:
        """See which rows were answered, where that decides the charge."""
        if self._terms.has_threshold:
            self._answered = answered_rows(self._mechanism, outcome)

    def charge(self, totals: Totals) -> tuple[int, dict[str, Cost]]:
        """Return how many rows are begun, and what they are charged."""
        left = self._left(totals)
        if not self._terms.has_threshold:
            return self._whole(left)
        begun, charges = self._in_rounds(_pairs(left))
        if not begun:
            self._refuse(left)
        return begun, charges

    def _left(self, totals: Totals) -> _Left:
        left = self._limits.left_in_mu2(totals, self._terms.names)
        return tuple((name, *pair) for name, pair in left.items())

    def _whole_rows(self, left: _Left) -> tuple[int, dict[str, Cost]]:
        def share(n_rows: int) -> float:
            return max(self._terms.shares(Span((0, n_rows)), _pairs(left)).values())

        if self._mechanism.rows == "parallel":
            fit = self._n_rows * (share(self._n_rows) <= 1)
        else:
            fit = find_most_rows(share, self._n_rows)
        charges = self._terms.charges(Span((0, fit)), _pairs(left)) if fit else None
        if charges is None:
            self._refuse(left)
        return fit, charges

    def _in_rounds(self, left: dict[str, tuple[float, float]]) -> tuple[int, dict[str, Cost]]:
        assert self._answered is not None
        begun, n_answers, total = 0, 0, {name: GaussianCost.zero() for name in left}
        for _ in range(_MOST_ROUNDS):
            rate = (begun + _ROWS_PER_ANSWER * _PRIOR) / (n_answers + _PRIOR)
            span, paid = self._reserved(begun, rate, left)
            if paid is None:
                break
            assert span.answers is not None
            drawn = self._answered[slice(*span.rows)].cumsum()
            # A row is begun while there is an answer left for it.
            n_begun = int(np.searchsorted(drawn, span.answers[1])) + 1
            n_begun = min(n_begun, len(drawn))
            used = int(drawn[n_begun - 1])
            over = Span((begun + n_begun, span.rows[1]), (used, span.answers[1]))
            back = self._terms.refund(over)
            for name, cost in paid.items():
                kept = GaussianCost(cost.without(back[name]).at(GAUSSIAN), cost.delta)
                total[name] = total[name] + kept
                left[name] = (left[name][0] - float(kept.mu2), left[name][1] - float(kept.delta))
            begun, n_answers = begun + n_begun, n_answers + used
            if begun == self._n_rows:
                break
        return begun, dict(total)

    def _reserved(
        self, begun: int, rate: float, left: dict[str, tuple[float, float]]
    ) -> tuple[Span, dict[str, Cost] | None]:
        """Return the rows and answers of the next round, and what they cost if any fit."""
        whole = Span((begun, self._n_rows), (0, self._n_rows - begun))
        if self._terms.noisy_numbers(whole, left) <= 2:
            paid = self._terms.charges(whole, left)
            if paid is not None:
                return whole, paid
        span = self._affordable(begun, rate, left)
        return (whole, None) if span is None else (span, self._terms.charges(span, left))

    def _affordable(
        self, begun: int, rate: float, left: dict[str, tuple[float, float]]
    ) -> Span | None:
        """Return the most rows and answers, `rate` rows for one, that fit what is left."""
        rest = self._n_rows - begun

        def span(n_answers: int) -> Span:
            n_rows = min(rest, max(n_answers, math.ceil(rate * n_answers)))
            return Span((begun, begun + n_rows), (0, n_answers))

        most = find_most_rows(lambda n: max(self._terms.shares(span(n), left).values()), rest)
        return span(most) if most else None

    def _refuse(self, left: _Left) -> NoReturn:
        own = self._terms.own_delta_fault(1, _pairs(left))
        if not own and (level := self._limits.used_up(_pairs(left))) is not None:
            raise BudgetExceededError(
                f"Nothing of the mu^2 is left {self._limits.where} (level {level!r}). Nothing was "
                f"released or recorded: {self._limits.helps_plan}"
            )
        pairs = "; ".join(f"{mu2:.4g} beside {d:.3g} for {name!r}" for name, mu2, d in left)
        raise BudgetExceededError(
            f"Not even one row fits the mu^2 and the delta that are left {self._limits.where}: "
            f"{pairs}. Nothing was released or recorded. "
            + (own or f"Use more noise; otherwise {self._limits.helps_plan}")
        )


def answered_rows(mechanism: Any, outcome: Any) -> NDArray[np.bool_]:
    """Return in which rows what follows the threshold was begun."""
    executed, law = mechanism.executed(outcome), next(iter(mechanism.laws().values()))
    follows = next(step.name for step in law if step.after is not None)
    return np.asarray(executed[follows] > 0)


def _pairs(left: _Left) -> dict[str, tuple[float, float]]:
    return {name: (mu2, delta) for name, mu2, delta in left}
