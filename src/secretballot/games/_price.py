"""A plan of rows priced as a whole, and the longest one that fits a budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_integer
from secretballot._progress import tracked
from secretballot._sizes import MOST_ROWS, check_pair
from secretballot.divergences import EVERYONE, Law, split_group
from secretballot.games._known_plan import KnownPlan
from secretballot.games._plan_price import PlanPrice
from secretballot.games._row import build_tree
from secretballot.games._worst_game import worst_game
from secretballot.games.moves import FINE, Fineness, ValueFunction

#: Name of the work where progress is shown.
_TASK = "rows of the game"

#: Size of the cache: number of laws, and of row counts per law.
_CACHE_SIZE = 16


class PlannedMechanism(Protocol):
    """A mechanism whose plans can be priced."""

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Build the law of one row for each privacy group."""

    def participation(self, n_rows: int) -> dict[str, NDArray[np.bool_]]:
        """Mark the rows in which a group takes part, for groups that sit some out."""

    def check_counts(self, counts: ArrayLike) -> NDArray[Any]:
        """Convert the counts to an array with one row per query, or raise ValueError."""

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Compute the state of each step's move, per row."""


@dataclass(frozen=True)
class GroupPlan:
    """A plan as one privacy group takes part in it.

    Attributes
    ----------
    law : Law
        Of one row.
    rows : ndarray of bool
        Rows in which the group takes part.
    states : mapping of str to ndarray, or None
        States of the moves on known votes.
    """

    law: Law
    rows: NDArray[np.bool_]
    states: Mapping[str, NDArray[Any]] | None

    @property
    def n_rows(self) -> int:
        """Number of rows in which the group takes part."""
        return int(self.rows.sum())

    def known(self) -> KnownPlan | None:
        """Build the plan on known votes; None if they are not known."""
        if self.states is None:
            return None
        return KnownPlan(self.law, {name: state[self.rows] for name, state in self.states.items()})

    def value_functions(
        self, fineness: Fineness = FINE, n_answers: int | None = None
    ) -> tuple[ValueFunction, ...]:
        """Compute the value functions: one, or both directions on known votes."""
        plan = self.known()
        if plan is not None:
            return plan.value_functions(len(plan))
        return price_law_cached(self.law, self.n_rows, fineness, n_answers)._value_functions


def group_plans(
    mechanism: PlannedMechanism, n_rows: int, n_columns: int | None, counts: ArrayLike | None
) -> dict[str, GroupPlan]:
    """Split a mechanism's plan by privacy group."""
    check_integer("n_rows", n_rows, least=0, most=MOST_ROWS)
    states = None
    if counts is not None:
        votes = mechanism.check_counts(counts)[:n_rows]
        if len(votes) < n_rows:
            raise ValueError(
                f"counts has {len(votes)} rows and n_rows={n_rows}; pass the votes of every row."
            )
        if n_columns not in (None, votes.shape[1]):
            raise ValueError(
                f"n_columns={n_columns!r} is not what counts has, {votes.shape[1]}; leave it out."
            )
        # Without a state the costs are the same on all votes.
        states, n_columns = mechanism.state(votes) or None, votes.shape[1]
    laws = mechanism.laws(n_columns)
    for group in laws:
        level, member = split_group(group)
        if (member and level in laws) or (group != EVERYONE and EVERYONE in laws):
            raise ValueError(
                f"the groups {', '.join(map(repr, laws))} overlap: a plan is priced per level, or "
                "for everyone, not for both at once."
            )
    rows, all_rows = mechanism.participation(n_rows), np.ones(n_rows, dtype=bool)
    return {group: GroupPlan(law, rows.get(group, all_rows), states) for group, law in laws.items()}


def _prices(
    plans: Mapping[str, GroupPlan], fineness: Fineness = FINE, n_answers: int | None = None
) -> dict[str, PlanPrice]:
    """Price each level: its members are different people, so the dearest decides."""
    functions: dict[str, tuple[ValueFunction, ...]] = {}
    for group, plan in plans.items():
        level = split_group(group)[0]
        functions[level] = functions.get(level, ()) + plan.value_functions(fineness, n_answers)
    return {level: PlanPrice(values) for level, values in functions.items()}


