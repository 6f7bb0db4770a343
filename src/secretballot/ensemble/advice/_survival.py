"""Probability that unanimous votes survive the noise, and refusal of noise that drowns them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from secretballot._base._errors import BudgetExceededError, warn
from secretballot.costs._clipped_bits import ClippedBits
from secretballot.costs._confident_max import ConfidentMax
from secretballot.costs._exact_max import level_quadrature, max_log_probabilities
from secretballot.costs._law import Law, Move, NoisyBit, NoisyMax, Step
from secretballot.costs._selection import StableTest
from secretballot.ensemble.advice._teacher_rows import least_rows
from secretballot.ensemble.individual import Assignment
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._counting import CountLabels

#: Least survival probability at which single labels are worth their cost.
MIN_SURVIVAL = 0.75

#: Least evidence from which a student learns anything. On Adult, students with less were right
#: less often than a constant prediction (benchmarks/equal_epsilon/students.py).
MIN_EVIDENCE = 6.0

#: Least signal of a class in the labels of a pool (`class_signal`). There students of perfect
#: teachers kept about half of their accuracy above chance, with 10, 20 and 60 classes.
MIN_CLASS_SIGNAL = 1.5

#: Least public rows of a student, for each class. With .8 a class, and labels that were right,
#: students of 60 classes kept a fifth of their accuracy; with 2.5, of 20 classes, half.
ROWS_PER_CLASS = 2

#: Share of the whole budget from which `predict_private` warns of costly rows.
_LARGE_PART = 0.1
#: Multiple of the noise that the warning suggests.
_MORE_NOISE = 4.0
#: Probability of a right label at that noise, from which on it warns.
_SURE = 0.95
#: Number of rows that covers a round of turns.
_ROUND = 64

#: Lead over the other classes, in standard deviations of a count, that noise never takes away.
_CERTAIN = 60.0

#: Factor by which suggested remedies exceed the estimate.
_MARGIN = 1.1


def check_noise(
    make: Callable[[float], Mechanism],
    sigma: float,
    assignment: Assignment,
    n_columns: int,
    n_rows: int,
    n_people: int | None = None,
    *,
    learns: bool,
    n_later: int = 0,
    voters: str = "teachers",
    epsilon_factor: Callable[[float], float],
    withhold: bool = False,
) -> None:
    """Raise BudgetExceededError if the calibrated noise `sigma` would drown even unanimous votes.

    If a student `learns`, many labels that are seldom right may hold as much evidence as a few
    that mostly are. It does not learn from the `n_later` further rows that a reservation pays for.
    `epsilon_factor` is a function of the factor by which noise is to shrink. `withhold` figures of
    a budget whose costs depend on the votes: sigma would tell what is left of it. `n_people` are
    private rows, or owners; None of parties.
    """
    learns_all = learns and not n_later

    def suffices(noise: float) -> bool:
        return is_useful(make(noise), assignment, n_columns, n_rows, learns=learns_all)

    if suffices(sigma):
        if not withhold:
            _warn_drowned_labels(make(sigma), assignment, n_columns, n_rows, n_people)
            if learns:
                class_remedies = partial(
                    _class_remedies, make, sigma, assignment, n_columns, n_rows, epsilon_factor
                )
                _warn_drowned_classes(
                    make(sigma), assignment, n_columns, n_rows, n_people, class_remedies
                )
        return
    teachers, n_paid = _voters_text(assignment, n_people, voters), n_rows + n_later
    if withhold:
        raise BudgetExceededError(
            f"the noise at which {n_paid} rows fit what may be spent would drown them: even if all "
            f"{teachers} agree, a label would hardly win. Nothing was released or spent. The "
            "figures are withheld: accounting is data dependent, so they are themselves sensitive. "
            "Use more teachers, fewer rows or a larger epsilon (mechanism= insists on its noise). "
            "recommend_teachers(...) compares numbers of teachers and rows."
        )
    factor = _noise_factor(suffices, sigma)
    remedies = []
    n_more = math.ceil(assignment.n_teachers * factor)
    mechanism = make(sigma)
    least = least_rows(2 if mechanism.multilabel else n_columns)
    if n_people is None or n_people // n_more >= least:
        remedies.append(f"some {n_more} {voters}")
    # A student learns no more from fewer rows with better labels. The noise is about proportional
    # to the root of their number.
    n_fewer = 0 if learns_all else int(n_paid / factor**2 / _MARGIN)
    if n_fewer:
        of_reservation = f" in all (reservation={n_later})" if n_later else ""
        remedies.append(f"about {n_fewer} rows{of_reservation}")
    remedies.append(f"about {epsilon_factor(factor * _MARGIN):g} times the epsilon")
    if not suffices(sigma / factor):
        remedies = ["a mechanism with a lower threshold"]
    insists = (
        "the student would learn next to nothing, of fewer rows too"
        if learns_all
        else "a student can learn from many labels that are seldom right"
    )
    advice = (
        f" (mechanism={_vote(mechanism, assignment)}sigma={sigma:.4g}) insists: {insists}). "
        "recommend_teachers(...) compares numbers of teachers and rows."
    )
    if voters != "teachers":
        advice = ". Agreement(mechanism=..., parties=...), made without agree, insists."
    raise BudgetExceededError(
        f"the noise at which {n_paid} rows fit what may be spent, sigma={sigma:.4g}, would drown "
        f"them: even if all {teachers} agree, a label would win with probability "
        f"{survival(mechanism, assignment, n_columns, n_rows):.2g} only. Nothing was released or "
        f"spent. Use {', or '.join(remedies)}{advice}"
    )


def warn_costly_rows(
    make: Callable[[float], Mechanism],
    sigma: float,
    assignment: Assignment,
    n_columns: int,
    n_rows: int,
    share: float,
) -> None:
    """Warn, before it is paid, of rows whose labels would be as right at a fraction of the cost.

    `share` is what they take of the whole budget. A multiple of the noise divides it by the square.
    """
    if share < _LARGE_PART:
        return
    plentiful = make(_MORE_NOISE * sigma)
    probability = survival(plentiful, assignment, n_columns, n_rows)
    if probability is None or probability < _SURE:
        return
    warn(
        f"predict_private takes {share:.0%} of the whole budget for {n_rows:,} row(s): all that "
        "the fit may spend, as no amount of noise is given. With "
        f"{_MORE_NOISE:g} times the noise they take some {share / _MORE_NOISE**2:.1%}, and a label "
        f"on which all {assignment.n_teachers} teachers agree is still right with probability "
        f"{probability:.3g}. Pass mechanism={_vote(plentiful, assignment)}sigma="
        f"{_MORE_NOISE * sigma:.4g}), or, if more rows follow, reservation=n, the number of all "
        "rows, which are paid for together."
    )


def _vote(mechanism: Mechanism, assignment: Assignment) -> str:
    """Return the beginning of the default mechanism's call."""
    return f"BinaryVoting(n_votes={assignment.n_equal}, " if mechanism.multilabel else "GNMax("


