"""Numbers of fits of a model within the estimators and functions of scikit-learn around it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import ParameterGrid, check_cv

#: Parameters that decide what a fit costs: where a search varies them, fits are not alike.
_COST_PARAMETERS = ("accountant", "epsilon", "mechanism", "reservation")


def private_parts(estimator: BaseEstimator) -> list[Any]:
    """Return the private models of an estimator with several, if they have one budget.

    There are none if some are within other estimators, whose fits are not known yet.
    """
    parts = [_last(part) for _, part in estimator.estimators]
    private = [part for part in parts if _is_private(part)]
    within = any(
        _is_private(value)
        for part in parts
        if hasattr(part, "get_params") and not _is_private(part)
        for value in part.get_params().values()
    )
    same = all(part.accountant is private[0].accountant for part in private)
    return private if same and not within else []


def unprotected_parts(estimators: Iterable[tuple[str, Any]]) -> list[str]:
    """Return the names of the models that are fitted to the same rows without a budget."""
    return [
        name
        for name, part in estimators
        if hasattr(part, "get_params")
        and not isinstance(part, FrozenEstimator)
        and not any(map(_is_private, [part, *part.get_params().values()]))
    ]


def _is_private(part: Any) -> bool:
    return getattr(part, "accountant", None) is not None


def no_parts(estimator: BaseEstimator) -> list[Any]:
    """Return no models, of an estimator that has one."""
    return []


def _last(estimator: Any) -> Any:
    """Return the last step of a pipeline, and anything else as it is."""
    while getattr(estimator, "steps", None):
        estimator = estimator.steps[-1][1]
    return estimator


def _n_folds(estimator: BaseEstimator) -> int | None:
    try:
        return int(check_cv(estimator.cv, classifier=True).get_n_splits())
    except (TypeError, ValueError):  # folds that depend on rows
        return None


def _times(n_folds: int | None, n_fits: int, *, more: int = 0) -> int | None:
    return None if n_folds is None else n_fits * n_folds + more


def fits_unknown(estimator: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    """Return None: the number is not known."""
    return None


def fits_of_stack(stack: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    """Count a fit to all rows and one for each fold, of each private model."""
    if stack.cv == "prefit":
        return 1
    n_models = fits_of_vote(stack, fit)
    if n_models is None and len(stack.estimators) == 1:
        n_models = 1  # within another estimator
    return None if n_models is None else _times(_n_folds(stack), n_models, more=n_models)


def fits_of_calibration(calibration: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    """Count one for each fold."""
    return _times(_n_folds(calibration), 1, more=calibration.ensemble is False)


def fits_of_threshold(tuned: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    """Count one for each fold, and the refit."""
    single = isinstance(tuned.cv, float)
    # Without a refit the model is fitted to the one part twice.
    return _times(1 if single else _n_folds(tuned), 1, more=1)


def fits_of_search(search: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    """Count one for each candidate and fold, and the refit."""
    n_candidates = _n_candidates(search, getattr(search, "n_iter", None))
    return _fits_of_candidates(search, fit, n_candidates)


def fits_of_halving(search: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    """Count those of all iterations, each of which keeps one in `factor` of the candidates."""
    most, least = getattr(search, "max_resources_", None), getattr(search, "min_resources_", None)
    if most is None or least is None or search.resource in _COST_PARAMETERS:
        return None  # not yet known
    n_drawn = getattr(search, "n_candidates", None)
    n_left = _n_candidates(search, most // least if n_drawn == "exhaust" else n_drawn)
    n_required = 1 + math.floor(math.log(n_left, search.factor))
    if search.min_resources == "exhaust":
        least = max(least, most // search.factor ** (n_required - 1))
    n_possible = 1 + math.floor(math.log(most // least, search.factor))
    n_iterations = n_required if search.aggressive_elimination else min(n_possible, n_required)
    n_candidates = 0
    for _ in range(n_iterations):
        n_candidates += n_left
        n_left = math.ceil(n_left / search.factor)
    return _fits_of_candidates(search, fit, n_candidates)


def _grids(search: BaseEstimator) -> list[Mapping[str, Any]]:
    is_grid = hasattr(search, "param_grid")
    grids = search.param_grid if is_grid else search.param_distributions
    return grids if isinstance(grids, list) else [grids]


def _n_candidates(search: BaseEstimator, n_drawn: int | None) -> int:
    """Count the settings of a grid, or those that are drawn of it."""
    grids = _grids(search)
    if any(hasattr(values, "rvs") for grid in grids for values in grid.values()):
        return int(n_drawn or 1)
    n_settings = len(ParameterGrid(grids))
    return n_settings if n_drawn is None else min(n_settings, int(n_drawn))


def _fits_of_candidates(
    search: BaseEstimator, fit: Mapping[str, Any], n_candidates: int
) -> int | None:
    names = {name for grid in _grids(search) for name in grid}
    if any(name.split("__")[-1] in _COST_PARAMETERS for name in names):
        return None
    # Older versions of scikit-learn have a variable, later ones an attribute.
    n_splits = fit.get("n_splits", getattr(search, "n_splits_", None))
    return _times(
        _n_folds(search) if n_splits is None else int(n_splits),
        n_candidates,
        more=bool(search.refit),
    )


def fits_of_bag(bag: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    """Count its models."""
    return int(bag.n_estimators)


def fits_of_vote(vote: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    """Count its private models."""
    return len(private_parts(vote)) or None


def fits_of_rest(estimator: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    """Count the classes."""
    return int(fit["Y"].shape[1])


def fits_of_pairs(pairs: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    """Count the pairs of classes."""
    return math.comb(len(pairs.classes_), 2)


def fits_of_codes(codes: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    """Count the digits of a code."""
    return int(fit["n_estimators"])


def fits_of_outputs(outputs: BaseEstimator, fit: Mapping[str, Any]) -> int | None:
    """Count the outputs."""
    return int(fit["y"].shape[1])


def fits_of_folds(estimator: BaseEstimator, call: Mapping[str, Any]) -> int | None:
    """Count the folds."""
    return int(call["cv"].get_n_splits(call["X"], call["y"], call.get("groups")))


def fits_of_predictions(estimator: BaseEstimator, call: Mapping[str, Any]) -> int | None:
    """Count the folds, which are listed already."""
    return len(call["splits"])


def fits_of_sizes(estimator: BaseEstimator, call: Mapping[str, Any]) -> int | None:
    """Count the folds, with each number of rows."""
    return len(call["cv_iter"]) * len(call["train_sizes_abs"])


def fits_of_values(estimator: BaseEstimator, call: Mapping[str, Any]) -> int | None:
    """Count the folds, with each value of a parameter."""
    if call["param_name"].split("__")[-1] in _COST_PARAMETERS:
        return None
    return len(call["param_range"]) * (fits_of_folds(estimator, call) or 1)


def fits_of_permutations(estimator: BaseEstimator, call: Mapping[str, Any]) -> int | None:
    """Count the folds, of the labels and of each permutation of them."""
    return (1 + int(call["n_permutations"])) * (fits_of_folds(estimator, call) or 1)
