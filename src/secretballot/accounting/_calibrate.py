"""One root-find that finds the noise for any mechanism."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

from secretballot._sizes import check_size
from secretballot.accounting._gaussian_terms import GaussianTerms, Left, Span
from secretballot.accounting._limits import Limits
from secretballot.accounting._own_delta import own_delta_fault, own_deltas
from secretballot.accounting._pricing import is_plan
from secretballot.accounting._protocol import ReleaseMechanism
from secretballot.divergences import GAUSSIAN
from secretballot.games import FINE, Fineness, PlannedMechanism, least_plan_noise, plan_shares
from secretballot.ledger import AskedOrder, Budget, LevelBudget, Totals, budget_levels

M = TypeVar("M", bound=ReleaseMechanism)

#: Noise outside this range is neither private nor useful.
_LEAST, _MOST = 1e-6, 1e12

#: What a sum of deltas may be rounded up by.
_ROUNDED = 1e-6

#: What a price is rounded up by, and what each term of a sum of charges is.
_PRICE_ROUNDING, _SUM_ROUNDING = 1e-9, 2.0**-50

#: What is looked at first has a little room, for what "about" means.
_SPARE = 1.0002


def calibrate(
    make: Callable[..., M],
    *,
    epsilon: float | Mapping[str, float],
    delta: float,
    n_queries: int,
    n_columns: int | None = None,
    order: AskedOrder = GAUSSIAN,
    approximation_delta: float | None = None,
) -> M:
    """Return the mechanism with the least noise at which `n_queries` rows fit a budget.

    Parameters
    ----------
    make : type or callable
        A mechanism with the field `sigma` (or `variance`), or a function from the amount of noise
        to a mechanism, whose cost must fall as the noise grows.
    epsilon, delta : float
        The privacy wanted for all queries together; `epsilon` may be one number per level.
    n_queries : int
        Rows to be answered, each charged the most it can cost. One release of a mechanism whose
        rows are parallel costs as much as its dearest row, however many there are.
    n_columns : int, default=None
        Columns of the counts (classes), where the cost depends on it; None: any number.
    order : "gaussian", "renyi" or float, default="gaussian"
        What the budget adds up, as for `PrivacyAccountant`. ``"gaussian"`` and infinity price the
        rows as one plan (`price_plan`), all of which are then begun in one release; that needs
        some 7 % less noise than charging the Renyi divergence of each.
    approximation_delta : float, default=None
        Part of `delta` that is set aside, as for `PrivacyAccountant`.

    Returns
    -------
    mechanism
        What `make` made; `n_queries` of its rows fit.

    Raises
    ------
    ValueError
        If no amount of noise is enough.

    See Also
    --------
    PrivacyAccountant.calibrate : The same for what is left of a budget.
    """
    check_size(n_queries, n_columns, name="n_queries")
    budget = Budget(levels=budget_levels(epsilon, delta, order, approximation_delta))
    return least_noise_within(make, Limits(budget), Totals(digest=""), int(n_queries), n_columns)


def least_noise_within(
    make: Callable[..., M],
    limits: Limits,
    totals: Totals,
    n_queries: int,
    n_columns: int | None,
    part: float = 1.0,
) -> M:
    """Return ``make(noise)`` for the least noise at which rows fit a part of what is left.

    A little is left over, so that as many single releases fit whose prices are as exact: each
    price, and each sum of charges, is rounded up.
    """
    part *= 1 - _PRICE_ROUNDING - n_queries * _SUM_ROUNDING
    _check_own_deltas(builder(make)(1.0), limits, totals, n_queries, n_columns)
    if limits.kind == "gaussian":
        return _least_noise_in_mu2(make, limits, totals, n_queries, n_columns, part)
    if is_plan(limits.kind, builder(make)(1.0), n_columns):
        left = limits.pairs_left(totals)
        limits.check_pairs(left)
        pairs = {level: (part * epsilon, part * delta) for level, (epsilon, delta) in left.items()}
        return _least_noise_of_plan(make, pairs, n_queries, n_columns)

    def load(mechanism: M, whole_curve: bool) -> float:
        used = limits.load(totals, mechanism, n_queries, n_columns, whole_curve=whole_curve)
        return used / part

    return least_noise(make, load)


def _check_own_deltas(
    mechanism: ReleaseMechanism,
    limits: Limits,
    totals: Totals,
    n_queries: int,
    n_columns: int | None,
) -> None:
    """Refuse rows whose own deltas don't fit, before noise is looked for that can't help."""
    if limits.kind == "gaussian":
        terms = GaussianTerms(mechanism, n_queries, n_columns, None, limits.levels)
        fault = terms.own_delta_fault(n_queries, limits.left_in_mu2(totals, terms.names))
    else:
        limits.check_most(mechanism.max_cost(n_columns, order=2.0))
        fault = own_delta_fault(mechanism, n_queries, n_columns, limits.delta_left(totals))
    if fault:
        raise ValueError(f"No amount of noise makes the queries fit this budget. {fault}")


def _least_noise_of_plan(
    make: Callable[..., M],
    pairs: Mapping[str, tuple[float, float]],
    n_queries: int,
    n_columns: int | None,
) -> M:
    """Return ``make(noise)`` for the least noise at which a plan fits each level's pair."""
    epsilon = {level: pair[0] for level, pair in pairs.items()}
    delta = {level: pair[1] for level, pair in pairs.items()}
    build = builder(make)

    def share(mechanism: M, fineness: Fineness) -> float:
        shares = plan_shares(
            cast("PlannedMechanism", mechanism),
            *(n_queries, epsilon, delta),
            n_columns=n_columns,
            fineness=fineness,
        )
        return max(shares.values())

    start = _start(build, pairs, n_queries, n_columns)
    return least_plan_noise(build, share, start, 0.925 * start, coarse=n_queries > 100)


