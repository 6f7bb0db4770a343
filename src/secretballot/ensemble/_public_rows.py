"""Checks of whole tables of rows, private and public."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import InputTags, assert_all_finite, check_array, get_tags, indexable
from sklearn.utils.validation import validate_data

from secretballot._base._errors import NOT_FOR_PUBLICATION, PrivacyLeakWarning, warn
from secretballot._base._sklearn_compat import _num_samples
from secretballot.ensemble._estimator_types import Learner, Rows, Teacher
from secretballot.ensemble._learners import learners_of
from secretballot.tables._frames import (
    check_names,
    check_table,
    complex_error,
    dense_columns,
    validate_columns,
)
from secretballot.tables._row_schema import RowSchema

if TYPE_CHECKING:
    from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble

#: Steps of a pipeline that pass rows on.
_NO_STEPS = (None, "passthrough")


def as_rows(X: Rows, name: str) -> Any:
    """Return rows that can be indexed; little else is checked: estimators take many tables."""
    dtype: object = getattr(X, "dtype", None)
    is_numeric = getattr(dtype, "kind", "O") in "biufc"
    if hasattr(dtype, "is_numeric"):  # a type of polars
        is_numeric = bool(dtype.is_numeric())
    check_table(X, name, one_dimension=not is_numeric)
    (X,) = indexable(dense_columns(X))
    shape = getattr(X, "shape", ())
    if shape[1:] == (0,):
        raise ValueError(
            f"{name}: found array with 0 feature(s) (shape={tuple(shape)}) while a minimum of 1 "
            "is required."
        )
    return X


def check_values(
    X: Rows, estimators: Sequence[object], name: str, *, private: bool = False
) -> None:
    """Refuse complex numbers, objects, and missing or infinite values that no estimator takes.

    This happens before any training and for the whole table: a teacher that meets such a value
    would vote by rule, for no visible reason.
    """
    all_tags = [tags for learner in estimators if (tags := _input_tags(learner)) is not None]
    if not all_tags or any(tags.string or tags.categorical for tags in all_tags):
        return
    mark = f" {NOT_FOR_PUBLICATION}" if private else ""
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
        if "Complex data" in str(error):
            raise complex_error(name) from None
        if isinstance(error, TypeError) and not hasattr(X, "columns"):
            raise TypeError(f"{error}{mark}") from None
        return  # Texts, dates: a single estimator may know what they mean.
    if not all(tags.allow_nan for tags in all_tags):
        try:
            assert_all_finite(numbers, input_name=name)
        except ValueError as error:
            message = str(error).splitlines()[0].rstrip(".")
            raise ValueError(
                f"{message}. Begin with a step that fills in missing values, "
                "make_pipeline(SimpleImputer(), estimator) or make_table_pipeline(estimator, "
                f"X_public), or leave such rows out.{mark}"
            ) from None


def _input_tags(estimator: Any) -> InputTags | None:
    """Return the input tags of the step that rows reach first; None if there are several.

    The tags of a pipeline, and of many meta-estimators, say nothing of missing values.
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


def features_of(X: Rows) -> dict[str, Any]:
    """Return `n_features_in_` and `feature_names_in_`, as scikit-learn reads them."""
    reader = BaseEstimator()
    validate_data(reader, X, reset=True, skip_check_array=True)
    return vars(reader)


def check_queries(ensemble: PrivateTeacherEnsemble, schema: RowSchema | None, X: Rows) -> Any:
    table = as_rows(X, "X")
    if schema is None:
        check_names([*getattr(ensemble, "feature_names_in_", ())], table, "X")
        table = matching_rows(ensemble, table, "X")
    check_pool(ensemble.estimator, table, "X")
    if schema is None:
        return table
    remedy = ", or pass check_public_rows=False" if ensemble.check_public_rows else None
    return schema.read_queries(table, warns=True, refusal=remedy)


def check_pool(estimator: Learner | Sequence[Teacher], X: Rows, name: str) -> None:
    """Refuse an empty table of public rows, and values that no teacher takes."""
    if _num_samples(X) == 0:
        raise ValueError(f"{name} has 0 rows; give at least one.")
    check_values(X, learners_of(estimator), name)


def matching_rows(estimator: BaseEstimator, X: Rows, name: str) -> Any:
    """Return rows that have the columns on which an estimator was fitted."""
    table = as_rows(X, name)
    check_table(table, name, one_dimension=not hasattr(estimator, "n_features_in_"))
    try:
        validate_columns(estimator, table, name, skip_check_array=True)
    except ValueError as error:
        if name == "X":
            raise
        message = str(error).replace("X has", f"{name} has", 1)
        raise ValueError(f"{name} must have the columns of X: {message}") from None
    return table


def types_learned(X: Rows) -> list[str]:
    """Return the columns of a private data frame: teachers see their types if there is no pool.

    An array has one type for all columns, chosen by whoever made it; lists have none.
    """
    if isinstance(X, np.ndarray | list | tuple) or issparse(X):
        return []
    return [str(name) for name in getattr(X, "columns", ())]


def warn_types_learned(columns: list[str]) -> None:
    """Warn that types were read off the private table."""
    shown = ", ".join(map(repr, columns[:3])) + (", ..." if len(columns) > 3 else "")
    warn(
        f"the types and categories of columns ({shown}) are those of the private table: one row "
        "that holds a text among numbers, or a new category, can change what all teachers see, "
        "outside the guarantee. Pass X_public to fit, whose types X then takes; or give X as an "
        "array of floats.",
        PrivacyLeakWarning,
    )