def price_plan(
    mechanism: PlannedMechanism,
    n_rows: int,
    *,
    n_columns: int | None = None,
    counts: ArrayLike | None = None,
    n_answers: int | None = None,
) -> PlanPrice | dict[str, PlanPrice]:
    """Price a plan as a game: `n_rows` rows of one mechanism, all of them begun.

    Parameters
    ----------
    mechanism : Mechanism
        Of noisy bits and noisy maxima: `GNMax`, `ConfidentGNMax`.
    n_rows : int
    n_columns : int, default=None
        Columns of the counts (classes); a bound for any number if None.
    counts : array-like of shape (>= n_rows, n_columns), default=None
        Known votes: the price for these votes and all their neighbours, which is as sensitive as
        they are. Without them the price holds for all votes.
    n_answers : int, default=None
        The run ends after so many answered rows; a mechanism with a threshold and no `counts`
        only. Memory and time grow with it.

    Returns
    -------
    PlanPrice or dict of str to PlanPrice
        One price for all, or one per level where the mechanism has levels.

    Raises
    ------
    ValueError
        If `n_rows` is no number of rows, `counts` has fewer or other columns than `n_columns`, or
        `n_answers` is given where nothing counts the answers.

    Notes
    -----
    The adversary chooses the data row by row, having seen all outcomes so far: where each gap
    lies, and the neighbour's too. No composition theorem and no conversion is involved: the worst
    case *is* the composition, adaptivity included. With P and Q the laws of the outcomes so far,
    the state is the loss l = log P/Q, and

        V_0(l) = max(0, 1 - e^-l),
        V_n(l) = max over moves of sum_k p_k V_{n-1}(l + log p_k/q_k),

    with delta(epsilon) = V_n(-epsilon). The bounds on each maximum, and between grid points, err
    upwards; their proofs are in the documentation ("Bounds of the game").

    Examples
    --------
    >>> from secretballot import GNMax
    >>> from secretballot.accounting import price_plan
    >>> price = price_plan(GNMax(sigma=40), 44, n_columns=2)
    >>> round(price.epsilon(delta=1e-5), 3)
    0.688
    >>> price.delta(epsilon=0.7) < 1e-5
    True
    """
    plans = group_plans(mechanism, n_rows, n_columns, counts)
    if n_answers is not None:
        check_integer("n_answers", n_answers)
        if counts is not None:
            raise ValueError(f"n_answers={n_answers} is not priced on known counts; leave one out.")
        trees = [build_tree(plan.law) for plan in plans.values()]
        if not all(any(node.counts_answers for node in tree) for tree in trees):
            raise ValueError(
                f"n_answers={n_answers} needs a threshold that decides which rows are answered, "
                "as ConfidentGNMax has."
            )
    prices = _prices(plans, n_answers=n_answers)
    return prices.get(EVERYONE, prices)


def price_law(
    law: Law,
    n_rows: int,
    fineness: Fineness = FINE,
    n_answers: int | None = None,
    shorter: Mapping[int, ValueFunction] | None = None,
) -> PlanPrice:
    """Price rows in the worst case, from the longest of the `shorter` plans on."""
    if n_answers is not None:
        value = _play_rows(worst_game(law, fineness, n_answers), n_rows)
        return PlanPrice((replace(value, values=value.values[-1]),))
    fitting = (plan for plan in (shorter or {}).items() if plan[0] <= n_rows)
    start = max(fitting, key=itemgetter(0), default=None)
    n_more = n_rows - (start[0] if start else 0)
    return PlanPrice((_play_rows(worst_game(law, fineness, None, start), n_more),))


def _play_rows(game: Iterator[ValueFunction], n_rows: int) -> ValueFunction:
    value = next(game)
    for value in tracked(islice(game, n_rows), _TASK, n_rows):  # noqa: B007
        pass
    return value