def _least_noise_in_mu2(
    make: Callable[..., M],
    limits: Limits,
    totals: Totals,
    n_queries: int,
    n_columns: int | None,
    part: float,
) -> M:
    """Return ``make(noise)`` for the least noise at which rows fit a Gaussian budget."""
    build = builder(make)

    def terms_of(mechanism: M, fineness: Fineness) -> tuple[GaussianTerms, Left]:
        terms = GaussianTerms(mechanism, n_queries, n_columns, None, limits.levels, fineness)
        left = limits.left_in_mu2(totals, terms.names)
        return terms, {name: (part * mu2, part * delta) for name, (mu2, delta) in left.items()}

    def share(mechanism: M, fineness: Fineness) -> float:
        terms, left = terms_of(mechanism, fineness)
        return max(terms.shares(terms.whole(n_queries), left).values())

    def about(mechanism: M, rough: Callable[[GaussianTerms, Span, Left], float]) -> float:
        terms, left = terms_of(mechanism, FINE)
        return rough(terms, terms.whole(n_queries), left)

    if not terms_of(build(1.0), FINE)[0].has_game:
        return least_noise(make, lambda mechanism, _: share(mechanism, FINE))
    noises = []

    def remembered(noise: float) -> M:
        noises.append(noise)
        return build(noise)

    # Without a delta the noisy numbers are enough; what a plan takes is known about.
    least_noise(remembered, lambda mechanism, _: about(mechanism, GaussianTerms.noisy_numbers))
    enough, guess = noises[-1], 0.82 * noises[-1]
    known = not math.isnan(about(build(guess), GaussianTerms.expected))
    if known:
        least_noise(remembered, lambda mechanism, _: about(mechanism, GaussianTerms.expected))
        guess = noises[-1] * _SPARE
    coarse = not known and n_queries > 100
    return least_plan_noise(build, share, enough, guess, coarse=coarse, slope=-2.0)


