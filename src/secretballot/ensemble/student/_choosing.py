"""The choice among students: set aside, paid for, and drawn after all have learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.parallel import Parallel, delayed

from secretballot._errors import warn
from secretballot._sklearn_compat import _num_samples, _safe_indexing
from secretballot.accounting import Reservation
from secretballot.ensemble._ballots import answers, ballots
from secretballot.ensemble._labels import PrivateLabels, encode
from secretballot.ensemble.student._fit_student import fit_student
from secretballot.ensemble.student._private_choice import PrivateChoice
from secretballot.ensemble.student._public_student import PublicStudent
from secretballot.ensemble.student._trial import dense_labels, try_student
from secretballot.mechanisms import BestOfCounts, GNMax
from secretballot.schema import check_row_independence
from secretballot.scoring import People

#: What the labels leave for rounding, beside the choice's own share.
_SPARE = 1e-6


@dataclass
class Choosing:
    """The choice of one fit.

    Attributes
    ----------
    student : PrivateChoice
    mechanism : BestOfCounts or GNMax
        With the noise that its share pays for; None if there is one candidate alone.
    reservation : Reservation or None
        What it is drawn from, once it is paid for.
    """

    student: PrivateChoice
    mechanism: Any
    reservation: Reservation | None = None

    @classmethod
    def of(cls, ensemble: Any, data: Any, labelling: Any) -> Choosing | None:
        """Return the choice that a fit will make, tried out; None if its student is none."""
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
        candidates = student.listed()
        for each in candidates:
            fitted = try_student(
                each.estimator,
                data.X_public,
                data.target.classes,
                ensemble.unanswered,
                scorer=student.scorer(),
            )
            if not by_ballot:
                # It will be asked about all private rows, and counted.
                check_row_independence(
                    lambda rows, student=fitted: dense_labels(student.predict(rows)),
                    data.X_public,
                    f"{each.estimator!r}.predict",
                )
        if len(candidates) == 1:
            return cls(student, None)
        make = (lambda noise: GNMax(sigma=noise)) if by_ballot else _counting
        mechanism = ensemble.accountant.calibrate(
            make, 1, n_columns=len(candidates), scope=labelling.scope, share=student.share
        )
        return cls(student, mechanism)

    @property
    def rest(self) -> float:
        """The part of what the fit may spend that is left to the labels."""
        return 1.0 if self.mechanism is None else (1 - self.student.share) * (1 - _SPARE)

    def reserve(self, ensemble: Any, labelling: Any) -> None:
        """Pay for it, before the labels take what there is."""
        if self.mechanism is None:
            return
        n = len(self.student.listed())
        self.reservation = ensemble.accountant.reserve(
            self.mechanism,
            1,
            n_columns=n,
            scope=labelling.scope,
            note={**labelling.note, "chosen_among": n},
        )

    def cancel(self, ensemble: Any) -> None:
        """Take the payment back where there is nothing to choose: nothing was drawn."""
        if self.reservation is not None:
            ensemble.accountant.settle(self.reservation)
            self.reservation = None

    def choose(
        self, ensemble: Any, data: Any, teachers: list[Any], released: PrivateLabels
    ) -> PrivateChoice:
        """Teach all candidates, and return the student with the one that was chosen."""
        labelling = ensemble._labelling
        fitted, failed = self._taught(ensemble, data, released)
        if not fitted:
            self.cancel(ensemble)
            raise failed[0]
        at = list(fitted)
        if len(fitted) == 1 or self.mechanism is None:
            self.cancel(ensemble)
            return self.student.chosen(at[0], fitted[at[0]])
        public = [PublicStudent(each, data.target.classes, {}) for each in fitted.values()]
        if isinstance(self.mechanism, BestOfCounts):
            counts = right_counts(public, ensemble.accountant, data, ensemble.n_jobs)
        else:
            votes = best_by_each(public, self.student.scorer(), data, teachers, labelling)
            counts = np.bincount(votes, minlength=len(public)).astype(np.float64)
        index = ensemble.accountant.release(
            self.mechanism,
            counts[None],
            reservation=self.reservation,
            random_state=labelling.next_noise(),
            scope=labelling.scope,
            note=labelling.note,
        )
        best = at[int(index[0])]
        return self.student.chosen(best, fitted[best])

    def _taught(
        self, ensemble: Any, data: Any, released: PrivateLabels
    ) -> tuple[dict[int, Any], list[ValueError]]:
        """Return the candidates that could learn, by position, and what the others said."""
        fitted: dict[int, Any] = {}
        failed = []
        vote_noise = ensemble._labelling.vote_noise(ensemble.mechanism_, len(released.labels))
        for at, candidate in enumerate(self.student.listed()):
            try:
                fitted[at] = fit_student(
                    candidate.estimator,
                    data.X_public,
                    released,
                    data.target.classes,
                    ensemble.unanswered,
                    ensemble._labelling.randomness,
                    vote_noise,
                )
            except ValueError as error:
                failed.append(error)
        if failed and fitted:
            warn(
                f"{len(failed)} of {len(failed) + len(fitted)} candidates could not be fitted on "
                f"the labels and are left out. The first said: {failed[0]}"
            )
        return fitted, failed


def _counting(noise: float) -> BestOfCounts:
    return BestOfCounts(scale=noise)


def right_counts(
    candidates: list[PublicStudent], accountant: Any, data: Any, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Return how many private rows each candidate gets right; owners weigh alike."""
    people = People.from_owners(accountant, data.owners, _num_samples(data.X))
    truth = _codes(data)
    rights = Parallel(n_jobs=n_jobs)(
        delayed(_right)(each, data.X, truth, data.target) for each in candidates
    )
    return people.total(np.array(list(rights)))


