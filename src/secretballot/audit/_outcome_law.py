"""Exact laws of mechanisms' outcomes, where they can be enumerated."""

from __future__ import annotations

from functools import singledispatch
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, log_softmax

from secretballot.audit._top_k_law import top_k_law
from secretballot.divergences import Floats, max_log_probabilities, winner_log_probabilities
from secretballot.mechanisms import (
    BestOfCounts,
    BinaryVoting,
    ConfidentGNMax,
    GNMax,
    Mechanism,
    PowersetVoting,
    SkellamMax,
    TauVoting,
    TopK,
)

#: Of more labels the outcomes are not enumerated.
_MOST_LABELS = 6


class OutcomeLaw(NamedTuple):
    """All outcomes of a row as `sample` returns them, and their log probabilities in each row.

    Attributes
    ----------
    outcomes : ndarray of shape (n_outcomes, ...)
    log_probabilities : ndarray of shape (n_rows, n_outcomes)
    """

    outcomes: NDArray[Any]
    log_probabilities: Floats


def outcome_law(mechanism: Mechanism, counts: ArrayLike) -> OutcomeLaw | None:
    """Compute the exact law of each row's outcome; None if it can't be enumerated.

    A mechanism offers its law by a method ``outcome_law(counts)`` that returns an `OutcomeLaw`.

    Parameters
    ----------
    mechanism : mechanism
    counts : array-like of shape (n_rows, ...)
        As the mechanism takes them.

    Returns
    -------
    OutcomeLaw or None

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.audit import outcome_law
    >>> from secretballot.mechanisms import GNMax
    >>> law = outcome_law(GNMax(sigma=4.0), np.array([[7.0, 3.0]]))
    >>> law.outcomes, np.exp(law.log_probabilities).round(3)
    (array([0, 1]), array([[0.76, 0.24]]))
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


@_law_of.register
def _(mechanism: TopK, votes: Floats) -> OutcomeLaw | None:
    law = top_k_law(mechanism, votes)
    return None if law is None else OutcomeLaw(*law)
