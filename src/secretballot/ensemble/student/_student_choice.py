"""Choice among students: reserved, paid for, and drawn after all of them are trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.parallel import Parallel, delayed

from secretballot._base._errors import CompletedInterrupt, warn
from secretballot._base._interrupts import HeldInterrupts
from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.accounting._reservations import Reservation
from secretballot.ensemble._estimator_types import Learner, Rows, Teacher
from secretballot.ensemble._target import NO_BALLOT, Target, dense_labels
from secretballot.ensemble._teacher_ballots import ballots
from secretballot.ensemble.student._private_choice import Candidate, PrivateChoice
from secretballot.ensemble.student._public_student import PublicStudent
from secretballot.ensemble.student._trial import try_student
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._noisy_counts import BestOfCounts
from secretballot.mechanisms._noisy_max import GNMax
from secretballot.tables._labels import encode
from secretballot.tables._row_independence import check_row_independence, copy_rows
from secretballot.tables._row_schema import RowSchema
from secretballot.tables._rowwise import RowCalls, private_copies
from secretballot.tables._rowwise_check import choose_calls

if TYPE_CHECKING:
    from secretballot.ensemble._ensemble_data import EnsembleData
    from secretballot.ensemble._labelling import Labelling
    from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble
    from secretballot.ensemble._shards import ShardRows
    from secretballot.ensemble._stored_teachers import StoredTeachers

Scorer = Callable[[PublicStudent, Rows, ArrayLike], float]

#: Share of the budget that the labels leave for rounding errors.
_ROUNDING = 1e-6


def _predicted_labels(student: PublicStudent, rows: Rows) -> NDArray[Any]:
    return dense_labels(student.predict(rows))


@dataclass
class StudentChoice:
    """Choice among the students of one fit."""

    ensemble: PrivateTeacherEnsemble
    data: EnsembleData
    labelling: Labelling
    student: PrivateChoice
    candidates: list[Candidate]
    mechanism: Mechanism | None = None  # calibrated; None for a single candidate
    reservation: Reservation | None = None  # once it is paid for

    @classmethod
    def prepare(
        cls, ensemble: PrivateTeacherEnsemble, data: EnsembleData, labelling: Labelling
    ) -> StudentChoice | None:
        """Try all candidates on made-up labels; None if the student is no `PrivateChoice`."""
        student = ensemble.student
        if not isinstance(student, PrivateChoice):
            return None
        student.check()
        by_ballot = data.parties is not None or student.scoring is not None
        if by_ballot and ensemble.individualization is not None:
            raise ValueError(
                f"individualization={ensemble.individualization!r} has ballots of several weights, "
                f"and scoring={student.scoring!r} would choose by ballot; leave scoring out, which "
                "counts rows."
            )
        if student.scoring is not None and data.is_in_parts:
            raise ValueError(
                f"scoring={student.scoring!r} has each teacher score the students on its rows, and "
                "teachers of rows in parts are not asked for that: leave scoring out, which counts "
                "right answers."
            )
        private_copies(student.scorer(), "scoring", fresh=False)  # refused now, as below
        choice = cls(ensemble, data, labelling, student, student.expand())
        for candidate in choice.candidates:
            fitted = try_student(
                candidate.estimator,
                data.X_public,
                data.target.classes,
                ensemble.unanswered,
                scorer=student.scorer(),
            )
            name = f"{candidate.estimator!r}.predict"
            private_copies(fitted, name, fresh=False)  # refused now if it can't be copied
            if not by_ballot:
                # It will predict all private rows; a prediction must depend on its row alone.
                check_row_independence(partial(_predicted_labels, fitted), data.X_public, name)
                if student.rows_per_call != "auto":
                    assert data.schema is not None
                    choose_calls(fitted, "predict", data.schema, student.rows_per_call, name=name)
        if len(choice.candidates) > 1:
            choice.mechanism = ensemble._check_accountant().calibrate(
                GNMax if by_ballot else lambda noise: BestOfCounts(scale=noise),
                1,
                n_columns=len(choice.candidates),
                scope=labelling.scope,
                share=student.share,
            )
        return choice

    def reserve(self) -> None:
        """Pay for the choice, before the labels use up the budget."""
        if self.mechanism is not None:
            n_candidates = len(self.candidates)
            try:
                self.reservation = self.ensemble._check_accountant().reserve(
                    self.mechanism,
                    1,
                    n_columns=n_candidates,
                    scope=self.labelling.scope,
                    note={**self.data.facts.ledger_note, "chosen_among": n_candidates},
                )
            except CompletedInterrupt as interrupt:
                self.reservation = cast("Reservation", interrupt.answer)
                raise

    def cancel(self) -> None:
        """Refund the reservation, unless the choice was drawn."""
        if self.reservation is not None:
            with HeldInterrupts() as interrupts:
                interrupts.hold()
                self.ensemble._check_accountant().settle(self.reservation)
                self.reservation = None

    def choose(
        self, train: Callable[[Learner], Any], teachers: Sequence[Teacher] | StoredTeachers
    ) -> PrivateChoice:
        fitted = self._train(train)
        indices = list(fitted)
        if len(fitted) == 1 or self.mechanism is None:
            return self.student.with_choice(indices[0], fitted[indices[0]])
        data, labelling, accountant = self.data, self.labelling, self.ensemble._check_accountant()
        public = [PublicStudent(model, data.target.classes, {}) for model in fitted.values()]
        note = dict(data.facts.ledger_note)
        if isinstance(self.mechanism, BestOfCounts):
            assert data.schema is not None
            calls = _candidate_calls(public, data.schema, self.student, self.ensemble.n_jobs)
            for candidate in calls:
                candidate.warn_slow(data.facts.n_people if data.facts.split_by == "row" else None)
            note["rows_per_call"] = [candidate.rows_per_call for candidate in calls]
            counts = count_right_answers(calls, data, self.ensemble.n_jobs)
        else:
            assert isinstance(teachers, Sequence)
            votes = _votes_for_candidates(public, self.student.scorer(), data, teachers)
            counts = np.bincount(votes, minlength=len(public)).astype(np.float64)
        outcome = accountant.release(
            self.mechanism,
            counts[None],
            reservation=self.reservation,
            random_state=labelling.next_noise(),
            scope=labelling.scope,
            note=note,
        )
        self.reservation = None
        best = indices[int(outcome[0])]
        return self.student.with_choice(best, fitted[best])

    def _train(self, train: Callable[[Learner], Any]) -> dict[int, Any]:
        """Return the candidates that could be trained, by position; raise if none could."""
        fitted: dict[int, Any] = {}
        errors = []
        for index, candidate in enumerate(self.candidates):
            try:
                fitted[index] = train(candidate.estimator)
            except ValueError as error:
                errors.append(error)
        if not fitted:
            raise errors[0]
        if errors:
            warn(
                f"{len(errors)} of {len(errors) + len(fitted)} candidates could not be fitted on "
                f"the labels and are left out. The first error: {errors[0]}"
            )
        return fitted


def labels_share(student: object) -> float:
    """Return the share of a fit that is left to labels: several candidates take a part."""
    if not isinstance(student, PrivateChoice) or len(student.expand()) == 1:
        return 1.0
    return (1 - student.share) * (1 - _ROUNDING)


def _candidate_calls(
    candidates: Sequence[PublicStudent],
    schema: RowSchema,
    student: PrivateChoice,
    n_jobs: int | None,
) -> list[RowCalls]:
    """Return the calls in which each candidate predicts private rows.

    The candidates were checked before; if one does not pass now, its calls have fewer rows.
    """
    n_rows = 1 if student.rows_per_call == 1 else "auto"
    calls: list[RowCalls] = Parallel(n_jobs=n_jobs)(
        delayed(choose_calls)(candidate, "predict", schema, n_rows) for candidate in candidates
    )
    return calls


def count_right_answers(
    candidates: Sequence[RowCalls], data: EnsembleData, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Count the private rows that each candidate predicts correctly; owners weigh alike."""
    assert data.rows is not None
    n_jobs = None if data.is_in_parts else n_jobs
    return data.rows.sum(partial(_right_answers, candidates, data.target, n_jobs))


