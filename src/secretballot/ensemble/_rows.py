"""Tables of rows, private and public: checked as wholes, and the categories of their columns."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import assert_all_finite, check_array, get_tags, indexable
from sklearn.utils.validation import validate_data

from secretballot._errors import PrivacyLeakWarning, warn
from secretballot._sklearn_compat import _num_samples
from secretballot.ensemble._parts import is_parties


def as_rows(X: Any, name: str) -> Any:
    """Rows that can be indexed; anything the estimator may take, so little else is checked."""
    (X,) = indexable(X)
    shape = getattr(X, "shape", ())
    if len(shape) == 1 and getattr(X, "dtype", np.dtype(object)).kind in "biufc":
        raise ValueError(
            f"{name}: expected 2D array, got 1D array instead, of shape {shape}. Reshape your "
            "data: array.reshape(-1, 1) for one feature, array.reshape(1, -1) for one sample."
        )
    if len(shape) == 2 and shape[1] == 0:
        raise ValueError(
            f"{name}: found array with 0 feature(s) (shape={tuple(shape)}) while a minimum of 1 "
            "is required."
        )
    return X


def check_values(X: Any, estimators: Sequence[Any], name: str) -> None:
    """Refuse complex numbers, objects, and missing or infinite values that no estimator takes.

    Before any training, whatever is asked later, and for the table as a whole: a teacher that
    meets such a value would vote by rule, and nobody would know why.
    """
    known = [tags for each in estimators if (tags := _input_tags(each)) is not None]
    if not known or any(tags.string or tags.categorical for tags in known):
        return
    try:
        numbers = check_array(
            X,
            accept_sparse=True,
            ensure_all_finite=False,
            ensure_2d=False,
            allow_nd=True,
            ensure_min_samples=0,
            ensure_min_features=0,
            input_name=name,
        )
    except (TypeError, ValueError) as error:
        if "Complex data" in str(error) or (
            isinstance(error, TypeError) and not hasattr(X, "columns")
        ):
            raise
        return  # Texts, dates: a single estimator may know what they mean.
    if not all(tags.allow_nan for tags in known):
        assert_all_finite(numbers, input_name=name)


def _input_tags(estimator: Any) -> Any:
    """Input tags of what meets the rows first; None where that is not one estimator, or unknown.

    A pipeline's own tags, and those of many meta-estimators, say nothing of missing values.
    """
    try:
        tags = get_tags(estimator)
    except (AttributeError, TypeError, ValueError):
        return None
    if tags.input_tags.allow_nan:
        return tags.input_tags
    steps = [step for _, step in getattr(estimator, "steps", ()) if step not in _NO_STEPS]
    if steps:
        return _input_tags(steps[0])
    for parts in ("transformers", "transformer_list", "estimators"):
        if hasattr(estimator, parts):
            return None
    inner = getattr(estimator, "estimator", None)
    if hasattr(inner, "fit"):
        return _input_tags(inner)
    return None if tags.no_validation else tags.input_tags


_NO_STEPS = (None, "passthrough")


def check_queries(ensemble: Any, X: Any, name: str) -> Any:
    """Public rows that the teachers can be asked about: as many columns, no values they refuse."""
    X = matching_rows(ensemble, X, name)
    if _num_samples(X) == 0:
        raise ValueError(f"{name} has 0 rows; give at least one.")
    teachers = ensemble.estimator
    check_values(X, list(teachers) if is_parties(teachers) else [teachers], name)
    return X


def matching_rows(ensemble: Any, X: Any, name: str) -> Any:
    """Rows with the columns that the teachers were fitted on."""
    X = as_rows(X, name)
    try:
        validate_data(ensemble, X, reset=False, skip_check_array=True)
    except ValueError as error:
        if name == "X":
            raise
        told = str(error).replace("X has", f"{name} has", 1)
        raise ValueError(f"{name} must have the columns of X: {told}") from None
    return X


class Categorised(NamedTuple):
    """Private rows, and the columns whose categories are still those of all private rows."""

    X: Any
    learned: list[str]


def public_categories(X: Any, X_public: Any) -> Categorised:
    """Give the categorical columns of a private data frame the categories of the public one.

    A column's data type lists the categories of all its rows, and the teachers' parts keep that
    list: one new category can change the codes that every teacher sees. A value that the public
    column doesn't know becomes a missing one, in its own row alone.
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        return _of_pandas(X, X_public, pandas)
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(X, polars.DataFrame):
        return _of_polars(X, X_public, polars)
    return Categorised(X, list(_categorical(X)))


def _of_pandas(X: Any, X_public: Any, pandas: Any) -> Categorised:
    kind = pandas.CategoricalDtype
    comparable = isinstance(X_public, pandas.DataFrame)
    X, learned = X.copy(deep=False), []
    for at, (name, dtype) in enumerate(X.dtypes.items()):
        if not isinstance(dtype, kind):
            continue
        public = X_public.dtypes.iloc[at] if comparable else None
        if isinstance(public, kind):
            known = X.iloc[:, at].cat.set_categories(public.categories, ordered=public.ordered)
            X.isetitem(at, known)
        else:
            learned.append(str(name))
    return Categorised(X, learned)


def _of_polars(X: Any, X_public: Any, polars: Any) -> Categorised:
    learned = []
    for name, dtype in X.schema.items():
        if not isinstance(dtype, polars.Categorical | polars.Enum):
            continue
        public = X_public.schema[name] if isinstance(X_public, polars.DataFrame) else None
        if isinstance(public, polars.Enum):
            text = polars.col(name).cast(polars.String)
            X = X.with_columns(text.cast(public, strict=False))
        else:
            learned.append(name)
    return Categorised(X, learned)


#: What the interchange protocol of data frames calls a type that lists its categories.
_CATEGORICAL = 23


def _categorical(X: Any) -> Iterator[str]:
    """Yield the columns with categories of any other library's data frame, such as pyarrow's."""
    if hasattr(X, "__dataframe__"):
        table = X.__dataframe__()
        for name in table.column_names():
            if table.get_column_by_name(name).dtype[0] == _CATEGORICAL:
                yield str(name)


def warn_categories_learned(columns: list[str]) -> None:
    """Say that categories were read off the private table."""
    warn(
        f"the categories of {', '.join(map(repr, columns))} are those of the private table's data "
        "type: a category that only one row has can change the codes that all teachers see, "
        "outside the guarantee. Give these columns of X_public a data type that lists the "
        "categories (in polars an Enum), which X then takes, or give both as texts.",
        PrivacyLeakWarning,
    )
