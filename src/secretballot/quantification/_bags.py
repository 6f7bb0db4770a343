"""Bags: public sets of instances with private labels, and the validation of their instances."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array

from secretballot._base._errors import NOT_FOR_PUBLICATION, TEXT_ERROR
from secretballot._base._numbers import check_unmasked
from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.quantification._bag_ids import (
    BagId,
    BagIndex,
    BagSequence,
    Frame,
    Instances,
    Integers,
    Matrix,
    ProportionsTable,
    array_of_values,
    bag_rows,
    encode_ids,
    is_frame,
)
from secretballot.quantification._label_proportions import read_table
from secretballot.tables._frames import container_kind, dense_columns
from secretballot.tables._table_checks import check_row_order, warn_repeated_rows

#: Of fewer instances, groups may be like the labels by chance.
_FEWEST_COMPARED = 20
_MOST_QUOTED = 20


@dataclass(frozen=True, kw_only=True, repr=False)
class Bags:
    """Disjoint bags of instances.

    Make them with `Bags.from_groups` or, to simulate, with `secretballot.datasets.make_bags`.
    Indexed like an array of bags, they can be split by scikit-learn.

    Attributes
    ----------
    X : tuple of array-like, or None
        The instances of each bag; public.
    y : tuple of ndarray, or None
        The labels of each bag; private.
    names : tuple
        Name of each bag, public: a value of the grouping, or its number.
    formed_by : {"group", "label"}
        What membership depends on. By label, being in a bag gives the label away.
    """

    X: tuple[Instances, ...] | None
    y: tuple[NDArray[np.generic], ...] | None
    names: tuple[BagId, ...]
    formed_by: str = field(default="group")

    def __post_init__(self) -> None:
        if self.formed_by not in ("group", "label"):
            raise ValueError(f"formed_by={self.formed_by!r} must be 'group' or 'label'.")
        for name, values in (("X", self.X), ("y", self.y)):
            if values is not None and len(values) != len(self.names):
                raise ValueError(
                    f"{name} has {len(values)} bags, and names has {len(self.names)} names; give "
                    "each bag one."
                )

    @classmethod
    def from_groups(
        cls, X: Instances | None, y: ArrayLike | None, groups: Hashable | ArrayLike
    ) -> Bags:
        """Make one bag for each value of a public grouping.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), sparse matrix, data frame or None
            Instances; public. None where only the proportions are wanted.
        y : array-like of shape (n_samples,), or None
            Labels; private. None for whoever learns from published proportions.
        groups : array-like of shape (n_samples,), or the name of a column of the data frame `X`
            Something public, such as a place or a month, that does not depend on the labels:
            membership of a bag is public. A column is taken out of `X`.

        Returns
        -------
        Bags
            In the order of the sorted values, which are their names.

        Raises
        ------
        ValueError
            If there are no instances; if a group is missing (NaN, None, NA or NaT), or there isn't
            one for each instance; if X, y and groups have the same index in other orders; or if
            groups are the labels.

        Examples
        --------
        >>> from secretballot.quantification import Bags
        >>> bags = Bags.from_groups(
        ...     None, [0, 1, 1, 0, 1], ["north", "south", "north", "north", "south"]
        ... )
        >>> bags
        <Bags: 2 bags of 2 to 3 instances, formed by group>
        >>> bags.names
        ('north', 'south')
        """
        if np.ndim(groups) == 0:  # type: ignore[arg-type]
            X, groups = _pop_column(X, groups)  # type: ignore[arg-type]
        for name, values, other, reference in (
            ("y", y, X, "X"),
            ("groups", groups, X, "X"),
            ("groups", groups, y, "y"),
        ):
            check_row_order(name, values, other, reference)
        n_instances = _count_instances(X, y)
        if not n_instances:
            raise ValueError("there are no instances, and so no bags; give at least one instance.")
        names, codes = encode_ids("groups", groups, n_instances)  # type: ignore[arg-type]
        if y is not None:
            warn_repeated_rows(
                y if X is None else X, "y" if X is None else "X", "label", cells=False
            )
            _check_no_labels(codes, array_of_values(y))
        rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
        return cls._from_rows(X, y, rows, tuple(names), "group")

    @classmethod
    def from_indices(
        cls,
        X: Instances | None,
        y: ArrayLike | None,
        indices: Sequence[ArrayLike],
        *,
        names: Iterable[BagId] | None = None,
        formed_by: str = "group",
    ) -> Bags:
        """Make bags of the rows that are listed for each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), sparse matrix, data frame or None
        y : array-like of shape (n_samples,), or None
        indices : sequence of array-like of int
            The rows of each bag; no row twice.
        names : iterable, default=None
            Names of the bags; their numbers if None.
        formed_by : {"group", "label"}, default="group"
            What decided which row is in which bag.

        Returns
        -------
        Bags

        Raises
        ------
        ValueError
            If bags overlap or are empty, or a row is not there.
        """
        n_rows = _count_instances(X, y)
        check_row_order("y", y, X)
        rows = [np.asarray(bag) for bag in indices]
        names = tuple(range(len(rows)) if names is None else names)
        if len(names) != len(rows):
            raise ValueError(f"names has {len(names)} names for {len(rows)} bags.")
        if not rows:
            raise ValueError("indices has no bag; give at least one.")
        bag_of = np.full(n_rows, -1)
        for number, (name, bag) in enumerate(zip(names, rows, strict=True)):
            if bag.ndim != 1 or not bag.size:
                raise ValueError(f"bag {name!r} is empty or not a list of rows; leave it out.")
            if bag.dtype.kind not in "iu" or bag.min() < 0 or bag.max() >= n_rows:
                raise ValueError(
                    f"bag {name!r} has rows that are not integers from 0 to {n_rows - 1}."
                )
            values, counts = np.unique(bag, return_counts=True)
            repeated = values[(bag_of[values] >= 0) | (counts > 1)]
            if repeated.size:
                first = names[number if bag_of[repeated[0]] < 0 else bag_of[repeated[0]]]
                raise ValueError(
                    f"bags overlap: row {repeated[0]} is in the bag {first!r} and again in the bag "
                    f"{name!r}. Its label would be published twice for the price of one; give each "
                    "row one bag."
                )
            bag_of[bag] = number
        return cls._from_rows(X, y, rows, names, formed_by)

    @classmethod
    def _from_rows(
        cls,
        X: Instances | None,
        y: ArrayLike | None,
        rows: Sequence[Integers],
        names: tuple[BagId, ...],
        formed_by: str,
    ) -> Bags:
        labels = None if y is None else array_of_values(y)
        return cls(
            X=None if X is None else tuple(_safe_indexing(X, bag) for bag in rows),
            y=None if labels is None else tuple(labels[bag] for bag in rows),
            names=names,
            formed_by=formed_by,
        )

    def align(
        self, proportions: ProportionsTable, *, unused: str = "raise"
    ) -> tuple[Bags, ProportionsTable]:
        """Put the bags in the order of a table of their proportions.

        For estimators of class ratios, ``model.fit(*bags.align(published))``. Bags and rows are
        matched by name, never by order.

        Parameters
        ----------
        proportions : PublishedProportions, data frame, series or mapping
            Keyed by the names of the bags: the names of `PublishedProportions`, the index of a data
            frame (columns are classes) or of a series (shares of the second of two classes), or the
            keys of a mapping to rows or shares.
        unused : {"raise", "drop"}, default="raise"
            What is done about proportions of bags that are not here.

        Returns
        -------
        bags : Bags
            In the order of the rows of `proportions`.
        proportions : PublishedProportions, data frame, series or ndarray
            Theirs, with the covariance of their noise if it was known. A mapping becomes an ndarray
            of shape (n_bags, n_classes).

        Raises
        ------
        ValueError
            If some bags have no proportions, some proportions no bag (unless ``unused="drop"``), or
            a name is twice in `proportions`.

        See Also
        --------
        LabelProportionsClassifier : Takes such tables without alignment.

        Examples
        --------
        >>> import numpy as np
        >>> from secretballot.quantification import Bags
        >>> bags = Bags.from_groups(np.arange(8.0).reshape(4, 2), None, ["May", "April"] * 2)
        >>> bags, shares = bags.align({"May": [0.3, 0.7], "April": [0.8, 0.2]})
        >>> bags.names, shares.tolist()
        (('May', 'April'), [[0.3, 0.7], [0.8, 0.2]])
        """
        if unused not in ("raise", "drop"):
            raise ValueError(f"unused={unused!r} must be 'raise' or 'drop'.")
        table = read_table(proportions)
        rows = table.match(self.names, unused=unused)
        order = np.argsort(rows)
        if isinstance(proportions, Mapping):
            return self[order], table.values[rows[order]]
        indexed = proportions.iloc if is_frame(proportions) else proportions
        return self[order], indexed[rows[order]]  # type: ignore[index,return-value]

    @property
    def sizes(self) -> Integers:
        """Number of instances in each bag; public."""
        bags = self.X if self.y is None else self.y
        return np.array([_num_samples(bag) for bag in bags or ()])

    @property
    def shape(self) -> tuple[int]:
        """The number of bags, as of an array of them."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, key: BagIndex) -> Bags:
        """Select bags by an integer, a slice, an array of integers or a mask."""
        rows = bag_rows(len(self), key)
        X, y = (
            None if values is None else tuple(values[row] for row in rows)
            for values in (self.X, self.y)
        )
        return replace(self, X=X, y=y, names=tuple(self.names[row] for row in rows))

    def __repr__(self) -> str:
        if not len(self):
            return f"<Bags: none, formed by {self.formed_by}>"
        # Not the labels: they are private.
        return (
            f"<Bags: {len(self)} bags of {self.sizes.min()} to {self.sizes.max()} instances, "
            f"formed by {self.formed_by}>"
        )