def _right(candidate: PublicStudent, X: Any, truth: NDArray[Any], target: Any) -> NDArray[Any]:
    """Return each row's share of right answers; where a candidate has none it is 0, there alone."""
    told, _ = answers(candidate, X, target, target.counting)
    right = told == truth
    return right.astype(np.float64) if right.ndim == 1 else right.mean(axis=1)


def _codes(data: Any) -> NDArray[Any]:
    """Return private labels as positions of classes, or 0 and 1."""
    if data.target.multilabel:
        return np.asarray(data.y.toarray() if issparse(data.y) else data.y)
    return encode(data.y, data.target.classes, "y")


def best_by_each(
    candidates: list[PublicStudent], scorer: Any, data: Any, teachers: list[Any], labelling: Any
) -> NDArray[np.intp]:
    """Return the candidate that each teacher votes for: by its own rows, or as it would predict."""
    if data.parties is None:
        # As they were dealt before the teachers were trained: the stream is keyed.
        shards = data.shards(labelling.randomness)
        own = ((_safe_indexing(data.X, rows), data.y[rows]) for rows in shards)
    else:
        own = ((data.X_public, _ballots(at, data, teachers)) for at in range(len(teachers)))
    votes = [_vote(at, candidates, scorer, *rows) for at, rows in enumerate(own)]
    return np.array(votes, dtype=np.intp)


def _ballots(index: int, data: Any, teachers: list[Any]) -> NDArray[Any]:
    """Return what a party predicts for the public rows."""
    codes, _ = ballots(teachers[index], data.X_public, data.target.classes, index)
    return codes if data.target.multilabel else np.asarray(data.target.classes)[codes]


def _vote(index: int, candidates: list[PublicStudent], scorer: Any, X: Any, y: Any) -> int:
    """Return the best candidate on some rows, the first of equals; by a rule where none scores."""
    if issparse(y):
        y = y.toarray()
    scores = np.array([_score(each, scorer, X, y) for each in candidates])
    if np.isnan(scores).all():
        return index % len(candidates)
    return int(np.nanargmax(scores))


def _score(candidate: PublicStudent, scorer: Any, X: Any, y: Any) -> float:
    if not _num_samples(X):
        return np.nan
    try:
        if scorer is None:
            return float(np.mean(candidate.predict(X) == y))
        return float(scorer(candidate, X, y))
    except MemoryError:
        raise
    except Exception:  # one class alone, say: it is the teacher's own affair
        return np.nan
