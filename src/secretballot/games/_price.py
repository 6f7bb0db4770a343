"""A plan of rows priced as a whole, and the longest one that fits a budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_integer
from secretballot._progress import watched
from secretballot._sizes import MOST_ROWS, check_pair
from secretballot.divergences import EVERYONE, Law, split_group
from secretballot.games._known_plan import KnownPlan
from secretballot.games._plan_price import PlanPrice
from secretballot.games._row import nodes
from secretballot.games._worst_game import FINE, Fineness, worst_game
from secretballot.games.moves import ValueFunction

#: What takes long, as it is called where progress is shown.
_TASK = "rows of the game"

#: Of so many laws, and of so many numbers of rows each, it is remembered what they are worth.
_REMEMBERED = 16


class PlannedMechanism(Protocol):
    """What a plan's price needs to know of a mechanism."""

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the law of one row for each privacy group."""

    def participation(self, n_rows: int) -> dict[str, NDArray[np.bool_]]:
        """Return in which rows a group takes part, for groups that sit some out."""

    def check_counts(self, counts: ArrayLike) -> NDArray[Any]:
        """Return the counts as an array with one row per query, or raise ValueError."""

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return what the exact cost of each step depends on, per row."""


@dataclass(frozen=True)
class GroupPlan:
    """What a plan asks of a privacy group: the law of a row, which rows, and what is known."""

    law: Law
    rows: NDArray[np.bool_]
    state: Mapping[str, NDArray[Any]] | None

    def known(self) -> KnownPlan | None:
        """Return the plan on known votes, of the rows in which the group takes part."""
        if self.state is None:
            return None
        return KnownPlan(self.law, {name: known[self.rows] for name, known in self.state.items()})

    def value_functions(
        self, fineness: Fineness = FINE, n_answers: int | None = None
    ) -> tuple[ValueFunction, ...]:
        """Return what the rows are worth, in both directions where they are known."""
        plan = self.known()
        if plan is None:
            n_rows = int(self.rows.sum())
            return _remembered_price(self.law, n_rows, fineness, n_answers)._value_functions
        return plan.value_functions(len(plan))


def plan_parts(
    mechanism: PlannedMechanism, n_rows: int, n_columns: int | None, counts: ArrayLike | None
) -> dict[str, GroupPlan]:
    """Return what a plan asks of each privacy group."""
    check_integer("n_rows", n_rows, least=0, most=MOST_ROWS)
    state = None
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
        # No state: the costs are the same on all votes.
        state, n_columns = mechanism.state(votes) or None, votes.shape[1]
    laws = mechanism.laws(n_columns)
    for group in laws:
        level, member = split_group(group)
        if (member and level in laws) or (group != EVERYONE and EVERYONE in laws):
            raise ValueError(
                f"the groups {', '.join(map(repr, laws))} overlap: a plan is priced per level, or "
                "for everyone, not for both at once."
            )
    there, always = mechanism.participation(n_rows), np.ones(n_rows, dtype=bool)
    return {group: GroupPlan(law, there.get(group, always), state) for group, law in laws.items()}


def _prices(
    parts: Mapping[str, GroupPlan], fineness: Fineness = FINE, n_answers: int | None = None
) -> dict[str, PlanPrice]:
    """Return the price for each level: its members are different people, so the dearest decides."""
    found: dict[str, tuple[ValueFunction, ...]] = {}
    for group, part in parts.items():
        level = _level(group)
        found[level] = found.get(level, ()) + part.value_functions(fineness, n_answers)
    return {level: PlanPrice(worths) for level, worths in found.items()}


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
    case *is* the composition, adaptivity included. With P and Q the laws of what was released so
    far, the state is the loss l = log P/Q, and

        V_0(l) = max(0, 1 - e^-l),
        V_n(l) = max over moves of sum_k p_k V_{n-1}(l + log p_k/q_k),

    with delta(epsilon) = V_n(-epsilon). See `BitMove` for the bound on each maximum and
    `ValueFunction` for the one between grid points; both err upwards.

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
    parts = plan_parts(mechanism, n_rows, n_columns, counts)
    if n_answers is not None:
        check_integer("n_answers", n_answers)
        if counts is not None:
            raise ValueError(f"n_answers={n_answers} is not priced on known counts; leave one out.")
        if not all(any(node.answers for node in nodes(part.law)) for part in parts.values()):
            raise ValueError(
                f"n_answers={n_answers} needs a threshold that decides which rows are answered, "
                "as ConfidentGNMax has."
            )
    prices = _prices(parts, n_answers=n_answers)
    return prices.get(EVERYONE, prices)


