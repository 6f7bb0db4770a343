"""Whether noise leaves anything of a vote, or of many votes together."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from secretballot._errors import BudgetExceededError, warn
from secretballot.divergences import (
    ClippedBits,
    ConfidentMax,
    Law,
    NoisyBit,
    NoisyMax,
    StableTest,
    level_quadrature,
    max_log_probabilities,
)
from secretballot.ensemble.individual import Plan
from secretballot.mechanisms import (
    BinaryVoting,
    ConfidentGNMax,
    CountClasses,
    CountLabels,
    GNMax,
)

#: How often a unanimous vote must win for votes to be worth what they cost.
WORTH_ASKING = 0.75

#: The `evidence` that a student needs to learn anything. On Adult, students that had less were
#: right less often than who always names the frequent class (benchmarks/equal_epsilon/students.py).
WORTH_LEARNING = 6.0

#: Rows after which turns have come round.
_ROUND = 64

_ABOUT = 1.1


def check_noise(
    make: Callable[[float], Any],
    sigma: float,
    plan: Plan,
    n_columns: int,
    n_rows: int,
    *,
    learns: bool,
) -> None:
    """Raise BudgetExceededError if calibrated noise would drown even unanimous votes.

    Parameters
    ----------
    make : callable
        From an amount of noise to the mechanism.
    sigma : float
        The noise at which the rows fit what is left of the budget.
    learns : bool
        Whether a student learns from all rows: to it, many labels that are seldom right may say
        as much as a few that mostly are.
    """

    def enough(noise: float) -> bool:
        return worth_asking(make(noise), plan, n_columns, n_rows, learns=learns)

    if enough(sigma):
        return
    # By how much the noise is too large for the ballots. It is about in proportion to the root of
    # the rows, and to 1 / epsilon; a tenth more is to make up for the "about".
    low, high = 0.0, 1.0
    while high - low > 1e-3:
        share = (low + high) / 2
        low, high = (share, high) if enough(sigma * share) else (low, share)
    times = 1 / max(low, 1e-3)
    dearer = times * _ABOUT
    # Fewer rows have better labels, which are no news to a student: the pool says as much.
    fewer = 0 if learns else int(n_rows / times**2 / _ABOUT)
    rows = f"about {fewer} rows, " if fewer else ""
    labels = getattr(make(sigma), "multilabel", False)
    given = f"BinaryVoting(n_votes={plan.n_equal}, " if labels else "GNMax("
    insists = (
        "the student would learn next to nothing, of fewer rows too"
        if learns
        else "a student can learn from many labels that are seldom right"
    )
    raise BudgetExceededError(
        f"the noise at which {n_rows} rows fit what may be spent, sigma={sigma:.4g}, would drown "
        f"them: even a vote on which all {plan.n_teachers} teachers agree would win with "
        f"probability {survival(make(sigma), plan, n_columns, n_rows):.2g} only. Nothing was "
        f"released or spent. Use some {math.ceil(plan.n_teachers * times)} teachers, {rows}or "
        f"about {dearer:.2g} times the epsilon (mechanism={given}sigma={sigma:.4g}) insists: "
        f"{insists}). recommend_teachers(...) compares numbers of teachers and rows."
    )


def warn_noise(mechanism: Any, plan: Plan, n_columns: int, n_rows: int, *, learns: bool) -> None:
    """Warn of a mechanism that was insisted on and drowns even unanimous votes."""
    if not worth_asking(mechanism, plan, n_columns, n_rows, learns=learns):
        survives = survival(mechanism, plan, n_columns, n_rows)
        warn(
            f"mechanism={mechanism!r} would answer even a vote on which all {plan.n_teachers} "
            f"teachers agree, and rightly, with probability {survives:.2g} only. Use less noise, "
            "a lower threshold if there is one, or more teachers."
        )


def worth_asking(mechanism: Any, plan: Plan, n_columns: int, n_rows: int, *, learns: bool) -> bool:
    """Whether unanimous votes survive: one, or for a student what they say together.

    True also where a mechanism doesn't say.
    """
    survives = survival(mechanism, plan, n_columns, n_rows)
    if survives is None or survives >= WORTH_ASKING:
        return True
    chance = 1 / 2 if getattr(mechanism, "multilabel", False) else 1 / n_columns
    return learns and evidence(survives, n_rows, chance) >= WORTH_LEARNING


def evidence(survives: float, n_rows: int, chance: float) -> float:
    """Return how far a pool of unanimous votes is from chance, in standard deviations of noise.

    Of two classes: the ballots over the noise on their difference, times the root of the rows.
    With noise for all rows that doesn't depend on how many rows there are.
    """
    return float(math.sqrt(n_rows) * (ndtri(min(survives, 1 - 1e-16)) - ndtri(chance)))


def survival(mechanism: Any, plan: Plan, n_columns: int, n_rows: int) -> float | None:
    """Return how likely a unanimous vote is answered, and rightly; None for other mechanisms.

    Exact: what the law of a row says of a vote with all ballots on one class, or of a vote on
    labels that all ballots call absent: the first of them, or all if they are voted on together.
    Where ballots are clipped to less than one label: of one that all name.
    """
    if not hasattr(mechanism, "laws"):
        return None
    counts, each_label = _unanimous(mechanism, plan, n_columns, min(n_rows, _ROUND))
    law, state = next(iter(mechanism.laws(n_columns).values())), mechanism.state(counts)
    if not state:
        return _stable(law, plan)
    answered = np.ones(len(counts))
    for step in law[: len(law) // n_columns] if each_label else law:
        votes = state[step.name]
        if isinstance(step.move, ConfidentMax):
            answered *= np.exp(step.move.outcomes(np.diff(-votes)[:, 0])[:, 1])
        elif isinstance(step.move, NoisyMax) and (step.move.n_classes or 0) > votes.shape[1]:
            answered *= _wins(votes, step.move)
        elif isinstance(step.move, NoisyMax):
            answered *= np.exp(max_log_probabilities(votes, step.move.sigma)[:, 0])
        elif isinstance(step.move, ClippedBits):
            ahead = votes[:, 0] if step.name == "threshold" else -votes[:, 0] * _named(step.move)
            answered *= ndtr(ahead / (math.sqrt(2) * step.move.sigma))
        elif isinstance(step.move, NoisyBit) and step.times == 1:
            answered *= ndtr(votes / step.move.scale)
        else:
            return None
    return float(answered.min())


def vote_noise(mechanism: Any, plan: Plan, n_columns: int, n_rows: int) -> float | None:
    """Return the noise on the votes of a class as a share of all ballots; None for other votes.

    Of a label: for its presence and absence alike. Where ballots take turns, on average.
    """
    asked = getattr(mechanism, "mechanism", mechanism)
    if isinstance(asked, BinaryVoting):
        return float(asked.sigma / asked.n_votes)
    if not isinstance(asked, GNMax | ConfidentGNMax):
        return None
    counts, _ = _unanimous(mechanism, plan, n_columns, min(n_rows, _ROUND))
    return float(asked.sigma / counts.sum(axis=1).mean())


def _stable(law: Law, plan: Plan) -> float | None:
    """Return how likely a set that all ballots name is released; None where it may be filled up."""
    tests = [step for step in law if isinstance(step.move, StableTest)]
    if len(tests) != 1 or any(step.name == "draws" for step in law):
        return None
    (step,) = tests
    assert isinstance(step.move, StableTest)
    gap = (plan.n_equal - step.move.shift) / step.move.scale
    return float(ndtr(gap + ndtri(step.delta)))


def _unanimous(mechanism: Any, plan: Plan, n_columns: int, n_rows: int) -> tuple[Any, bool]:
    """Return counts of unanimous rows, and whether the law has steps of its own for each label."""
    labels = getattr(mechanism, "multilabel", False)
    counting = mechanism.counting(n_columns) if labels else CountClasses(n_classes=n_columns)
    ballots = np.zeros((n_rows, n_columns) if labels else n_rows, dtype=np.intp)
    votes = {}
    for group, n_teachers in zip(*np.unique(plan.groups, return_counts=True), strict=True):
        votes[group] = counting.begin(ballots, n_teachers)
        for _ in range(n_teachers - 1):
            votes[group] = counting.add(votes[group], ballots)
    counts = plan.add_up(votes, mechanism, counting)
    if counts.dtype.names is not None:
        return counts, False
    return np.unique(counts.astype(float), axis=0), isinstance(counting, CountLabels)


def _named(move: ClippedBits) -> float:
    """Return the gap of a label that all ballots name, and no other, as a share of all votes."""
    return 2 * min(1.0, move.tau) - 1


def _wins(votes: NDArray[Any], move: NoisyMax) -> NDArray[np.float64]:
    """Return how likely the most voted class wins among very many without votes."""
    assert move.n_classes is not None
    return np.array(
        [
            math.exp(level_quadrature(row, move.n_classes, move.sigma, 0.0).log_probabilities()[-1])
            for row in votes
        ]
    )
