"""Steps of one fit: check, describe rows by public features, reserve, release round by round."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from secretballot._estimator_progress import EstimatorTask, Progress
from secretballot._sklearn_compat import _num_samples, _safe_indexing, with_callbacks
from secretballot.accounting import PrivacyAccountant, Reservation, Scope
from secretballot.ensemble import PublicData, Randomness, public_rows, warn_settings
from secretballot.linear._expected_quality import warn_weak_signal
from secretballot.linear._fit_input import (
    FitInput,
    check_input,
    checked_bounds,
    declared_bounds,
    declared_categories,
)
from secretballot.linear._fit_size import FitSize
from secretballot.linear._fit_warnings import warn_failed_fit
from secretballot.linear._model_size import DECLARED_SIZE, check_signal
from secretballot.linear._pair_search import PairSearch
from secretballot.linear._released_bins import BinPlacement
from secretballot.linear.features import (
    FEW_PUBLIC_ROWS,
    FEWEST_PUBLIC_ROWS,
    AdditiveBins,
    FeatureMap,
    Floats,
    KernelFeatures,
    NumberBins,
    ScaledColumns,
    TransformedRows,
    column_keys,
    declared_bins,
    knots_between,
    public_bins,
    public_columns,
    public_ends,
)
from secretballot.linear.rounds import FittedRounds, PairPlan, PrivateRows, Response, RoundPlan
from secretballot.mechanisms import VectorSum
from secretballot.schema import Bounds, RowSchema, warn_misfits
from secretballot.screening import PublicRowsCheck, check_enclosing_fits

if TYPE_CHECKING:
    from secretballot.linear._linear_model import LinearModel

#: Public rows that are used; the sampling error of more is less than the noise.
_MOST_PUBLIC_ROWS = 20_000


@dataclass(frozen=True)
class FittedModel:
    """Result of a fit, all of it released or public."""

    response: Response
    features: FeatureMap
    rounds: FittedRounds
    mechanism: VectorSum
    n_rounds: int
    n_bins: int | None
    schema: RowSchema
    public_rows_check: PublicRowsCheck | None


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
        """Return noisy sums."""
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
    X: ArrayLike,
    y: ArrayLike,
    X_public: ArrayLike | PublicData | None,
    owners: ArrayLike | None,
    budgets: ArrayLike | None,
) -> FittedModel:
    """Fit a model."""
    accountant = model.accountant
    if accountant is None:
        raise ValueError(
            "accountant=None: nothing is learned from private rows without a budget. Use "
            "accountant=PrivacyAccountant(epsilon, delta)."
        )
    check_enclosing_fits(model)
    data = check_input(model, X, y, X_public, owners, budgets)
    _check_public_rows(model, data)
    response = data.response
    response.warn()
    warn_settings(accountant, model.epsilon, data.levels, data.n_units)
    randomness, scope = Randomness.from_seed(model.random_state), accountant.scope(model.epsilon)
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
        n_columns=model.n_features_in_,
        n_public=n_public,
    )
    check_signal(size.signal, data.n_units)
    warn_weak_signal(size.signal, response)
    n_bins, n_rounds = size.n_bins, size.n_rounds
    features, origin = _feature_map(model, data, n_bins)
    n_releases = 1 + n_rounds + (data.X_public is None)
    pairs = PairSearch.of(
        accountant,
        model.interactions,
        response,
        features,
        n_rounds,
        weight=data.weight,
        scope=scope,
    )

    rows = _private_rows(model, data, features)
    for _ in rows.blocks():
        pass  # invalid private cells are found before anything is spent
    check = public = None
    if data.X_public is not None:
        public = features.transform(_thinned(data.X_public))
        check = PublicRowsCheck.of(model, data.n_units, data.X_public, scope)
    placement = BinPlacement.of(accountant, data, _unseen_bounds(model, data), n_bins, scope)
    mechanism = accountant.calibrate(
        lambda sigma: response.mechanism(sigma, features, data.weight),
        n_rows=n_releases,
        scope=scope,
        share=_remaining_share(check, placement, pairs),
    )
    note: dict[str, object] = {**response.note, "features_from": origin}
    if data.levels is not None:
        note.update(data.levels.ledger_note)
    if data.public_may_be_private:
        note["public_may_be_private"] = True
    # Callbacks that fail do so before anything is paid.
    progress = Progress(model, "fit", 1)
    if check is not None:
        check = check.release_count(
            model,
            X,
            public_rows(X_public, None),
            owners,
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
        features, _ = _feature_map(model, data, n_bins, placed)
        rows = _private_rows(model, data, features)
        if data.X_public is not None:
            public = features.transform(_thinned(data.X_public))
    reservation = accountant.reserve(mechanism, n_releases, scope=scope, note=note)
    reservations = [reservation]
    if pairs is not None:
        reservations.append(accountant.reserve(pairs.mechanism, 1, scope=scope, note=note))
    progress.paid()
    with progress.task("ask private rows", n_releases + (pairs is not None)) as task:
        releases = _Releases(accountant, reservation, randomness, scope, note, task)
        pair_plan = None
        if pairs is not None:
            asked = _Releases(
                accountant, reservations[1], randomness, scope, note, task, pairs.NOISE_INDEX
            )
            pair_plan = PairPlan(pairs.mechanism, asked.noisy_sums, pairs.n_pairs)
        plan = RoundPlan(
            rows,
            features,
            public,
            mechanism,
            releases.noisy_sums,
            n_rounds=1 + n_rounds,
            n_people=data.n_people,
            pairs=pair_plan,
        )
        fitted = response.run_rounds(plan)
    for reservation in reservations:
        accountant.settle(reservation)
    progress.end()
    warn_misfits(data.misfits)
    n_squared = data.total**2 / data.n_people
    warn_failed_fit(fitted.posterior, features, fitted.residuals, mechanism.sigma, n_squared)
    return FittedModel(
        response=response,
        features=fitted.features,
        rounds=fitted,
        mechanism=mechanism,
        n_rounds=n_rounds,
        n_bins=n_bins if isinstance(features, AdditiveBins) else None,
        schema=data.schema,
        public_rows_check=check,
    )


def _check_public_rows(model: LinearModel, data: FitInput) -> None:
    if data.X_public is None and model.bounds is None and model.categories is None:
        raise ValueError(
            "neither X_public nor bounds: what rows look like must come from public rows, or be "
            "declared. Pass fit(X, y, X_public=PublicData(rows)), or bounds=(low, high) of the "
            "columns and categories={column: [...]}."
        )
    if data.X_public is None and model.features != "additive":
        raise ValueError(
            f"features={model.features!r} is fitted on public rows: pass X_public, or use "
            "features='additive' with bounds."
        )
    if data.X_public is not None and _num_samples(data.X_public) < FEWEST_PUBLIC_ROWS:
        raise ValueError(
            f"X_public has {_num_samples(data.X_public)} sample(s), too few to say what rows look "
            f"like: give at least {FEWEST_PUBLIC_ROWS} (some hundred are better), or leave them "
            "out and pass bounds=(low, high) of the columns and categories={column: [...]}."
        )


def _private_rows(model: LinearModel, data: FitInput, features: FeatureMap) -> PrivateRows:
    return PrivateRows(
        transform=lambda block: features.transform_private(_block_of(data.X, block)),
        shares=data.shares,
        total=data.total,
        n_numbers=model.n_features_in_ if model.features == "additive" else features.n_features,
        weight_bits=features.weight_bits if isinstance(features, AdditiveBins) else 0,
    )


def _remaining_share(
    check: PublicRowsCheck | None, placement: BinPlacement | None, pairs: PairSearch | None
) -> float:
    """Return the share of the fit's budget that remains for the rounds."""
    share = 1.0 if check is None else check.remaining_share
    return share - sum(each.SHARE for each in (placement, pairs) if each is not None)


