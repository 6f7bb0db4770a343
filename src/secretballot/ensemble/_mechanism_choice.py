"""What votes are released with: it answers what is asked, and charges for whole ballots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from secretballot._sklearn_compat import _num_samples
from secretballot.accounting import Reservation
from secretballot.divergences import GAUSSIAN, level_cost
from secretballot.ensemble._parts import is_parties
from secretballot.ensemble._target import Target
from secretballot.ensemble.advice import usual_n_teachers
from secretballot.ensemble.individual import Plan
from secretballot.ledger import LevelBudget
from secretballot.mechanisms import (
    BinaryVoting,
    ConfidentGNMax,
    Counting,
    GNMax,
    Mechanism,
    TauVoting,
    warn_unclipped,
)

#: The order at which charges are compared where the budget has none.
_SOME_ORDER = 2.0


def chosen_n_teachers(ensemble: Any, n_people: int, X_public: Any, target: Target) -> int:
    """Return the number of teachers; None is chosen by the noise on the labels of the pool.

    From public numbers alone: rows or owners, rows of the pool, classes, what may be spent.
    """
    if ensemble.n_teachers is not None:
        return int(ensemble.n_teachers)
    if X_public is None or ensemble.accountant is None:
        raise ValueError(
            "n_teachers=None is chosen by the noise on the labels of X_public; pass X_public and "
            "an accountant, or a number of teachers (such as 100)."
        )
    n_rows, later = _num_samples(X_public), ensemble.reservation
    mechanism = later.mechanism if isinstance(later, Reservation) else None
    if (mechanism := ensemble.mechanism or mechanism) is None:

        def plain(sigma: float) -> Any:
            return BinaryVoting(sigma=sigma, n_votes=1) if target.multilabel else GNMax(sigma=sigma)

        mechanism = ensemble.accountant.calibrate(
            plain,
            n_queries=int(n_rows + (later or 0)),
            n_columns=target.n_columns,
            scope=ensemble.accountant.scope(ensemble.epsilon),
        )
    if not hasattr(mechanism, "sigma"):
        raise ValueError(
            f"n_teachers=None is chosen by the noise on votes, and mechanism={mechanism!r} has no "
            "sigma; give the number of teachers."
        )
    return usual_n_teachers(n_people, n_rows, mechanism.sigma)


def check_votes_on(mechanism: Any, target: Target) -> None:
    """Refuse a mechanism that answers another question."""
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


def check_asked(mechanism: Any, target: Target, plan: Plan) -> None:
    """Refuse a mechanism that answers another question, or counts on another number of ballots."""
    check_votes_on(mechanism, target)
    asked = getattr(mechanism, "mechanism", mechanism)
    n_votes = getattr(asked, "n_votes", None) if getattr(mechanism, "multilabel", False) else None
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