def _noise_factor(suffices: Callable[[float], bool], sigma: float) -> float:
    """Return the factor by which noise has to shrink until it suffices."""
    low, high = 0.0, 1.0
    while high - low > 1e-3:
        share = (low + high) / 2
        low, high = (share, high) if suffices(sigma * share) else (low, share)
    return 1 / max(low, 1e-3)


def warn_noise(
    mechanism: Mechanism,
    assignment: Assignment,
    n_columns: int,
    n_rows: int,
    n_people: int | None = None,
    *,
    learns: bool,
    n_later: int = 0,
    voters: str = "teachers",
) -> None:
    """Warn of a mechanism, passed as a parameter, that drowns even unanimous votes."""
    if is_useful(mechanism, assignment, n_columns, n_rows, learns=learns and not n_later):
        _warn_drowned_labels(mechanism, assignment, n_columns, n_rows, n_people)
        if learns:
            remedies = ["less noise", "more teachers"]
            _warn_drowned_classes(
                mechanism, assignment, n_columns, n_rows, n_people, lambda: remedies
            )
    else:
        probability = survival(mechanism, assignment, n_columns, n_rows)
        warn(
            f"mechanism={mechanism!r} would answer, and rightly, with probability "
            f"{probability:.2g} only, even if all {_voters_text(assignment, n_people, voters)} "
            f"agree. Use less noise, a lower threshold if there is one, or more {voters}."
        )


def _warn_drowned_labels(
    mechanism: Mechanism, assignment: Assignment, n_columns: int, n_rows: int, n_people: int | None
) -> None:
    """Warn of several labels whose unanimous votes are drowned, though a student may learn.

    Its evidence is that of unanimous ballots, and ballots on several labels seldom are.
    """
    probability = (
        survival(mechanism, assignment, n_columns, n_rows) if mechanism.multilabel else None
    )
    if probability is not None and probability < MIN_SURVIVAL:
        warn(
            f"noise drowns the ballots on {n_columns} labels: if all "
            f"{_voters_text(assignment, n_people)} agree, a label is answered rightly with "
            f"probability {probability:.2g} only, and teachers seldom agree on rare labels. A "
            "student may learn little. Use more teachers or a larger epsilon, or "
            "PrivateLogisticRegression, which learns several labels from one ballot a row."
        )


