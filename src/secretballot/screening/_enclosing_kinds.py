"""Estimators and functions of scikit-learn that fit a model, often several times."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.model_selection import ParameterGrid, check_cv

#: Parameters that decide what a fit costs: where a search varies them, fits are not alike.
_COST_PARAMETERS = ("accountant", "epsilon", "mechanism", "reservation")

_UNPAID_SCORES = (
    "{} scores with held-out private rows, without noise. The guarantee covers neither these "
    "scores nor a choice by them. Let a student be chosen by PrivateChoice, or pay for each score: "
    "scoring=lambda model, X, y: model.score_private(X, y).accuracy."
)


@dataclass(frozen=True)
class Enclosing:
    """Kind of estimator around a model.

    Attributes
    ----------
    module : str
        Its public module.
    count_fits : callable
        Function from the estimator, and the variables of its running `fit`, to the number of fits
        of the model; None if it is not known.
    learns : str
        Part that it learns from private labels; empty if there is none.
    remedy : str
    scores : bool
        Whether it scores with held-out private rows.
    folds : bool
        Whether it calls `cross_val_predict` for its own folds.
    """

    module: str
    count_fits: Callable[[BaseEstimator, Mapping[str, Any]], int | None]
    learns: str = ""
    remedy: str = ""
    scores: bool = False
    folds: bool = False

    def leak(self, name: str, scoring: object) -> str:
        """Describe what leaves without noise; empty if nothing does."""
        if self.learns:
            return (
                f"{name} learns {self.learns} from labels of private rows, without noise. The "
                f"guarantee does not cover that, and the budget does not pay for it. {self.remedy}"
            )
        return _UNPAID_SCORES.format(name) if self.scores and not _is_own(scoring) else ""


def _n_folds(estimator: BaseEstimator) -> int | None:
    try:
        return int(check_cv(estimator.cv, classifier=True).get_n_splits())
    except (TypeError, ValueError):  # folds that depend on rows
        return None


def _and_one(n_fits: int | None) -> int | None:
    return None if n_fits is None else n_fits + 1


def _fits_of_stack(stack: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    return 1 if stack.cv == "prefit" else _and_one(_n_folds(stack))


def _fits_of_calibration(calibration: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    n_folds = _n_folds(calibration)
    return _and_one(n_folds) if calibration.ensemble is False else n_folds


def _fits_of_threshold(tuned: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    single = isinstance(tuned.cv, float)
    # Without a refit the model is fitted to the one part twice.
    return _and_one(1 if single else _n_folds(tuned))


def _fits_of_search(search: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    is_grid = hasattr(search, "param_grid")
    grids = search.param_grid if is_grid else search.param_distributions
    names = {name for grid in (grids if isinstance(grids, list) else [grids]) for name in grid}
    if any(name.split("__")[-1] in _COST_PARAMETERS for name in names):
        return None
    # Older versions of scikit-learn have a variable, later ones an attribute.
    n_splits = fit.get("n_splits", getattr(search, "n_splits_", None))
    n_candidates = len(ParameterGrid(grids)) if is_grid else search.n_iter
    return None if n_splits is None else n_candidates * int(n_splits) + bool(search.refit)


def _fits_of_bag(bag: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    return int(bag.n_estimators)


def _fits_of_vote(vote: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    models = [getattr(model, "steps", [("", model)])[-1][1] for _, model in vote.estimators]
    private = [model for model in models if hasattr(model, "accountant")]
    same = all(model.epsilon == private[0].epsilon for model in private)
    return len(private) if private and same else None


def _fits_of_rest(estimator: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    return int(fit["Y"].shape[1])


def _fits_of_pairs(pairs: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    return math.comb(len(pairs.classes_), 2)


def _fits_of_outputs(outputs: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    return int(fit["y"].shape[1])


def _fits_of_folds(estimator: BaseEstimator, call: Mapping[str, Any]) -> int | None:
    return int(call["cv"].get_n_splits(call["X"], call["y"], call.get("groups")))


def _fits_of_predictions(estimator: BaseEstimator, call: Mapping[str, Any]) -> int | None:
    return len(call["splits"])


def _fits_of_sizes(estimator: BaseEstimator, call: Mapping[str, Any]) -> int | None:
    return len(call["cv_iter"]) * len(call["train_sizes_abs"])


def _fits_of_values(estimator: BaseEstimator, call: Mapping[str, Any]) -> int | None:
    if call["param_name"].split("__")[-1] in _COST_PARAMETERS:
        return None
    return len(call["param_range"]) * (_fits_of_folds(estimator, call) or 1)


def _fits_of_permutations(estimator: BaseEstimator, call: Mapping[str, Any]) -> int | None:
    return (1 + int(call["n_permutations"])) * (_fits_of_folds(estimator, call) or 1)


def _is_own(scoring: object) -> bool:
    """Return True for functions of a user, which can pay for scores; not for names and scorers."""
    if isinstance(scoring, Mapping):
        return all(map(_is_own, scoring.values()))
    return callable(scoring) and not type(scoring).__module__.startswith("sklearn.")


STACK = Enclosing(
    "sklearn.ensemble",
    _fits_of_stack,
    "its final estimator",
    "Average models instead, or stack models of public rows.",
    folds=True,
)
_SEARCH = Enclosing("sklearn.model_selection", _fits_of_search, scores=True)

ENCLOSING = {
    "StackingClassifier": STACK,
    "StackingRegressor": STACK,
    "CalibratedClassifierCV": Enclosing(
        "sklearn.calibration",
        _fits_of_calibration,
        "the calibration",
        "Probabilities of PrivateLogisticRegression need none. Calibrate a fitted model with "
        "labelled public rows, CalibratedClassifierCV(FrozenEstimator(model)), or the student "
        "within an ensemble.",
        folds=True,
    ),
    "TunedThresholdClassifierCV": Enclosing(
        "sklearn.model_selection",
        _fits_of_threshold,
        "the threshold",
        "Choose it by public facts, FixedThresholdClassifier(model, threshold=), or use "
        "class_weight='balanced' of PrivateLogisticRegression.",
    ),
    "GridSearchCV": _SEARCH,
    "RandomizedSearchCV": _SEARCH,
    "BaggingClassifier": Enclosing("sklearn.ensemble", _fits_of_bag),
    "BaggingRegressor": Enclosing("sklearn.ensemble", _fits_of_bag),
    "VotingClassifier": Enclosing("sklearn.ensemble", _fits_of_vote),
    "VotingRegressor": Enclosing("sklearn.ensemble", _fits_of_vote),
    "OneVsRestClassifier": Enclosing("sklearn.multiclass", _fits_of_rest),
    "OneVsOneClassifier": Enclosing("sklearn.multiclass", _fits_of_pairs),
    "MultiOutputClassifier": Enclosing("sklearn.multioutput", _fits_of_outputs),
    "MultiOutputRegressor": Enclosing("sklearn.multioutput", _fits_of_outputs),
}

#: Functions that fit an estimator; their names are those of `sklearn.model_selection`.
FUNCTIONS = {
    name: Enclosing("sklearn.model_selection", count_fits, scores=name != "cross_val_predict")
    for name, count_fits in (
        ("cross_validate", _fits_of_folds),
        ("cross_val_predict", _fits_of_predictions),
        ("learning_curve", _fits_of_sizes),
        ("validation_curve", _fits_of_values),
        ("permutation_test_score", _fits_of_permutations),
    )
}
