"""Run of one fit, and of a vote of fitted teachers, with progress; the price of a fit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.sparse import issparse

from secretballot._base._errors import GIVE_BUDGET, BudgetExceededError, CompletedInterrupt, warn
from secretballot._base._progress import EstimatorTask, Progress
from secretballot._base._sklearn_compat import _num_samples, unfitted, with_callbacks
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._reservations import Reservation
from secretballot.ensemble._ensemble_data import (
    EnsembleData,
    FitArguments,
    FitFacts,
    choose_assignment,
    prepare_parties,
    prepare_parts,
    prepare_rows,
)
from secretballot.ensemble._estimator_types import Learner, Rows, Teacher
from secretballot.ensemble._labelling import Labelling, count_is_private
from secretballot.ensemble._learners import check_parameters, is_parties
from secretballot.ensemble._private_labels import PrivateLabels
from secretballot.ensemble._shards import ShardRows
from secretballot.ensemble._stored_teachers import StoredTeachers, train_and_store
from secretballot.ensemble._target import declared_target
from secretballot.ensemble._teachers import train_batch, training_template
from secretballot.ensemble._votes import GroupTally, GroupVotes, ask
from secretballot.ensemble.advice import expected_survival
from secretballot.ensemble.individual import Assignment
from secretballot.ensemble.student import StudentChoice, fit_student, labels_share, try_student
from secretballot.ledger._budget import Scope
from secretballot.measures._fit_price import FitPrice, price_of_fits
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._counting import Counting
from secretballot.tables._fit_checks import check_copy
from secretballot.tables._frames import column_keys, columns_of, container_kind, public_table
from secretballot.tables._levels import Levels
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._public_data import public_rows
from secretballot.tables._public_rows_check import PublicRowsCheck
from secretballot.tables._randomness import Randomness
from secretballot.tables._row_schema import warn_misfits
from secretballot.tables._table_checks import warn_copied_target

if TYPE_CHECKING:
    from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble


@dataclass
class EnsembleFit:
    """Results of one fit, as far as it has come: a failure loses nothing trained or paid for."""

    data: EnsembleData | None = None  # while the fit runs
    labelling: Labelling | None = None
    public_rows_check: PublicRowsCheck | None = None
    teachers: list[Teacher] | StoredTeachers = field(default_factory=list)
    mechanism: Mechanism | None = None
    pool_labels: PrivateLabels | None = None
    train_student: Callable[[Learner], Any] | None = None
    student: Any = None

    @property
    def is_paid(self) -> bool:
        """True if labels were released."""
        return self.pool_labels is not None

    def result(self, was_fitted: bool) -> str:
        """Describe what is kept of a fit that was interrupted; "" if nothing is."""
        if self.is_paid:
            has_reservation = self.labelling is not None and self.labelling.reservation is not None
            rows = ", and reservation_ has the rows for predict_private" if has_reservation else ""
            return (
                "released labels, which are kept in pool_labels_ (fit_student trains a student on "
                f"them, free of charge){rows}"
            )
        if self.teachers and not was_fitted:
            return "released nothing, and the trained teachers are kept"
        return ""


@with_callbacks
def run_fit(ensemble: PrivateTeacherEnsemble, fitted: EnsembleFit, arguments: FitArguments) -> None:
    accountant = ensemble.accountant
    if arguments.X_public is not None and accountant is None:
        raise ValueError(
            "X_public was given but accountant=None: labels are not released without a budget. "
            + GIVE_BUDGET
        )
    is_copy = accountant is not None and check_copy(
        ensemble._is_copy,
        accountant,
        ensemble.epsilon,
        has_amount=ensemble.mechanism is not None or ensemble.reservation is not None,
    )
    randomness = Randomness.from_seed(ensemble.random_state)
    if is_parties(ensemble.estimator):
        data = prepare_parties(ensemble, arguments)
    elif isinstance(arguments.X, PrivateParts):
        data = prepare_parts(ensemble, arguments, randomness)
    else:
        data = prepare_rows(ensemble, arguments, randomness)
    try:
        _run(ensemble, fitted, data, randomness, is_copy)
    finally:
        if data.rows is not None:
            data.rows.close()


def _run(
    ensemble: PrivateTeacherEnsemble,
    fitted: EnsembleFit,
    data: EnsembleData,
    randomness: Randomness,
    is_copy: bool,
) -> None:
    accountant = ensemble.accountant
    data = replace(data, facts=replace(data.facts, is_copy=is_copy))
    labelling = Labelling(data.facts, randomness)
    fitted.data, fitted.labelling = data, labelling
    mechanism, choice, check = None, None, None
    if accountant is not None:
        labelling.open_scope(ensemble, silent=data.X_public is None)
    if data.X_public is not None:
        # Before any training: an empty budget, or a useless student, should not cost hours.
        if problem := labelling.too_few_rows(ensemble):
            raise ValueError(problem)
        choice = StudentChoice.prepare(ensemble, data, labelling)
        n_people = data.facts.n_people
        if n_people is None:
            check = PublicRowsCheck(n=0, skipped="parties keep their rows to themselves")
        else:
            check = _public_rows_check(ensemble, n_people, data.X_public, labelling.scope)
        share = labels_share(ensemble.student) + check.remaining_share - 1
        n_queries = _num_samples(data.X_public)
        mechanism = labelling.mechanism_for(ensemble, n_queries, in_fit=True, share=share)
        if ensemble.student is not None and choice is None:
            try_student(ensemble.student, data.X_public, data.target.classes, ensemble.unanswered)
        labelling.check_affordable(ensemble, mechanism)
    n_tasks = 1 + (mechanism is not None) * (1 + (ensemble.student is not None))
    # Callbacks that fail do so before anything is paid.
    progress = Progress(ensemble, "fit", n_tasks, ensemble.verbose)
    if check is not None:
        assert accountant is not None
        fitted.public_rows_check = check.release_count(
            accountant,
            partial(_people_outside, ensemble, data),
            scope=labelling.scope,
            random_state=labelling.randomness.noise(check.NOISE_INDEX),
            note=data.facts.ledger_note,
        )
    with progress.task("train teachers", data.facts.assignment.n_teachers) as task:
        counting = labelling.counting(mechanism)
        tally = _train(ensemble, fitted, data, labelling.randomness, counting, task)
    if mechanism is not None:
        fitted.mechanism = mechanism
        try:
            with progress.task("label public rows") as task:
                labels = _label(ensemble, fitted, tally.votes, mechanism, choice)
                progress.paid()
                task.counts = _report_answers(progress, labels, ensemble.accountant)
            if ensemble.student is not None:
                with progress.task("fit student"):
                    _fit_student(ensemble.student, fitted, choice)
        finally:
            if not fitted.is_paid:
                labelling.cancel(ensemble)
            if choice is not None:
                choice.cancel()
    progress.end()
    # After the release: where warnings are errors, it must not be an unpaid one.
    tally.failures.warn_failures()
    tally.caught.warn_once(tally.failures.n_teachers)
    warn_misfits(data.misfit_shares())
    if fitted.pool_labels is not None:
        _warn_copied_target(data, fitted.pool_labels)


def _warn_copied_target(data: EnsembleData, labels: PrivateLabels) -> None:
    """Warn if one public column has the labels that were released."""
    is_table = container_kind(data.X_public) in ("pandas", "polars", "numbers", "objects")
    if not is_table or issparse(data.X_public) or labels.labels.ndim > 1:
        return
    table = public_table(data.X_public, "X_public")
    if len(table.shape) == 2:
        columns = [np.asarray(column)[labels.answered] for column in columns_of(table)]
        warn_copied_target(column_keys(table), columns, labels.labels[labels.answered])


def _public_rows_check(
    ensemble: PrivateTeacherEnsemble, n_people: int, X_public: Rows, scope: Scope | None
) -> PublicRowsCheck:
    return PublicRowsCheck.of(
        ensemble._check_accountant(),
        n_people,
        X_public,
        scope,
        is_wanted=ensemble.check_public_rows,
        is_reserved=isinstance(ensemble.reservation, Reservation),
    )


def _people_outside(ensemble: PrivateTeacherEnsemble, data: EnsembleData) -> dict[Hashable, float]:
    """Count the people whose cells are outside of the public ones, by column."""
    assert data.rows is not None
    outside = partial(ShardRows.outside, X_public=data.X_public, categories=ensemble.categories)
    return data.rows.count(outside)


def _train(
    ensemble: PrivateTeacherEnsemble,
    fitted: EnsembleFit,
    data: EnsembleData,
    randomness: Randomness,
    counting: Counting,
    task: EstimatorTask,
) -> GroupTally:
    """Train the teachers, or take the parties, and count their votes on the public rows."""
    n_jobs, classes = ensemble.n_jobs, data.target.classes
    if data.parties is not None:
        fitted.teachers = data.parties
        votes = ask(data.parties, data.X_public, classes, counting, n_jobs)
    else:
        assert data.rows is not None
        groups = data.facts.assignment.groups
        train = partial(
            train_batch,
            estimator=training_template(cast("Learner", ensemble.estimator)),
            classes=classes,
            X_public=data.X_public,
            counting=counting,
        )
        if data.rows.buckets is not None:
            stored = StoredTeachers.in_folder_of(data.rows.buckets, groups)
            fitted.teachers = stored
            train = partial(train_and_store, train=train, folder=stored.folder.path)
        shard = partial(ShardRows.shard, groups=groups, randomness=randomness)
        votes = data.rows.by_teacher(shard, train, len(groups), n_jobs)
    tally = GroupTally(counting).add_up(votes, partial(task.advance, "teacher"))
    facts = data.facts
    by_row = facts.split_by == "row" and facts.n_people is not None
    tally.failures.check_any_success(
        multilabel=data.target.multilabel,
        X=data.X_public if data.X_public is not None else data.table,
        public=data.X_public is not None,
        n_rows=facts.assignment.rows_per_teacher(facts.n_people or 0) if by_row else None,
    )
    if data.parties is None and not data.is_in_parts:
        fitted.teachers = [tally.trained[number] for number in sorted(tally.trained)]
    return tally


def _label(
    ensemble: PrivateTeacherEnsemble,
    fitted: EnsembleFit,
    votes: GroupVotes,
    mechanism: Mechanism,
    choice: StudentChoice | None,
) -> PrivateLabels:
    """Release the labels of the public rows, after the choice of a student is reserved."""
    data, labelling = fitted.data, fitted.labelling
    assert data is not None
    assert labelling is not None
    if choice is not None:
        choice.reserve()
    interrupted = None
    try:
        labels = labelling.release_labels(ensemble, mechanism, votes, in_fit=True)
    except CompletedInterrupt as interrupt:
        labels, interrupted = cast("PrivateLabels", interrupt.answer), interrupt
    fitted.train_student = partial(
        fit_student,
        X_public=data.X_public,
        labels=labels,
        classes=data.target.classes,
        unanswered=ensemble.unanswered,
        randomness=labelling.randomness,
    )
    fitted.pool_labels = labels
    if interrupted is not None:
        raise interrupted
    return labels


def _fit_student(student: Any, fitted: EnsembleFit, choice: StudentChoice | None) -> None:
    """Train the student; if it fails, warn: the labels are paid for, and must not be lost."""
    train = fitted.train_student
    assert train is not None
    try:
        if choice is None:
            fitted.student = train(student)
        else:
            fitted.student = choice.choose(train, fitted.teachers)
    except Warning:  # where warnings are errors
        raise
    except Exception as error:
        warn(
            "student= failed on the released labels, so there is no student_. The labels are kept "
            "in pool_labels_, and fit_student trains another on them, free of charge. The error: "
            f"{error}"
        )


def _report_answers(
    progress: Progress, labels: PrivateLabels, accountant: PrivacyAccountant | None
) -> dict[str, int]:
    """Print the number of answered rows, and return it as metadata, unless it is private."""
    if count_is_private(accountant):
        return {}
    n_rows = len(labels.answered)
    progress.say(f"rows labelled: {labels.n_answered} of {n_rows}")
    return {"n_done": labels.n_answered, "n_total": n_rows}


def ask_teachers(
    ensemble: PrivateTeacherEnsemble,
    labelling: Labelling,
    teachers: list[Teacher] | StoredTeachers,
    X: Rows,
    mechanism: Mechanism,
) -> PrivateLabels:
    """Release labels of new rows, which are returned even if a callback fails after the release.

    Callbacks get an estimator without teachers.
    """
    released: list[PrivateLabels] = []
    try:
        _ask(unfitted(ensemble), ensemble, labelling, teachers, X, mechanism, released)
    except Exception as error:
        if not released or isinstance(error, Warning):
            raise  # warnings are errors where that is asked for
        warn(
            "the labels were released and are returned, but the report of progress after that "
            f"failed: {type(error).__name__}: {error}"
        )
    return released[0]


@with_callbacks
def _ask(
    listener: PrivateTeacherEnsemble,
    ensemble: PrivateTeacherEnsemble,
    labelling: Labelling,
    teachers: list[Teacher] | StoredTeachers,
    X: Rows,
    mechanism: Mechanism,
    released: list[PrivateLabels],
) -> None:
    """Count the votes of the teachers and release labels; `listener` has the callbacks."""
    facts = labelling.facts
    progress = Progress(listener, "predict_private", 2, ensemble.verbose)
    with progress.task("ask teachers", len(teachers)) as task:
        counting, classes = labelling.counting(mechanism), facts.target.classes
        if isinstance(teachers, StoredTeachers):
            votes = teachers.ask(X, classes, counting)
        else:
            votes = ask(teachers, X, classes, counting, ensemble.n_jobs, facts.assignment.groups)
        tally = GroupTally(counting).add_up(votes, partial(task.advance, "teacher"))
        tally.failures.check_any_success(multilabel=facts.target.multilabel, X=X)
    with progress.task("label rows") as task:
        released.append(labelling.release_labels(ensemble, mechanism, tally.votes))
        task.counts = _report_answers(progress, released[0], ensemble.accountant)
    progress.end()
    tally.failures.warn_failures()
    tally.caught.warn_once(tally.failures.n_teachers)


def price_run(
    ensemble: PrivateTeacherEnsemble,
    n: int | Mapping[str, int],
    X_public: object,
    n_fits: int,
    n_labels: int | None,
) -> FitPrice:
    check_parameters(
        ensemble.estimator, ensemble.student, ensemble.mechanism, ensemble.individualization
    )
    accountant, estimator = ensemble._check_accountant(), ensemble.estimator
    if X_public is None:
        raise ValueError(
            "X_public=None: a fit without public rows releases nothing and costs nothing. Pass the "
            "rows that are to be labelled."
        )
    pool = public_rows(X_public, None)
    target = declared_target(ensemble.classes, n_labels)
    levels, n_people = None, 0
    if isinstance(n, Mapping):
        levels = Levels.of_counts(n, accountant)
        n_people = int(levels.people.sum())
    else:
        n_people = n
    if is_parties(estimator):
        facts = FitFacts(target=target, assignment=Assignment(len(estimator)), split_by="party")
    else:
        assignment = choose_assignment(ensemble, levels, n_people, pool, target)
        facts = FitFacts(target=target, assignment=assignment, split_by="row", n_people=n_people)
    assignment = facts.assignment
    scope = accountant.scope(ensemble.epsilon)
    labelling = Labelling(facts, Randomness.from_seed(None), scope)
    check = _public_rows_check(ensemble, n_people, pool, scope)
    n_rows = _num_samples(pool)
    sizes: dict[str, float] = {"n_teachers": assignment.n_teachers, "n_public_rows": n_rows}
    if facts.n_people is not None:
        sizes["n_rows_per_teacher"] = assignment.rows_per_teacher(n_people)
    expected, share = "", None
    problem = labelling.too_few_rows(ensemble)
    try:
        mechanism = labelling.mechanism_for(
            ensemble,
            n_rows,
            in_fit=True,
            share=labels_share(ensemble.student) + check.remaining_share - 1,
        )
    except BudgetExceededError as error:
        problem = problem or str(error)
    else:
        share = labelling.price(ensemble, mechanism, n_rows)
        expected = expected_survival(
            mechanism, assignment, target.n_columns, n_rows, facts.n_people
        )
        if mechanism.count_noise is not None:
            sizes["sigma"] = mechanism.count_noise
    return price_of_fits(
        accountant,
        scope,
        n_fits,
        share=share,
        sizes=sizes,
        problem=problem,
        expected=expected,
    )
