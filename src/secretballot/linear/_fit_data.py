"""What a fit works on: private rows, their classes and weights, and the public rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_array, validate_data

from secretballot._sklearn_compat import _num_samples
from secretballot.ensemble import (
    Levels,
    check_levels,
    check_targets,
    declared_classes,
    encode,
    learned_classes,
    public_rows,
)
from secretballot.linear._columns import names_of
from secretballot.scoring import People


@dataclass(frozen=True)
class FitData:
    """Checked input of one fit; lives as long as the fit.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    codes : ndarray of shape (n_rows,)
        Positions of the rows' classes.
    shares : ndarray of shape (n_rows,)
        What each row's vector is multiplied by.
    total, n_people : float
        Sum of the weights of all rows or owners; how many of equal weight they are as good as.
    weight : float or dict of str to float
        Of people, per level where there are levels.
    """

    X: Any
    classes: NDArray[Any]
    codes: NDArray[np.intp]
    classes_learned: bool
    shares: NDArray[np.float64]
    total: float
    n_people: float
    n_units: int
    weight: float | dict[str, float]
    levels: Levels | None
    X_public: Any


def prepared_data(model: Any, X: Any, y: Any, X_public: Any, owners: Any, budgets: Any) -> FitData:
    """Check what `fit` was given."""
    if y is None:
        raise ValueError(
            f"{type(model).__name__} requires y to be passed, but the target y is None."
        )
    X = checked_table(model, X, reset=True)
    codes = check_targets(y)
    if codes.ndim == 2:
        raise ValueError(
            f"y has shape {codes.shape}: several labels a row are for PrivateTeacherEnsemble; pass "
            "one class a row, of shape (n_samples,)."
        )
    check_consistent_length(X, codes)
    known = learned_classes(codes) if model.classes is None else declared_classes(model.classes)
    positions = encode(codes, known, "y")
    n_rows = _num_samples(X)
    people = People.of(model.accountant, owners, n_rows)
    levels = None if budgets is None else check_levels(budgets, n_rows, owners, model.accountant)
    weight: float | dict[str, float] = 1.0
    shares, counts, each = people.weights, np.array([people.n]), np.ones(1)
    if levels is not None:
        # With these, all levels use their budgets up together.
        each = np.sqrt(levels.rates / levels.rates.min())
        weight = dict(zip(levels.names, each.tolist(), strict=True))
        shares, counts = shares * each[levels.of_row], levels.people
    total = float(counts @ each)
    pool = None
    if X_public is not None:
        pool = checked_table(model, public_rows(X_public, n_rows), reset=False, name="X_public")
    return FitData(
        X=X,
        classes=known,
        codes=positions,
        classes_learned=model.classes is None,
        shares=shares,
        total=total,
        n_people=total**2 / float(counts @ each**2),
        n_units=people.n,
        weight=weight,
        levels=levels,
        X_public=pool,
    )


def checked_table(model: Any, X: Any, *, reset: bool, name: str = "X") -> Any:
    """Return rows as an array of finite numbers, or a data frame as it is.

    What a transformer of the user's takes is its own affair.
    """
    free = hasattr(model.features, "transform")
    try:
        if free or hasattr(X, "columns"):
            if not free and np.shape(X)[1:] == (0,):
                check_array(X)
            validate_data(model, X, reset=reset, skip_check_array=True)
            if _num_samples(X) == 0:
                raise ValueError(f"found array with 0 sample(s) in {name}; give at least one.")
            return X
        return validate_data(model, X, reset=reset, dtype=np.float64)
    except ValueError as error:
        if name == "X":
            raise
        told = str(error).replace("X has", f"{name} has", 1)
        raise ValueError(f"{name} must have the columns of X: {told}") from None


def declared_categories(model: Any, X: Any) -> Mapping[Any, Any]:
    """Return the declared categories of columns, or raise ValueError."""
    names = names_of(X) if hasattr(X, "shape") else []
    declared = {} if model.categories is None else dict(model.categories)
    for name, known in declared.items():
        if name not in names:
            raise ValueError(f"categories names the column {name!r}, which X does not have.")
        if isinstance(known, str) or not hasattr(known, "__len__") or not len(known):
            raise ValueError(f"categories[{name!r}]={known!r} is no list of categories.")
    return declared


def declared_bounds(
    model: Any, X: Any, categories: Mapping[Any, Any]
) -> dict[Any, tuple[float, float]]:
    """Return the declared bounds of the columns that are numbers, or raise ValueError."""
    names = [name for name in names_of(X) if name not in categories]
    given = {} if model.bounds is None else model.bounds
    if not isinstance(given, Mapping):
        try:
            pairs = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"bounds={given!r} are no numbers; give pairs (low, high).") from None
        if pairs.shape == (2,):
            pairs = np.tile(pairs, (len(names), 1))
        if pairs.shape != (len(names), 2):
            raise ValueError(
                f"bounds has shape {pairs.shape}; give one pair (low, high), one for each of the "
                f"{len(names)} columns of numbers, or a dict of them by column."
            )
        given = dict(zip(names, pairs.tolist(), strict=True))
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(
            f"bounds says nothing of the column {missing[0]!r}: give it (low, high), or "
            "categories, or give public rows (X_public)."
        )
    for name in given:
        if name not in names:
            raise ValueError(f"bounds names {name!r}, which is no column of numbers of X.")
    return {name: _pair(name, given[name]) for name in names}


def _pair(name: Any, given: Any) -> tuple[float, float]:
    try:
        low, high = map(float, given)
    except (TypeError, ValueError):
        low = high = math.nan
    if not 0 < high - low < math.inf:
        raise ValueError(f"bounds of {name!r} are {given!r}; give (low, high), low below high.")
    return low, high
