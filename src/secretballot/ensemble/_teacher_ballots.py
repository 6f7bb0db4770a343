"""Ballots of one teacher; a public rule casts those that it cannot cast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION, TEXT_ERROR, warn
from secretballot._base._sklearn_compat import _num_samples
from secretballot._base._view import visible
from secretballot.ensemble._estimator_types import Classes, Rows, Teacher
from secretballot.ensemble._label_model import label_probabilities
from secretballot.ensemble._target import NO_BALLOT, Target, as_target
from secretballot.ensemble._text_remedies import few_texts_remedy, text_remedy
from secretballot.mechanisms._counting import Counting
from secretballot.tables._row_independence import apply_in_halves


class ConstantTeacher:
    """Teacher with one vote for all rows; `failure` is the error of its training, if any."""

    def __init__(self, label: NDArray[Any], failure: str = "") -> None:
        self.label = label
        self.failure = failure

    def predict(self, X: Rows) -> NDArray[Any]:
        return np.repeat(self.label, _num_samples(X), axis=0)

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        return self.predict(X).astype(np.float64)


#: Remedy for a classifier of one class a row that was to learn labels.
_LABELS_REMEDY = (
    "y has labels: the estimator must learn 0 and 1 for each of them, as "
    "MultiOutputClassifier(estimator) or ClassifierChain(estimator) do. "
)


def error_text(error: Exception) -> str:
    """Return the message of a teacher's error, for the operator."""
    try:
        message = " ".join(str(error).split())
    except Exception:  # an error without a message must not end the run
        message = "?"
    # It may quote any private value, with characters that a terminal would act on.
    return visible(f"{type(error).__name__}: {message}")


@dataclass
class Failures:
    """Failures of teachers. Private: an error depends on a row as a ballot does."""

    n_teachers: int = 0
    n_ballots: int = 0
    untrained: int = 0  # teachers
    silent: int = 0  # teachers that could not answer some of the rows
    by_rule: int = 0  # ballots that the public rule cast
    first: tuple[int, str] = (-1, "")  # number and error of the first teacher that failed

    def __add__(self, other: Failures) -> Failures:
        first = [failures.first for failures in (self, other) if failures.first[1]]
        return Failures(
            self.n_teachers + other.n_teachers,
            self.n_ballots + other.n_ballots,
            self.untrained + other.untrained,
            self.silent + other.silent,
            self.by_rule + other.by_rule,
            min(first, default=(-1, "")),
        )

    def check_any_success(
        self,
        *,
        multilabel: bool,
        X: Rows | None,
        public: bool = True,
        n_rows: int | None = None,
    ) -> None:
        """Raise ValueError if no teacher could be trained, or none could answer any row.

        Remedies depend on the kind of `X`, on its cells if it is public, and on the rows of a
        teacher.
        """
        if self.untrained < self.n_teachers and (
            not self.n_ballots or self.by_rule < self.n_ballots
        ):
            return
        raise ValueError(
            f"none of {self.n_teachers} teachers could "
            + ("be trained" if self.untrained == self.n_teachers else "answer any row")
            + ". No label was released or paid for. "
            + multilabel * _LABELS_REMEDY
            + self._text_remedy(X, public, n_rows)
            + self._first_error
        )

    def warn_failures(self) -> None:
        parts = [
            f"{count} of {self.n_teachers} teachers could not {what}"
            for count, what in (
                (self.untrained, "be trained"),
                (self.silent, "answer some of the rows"),
            )
            if count
        ]
        if parts:
            share = f" ({self.by_rule} of {self.n_ballots} ballots)" if self.n_ballots else ""
            warn(
                f"{' and '.join(parts)}: for them a public rule votes{share}, by the teacher's "
                f"number. {self._first_error}"
            )

    def _text_remedy(self, X: Rows | None, public: bool, n_rows: int | None) -> str:
        if TEXT_ERROR in self._first_error:
            return text_remedy(X, public=public)
        pruned = any(text in self._first_error for text in ("than min_df", "After pruning"))
        return few_texts_remedy(n_rows) if pruned else ""

    @property
    def _first_error(self) -> str:
        index, text = self.first
        return f"{NOT_FOR_PUBLICATION} Teacher {index} said: {text}"


def training_failure(teacher: Teacher, index: int) -> Failures:
    failure = teacher.failure if isinstance(teacher, ConstantTeacher) else ""
    return Failures(n_teachers=1, untrained=int(failure != ""), first=(index, failure))


def ballots(
    teacher: Teacher, X: Rows, classes: Classes, index: int, counting: Counting | None = None
) -> tuple[NDArray[np.intp], Failures]:
    """Return the positions in ``classes``, or labels as 0 and 1, that one teacher votes for.

    There is a ballot on every row: an error would be a release that nobody paid for.
    """
    target = as_target(classes)
    codes, failure = predicted_codes(teacher, X, target, counting or target.counting)
    missing = (codes if codes.ndim == 1 else codes[:, 0]) == NO_BALLOT
    codes[missing] = target.codes(target.default_ballot(index), 1)[0]
    if counting is not None and counting.max_positives is not None:
        # Too many labels, by the rule or by a prediction: the first ones count.
        codes[codes.cumsum(axis=1) > counting.max_positives] = 0
    failures = training_failure(teacher, index)
    failures.n_ballots = len(codes)
    if failures.untrained:
        failures.by_rule = len(codes)
    elif missing.any():
        failures.silent, failures.by_rule = 1, int(missing.sum())
        failures.first = index, failure
    return codes, failures


def predicted_codes(
    teacher: Teacher, X: Rows, target: Target, counting: Counting
) -> tuple[NDArray[np.intp], str]:
    """Return predictions as numbers, `NO_BALLOT` where there is none, and the first error."""

    def codes_of(rows: Rows) -> NDArray[np.intp]:
        if counting.ballot_threshold is None:
            return target.codes(teacher.predict(rows), _num_samples(rows))
        probabilities = label_probabilities(teacher, rows, target.n_columns)
        return _probable_labels(probabilities, counting.ballot_threshold, counting.max_positives)

    none = np.full_like(target.codes(target.default_ballot(0), 1), NO_BALLOT)
    codes, error = apply_in_halves(codes_of, X, none)
    if error is not None:
        return codes, error_text(error)
    # The message does not quote it: that would be a prediction.
    return codes, "a prediction is not among the classes" if (codes < 0).any() else ""


def _probable_labels(
    probabilities: NDArray[Any], threshold: tuple[float, ...], max_positives: int | None
) -> NDArray[np.intp]:
    """Return 1 for labels above their thresholds; of too many the most probable, first of ties."""
    present = probabilities >= np.array(threshold)
    if max_positives is not None and max_positives < probabilities.shape[1]:
        rank = np.argsort(np.argsort(-probabilities, axis=1, kind="stable"), axis=1)
        present &= rank < max_positives
    codes = present.astype(np.intp)
    codes[np.isnan(probabilities).any(axis=1)] = NO_BALLOT
    return codes