def _warn_drowned_classes(
    mechanism: Mechanism,
    assignment: Assignment,
    n_classes: int,
    n_rows: int,
    n_people: int | None,
    remedies: Callable[[], list[str]],
) -> None:
    """Warn of labels, one class a row, from which a student would learn little."""
    if mechanism.multilabel:
        return
    if n_rows < (least := ROWS_PER_CLASS * n_classes):
        warn(
            f"X_public has {n_rows} row(s), too few for a student to learn {n_classes} classes "
            f"from their labels: give at least {least} (some hundred are better)."
        )
        return
    probability = survival(mechanism, assignment, n_classes, n_rows)
    if not _is_drowned(probability, n_classes, n_rows):
        return
    warn(
        f"a student would learn little of {n_classes} classes from {n_rows:,} noisy labels: even "
        f"if all {_voters_text(assignment, n_people)} agree, a label survives the noise with "
        f"probability {probability:.2g} only. Use PrivateLogisticRegression, which has no teachers "
        f"(for tables), or {', or '.join(remedies())}."
    )


def _is_drowned(probability: float | None, n_classes: int, n_rows: int) -> bool:
    """Return True if the labels of unanimous votes are too seldom right for so many classes."""
    if probability is None or probability >= MIN_SURVIVAL:
        return False
    return class_signal(probability, n_classes, n_rows) < MIN_CLASS_SIGNAL


def _class_remedies(
    make: Callable[[float], Mechanism],
    sigma: float,
    assignment: Assignment,
    n_classes: int,
    n_rows: int,
    epsilon_factor: Callable[[float], float],
) -> list[str]:
    """Return the numbers at which unanimous votes would no longer be drowned."""

    def suffices(noise: float, n_rows: int) -> bool:
        return not _is_drowned(
            survival(make(noise), assignment, n_classes, n_rows), n_classes, n_rows
        )

    factor = _noise_factor(partial(suffices, n_rows=n_rows), sigma)
    remedies = [f"about {epsilon_factor(factor * _MARGIN):g} times the epsilon"]
    # Noise falls with the root of the number of rows, and labels of many classes are right far
    # more often then.
    n_fewer = n_rows // 2
    while n_fewer >= ROWS_PER_CLASS * n_classes:
        if suffices(sigma * math.sqrt(n_fewer / n_rows), n_fewer):
            return [f"fewer public rows (about {n_fewer}, drawn at random)", *remedies]
        n_fewer //= 2
    return remedies


def class_signal(probability: float, n_classes: int, n_rows: int) -> float:
    """Return the excess of right labels over chance, times the root of the rows of a class.

    At equal signals students learn about as much, whatever the number of classes.
    """
    return (probability - 1 / n_classes) * math.sqrt(n_rows / n_classes)


def is_useful(
    mechanism: Mechanism, assignment: Assignment, n_columns: int, n_rows: int, *, learns: bool
) -> bool:
    """Return True if unanimous votes survive or teach a student enough; also if unknown."""
    probability = survival(mechanism, assignment, n_columns, n_rows)
    if probability is None or probability >= MIN_SURVIVAL:
        return True
    chance = 1 / 2 if mechanism.multilabel else 1 / n_columns
    return learns and evidence(probability, n_rows, chance) >= MIN_EVIDENCE


def evidence(probability: float, n_rows: int, chance: float) -> float:
    """Return the distance of a pool of unanimous votes from chance, in standard deviations.

    For two classes it is the number of ballots over the noise on their difference, times the root
    of the number of rows. If noise is calibrated to all rows, it does not depend on their number.
    """
    return float(math.sqrt(n_rows) * (ndtri(min(probability, 1 - 1e-16)) - ndtri(chance)))


