"""Laws of outcomes that can be enumerated, and the exact figures of two neighbouring ones."""

from __future__ import annotations

from functools import reduce, singledispatch
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, log_softmax

from secretballot.costs._cost import RenyiCost
from secretballot.costs._divergence import renyi_divergence
from secretballot.costs._exact_max import max_log_probabilities
from secretballot.costs._noise import winner_log_probabilities
from secretballot.costs._orders import ORDERS, Floats
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._label_voting import BinaryVoting, TauVoting
from secretballot.mechanisms._noisy_counts import BestOfCounts
from secretballot.mechanisms._noisy_max import ConfidentGNMax, GNMax, SkellamMax
from secretballot.mechanisms._powerset_voting import PowersetVoting

#: Of more labels the outcomes are not enumerated.
_MOST_LABELS = 6
#: Products of more outcomes than this are not enumerated.
_MOST_OUTCOMES = 1_000_000


class OutcomeLaw(NamedTuple):
    """All outcomes of a row as `sample` returns them, and their log probabilities in each row.

    Of shapes (n_outcomes, ...) and (n_rows, n_outcomes).
    """

    outcomes: NDArray[Any]
    log_probabilities: Floats


def outcome_law(mechanism: Mechanism, counts: ArrayLike) -> OutcomeLaw | None:
    """Compute the exact law of each row's outcome; None if it can't be enumerated.

    A mechanism states its law by a method ``outcome_law(counts)``, which returns outcomes and log
    probabilities as `OutcomeLaw` holds them.
    """
    votes, own_law = np.asarray(counts), getattr(mechanism, "outcome_law", None)
    if own_law is not None:
        return OutcomeLaw(*own_law(votes))
    check_counts = getattr(mechanism, "check_counts", None)
    return None if check_counts is None else _law_of(mechanism, check_counts(votes))


@singledispatch
def _law_of(mechanism: Mechanism, votes: NDArray[Any]) -> OutcomeLaw | None:
    return None


@_law_of.register
def _(mechanism: GNMax, votes: Floats) -> OutcomeLaw:
    return OutcomeLaw(np.arange(votes.shape[1]), max_log_probabilities(votes, mechanism.sigma))


@_law_of.register
def _(mechanism: SkellamMax, votes: Floats) -> OutcomeLaw | None:
    if mechanism.opens == "counts":
        return None
    log_p = winner_log_probabilities(votes, mechanism.total_variance)
    return OutcomeLaw(np.arange(votes.shape[1]), log_p)


@_law_of.register
def _(mechanism: BestOfCounts, scores: Floats) -> OutcomeLaw:
    return OutcomeLaw(np.arange(scores.shape[1]), log_softmax(scores / mechanism.scale, axis=1))


def _behind_threshold(
    mechanism: ConfidentGNMax | PowersetVoting, law: OutcomeLaw, votes: Floats
) -> OutcomeLaw:
    """Build the law of an answer behind a threshold for the largest count: -1 if it fails."""
    if mechanism.threshold is None or mechanism.sigma_threshold is None:
        return law
    excess = (votes.max(axis=1) - mechanism.threshold)[:, None] / mechanism.sigma_threshold
    log_p = np.hstack([log_ndtr(-excess), log_ndtr(excess) + law.log_probabilities])
    unanswered = np.full_like(law.outcomes[:1], -1)
    return OutcomeLaw(np.concatenate([unanswered, law.outcomes]), log_p)


@_law_of.register
def _(mechanism: ConfidentGNMax, votes: Floats) -> OutcomeLaw:
    law = OutcomeLaw(np.arange(votes.shape[1]), max_log_probabilities(votes, mechanism.sigma))
    return _behind_threshold(mechanism, law, votes)


@_law_of.register
def _(mechanism: BinaryVoting | TauVoting, present: Floats) -> OutcomeLaw | None:
    # The two differ in how ballots are counted.
    n_labels = present.shape[1]
    if n_labels > _MOST_LABELS:
        return None
    gap = (2 * present - mechanism.n_votes) / (np.sqrt(2) * mechanism.sigma)
    answers, log_answers = [0, 1], [log_ndtr(-gap), log_ndtr(gap)]
    if mechanism.threshold is not None and mechanism.sigma_threshold is not None:
        larger = np.maximum(present, mechanism.n_votes - present)
        over = (larger - mechanism.threshold) / mechanism.sigma_threshold
        answers = [-1, 0, 1]
        log_answers = [log_ndtr(-over), *(log_ndtr(over) + log_p for log_p in log_answers)]
    places = np.array(list(product(range(len(answers)), repeat=n_labels)))
    per_label = np.stack(log_answers, axis=-1)  # (n_rows, n_labels, n_answers)
    outcomes = np.array(answers)[places]
    log_p = np.zeros((len(present), len(outcomes)))
    possible = np.ones(len(outcomes), dtype=bool)
    parents_of = dict(getattr(mechanism, "hierarchy", None) or ())
    for label in range(n_labels):
        parents = outcomes[:, parents_of.get(label, ())]
        # A label is queried if all its parents are present; otherwise its answer follows from
        # theirs.
        is_queried = (parents == 1).all(axis=1)
        log_p += np.where(is_queried, per_label[:, label, places[:, label]], 0.0)
        implied = np.where((parents == 0).any(axis=1), 0, -1)
        possible &= is_queried | (outcomes[:, label] == implied)
    return OutcomeLaw(outcomes[possible], log_p[:, possible])