@lru_cache(maxsize=32)
def price_law_cached(
    law: Law, n_rows: int, fineness: Fineness = FINE, n_answers: int | None = None
) -> PlanPrice:
    """Price rows in the worst case; a search for the longest plan asks for many lengths."""
    shorter = _cached_values(law, fineness)
    price = price_law(law, n_rows, fineness, n_answers, shorter.copy())
    if n_answers is None:
        (shorter[n_rows],) = price._value_functions
    if len(shorter) > _CACHE_SIZE:
        shorter.pop(next(iter(shorter)), None)
    return price


@lru_cache(maxsize=_CACHE_SIZE)
def _cached_values(law: Law, fineness: Fineness) -> dict[int, ValueFunction]:
    """Hold the value functions of some numbers of rows."""
    return {}


def plan_rows(
    mechanism: PlannedMechanism,
    n_rows: int,
    epsilon: float | Mapping[str, float],
    delta: float | Mapping[str, float],
    *,
    n_columns: int | None = None,
    counts: ArrayLike | None = None,
) -> int:
    """Count the rows of the longest plan, of at most `n_rows`, that fits (epsilon, delta).

    Parameters
    ----------
    mechanism : Mechanism
    n_rows : int
        The most rows.
    epsilon, delta : float or dict of str to float
        The remaining budget, of each level; everyone's if a number.
    n_columns, counts
        As for `price_plan`.

    Returns
    -------
    int
        0 if not even one row fits.

    Raises
    ------
    ValueError
        As `price_plan` does, and if `epsilon` or `delta` is none or forgets a level.

    Examples
    --------
    >>> from secretballot import GNMax
    >>> from secretballot.accounting import plan_rows
    >>> plan_rows(GNMax(sigma=40), 100, epsilon=1, delta=1e-5, n_columns=2)
    88
    """
    plans = group_plans(mechanism, n_rows, n_columns, counts)
    limits = _limits((split_group(group)[0] for group in plans), epsilon, delta)
    longest = n_rows
    for group, plan in plans.items():
        known_plan, rows = plan.known(), plan.rows.cumsum()
        n_fit = int(rows[longest - 1]) if longest else 0
        for pair in limits[split_group(group)[0]].values():
            if known_plan is None:
                n_fit = _longest(plan.law, n_fit, *pair)
            else:
                n_fit = _longest_known(known_plan, n_fit, *pair)
        longest = min(longest, int(np.searchsorted(rows, n_fit, side="right")))
    return longest


def _limits(
    charged: Iterable[str],
    epsilon: float | Mapping[str, float],
    delta: float | Mapping[str, float],
) -> dict[str, dict[str, tuple[float, float]]]:
    """Find the pairs that each charged level has to fit, by name; everyone has to fit all."""
    named = {name for limit in (epsilon, delta) if isinstance(limit, Mapping) for name in limit}

    def limit_of(name: str, parameter: str, limit: float | Mapping[str, float]) -> float:
        if isinstance(limit, Mapping) and name not in limit:
            raise ValueError(f"{parameter}={dict(limit)!r} has no level {name!r}.")
        return limit[name] if isinstance(limit, Mapping) else limit

    limits: dict[str, dict[str, tuple[float, float]]] = {}
    for level in charged:
        names = sorted(named) if level == EVERYONE and named else [level]
        limits[level] = {
            name: (limit_of(name, "epsilon", epsilon), limit_of(name, "delta", delta))
            for name in names
        }
        for pair in limits[level].values():
            check_pair(*pair)
    return limits


@lru_cache(maxsize=32)
def _longest(law: Law, n_rows: int, epsilon: float, delta: float) -> int:
    rows = islice(worst_game(law), 1, n_rows + 1)
    for n_fit, value in enumerate(tracked(rows, _TASK, n_rows)):
        if PlanPrice((value,)).delta(epsilon) > delta:
            return n_fit
    return n_rows


def _longest_known(plan: KnownPlan, n_rows: int, epsilon: float, delta: float) -> int:
    """Search for the longest prefix that fits; prices grow by more than rounding."""

    def fits(n_first: int) -> bool:
        return PlanPrice(plan.value_functions(n_first)).delta(epsilon) <= delta

    low, high = 0, min(64, n_rows)
    while high < n_rows and fits(high):
        low, high = high, min(2 * high, n_rows)
    if fits(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
