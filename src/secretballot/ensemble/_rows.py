"""Tables of rows, private and public: checked as wholes, and the categories of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite, check_array, get_tags, indexable
from sklearn.utils.validation import validate_data

from secretballot._errors import PrivacyLeakWarning, warn
from secretballot._sklearn_compat import _num_samples
from secretballot.ensemble._parts import is_parties
from secretballot.schema import check_table, column_names


def as_rows(X: Any, name: str) -> Any:
    """Rows that can be indexed; anything the estimator may take, so little else is checked."""
    (X,) = indexable(X)
    shape, dtype = getattr(X, "shape", ()), getattr(X, "dtype", None)
    check_table(X, name, one_dimension=not _is_numeric(dtype))
    if len(shape) == 2 and shape[1] == 0:
        raise ValueError(
            f"{name}: found array with 0 feature(s) (shape={tuple(shape)}) while a minimum of 1 "
            "is required."
        )
    return X


def _is_numeric(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # of polars
        return bool(dtype.is_numeric())
    return getattr(dtype, "kind", "O") in "biufc"


def check_names(ensemble: Any, X: Any, name: str) -> None:
    """Refuse public rows with column names where teachers know none, and the other way around.

    Each teacher would warn of it.
    """
    fitted = getattr(ensemble, "feature_names_in_", None)
    names = [each for each in column_names(X) or [] if isinstance(each, str)]
    if fitted is None and len(names):
        raise ValueError(
            f"{name} has the columns {names[:3]!r}, and the teachers were fitted on rows without "
            f"column names: pass {name}.to_numpy(), or fit on a data frame."
        )
    if fitted is not None and not len(names):
        raise ValueError(
            f"{name} has no column names, and the teachers were fitted on a data frame: pass "
            f"pandas.DataFrame({name}, columns=ensemble.feature_names_in_)."
        )


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
        if "Complex data" in str(error):
            # Not what scikit-learn says: it shows the table, which may be private.
            raise ValueError(
                f"Complex data not supported: {name} holds complex numbers; give real ones."
            ) from None
        if isinstance(error, TypeError) and not hasattr(X, "columns"):
            raise
        return  # Texts, dates: a single estimator may know what they mean.
    if not all(tags.allow_nan for tags in known):
        try:
            assert_all_finite(numbers, input_name=name)
        except ValueError as error:
            said = str(error).splitlines()[0].rstrip(".")
            raise ValueError(
                f"{said}. Begin with a step that fills in missing values, "
                "make_pipeline(SimpleImputer(), estimator), or leave such rows out."
            ) from None


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
    schema = getattr(ensemble, "_row_schema", None)
    X = as_rows(X, name)
    if schema is None:
        check_names(ensemble, X, name)
        X = matching_rows(ensemble, X, name)
    check_pool(ensemble, X, name)
    return X if schema is None else schema.read(X, name).table


def check_pool(ensemble: Any, X: Any, name: str) -> None:
    """Refuse public rows that are none, or hold values that no teacher takes."""
    if _num_samples(X) == 0:
        raise ValueError(f"{name} has 0 rows; give at least one.")
    teachers = ensemble.estimator
    check_values(X, list(teachers) if is_parties(teachers) else [teachers], name)


def matching_rows(ensemble: Any, X: Any, name: str) -> Any:
    """Rows with the columns that the teachers were fitted on."""
    X = as_rows(X, name)
    check_table(X, name, one_dimension=not hasattr(ensemble, "n_features_in_"))
    try:
        validate_data(ensemble, X, reset=False, skip_check_array=True)
    except ValueError as error:
        if name == "X":
            raise
        told = str(error).replace("X has", f"{name} has", 1)
        raise ValueError(f"{name} must have the columns of X: {told}") from None
    return X


def types_learned(X: Any) -> list[str]:
    """Return the columns of a private data frame, whose types teachers see where no pool has any.

    An array has one type for all columns, which whoever makes it has chosen; lists have none.
    """
    if isinstance(X, np.ndarray | list | tuple) or issparse(X):
        return []
    return [str(name) for name in getattr(X, "columns", ())]


def warn_types_learned(columns: list[str]) -> None:
    """Say that types were read off the private table."""
    shown = ", ".join(map(repr, columns[:3])) + (", ..." if len(columns) > 3 else "")
    warn(
        f"the types and categories of columns ({shown}) are those of the private table: one row "
        "that holds a text among numbers, or a new category, can change what all teachers see, "
        "outside the guarantee. Pass X_public to fit, whose types X then takes; or give X as an "
        "array of floats.",
        PrivacyLeakWarning,
    )


def warn_categories_left_out(left_out: Mapping[Any, int]) -> None:
    """Say that public types list categories that no public row shows."""
    for name, count in left_out.items():
        warn(
            f"the data type of {name!r} lists {count} "
            f"{'category' if count == 1 else 'categories'} that no public row shows. A table that "
            "was cast before it was split lists those of private rows, so they are left out. "
            f"Declare what is public: categories={{{name!r}: [...]}}."
        )