def _right_answers(
    candidates: Sequence[RowCalls], target: Target, n_jobs: int | None, rows: ShardRows
) -> NDArray[np.float64]:
    y = rows.labels
    truth = dense_labels(y) if target.multilabel else encode(y, target.classes, "y")
    scores = Parallel(n_jobs=n_jobs)(
        delayed(_row_scores)(candidate, rows.table, truth, target) for candidate in candidates
    )
    return rows.chunk.owners.total(np.array(list(scores)))


def _row_scores(
    candidate: RowCalls, X: Rows, truth: NDArray[Any], target: Target
) -> NDArray[np.float64]:
    """Return the share of right answers of each row, 0 where there is no prediction."""
    labels, failed = candidate(X)
    codes = target.codes(labels, len(failed))
    codes[failed] = NO_BALLOT
    right = codes == truth
    return right.astype(np.float64) if right.ndim == 1 else right.mean(axis=1)


def _votes_for_candidates(
    candidates: Sequence[PublicStudent],
    scorer: Scorer | None,
    data: EnsembleData,
    teachers: Sequence[Teacher],
) -> NDArray[np.intp]:
    """Return the candidate that each teacher votes for.

    A teacher votes by its own private rows, a party by its predictions of the public rows.
    """
    if data.parties is None:
        assert data.rows is not None
        rows = data.rows.load(0)
        assert rows.chunk.shards is not None
        samples = (
            (_safe_indexing(rows.table, places), rows.labels[places])
            for places in rows.chunk.shards.values()
        )
    else:
        samples = (
            (data.X_public, _predictions(index, data, teachers)) for index in range(len(teachers))
        )
    # What one teacher's rows leave in a candidate, in the scorer, or in public rows, must not reach
    # the next one's vote.
    copies = [private_copies(candidate, "predict", fresh=True) for candidate in candidates]
    votes = [
        _best(index, [copy() for copy in copies], deepcopy(scorer), copy_rows(X), y)
        for index, (X, y) in enumerate(samples)
    ]
    return np.array(votes, dtype=np.intp)


def _predictions(index: int, data: EnsembleData, teachers: Sequence[Teacher]) -> NDArray[Any]:
    codes, _ = ballots(teachers[index], data.X_public, data.target.classes, index)
    return codes if data.target.multilabel else np.asarray(data.target.classes)[codes]


def _best(
    index: int, candidates: Sequence[PublicStudent], scorer: Scorer | None, X: Rows, y: Rows
) -> int:
    """Return the candidate with the best score, the first of equals; by a rule without scores."""
    labels = dense_labels(y)
    scores = np.array([_score(candidate, scorer, X, labels) for candidate in candidates])
    if np.isnan(scores).all():
        return index % len(candidates)
    return int(np.nanargmax(scores))


def _score(candidate: PublicStudent, scorer: Scorer | None, X: Rows, y: NDArray[Any]) -> float:
    if not _num_samples(X):
        return np.nan
    try:
        if scorer is None:
            return float(np.mean(candidate.predict(X) == y))
        return float(scorer(candidate, X, y))
    except MemoryError:
        raise
    except Exception:  # an error, such as for a single class, is that teacher's alone
        return np.nan
