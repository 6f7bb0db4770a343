"""Private labels: how votes become them, and what they carry."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class PrivateLabels(NamedTuple):
    """Labels that were released, row by row.

    Attributes
    ----------
    labels : ndarray of shape (n_queries,)
        The label of each row. Where ``answered`` is False: -1 if the classes are signed integers
        without -1, else None.
    answered : ndarray of shape (n_queries,), dtype=bool
        Which rows got a label. The others were refused by the mechanism, or the budget ended
        before them.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.ensemble import PrivateLabels
    >>> released = PrivateLabels(np.array([1, -1, 0]), np.array([True, False, True]))
    >>> released.labels[released.answered]
    array([1, 0])
    """

    labels: NDArray[Any]
    answered: NDArray[np.bool_]


def private_labels(
    outcome: NDArray[np.intp], n_queries: int, classes: NDArray[Any]
) -> PrivateLabels:
    """Labels of an outcome: class positions, -1 where refused, of the rows that were begun."""
    codes = np.full(n_queries, -1, dtype=np.intp)
    codes[: len(outcome)] = outcome
    answered = codes >= 0
    # The type depends on the classes alone, never on whether some row happened to be refused.
    if classes.dtype.kind == "i" and -1 not in classes:
        labels = np.full(n_queries, -1, dtype=classes.dtype)
    else:
        labels = np.full(n_queries, None, dtype=object)
    labels[answered] = classes[codes[answered]]
    return PrivateLabels(labels, answered)
