"""Validation of bags of instances."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from secretballot._base._errors import TEXT_ERROR
from secretballot._base._numbers import check_unmasked
from secretballot.quantification._bag_types import (
    BagId,
    BagSequence,
    Instances,
    Integers,
    Matrix,
    is_frame,
)
from secretballot.quantification._bags import Bags
from secretballot.tables._frames import dense_columns

_MOST_QUOTED = 20


def list_bags(X: BagSequence | Instances) -> list[Instances]:
    """Return the bags as a list, none of them empty; their values are not checked."""
    if isinstance(X, Bags):
        if X.X is None:
            raise ValueError("these Bags hold labels only; give Bags.from_groups the instances.")
        return list(X.X)
    n_dims = getattr(X, "ndim", None)
    if sparse.issparse(X) or is_frame(X) or n_dims not in (None, 1, 3):
        raise ValueError(
            f"X is one table of shape {getattr(X, 'shape', None)}, but a bag is a sample: give a "
            "list of tables, one for each bag, or a 3-d array. Bags.from_groups makes bags of "
            "stacked instances."
        )
    if isinstance(X, str | Mapping) or not isinstance(X, Iterable):
        raise ValueError(f"X must be a sequence of bags, got {type(X).__name__}.")
    bags = list(X)
    if not bags:
        raise ValueError("X has no bag; give at least one.")
    for number, bag in enumerate(bags):
        check_unmasked(f"bag {number}", bag)
        if _is_empty(bag):
            raise ValueError(f"bag {number} is empty; leave it out.")
    return bags


def _is_empty(bag: Instances) -> bool:
    if hasattr(bag, "shape"):  # the length of a sparse matrix is ambiguous
        return bool(bag.shape[:1] == (0,))
    return isinstance(bag, Sized) and len(bag) == 0


def bag_names(X: BagSequence | Instances) -> Sequence[BagId] | None:
    return X.names if isinstance(X, Bags) else None


def replace_instances(X: BagSequence, bags: Sequence[Instances]) -> Bags | list[Instances]:
    return replace(X, X=tuple(bags)) if isinstance(X, Bags) else list(bags)


def check_columns(bags: Sequence[Instances]) -> None:
    """Refuse bags whose columns have other names than those of the first one.

    Columns called 0, 1, 2 and so on have no names, like those of an array.
    """
    first = _column_names(bags[0])
    for number, bag in enumerate(bags):
        names = _column_names(bag)
        if names != first:
            raise ValueError(
                f"bag {number} has the columns {_quote_names(names)}, but bag 0 has "
                f"{_quote_names(first)}; give all bags the same columns in the same order."
            )


def _column_names(bag: Instances) -> list[Hashable] | None:
    names = list(getattr(bag, "columns", ()))
    return None if names == list(range(len(names))) else names


def _quote_names(names: list[Hashable] | None) -> str:
    if names is None or len(names) <= _MOST_QUOTED:
        return repr(names)
    return f"{names[:_MOST_QUOTED]!r} (and {len(names) - _MOST_QUOTED} more)"


def check_bags(raw: Sequence[Instances], *, min_instances: int = 1) -> list[Matrix]:
    """Return the bags of `list_bags` as float arrays or CSR, all of one kind and width."""
    check_columns(raw)
    bags: list[Matrix] = []
    for number, bag in enumerate(raw):
        try:
            table = dense_columns(bag)
            matrix = check_array(table, accept_sparse="csr", dtype=[np.float64, np.float32])
        except ValueError as error:
            if TEXT_ERROR in str(error):
                raise ValueError(
                    f"bag {number} holds texts, and a bag is a table of numbers, with a row for "
                    "each instance. Begin with a step that reads them: PerBag(TableEncoder()) of "
                    "secretballot.ensemble for tables, PerBag(TfidfVectorizer()) for texts."
                ) from None
            raise ValueError(
                f"bag {number}: {error} A bag is a table of numbers, with a row for each instance; "
                "PerBag lifts transformers, such as a vectorizer of texts, to bags."
            ) from error
        check_magnitude(f"bag {number}", matrix, "PerBag(StandardScaler())")
        if bags and matrix.shape[1] != bags[0].shape[1]:
            raise ValueError(
                f"bag {number} has {matrix.shape[1]} features, but there were {bags[0].shape[1]} "
                "in bag 0."
            )
        if matrix.shape[0] < min_instances:
            raise ValueError(
                f"bag {number} has one instance; the variance of a bag's mean needs at least "
                f"{min_instances}. Merge it with another."
            )
        bags.append(matrix)
    if len({sparse.issparse(bag) for bag in bags}) > 1:
        raise ValueError("some bags are sparse and some are not; make them all of one kind.")
    return bags


@contextmanager
def no_texts() -> Iterator[None]:
    """Name the remedy for instances that hold texts, and quote none."""
    try:
        yield
    except ValueError as error:
        if TEXT_ERROR not in str(error):
            raise
        raise ValueError(
            "X holds texts, and instances are rows of numbers. Encode them first, "
            "encoder = TableEncoder().fit(X) of secretballot.ensemble, and give "
            "encoder.transform(X), in predictions too."
        ) from None


def check_magnitude(name: str, X: Matrix, scaler: str) -> None:
    """Refuse values whose squares, or sums of these, would be infinite."""
    values = X if isinstance(X, np.ndarray) else X.data
    largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    if largest > float(np.finfo(X.dtype).max) ** 0.4:
        raise ValueError(
            f"{name} has a value of size {largest:.3g}, and its square is beyond what {X.dtype} "
            f"can hold; scale features, as by {scaler}."
        )


def stack_bags(bags: Sequence[Matrix]) -> Matrix:
    if len(bags) == 1:
        return bags[0]
    return sparse.vstack(bags, format="csr") if sparse.issparse(bags[0]) else np.concatenate(bags)


def bag_numbers(bags: Sequence[Matrix]) -> Integers:
    return np.repeat(np.arange(len(bags)), [bag.shape[0] for bag in bags])
