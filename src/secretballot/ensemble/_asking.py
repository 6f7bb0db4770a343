"""A private vote of fitted teachers on rows that come later, told step by step."""

from __future__ import annotations

from typing import Any

from secretballot._errors import warn
from secretballot._estimator_progress import Progress
from secretballot._sklearn_compat import unfitted, with_callbacks
from secretballot.ensemble._labels import PrivateLabels
from secretballot.ensemble._votes import tally_of


def ask_teachers(ensemble: Any, X: Any, mechanism: Any) -> PrivateLabels:
    """Return labels of rows; callbacks are told by an estimator that holds no teachers.

    What was released is paid for, and is not lost because somebody couldn't be told of it.
    """
    released: list[PrivateLabels] = []
    try:
        _ask(unfitted(ensemble), ensemble, X, mechanism, released)
    except Exception as error:
        if not released or isinstance(error, Warning):
            raise  # warnings are errors where that is asked for
        warn(
            "the labels were released and are returned, but what had to be told after that failed: "
            f"{type(error).__name__}: {error}"
        )
    return released[0]


@with_callbacks
def _ask(told: Any, ensemble: Any, X: Any, mechanism: Any, released: list[PrivateLabels]) -> None:
    labelling, teachers = ensemble._labelling, ensemble._teachers
    progress = Progress(told, "predict_private", 2, ensemble.verbose)
    with progress.task("ask teachers", len(teachers)) as task:
        tally = tally_of(
            teachers,
            X,
            ensemble.classes_,
            ensemble.n_jobs,
            labelling.plan.groups,
            labelling.counting(mechanism),
            lambda n_teachers: task.advance("teacher", n_teachers),
        )
        tally.failures.check_some_left(multilabel=labelling.target.multilabel)
    with progress.task("label rows") as task:
        released.append(labelling.answer(ensemble, mechanism, tally.votes))
        answered = released[0].answered
        n_rows = len(answered)
        n_answered = int(answered.reshape(n_rows, -1).all(axis=1).sum())
        if not labelling.stops_by_votes(ensemble.accountant):
            task.counts = {"n_done": n_answered, "n_total": n_rows}
            progress.say(f"rows labelled: {n_answered} of {n_rows}")
    progress.end()
    tally.failures.tell()
