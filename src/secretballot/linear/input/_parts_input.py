"""Checked input of a fit of private rows in parts."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from secretballot._owner_hash import KEY_SIZE
from secretballot.distributed import Buckets, PrivateParts
from secretballot.ensemble import PublicData, declared_private, public_rows
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
    declared_bounds,
    declared_categories,
    row_schema,
)
from secretballot.linear.input._monotonic_cst import read_directions
from secretballot.linear.input._private_source import PartSource, RowReader
from secretballot.schema import column_names
from secretballot.scoring import check_unit

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
    """Check the arguments of `fit`, and bring the rows of each owner together.

    Nothing else is read of the parts before a release.
    """
    X.check_alone(y=y, owners=owners, budgets=budgets)
    check_unit(model.accountant, owners=True)
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
        if not isinstance(model.features, str):
            pool = schema.read(pool, "X_public").table
        pool = in_days(pool, names, days)
        warn_columns(public_readings(columns, categories))
    directions = read_directions(model, response)[list(choice.positions)]
    buckets = Buckets.of(X, texts, secrets.token_bytes(KEY_SIZE))
    n_owners = buckets.n_owners
    return FitInput(
        private=PartSource(buckets, RowReader(schema, choice, response, X.y, n_owners)),
        schema=schema,
        response=response,
        total=float(n_owners),
        n_people=float(n_owners),
        n_units=n_owners,
        weight=1.0,
        levels=None,
        X_public=pool,
        public_may_be_private=declared_private(X_public),
        directions=directions,
        choice=choice,
        days=days,
        columns=columns,
    )
