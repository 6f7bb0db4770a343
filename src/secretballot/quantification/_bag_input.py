"""What is taken for bags of instances, and how it is checked."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array

from secretballot._numbers import check_unmasked
from secretballot._sklearn_compat import _num_samples, _safe_indexing
from secretballot.quantification._bags import Bags, distinct


def split_bags(X: Any, ids: ArrayLike) -> tuple[list[Any], NDArray[Any]]:
    """Split stacked instances into bags.

    Parameters
    ----------
    X : array-like of shape (n_instances, n_features), sparse matrix or data frame
    ids : array-like of shape (n_instances,)
        Which bag each instance is in; bags need not be contiguous. None may be missing.

    Returns
    -------
    bags : list of length n_bags
        Of the same kind as `X`, in the order of the sorted ids.
    names : ndarray of shape (n_bags,)
        The id of each bag.

    Raises
    ------
    ValueError
        If an id is missing (NaN, None, NA or NaT), or there isn't one for each instance.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.quantification import split_bags
    >>> bags, names = split_bags(np.arange(8).reshape(4, 2), ["b", "a", "b", "b"])
    >>> names.tolist(), [len(bag) for bag in bags]
    (['a', 'b'], [1, 3])
    """
    if np.shape(ids) != (_num_samples(X),):
        raise ValueError(
            f"ids has shape {np.shape(ids)}, but X has {_num_samples(X)} instances; give each one "
            "id."
        )
    names, codes = distinct("ids", ids)
    order = np.argsort(codes, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    return [_safe_indexing(X, bag) for bag in rows], names


def raw_bags(X: Any) -> list[Any]:
    """Return the bags as a list, each as it came."""
    if isinstance(X, Bags):
        if X.X is None:
            raise ValueError("these Bags hold labels only; give group_bags the instances too.")
        return list(X.X)
    kind = getattr(X, "ndim", None)
    if sparse.issparse(X) or hasattr(X, "iloc") or (kind is not None and kind not in (1, 3)):
        raise ValueError(
            f"X is one table of shape {getattr(X, 'shape', None)}, but a bag is a sample: give a "
            "list of tables, one for each bag, or a 3-d array. split_bags(X, ids) makes bags of "
            "stacked instances."
        )
    if isinstance(X, str | Mapping) or not hasattr(X, "__iter__"):
        raise ValueError(f"X must be a sequence of bags, got {type(X).__name__}.")
    bags = list(X)
    if not bags:
        raise ValueError("X has no bag; give at least one.")
    for number, bag in enumerate(bags):
        check_unmasked(f"bag {number}", bag)
    return bags


def names_of(X: Any) -> Any:
    """Return what bags are called; None if they aren't."""
    return X.names if isinstance(X, Bags) else None


def like(X: Any, bags: list[Any]) -> Any:
    """Return other instances of the same bags, which keep their names if they have any."""
    return replace(X, X=tuple(bags)) if isinstance(X, Bags) else bags


def feature_names(bags: list[Any]) -> list[Any] | None:
    """Return the names of the columns of bags that are data frames, else None.

    Columns called 0, 1, 2 and so on have no names: so would an array's be called.
    """
    names = list(getattr(bags[0], "columns", ()))
    return None if names == list(range(len(names))) else names


def check_alike(bags: list[Any]) -> list[Any] | None:
    """Return the names of the columns, having refused bags in which they differ."""
    columns = feature_names(bags)
    for number, bag in enumerate(bags):
        named = feature_names([bag])
        if named != columns:
            raise ValueError(
                f"bag {number} has the columns {_shown(named)}, but bag 0 has {_shown(columns)}; "
                "give all bags the same columns in the same order."
            )
    return columns


def check_names(found: list[Any] | None, names: list[Any] | None) -> None:
    """Refuse columns that are not those of `fit`; warn where one side has no names.

    As scikit-learn does for tables.
    """
    if found == names:
        return
    if found is None or names is None:
        what, whose = ("no names", "had some") if found is None else ("names", "had none")
        warnings.warn(
            f"the columns of these bags have {what}, but those of fit {whose}, so that nothing "
            "says whether they are in the same order; give data frames in both, or arrays.",
            UserWarning,
            stacklevel=3,
        )
        return
    if sorted(map(str, found)) == sorted(map(str, names)):
        remedy = f"give them in that order: bag[{_shown(names)}]."
    else:
        lacking, new = ([n for n in a if n not in b] for a, b in ((names, found), (found, names)))
        remedy = f"of these {_shown(lacking)} are missing, and {_shown(new)} are new."
    raise ValueError(
        f"bags have the columns {_shown(found)}, but those of fit had {_shown(names)}; {remedy}"
    )


def _shown(names: list[Any] | None) -> str:
    """Return names to be read: texts have thousands of columns."""
    if names is None or len(names) <= 20:
        return repr(names)
    return f"{names[:20]!r} (and {len(names) - 20} more)"


def check_bags(
    X: Any,
    *,
    n_features: int | None = None,
    names: list[Any] | None = None,
    at_least: int = 1,
) -> list[Any]:
    """Return the bags as float arrays or CSR, all of one kind and width.

    Parameters
    ----------
    X : sequence of array-like of shape (n_instances, n_features), 3-d array or Bags
    n_features : int, default=None
        What the bags of `fit` had.
    names : list, default=None
        What their columns were called.
    at_least : int, default=1
        Least number of instances in a bag.
    """
    raw = raw_bags(X)
    columns, bags = check_alike(raw), []
    if columns is not None and names is not None:
        check_names(columns, names)
    for number, bag in enumerate(raw):
        shape = getattr(bag, "shape", None)
        if (shape is not None and len(shape) == 2 and shape[0] == 0) or (
            shape is None and hasattr(bag, "__len__") and len(bag) == 0
        ):
            raise ValueError(f"bag {number} is empty; leave it out.")
        try:
            checked = check_array(
                bag, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=1
            )
        except ValueError as error:
            raise ValueError(
                f"bag {number}: {error} A bag is a table of numbers, with a row for each instance; "
                "PerBag lifts transformers, such as a vectorizer of texts, to bags."
            ) from error
        _check_size(number, checked)
        width = checked.shape[1]
        expected = n_features if n_features is not None else bags[0].shape[1] if bags else width
        if width != expected:
            whose = "in fit" if n_features is not None else "in bag 0"
            raise ValueError(
                f"bag {number} has {width} features, but there were {expected} {whose}."
            )
        if checked.shape[0] < at_least:
            raise ValueError(
                f"bag {number} has one instance; bags to learn from need at least {at_least}, so "
                "that their means can be checked. Merge it with another."
            )
        bags.append(checked)
    if len({sparse.issparse(bag) for bag in bags}) > 1:
        raise ValueError("some bags are sparse and some are not; make them all of one kind.")
    if n_features is not None:
        check_names(columns, names)  # last: a warning, where bags are fine but for that
    return bags


def _check_size(number: int, bag: Any) -> None:
    """Refuse values whose squares, or sums of these, would be infinite."""
    values = bag.data if sparse.issparse(bag) else bag
    most = float(np.finfo(bag.dtype).max) ** 0.4
    largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    if largest > most:
        raise ValueError(
            f"bag {number} has a value of size {largest:.3g}, and its square is beyond what "
            f"{bag.dtype} can hold; scale features, as by PerBag(StandardScaler())."
        )


def stack(bags: list[Any]) -> Any:
    """Return all instances under each other, CSR if they are."""
    if len(bags) == 1:
        return bags[0]
    return sparse.vstack(bags, format="csr") if sparse.issparse(bags[0]) else np.concatenate(bags)
