"""The run of one fit: check, describe rows by public features, reserve, learn round by round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from secretballot._estimator_progress import EstimatorTask, Progress
from secretballot._sklearn_compat import _num_samples, _safe_indexing, with_callbacks
from secretballot.ensemble import Randomness, public_rows, warn_classes_learned, warn_settings
from secretballot.linear._additive_bins import FEWEST_PUBLIC, AdditiveBins, public_bins
from secretballot.linear._columns import public_columns
from secretballot.linear._dense_features import ScaledColumns, TransformedRows
from secretballot.linear._design import Design
from secretballot.linear._fit_data import (
    FitData,
    check_bounds,
    declared_bounds,
    declared_categories,
    prepared_data,
)
from secretballot.linear._made_up_rows import Unseen
from secretballot.linear._posterior import Belief
from secretballot.linear._rounds import Ballots, learn
from secretballot.linear._settings import check_loudness, choose_bins, choose_rounds, loudness
from secretballot.linear._strange_fit import warn_strange_fit
from secretballot.mechanisms import VectorSum
from secretballot.schema import RowSchema, columns_of, warn_misfits
from secretballot.screening import PublicRowsCheck, check_stacked

#: Of more public rows so many are used: what others would tell is less than the noise.
_MOST_PUBLIC = 20_000


@dataclass(frozen=True)
class Fitted:
    """What a fit has learned, all of it released or public."""

    classes: NDArray[Any]
    features: Any
    belief: Belief
    mechanism: VectorSum
    n_rounds: int
    n_bins: int | None
    schema: RowSchema


@dataclass
class _Paid:
    """All releases of one fit, which are paid for together before the first."""

    accountant: Any
    mechanism: VectorSum
    reservation: Any
    randomness: Randomness
    scope: Any
    note: dict[str, Any]
    task: EstimatorTask
    drawn: int = 0

    def ask(self, sums: NDArray[np.float64], paid: VectorSum | None = None) -> NDArray[np.float64]:
        """Return noisy sums."""
        self.drawn += 1
        outcome = self.accountant.release(
            self.mechanism if paid is None else paid,
            sums.reshape(1, -1),
            reservation=self.reservation,
            random_state=self.randomness.noise(self.drawn),
            scope=self.scope,
            note=self.note,
        )
        self.task.advance("round")
        return np.asarray(outcome).reshape(sums.shape)


@with_callbacks
def run_fit(model: Any, X: Any, y: Any, X_public: Any, owners: Any, budgets: Any) -> Fitted:
    """Fit a model."""
    accountant = model.accountant
    if accountant is None:
        raise ValueError(
            "accountant=None: nothing is learned from private rows without a budget. Use "
            "accountant=PrivacyAccountant(epsilon, delta)."
        )
    check_stacked(model)
    data = prepared_data(model, X, y, X_public, owners, budgets)
    _check_rows(model, data)
    if data.classes_learned:
        warn_classes_learned()
    warn_settings(model, data.levels, data.n_units)
    randomness, scope = Randomness.of(model.random_state), accountant.scope(model.epsilon)
    randomness.check(accountant)
    model._scope = scope

    def unit(sigma: float) -> VectorSum:
        return VectorSum(sigma=sigma, diameter=2.0, weight=data.weight)

    # How loud rows are decides how much to model, and follows from public numbers.
    one = accountant.calibrate(unit, n_queries=1, scope=scope)
    loud = loudness(data.total, one.sigma, np.sqrt(model.n_features_in_))
    check_loudness(loud, data.n_units)
    n_public = Unseen.n_like if data.X_public is None else _num_samples(data.X_public)
    n_bins = model.n_bins
    if n_bins == "auto":
        n_bins = choose_bins(loud, n_public, model.n_features_in_, len(data.classes))
    features, origin, unseen = _described(model, data, n_bins)
    n_rounds = choose_rounds(loud, n_public) if model.rounds == "auto" else int(model.rounds)
    n_paid = 1 + n_rounds + (0 if unseen is None else 1)

    def made(sigma: float) -> VectorSum:
        # The diameter is said apart: without public rows a vector may be longer.
        norm = features.norm
        return VectorSum(sigma=sigma, norm=norm, diameter=2 * norm, weight=data.weight)

    ballots = Ballots(
        transform=lambda rows: private_features(features, data.X, rows),
        codes=data.codes,
        shares=data.shares,
        n_classes=len(data.classes),
        total=data.total,
        n_numbers=model.n_features_in_ if model.features == "additive" else features.n_features,
    )
    for _ in ballots.parts():
        pass  # what rows hold that they may not is found before anything is spent
    if unseen is None:
        public = Design(features_of(features, _some(data.X_public)))
    check = None
    if data.X_public is not None:
        check = PublicRowsCheck.of(model, data.n_units, data.X_public, scope)
    part = 1.0 if check is None else check.rest
    mechanism = accountant.calibrate(made, n_queries=n_paid, scope=scope, share=part)
    note: dict[str, Any] = {"classes_learned": data.classes_learned, "features_from": origin}
    if data.levels is not None:
        note.update(data.levels.ledger_note)
    if data.public_may_be_private:
        note["public_may_be_private"] = True
    # Callbacks that fail do so before anything is paid.
    progress = Progress(model, "fit", 1)
    if check is not None:
        model.public_rows_check_ = check.made(
            model,
            X,
            public_rows(X_public, None),
            owners,
            scope=scope,
            random_state=randomness.noise(check.NOISE),
            note=note,
        )
    reservation = accountant.reserve(mechanism, n_paid, scope=scope, note=note)
    progress.paid()
    with progress.task("ask private rows", n_paid) as task:
        paid = _Paid(accountant, mechanism, reservation, randomness, scope, note, task)
        releases = ()
        if unseen is not None:
            public, releases = unseen.looked_at(ballots, mechanism, paid.ask)
        residuals: list[NDArray[np.float64]] = []

        def ask(sums: NDArray[np.float64]) -> NDArray[np.float64]:
            residuals.append(paid.ask(sums))
            return residuals[-1]

        belief = learn(
            ballots,
            features,
            public,
            ask,
            sigma=mechanism.sigma,
            n_rounds=n_paid - paid.drawn,
            n_people=data.n_people,
            releases=releases,
        )
    accountant.settle(reservation)
    progress.end()
    warn_misfits(data.misfits)
    warn_strange_fit(belief, features, residuals, mechanism.sigma)
    n_bins = n_bins if isinstance(features, AdditiveBins) else None
    return Fitted(data.classes, features, belief, mechanism, n_rounds, n_bins, data.schema)


def _check_rows(model: Any, data: FitData) -> None:
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
    if data.X_public is not None and _num_samples(data.X_public) < FEWEST_PUBLIC:
        raise ValueError(
            f"X_public has {_num_samples(data.X_public)} row(s), too few to say what rows look "
            f"like: give at least {FEWEST_PUBLIC} (some hundred are better), or leave them out and "
            "pass bounds=(low, high) of the columns and categories={column: [...]}."
        )


def _described(model: Any, data: FitData, n_bins: int) -> tuple[Any, str, Unseen | None]:
    """Return features, where they come from, and what stands for public rows if there are none."""
    if data.X_public is not None:
        return *_fitted_features(model, data, n_bins), None
    categories = declared_categories(model, data.X)
    unseen = Unseen.of(data, declared_bounds(model, data.X, categories), n_bins, categories)
    return unseen.features, "declared", unseen


def _fitted_features(model: Any, data: FitData, n_bins: int) -> tuple[Any, str]:
    """Return features fitted on the public rows, and where they come from."""
    if hasattr(model.features, "transform"):
        frozen = isinstance(model.features, FrozenEstimator)
        transformer = model.features if frozen else clone(model.features).fit(data.X_public)
        return TransformedRows(transformer, data.X_public), "frozen" if frozen else "public"
    categories = declared_categories(model, data.X_public)
    columns = public_columns(data.X_public, categories)
    check_bounds(model, columns, categories)
    if model.features == "additive":
        return public_bins(columns, n_bins, categories), "public"
    return ScaledColumns(columns, categories), "public"


def features_of(features: Any, X: Any) -> Any:
    """Return the features of public rows."""
    return features.transform(X if isinstance(features, TransformedRows) else columns_of(X))


def private_features(features: Any, X: Any, rows: slice) -> Any:
    """Return the features of some private rows."""
    some = _safe_indexing(X, np.arange(_num_samples(X))[rows])
    if isinstance(features, TransformedRows):
        return features.transform_private(some)
    return features.transform(columns_of(some))


def _some(X_public: Any) -> Any:
    """Return public rows, or some of them where there are very many."""
    n_rows = _num_samples(X_public)
    if n_rows <= _MOST_PUBLIC:
        return X_public
    return _safe_indexing(X_public, np.linspace(0, n_rows - 1, _MOST_PUBLIC).astype(int))
