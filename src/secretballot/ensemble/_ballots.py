"""One teacher asked for its ballots; where it has none, a public rule casts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._errors import NOT_FOR_PUBLICATION, warn
from secretballot._sklearn_compat import _num_samples
from secretballot._tables import visible
from secretballot.ensemble._label_model import label_probabilities
from secretballot.ensemble._target import NO_BALLOT, Target, as_target
from secretballot.mechanisms import Counting
from secretballot.schema import apply_in_halves


class ConstantTeacher:
    """A teacher that votes for one class, or one set of labels, whatever it is asked.

    It saw nothing else, or could not be trained: then `failure` says why.

    Parameters
    ----------
    label : ndarray of shape (1,) or (1, n_labels)
    """

    def __init__(self, label: NDArray[Any], failure: str = "") -> None:
        self.label = label
        self.failure = failure

    def predict(self, X: Any) -> NDArray[Any]:
        """Return it for each row."""
        return np.repeat(self.label, _num_samples(X), axis=0)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the labels as probabilities."""
        return self.predict(X).astype(np.float64)


#: What helps where a classifier of one class a row was to learn labels.
_FOR_LABELS = (
    "y has labels: the estimator must learn 0 and 1 for each of them, as "
    "MultiOutputClassifier(estimator) or ClassifierChain(estimator) do. "
)


def told(error: Exception) -> str:
    """Return what went wrong with a teacher, for the operator."""
    try:
        said = " ".join(str(error).split())
    except Exception:  # the next thing to go wrong: it must not end the run either
        said = "?"
    # A private value may be quoted, and it may be anything.
    return visible(f"{type(error).__name__}: {said}")


@dataclass
class Failures:
    """What teachers could not do. Private: an error can tell of a row as a ballot can.

    Attributes
    ----------
    n_teachers, n_ballots : int
        How many were looked at.
    untrained, silent : int
        Teachers that could not be trained, and that could not answer some of the rows.
    by_rule : int
        Ballots that the public rule cast for them.
    first : tuple of (int, str)
        The first teacher that failed, by number, and what it said.
    """

    n_teachers: int = 0
    n_ballots: int = 0
    untrained: int = 0
    silent: int = 0
    by_rule: int = 0
    first: tuple[int, str] = (-1, "")

    def __add__(self, other: Failures) -> Failures:
        first = [each.first for each in (self, other) if each.first[1]]
        return Failures(
            self.n_teachers + other.n_teachers,
            self.n_ballots + other.n_ballots,
            self.untrained + other.untrained,
            self.silent + other.silent,
            self.by_rule + other.by_rule,
            min(first, default=(-1, "")),
        )

    def check_some_left(self, *, multilabel: bool = False) -> None:
        """Raise ValueError if nobody could be trained, or nobody could answer anything."""
        if self.untrained < self.n_teachers and (
            not self.n_ballots or self.by_rule < self.n_ballots
        ):
            return
        raise ValueError(
            f"none of {self.n_teachers} teachers could "
            + ("be trained" if self.untrained == self.n_teachers else "answer any row")
            + ". No label was released or paid for. "
            + multilabel * _FOR_LABELS
            + self._said
        )

    def tell(self) -> None:
        """Warn the operator of failures, if there were any."""
        parts = [
            f"{count} of {self.n_teachers} teachers could not {what}"
            for count, what in (
                (self.untrained, "be trained"),
                (self.silent, "answer some of the rows"),
            )
            if count
        ]
        if parts:
            asked = f" ({self.by_rule} of {self.n_ballots} ballots)" if self.n_ballots else ""
            warn(
                f"{' and '.join(parts)}: for them a public rule votes{asked}, by the teacher's "
                f"number. {self._said}"
            )

    @property
    def _said(self) -> str:
        index, text = self.first
        return f"{NOT_FOR_PUBLICATION} Teacher {index} said: {text}"


def training_failure(teacher: Any, index: int) -> Failures:
    """Return whether one teacher could be trained."""
    failure = teacher.failure if isinstance(teacher, ConstantTeacher) else ""
    return Failures(n_teachers=1, untrained=int(failure != ""), first=(index, failure))


def ballots(
    teacher: Any, X: Any, classes: Any, index: int, counting: Counting | None = None
) -> tuple[NDArray[np.intp], Failures]:
    """Positions in ``classes``, or labels as 0 and 1, that one teacher votes for, row by row.

    It has a ballot on every row, whatever happens: an error would be a release that nobody paid,
    and could be asked for again and again.
    """
    target = as_target(classes)
    codes, failure = answers(teacher, X, target, counting or target.counting)
    missing = (codes if codes.ndim == 1 else codes[:, 0]) == NO_BALLOT
    codes[missing] = target.codes(target.by_rule(index), 1)[0]
    if counting is not None and counting.max_positives is not None:
        # The rule casts a ballot of every label, and predictions have no order but theirs.
        codes[codes.cumsum(axis=1) > counting.max_positives] = 0
    failures = training_failure(teacher, index)
    failures.n_ballots = len(codes)
    if failures.untrained:
        failures.by_rule = len(codes)
    elif missing.any():
        failures.silent, failures.by_rule = 1, int(missing.sum())
        failures.first = index, failure
    return codes, failures


def answers(
    teacher: Any, X: Any, target: Target, counting: Counting
) -> tuple[NDArray[np.intp], str]:
    """Ballots as numbers, `NO_BALLOT` where there is none, and why not."""

    def codes_of(rows: Any) -> NDArray[np.intp]:
        if counting.ballot_threshold is None:
            return target.codes(teacher.predict(rows), _num_samples(rows))
        probable = label_probabilities(teacher, rows, target.n_columns)
        return _cut(probable, counting.ballot_threshold, counting.max_positives)

    none = np.full_like(target.codes(target.by_rule(0), 1), NO_BALLOT)
    codes, error = apply_in_halves(codes_of, X, none)
    if error is not None:
        return codes, told(error)
    # Not which: that would be a prediction.
    return codes, "a prediction is not among the classes" if (codes < 0).any() else ""


def _cut(
    probable: NDArray[Any], threshold: tuple[float, ...], max_positives: int | None
) -> NDArray[np.intp]:
    """Labels that are probable enough: of too many the most probable ones, the first of equals."""
    present = probable >= np.array(threshold)
    if max_positives is not None and max_positives < probable.shape[1]:
        rank = np.argsort(np.argsort(-probable, axis=1, kind="stable"), axis=1)
        present &= rank < max_positives
    codes = present.astype(np.intp)
    codes[np.isnan(probable).any(axis=1)] = NO_BALLOT
    return codes
