"""Price of a plan of rows as a whole, and the longest plan that fits a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from secretballot._base._numbers import MOST_ROWS, check_integer, check_number, check_pair
from secretballot._base._objects import cached_property
from secretballot._base._progress import tracked
from secretballot._base._view import Shown, Table, View
from secretballot.costs._cost import GaussianCost, Profile
from secretballot.costs._game import all_nodes, build_tree, worst_game
from secretballot.costs._grid import FINE, Fineness, LossGrid, ValueFunction
from secretballot.costs._groups import EVERYONE, check_overlap, split_group
from secretballot.costs._law import Law, PlannedMechanism, own_delta
from secretballot.costs._noise import gaussian_delta
from secretballot.costs._threshold_search import bracket_threshold

#: Floating-point error of all rows together, relative.
_ROUNDING = 1e-9

#: The delta at which `repr` shows a price, and those of the view.
_SHOWN_DELTA = 1e-5
_DELTAS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


@dataclass(frozen=True)
class PlanPrice(Shown):
    """Price of a plan: every pair (epsilon, delta) on its curve is proven.

    Returned by `price_plan`.
    """

    _value_functions: tuple[ValueFunction, ...]

    def delta(self, epsilon: float) -> float:
        """Compute delta at `epsilon`, rounded up."""
        worst = max(function.at_loss(-epsilon) for function in self._value_functions)
        return min(worst * (1 + _ROUNDING), 1.0)

    def epsilon(self, delta: float) -> float:
        """Compute the least epsilon at `delta`, rounded up; infinite where the grid ends first."""
        if self.delta(0.0) <= delta:
            return 0.0
        return bracket_threshold(lambda epsilon: self.delta(epsilon) <= delta, self._highest)[1]

    def share(self, epsilon: float, delta: float) -> float:
        """Compute the least s for which (s * epsilon, s * delta) is on the curve.

        At most 1 if the plan fits (epsilon, delta).
        """
        check_pair(epsilon, delta)
        largest = self._highest / epsilon
        return bracket_threshold(lambda s: self.delta(s * epsilon) <= s * delta, largest)[1]

    def gaussian_cost(self, approximation_delta: float) -> GaussianCost:
        """Compute the price where mu^2 and deltas add up, rounded up.

        Such costs add, also of plans that are chosen one after the other by earlier outcomes. With
        an approximation delta of 1e-7, say, a long plan of noisy bits costs 36 % less than its
        noisy counts would; with 0 it would cost as much.

        Parameters
        ----------
        approximation_delta : float
            Delta to be paid beside mu^2, at least 0.

        Returns
        -------
        GaussianCost
            Infinite where the approximation delta is below what the numerical curve can show.

        Examples
        --------
        >>> from secretballot import GNMax
        >>> from secretballot.accounting import price_plan
        >>> cost = price_plan(GNMax(sigma=40), 40, n_columns=2).gaussian_cost(1e-7)
        >>> noisy_counts = 40 * 2 / 40**2
        >>> round(float(cost.mu2) / noisy_counts, 2)
        0.66
        """
        check_number("approximation_delta", approximation_delta, least=0.0, below=1.0)
        return self._profile.gaussian_cost(approximation_delta)

    def refund(self) -> float:
        """Compute the mu^2 that may be given back if a plan of more rows ends before these.

        The largest Gaussian curve below the plan's numerical one, from which the price was
        computed: to stop for it never gains an adversary more than to draw the rows. (To charge
        afterwards the price of the rows that were drawn would be too little.)
        """

        def exceeds(mu: float) -> bool:
            return any(
                (gaussian_delta(mu, -function.losses) > function.values * (1 + _ROUNDING)).any()
                for function in self._value_functions
            )

        return bracket_threshold(exceeds)[0] ** 2 * (1 - _ROUNDING)

    @cached_property
    def _profile(self) -> Profile:
        # Parts of a level may have grids of their own. A shorter curve is continued by its value
        # at the end, which is larger.
        step = min(function.grid.step for function in self._value_functions)
        epsilon = step * np.arange(round(self._highest / step) + 1, dtype=np.float64)
        delta = np.zeros(len(epsilon))
        for function in self._value_functions:
            np.maximum(delta, function.at(-epsilon) * (1 + _ROUNDING), out=delta)
        return Profile.from_epsilons(epsilon, np.minimum(delta, 1.0))

    @property
    def _highest(self) -> float:
        return -min(float(function.losses[0]) for function in self._value_functions)

    def _view(self) -> View:
        priced = [(f"{delta:g}", f"{self.epsilon(delta):.4g}") for delta in _DELTAS]
        return View("PlanPrice", (Table(("delta", "epsilon"), priced),))

    def __repr__(self) -> str:
        return f"<PlanPrice: epsilon {self.epsilon(_SHOWN_DELTA):.4g} at delta {_SHOWN_DELTA:g}>"


#: Name of the work where progress is shown.
_TASK = "rows of the game"

#: Size of the cache: number of laws, and of row counts per law.
_CACHE_SIZE = 16


@dataclass(frozen=True)
class GroupPlan:
    """A plan as one privacy group takes part in it: the law of a row, and the group's rows."""

    law: Law
    rows: NDArray[np.bool_]

    @property
    def n_rows(self) -> int:
        return int(self.rows.sum())

    def price(self, fineness: Fineness = FINE, n_answers: int | None = None) -> PlanPrice:
        return price_law_cached(self.law, self.n_rows, fineness, n_answers)


