"""Plan and price of a fit, and its prospects, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping

from secretballot._base._errors import BudgetExceededError
from secretballot.accounting._release_plan import ReleasePlan
from secretballot.ensemble.individual._levels import Levels
from secretballot.linear._expected_quality import expected_quality
from secretballot.linear._fit_plan import plan_fit
from secretballot.linear._fit_size import FitSize
from secretballot.linear.input import (
    FitColumns,
    Population,
    Settings,
    declared_columns,
    public_columns_of,
    read_directions,
)
from secretballot.linear.rounds import Response
from secretballot.measures._fit_price import FitPrice, price_of_fits
from secretballot.tables._level_prices import by_level


def plan_linear_fit(
    settings: Settings, n: int | Mapping[str, int], X_public: object, n_labels: int | None
) -> ReleasePlan:
    """Plan the releases of a fit, or raise as the fit would."""
    columns, population, response = _public_input(settings, n, X_public, n_labels)
    settings.accountant.check_left(settings.scope)
    size = _size(settings, columns, population, response)
    size.check_signal(settings, population)
    return _releases(settings, columns, population, response, size)


def price_linear_fit(
    settings: Settings,
    n: int | Mapping[str, int],
    X_public: object,
    n_fits: int,
    n_labels: int | None,
) -> FitPrice:
    """Compute the price of a plan; a fit that would be refused has a problem, and no plan."""
    accountant, scope = settings.accountant, settings.scope
    columns, population, response = _public_input(settings, n, X_public, n_labels)
    size = _size(settings, columns, population, response)
    plan, problem, expected = None, "", ""
    try:
        accountant.check_left(scope)
        size.check_signal(settings, population)
        expected = expected_quality(size.signal, response)
        plan = _releases(settings, columns, population, response, size)
    except (BudgetExceededError, ValueError) as error:
        problem = str(error)
    if plan is None:
        share = accountant.price(size.whole_fit, scope=scope)
    else:
        share = plan.price(accountant, scope=scope)
    n_public = 0 if columns.X_public is None else columns.n_public
    sizes = {"n_columns": len(columns.names), "n_public_rows": n_public, "n_rounds": size.n_rounds}
    if settings.kind == "additive":
        sizes["n_bins"] = size.n_bins
    return price_of_fits(
        accountant,
        scope,
        n_fits,
        share=by_level(share),
        sizes={**sizes, "signal": size.signal},
        problem=problem,
        expected=expected,
        plan=plan,
    )


def _public_input(
    settings: Settings, n: int | Mapping[str, int], X_public: object, n_labels: int | None
) -> tuple[FitColumns, Population, Response]:
    if X_public is None:
        columns = declared_columns(settings)
    else:
        columns = public_columns_of(settings, X_public)
    if isinstance(n, Mapping):
        levels = Levels.of_counts(n, settings.accountant)
        population = Population.of(sum(n.values()), levels)
    else:
        population = Population.of(n)
    return columns, population, settings.answer.without_rows(n_labels)


def _size(
    settings: Settings, columns: FitColumns, population: Population, response: Response
) -> FitSize:
    return FitSize.choose(
        settings,
        response,
        population,
        n_columns=len(columns.names),
        n_public=columns.n_public,
    )


def _releases(
    settings: Settings,
    columns: FitColumns,
    population: Population,
    response: Response,
    size: FitSize,
) -> ReleasePlan:
    directions = read_directions(settings, response, columns.choice)
    return plan_fit(settings, columns, population, response, size, directions).releases
