"""Models of parties, trained on private rows and on answers of others."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse, vstack
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import validate_data

from secretballot._base._errors import NOT_FOR_PUBLICATION, warn
from secretballot._base._sklearn_compat import _safe_indexing
from secretballot.ensemble._private_labels import declared_classes, encode
from secretballot.ensemble._public_rows import as_rows, matching_rows
from secretballot.ensemble._randomness import Randomness
from secretballot.ensemble._read_target import check_targets
from secretballot.ensemble._target import Target, dense_labels
from secretballot.ensemble._teacher_ballots import training_failure
from secretballot.ensemble._teachers import Shard, train_teacher
from secretballot.parties._answer import Answer
from secretballot.parties._question import Table, frame_package, target_of

#: A scikit-learn classifier, or multi-label classifier.
Classifier = Any


class HomeModel:
    """A party's own rows, the answers that it got, and a model of both."""

    name: str

    def __init__(
        self,
        estimator: Classifier,
        classes: ArrayLike | None,
        labels: Sequence[str] | None,
        random_state: int | np.random.RandomState | None,
    ) -> None:
        if classes is not None and labels is not None:
            raise ValueError(
                "give classes (one class a row) or labels (several labels a row), not both."
            )
        self.estimator = estimator
        self.classes = None if classes is None else tuple(declared_classes(classes).tolist())
        self.labels = None if labels is None else _checked_labels(labels)
        self._randomness = Randomness.from_seed(random_state)
        self._schema = BaseEstimator()

    def fit(self, X: Table, y: ArrayLike) -> Self:
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
        X, labels = as_rows(X, "X"), check_targets(y)
        check_consistent_length(X, labels)
        if labels.ndim == 1:
            if self.classes is None:
                raise ValueError(
                    f"party {self.name!r} has y of one class a row, and classes=None: name the "
                    "classes that rows may have, as all parties do. (Those found in private rows "
                    "are a release.)"
                )
            # In the classes' own type: that of the labels seen may be too short for an answer.
            classes = np.array(self.classes)
            labels = classes[encode(labels, classes, "y")]
        else:
            labels = dense_labels(labels).astype(np.int64)
            self.labels = self.labels or tuple(map(str, range(labels.shape[1])))
            if self.classes is not None or len(self.labels) != labels.shape[1]:
                named = "classes" if self.classes else f"{len(self.labels)} labels"
                raise ValueError(
                    f"party {self.name!r} has y with {labels.shape[1]} columns of labels, and "
                    f"{named} were named; name each column's label."
                )
        validate_data(self._schema, X, reset=True, skip_check_array=True)
        self._parts = [(X, labels)]
        self._train()
        return self

    def learn(self, X: Table, answer: Answer) -> Self:
        """Train again, on the party's own rows and on all answers that it got so far.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
            Rows that it asked about.
        answer : Answer
            Rows without an answer are left out, and labels that it doesn't know. In a row with some
            labels answered, the model predicts the others.

        Returns
        -------
        Party
        """
        self._check_fitted()
        X = matching_rows(self._schema, X, "X")
        labels, answered = answer.labels, answer.answered
        check_consistent_length(X, labels)
        if answer.names is not None:
            # Labels that nobody voted on are a column at the end, without answers.
            positions = {name: column for column, name in enumerate(answer.names)}
            columns = [positions.get(name, -1) for name in self.labels or ()]
            labels = np.column_stack([labels, np.zeros(len(labels), labels.dtype)])[:, columns]
            answered = np.column_stack([answered, np.zeros(len(answered), bool)])[:, columns]
        _, own_labels = self._parts[0]
        if labels.shape[1:] != own_labels.shape[1:]:
            raise ValueError(
                f"answer {answer!r} has other classes or labels than party {self.name!r}."
            )
        rows = np.flatnonzero(answered if answered.ndim == 1 else answered.any(axis=1))
        if len(rows):
            X, labels, answered = _safe_indexing(X, rows), labels[rows], answered[rows]
            if not answered.all():
                labels = np.where(answered, labels, dense_labels(self._model.predict(X)))
            self._parts.append((X, labels.astype(own_labels.dtype)))
            self._train()
        return self

    def predict(self, X: Table) -> NDArray[Any]:
        """Predict labels, for use at home: they are as private as the party's rows."""
        return np.asarray(self._model.predict(self._matching(X)))

    def predict_proba(self, X: Table) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Predict probabilities, for use at home: as private as the party's rows."""
        probabilities: NDArray[np.float64] = self._model.predict_proba(self._matching(X))
        return probabilities

    def columns(self, labels: Sequence[str] | None) -> tuple[int, ...]:
        """Return the positions of all classes, or of the labels that it knows."""
        if self.classes is not None:
            return tuple(range(len(self.classes)))
        own_labels = self.labels or ()
        return tuple(column for column, label in enumerate(labels or ()) if label in own_labels)

    def shares_data_with(self, other: HomeModel) -> bool:
        """Return True if it has another party's rows, or the same frozen model."""
        if self._parts[0][0] is other._parts[0][0]:
            return True
        frozen = isinstance(self.estimator, FrozenEstimator)
        return frozen and getattr(other.estimator, "estimator", None) is self.estimator.estimator

    def _train(self) -> None:
        tables, labels = zip(*self._parts, strict=True)
        X, y = _stacked(list(tables)), np.concatenate(labels)
        shard = Shard(self._rule, self.name, X, y, self._randomness.teacher(0))
        self._model: Classifier = train_teacher(self.estimator, shard, self._target.classes)
        _, error = training_failure(self._model, self._rule).first
        self._warn_failure(error, "could not be trained")

    def _warn_failure(self, error: str, failure: str) -> None:
        """Warn at home that a public rule votes; the others see a ballot like any."""
        if not error:
            return
        # Even where warnings are errors: a party that fell silent would reveal its rows.
        with contextlib.suppress(UserWarning):
            warn(
                f"the model of party {self.name!r} {failure}: a public rule votes for it there. "
                f"{NOT_FOR_PUBLICATION} Its error: {error}"
            )

    @property
    def _rule(self) -> int:
        """Number of the public rule that votes where the model has no ballot."""
        return zlib.crc32(self.name.encode())

    @property
    def _target(self) -> Target:
        return target_of(self.classes, self.labels)

    def _matching(self, X: Table, name: str = "X") -> Any:
        self._check_fitted()
        return matching_rows(self._schema, X, name)

    def _check_fitted(self) -> None:
        if not hasattr(self, "_parts"):
            raise ValueError(f"party {self.name!r} has no model yet; call fit(X, y) first.")


def _checked_labels(labels: Sequence[str]) -> tuple[str, ...]:
    names = tuple(labels)
    are_names = not isinstance(labels, str) and all(isinstance(name, str) for name in names)
    if not are_names or len(set(names)) != len(names) or len(names) < 2:
        raise ValueError(f"labels={labels!r} must be a list of names: two or more different names.")
    return names


def _stacked(tables: list[Table]) -> Table:
    """Concatenate the rows of tables with the same columns; a single one is returned as it is."""
    first = tables[0]
    if len(tables) == 1:
        return first
    if any(map(issparse, tables)):
        return vstack(tables, format="csr")
    if (frames := frame_package(first)) is not None:
        is_pandas = frames.__name__ == "pandas"
        settings = {"ignore_index": True} if is_pandas else {"how": "vertical_relaxed"}
        # Rows of a question may be an array: columns in the same order, without names.
        named = [
            table
            if isinstance(table, frames.DataFrame)
            else frames.DataFrame(dict(zip(first.columns, np.asarray(table).T, strict=True)))
            for table in tables
        ]
        return frames.concat(named, **settings)
    if all(isinstance(table, list) for table in tables):
        return [row for table in tables for row in table]
    return np.concatenate([np.asarray(table) for table in tables])
