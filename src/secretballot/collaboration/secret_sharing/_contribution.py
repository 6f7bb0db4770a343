"""Contributions of voters: ballots as integers, with a part of the noise in them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from secretballot.accounting import noise_generator
from secretballot.collaboration._motion import Motion
from secretballot.computing import VALUE_BITS, Contribution, Recipients, SharedVote, deliver
from secretballot.ledger import to_json
from secretballot.mechanisms import SkellamMax

#: The probability, in one motion, that noise is longer than the numbers compared.
_OVERFLOW = 2.0**-60


def share_ballots(
    name: str,
    motions: Sequence[Motion],
    ballots: Sequence[NDArray[np.intp]],
    recipients: Recipients,
) -> None:
    """Share a voter's ballots, with its part of the noise, among computing parties.

    Motions are as they were sent to it. Nothing is sent if the noise of one can't be drawn in
    parts, or is for other voters.
    """
    contributions = []
    for motion, cast in zip(motions, ballots, strict=True):
        numbers = noisy_numbers(motion, cast, noise_generator())
        contributions.append(Contribution(shared_vote(motion, len(numbers)), numbers))
    deliver(name, contributions, recipients)


def shared_vote(motion: Motion, n_rows: int) -> SharedVote:
    """Build the terms of a motion, as each voter states them to computing parties."""
    is_difference = motion.n_columns == 2
    return SharedVote(
        columns=motion.columns,
        shape=(n_rows, 1 if is_difference else motion.n_columns),
        rule="negative" if is_difference else "plurality",
        voters=tuple(sorted(motion.voters)),
        bits=comparison_bits(motion, n_rows),
        digest=terms_digest(motion),
    )


def terms_digest(motion: Motion) -> str:
    """Compute a digest of the mechanism and of all weights, which all voters must have alike.

    One voter's privacy depends on the variance of the others' noise. The coordinator could send
    different terms to each voter.
    """
    mechanism = replace(motion.mechanism, weight=1)
    described = to_json(mechanism.describe(), "mechanism"), sorted(motion.voters.items())
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def noisy_numbers(
    motion: Motion, ballots: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Add one voter's part of the noise to its ballots; of two columns, return the difference."""
    counts = replace(motion, voters={"": motion.weight}).counts({"": ballots}).astype(np.int64)
    numbers = counts + _skellam_mechanism(motion).share(counts.shape, rng)
    return numbers[:, :1] - numbers[:, 1:] if motion.n_columns == 2 else numbers


def comparison_bits(motion: Motion, n_rows: int) -> int:
    """Compute the length of differences of noisy counts, with their sign, from public numbers.

    A difference is at most the weight of all ballots, and noise. With probability 1 - 2^-60 no
    comparison in a motion has longer noise.
    """
    mechanism = _skellam_mechanism(motion)
    # A difference of two counts, each with the noise of all voters.
    variance = 2 * mechanism.total_variance
    n_comparisons = n_rows * max(1, motion.n_columns - 1) * motion.n_columns / 2
    most = int(sum(motion.voters.values())) + skellam_reach(variance, _OVERFLOW / n_comparisons)
    bits = most.bit_length() + 1
    if bits > VALUE_BITS:
        raise ValueError(
            f"{mechanism!r}: differences of noisy counts have up to {bits} bits, and computing "
            f"parties compare {VALUE_BITS}; use smaller weights, or less noise."
        )
    return bits


def skellam_reach(variance: float, tail: float) -> int:
    """Bound the absolute value of Skellam noise that is exceeded with probability `tail`.

    By Chernoff's bound at its best point, asinh(t / v): log P(N >= t) <= sqrt(v^2 + t^2) - v -
    t asinh(t / v). Its root is below that of Bernstein's bound.
    """
    log_odds = math.log(2 / tail)

    def excess(t: float) -> float:
        return log_odds + math.hypot(variance, t) - variance - t * math.asinh(t / variance)

    bernstein = math.sqrt(2 * variance * log_odds) + log_odds / 3
    reach: float = brentq(excess, 0.0, bernstein + 1)
    return math.ceil(reach)


def _skellam_mechanism(motion: Motion) -> SkellamMax:
    """Return the mechanism, if its voters can draw its noise and it is charged for winners."""
    mechanism = motion.mechanism
    if not (isinstance(mechanism, SkellamMax) and mechanism.opens == "winner"):
        raise TypeError(
            f"{mechanism!r} is not charged for the winner of whole counts with noise that voters "
            "draw, and nothing else is opened here; with a SecretSharingAggregator take SkellamMax "
            "with opens='winner'."
        )
    for weight in (motion.weight, *motion.voters.values()):
        if weight != int(weight):
            raise ValueError(f"weight={weight!r}: what is shared must be a whole number.")
    if mechanism.n_parties != len(motion.voters):
        raise ValueError(
            f"{mechanism!r} divides its noise among n_parties={mechanism.n_parties}, and "
            f"{len(motion.voters)} vote."
        )
    return mechanism
