"""Size, release plan and price of a fit, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import BudgetExceededError, warn
from secretballot.accounting._answers import epsilon_factor
from secretballot.accounting._release_plan import PlannedRelease, ReleasePlan
from secretballot.ledger._budget import by_level
from secretballot.linear._additive_bins import FEWEST_PUBLIC_ROWS, AdditiveBins
from secretballot.linear._classes import ClassResponse
from secretballot.linear._dense_features import KernelFeatures
from secretballot.linear._design import FeatureMap, stores_pairs
from secretballot.linear._fit_columns import (
    FitColumns,
    declared_columns,
    public_columns_of,
    read_directions,
)
from secretballot.linear._fit_features import (
    MOST_PUBLIC_ROWS,
    additive_features,
    bounds_of_numbers,
    dense_features,
    kernel_features,
    plan_bins,
)
from secretballot.linear._fit_input import Population
from secretballot.linear._labels import LabelResponse
from secretballot.linear._numbers import NumberResponse
from secretballot.linear._reference_rows import N_SYNTHETIC
from secretballot.linear._response import Response, scaled_sum
from secretballot.linear._settings import Settings
from secretballot.linear._synthetic_rows import RANK_VARIANCE
from secretballot.measures._fit_price import FitPrice, price_of_fits
from secretballot.measures._rank_grid import RankGrid
from secretballot.mechanisms._noisy_counts import VectorSum
from secretballot.tables._levels import Levels
from secretballot.tables._public_rows_check import PublicRowsCheck


class Prospect(NamedTuple):
    """Quality of models between two ratios of signal to noise."""

    below: float  # upper end of the ratios
    least: float  # least share of a score that is left with noise
    most: float  # largest share
    loss: float = math.nan  # largest loss of accuracy; NaN where it was not measured


class MeasuredQuality(NamedTuple):
    """Quality of models of certain tables, by the ratio of signal to noise."""

    tables: str
    score: str
    steps: tuple[Prospect, ...]  # by ascending ratio


#: Measured by benchmarks/equal_epsilon/noise_loss.py, and by benchmarks/multilabel/label_noise.py.
_CLASSES = MeasuredQuality(
    "three tables (Adult, Bank, Credit)",
    "AUC above .5",
    (
        Prospect(30.0, 0.28, 0.70, 0.111),
        Prospect(100.0, 0.62, 0.99, 0.058),
        Prospect(400.0, 0.88, 1.0, 0.026),
        Prospect(math.inf, 0.97, 1.0, 0.007),
    ),
)
_NUMBERS = MeasuredQuality(
    "three tables (prices of diamonds, ages in Adult, credit limits)",
    "R^2",
    (
        Prospect(30.0, -0.07, 0.38),
        Prospect(100.0, 0.52, 0.92),
        Prospect(400.0, 0.80, 0.96),
        Prospect(math.inf, 0.91, 0.97),
    ),
)
#: Ratios are divided by the root of the number of labels, which share a vector's length.
_LABELS = MeasuredQuality(
    "five tables (scene, emotions, enron, corel5k, bibtex)",
    "AUC above .5",
    (
        Prospect(2.0, 0.02, 0.33),
        Prospect(5.0, 0.09, 0.87),
        Prospect(10.0, 0.16, 0.94),
        Prospect(math.inf, 0.92, 0.99),
    ),
)

#: A fit is warned of if models may keep less than this share of the score.
_LITTLE = 0.5


def expected_quality(signal: float, response: Response) -> str:
    """Describe the quality of models at a ratio of signal to noise, by measurements."""
    if isinstance(response, ClassResponse) and response.n_outputs > 1:
        return (
            f"What noise leaves of a model of {response.n_outputs} classes was not measured: with "
            "two classes it leaves more. score_private tells after the fit."
        )
    tables, score, _ = _measured_quality(response)
    prospect = _prospect(signal, response)
    start = f"At this ratio of signal to noise models of {tables}"
    if prospect.least < 0:
        return (
            f"{start} were often worse than the mean: {score} was at most {prospect.most:.0%} of "
            "that without noise, and often below 0."
        )
    share = f"{prospect.least:.0%} to {prospect.most:.0%}"
    if prospect.least == prospect.most:
        share = f"about {prospect.least:.0%}"
    lost = "" if math.isnan(prospect.loss) else f", and lost up to {prospect.loss:.3f} of accuracy"
    return (
        f"{start} kept {share} of the {score} that they have without noise{lost}. Other "
        "tables differ."
    )


def warn_weak_signal(signal: float, response: Response) -> None:
    """Warn, before anything is spent, of a fit that may learn next to nothing."""
    if _prospect(signal, response).least < _LITTLE:
        warn(
            f"the private rows stand out of the noise {signal:.2g} times only. "
            f"{expected_quality(signal, response)} Use more rows, a larger epsilon or fewer "
            "columns; price_fit(n, X_public) says beforehand what to expect."
        )


def _prospect(signal: float, response: Response) -> Prospect:
    return next(step for step in _measured_quality(response).steps if signal < step.below)


def _measured_quality(response: Response) -> MeasuredQuality:
    if isinstance(response, NumberResponse):
        return _NUMBERS
    if not isinstance(response, LabelResponse):
        return _CLASSES
    root = math.sqrt(response.n_outputs)
    steps = tuple(step._replace(below=root * step.below) for step in _LABELS.steps)
    return _LABELS._replace(steps=steps)


#: Bins grow as a power of the signal-to-noise ratio; the constants are measured.
_FACTOR, _POWER, _LEAST_BINS, _MOST_BINS = 0.22, 0.6, 3, 64

#: Public rows for each bin, and the least number of rows that counts: there are always as many
#: reference rows.
_PUBLIC_ROWS_PER_BIN, _LEAST_PUBLIC_ROWS = 16, 400

#: Bins of all columns together, for two classes: time grows as their cube times the classes.
_ALL_BINS = 512

#: Signal-to-noise ratio of a class from which kernels have a width of 1, and their least width; the
#: constants are measured.
_FULL_SIGNAL, _LEAST_WIDTH = 200.0, 1 / 16

#: Least signal-to-noise ratio of a fit. Below it models were right less often than the constant
#: prediction of the most frequent class: 4 to 20 columns, 20 to 200 rows at epsilon 1.
_LEAST_SIGNAL = 6.0

#: Bytes of a reference row for each ordered pair of its entries. (Measured: 20 at the peak.)
_BYTES_PER_PAIR = 16
#: Largest memory of a fit, in bytes.
_MOST_MEMORY = 8 * 10**9


@dataclass(frozen=True)
class FitSize:
    """Size of a fit."""

    signal: float  # ratio of the rows' mean to the noise, if one round took the whole budget
    n_bins: int  # largest number of bins of a column
    n_rounds: int  # number of sums of residuals after the first
    kernel_width: float  # width of kernels; see `KernelFeatures`
    whole_fit: VectorSum  # mechanism of one release that would take all that the fit may spend

    @classmethod
    def choose(
        cls,
        settings: Settings,
        response: Response,
        population: Population,
        *,
        n_columns: int,
        n_public: int,
    ) -> FitSize:
        """Choose the size of a fit, as far as the settings leave it open."""
        whole_fit = settings.accountant.calibrate(
            partial(scaled_sum, weight=population.weight), n_rows=1, scope=settings.scope
        )
        # Of vectors of length 1, if one round took the whole budget.
        clear_signal = 2 * population.total / whole_fit.sigma
        signal = clear_signal / math.sqrt(n_columns)
        n_bins, n_rounds = settings.n_bins, settings.rounds
        if isinstance(n_bins, str):
            n_bins = choose_bins(signal, n_public, n_columns, response.n_outputs)
        if isinstance(n_rounds, str):
            n_rounds = response.choose_rounds(signal, n_public)
        width = choose_width(clear_signal, response.n_outputs)
        return cls(signal, int(n_bins), int(n_rounds), width, whole_fit)

    def check_signal(self, settings: Settings, population: Population) -> None:
        """Raise BudgetExceededError if the noise would drown the signal of all rows."""
        if self.signal >= _LEAST_SIGNAL:
            return
        factor, n_units = _LEAST_SIGNAL / self.signal, population.n_units
        epsilon = epsilon_factor(settings.accountant, settings.scope, factor)
        raise BudgetExceededError(
            f"noise that fits what may be spent would drown what {n_units} private rows (or "
            f"owners) say together: their mean stands out of it {self.signal:.2g} times, and "
            f"{_LEAST_SIGNAL:g} times are needed to predict better than a constant. Nothing "
            f"was released or spent. Use about {math.ceil(n_units * factor)} rows, "
            f"{epsilon:g} times the epsilon, or fewer columns."
        )


def choose_bins(signal: float, n_public: int, n_columns: int, n_outputs: int) -> int:
    all_bins = _ALL_BINS * math.pow(2 / max(n_outputs, 2), 1 / 3)
    most = min(
        _MOST_BINS,
        max(n_public, _LEAST_PUBLIC_ROWS) / _PUBLIC_ROWS_PER_BIN,
        all_bins / n_columns,
    )
    return max(round(min(_FACTOR * math.pow(signal, _POWER), most)), _LEAST_BINS)


def choose_width(signal: float, n_outputs: int) -> float:
    """Choose the width of kernels: wide ones model interactions, and need a strong signal."""
    return min(max((signal / (_FULL_SIGNAL * n_outputs)) ** 2, _LEAST_WIDTH), 1.0)


def _check_memory(columns: FitColumns, features: FeatureMap, n_pairs: int) -> None:
    """Refuse a fit of so many columns that its reference rows take too much memory."""
    if not isinstance(features, AdditiveBins):
        return
    n_columns, n_entries = len(features.columns), features.n_entries
    if not n_pairs and not stores_pairs(n_entries, features.n_features):
        return
    n_public = 0 if columns.X_public is None else columns.n_public
    n_rows = min(n_public, MOST_PUBLIC_ROWS) + N_SYNTHETIC
    all_entries = n_entries + n_pairs
    memory = _BYTES_PER_PAIR * n_rows * all_entries**2
    if memory <= _MOST_MEMORY:
        return
    most_entries = math.isqrt(_MOST_MEMORY // (_BYTES_PER_PAIR * n_rows))
    most_columns = n_columns * most_entries // all_entries
    most_rows = _MOST_MEMORY // (_BYTES_PER_PAIR * all_entries**2) - N_SYNTHETIC
    fewer_rows = f", or at most {most_rows:,} public rows" if most_rows > 0 and n_public else ""
    raise ValueError(
        f"{n_columns:,} columns are too many for a fit, which would take about "
        f"{memory / 1e9:,.0f} GB of memory ({_BYTES_PER_PAIR} bytes times {n_rows:,} reference "
        f"rows times the square of {all_entries:,} entries a row), and at most "
        f"{_MOST_MEMORY / 1e9:.0f} GB are taken. Nothing was released or spent. Use at most "
        f"{most_columns:,} columns: "
        f"columns=[...] names those to read{fewer_rows}."
    )


#: Public rows below which lengths and directions of whole rows are hardly known.
_FEW_FOR_DENSE = 30
#: Share of all rounds that each kind of features gets before the last comparison.
_PILOT_SHARE = 0.15
#: Largest noise of a comparison, as a share of the private rows.
_MOST_ERROR = 0.12
#: Share of a fit's budget that the search for pairs of columns takes.
_PAIR_SHARE = 0.05
#: Most pairs that join a model by default: this many, or this many for each column if that is more.
_FEW_PAIRS, _PAIRS_PER_COLUMN = 6, 0.5
#: Most columns whose pairs are searched by default.
_MOST_COLUMNS = 100


@dataclass(frozen=True)
class FitPlan:
    """Releases of one fit, with the features and numbers that they need."""

    releases: ReleasePlan
    sums: VectorSum  # mechanism of the sums of all rounds
    features: FeatureMap  # with provisional bins, if `grid` places them
    check: PublicRowsCheck
    grid: RankGrid | None  # grid of the ranks that place bins of numbers; None: no such release
    n_rounds: int  # number of sums of residuals
    asks_ranks: bool  # whether the products of columns' ranks are released
    n_pairs: int  # largest number of pairs of columns that join the model
    rival: KernelFeatures | None  # features that are compared with `features`
    n_pilot: int  # number of rounds with each of both before the last comparison


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
        settings.accountant,
        population.n_units,
        columns.X_public,
        settings.scope,
        response.target_bounds,
        is_wanted=settings.check_public_rows,
    )
    releases = check.planned()
    bounds = bounds_of_numbers(settings, columns, size.n_bins, is_smooth=response.is_smooth)
    placement = plan_bins(
        settings, population, bounds, size.n_bins, is_needed=columns.has_few_public_rows
    )
    remaining_share, grid = check.remaining_share, None
    if placement is not None:
        grid, mechanism, share = placement
        remaining_share -= share
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

    sums_of = partial(
        settings.accountant.calibrate,
        partial(scaled_sum, weight=population.weight),
        scope=settings.scope,
    )
    pairs = []
    if n_pairs:
        remaining_share -= _PAIR_SHARE
        pairs.append(
            PlannedRelease(
                name="pairs",
                mechanism=sums_of(n_rows=1, share=_PAIR_SHARE),
                n_rows=1,
                share=_PAIR_SHARE,
                reads="the same for all pairs of columns",
                note=population.note,
            )
        )

    n_sums = 1 + size.n_rounds + n_pilot
    asks_ranks = columns.X_public is None
    if isinstance(features, AdditiveBins) and not asks_ranks:
        noise = sums_of(n_rows=n_sums + 1, share=remaining_share).sigma * features.norm
        # Errors of correlations of ranks: of released ones, and of public ones.
        rooted = math.sqrt(len(features.columns) * columns.n_public)
        error_ratio = noise * rooted / (2 * population.total * RANK_VARIANCE)
        asks_ranks = error_ratio < response.largest_rank_error
    n_sums += asks_ranks
    sums = sums_of(n_rows=n_sums, share=remaining_share)
    releases.append(
        PlannedRelease(
            name="sums",
            mechanism=sums,
            n_rows=n_sums,
            share=remaining_share,
            reads="residuals times features, one vector a person and round",
            note=population.note,
        )
    )
    return FitPlan(
        ReleasePlan((*releases, *pairs)),
        sums,
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
    """Return the largest number of pairs that may join a model; 0 if none are searched."""
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
    # A comparison is paid like a round. Like the sum of `whole_fit`, it moves by 2 at most.
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
    """Compute the price of a fit; if it would be refused, with a problem and without a plan."""
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
