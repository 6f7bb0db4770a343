"""Choice of a mechanism, and checks of one that was passed as a parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from secretballot._base._sklearn_compat import _num_samples
from secretballot.accounting._reservations import Reservation
from secretballot.costs._groups import level_cost
from secretballot.costs._orders import GAUSSIAN
from secretballot.ensemble._estimator_types import Learner, Rows, Teacher
from secretballot.ensemble._learners import learners_of
from secretballot.ensemble._target import Target
from secretballot.ensemble.advice import fallback_n_teachers, recommended_n_teachers
from secretballot.ensemble.individual import Assignment
from secretballot.ledger._budget import LevelBudget
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._counting import Counting
from secretballot.mechanisms._label_voting import BinaryVoting
from secretballot.mechanisms._noisy_counts import NoisyNumbers, VectorSum
from secretballot.mechanisms._noisy_max import GNMax

if TYPE_CHECKING:
    from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble

#: Renyi order at which charges are compared where the budget has none.
_DEFAULT_ORDER = 2.0


def default_vote(target: Target, sigma: float, n_votes: float) -> GNMax | BinaryVoting:
    """Return the mechanism for ``mechanism=None``, with some noise."""
    if target.multilabel:
        return BinaryVoting(sigma=sigma, n_votes=n_votes)
    return GNMax(sigma=sigma)


def choose_n_teachers(
    ensemble: PrivateTeacherEnsemble, n_people: int, X_public: Rows | None, target: Target
) -> int:
    """Return ``n_teachers``; None is chosen from public numbers. See `choose_assignment`."""
    if ensemble.n_teachers is not None:
        return int(ensemble.n_teachers)
    if X_public is None or ensemble.accountant is None:
        return fallback_n_teachers(n_people)
    n_rows, mechanism = _num_samples(X_public), ensemble.mechanism
    if isinstance(ensemble.reservation, Reservation):
        n_later, mechanism = 0, mechanism or cast("Mechanism", ensemble.reservation.mechanism)
    else:
        n_later = ensemble.reservation or 0
    if mechanism is None:
        mechanism = ensemble.accountant.calibrate(
            lambda sigma: default_vote(target, sigma, n_votes=1),
            n_rows=int(n_rows + n_later),
            n_columns=target.n_columns,
            scope=ensemble.accountant.scope(ensemble.epsilon),
        )
    sigma = mechanism.count_noise
    if sigma is None:
        return fallback_n_teachers(n_people, target.n_classes)
    return recommended_n_teachers(n_people, n_rows, sigma, target.n_classes)


def check_votes_on(mechanism: Mechanism, target: Target) -> None:
    if isinstance(mechanism, NoisyNumbers | VectorSum):
        raise ValueError(
            f"mechanism={mechanism!r} releases numbers, and a vote a class, or labels; use one "
            "that does, such as GNMax or BinaryVoting, or None."
        )
    if mechanism.multilabel and not target.multilabel:
        raise ValueError(
            f"mechanism={mechanism!r} votes on sets of labels, and every row has one class; use "
            "one that releases a class, such as GNMax."
        )
    if target.multilabel and not mechanism.multilabel:
        raise ValueError(
            f"mechanism={mechanism!r} releases one class a row, and rows have labels; use one "
            "that releases labels, such as BinaryVoting, or None."
        )
    if target.multilabel:
        mechanism.check_n_labels(target.n_columns)


def check_mechanism(
    mechanism: Mechanism,
    target: Target,
    assignment: Assignment,
    counting: Counting,
    estimator: Learner | Sequence[Teacher],
) -> None:
    check_votes_on(mechanism, target)
    if mechanism.expected_votes not in (None, assignment.n_equal):
        raise ValueError(
            f"mechanism={mechanism!r} counts on n_votes={mechanism.expected_votes:g} ballots, and "
            f"n_teachers={assignment.n_equal} cast them; give it their number."
        )
    if counting.ballot_threshold is None:
        return
    # Without probabilities all votes would be cast by rule. (Teachers that saw one set of labels
    # have them nevertheless, so that something may be answered.)
    for teacher in learners_of(estimator):
        if not hasattr(teacher, "predict_proba"):
            raise ValueError(
                f"mechanism={mechanism!r} cuts probabilities (ballot_threshold), and estimator="
                f"{teacher!r} has no predict_proba; use one that has, or leave ballot_threshold "
                "out."
            )


def check_charges(
    mechanism: Mechanism, levels: Sequence[LevelBudget], n_columns: int, n_rows: int
) -> None:
    """Refuse a mechanism that charges anybody for less than one ballot on every row.

    Charges are compared, not the parameters behind them: each level has to pay at least what the
    most expensive level pays for plain ballots. Individual budgets adapt the mechanism later.
    """
    if mechanism.rows != "sequential":
        raise ValueError(
            f"mechanism={mechanism!r} charges for rows of different people, but every teacher "
            "votes on every row; use one that answers queries, such as GNMax."
        )
    for group, takes_part in mechanism.participation(n_rows).items():
        if not np.all(takes_part):
            raise ValueError(
                f"mechanism={mechanism!r} lets {group!r} pay for a part of the rows, but every "
                "teacher votes on every row. Turns are what individualization=Vanishing() makes."
            )
    # The method of the base class: a subclass could call a light ballot plain.
    plain = Mechanism.for_plain_ballots(mechanism)
    for level in levels:
        order = _DEFAULT_ORDER if level.order in (math.inf, GAUSSIAN) else level.order
        charge = level_cost(mechanism.max_cost(n_columns, order=order), level.name, order)
        for least in plain.max_cost(n_columns, order=order).values():
            # The factor leaves room for rounding.
            too_small = charge.at(order) < least.at(order) * (1 - 1e-9)
            if too_small or charge.delta < least.delta * (1 - 1e-9):
                raise ValueError(
                    f"mechanism={mechanism!r} charges {level.name!r} less than a ballot that "
                    "counts 1 costs, but every teacher's does: a weight below 1, or a level left "
                    "out? Use weight=1, and ballots=1."
                )
