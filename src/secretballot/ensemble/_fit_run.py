"""The run of one fit: check, train, label, teach the student; told step by step."""

from __future__ import annotations

from typing import Any

from secretballot._estimator_progress import Progress
from secretballot._sklearn_compat import _num_samples, with_callbacks
from secretballot.ensemble._fit_data import (
    FitData,
    prepared_data,
    prepared_parties,
    training_template,
)
from secretballot.ensemble._labelling import Labelling
from secretballot.ensemble._parts import is_parties
from secretballot.ensemble._teachers import train_teachers
from secretballot.ensemble._votes import GroupVotes, Tally, tally_of
from secretballot.ensemble.student import Choosing, fit_student, try_student
from secretballot.mechanisms import Counting
from secretballot.schema import warn_misfits
from secretballot.screening import PublicRowsCheck, check_stacked


@with_callbacks
def run_fit(
    ensemble: Any,
    X: Any,
    y: Any,
    X_public: Any,
    owners: Any,
    budgets: Any,
    *,
    teachers: list[Any],
) -> None:
    """Fit an ensemble; `teachers` is filled when all are trained, whatever comes after."""
    if X_public is not None and ensemble.accountant is None:
        raise ValueError(
            "X_public was given but accountant=None: labels are not released without a "
            "budget. Use accountant=PrivacyAccountant(epsilon, delta)."
        )
    if ensemble.accountant is not None:
        check_stacked(ensemble)
    prepare = prepared_parties if is_parties(ensemble.estimator) else prepared_data
    data = prepare(ensemble, X, y, X_public, owners, budgets)
    ensemble._row_schema = data.schema
    ensemble.classes_, ensemble.n_teachers_ = data.target.classes, data.plan.n_teachers
    ensemble._labelling = labelling = Labelling.of(data, ensemble.random_state)
    mechanism, choosing, check = None, None, None
    if ensemble.accountant is not None:
        labelling.open(ensemble, silent=X_public is None)
    if data.X_public is not None:
        # Before any training: an empty budget, or a useless student, should not cost hours.
        choosing = Choosing.of(ensemble, data, labelling)
        check = _check_of(ensemble, data, labelling)
        part = (1.0 if choosing is None else choosing.rest) + check.remaining_share - 1
        n_queries = _num_samples(data.X_public)
        mechanism = labelling.mechanism_for(ensemble, n_queries, in_fit=True, part=part)
        if ensemble.student is not None and choosing is None:
            try_student(ensemble.student, data.X_public, data.target.classes, ensemble.unanswered)
    n_tasks = 1 + (mechanism is not None) * (1 + (ensemble.student is not None))
    # Callbacks that fail do so before anything is paid.
    progress = Progress(ensemble, "fit", n_tasks, ensemble.verbose)
    if check is not None:
        ensemble.public_rows_check_ = check.release_count(
            ensemble,
            X,
            data.X_public,
            owners,
            scope=labelling.scope,
            random_state=labelling.randomness.noise(check.NOISE_INDEX),
            note=labelling.note,
        )
    tally = _train(ensemble, data, teachers, progress, labelling.counting(mechanism))
    if mechanism is not None:
        _label(ensemble, data.X_public, tally.votes, mechanism, progress, choosing)
        _teach(ensemble, data, teachers, progress, choosing)
    progress.end()
    # After the release: where warnings are errors, it must not be an unpaid one.
    tally.failures.tell()
    warn_misfits(data.misfits)


def _check_of(ensemble: Any, data: FitData, labelling: Labelling) -> PublicRowsCheck:
    if data.n_people is None:
        return PublicRowsCheck(n=0, skipped="parties keep their rows to themselves")
    return PublicRowsCheck.of(ensemble, data.n_people, data.X_public, labelling.scope)


def _train(
    ensemble: Any, data: FitData, teachers: list[Any], progress: Progress, counting: Counting
) -> Tally:
    """Train teachers or ask the parties; their votes on the public rows, if there are any."""
    n_teachers, classes = data.plan.n_teachers, data.target.classes
    with progress.task("train teachers", n_teachers) as task:
        if data.parties is not None:
            teachers.extend(data.parties)
            task.advance("teacher", n_teachers)
            tally = tally_of(teachers, data.X_public, classes, ensemble.n_jobs, counting=counting)
            tally.failures.check_some_left(multilabel=data.target.multilabel)
            return tally
        trained: list[Any] = [None] * n_teachers
        tally = Tally(counting)
        randomness = ensemble._labelling.randomness
        for batch in train_teachers(
            training_template(ensemble.estimator),
            data.X,
            data.y,
            data.shards(randomness),
            data.plan.groups,
            classes,
            randomness,
            data.X_public,
            counting,
            ensemble.n_jobs,
        ):
            for index, teacher in batch.teachers.items():
                trained[index] = teacher
            tally.add(batch.counted)
            task.advance("teacher", len(batch.teachers))
        tally.failures.check_some_left(multilabel=data.target.multilabel)
    teachers.extend(trained)
    return tally


def _label(
    ensemble: Any,
    X_public: Any,
    votes: GroupVotes,
    mechanism: Any,
    progress: Progress,
    choosing: Choosing | None,
) -> None:
    """Release the labels of the public rows; what a choice costs is set aside before."""
    labelling = ensemble._labelling
    ensemble.mechanism_ = mechanism
    with progress.task("label public rows") as task:
        if choosing is not None:
            choosing.reserve(ensemble, labelling)
        try:
            ensemble.pool_labels_ = labelling.answer(ensemble, mechanism, votes, in_fit=True)
        except Exception:
            if choosing is not None:
                choosing.cancel(ensemble)
            raise
        progress.paid()
        answered = ensemble.pool_labels_.answered
        n_rows = len(answered)
        ensemble.n_answered_ = int(answered.reshape(n_rows, -1).all(axis=1).sum())
        if not labelling.stops_by_votes(ensemble.accountant):
            task.counts = {"n_done": ensemble.n_answered_, "n_total": n_rows}
            progress.say(f"rows labelled: {ensemble.n_answered_} of {n_rows}")
    ensemble._privacy = labelling.privacy(ensemble.accountant)


def _teach(
    ensemble: Any,
    data: FitData,
    teachers: list[Any],
    progress: Progress,
    choosing: Choosing | None,
) -> None:
    """Train the student on the labels, or several of which one is chosen."""
    if ensemble.student is None:
        return
    labelling, released = ensemble._labelling, ensemble.pool_labels_
    with progress.task("fit student"):
        if choosing is not None:
            ensemble.student_ = choosing.choose(ensemble, data, teachers, released)
            ensemble._privacy = labelling.privacy(ensemble.accountant)
            return
        ensemble.student_ = fit_student(
            ensemble.student,
            data.X_public,
            released,
            labelling.target.classes,
            ensemble.unanswered,
            labelling.randomness,
            labelling.vote_noise(ensemble.mechanism_, len(released.labels)),
        )
