"""What votes are released with: it charges for whole ballots, and leaves something of a vote."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from secretballot._errors import BudgetExceededError, warn
from secretballot.divergences import (
    GAUSSIAN,
    ClippedBits,
    ConfidentMax,
    Law,
    NoisyBit,
    NoisyMax,
    StableTest,
    level_cost,
    level_quadrature,
    max_log_probabilities,
)
from secretballot.ensemble._parts import is_parties
from secretballot.ensemble._target import Target
from secretballot.ensemble.individual import Plan
from secretballot.ledger import LevelBudget
from secretballot.mechanisms import (
    ConfidentGNMax,
    CountClasses,
    Counting,
    CountLabels,
    Mechanism,
    TauVoting,
    warn_unclipped,
)

#: How often a unanimous vote must win for votes to be worth what they cost.
WORTH_ASKING = 0.75

#: The order at which charges are compared where the budget has none.
_SOME_ORDER = 2.0

#: Rows after which turns have come round.
_ROUND = 64

_ABOUT = 1.1


def check_asked(mechanism: Any, target: Target, plan: Plan) -> None:
    """Refuse a mechanism that answers another question, or counts on another number of ballots."""
    labels = getattr(mechanism, "multilabel", False)
    if labels and not target.multilabel:
        raise ValueError(
            f"mechanism={mechanism!r} votes on sets of labels, and every row has one class; use "
            "one that releases a class, such as GNMax."
        )
    if target.multilabel and not labels:
        raise ValueError(
            f"mechanism={mechanism!r} releases one class a row, and rows have labels; use one "
            "that releases labels, such as BinaryVoting, or None."
        )
    if not labels:
        return
    counting = getattr(mechanism, "counting", None)
    if counting is not None:
        counting(target.n_columns)  # as many labels as it was made for
    if isinstance(mechanism, TauVoting):
        warn_unclipped(target.n_columns, mechanism.tau, mechanism.norm)
    # Also where it is made of another one: counts that don't fit would be an error nobody paid for.
    asked = getattr(mechanism, "mechanism", mechanism)
    max_items = getattr(asked, "max_items", None)
    if max_items is not None and max_items < target.n_columns:
        raise ValueError(
            f"mechanism={mechanism!r} counts on ballots with max_items={max_items} labels, and a "
            f"teacher may name all {target.n_columns}; give it their number."
        )
    n_votes = getattr(asked, "n_votes", None)
    if n_votes is not None and n_votes != plan.n_equal:
        raise ValueError(
            f"mechanism={mechanism!r} counts on n_votes={n_votes:g} ballots, and n_teachers="
            f"{plan.n_equal} cast them; give it their number."
        )


def check_probabilities(mechanism: Any, counting: Counting, estimator: Any) -> None:
    """Refuse to ask for probabilities where there are none: votes would be cast by rule.

    Teachers that saw one set of labels have them nevertheless, so that something may be answered.
    """
    if counting.ballot_threshold is None:
        return
    for each in estimator if is_parties(estimator) else [estimator]:
        if not hasattr(each, "predict_proba"):
            raise ValueError(
                f"mechanism={mechanism!r} cuts probabilities (ballot_threshold), and estimator="
                f"{each!r} has no predict_proba; use one that has, or leave ballot_threshold out."
            )


def check_charges(
    mechanism: Any, levels: Sequence[LevelBudget], n_columns: int, n_rows: int
) -> None:
    """Refuse a mechanism that charges anybody for less than one ballot on every row.

    What is compared is the charge, not the parameters that lead to it: each level has to pay at
    least what the dearest does for plain ballots.

    Parameters
    ----------
    mechanism : mechanism
        As it was given by hand: all teachers are to vote on all rows with ballots that count 1.
        What individual budgets make of it is theirs to say.
    levels : sequence of LevelBudget
        Who has to pay.
    n_columns, n_rows : int
        Classes that are voted on, and rows.
    """
    if getattr(mechanism, "rows", "sequential") != "sequential":
        raise ValueError(
            f"mechanism={mechanism!r} charges for rows of different people, but every teacher "
            "votes on every row; use one that answers queries, such as GNMax."
        )
    for group, there in mechanism.participation(n_rows).items():
        if not np.all(there):
            raise ValueError(
                f"mechanism={mechanism!r} lets {group!r} pay for a part of the rows, but every "
                "teacher votes on every row. Turns are what individualization=Vanishing() makes."
            )
    plain = mechanism
    if isinstance(mechanism, Mechanism):
        # As it is defined for all: a subclass has no say in what a plain ballot is.
        plain = Mechanism.for_plain_ballots(mechanism)
    for level in levels:
        order = _SOME_ORDER if level.order in (math.inf, GAUSSIAN) else level.order
        charged = level_cost(mechanism.max_cost(n_columns, order=order), level.name, order)
        for needed in plain.max_cost(n_columns, order=order).values():
            # Room for rounding only.
            short = charged.at(order) < needed.at(order) * (1 - 1e-9)
            if short or charged.delta < needed.delta * (1 - 1e-9):
                raise ValueError(
                    f"mechanism={mechanism!r} charges {level.name!r} less than a ballot that "
                    "counts 1 costs, but every teacher's does: a weight below 1, or a level left "
                    "out? Use weight=1, and ballots=1."
                )


def with_public_votes(mechanism: Any, plan: Plan, n_columns: int) -> Any:
    """Return a mechanism with a threshold that knows how many votes there are, weighted or not.

    With two classes that makes it cheaper: no row passes more rarely than a tied one. (Where
    ballots take turns, rows differ in it.)
    """
    if isinstance(mechanism, ConfidentGNMax) and mechanism.n_votes is None and n_columns == 2:
        return replace(mechanism, n_votes=float(plan.n_teachers))
    return mechanism


def check_noise(
    make: Callable[[float], Any], sigma: float, plan: Plan, n_columns: int, n_rows: int
) -> None:
    """Raise BudgetExceededError if calibrated noise would drown even a unanimous vote.

    Parameters
    ----------
    make : callable
        From an amount of noise to the mechanism.
    sigma : float
        The noise at which the rows fit what is left of the budget.
    """
    survives = survival(make(sigma), plan, n_columns, n_rows)
    if survives is None or survives >= WORTH_ASKING:
        return
    # By how much the noise is too large for the ballots. It is about in proportion to the root of
    # the rows, and to 1 / epsilon; a tenth more is to make up for the "about".
    low, high = 0.0, 1.0
    while high - low > 1e-3:
        share = (low + high) / 2
        enough = (survival(make(sigma * share), plan, n_columns, n_rows) or 0) >= WORTH_ASKING
        low, high = (share, high) if enough else (low, share)
    times = 1 / max(low, 1e-3)
    fewer, dearer = int(n_rows / times**2 / _ABOUT), times * _ABOUT
    rows = f"about {fewer} rows, " if fewer else ""
    labels = getattr(make(sigma), "multilabel", False)
    given = f"BinaryVoting(n_votes={plan.n_equal}, " if labels else "GNMax("
    raise BudgetExceededError(
        f"the noise at which {n_rows} rows fit what may be spent, sigma={sigma:.4g}, would drown "
        f"them: even a vote on which all {plan.n_teachers} teachers agree would win with "
        f"probability {survives:.2g} only. Nothing was released or spent. Use some "
        f"{math.ceil(plan.n_teachers * times)} teachers, {rows}or about {dearer:.2g} times the "
        f"epsilon (mechanism={given}sigma={sigma:.4g}) insists: "
        "a student can learn from many labels that are seldom right)."
    )


def warn_noise(mechanism: Any, plan: Plan, n_columns: int, n_rows: int) -> None:
    """Warn of a mechanism that was insisted on and drowns even a unanimous vote."""
    survives = survival(mechanism, plan, n_columns, n_rows)
    if survives is not None and survives < WORTH_ASKING:
        warn(
            f"mechanism={mechanism!r} would answer even a vote on which all {plan.n_teachers} "
            f"teachers agree, and rightly, with probability {survives:.2g} only. Use less noise, "
            "a lower threshold if there is one, or more teachers."
        )


def survival(mechanism: Any, plan: Plan, n_columns: int, n_rows: int) -> float | None:
    """Return how likely a unanimous vote is answered, and rightly; None for other mechanisms.

    Exact: what the law of a row says of a vote with all ballots on one class, or of a vote on
    labels that all ballots call absent: the first of them, or all if they are voted on together.
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
            ahead = votes[:, 0] if step.name == "threshold" else -votes[:, 0]
            answered *= ndtr(ahead / (math.sqrt(2) * step.move.sigma))
        elif isinstance(step.move, NoisyBit) and step.times == 1:
            answered *= ndtr(votes / step.move.scale)
        else:
            return None
    return float(answered.min())


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


def _wins(votes: NDArray[Any], move: NoisyMax) -> NDArray[np.float64]:
    """Return how likely the most voted class wins among very many without votes."""
    assert move.n_classes is not None
    return np.array(
        [
            math.exp(level_quadrature(row, move.n_classes, move.sigma, 0.0).unchanged()[-1])
            for row in votes
        ]
    )
