"""Checked input of a fit of private rows in parts."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from secretballot._base._owner_hash import KEY_SIZE
from secretballot.ensemble._public_data import PublicData, declared_private, public_rows
from secretballot.ensemble.individual._levels import Levels, level_names
from secretballot.linear.features import (
    ColumnChoice,
    PublicColumn,
    in_days,
    public_columns,
    public_readings,
    warn_columns,
)
from secretballot.linear.input._fit_input import (
    FitInput,
    check_public_table,
    checked_bounds,
    declared_bounds,
    declared_categories,
    row_schema,
)
from secretballot.linear.input._monotonic_cst import read_directions
from secretballot.linear.input._private_source import PartSource, RowReader
from secretballot.tables._buckets import Buckets
from secretballot.tables._frames import column_names
from secretballot.tables._people import check_unit
from secretballot.tables._private_parts import PrivateParts

if TYPE_CHECKING:
    from secretballot.linear._linear_model import LinearModel


def check_parts(
    model: LinearModel,
    X: PrivateParts,
    y: ArrayLike | None,
    X_public: ArrayLike | PublicData | None,
    owners: ArrayLike | None,
    budgets: ArrayLike | None,
) -> FitInput:
    """Check the arguments of `fit`, and group rows by owner; no more is read before a release."""
    X.check_alone(y=y, owners=owners, budgets=budgets)
    accountant = model._check_accountant()
    check_unit(accountant, owners=True)
    response = model._response_of_columns(X.y)
    empty = X.empty_frame()
    pool = None
    if X_public is not None:
        pool = check_public_table(model, public_rows(X_public, None), reset=True, name="X_public")
        if column_names(pool) is None:
            X.check_columns(None)
    else:
        validate_data(model, empty, reset=True, skip_check_array=True)
    choice = ColumnChoice.of(model.columns, empty if pool is None else pool)
    names, columns = list(choice.names), list[PublicColumn]()
    texts = X.check_columns(names)
    if pool is not None:
        pool = choice.select(pool, "X_public")
    schema, days = row_schema(model, choice.select(empty), pool, names)
    categories = declared_categories(model, names)
    if pool is None:
        declared_bounds(model, names, categories)
    else:
        columns = public_columns(pool, categories, names)
        if isinstance(model.features, str):
            checked_bounds(model, columns, categories)
        else:
            pool = schema.read(pool, "X_public").table
        pool = in_days(pool, names, days)
        warn_columns(public_readings(columns, categories))
    directions = read_directions(model, response, choice)
    names_of_levels = () if X.budgets is None else level_names(accountant)
    key = secrets.token_bytes(KEY_SIZE)
    buckets = Buckets.of(X, [*texts, *X.targets], key, levels=names_of_levels)
    n_owners, levels = buckets.n_owners, None
    weight: float | dict[str, float] = 1.0
    counts, weights = np.array([n_owners]), np.ones(1)
    if names_of_levels:
        try:
            counts = buckets.count_levels()
            levels = Levels.of_people(counts, accountant, np.empty(0, dtype=np.intp))
        except ValueError:
            buckets.delete()
            raise
        weights = levels.weights
        weight = dict(zip(levels.names, weights.tolist(), strict=True))
    total = float(counts @ weights)
    reader = RowReader(schema, choice, response, X.y, n_owners, total, weights)
    return FitInput(
        private=PartSource(buckets, reader),
        schema=schema,
        response=response,
        total=total,
        n_people=total**2 / float(counts @ weights**2),
        n_units=n_owners,
        weight=weight,
        levels=levels,
        X_public=pool,
        public_may_be_private=declared_private(X_public),
        directions=directions,
        choice=choice,
        days=days,
        columns=columns,
    )