def survival(
    mechanism: Mechanism, assignment: Assignment, n_columns: int, n_rows: int
) -> float | None:
    """Compute the probability that a unanimous vote is answered correctly; None if unknown.

    It is exact. All ballots are on one class, or call all labels absent: then it is the probability
    of the first label, or of all if they are voted on together. Where ballots are clipped to less
    than one label, it is that of a label which all ballots name.
    """
    counts, per_label = _unanimous_counts(mechanism, assignment, n_columns, min(n_rows, _ROUND))
    law, state = next(iter(mechanism.laws(n_columns).values())), mechanism.state(counts)
    if not state:
        return _stable_set_probability(law, assignment.n_equal)
    answered = np.ones(len(counts))
    for step in law[: len(law) // n_columns] if per_label else law:
        probability = _correct_probability(step.move, step, state[step.name])
        if probability is None:
            return None
        answered *= probability
    return float(answered.min())


def expected_survival(
    mechanism: Mechanism, assignment: Assignment, n_columns: int, n_rows: int, n_people: int | None
) -> str:
    """Describe the probability that unanimous votes survive the noise; "" if it is unknown."""
    probability = survival(mechanism, assignment, n_columns, n_rows)
    if probability is None:
        return ""
    return (
        f"If all {_voters_text(assignment, n_people)} agree, a label survives the noise with "
        f"probability {probability:.2f}. How often teachers agree, and are right, is not known "
        "beforehand."
    )


def _voters_text(assignment: Assignment, n_people: int | None, voters: str = "teachers") -> str:
    text = f"{assignment.n_teachers:,} {voters}"
    if n_people is None:
        return text
    return f"{text} (of {assignment.rows_per_teacher(n_people):,} rows)"


@singledispatch
def _correct_probability(move: Move, step: Step, state: NDArray[Any]) -> NDArray[np.float64] | None:
    """Compute the probability that a move answers unanimous votes correctly; None if unknown."""
    return None


@_correct_probability.register
def _(move: ConfidentMax, step: Step, state: NDArray[Any]) -> NDArray[np.float64] | None:
    return np.exp(move.outcomes(np.diff(-state)[:, 0])[:, 1])


@_correct_probability.register
def _(move: NoisyMax, step: Step, state: NDArray[Any]) -> NDArray[np.float64] | None:
    # The same but for rounding, on a grid that is no finer than it has to be.
    state = np.minimum(state, _CERTAIN * move.sigma)
    if move.n_classes is None or move.n_classes <= state.shape[1]:
        return np.exp(max_log_probabilities(state, move.sigma)[:, 0])
    # Only classes with votes are listed: there are very many.
    logs = [
        level_quadrature(votes, move.n_classes, move.sigma, 0.0).log_probabilities()[-1]
        for votes in state
    ]
    return np.exp(logs)


@_correct_probability.register
def _(move: ClippedBits, step: Step, state: NDArray[Any]) -> NDArray[np.float64] | None:
    lead = state[:, 0]
    if step.name != "threshold":
        # Lead of a label that all ballots name, and no other, as a share of all votes.
        lead = -lead * (2 * min(1.0, move.tau) - 1)
    return np.asarray(ndtr(lead / (math.sqrt(2) * move.sigma)))


@_correct_probability.register
def _(move: NoisyBit, step: Step, state: NDArray[Any]) -> NDArray[np.float64] | None:
    return np.asarray(ndtr(state / move.scale)) if step.times == 1 else None


@_correct_probability.register
def _(move: StableTest, step: Step, state: NDArray[Any]) -> NDArray[np.float64] | None:
    # The state is the number of ballots, all on one set.
    return np.asarray(ndtr((state - move.shift) / move.scale + ndtri(step.delta)))


def _stable_set_probability(law: Law, n_votes: float) -> float | None:
    """Return the probability that a stability test releases a unanimous set; None if unknown."""
    probabilities = [_correct_probability(step.move, step, np.array(n_votes)) for step in law]
    tests = [float(probability) for probability in probabilities if probability is not None]
    if len(tests) != 1 or any(step.name == "draws" for step in law):
        return None
    return tests[0]


def _unanimous_counts(
    mechanism: Mechanism, assignment: Assignment, n_columns: int, n_rows: int
) -> tuple[Any, bool]:
    """Return counts of unanimous rows, and whether the law has separate steps for each label."""
    counting = mechanism.counting(n_columns)
    shape = (n_rows, n_columns) if mechanism.multilabel else n_rows
    ballots = np.zeros(shape, dtype=np.intp)
    votes = {}
    for group, n_teachers in zip(*np.unique(assignment.groups, return_counts=True), strict=True):
        votes[group] = counting.begin(ballots, n_teachers)
        for _ in range(n_teachers - 1):
            votes[group] = counting.add(votes[group], ballots)
    counts = assignment.add_up(votes, mechanism, counting)
    if counts.dtype.names is not None:
        return counts, False
    return np.unique(counts.astype(float), axis=0), isinstance(counting, CountLabels)
