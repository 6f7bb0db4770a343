"""What is taken for bags of instances, and how it is checked."""

from __future__ import annotations

from collections.abc import Mapping
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
        Which bag each instance is in; bags need not be contiguous.

    Returns
    -------
    bags : list of length n_bags
        Of the same kind as `X`, in the order of the sorted ids.
    names : ndarray of shape (n_bags,)
        The id of each bag.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.quantification import split_bags
    >>> bags, names = split_bags(np.arange(8).reshape(4, 2), ["b", "a", "b", "b"])
    >>> names.tolist(), [len(bag) for bag in bags]
    (['a', 'b'], [1, 3])
    """
    check_unmasked("ids", ids)
    values = np.asarray(ids)
    if values.shape != (_num_samples(X),):
        raise ValueError(
            f"ids has shape {values.shape}, but X has {_num_samples(X)} instances; give each one "
            "id."
        )
    names, codes = distinct("ids", values)
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


def feature_names(bags: list[Any]) -> list[Any] | None:
    """Return the names of the columns of bags that are data frames, else None."""
    return list(bags[0].columns) if hasattr(bags[0], "columns") else None


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
    columns, bags = feature_names(raw), []
    if names is not None and columns is not None and columns != names:
        raise ValueError(
            f"bags have the columns {columns!r}, but those of fit had {names!r}; give the same "
            "columns in the same order."
        )
    for number, bag in enumerate(raw):
        shape = getattr(bag, "shape", None)
        if (shape is not None and len(shape) == 2 and shape[0] == 0) or (
            shape is None and hasattr(bag, "__len__") and len(bag) == 0
        ):
            raise ValueError(f"bag {number} is empty; leave it out.")
        named = feature_names([bag])
        if named != columns:
            raise ValueError(
                f"bag {number} has the columns {named!r}, but bag 0 has {columns!r}; give all bags "
                "the same columns in the same order."
            )
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