def _count_instances(X: Instances | None, y: ArrayLike | None) -> int:
    if y is None:
        if X is None:
            raise ValueError("X and y are both None; give instances, labels or both.")
        return int(_num_samples(X))
    check_unmasked("y", y)
    shape = array_of_values(y).shape
    if len(shape) != 1:
        raise ValueError(f"y has shape {shape}; give one label for each instance.")
    if X is not None and _num_samples(X) != shape[0]:
        raise ValueError(
            f"X has {_num_samples(X)} instances and y {shape[0]} labels; they must agree."
        )
    return shape[0]


def _check_no_labels(codes: Integers, labels: NDArray[np.generic]) -> None:
    """Raise ValueError if each group is one label, and each label one group."""
    n_groups = len(set(codes.tolist()))
    if n_groups < 2 or len(codes) < _FEWEST_COMPARED:
        return
    # As texts, which have an order and a hash.
    texts = list(map(str, labels.tolist()))
    if len(set(zip(codes.tolist(), texts, strict=True))) == len(set(texts)) == n_groups:
        raise ValueError(
            "groups are the labels, under the same names or others: being in a bag would give the "
            "label away, whatever is done to the proportions. Group by something public that does "
            "not depend on y. For a simulation, use secretballot.datasets.make_bags, or "
            f"Bags.from_indices(..., formed_by='label'). {NOT_FOR_PUBLICATION}"
        )


def _pop_column(X: Instances | None, column: Hashable) -> tuple[Instances, ArrayLike]:
    library = container_kind(X, "X")
    if library not in ("pandas", "polars"):
        raise ValueError(
            f"groups={column!r} names a column, but X is of type {type(X).__name__} and has no "
            "names; give a data frame of pandas or polars, or an array with the group of each "
            "instance."
        )
    frame = cast("Frame", X)
    n_found = list(frame.columns).count(column)
    if n_found != 1:
        raise ValueError(
            f"groups={column!r} is the name of {n_found or 'no'} column"
            f"{'s' if n_found > 1 else ''} of X, which has {list(frame.columns)!r}; name one."
        )
    others = frame.drop(columns=column) if library == "pandas" else frame.drop(column)
    return others, frame[column]  # type: ignore[return-value]


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