def _unseen_bounds(model: LinearModel, data: FitInput) -> Bounds:
    """Return declared bounds of numbers, if public rows are too few to place their bins."""
    if data.X_public is None:
        return declared_bounds(model, data.X, declared_categories(model, data.X))
    if model.features != "additive" or _num_samples(data.X_public) >= FEW_PUBLIC_ROWS:
        return {}
    categories = declared_categories(model, data.X_public)
    return checked_bounds(model, public_columns(data.X_public, categories), categories)


def _feature_map(
    model: LinearModel,
    data: FitInput,
    n_bins: int,
    placed: Mapping[Hashable, NumberBins] | None = None,
) -> tuple[FeatureMap, str]:
    """Return the features of rows, and their origin: "declared", "public" or "frozen"."""
    if data.X_public is None:
        categories = declared_categories(model, data.X)
        bounds = declared_bounds(model, data.X, categories)
        names = column_keys(data.X)
        return declared_bins(names, bounds, n_bins, categories, placed), "declared"
    if not isinstance(model.features, str):
        frozen = isinstance(model.features, FrozenEstimator)
        transformer = model.features if frozen else clone(model.features).fit(data.X_public)
        return TransformedRows(transformer, data.X_public), "frozen" if frozen else "public"
    categories = declared_categories(model, data.X_public)
    columns = public_columns(data.X_public, categories)
    bounds = checked_bounds(model, columns, categories)
    if model.features == "additive":
        bins = public_bins(columns, n_bins, categories, bounds, placed)
        if data.response.is_smooth:
            bins = knots_between(bins, public_ends(bins, columns))
        return bins, "public"
    if model.features == "kernel":
        return KernelFeatures(columns, categories), "public"
    return ScaledColumns(columns, categories), "public"


def _block_of(X: ArrayLike, rows: slice) -> ArrayLike:
    block: ArrayLike = _safe_indexing(X, np.arange(_num_samples(X))[rows])
    return block


def _thinned(X_public: ArrayLike) -> ArrayLike:
    """Return public rows; evenly spaced ones if there are very many."""
    n_rows = _num_samples(X_public)
    if n_rows <= _MOST_PUBLIC_ROWS:
        return X_public
    spaced = np.linspace(0, n_rows - 1, _MOST_PUBLIC_ROWS).astype(int)
    thinned: ArrayLike = _safe_indexing(X_public, spaced)
    return thinned
