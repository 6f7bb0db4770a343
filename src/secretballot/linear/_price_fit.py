"""Price and prospects of a fit, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from secretballot._base._errors import BudgetExceededError
from secretballot._base._numbers import quoted
from secretballot._base._sklearn_compat import _num_samples
from secretballot.ensemble._public_data import public_rows
from secretballot.ensemble.individual._levels import Levels
from secretballot.linear._expected_quality import expected_quality
from secretballot.linear._feature_maps import additive_bins, first_kind
from secretballot.linear._fit_memory import too_many_columns
from secretballot.linear._fit_size import FitSize
from secretballot.linear._model_size import DECLARED_SIZE, check_signal
from secretballot.linear._pair_search import count_pairs
from secretballot.linear.features import ColumnChoice, public_columns
from secretballot.linear.input import declared_categories
from secretballot.measures._fit_price import FitPrice, price_of_fits
from secretballot.tables._frames import check_table, public_table
from secretballot.tables._level_prices import by_level

if TYPE_CHECKING:
    from secretballot.linear._linear_model import LinearModel
    from secretballot.linear.rounds import Response


def price_linear_fit(
    model: LinearModel,
    n: int | Mapping[str, int],
    X_public: object,
    n_fits: int,
    response: Response,
) -> FitPrice:
    accountant = model.accountant
    assert accountant is not None
    if X_public is None:
        n_columns, n_public = _declared_columns(model), 0
    else:
        rows = public_rows(X_public, None)
        check_table(rows, "X_public")
        n_columns, n_public = int(np.shape(rows)[1]), _num_samples(rows)
        if model.columns is not None:
            n_columns = len(np.atleast_1d(model.columns))
    weight: float | dict[str, float] = 1.0
    if isinstance(n, Mapping):
        levels = Levels.of_counts(n, accountant)
        weight = dict(zip(levels.names, levels.weights.tolist(), strict=True))
        total, n_units = float(levels.people @ levels.weights), int(levels.people.sum())
    else:
        total, n_units = float(n), n
    scope = accountant.scope(model.epsilon)
    size = FitSize.choose(
        model,
        accountant,
        scope,
        response,
        weight=weight,
        total=total,
        n_columns=n_columns,
        n_public=n_public if X_public is not None else DECLARED_SIZE,
    )
    problem = expected = ""
    try:
        accountant.check_left(scope)
        check_signal(size.signal, n_units, accountant, scope)
    except BudgetExceededError as error:
        problem = str(error)
    else:
        problem = _too_many_columns(model, X_public, n_columns, n_public, size, response)
        expected = expected_quality(size.signal, response)
    sizes = {"n_columns": n_columns, "n_public_rows": n_public, "n_rounds": size.n_rounds}
    if model.features in ("auto", "additive"):
        sizes["n_bins"] = size.n_bins
    return price_of_fits(
        accountant,
        scope,
        n_fits,
        share=by_level(accountant.price(size.whole_fit, scope=scope)),
        sizes={**sizes, "signal": size.signal},
        problem=problem,
        expected=expected,
    )


def _too_many_columns(
    model: LinearModel,
    X_public: object,
    n_columns: int,
    n_public: int,
    size: FitSize,
    response: Response,
) -> str:
    """Describe why a fit of so many columns would be refused; "" if it would not."""
    if first_kind(model) != "additive":
        return ""
    n_entries, n_features = n_columns, n_columns * (size.n_bins + 1)
    if X_public is not None:
        table = public_table(public_rows(X_public, None), "X_public")
        choice = ColumnChoice.of(model.columns, table)
        names = list(choice.names)
        categories = declared_categories(model, names)
        columns = public_columns(choice.select(table, "X_public"), categories, names)
        bins = additive_bins(model, columns, categories, size, is_smooth=response.is_smooth)
        n_entries, n_features = bins.n_entries, bins.n_features + n_columns
    pairs = count_pairs(model.interactions, response, n_columns, size.n_rounds, signal=size.signal)
    return too_many_columns(
        n_columns=n_columns,
        n_entries=n_entries,
        n_features=n_features,
        n_public=n_public,
        n_pairs=pairs,
    )


def _declared_columns(model: LinearModel) -> int:
    """Return the number of columns that a model without public rows is told of."""
    bounds, n_categories = model.bounds, len(model.categories or {})
    if isinstance(bounds, Mapping):
        return len(bounds) + n_categories
    if bounds is not None and np.ndim(bounds) == 2:
        return len(np.asarray(bounds)) + n_categories
    if bounds is None and n_categories:
        return n_categories
    raise ValueError(
        f"X_public=None and bounds={quoted(bounds)}: the number of columns is not known. Pass "
        "the public rows, or bounds={column: (low, high)}."
    )
