"""One fit in order: columns, private rows, answer, size, plan; payment, check, rounds, result."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator

from secretballot._base._progress import EstimatorTask, Progress
from secretballot.accounting._release_plan import Run, paid_run
from secretballot.linear._additive_bins import AdditiveBins, nullable_bins, public_bins
from secretballot.linear._classes import ClassResponse
from secretballot.linear._column_reading import ColumnReadings, fitted_readings
from secretballot.linear._columns import ColumnChoice
from secretballot.linear._dense_features import TransformedRows
from secretballot.linear._design import Design, FeatureMap, Floats
from secretballot.linear._fit_features import (
    additive_features,
    placed_bins,
    public_features,
    thinned,
)
from secretballot.linear._fit_input import FitInput, Validate, read_parts, read_tables
from secretballot.linear._fit_plan import FitPlan, FitSize, plan_fit, warn_weak_signal
from secretballot.linear._fit_warnings import (
    warn_failed_fit,
    warn_flattened,
)
from secretballot.linear._posterior import monotone_posterior
from secretballot.linear._private_sums import RowSums
from secretballot.linear._read_rows import ReadRows, vector_rows
from secretballot.linear._response import (
    FittedRounds,
    Response,
    RivalPlan,
    RoundPlan,
)
from secretballot.linear._settings import Settings
from secretballot.mechanisms._noisy_counts import VectorSum
from secretballot.tables._columns import Columns
from secretballot.tables._fit_checks import warn_settings
from secretballot.tables._frames import column_names, columns_of
from secretballot.tables._known_cells import CellCheck
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._private_rows import PrivateRows
from secretballot.tables._public_data import PublicData, public_rows
from secretballot.tables._public_rows_check import PublicRowsCheck
from secretballot.tables._randomness import Randomness
from secretballot.tables._row_schema import RowSchema, warn_misfits
from secretballot.tables._table_checks import warn_copied_target
from secretballot.tables._undisturbed import one_blas_thread

#: Mean probability of the predicted classes above which they may be those of one column.
_FEW_DOUBTS = 0.9


@dataclass(frozen=True)
class FitArguments:
    """Arguments of `fit`."""

    X: ArrayLike | PrivateParts
    y: ArrayLike | None
    X_public: ArrayLike | PublicData | None
    owners: ArrayLike | None
    budgets: ArrayLike | None


@dataclass(frozen=True)
class FittedModel:
    """Result of a fit, all of it released or public."""

    response: Response
    features: FeatureMap
    rounds: FittedRounds
    kind: str
    mechanism: VectorSum
    n_rounds: int
    n_bins: int | None
    schema: Columns | RowSchema
    choice: ColumnChoice
    readings: ColumnReadings
    public_rows_check: PublicRowsCheck
    known_cells: CellCheck | None
    is_monotone: bool
    label_names: list[object] | None


def run_fit(
    settings: Settings,
    arguments: FitArguments,
    validate: Validate,
    randomness: Randomness,
    begin: Callable[[], Progress],
) -> FittedModel:
    """Fit a model to noisy sums over private rows."""
    data = _read(settings, arguments, validate)
    columns, population, response = data.columns, data.population, data.response
    try:
        size = _checked_size(settings, data, randomness)
        plan = plan_fit(settings, columns, population, response, size, data.directions)
        rows, misfits, rival_rows = _private_rows(settings, data, plan)
        progress = begin()  # callbacks that fail do so before anything is paid
        with paid_run(
            settings.accountant,
            plan.releases,
            scope=settings.scope,
            note=_note(settings, data, plan),
            noise=randomness.named_noise,
        ) as run:
            check = plan.check.draw(run, partial(_people_outside, data, arguments.X_public))
            features = plan.features
            if plan.grid is not None:
                features = _placed_features(data, plan, size, run)
                rows, misfits = vector_rows(data.private, features)
            n_vectors = plan.releases["sums"].n_rows + (plan.n_pairs > 0)
            with progress.task("ask private rows", n_vectors) as task, one_blas_thread():
                progress.paid()
                rounds = _rounds(data, plan, features, rows, rival_rows, run, task)
                fitted = response.run_rounds(rounds)
        progress.end()
        warn_misfits(misfits, data.response.target_bounds)
        return _result(settings, data, plan, size, rounds, fitted, check, arguments.y)
    finally:
        data.private.close()


def _read(settings: Settings, arguments: FitArguments, validate: Validate) -> FitInput:
    X, y, owners, budgets = arguments.X, arguments.y, arguments.owners, arguments.budgets
    if isinstance(X, PrivateParts):
        return read_parts(settings, validate, X, y, arguments.X_public, owners, budgets)
    return read_tables(settings, validate, X, y, arguments.X_public, owners, budgets)


def _checked_size(settings: Settings, data: FitInput, randomness: Randomness) -> FitSize:
    """Choose the size of a fit; refuse it, or warn, by public numbers."""
    accountant, population = settings.accountant, data.population
    data.response.warn()
    accountant.check_left(settings.scope, is_copy=settings.is_copy)
    warn_settings(accountant, settings.epsilon, population.levels, population.n_units)
    randomness.check_ledger(accountant)
    n_columns, n_public = len(data.columns.names), data.columns.n_public
    size = FitSize.choose(
        settings, data.response, population, n_columns=n_columns, n_public=n_public
    )
    size.check_signal(settings, population)
    warn_weak_signal(size.signal, data.response)
    return size


def _private_rows(
    settings: Settings, data: FitInput, plan: FitPlan
) -> tuple[PrivateRows[RowSums] | None, dict[Hashable, float], PrivateRows[RowSums] | None]:
    """Read all private cells before anything is paid; return the rows whose features are known.

    Between those of the plan and of its rival are the shares of misfits, by column. Before bins are
    placed, the sums of another release read all cells.
    """
    features = plan.features
    if isinstance(features, TransformedRows) and settings.rows_per_call == "auto":
        is_rows = settings.accountant.unit == "row"
        features.calls.warn_slow(data.population.n_units if is_rows else None)
    rows, misfits, rival_rows = None, dict[Hashable, float](), None
    if plan.grid is None:
        rows, misfits = vector_rows(data.private, features)
    if plan.rival is not None:
        rival_rows, _ = vector_rows(data.private, plan.rival)
    return rows, misfits, rival_rows


def _note(settings: Settings, data: FitInput, plan: FitPlan) -> dict[str, object]:
    """Return the public facts that the ledger keeps with all releases of a fit."""
    columns, features = data.columns, plan.features
    origin = "declared" if columns.X_public is None else "public"
    if isinstance(settings.features, FrozenEstimator):
        origin = "frozen"
    note = {
        **data.response.note,
        "features_from": origin,
        "n_columns": len(columns.names),
        "n_counted": data.population.n_units,
    }
    if isinstance(features, TransformedRows):
        note["rows_per_call"] = features.calls.rows_per_call
    if columns.may_be_private:
        note["public_may_be_private"] = True
    if settings.is_copy:
        note["copy"] = True
    return note


def _people_outside(
    data: FitInput, X_public: ArrayLike | PublicData | None
) -> dict[Hashable, float]:
    """Count the people with cells outside of the public rows, or of declarations, by column.

    Targets beyond their bounds count as a column.
    """
    columns, response = data.columns, data.response
    categories = columns.categories
    if X_public is None:
        bounds = columns.bounds
        return data.private.count(
            partial(ReadRows.undeclared, bounds=bounds, categories=categories, response=response)
        )
    shown = columns.choice.select(public_rows(X_public, None), "X_public")
    return data.private.count(
        partial(ReadRows.outside, X_public=shown, categories=categories, response=response)
    )


def _placed_features(data: FitInput, plan: FitPlan, size: FitSize, run: Run) -> AdditiveBins:
    """Return the features with the bins of numbers at released quantiles."""
    grid = plan.grid
    assert grid is not None
    n_people = math.ceil(data.population.total)
    mechanism = plan.releases["quantiles"].mechanism
    assert isinstance(mechanism, VectorSum)
    sums = data.private.sum(lambda rows: rows.rank_sums(grid, n_people))
    released = run.release("quantiles", sums)
    ranks = grid.ranks(released, mechanism.sigma, n_people)
    placed = placed_bins(grid.names, ranks, size.n_bins)
    is_smooth = data.response.is_smooth
    return additive_features(
        data.columns, size.n_bins, data.directions, placed, is_smooth=is_smooth
    )


def _rounds(
    data: FitInput,
    plan: FitPlan,
    features: FeatureMap,
    rows: PrivateRows[RowSums] | None,
    rival_rows: PrivateRows[RowSums] | None,
    run: Run,
    task: EstimatorTask,
) -> RoundPlan:
    def draw(name: str, sums: Floats) -> Floats:
        outcome = run.release(name, sums.reshape(1, -1))
        task.advance("round")
        return np.asarray(outcome).reshape(sums.shape)

    assert rows is not None
    pairs = plan.releases["pairs"].mechanism if plan.n_pairs else None
    rounds = RoundPlan(
        rows,
        data.population.total,
        features,
        public_features(data.columns, features),
        draw,
        plan.sums.sigma,
        n_rounds=plan.n_rounds,
        n_people=data.population.n_people,
        least_weight=data.population.least_weight,
        asks_ranks=plan.asks_ranks,
        n_pairs=plan.n_pairs,
        pair_sigma=pairs.sigma if isinstance(pairs, VectorSum) else 0.0,
    )
    if plan.rival is None:
        return rounds
    assert rival_rows is not None
    public = public_features(data.columns, plan.rival)
    other = replace(rounds, rows=rival_rows, features=plan.rival, public=public)
    return replace(rounds, rival=RivalPlan(other, plan.n_pilot))


def _result(
    settings: Settings,
    data: FitInput,
    plan: FitPlan,
    size: FitSize,
    rounds: RoundPlan,
    fitted: FittedRounds,
    check: PublicRowsCheck,
    y: ArrayLike | None,
) -> FittedModel:
    """Make the model from the released rounds; warn of problems that they show."""
    population, kind, directions = data.population, settings.kind, data.directions
    if fitted.is_rival and rounds.rival is not None:
        rounds, kind = rounds.rival.plan, "kernel"
    warn_failed_fit(
        fitted.posterior,
        rounds.features,
        rounds.public,
        fitted.residuals,
        fitted.counts,
        rounds.noise(rounds.features.norm),
        population.total**2 / population.n_people,
    )
    if directions.any():
        assert isinstance(fitted.features, AdditiveBins)
        relations = fitted.features.order_relations(directions)
        with one_blas_thread():
            ordered = monotone_posterior(fitted.posterior, relations)
        warn_flattened(fitted.posterior, ordered, fitted.features, directions)
        fitted = replace(fitted, posterior=ordered)
    _warn_copied_target(data, fitted)
    readings = data.readings
    if isinstance(fitted.features, AdditiveBins):
        readings = fitted_readings(readings, fitted.features, data.columns.days)
    assert readings is not None
    return FittedModel(
        response=data.response,
        features=fitted.features,
        rounds=fitted,
        kind=kind if isinstance(kind, str) else "transformer",
        mechanism=plan.sums,
        n_rounds=len(fitted.residuals) - 1,
        n_bins=size.n_bins if isinstance(rounds.features, AdditiveBins) else None,
        schema=data.columns.schema,
        choice=data.columns.choice,
        readings=readings,
        public_rows_check=check,
        known_cells=_known_cells(data, fitted),
        is_monotone=bool(directions.any()),
        label_names=None if y is None else column_names(y),
    )


def _warn_copied_target(data: FitInput, fitted: FittedRounds) -> None:
    """Warn if one public column has the classes that are predicted with few doubts."""
    shown, response = data.columns.X_public, data.response
    if shown is None or not isinstance(response, ClassResponse):
        return
    design = Design(fitted.features.transform(thinned(shown)))
    coefficients = fitted.posterior.coefficients
    scores = design.rowwise_decision(coefficients[1:], coefficients[0])
    if response.probabilities(scores).max(axis=1).mean() > _FEW_DOUBTS:
        warn_copied_target(data.columns.names, columns_of(thinned(shown)), response.predict(scores))


def _known_cells(data: FitInput, fitted: FittedRounds) -> CellCheck | None:
    """Return the check of cells to predict against the fit; None for a user's transformer."""
    columns, features = data.columns, fitted.features
    if not isinstance(columns.schema, Columns):
        return None
    if isinstance(features, AdditiveBins):
        reference = fitted.reference
        assert reference is not None
        means = reference.means(np.ones((len(reference.weights), 1))).ravel()
    else:
        assert columns.X_public is not None
        features = nullable_bins(public_bins(columns.given, 1, columns.categories))
        means = features.transform(columns.X_public).mean(axis=0)
    readers, ranges = columns.schema.columns, columns.ranges
    expected, known_categories = np.zeros((2, len(readers))), {}
    for at, (column, place) in enumerate(zip(features.columns, features.places, strict=True)):
        expected[0, at] = means[place][column.n_values :].sum()
        if column.other_code is not None:
            expected[1, at] = means[place][column.other_code]
            codes, _ = column.entries(np.append(np.arange(len(readers[at].texts)), -1))
            labels = column.labels()[: column.other_code]
            known_categories[at] = codes[:, 0] != column.other_code, labels
    return CellCheck(
        columns.schema,
        expected,
        np.array([ranges.get(name, (np.nan, np.nan)) for name in columns.names]).T,
        known_categories,
        far_words="The model has learned nothing there. Give columns in the units of the fit, and "
        "missing cells as NaN",
        hint=" (columns_ shows how the model reads each)",
    )