def _price(
    law: Law,
    n_rows: int,
    fineness: Fineness,
    n_answers: int | None,
    played: Mapping[int, ValueFunction] | None = None,
) -> PlanPrice:
    """Return the price of so many rows; it goes on from what fewer are known to be worth."""
    if n_answers is not None:
        worth = _after(worst_game(law, fineness, n_answers), n_rows)
        return PlanPrice((ValueFunction(worth.grid, worth.values[-1], worth.first),))
    shorter = (each for each in (played or {}).items() if each[0] <= n_rows)
    known = max(shorter, key=itemgetter(0), default=None)
    start = 0 if known is None else known[0]
    return PlanPrice((_after(worst_game(law, fineness, None, known), n_rows - start),))


def _after(game: Iterator[ValueFunction], n_rows: int) -> ValueFunction:
    """Return what so many rows more than the first position has are worth."""
    worth = next(game)
    for worth in watched(islice(game, n_rows), _TASK, n_rows):  # noqa: B007
        pass
    return worth


@lru_cache(maxsize=32)
def _remembered_price(
    law: Law, n_rows: int, fineness: Fineness, n_answers: int | None
) -> PlanPrice:
    # Who looks for the longest plan that fits asks for many lengths.
    played = _played(law, fineness)
    price = _price(law, n_rows, fineness, n_answers, played.copy())
    if n_answers is None:
        (played[n_rows],) = price._value_functions
    if len(played) > _REMEMBERED:
        played.pop(next(iter(played)), None)
    return price


@lru_cache(maxsize=_REMEMBERED)
def _played(law: Law, fineness: Fineness) -> dict[int, ValueFunction]:
    """Return what some numbers of rows are known to be worth."""
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
    """Return how many rows, at most `n_rows`, are the longest plan that fits (epsilon, delta).

    Parameters
    ----------
    mechanism : Mechanism
    n_rows : int
        Rows that are asked for.
    epsilon, delta : float or dict of str to float
        What is left, per level of the budget; everyone's if a number.
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
    parts = plan_parts(mechanism, n_rows, n_columns, counts)
    limits = _limits(map(_level, parts), epsilon, delta)
    longest = n_rows
    for group, part in parts.items():
        plan, rows = part.known(), part.rows.cumsum()
        fit = int(rows[longest - 1]) if longest else 0
        for pair in limits[_level(group)].values():
            fit = (
                _longest(part.law, fit, *pair) if plan is None else _longest_known(plan, fit, *pair)
            )
        longest = min(longest, int(np.searchsorted(rows, fit, side="right")))
    return longest


def plan_shares(
    mechanism: PlannedMechanism,
    n_rows: int,
    epsilon: float | Mapping[str, float],
    delta: float | Mapping[str, float],
    *,
    n_columns: int | None = None,
    counts: ArrayLike | None = None,
    fineness: Fineness = FINE,
) -> dict[str, float]:
    """Return for each level the least s such that a plan costs it (s * epsilon, s * delta)."""
    prices = _prices(plan_parts(mechanism, n_rows, n_columns, counts), fineness)
    limits = _limits(prices, epsilon, delta)
    return {
        name: prices[level].share(*pair) for level in prices for name, pair in limits[level].items()
    }


def _limits(
    charged: Iterable[str],
    epsilon: float | Mapping[str, float],
    delta: float | Mapping[str, float],
) -> dict[str, dict[str, tuple[float, float]]]:
    """Return the pairs that each level charged has to fit, by name: its own, or every level's."""
    named = {name for limit in (epsilon, delta) if isinstance(limit, Mapping) for name in limit}

    def at(what: str, limit: float | Mapping[str, float], name: str) -> float:
        if isinstance(limit, Mapping) and name not in limit:
            raise ValueError(f"{what}={dict(limit)!r} has no level {name!r}.")
        return limit[name] if isinstance(limit, Mapping) else limit

    def pairs(level: str) -> dict[str, tuple[float, float]]:
        names = sorted(named) if level == EVERYONE and named else [level]
        return {name: (at("epsilon", epsilon, name), at("delta", delta, name)) for name in names}

    limits = {level: pairs(level) for level in charged}
    for pair in (pair for each in limits.values() for pair in each.values()):
        check_pair(*pair)
    return limits


def _level(group: str) -> str:
    return split_group(group)[0]


@lru_cache(maxsize=32)
def _longest(law: Law, n_rows: int, epsilon: float, delta: float) -> int:
    rows = islice(worst_game(law), 1, n_rows + 1)
    for n_fit, worth in enumerate(watched(rows, _TASK, n_rows)):
        if PlanPrice((worth,)).delta(epsilon) > delta:
            return n_fit
    return n_rows


def _longest_known(plan: KnownPlan, n_rows: int, epsilon: float, delta: float) -> int:
    """Search for the last prefix that fits; they only get dearer, by more than what is rounded."""

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
