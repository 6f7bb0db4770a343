"""Classes, positions of labels among them, and released labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secretballot._base._view import View, label_parts


class PrivateLabels(NamedTuple):
    """Labels that were released, row by row.

    Attributes
    ----------
    labels : ndarray of shape (n_queries,)
        The label of each row. Where ``answered`` is False: -1 if the classes are signed integers
        without -1, else None.
    answered : ndarray of shape (n_queries,), dtype=bool
        True for rows that got a label. The others were refused by the mechanism, or the budget
        ended before them.

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

    @property
    def n_answered(self) -> int:
        """Number of rows that are answered, with all of their labels."""
        return int(self.answered.reshape(len(self.answered), -1).all(axis=1).sum())

    def __array__(self, *args: object, **kwargs: object) -> NDArray[Any]:
        raise TypeError(
            "PrivateLabels are two arrays, which as one would be counted together; use "
            "released.labels[released.answered], and the same rows of what they are compared with."
        )

    def _view(self) -> View:
        return View("PrivateLabels", tuple(label_parts(self.labels, self.answered)))

    def __str__(self) -> str:
        return self._view().text

    def _repr_html_(self) -> str:
        return self._view().html


def private_labels(
    outcome: NDArray[np.intp], n_queries: int, classes: NDArray[Any]
) -> PrivateLabels:
    """Return the labels of an outcome: positions of classes, -1 where refused, of begun rows."""
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
