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
from secretballot.ensemble import Randomness, warn_classes_learned, warn_settings
from secretballot.linear._additive_bins import AdditiveBins, public_bins
from secretballot.linear._columns import columns_of, public_columns
from secretballot.linear._dense_features import ScaledColumns, TransformedRows
from secretballot.linear._design import Design
from secretballot.linear._fit_data import (
    FitData,
    declared_bounds,
    declared_categories,
    prepared_data,
)
from secretballot.linear._made_up_rows import Unseen
from secretballot.linear._posterior import Belief
from secretballot.linear._rounds import Ballots, learn
from secretballot.linear._settings import choose_bins, choose_rounds, loudness
from secretballot.mechanisms import VectorSum

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
        transform=lambda rows: _features_of(features, data.X, rows),
        codes=data.codes,
        shares=data.shares,
        n_classes=len(data.classes),
        total=data.total,
        n_numbers=model.n_features_in_ if model.features == "additive" else features.n_features,
    )
    for _ in ballots.parts():
        pass  # what rows hold that they may not is found before anything is spent
    if unseen is None:
        public = Design(_features_of(features, _some(data.X_public), slice(None)))
    mechanism = accountant.calibrate(made, n_queries=n_paid, scope=scope)
    note: dict[str, Any] = {"classes_learned": data.classes_learned, "features_from": origin}
    if data.levels is not None:
        note.update(data.levels.ledger_note)
    progress = Progress(model, "fit", 1)
    reservation = accountant.reserve(mechanism, n_paid, scope=scope, note=note)
    progress.paid()
    with progress.task("ask private rows", n_paid) as task:
        paid = _Paid(accountant, mechanism, reservation, randomness, scope, note, task)
        releases = ()
        if unseen is not None:
            public, releases = unseen.looked_at(ballots, mechanism, paid.ask)
        belief = learn(
            ballots,
            features,
            public,
            paid.ask,
            sigma=mechanism.sigma,
            n_rounds=n_paid - paid.drawn,
            n_people=data.n_people,
            releases=releases,
        )
    accountant.settle(reservation)
    progress.end()
    additive = isinstance(features, AdditiveBins)
    return Fitted(data.classes, features, belief, mechanism, n_rounds, n_bins if additive else None)


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
    columns = public_columns(data.X_public)
    if model.features == "additive":
        return public_bins(columns, n_bins, categories), "public"
    return ScaledColumns(columns, categories), "public"


def _features_of(features: Any, X: Any, rows: slice) -> Any:
    whole = rows == slice(None)
    some = X if whole else _safe_indexing(X, np.arange(_num_samples(X))[rows])
    if isinstance(features, TransformedRows):
        return features.transform(some)
    return features.transform(columns_of(some))


def _some(X_public: Any) -> Any:
    """Return public rows, or some of them where there are very many."""
    n_rows = _num_samples(X_public)
    if n_rows <= _MOST_PUBLIC:
        return X_public
    return _safe_indexing(X_public, np.linspace(0, n_rows - 1, _MOST_PUBLIC).astype(int))