def group_plans(
    mechanism: PlannedMechanism, n_rows: int, n_columns: int | None
) -> dict[str, GroupPlan]:
    check_integer("n_rows", n_rows, least=0, most=MOST_ROWS)
    laws = mechanism.laws(n_columns)
    check_overlap(laws)
    rows, all_rows = mechanism.participation(n_rows), np.ones(n_rows, dtype=bool)
    return {group: GroupPlan(law, rows.get(group, all_rows)) for group, law in laws.items()}


def price_plan(
    mechanism: PlannedMechanism,
    n_rows: int,
    *,
    n_columns: int | None = None,
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
    n_answers : int, default=None
        The run ends after so many answered rows; a mechanism with a threshold only. Memory and
        time grow with it.

    Returns
    -------
    PlanPrice or dict of str to PlanPrice
        One price for all, or one per level where the mechanism has levels.

    Raises
    ------
    ValueError
        If `n_rows` is no number of rows, or `n_answers` is given where nothing counts the answers.

    Notes
    -----
    The adversary chooses the data row by row, having seen all outcomes so far. No composition
    theorem and no conversion is involved: the worst case *is* the composition, adaptivity included.
    Bounds on each row, and between grid points, err upwards. Rows with next to no noise are priced
    as their noisy numbers. See the documentation, "The game".

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
    plans = group_plans(mechanism, n_rows, n_columns)
    if n_answers is not None:
        check_integer("n_answers", n_answers)
        trees = [build_tree(plan.law) for plan in plans.values()]
        if not all(any(node.counts_answers for node in tree) for tree in trees):
            raise ValueError(
                f"n_answers={n_answers} needs a threshold that decides which rows are answered, "
                "as ConfidentGNMax has."
            )
    # The members of a level are different people, so the most expensive decides.
    functions: dict[str, tuple[ValueFunction, ...]] = {}
    for group, plan in plans.items():
        level = split_group(group)[0]
        functions[level] = (
            functions.get(level, ()) + plan.price(n_answers=n_answers)._value_functions
        )
    prices = {level: PlanPrice(values) for level, values in functions.items()}
    return prices.get(EVERYONE, prices)


def price_law(
    law: Law,
    n_rows: int,
    fineness: Fineness = FINE,
    n_answers: int | None = None,
    start: tuple[int, ValueFunction] | None = None,
) -> PlanPrice:
    """Price rows in the worst case, from a `start` of some rows and their value on."""
    game = worst_game(law, fineness, n_answers, start)
    value, n_more = next(game), n_rows - (start[0] if start else 0)
    for value in tracked(islice(game, n_more), _TASK, n_more):  # noqa: B007
        pass
    return PlanPrice((value if n_answers is None else replace(value, values=value.values[-1]),))


#: The most mu^2 of noisy numbers, and the largest shift, that games are played for. Beyond,
#: epsilons are hundreds, or a row reveals nearly everything.
_MOST_MU2, _LARGEST_SHIFT = 900.0, 5.0

#: Nodes on either side, and largest loss, of the curve of noisy numbers.
_NOISY_NODES, _LARGEST_LOSS = 20_000, 700.0


def noisy_numbers_mu2(law: Law, n_rows: int) -> float:
    """Compute the mu^2 of the noisy numbers behind rows, at least that of the rows."""
    nodes = all_nodes(build_tree(law))
    return float(sum(times * node.play.noisy_shift**2 for node, times in nodes) * n_rows)


def is_playable(law: Law, n_rows: int) -> bool:
    """Check that a game is worth playing; otherwise rows are priced as their noisy numbers."""
    largest = max((node.play.noisy_shift for node, _ in all_nodes(build_tree(law))), default=0.0)
    return noisy_numbers_mu2(law, n_rows) < _MOST_MU2 and largest < _LARGEST_SHIFT


def _price_noisy_numbers(law: Law, n_rows: int) -> PlanPrice:
    mu2, failure = noisy_numbers_mu2(law, n_rows), min(own_delta(law) * n_rows, 1.0)
    half = min(mu2 / 2 + 8 * math.sqrt(mu2), _LARGEST_LOSS)
    grid = LossGrid(max(half, 1.0) / _NOISY_NODES)
    epsilons = grid.step * np.arange(_NOISY_NODES, -1.0, -1.0)
    delta = gaussian_delta(math.sqrt(mu2), epsilons) if mu2 else np.zeros(len(epsilons))
    return PlanPrice((ValueFunction(grid, failure + (1 - failure) * delta, -_NOISY_NODES),))


@lru_cache(maxsize=32)
def price_law_cached(
    law: Law, n_rows: int, fineness: Fineness = FINE, n_answers: int | None = None
) -> PlanPrice:
    """Price rows in the worst case; a search for the longest plan asks for many lengths."""
    if not is_playable(law, n_rows):
        return _price_noisy_numbers(law, n_rows)
    if n_answers is not None:
        return price_law(law, n_rows, fineness, n_answers)
    played = _played_plans(law, fineness)
    shorter = [plan for plan in played.copy().items() if plan[0] <= n_rows]
    start = max(shorter, key=itemgetter(0), default=None)
    price = price_law(law, n_rows, fineness, start=start)
    (played[n_rows],) = price._value_functions
    if len(played) > _CACHE_SIZE:
        played.pop(next(iter(played)), None)
    return price


@lru_cache(maxsize=_CACHE_SIZE)
def _played_plans(law: Law, fineness: Fineness) -> dict[int, ValueFunction]:
    """Hold the value functions of some numbers of rows."""
    return {}


def plan_rows(
    mechanism: PlannedMechanism,
    n_rows: int,
    epsilon: float | Mapping[str, float],
    delta: float | Mapping[str, float],
    *,
    n_columns: int | None = None,
) -> int:
    """Count the rows of the longest plan, of at most `n_rows`, that fits (epsilon, delta).

    Parameters
    ----------
    mechanism : Mechanism
    n_rows : int
        The most rows.
    epsilon, delta : float or dict of str to float
        The remaining budget, of each level; everyone's if a number.
    n_columns : int, default=None
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
    plans = group_plans(mechanism, n_rows, n_columns)
    limits = [_limits(split_group(group)[0], epsilon, delta) for group in plans]
    longest = n_rows
    for plan, pairs in zip(plans.values(), limits, strict=True):
        rows = plan.rows.cumsum()
        n_fit = int(rows[longest - 1]) if longest else 0
        for pair in pairs:
            n_fit = _longest(plan.law, n_fit, *pair)
        longest = min(longest, int(np.searchsorted(rows, n_fit, side="right")))
    return longest


def _longest(law: Law, n_rows: int, epsilon: float, delta: float) -> int:
    def share(n_first: int) -> float:
        return price_law_cached(law, n_first).share(epsilon, delta)

    return find_most_rows(share, n_rows, guess=4)


def _limits(
    level: str, epsilon: float | Mapping[str, float], delta: float | Mapping[str, float]
) -> list[tuple[float, float]]:
    """Find the pairs that a charged level has to fit; everyone has to fit those of all levels."""
    by_name = [limit for limit in (epsilon, delta) if isinstance(limit, Mapping)]
    levels = sorted(set().union(*by_name)) if level == EVERYONE and by_name else [level]

    def limit_of(name: str, parameter: str, limit: float | Mapping[str, float]) -> float:
        if not isinstance(limit, Mapping):
            return limit
        if name not in limit:
            raise ValueError(f"{parameter}={dict(limit)!r} has no level {name!r}.")
        return limit[name]

    pairs = [(limit_of(n, "epsilon", epsilon), limit_of(n, "delta", delta)) for n in levels]
    for pair in pairs:
        check_pair(*pair)
    return pairs


def find_most_rows(share: Callable[[int], float], n_rows: int, guess: int = 32) -> int:
    """Find the most rows, up to `n_rows`, whose share is at most 1."""
    # The share grows with the rows, about in proportion, so few of them are looked at.
    low, high, guess = 0, n_rows + 1, min(n_rows, guess)
    while high - low > 1:
        used = share(guess)
        low, high = (guess, high) if used <= 1 else (low, guess)
        proposal = guess / used if used > 0 else np.inf
        guess = int(min(max(proposal, low + 1), high - 1))
    return low
