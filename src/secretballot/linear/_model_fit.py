"""Steps of one fit: check, describe rows by public features, reserve, release round by round."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from secretballot._base._errors import GIVE_BUDGET, CompletedInterrupt, warn
from secretballot._base._progress import EstimatorTask, Progress
from secretballot._base._sklearn_compat import _num_samples, with_callbacks
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._reservations import Reservation
from secretballot.ensemble._parameter_checks import warn_settings
from secretballot.ensemble._public_data import PublicData, public_rows
from secretballot.ensemble._randomness import Randomness
from secretballot.ledger._budget import Scope
from secretballot.ledger._waiting import HeldInterrupts
from secretballot.linear._expected_quality import warn_weak_signal
from secretballot.linear._feature_maps import (
    bounds_of_numbers,
    feature_map,
    first_kind,
    has_few_public_rows,
    public_features,
    ranges_of_numbers,
)
from secretballot.linear._fit_memory import too_many_columns
from secretballot.linear._fit_size import FitSize
from secretballot.linear._fit_warnings import (
    warn_clipped_targets,
    warn_failed_fit,
    warn_flattened,
)
from secretballot.linear._model_size import DECLARED_SIZE, check_signal
from secretballot.linear._monotone_posterior import monotone_posterior
from secretballot.linear._pair_search import PairSearch
from secretballot.linear._released_bins import BinPlacement
from secretballot.linear.features import (
    FEWEST_PUBLIC_ROWS,
    AdditiveBins,
    ColumnChoice,
    ColumnReadings,
    FeatureMap,
    Floats,
    TransformedRows,
    UnknownCells,
)
from secretballot.linear.input import (
    FitInput,
    check_input,
    check_parts,
    declared_bounds,
    declared_categories,
)
from secretballot.linear.rounds import (
    FittedRounds,
    PairPlan,
    Response,
    RivalPlan,
    RoundPlan,
    rank_error_ratio,
    resized,
)
from secretballot.mechanisms._noisy_counts import VectorSum
from secretballot.tables._copies import check_copy
from secretballot.tables._frames import column_names
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._public_rows_check import PublicRowsCheck
from secretballot.tables._row_schema import RowSchema
from secretballot.tables._undisturbed import one_blas_thread

if TYPE_CHECKING:
    from secretballot.linear._linear_model import LinearModel

#: Public rows below which lengths and directions of whole rows are hardly known.
_FEW_FOR_DENSE = 30
#: Share of all rounds that either features have before they are compared for the last time.
_PILOT_SHARE = 0.15
#: Largest noise of a comparison, as a share of the private rows.
_MOST_ERROR = 0.12


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
    schema: RowSchema
    choice: ColumnChoice
    readings: ColumnReadings
    public_rows_check: PublicRowsCheck
    unknown_cells: UnknownCells | None
    is_monotone: bool
    label_names: list[object] | None = None


@dataclass
class _Releases:
    """Releases of one fit, reserved together before the first."""

    accountant: PrivacyAccountant
    reservation: Reservation
    randomness: Randomness
    scope: Scope
    note: dict[str, object]
    task: EstimatorTask
    n_done: int = 0

    def noisy_sums(self, mechanism: VectorSum, sums: Floats) -> Floats:
        self.n_done += 1
        outcome = self.accountant.release(
            mechanism,
            sums.reshape(1, -1),
            reservation=self.reservation,
            random_state=self.randomness.noise(self.n_done),
            scope=self.scope,
            note=self.note,
        )
        self.task.advance("round")
        return np.asarray(outcome).reshape(sums.shape)


@with_callbacks
def run_fit(
    model: LinearModel,
    X: ArrayLike | PrivateParts,
    y: ArrayLike | None,
    X_public: ArrayLike | PublicData | None,
    owners: ArrayLike | None,
    budgets: ArrayLike | None,
) -> FittedModel:
    accountant = model.accountant
    if accountant is None:
        raise ValueError(
            f"accountant=None: nothing is learned from private rows without a budget. {GIVE_BUDGET}"
        )
    is_copy = check_copy(model)
    if isinstance(X, PrivateParts):
        data = check_parts(model, X, y, X_public, owners, budgets)
    else:
        data = check_input(model, X, y, X_public, owners, budgets)
    try:
        fitted = _run(model, accountant, data, X_public, is_copy)
        return replace(fitted, label_names=None if y is None else column_names(y))
    finally:
        data.private.close()


def _run(
    model: LinearModel,
    accountant: PrivacyAccountant,
    data: FitInput,
    X_public: ArrayLike | PublicData | None,
    is_copy: bool,
) -> FittedModel:
    _check_public_rows(model, data)
    response = data.response
    response.warn()
    randomness, scope = Randomness.from_seed(model.random_state), accountant.scope(model.epsilon)
    accountant.check_left(scope, is_copy=is_copy)
    warn_settings(accountant, model.epsilon, data.levels, data.n_units)
    randomness.check_ledger(accountant)
    model._scope = scope

    n_public = DECLARED_SIZE if data.X_public is None else _num_samples(data.X_public)
    size = FitSize.choose(
        model,
        accountant,
        scope,
        response,
        weight=data.weight,
        total=data.total,
        n_columns=len(data.names),
        n_public=n_public,
    )
    check_signal(size.signal, data.n_units, accountant, scope)
    warn_weak_signal(size.signal, response)
    n_bins, n_rounds = size.n_bins, size.n_rounds
    features, origin = feature_map(model, data, first_kind(model), size)
    if isinstance(features, TransformedRows) and model.rows_per_call == "auto":
        features.calls.warn_slow(data.n_units if accountant.unit == "row" else None)
    n_pilot = count_pilot_rounds(model.features, data, features, size)
    n_releases = 1 + n_rounds + n_pilot
    pairs = PairSearch.of(
        accountant,
        model.interactions,
        response,
        features,
        n_rounds,
        signal=size.signal,
        weight=data.weight,
        scope=scope,
    )

    if isinstance(features, AdditiveBins):
        problem = too_many_columns(
            n_columns=len(features.columns),
            n_entries=features.n_entries,
            n_features=features.n_features,
            n_public=0 if data.X_public is None else n_public,
            n_pairs=0 if pairs is None else pairs.n_pairs,
        )
        if problem:
            raise ValueError(problem)
    other = None
    if n_pilot:
        other, _ = feature_map(model, data, "kernel", size)
        other_rows = data.private.rows(other)
    public = public_features(data, features)
    check = PublicRowsCheck.of(model, data.n_units, data.X_public, scope, response.target_bounds)
    placement = BinPlacement.of(
        accountant,
        data,
        bounds_of_numbers(model, data, n_bins),
        n_bins,
        scope,
        is_needed=has_few_public_rows(data),
    )
    if placement is None:
        rows = data.private.rows(features)
    else:
        data.private.check_cells(features)
    calibrate = partial(
        accountant.calibrate,
        lambda sigma: response.mechanism(sigma, features, data.weight),
        scope=scope,
        share=check.remaining_share
        - sum(part.share for part in (placement, pairs) if part is not None),
    )
    asks_ranks = data.X_public is None
    if isinstance(features, AdditiveBins) and not asks_ranks:
        sigma = calibrate(n_rows=n_releases + 1).sigma
        ratio = rank_error_ratio(sigma, len(features.columns), data.total, n_public)
        asks_ranks = ratio < response.largest_rank_error
    n_releases += asks_ranks
    mechanism = calibrate(n_rows=n_releases)
    note: dict[str, object] = {
        **response.note,
        "features_from": origin,
        "n_columns": len(data.names),
        "n_counted": data.n_units,
    }
    if isinstance(features, TransformedRows):
        note["rows_per_call"] = features.calls.rows_per_call
    if data.levels is not None:
        note.update(data.levels.ledger_note)
    if data.public_may_be_private:
        note["public_may_be_private"] = True
    if is_copy:
        note["copy"] = True
    # Callbacks that fail do so before anything is paid.
    progress = Progress(model, "fit", 1, model.verbose)
    check = check.release_count(
        model,
        partial(_people_outside, model, data, X_public),
        scope=scope,
        random_state=randomness.noise(check.NOISE_INDEX),
        note=note,
    )
    if placement is not None:
        placed = placement.release_bins(
            accountant,
            data,
            scope=scope,
            random_state=randomness.noise(placement.NOISE_INDEX),
            note=note,
        )
        features, _ = feature_map(model, data, first_kind(model), size, placed)
        rows, public = data.private.rows(features), public_features(data, features)
    plans = [(mechanism, n_releases), *([] if pairs is None else [(pairs.mechanism, 1)])]
    with (
        _reserved(accountant, plans, scope=scope, note=note) as reservations,
        progress.task("ask private rows", n_releases + len(plans) - 1) as task,
        one_blas_thread(),
    ):
        progress.paid()
        releases = _Releases(accountant, reservations[0], randomness, scope, note, task)
        pair_plan = None
        if pairs is not None:
            pair_releases = _Releases(
                accountant, reservations[1], randomness, scope, note, task, pairs.NOISE_INDEX
            )
            pair_plan = PairPlan(pairs.mechanism, pair_releases.noisy_sums, pairs.n_pairs)
        plan = RoundPlan(
            rows,
            features,
            public,
            mechanism,
            releases.noisy_sums,
            n_rounds=1 + n_rounds,
            n_people=data.n_people,
            asks_ranks=asks_ranks,
            pairs=pair_plan,
        )
        if other is not None:
            other_plan = replace(
                plan,
                rows=other_rows,
                features=other,
                public=public_features(data, other),
                mechanism=resized(mechanism, other.norm),
            )
            plan = replace(plan, rival=RivalPlan(other_plan, n_pilot))
        fitted = response.run_rounds(plan)
    progress.end()
    data.private.warn_misfits()
    n_squared = data.total**2 / data.n_people
    kind = first_kind(model)
    if fitted.is_rival and plan.rival is not None:
        plan, kind = plan.rival.plan, "kernel"
    sigma = plan.mechanism.sigma
    residuals = fitted.residuals
    warn_failed_fit(
        fitted.posterior, plan.features, plan.public, residuals, fitted.counts, sigma, n_squared
    )
    if response.target_bounds is not None:
        warn_clipped_targets(response.target_bounds, check.share_outside, fitted.at_bounds)
    if data.directions.any():
        assert isinstance(fitted.features, AdditiveBins)
        relations = fitted.features.order_relations(data.directions)
        with one_blas_thread():
            ordered = monotone_posterior(fitted.posterior, relations)
        warn_flattened(fitted.posterior, ordered, fitted.features, data.directions)
        fitted = replace(fitted, posterior=ordered)
    return FittedModel(
        response=response,
        features=fitted.features,
        rounds=fitted,
        kind=kind if isinstance(kind, str) else "transformer",
        mechanism=plan.mechanism,
        n_rounds=len(fitted.residuals) - 1,
        n_bins=n_bins if isinstance(plan.features, AdditiveBins) else None,
        schema=data.schema,
        choice=data.choice,
        readings=data.readings(model, fitted.features),
        public_rows_check=check,
        unknown_cells=_unknown_cells(model, data, fitted),
        is_monotone=bool(data.directions.any()),
    )


@contextmanager
def _reserved(
    accountant: PrivacyAccountant,
    plans: Sequence[tuple[VectorSum, int]],
    *,
    scope: Scope,
    note: Mapping[str, object],
) -> Iterator[list[Reservation]]:
    """Pay for the releases of some plans; what was not drawn is refunded, whatever happens."""
    reservations: list[Reservation] = []
    try:
        for mechanism, n_rows in plans:
            try:
                reservation = accountant.reserve(mechanism, n_rows, scope=scope, note=note)
            except CompletedInterrupt as interrupt:
                reservations.append(cast("Reservation", interrupt.answer))
                raise
            reservations.append(reservation)
        yield reservations
    finally:
        with HeldInterrupts() as interrupts:
            interrupts.hold()
            for reservation in reservations:
                accountant.settle(reservation)


def _check_public_rows(model: LinearModel, data: FitInput) -> None:
    if data.X_public is None and model.bounds is None and model.categories is None:
        raise ValueError(
            "neither X_public nor bounds: what rows look like must come from public rows, or be "
            "declared. Pass fit(X, y, X_public=PublicData(rows)), or bounds=(low, high) of the "
            "columns and categories={column: [...]}."
        )
    if data.X_public is None and first_kind(model) != "additive":
        raise ValueError(
            f"features={model.features!r} is fitted on public rows: pass X_public, or use "
            "features='additive' with bounds."
        )
    if data.X_public is None:
        return
    n_public = _num_samples(data.X_public)
    if n_public < FEWEST_PUBLIC_ROWS:
        raise ValueError(
            f"X_public has {n_public} sample(s), too few to say what rows look "
            f"like: give at least {FEWEST_PUBLIC_ROWS} (some hundred are better), or leave them "
            "out and pass bounds=(low, high) of the columns and categories={column: [...]}."
        )
    if n_public < _FEW_FOR_DENSE and first_kind(model) != "additive":
        warn(
            f"features={model.features!r} scales and clips whole rows by X_public, and its "
            f"{n_public} samples are few for that: models were worse, and differed more. Give at "
            f"least {_FEW_FOR_DENSE}, or use features='additive'."
        )


def count_pilot_rounds(features: object, data: FitInput, bins: FeatureMap, size: FitSize) -> int:
    """Count the rounds with kernel features beside additive ones, from public numbers alone."""
    if features != "auto" or not data.response.has_rival or not isinstance(bins, AdditiveBins):
        return 0
    if has_few_public_rows(data):
        return 0
    n_categories = sum(column.other_code is not None for column in bins.columns)
    n_pilot = round(_PILOT_SHARE * (1 + size.n_rounds))
    # A comparison is paid like a round, and moves by 2 as the mechanism of a whole fit does.
    noise = size.whole_fit.sigma * math.sqrt(1 + size.n_rounds + n_pilot)
    if 2 * n_categories > len(bins.columns) or noise > _MOST_ERROR * data.total:
        return 0
    return n_pilot


def _people_outside(
    model: LinearModel, data: FitInput, X_public: ArrayLike | PublicData | None
) -> dict[Hashable, float]:
    """Count the people with cells outside of public rows, or of what was declared, by column.

    Targets beyond their bounds count as a column.
    """
    if X_public is None:
        categories = declared_categories(model, data.names)
        bounds = declared_bounds(model, data.names, categories)
        return data.private.totals_undeclared(bounds, categories, data.response)
    shown = public_rows(X_public, None)
    if data.choice.is_named:
        shown = data.choice.select(shown, "X_public")
    return data.private.totals_outside(shown, model.categories, data.names, data.response)


def _unknown_cells(model: LinearModel, data: FitInput, fitted: FittedRounds) -> UnknownCells | None:
    """Return the comparison of rows to predict with those of the fit; None of a transformer's."""
    ranges = ranges_of_numbers(model, data)
    if isinstance(fitted.features, AdditiveBins):
        reference = fitted.reference
        assert reference is not None
        means = reference.means(np.ones((len(reference.weights), 1))).ravel()
        return UnknownCells.of_features(fitted.features, means, ranges)
    if isinstance(fitted.features, TransformedRows):
        return None
    assert data.X_public is not None
    categories = declared_categories(model, data.names)
    return UnknownCells.of_public(data.columns, categories, data.X_public, ranges)