@_law_of.register
def _(mechanism: PowersetVoting, ballots: NDArray[Any]) -> OutcomeLaw | None:
    if mechanism.n_labels > _MOST_LABELS:
        return None
    outcomes = np.array(list(product((0, 1), repeat=mechanism.n_labels)))
    if mechanism.max_positives is not None:
        outcomes = outcomes[outcomes.sum(axis=1) <= mechanism.max_positives]
    same = (ballots["ballot"][:, :, None] == np.packbits(outcomes, axis=1)).all(axis=-1)
    votes = (ballots["count"][..., None] * same).sum(axis=1)
    law = OutcomeLaw(outcomes, max_log_probabilities(votes, mechanism.sigma))
    return _behind_threshold(mechanism, law, votes)


def hockey_stick(log_p: ArrayLike, log_q: ArrayLike, epsilon: float) -> float:
    """Compute the exact delta of two neighbouring laws at an epsilon, in the worse direction."""
    p, q = _check_laws(log_p, log_q)
    return max(
        float(np.maximum(np.exp(a) - np.exp(epsilon + b), 0.0).sum()) for a, b in ((p, q), (q, p))
    )


def exact_epsilon(log_p: ArrayLike, log_q: ArrayLike, delta: float) -> float:
    """Compute the exact epsilon of two neighbouring laws at a delta, in the worse direction."""
    p, q = _check_laws(log_p, log_q)
    return max(_epsilon_one_way(p, q, delta), _epsilon_one_way(q, p, delta))


def exact_divergence(log_p: ArrayLike, log_q: ArrayLike) -> RenyiCost:
    """Compute the exact Renyi curve of two neighbouring laws, the worse direction at each order."""
    p, q = _check_laws(log_p, log_q)
    p, q = (law[(p > -np.inf) | (q > -np.inf)] for law in (p, q))
    if not (np.isfinite(p) & np.isfinite(q)).all():
        return RenyiCost(np.full(len(ORDERS), np.inf))
    return RenyiCost(np.maximum(renyi_divergence(p, q, ORDERS), renyi_divergence(q, p, ORDERS)))


def compose_rows(log_p: ArrayLike) -> Floats | None:
    """Compute the law of independent rows, the last row varying fastest; None if too long."""
    rows = np.atleast_2d(np.asarray(log_p, dtype=np.float64))
    if rows.shape[1] ** len(rows) > _MOST_OUTCOMES:
        return None
    return reduce(lambda law, row: np.add.outer(law, row).ravel(), rows, np.zeros(1))


def _epsilon_one_way(log_p: Floats, log_q: Floats, delta: float) -> float:
    """Maximise log((P(E) - delta)/Q(E)) over events "the likelihood ratio is >= t"."""
    possible = log_p > -np.inf
    p, q = np.exp(log_p[possible]), np.exp(log_q[possible])
    ranked = np.argsort(log_q[possible] - log_p[possible], kind="stable")
    gain, total_q = np.cumsum(p[ranked]) - delta, np.cumsum(q[ranked])
    useful = gain > 0
    with np.errstate(divide="ignore"):
        return float(np.log(gain[useful] / total_q[useful]).max(initial=0.0))


def _check_laws(log_p: ArrayLike, log_q: ArrayLike) -> tuple[Floats, Floats]:
    p, q = np.asarray(log_p, dtype=np.float64), np.asarray(log_q, dtype=np.float64)
    for name, law in (("log_p", p), ("log_q", q)):
        total = np.exp(law).sum()
        if law.ndim != 1 or len(law) != len(p) or not abs(total - 1) < 1e-6:
            raise ValueError(
                f"{name} has shape {law.shape} and probabilities that add up to {total:.6g}; pass "
                "one logarithm per outcome, of the same outcomes in both, that add up to 1."
            )
    return p, q
