"""Checked input of a fit of private rows in parts."""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import ArrayLike

from secretballot._base._owner_hash import KEY_SIZE
from secretballot.ensemble._public_data import PublicData, declared_private, public_rows
from secretballot.ensemble.individual._levels import Levels, level_names
from secretballot.linear.features import ColumnChoice, public_readings, warn_columns
from secretballot.linear.input._fit_columns import FitColumns
from secretballot.linear.input._fit_input import FitInput, Population, Validate
from secretballot.linear.input._monotonic_cst import read_directions
from secretballot.linear.input._private_source import PartSource, RowReader
from secretballot.linear.input._settings import Settings
from secretballot.tables._buckets import Buckets
from secretballot.tables._frames import column_names
from secretballot.tables._people import check_unit
from secretballot.tables._private_parts import PrivateParts


def read_parts(
    settings: Settings,
    validate: Validate,
    X: PrivateParts,
    y: ArrayLike | None,
    X_public: ArrayLike | PublicData | None,
    owners: ArrayLike | None,
    budgets: ArrayLike | None,
) -> FitInput:
    """Check the arguments of `fit`, and group rows by owner; no more is read before a release."""
    X.check_alone(y=y, owners=owners, budgets=budgets)
    accountant = settings.accountant
    check_unit(accountant, owners=True)
    response = settings.answer.of_columns(X.y)
    empty = X.empty_frame()
    pool = None if X_public is None else validate(public_rows(X_public, None), "X_public")
    if pool is None:
        validate(empty, "")
    elif column_names(pool) is None:
        X.check_columns(None)
    choice = ColumnChoice.of(settings.columns, empty if pool is None else pool)
    texts = X.check_columns(list(choice.names))
    if pool is None:
        columns = FitColumns.declared(settings, choice.select(empty), choice)
    else:
        private_pool = declared_private(X_public)
        columns = FitColumns.public(settings, pool, choice, may_be_private=private_pool)
        warn_columns(public_readings(columns.given, columns.categories))
    directions = read_directions(settings, response, choice)
    names_of_levels = () if X.budgets is None else level_names(accountant)
    key = secrets.token_bytes(KEY_SIZE)
    buckets = Buckets.of(X, [*texts, *X.targets], key, levels=names_of_levels)
    levels = None
    if names_of_levels:
        try:
            counts = buckets.count_levels()
            levels = Levels.of_people(counts, accountant, np.empty(0, dtype=np.intp))
        except ValueError:
            buckets.delete()
            raise
    population = Population.of(buckets.n_owners, levels)
    weights = np.ones(1) if levels is None else levels.weights
    reader = RowReader(
        columns.schema, choice, response, X.y, buckets.n_owners, population.total, weights
    )
    return FitInput(PartSource(buckets, reader), columns, population, response, directions)