def _start(
    build: Callable[[float], M],
    pairs: Mapping[str, tuple[float, float]],
    n_queries: int,
    n_columns: int | None,
) -> float:
    """Return noise at which the rows' Renyi divergences fit: a little more than a plan needs."""
    own = max(own_deltas(build(1.0), n_queries, n_columns).values())
    levels = tuple(_certified(level, *pair, own) for level, pair in pairs.items())
    limits, nothing = Limits(Budget(levels=levels)), Totals(digest="")
    noises = []

    def remembered(noise: float) -> M:
        noises.append(noise)
        return build(noise)

    def load(mechanism: M, whole_curve: bool) -> float:
        return limits.load(nothing, mechanism, n_queries, n_columns, whole_curve=whole_curve)

    least_noise(remembered, load)
    return noises[-1]


def _certified(name: str, epsilon: float, delta: float, own_delta: float) -> LevelBudget:
    """Return a level's Renyi budget; where epsilon is too small for one, that of a larger."""
    while True:
        try:
            return LevelBudget.create(name, epsilon, delta, own_delta * (1 + _ROUNDED), "renyi")
        except ValueError:
            epsilon *= 2


def least_noise(make: Callable[..., M], load: Callable[[M, bool], float]) -> M:
    """Return ``make(noise)`` for the least noise with ``load`` at most 1.

    ``load(mechanism, whole_curve)`` falls as the noise grows. The search looks at the gate order
    alone; the answer is certified with the whole curve that a release will be charged.
    """
    from scipy.optimize import brentq

    build = builder(make)

    def excess(log_noise: float) -> float:
        used = load(build(math.exp(log_noise)), False)
        return math.log(min(max(used, 1e-300), 1e300))

    high = 0.0
    while (over := excess(high)) > 0:
        if high >= math.log(_MOST):
            raise _never()
        # Most costs fall with the square of the noise, so this lands just above the answer.
        high = min(high + max(over / 2 * 1.01, 0.5) if over < 600 else high + 7, math.log(_MOST))
    low = high - 0.5
    while low > math.log(_LEAST) and excess(low) <= 0:
        high, low = low, max(low - 2 * (high - low), math.log(_LEAST))
    within = excess(low) <= 0  # Even the least noise is enough.
    noise, step = math.exp(low if within else brentq(excess, low, high, xtol=1e-10)), 1e-10
    while noise < math.exp(high) and load(build(noise), False) > 1:
        noise, step = noise * (1 + step), step * 2
    while (beyond := load(build(noise), True)) > 1:
        # More than is missing, because a whole curve can take seconds and the next amount of
        # noise has rounding of its own.
        noise *= min(beyond, 10.0) ** 2
        if noise > _MOST:
            raise _never()
    return build(noise)


def _never() -> ValueError:
    return ValueError(
        f"no amount of noise up to {_MOST:g} makes the queries fit this budget; ask for fewer "
        "queries, or for a larger epsilon or delta."
    )


def builder(make: Callable[..., M]) -> Callable[[float], M]:
    if not isinstance(make, type):
        if not callable(make):
            raise TypeError(
                f"make={make!r} must be a mechanism class with a field sigma or variance, or a "
                "function from the amount of noise to a mechanism."
            )
        return make
    needed = [
        name
        for name, parameter in inspect.signature(make).parameters.items()
        if parameter.default is inspect.Parameter.empty
    ]
    if needed == ["variance"]:
        return lambda noise: make(variance=noise**2)
    if "sigma" not in inspect.signature(make).parameters or set(needed) - {"sigma"}:
        others = ", ".join(f"{name}=..." for name in needed) or "..."
        raise TypeError(
            f"make={make.__name__} can't be built from sigma alone; pass a function from the "
            f"amount of noise to a mechanism: lambda noise: {make.__name__}({others})."
        )
    return lambda noise: make(sigma=noise)
