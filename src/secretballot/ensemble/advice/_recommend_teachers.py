"""Advice before anything is spent: noise against ballots, from public numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable

from secretballot._numbers import check_integer
from secretballot.accounting import calibrate
from secretballot.ensemble.advice._n_teachers import usual_n_teachers
from secretballot.ensemble.advice._survival import WORTH_ASKING, WORTH_LEARNING
from secretballot.ensemble.advice._teacher_advice import NoiseAgainstBallots, TeacherAdvice
from secretballot.mechanisms import GNMax

#: Numbers of teachers, and into how many parts a pool is cut.
_TEACHERS, _PARTS = (50, 100, 200, 500, 1000, 2000, 5000), (1, 4, 16)

#: Rows of more classes need up to .8 % more noise than rows of two, which are found much faster.
_MORE_CLASSES = 1.01


def recommend_teachers(
    *,
    n_private: int,
    n_public: int,
    epsilon: float,
    delta: float,
    n_classes: int = 2,
    n_teachers: Iterable[int] | None = None,
    n_rows: Iterable[int] | None = None,
    plain_table: bool = True,
) -> TeacherAdvice:
    """Recommend an estimator and a number of teachers, from public numbers alone.

    Everything it is given must be public: it computes the noise that a budget asks for, and sets
    it against the ballots that noise is added to. It knows nothing of the data, so it can't say
    how often teachers are right.

    Parameters
    ----------
    n_private : int
        Private rows; or owners, if owners are protected.
    n_public : int
        Public rows that could be labelled.
    epsilon, delta : float
        The budget, all of which is spent on labels.
    n_classes : int, default=2
        Number of classes.
    n_teachers : iterable of int, default=None
        Numbers of teachers to compare. None: from 50 to 5,000, as far as each has ten rows.
    n_rows : iterable of int, default=None
        Numbers of public rows to compare with all of them. None: a quarter, and a sixteenth.
    plain_table : bool, default=True
        Whether the task is to predict one class a row of a table of numbers and categories. False
        for text, images or sequences, several labels a row, a special estimator, or parties that
        can't pool their rows.

    Returns
    -------
    advice : TeacherAdvice
        A table (print it, or ``advice.frame()``) and, in words, which estimator and how many
        teachers. `BallotsDisplay` draws it.

    Raises
    ------
    ValueError
        If a number is out of range, or a number of teachers leaves some without rows.

    See Also
    --------
    recommend_mechanism : Which vote to take for several labels a row.
    secretballot.inspection.BallotsDisplay : The picture.

    Notes
    -----
    Fewer public rows have better labels, and say no more together: noise grows as the root of
    their number. What counts is the evidence, which grows with the teachers and with epsilon.
    More teachers know less each: the number recommended is that at which the evidence is as many
    standard deviations as a teacher has rows (`PrivateTeacherEnsemble` takes it for
    ``n_teachers=None``).

    Examples
    --------
    >>> from secretballot.ensemble import recommend_teachers
    >>> advice = recommend_teachers(n_private=34_000, n_public=2_000, epsilon=1, delta=1e-5)
    >>> advice.estimator
    'PrivateLogisticRegression'
    >>> advice.n_teachers
    450
    """
    check_integer("n_private", n_private)
    check_integer("n_public", n_public)
    check_integer("n_classes", n_classes, least=2)
    if n_teachers is None:
        n_teachers = [each for each in _TEACHERS if each <= n_private // 10]
    several = tuple(n_teachers)
    for each in several:
        check_integer("n_teachers", each, most=n_private)
    parts = {n_public // part for part in _PARTS} if n_rows is None else set(n_rows)
    for each in parts - {0}:
        check_integer("n_rows", each, most=n_public)

    sigmas = {}
    for n_labelled in sorted({*parts, n_public} - {0}, reverse=True):
        least = calibrate(GNMax, epsilon=epsilon, delta=delta, n_queries=n_labelled, n_columns=2)
        sigmas[n_labelled] = least.sigma * (1 if n_classes == 2 else _MORE_CLASSES)
    usual = usual_n_teachers(n_private, n_public, sigmas[n_public])
    table = tuple(
        NoiseAgainstBallots.of(
            n_public=n_labelled,
            n_teachers=teachers,
            rows_each=n_private / teachers,
            sigma=sigma,
            n_classes=n_classes,
        )
        for n_labelled, sigma in sigmas.items()
        for teachers in sorted({*several, usual})
    )
    chosen = next(row for row in table if row.n_teachers == usual)
    return TeacherAdvice(
        rows=table,
        estimator="PrivateLogisticRegression" if plain_table else "PrivateTeacherEnsemble",
        n_teachers=usual,
        reason=_reason(chosen, plain_table=plain_table),
    )


def _reason(chosen: NoiseAgainstBallots, *, plain_table: bool) -> str:
    teachers = (
        f"PrivateTeacherEnsemble with about {chosen.n_teachers} teachers and all "
        f"{chosen.n_public} public rows"
    )
    said = (
        "Take PrivateLogisticRegression: to predict one class a row of a table it is the more "
        f"accurate (measured on Adult). Otherwise {teachers}."
        if plain_table
        else f"Take {teachers}."
    )
    sure, most = chosen.survives[1.0], chosen.survives[0.75]
    said += (
        f" A label on which all teachers agree survives with probability {sure:.2f}, one on which "
        f"three quarters agree with {most:.2f}."
    )
    if chosen.evidence < WORTH_LEARNING:
        needed = math.ceil(chosen.n_teachers * WORTH_LEARNING / chosen.evidence)
        return (
            f"{said} That is too little for a student to learn from: use more epsilon, or at least "
            f"{needed} teachers if there are rows for them. Fewer public rows don't help."
        )
    if sure < WORTH_ASKING:
        return (
            f"{said} Single labels are next to worthless; a student of them all may still learn: "
            "one that knows the noise (NoisyVoteLogisticRegression)."
        )
    return said
