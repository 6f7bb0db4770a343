"""A model that is trained at home: on private rows, and on what others answered."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import validate_data

from secretballot._errors import NOT_FOR_PUBLICATION, warn
from secretballot._sklearn_compat import _safe_indexing
from secretballot.collaboration._answer import Answer
from secretballot.collaboration._stacking import stacked
from secretballot.ensemble import (
    Randomness,
    Shard,
    Target,
    as_rows,
    as_target,
    check_targets,
    declared_classes,
    encode,
    matching_rows,
    train_teacher,
    training_failure,
)


class HomeModel:
    """What a party has at home: rows, a model of them, and what it was answered so far."""

    name: str

    def __init__(
        self, estimator: Any, classes: Any, labels: Sequence[str] | None, random_state: Any
    ) -> None:
        if classes is not None and labels is not None:
            raise ValueError(
                "give classes (one class a row) or labels (several labels a row), not both."
            )
        self.estimator = estimator
        self.classes = None if classes is None else tuple(declared_classes(classes).tolist())
        self.labels = None if labels is None else _checked(labels)
        self._randomness = Randomness.of(random_state)
        self._schema = BaseEstimator()

    def fit(self, X: Any, y: Any) -> Self:
        """Train the model on the party's own rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Private rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Their class, or 0 and 1 for each of the labels that the party knows.

        Returns
        -------
        Party
        """
        X, y = as_rows(X, "X"), check_targets(y)
        check_consistent_length(X, y)
        if y.ndim == 1:
            if self.classes is None:
                raise ValueError(
                    f"party {self.name!r} has y of one class a row, and classes=None: name the "
                    "classes that rows may have, as all parties do. (Those found in private rows "
                    "are a release.)"
                )
            # In the classes' own type: that of the labels seen may be too short for an answer.
            classes = np.array(self.classes)
            y = classes[encode(y, classes, "y")]
        else:
            y = y if isinstance(y, np.ndarray) else y.toarray().astype(np.int64)
            self.labels = self.labels or tuple(map(str, range(y.shape[1])))
            if self.classes is not None or len(self.labels) != y.shape[1]:
                named = "classes" if self.classes else f"{len(self.labels)} labels"
                raise ValueError(
                    f"party {self.name!r} has y with {y.shape[1]} columns of labels, and {named} "
                    "were named; name each column's label."
                )
        validate_data(self._schema, X, reset=True, skip_check_array=True)
        self._parts = [(X, y)]
        self._train()
        return self

    def learn(self, X: Any, answer: Answer) -> Self:
        """Train anew, on the party's own rows and on all that it was answered so far.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
            Rows that it asked about.
        answer : Answer
            What it was answered. Rows without an answer are left out, and labels that it doesn't
            know; of a row with some labels answered, the others are what its model says now.

        Returns
        -------
        Party
        """
        self._check_fitted()
        X = matching_rows(self._schema, X, "X")
        labels, known = answer.labels, answer.answered
        check_consistent_length(X, labels)
        if answer.names is not None:
            asked = {name: at for at, name in enumerate(answer.names)}
            at = [asked.get(name, -1) for name in self.labels or ()]
            labels = np.column_stack([labels, np.zeros(len(labels), labels.dtype)])[:, at]
            known = np.column_stack([known, np.zeros(len(known), bool)])[:, at]
        _, own = self._parts[0]
        if labels.shape[1:] != own.shape[1:]:
            raise ValueError(f"answer {answer!r} is not of what party {self.name!r} has.")
        rows = np.flatnonzero(known if known.ndim == 1 else known.any(axis=1))
        if len(rows):
            X, labels, known = _safe_indexing(X, rows), labels[rows], known[rows]
            if not known.all():
                said = self._model.predict(X)
                said = said.toarray() if issparse(said) else np.asarray(said)
                labels = np.where(known, labels, said)
            self._parts.append((X, labels.astype(own.dtype)))
            self._train()
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return what the model says: at home, and as private as its rows."""
        return np.asarray(self._model.predict(self._matching(X)))

    def predict_proba(self, X: Any) -> Any:
        """Return the model's probabilities: at home, and as private as its rows."""
        return self._model.predict_proba(self._matching(X))

    def columns(self, labels: Sequence[str] | None) -> tuple[int, ...]:
        """Return the positions of its classes, or of the labels that it knows among those."""
        if self.classes is not None:
            return tuple(range(len(self.classes)))
        return tuple(at for at, label in enumerate(labels or ()) if label in (self.labels or ()))

    def shares_data_with(self, other: HomeModel) -> bool:
        """Whether it has another's rows, or a model that was fitted elsewhere and is the same."""
        if self._parts[0][0] is other._parts[0][0]:
            return True
        frozen = isinstance(self.estimator, FrozenEstimator)
        return frozen and getattr(other.estimator, "estimator", None) is self.estimator.estimator

    def _train(self) -> None:
        tables, labels = zip(*self._parts, strict=True)
        X, y = stacked(list(tables)), np.concatenate(labels)
        shard = Shard(self._rule, self.name, X, y, self._randomness.teacher(0))
        self._model = train_teacher(self.estimator, shard, self._target.classes)
        self._tell(training_failure(self._model, self._rule), "could not be trained")

    def _tell(self, failures: Any, what: str) -> None:
        """Say at home why a public rule votes; the others see a ballot like any."""
        _, said = failures.first
        if not said:
            return
        # Where warnings are errors, too: a party that fell silent would tell of its rows.
        with contextlib.suppress(UserWarning):
            warn(
                f"the model of party {self.name!r} {what}: a public rule votes for it there. "
                f"{NOT_FOR_PUBLICATION} It said: {said}"
            )

    @property
    def _rule(self) -> int:
        """By which of the public rules it votes where the model has no ballot."""
        return zlib.crc32(self.name.encode())

    @property
    def _target(self) -> Target:
        if self.classes is not None:
            return as_target(np.array(self.classes))
        return as_target([np.array([0, 1])] * len(self.labels or ()))

    def _matching(self, X: Any, name: str = "X") -> Any:
        self._check_fitted()
        return matching_rows(self._schema, X, name)

    def _check_fitted(self) -> None:
        if not hasattr(self, "_parts"):
            raise ValueError(f"party {self.name!r} has no model yet; call fit(X, y) first.")


def _checked(labels: Sequence[str]) -> tuple[str, ...]:
    names = tuple(labels)
    if isinstance(labels, str) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"labels={labels!r} must be a list of names.")
    if len(set(names)) != len(names) or len(names) < 2:
        raise ValueError(f"labels={labels!r} must be two or more different names.")
    return names
