"""The classes that are voted on, labels as their positions, and labels that were released."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secretballot._errors import NOT_FOR_PUBLICATION, PrivacyLeakWarning, warn
from secretballot._views import Shown, View, label_parts


def declared_classes(classes: Any) -> NDArray[Any]:
    """Sorted classes of the parameter ``classes``."""
    given = np.asarray(classes)
    if given.ndim != 1:
        raise ValueError(f"classes has shape {given.shape}; give a list of labels.")
    return _checked(given, "classes")


def learned_classes(y: NDArray[Any]) -> NDArray[Any]:
    """Sorted classes that occur in ``y``."""
    return _checked(y, "y")


def _checked(labels: NDArray[Any], name: str) -> NDArray[Any]:
    try:
        found = np.unique(labels)
    except TypeError:
        raise ValueError(
            f"{name} mixes labels that can't be sorted; give all as strings or all as numbers."
            + (f" {NOT_FOR_PUBLICATION}" if name == "y" else "")
        ) from None
    if len(found) < 2:
        raise ValueError(
            f"{name} holds {len(found)} class(es), {found.tolist()!r}; a vote needs at least two."
            + (f" {NOT_FOR_PUBLICATION}" if name == "y" else "")
        )
    if name == "classes" and len(found) != len(labels):
        raise ValueError(f"classes={labels.tolist()!r} names a class twice.")
    return found


def positions(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Position of each label in ``classes``, -1 for labels that are not there."""
    try:
        codes = np.searchsorted(classes, labels)
        codes[codes == len(classes)] = 0
        known = np.asarray(classes[codes] == labels, dtype=bool)
    except TypeError:
        # Text and numbers have no order among each other.
        found = {label: code for code, label in enumerate(classes.tolist())}
        return np.array([_of(found, label) for label in labels.tolist()], dtype=np.intp)
    if known.shape != labels.shape:
        return np.full(len(labels), -1)
    return np.where(known, codes, -1)


def _of(found: dict[Any, int], label: Any) -> int:
    try:
        return found.get(label, -1)
    except TypeError:  # what can't be looked up is no label
        return -1


def encode(labels: Any, classes: NDArray[Any], name: str) -> NDArray[np.intp]:
    """Position of each label in ``classes``; `ValueError` for labels that are not there."""
    given = np.asarray(labels)
    codes = positions(given, classes)
    if (codes < 0).any():
        raise ValueError(
            f"{name} holds labels that are not among the classes {classes.tolist()!r}, such as "
            f"{given[codes < 0][:1].tolist()!r}; name all of them in classes. "
            f"{_encoded_hint(given, classes)}{NOT_FOR_PUBLICATION}"
        )
    return codes


def _encoded_hint(labels: NDArray[Any], classes: NDArray[Any]) -> str:
    """Return what helps where a meta-estimator of scikit-learn has encoded the labels."""
    codes = list(range(len(classes)))
    if labels.dtype.kind not in "iu" or not np.isin(labels, codes).all():
        return ""
    rest = "" if len(codes) == 2 else ", or classes=[0, 1] for one against the rest"
    return (
        "Within VotingClassifier, StackingClassifier and OneVsRestClassifier labels are encoded: "
        f"there give classes={codes!r}{rest}. "
    )


def warn_classes_learned() -> None:
    """Say that the set of classes was read off private labels."""
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

    def __array__(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        raise TypeError(
            "PrivateLabels are two arrays, which as one would be counted together; use "
            "released.labels[released.answered], and the same rows of what they are compared with."
        )

    def _view(self) -> View:
        return View("PrivateLabels", tuple(label_parts(self.labels, self.answered)))

    __str__, _repr_html_ = Shown.__str__, Shown._repr_html_


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
