"""Plan of a fit, and its price: what it releases, and of what, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import BudgetExceededError, warn
from secretballot.accounting._release_plan import PlannedRelease, ReleasePlan
from secretballot.linear._additive_bins import FEWEST_PUBLIC_ROWS, AdditiveBins
from secretballot.linear._dense_features import KernelFeatures
from secretballot.linear._design import FeatureMap
from secretballot.linear._fit_columns import (
    FitColumns,
    declared_columns,
    public_columns_of,
    read_directions,
)
from secretballot.linear._fit_features import (
    additive_features,
    bounds_of_numbers,
    dense_features,
    kernel_features,
    plan_bins,
)
from secretballot.linear._fit_input import Population
from secretballot.linear._fit_size import FitSize, expected_quality, too_many_columns
from secretballot.linear._response import Response, scaled_sum
from secretballot.linear._settings import Settings
from secretballot.linear._synthetic_rows import rank_error_ratio
from secretballot.measures._fit_price import FitPrice, price_of_fits
from secretballot.measures._rank_grid import RankGrid
from secretballot.mechanisms._noisy_counts import VectorSum
from secretballot.tables._fit_checks import by_level
from secretballot.tables._levels import Levels
from secretballot.tables._public_rows_check import PublicRowsCheck

#: Public rows below which lengths and directions of whole rows are hardly known.
_FEW_FOR_DENSE = 30
#: Share of all rounds that either features have before they are compared for the last time.
_PILOT_SHARE = 0.15
#: Largest noise of a comparison, as a share of the private rows.
_MOST_ERROR = 0.12
#: Share of a fit's budget that the search for pairs of columns takes.
_PAIR_SHARE = 0.05
#: Most pairs that join a model of few columns, or for each column of many, and most columns all of
#: whose pairs are asked.
_FEW_PAIRS, _PAIRS_PER_COLUMN, _MOST_COLUMNS = 6, 0.5, 100


@dataclass(frozen=True)
class FitPlan:
    """Releases of one fit, and what they are of."""

    releases: ReleasePlan
    features: FeatureMap  # but for bins that are placed
    check: PublicRowsCheck
    grid: RankGrid | None  # on which ranks of numbers are released, to place their bins
    n_rounds: int  # number of sums of residuals
    asks_ranks: bool  # whether the products of columns' ranks are released
    n_pairs: int  # largest number of pairs of columns that join the model
    rival: KernelFeatures | None  # features that are compared with these
    n_pilot: int  # number of rounds with either features before the last comparison

    @property
    def sums(self) -> VectorSum:
        """Mechanism of the sums of all rounds."""
        mechanism = self.releases["sums"].mechanism
        assert isinstance(mechanism, VectorSum)
        return mechanism


def plan_fit(
    settings: Settings,
    columns: FitColumns,
    population: Population,
    response: Response,
    size: FitSize,
    directions: NDArray[np.int8],
) -> FitPlan:
    """Plan all releases of a fit; ValueError if it has too many columns."""
    if columns.X_public is not None:
        _check_public_rows(settings, columns.n_public)
    features: FeatureMap
    if settings.kind == "additive":
        is_smooth = response.is_smooth
        features = additive_features(columns, size.n_bins, directions, is_smooth=is_smooth)
    else:
        features = dense_features(settings, columns, size.kernel_width)
    n_pilot = _count_pilot_rounds(settings, columns, population, response, features, size)
    n_pairs = count_pairs(settings.interactions, response, features, size)
    _check_memory(columns, features, n_pairs)

    check = PublicRowsCheck.of(
        settings, population.n_units, columns.X_public, settings.scope, response.target_bounds
    )
    releases = check.planned()
    bounds = bounds_of_numbers(settings, columns, size.n_bins, is_smooth=response.is_smooth)
    placement = plan_bins(
        settings, population, bounds, size.n_bins, is_needed=columns.has_few_public_rows
    )
    left, grid = check.remaining_share, None
    if placement is not None:
        grid, mechanism, share = placement
        left -= share
        releases.append(
            PlannedRelease(
                name="quantiles",
                mechanism=mechanism,
                n_rows=1,
                share=share,
                reads="ranks of each column of numbers, which place its bins",
                note={"measured": "quantiles", **population.note},
            )
        )

    def sums(n_rows: int, share: float) -> VectorSum:
        return settings.accountant.calibrate(
            lambda sigma: scaled_sum(sigma, population.weight),
            n_rows=n_rows,
            scope=settings.scope,
            share=share,
        )

    pairs = []
    if n_pairs:
        left -= _PAIR_SHARE
        pairs.append(
            PlannedRelease(
                name="pairs",
                mechanism=sums(1, _PAIR_SHARE),
                n_rows=1,
                share=_PAIR_SHARE,
                reads="the same for all pairs of columns",
                note=population.note,
            )
        )

    n_sums = 1 + size.n_rounds + n_pilot
    asks_ranks = columns.X_public is None
    if isinstance(features, AdditiveBins) and not asks_ranks:
        noise = sums(n_sums + 1, left).sigma * features.norm
        n_columns, n_public = len(features.columns), columns.n_public
        ratio = rank_error_ratio(noise, n_columns, population.total, n_public)
        asks_ranks = ratio < response.largest_rank_error
    n_sums += asks_ranks
    releases.append(
        PlannedRelease(
            name="sums",
            mechanism=sums(n_sums, left),
            n_rows=n_sums,
            share=left,
            reads="residuals times features, one vector a person and round",
            note=population.note,
        )
    )
    return FitPlan(
        ReleasePlan((*releases, *pairs)),
        features,
        check,
        grid,
        1 + size.n_rounds,
        asks_ranks,
        n_pairs,
        kernel_features(columns, size.kernel_width) if n_pilot else None,
        n_pilot,
    )


def count_pairs(
    interactions: int | str, response: Response, features: FeatureMap, size: FitSize
) -> int:
    """Return the largest number of pairs that may join a model; 0 if none are asked."""
    if not isinstance(features, AdditiveBins):
        return 0
    n_columns = len(features.columns)
    if not response.has_pairs or not size.n_rounds or n_columns < 2:
        return 0
    if not isinstance(interactions, str):
        return int(interactions)
    is_clear = response.asks_pairs(size.signal, size.n_rounds) and n_columns <= _MOST_COLUMNS
    return max(_FEW_PAIRS, int(_PAIRS_PER_COLUMN * n_columns)) if is_clear else 0


def _count_pilot_rounds(
    settings: Settings,
    columns: FitColumns,
    population: Population,
    response: Response,
    features: FeatureMap,
    size: FitSize,
) -> int:
    """Count the rounds with kernel features beside additive ones."""
    if settings.features != "auto" or not response.has_rival or columns.has_few_public_rows:
        return 0
    assert isinstance(features, AdditiveBins)
    n_categories = sum(column.other_code is not None for column in features.columns)
    n_pilot = round(_PILOT_SHARE * (1 + size.n_rounds))
    # A comparison is paid like a round, and moves by 2 as the mechanism of a whole fit does.
    noise = size.whole_fit.sigma * math.sqrt(1 + size.n_rounds + n_pilot)
    if 2 * n_categories > len(features.columns) or noise > _MOST_ERROR * population.total:
        return 0
    return n_pilot


def _check_public_rows(settings: Settings, n_public: int) -> None:
    """Refuse too few public rows, and warn of few for features of whole rows."""
    if n_public < FEWEST_PUBLIC_ROWS:
        raise ValueError(
            f"X_public has {n_public} sample(s), too few to say what rows look "
            f"like: give at least {FEWEST_PUBLIC_ROWS} (some hundred are better), or leave them "
            "out and pass bounds=(low, high) of the columns and categories={column: [...]}."
        )
    if n_public < _FEW_FOR_DENSE and settings.kind != "additive":
        warn(
            f"features={settings.features!r} scales and clips whole rows by X_public, and its "
            f"{n_public} samples are few for that: models were worse, and differed more. Give at "
            f"least {_FEW_FOR_DENSE}, or use features='additive'."
        )


def _check_memory(columns: FitColumns, features: FeatureMap, n_pairs: int) -> None:
    if not isinstance(features, AdditiveBins):
        return
    problem = too_many_columns(
        n_columns=len(features.columns),
        n_entries=features.n_entries,
        n_features=features.n_features,
        n_public=0 if columns.X_public is None else columns.n_public,
        n_pairs=n_pairs,
    )
    if problem:
        raise ValueError(problem)


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
