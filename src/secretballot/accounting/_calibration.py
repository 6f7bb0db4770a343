"""Calibration: the least noise whose rows fit a budget."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import TypeVar

from secretballot.accounting._limits import LESS_DELTA, Limits, less_rounding
from secretballot.accounting._pricing import GaussianPricing, PricedRows, Span, plan_pricing
from secretballot.accounting._protocol import ReleaseMechanism
from secretballot.costs._grid import FINE, Fineness
from secretballot.costs._groups import Costs
from secretballot.costs._orders import Order
from secretballot.costs._threshold_search import least_plan_noise
from secretballot.ledger._totals import Totals

M = TypeVar("M", bound=ReleaseMechanism)

#: Noise outside this range is neither private nor useful.
_LEAST, _MOST = 1e-6, 1e12

#: More noise that raises the logarithm of the price by so much is none.
_RISE = 0.01

#: The first noise that is priced exactly exceeds the estimate by this factor.
_SPARE = 1.0002


def calibrate_noise(
    build: Callable[[float], M],
    limits: Limits,
    totals: Totals,
    n_rows: int,
    n_columns: int | None,
    share: float,
) -> M:
    """Return the mechanism of the least noise whose rows fit a share of what is left.

    A little is left over, so that as many single releases fit whose prices are as exact: each
    price, and each sum of charges, is rounded up.
    """
    share = less_rounding(share, n_rows)
    priced = PricedRows(mechanism=build(1.0), n_rows=n_rows, n_columns=n_columns)
    kind = plan_pricing(limits, priced)
    if kind is not None:
        return _least_plan_noise(build, limits, totals, priced, share, kind)
    limits.check_costs(priced.max_cost(order=2.0))
    if limits.budget.kind == "pairs":
        limits.check_finite(priced.max_cost(order=math.inf))
    headroom = limits.headroom(totals, limits.budget.names)
    deltas_left = {level: delta for level, (_, delta) in headroom.items()}
    if fault := priced.own_delta_fault(n_rows, deltas_left):
        raise _own_delta_error(fault, limits)

    def load(noise: float, whole_curve: bool = False) -> float:
        mechanism = build(noise)

        @cache
        def charges(order: float | None) -> Costs:
            costs = mechanism.max_cost(n_columns, order=order)
            limits.check_costs(costs)
            span = Span((0, n_rows))
            return {group: priced.turns(group, span) * cost for group, cost in costs.items()}

        def charges_at(order: Order) -> Costs:
            return charges(None if whole_curve or isinstance(order, str) else order)

        return limits.share_of_headroom(totals, charges_at) / share

    return build(least_noise(load, partial(load, whole_curve=True)))


def _least_plan_noise(
    build: Callable[[float], M],
    limits: Limits,
    totals: Totals,
    priced: PricedRows,
    share: float,
    kind: type[GaussianPricing],
) -> M:
    n_rows = priced.n_rows

    def pricing(noise: float, fineness: Fineness = FINE) -> GaussianPricing:
        return kind(limits, replace(priced, mechanism=build(noise)), fineness)

    first = kind(limits, priced)
    headroom = first.headroom(totals)
    if fault := first.own_delta_fault(n_rows, headroom):
        raise _own_delta_error(fault, limits)
    headroom = {
        payer: (share * amount, share * delta) for payer, (amount, delta) in headroom.items()
    }
    span = first.span(n_rows)

    def exact_share(noise: float, fineness: Fineness = FINE) -> float:
        return max(pricing(noise, fineness).shares_of_remaining(span, headroom).values())

    if not first.has_game:
        return build(least_noise(exact_share))

    def expected_share(noise: float) -> float:
        return pricing(noise).expected_share(span, headroom)

    # Whatever a plan costs, releasing the noise itself costs no less.
    enough = least_noise(lambda noise: pricing(noise).noisy_numbers_share(span, headroom))
    guess = 0.82 * enough
    has_estimate = not math.isnan(expected_share(guess))
    if has_estimate:
        guess = least_noise(expected_share) * _SPARE
    coarse = not has_estimate and n_rows > 100
    return build(least_plan_noise(exact_share, enough, guess, coarse=coarse))


def _own_delta_error(fault: str, limits: Limits) -> ValueError:
    """Build the error of rows whose own deltas don't fit, whatever the noise."""
    if limits.budget.is_sensitive:
        fault = (
            "Rows have a delta of their own, and less is left for it; figures are withheld in a "
            "data-dependent budget"
        )
    return ValueError(
        f"No amount of noise makes the queries fit this budget. {fault}. {LESS_DELTA}"
    )


def least_noise(
    load: Callable[[float], float], certified_load: Callable[[float], float] | None = None
) -> float:
    """Return the least noise with a `load`, which falls as the noise grows, of at most 1.

    `certified_load`, which may be slower and a little larger, has to be at most 1 too.
    """
    from scipy.optimize import brentq

    def excess(log_noise: float) -> float:
        return math.log(min(max(load(math.exp(log_noise)), 1e-300), 1e300))

    def no_noise() -> ValueError:
        if 1 < load(1.0) < math.inf and load(_MOST) >= load(1.0):
            return _no_growth()
        return ValueError(
            f"no amount of noise up to {_MOST:g} makes the queries fit this budget; ask for fewer "
            "queries, or for a larger epsilon or delta."
        )

    high, first = 0.0, excess(0.0)
    while (over := excess(high) if high else first) > 0:
        if over > first + _RISE:
            raise _no_growth()
        if high >= math.log(_MOST):
            raise no_noise()
        # Most costs fall with the square of the noise, so this lands just above the answer.
        high = min(high + max(over / 2 * 1.01, 0.5) if over < 600 else high + 7, math.log(_MOST))
    low = high - 0.5
    while low > math.log(_LEAST) and excess(low) <= 0:
        high, low = low, max(low - 2 * (high - low), math.log(_LEAST))
    is_enough = excess(low) <= 0
    if is_enough and load(math.exp(low)) < load(1.0):
        raise _no_growth()
    noise, step = math.exp(low if is_enough else brentq(excess, low, high, xtol=1e-10)), 1e-10
    while noise < math.exp(high) and load(noise) > 1:
        noise, step = noise * (1 + step), step * 2
    while (certified := (certified_load or load)(noise)) > 1:
        # More than is missing: a whole curve can take seconds, and the next amount of noise has
        # rounding of its own.
        noise *= min(certified, 10.0) ** 2
        if noise > _MOST:
            raise no_noise()
    return noise


def _no_growth() -> ValueError:
    return ValueError(
        "make builds no more noise from a larger amount, so that no amount of noise is the least. "
        "Pass a function that uses its argument as the amount of noise, such as "
        "lambda noise: GNMax(sigma=noise). Nothing was spent."
    )


def noise_builder(make: Callable[..., M]) -> Callable[[float], M]:
    if not isinstance(make, type):
        if not callable(make):
            raise TypeError(
                f"make={make!r} must be a mechanism class with a field sigma or variance, or a "
                "function from the amount of noise to a mechanism."
            )
        return make
    parameters = inspect.signature(make).parameters
    required = {name for name, p in parameters.items() if p.default is inspect.Parameter.empty}
    if required == {"variance"}:
        return lambda noise: make(variance=noise**2)
    if "sigma" not in parameters or required - {"sigma"}:
        fields = ", ".join(f"{name}=..." for name in parameters if name in required) or "..."
        raise TypeError(
            f"make={make.__name__} can't be built from sigma alone; pass a function from the "
            f"amount of noise to a mechanism: lambda noise: {make.__name__}({fields})."
        )
    return lambda noise: make(sigma=noise)
