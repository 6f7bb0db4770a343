"""Recommendation of a number of teachers, from public numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable

from secretballot._base._numbers import check_integer, number_of_rows
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.ensemble.advice._survival import (
    MIN_CLASS_SIGNAL,
    MIN_EVIDENCE,
    MIN_SURVIVAL,
    class_signal,
)
from secretballot.ensemble.advice._teacher_advice import NoiseAgainstBallots, TeacherAdvice
from secretballot.ensemble.advice._teacher_rows import chosen_rows, too_few_rows
from secretballot.ensemble.individual import Assignment
from secretballot.mechanisms._noisy_max import GNMax

#: Numbers of teachers to compare, and divisors of the number of public rows.
_TEACHERS, _DIVISORS = (50, 100, 200, 500, 1000, 2000, 5000), (1, 4, 16)

#: More than two classes need up to .8 % more noise than two, for which calibration is much faster.
_MORE_CLASSES = 1.01

#: Number of teachers under unknown noise.
_FALLBACK = 100
#: Least rows of a teacher without public rows, whose labels are not released.
_ROWS_WITHOUT_POOL = 10


def recommended_n_teachers(n_private: int, n_public: int, sigma: float, n_classes: int) -> int:
    """Return a number of teachers that was near the best on several data sets.

    With more teachers the evidence of a pool, in standard deviations, grows, and the number of rows
    of a teacher falls. Here both are equal, unless that is too few rows for the classes. With the
    noise `sigma` all public rows fit the budget.
    """
    evidence_per_teacher = math.sqrt(n_public) / (math.sqrt(2) * sigma)
    exact = math.sqrt(n_private / evidence_per_teacher)
    rounded = round(exact, 1 - math.floor(math.log10(exact)))  # two significant digits
    return max(1, min(round(rounded), n_private // chosen_rows(n_classes)))


def fallback_n_teachers(n_private: int, n_classes: int | None = None) -> int:
    """Return a number of teachers under unknown noise; no `n_classes` if no label is released."""
    least = _ROWS_WITHOUT_POOL if n_classes is None else chosen_rows(n_classes)
    return max(1, min(_FALLBACK, n_private // least))


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

    All parameters must be public. The function computes the noise that a budget requires, and
    compares it with the number of ballots. It uses no data, so it does not estimate how accurate
    teachers are.

    Parameters
    ----------
    n_private : int or table of rows
        Number of private rows; or of owners, if owners are protected.
    n_public : int or table of rows
        Number of public rows that could be labelled.
    epsilon, delta : float
        Budget, all of which is spent on labels.
    n_classes : int, default=2
        Number of classes.
    n_teachers : iterable of int, default=None
        Numbers of teachers to compare. None: from 50 to 5,000, with at least 20 rows each, and 3
        for each class.
    n_rows : iterable of int, default=None
        Numbers of public rows to compare with all. None: a quarter, and a sixteenth.
    plain_table : bool, default=True
        Whether the task is to predict one class a row, or several labels, of a table of numbers
        and categories. False for text, images or sequences, a special estimator, or parties that
        can't pool their rows.

    Returns
    -------
    advice : TeacherAdvice
        Table (print it, or ``advice.frame()``), estimator and number of teachers, with a reason.

    Raises
    ------
    ValueError
        If a number is out of range, or a number of teachers leaves some without rows.

    Notes
    -----
    Fewer public rows have better labels but no more evidence together. With more teachers evidence
    grows, and each has fewer rows: at the recommended number evidence, in standard deviations,
    equals the rows of a teacher (`PrivateTeacherEnsemble` uses it for ``n_teachers=None``), unless
    a teacher would have fewer than 20 rows, or 3 for each class. A fit refuses to release labels of
    teachers with fewer than 10 rows, or one for each class.

    Examples
    --------
    >>> from secretballot.ensemble import recommend_teachers
    >>> advice = recommend_teachers(n_private=34_000, n_public=2_000, epsilon=1, delta=1e-5)
    >>> advice.estimator
    'PrivateLogisticRegression'
    >>> advice.n_teachers
    450
    """
    n_private = number_of_rows("n_private", n_private)
    n_public = number_of_rows("n_public", n_public)
    check_integer("n_private", n_private)
    check_integer("n_public", n_public)
    check_integer("n_classes", n_classes, least=2)
    if n_teachers is None:
        n_teachers = [count for count in _TEACHERS if count <= n_private // chosen_rows(n_classes)]
    teacher_counts = tuple(n_teachers)
    for count in teacher_counts:
        check_integer("n_teachers", count, most=n_private)
    pool_sizes = {n_public // part for part in _DIVISORS} if n_rows is None else set(n_rows)
    for count in pool_sizes - {0}:
        check_integer("n_rows", count, most=n_public)

    accountant, sigmas = PrivacyAccountant(epsilon, delta), {}
    for n_labelled in sorted({*pool_sizes, n_public} - {0}, reverse=True):
        calibrated = accountant.calibrate(GNMax, n_labelled, n_columns=2)
        sigmas[n_labelled] = calibrated.sigma * (1 if n_classes == 2 else _MORE_CLASSES)
    recommended = recommended_n_teachers(n_private, n_public, sigmas[n_public], n_classes)
    table = tuple(
        NoiseAgainstBallots.compute(
            n_public=n_labelled,
            n_teachers=teachers,
            rows_per_teacher=n_private / teachers,
            sigma=sigma,
            n_classes=n_classes,
        )
        for n_labelled, sigma in sigmas.items()
        for teachers in sorted({*teacher_counts, recommended})
    )
    chosen = next(row for row in table if row.n_teachers == recommended)
    return TeacherAdvice(
        rows=table,
        estimator="PrivateLogisticRegression" if plain_table else "PrivateTeacherEnsemble",
        n_teachers=recommended,
        reason=_reason(chosen, n_private, n_classes, plain_table=plain_table),
    )


def _reason(
    chosen: NoiseAgainstBallots, n_private: int, n_classes: int, *, plain_table: bool
) -> str:
    teachers = (
        f"PrivateTeacherEnsemble with about {chosen.n_teachers} teachers and all "
        f"{chosen.n_public} public rows"
    )
    text = (
        "Take PrivateLogisticRegression: to predict one class a row of a table it is the more "
        f"accurate (measured on Adult). Otherwise {teachers}."
        if plain_table
        else f"Take {teachers}."
    )
    unanimous, three_quarters = chosen.survival[1.0], chosen.survival[0.75]
    text += (
        f" A teacher has {chosen.rows_per_teacher:,.0f} rows. If all teachers agree, a label "
        f"survives the noise with probability {unanimous:.2f}; if three quarters agree, with "
        f"{three_quarters:.2f}."
    )
    if problem := too_few_rows(Assignment(chosen.n_teachers), n_private, n_classes):
        return f"{text} A fit would be refused: {problem}"
    if chosen.evidence < MIN_EVIDENCE:
        needed = math.ceil(chosen.n_teachers * MIN_EVIDENCE / chosen.evidence)
        return (
            f"{text} That is too little for a student to learn from: use more epsilon, or at least "
            f"{needed} teachers if there are {chosen_rows(n_classes)} rows for each. Fewer public "
            "rows don't help."
        )
    if (
        unanimous < MIN_SURVIVAL
        and class_signal(unanimous, n_classes, chosen.n_public) < MIN_CLASS_SIGNAL
    ):
        return (
            f"{text} That is too little for a student to learn {n_classes} classes from: use more "
            "epsilon or private rows, or fewer public rows, whose labels are right more often."
        )
    if unanimous < MIN_SURVIVAL:
        return (
            f"{text} Single labels are next to worthless; a well regularised student of them all "
            "may still learn."
        )
    return text
