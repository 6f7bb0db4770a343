"""Parties: sites with data, a model and a budget of their own."""

from __future__ import annotations

import contextlib
import warnings
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
from secretballot._base._numbers import quoted
from secretballot._base._sklearn_compat import _safe_indexing
from secretballot._base._view import percent
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._reservations import Reservation
from secretballot.ensemble._label_model import label_probabilities
from secretballot.ensemble._learners import check_classifier, check_teacher
from secretballot.ensemble._public_rows import as_rows, check_values, matching_rows
from secretballot.ensemble._target import Target, dense_labels
from secretballot.ensemble._teacher_ballots import ballots, training_failure
from secretballot.ensemble._teachers import Shard, train_teacher
from secretballot.parties._aggregator import VoteTally
from secretballot.parties._question import (
    Motion,
    Question,
    Table,
    frame_package,
    rows_digest,
    target_of,
)
from secretballot.parties._vote import Answer
from secretballot.tables._frames import column_names
from secretballot.tables._labels import check_targets, declared_classes, encode
from secretballot.tables._randomness import Randomness

#: A scikit-learn classifier, or multi-label classifier.
Classifier = Any


class Party:
    """A site that keeps its data and its model, and votes on what others ask.

    It is trained at home, on its own rows. When another party asks, its model has one ballot. The
    most that this can cost its people is reserved on *its* accountant before the ballot leaves.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn classifier, or multi-label classifier; it is cloned.
    name : str
        Its public name.
    accountant : PrivacyAccountant
        The budget of its people, with a ledger of its own. Neighbouring data differ in one of
        *its* rows (or owners), which can change its ballots in any way.
    classes : array-like, default=None
        The classes that rows may have: public, and the same for all parties.
    labels : sequence of str, default=None
        Instead of `classes`, the names of the labels that it knows, one for each column of `y`:
        public. It abstains on others. None: ``"0"``, ``"1"``, ...
    epsilon : float, default=None
        The most that one question may spend. None leaves it to the budget.
    random_state : int, RandomState or None, default=None
        Seeds the training of the model (no noise comes from here).

    See Also
    --------
    Collaboration : Lets parties ask each other.

    Notes
    -----
    A row with the wrong label, or one too many, must not silence a party, which others would see: a
    model that can't be trained votes by a public rule, and warns at home.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.linear_model import LogisticRegression
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.parties import Party
    >>> X, y = make_blobs(60, centers=2, random_state=0)
    >>> accountant = PrivacyAccountant(epsilon=2, delta=1e-5)
    >>> Party(LogisticRegression(), name="north", accountant=accountant, classes=[0, 1]).fit(X, y)
    <Party 'north': 0.0% of epsilon=2 spent>
    """

    def __init__(
        self,
        estimator: Classifier,
        *,
        name: str,
        accountant: PrivacyAccountant,
        classes: ArrayLike | None = None,
        labels: Sequence[str] | None = None,
        epsilon: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ValueError(f"name={name!r} must be a text by which the others know the party.")
        if not isinstance(accountant, PrivacyAccountant):
            raise TypeError(
                f"accountant={quoted(accountant)}: party {name!r} needs a budget of its own for "
                "its people; give a PrivacyAccountant."
            )
        if accountant.accounting == "data_dependent":
            raise ValueError(
                f"accountant of party {name!r} charges what the votes were (accounting="
                "'data_dependent'), and no party knows the votes of all; use the default."
            )
        if accountant.relation != "replace":
            raise ValueError(
                f"accountant of party {name!r} has relation={accountant.relation!r}: whoever joins "
                "or leaves turns the party's ballots into any others, which moves counts twice as "
                "far as a ballot more. Use PrivacyAccountant(..., relation='replace')."
            )
        if classes is not None and labels is not None:
            raise ValueError(
                "give classes (one class a row) or labels (several labels a row), not both."
            )
        self.estimator = estimator
        self.classes = None if classes is None else tuple(declared_classes(classes).tolist())
        self.labels = None if labels is None else _checked_labels(labels)
        self._randomness = Randomness.from_seed(random_state)
        self._schema = BaseEstimator()
        check_classifier("estimator", estimator)
        check_teacher(estimator)
        accountant.scope(epsilon)  # checks epsilon
        self.name = name
        self.accountant = accountant
        self.epsilon = epsilon
        self._paid: dict[str, list[tuple[Motion, Reservation]]] = {}
        self._asked: dict[str, bytes] = {}

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
            Rows that were asked about, in their order. If this object, or its `Collaboration`,
            asked, others are refused; an answer from elsewhere does not tell its rows.
        answer : Answer
            Rows without an answer are left out, and labels that it doesn't know. In a row with some
            labels answered, the model predicts the others.

        Returns
        -------
        Party
        """
        self._check_fitted()
        X = matching_rows(self._schema, X, "X")
        if not isinstance(answer, Answer):
            raise TypeError(
                f"answer={quoted(answer)} must be an Answer, as ask returns it: to learn labels of "
                "one's own, fit again."
            )
        labels, answered = answer.labels, answer.answered
        check_consistent_length(X, labels)
        if rows_digest(X) != self._asked.get(answer.id, rows_digest(X)):
            raise ValueError(
                f"X, for party {self.name!r}, holds other rows than those that {answer!r} is "
                "about. Pass the rows that were asked about, in their order."
            )
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

    def remember(self, question_id: str, digest: bytes) -> None:
        """Remember which rows a question is about, so that its answer is learned for no others."""
        self._asked[question_id] = digest

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

    @property
    def n_columns(self) -> int | None:
        """Number of columns of its rows; None for rows of one text each."""
        return getattr(self._schema, "n_features_in_", None)

    def shares_data_with(self, other: Party) -> bool:
        """Return True if it has another party's rows, or the same frozen model."""
        if self._parts[0][0] is other._parts[0][0]:
            return True
        frozen = isinstance(self.estimator, FrozenEstimator)
        return frozen and getattr(other.estimator, "estimator", None) is self.estimator.estimator

    def invite(self, question: Question) -> tuple[int, ...]:
        """Return the columns that it votes on; ValueError if the rows are not of its kind."""
        self.check_asked(question.X)
        if (question.classes is None) != (self.classes is None) or (
            self.classes is not None and question.classes != self.classes
        ):
            raise ValueError(
                f"party {self.name!r} votes on {self.classes or self.labels}, and "
                f"{question.classes or question.labels} were asked."
            )
        if question.seeded and self.accountant.ledger and not self.accountant.allow_seeded:
            raise ValueError(
                "random_state makes the noise reproducible, which protects nobody, and is refused "
                f"on the named ledger {self.accountant.ledger!r} of party {self.name!r}."
            )
        return self.columns(question.labels)

    def has_paid(self, question: Question) -> bool:
        """Return True if it has paid for a question that was neither closed nor voided."""
        return question.id in self._paid

    def reserve(self, question: Question, motions: Sequence[Motion]) -> None:
        """Pay the most that the votes can cost, on its own ledger."""
        if self.has_paid(question):
            raise ValueError(f"party {self.name!r} has paid for question {question.id!r} before.")
        scope, paid = self.accountant.scope(self.epsilon), list[tuple[Motion, Reservation]]()
        note = {**_ledger_note(question), "question": question.id, "asked_by": question.asker}
        self._paid[question.id] = paid
        try:
            for motion in motions:
                reservation = self.accountant.reserve(
                    motion.mechanism,
                    motion.n_rows(question),
                    n_columns=motion.n_columns,
                    scope=scope,
                    note=note,
                )
                paid.append((motion, reservation))
        except BaseException:
            self.void(question)
            raise

    def cast(self, question: Question) -> list[NDArray[np.intp]]:
        """Return its ballots on each motion, whatever happens: silence would reveal something."""
        cast = []
        for motion, _ in self._paid[question.id]:
            model = self._model
            if question.labels is not None:
                model = _SomeLabels(model, [question.labels[at] for at in motion.columns], self)
            classes = target_of(question.classes, motion.columns).classes
            votes, failures = ballots(model, question.X, classes, self._rule, motion.counting)
            self._warn_failure(failures.first[1], "could not answer some of the rows")
            cast.append(votes)
        return cast

    def close(self, question: Question, tallies: Sequence[VoteTally]) -> None:
        """Record that the votes were opened, and take back the refund."""
        for (_, reservation), tally in zip(self._paid.pop(question.id), tallies, strict=True):
            self.accountant.record(
                reservation,
                tally.n_rows,
                n_answers=tally.n_answers,
                seeded=question.seeded,
                note=_ledger_note(question),
            )
            self.accountant.settle(reservation)

    def void(self, question: Question) -> None:
        """Take back its payment: nothing was opened, and nothing will be."""
        for _, reservation in self._paid.pop(question.id, []):
            self.accountant.settle(reservation)

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
        return zlib.crc32(self.name.encode())

    @property
    def _target(self) -> Target:
        return target_of(self.classes, self.labels)

    def check_asked(self, X: Table) -> None:
        """Refuse rows that are unlike the party's own, or that no model of its kind takes."""
        self._check_fitted()
        name = f"X, for party {self.name!r},"
        names = [column for column in column_names(X) or () if isinstance(column, str)]
        if names and not hasattr(self._schema, "feature_names_in_"):
            raise ValueError(
                f"{name} has the columns {names[:3]!r}, and the party was fitted on rows without "
                "column names, so that their order is not known: pass X.to_numpy(), or fit all "
                "parties on data frames."
            )
        check_values(self._matching(X, name), [self.estimator], name)

    def check_own_question(self, X: Table) -> None:
        """Refuse rows that the party's own model can't answer: others would vote by a rule."""
        self.check_asked(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self._model.predict(self._matching(X))
            except MemoryError:
                raise
            except Exception as error:
                raise ValueError(
                    f"X: the model of party {self.name!r}, which asks, can't answer these rows, "
                    f"so that the others' would vote by a rule. {NOT_FOR_PUBLICATION} Its error: "
                    f"{error}"
                ) from error

    def _matching(self, X: Table, name: str = "X") -> Any:
        self._check_fitted()
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if column_names(X) is None and self.n_columns and shape[1:] not in ((), (self.n_columns,)):
            raise ValueError(
                f"{name} has {shape[1]} features, but party {self.name!r} is expecting "
                f"{self.n_columns}, as it was fitted on. Ask about rows of the same columns."
            )
        return matching_rows(self._schema, X, name)

    def _check_fitted(self) -> None:
        if not hasattr(self, "_parts"):
            raise ValueError(f"party {self.name!r} has no model yet; call fit(X, y) first.")

    def __repr__(self) -> str:
        spent, epsilon = self.accountant._spent_or_none(), self.accountant.epsilon
        if spent is None or isinstance(epsilon, dict):
            return f"<Party {self.name!r}>"
        (total,) = spent.values()
        return f"<Party {self.name!r}: {percent(total.share)} of epsilon={epsilon:g} spent>"


class _SomeLabels:
    """A model of several labels that predicts some of them."""

    def __init__(self, model: Classifier, names: Sequence[str], party: Party) -> None:
        assert party.labels is not None
        self._model, self._n_labels = model, len(party.labels)
        self._columns = [party.labels.index(name) for name in names]

    def predict(self, X: Table) -> NDArray[Any]:
        return dense_labels(self._model.predict(X))[:, self._columns]

    def predict_proba(self, X: Table) -> NDArray[np.float64]:
        return label_probabilities(self._model, X, self._n_labels)[:, self._columns]


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


def _ledger_note(question: Question) -> dict[str, object]:
    return {"split_by": "party", "aggregator": question.aggregator, "classes_learned": False}
