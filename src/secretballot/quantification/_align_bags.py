"""The data frame's door: bags by a column, and their proportions, aligned by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from secretballot._sklearn_compat import _num_samples, _safe_indexing
from secretballot.quantification._bag_ids import ids_of_instances, positions
from secretballot.quantification._known_proportions import proportions_by_id, required_ids


def align_bags(
    X: Any, by: Any, proportions: Any, *, unused: str = "refuse"
) -> tuple[list[Any], Any]:
    """Split instances into bags in the order of a table of their proportions.

    What is returned is what `fit` of the class ratio estimators, and of pipelines of them, takes:
    ``model.fit(*align_bags(X, "month", published))``. Names decide what belongs to what, and none
    is left over unseen.

    Parameters
    ----------
    X : data frame, array-like of shape (n_instances, n_features) or sparse matrix
        Instances of all bags, in any order.
    by : str or array-like of shape (n_instances,)
        The column of the data frame `X` that says which bag an instance is in; it is taken out of
        the features. Or such a column by itself.
    proportions : PublishedProportions, data frame, series or mapping
        Keyed by what the bags are called: the names of `PublishedProportions`, the index of a data
        frame (columns are classes) or of a series (shares of the second of two classes), or the
        keys of a mapping, to such rows or shares.
    unused : {"refuse", "drop"}, default="refuse"
        What is done about proportions of bags that have no instance in `X`.

    Returns
    -------
    bags : list of length n_bags
        Tables of the same kind as `X`, in the order of the rows of `proportions`.
    proportions : PublishedProportions, data frame, series or ndarray
        Theirs, with the covariance of their noise if it was known. A mapping becomes an ndarray of
        shape (n_bags, n_classes).

    Raises
    ------
    ValueError
        If some instances have proportions missing, or proportions have no instances (unless
        ``unused="drop"``): their names are said. If an id is missing, or is there twice in
        `proportions`.

    See Also
    --------
    split_bags : Bags in the order of their sorted ids.
    LabelProportionsClassifier : Takes such tables as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.quantification import align_bags
    >>> X, month = np.arange(8.0).reshape(4, 2), ["May", "April", "May", "May"]
    >>> bags, shares = align_bags(X, month, {"May": [0.3, 0.7], "April": [0.8, 0.2]})
    >>> [len(bag) for bag in bags], shares.tolist()
    ([3, 1], [[0.3, 0.7], [0.8, 0.2]])
    """
    if unused not in ("refuse", "drop"):
        raise ValueError(f"unused={unused!r} must be 'refuse' or 'drop'.")
    X, column = _taken_out(X, by)
    names, codes = ids_of_instances("by", column, _num_samples(X))
    row = positions(names, required_ids(proportions), unused=unused)
    order = np.argsort(row)
    known = proportions_by_id(proportions, [names[number] for number in order], unused=unused)
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    bags = [_safe_indexing(X, rows[number]) for number in order]
    if isinstance(proportions, Mapping):
        return bags, known.values
    rows_of = proportions.iloc if hasattr(proportions, "iloc") else proportions
    return bags, rows_of[row[order]]


def _taken_out(X: Any, by: Any) -> tuple[Any, Any]:
    """Return the features, and the column of ids."""
    if np.ndim(by) > 0:
        return X, by
    columns = getattr(X, "columns", None)
    if columns is None:
        raise ValueError(
            f"by={by!r} names a column, but X is of type {type(X).__name__} and has no names; give "
            "an array with the id of each instance."
        )
    times = list(columns).count(by)
    if times != 1:
        raise ValueError(
            f"by={by!r} is the name of {times or 'no'} column{'s' if times > 1 else ''} of X, "
            f"which has {list(columns)!r}; name one."
        )
    return X.drop(columns=by), X[by]
