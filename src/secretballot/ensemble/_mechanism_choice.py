"""What votes are released with: it charges for whole ballots, and leaves something of a vote."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from secretballot._errors import BudgetExceededError, warn
from secretballot.divergences import (
    GAUSSIAN,
    ConfidentMax,
    NoisyBit,
    NoisyMax,
    level_cost,
    max_log_probabilities,
)
from secretballot.ensemble.individual import Plan
from secretballot.ledger import LevelBudget
from secretballot.mechanisms import ConfidentGNMax, Mechanism

#: How often a unanimous vote must win for votes to be worth what they cost.
WORTH_ASKING = 0.75

#: The order at which charges are compared where the budget has none.
_SOME_ORDER = 2.0

#: Rows after which turns have come round.
_ROUND = 64

_ABOUT = 1.1


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
    if getattr(mechanism, "multilabel", False):
        raise ValueError(
            f"mechanism={mechanism!r} votes on sets of labels, and every row has one class; use "
            "one that releases a class, such as GNMax."
        )
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
    raise BudgetExceededError(
        f"the noise at which {n_rows} rows fit what may be spent, sigma={sigma:.4g}, would drown "
        f"them: even a vote on which all {plan.n_teachers} teachers agree would win with "
        f"probability {survives:.2g} only. Nothing was released or spent. Use some "
        f"{math.ceil(plan.n_teachers * times)} teachers, {rows}or about {dearer:.2g} times the "
        f"epsilon (mechanism=GNMax(sigma={sigma:.4g}) insists)."
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

    Exact: what the law of a row says of a vote with all ballots on one class.
    """
    if not hasattr(mechanism, "laws"):
        return None
    votes = {
        group: np.eye(1, n_columns, dtype=int).repeat(min(n_rows, _ROUND), axis=0) * n_teachers
        for group, n_teachers in zip(*np.unique(plan.groups, return_counts=True), strict=True)
    }
    counts = np.unique(np.asarray(plan.add_up(votes, mechanism), dtype=float), axis=0)
    law, state = next(iter(mechanism.laws(n_columns).values())), mechanism.state(counts)
    answered = np.ones(len(counts))
    for step in law:
        if isinstance(step.move, ConfidentMax):
            answered *= np.exp(step.move.outcomes(np.diff(-state[step.name])[:, 0])[:, 1])
        elif isinstance(step.move, NoisyMax):
            answered *= np.exp(max_log_probabilities(state[step.name], step.move.sigma)[:, 0])
        elif isinstance(step.move, NoisyBit) and step.times == 1:
            answered *= ndtr(state[step.name] / step.move.scale)
        else:
            return None
    return float(answered.min())
