"""Classes, positions of labels among them, and released labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION, PrivacyLeakWarning, marked_errors, warn
from secretballot._base._numbers import named_classes, sorted_classes
from secretballot._base._view import View, label_parts
from secretballot.measures._answers import codes_of

#: Most numbers that are classes without being named as codes.
_MOST_NUMBERS = 100


def declared_classes(classes: ArrayLike) -> NDArray[Any]:
    """Return the sorted classes of the parameter ``classes``."""
    names = named_classes(classes)
    _check_no_quantity(names, "classes")
    return names


def learned_classes(y: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted classes that occur in ``y``."""
    classes = sorted_classes(y, "y")
    _check_no_quantity(classes, "y")
    return classes


def _check_no_quantity(classes: NDArray[Any], name: str) -> None:
    """Refuse many numbers, unless they were named and are 0, 1, 2, ... or 1, 2, 3, ..."""
    n_classes = len(classes)
    if classes.dtype.kind not in "iuf" or n_classes <= _MOST_NUMBERS:
        return
    if name == "classes" and np.array_equal(classes - classes[0], np.arange(n_classes)):
        return
    raise ValueError(
        f"{name} holds {n_classes:,} numbers, and each would be a class, for which a fit takes "
        "minutes and tells little. Take PrivateLinearRegression for a number, or groups of it, "
        "such as pandas.cut(y, edges).astype(str). If they are codes of classes, name them: "
        f"classes=range({n_classes}), or give y.astype(str). Nothing was spent."
        + (f" {NOT_FOR_PUBLICATION}" if name == "y" else "")
    )


def positions(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each label in ``classes``, -1 for labels that are no class."""
    try:
        codes = np.searchsorted(classes, labels)
        codes[codes == len(classes)] = 0
        is_class = np.asarray(classes[codes] == labels, dtype=bool)
    except TypeError:
        return codes_of(labels, classes)  # text and numbers have no order among each other
    if is_class.shape != labels.shape:
        return np.full(len(labels), -1)
    return np.where(is_class, codes, -1)


def encode(labels: ArrayLike, classes: NDArray[Any], name: str) -> NDArray[np.intp]:
    labels = np.asarray(labels)
    with marked_errors(name):
        codes = positions(labels, classes)
    if (codes < 0).any():
        raise ValueError(
            f"{name} holds labels that are not among the classes {classes.tolist()!r}, such as "
            f"{labels[codes < 0][:1].tolist()!r}; name all of them in classes, or leave out rows "
            "whose label means that it is unknown. "
            f"{_encoded_hint(labels, classes)}{NOT_FOR_PUBLICATION}"
        )
    return codes


def _encoded_hint(labels: NDArray[Any], classes: NDArray[Any]) -> str:
    """Return a hint for labels that a meta-estimator of scikit-learn may have encoded."""
    codes = list(range(len(classes)))
    if labels.dtype.kind not in "iu" or not np.isin(labels, codes).all():
        return ""
    binary = "" if len(codes) == 2 else ", or classes=[0, 1] for one against the rest"
    return (
        "Within VotingClassifier, StackingClassifier and OneVsRestClassifier labels are encoded: "
        f"there give classes={codes!r}{binary}. "
    )


def warn_classes_learned() -> None:
    """Warn that the set of classes was read off private labels."""
    warn(
        "classes=None: the set of classes is learned from private labels and released exactly, "
        "outside the guarantee (a label that only one row has reveals that row). Name the "
        "possible labels: classes=[...].",
        PrivacyLeakWarning,
    )


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
