"""Winners of a motion from shared numbers, and the length of these numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from secretballot.collaboration._motion import Motion
from secretballot.computing import VALUE_BITS
from secretballot.mechanisms import SkellamMax

#: The probability, in one motion, that noise is longer than the numbers compared.
_OVERFLOW = 2.0**-60


def comparison_rule(motion: Motion) -> str:
    """Name the rule by which computing parties find winners: two columns are one difference."""
    return "negative" if motion.n_columns == 2 else "plurality"


def shared_numbers(motion: Motion, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute the numbers to be shared: noisy counts or, of two columns, their difference."""
    return counts[:, :1] - counts[:, 1:] if motion.n_columns == 2 else counts


def as_outcome(motion: Motion, winners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert opened winners to an outcome of the mechanism."""
    return winners[:, 0] if motion.n_columns == 2 else winners


def skellam_mechanism(motion: Motion) -> SkellamMax:
    """Return the mechanism, if voters can draw its noise and it is charged for winners alone."""
    mechanism = motion.mechanism
    if not (isinstance(mechanism, SkellamMax) and mechanism.opens == "winner"):
        raise TypeError(
            f"{mechanism!r} is not charged for the winner of whole counts with noise that voters "
            "draw, and nothing else is opened here; with a SecretSharingAggregator take SkellamMax "
            "with opens='winner'."
        )
    if motion.weight != int(motion.weight):
        raise ValueError(f"weight={motion.weight!r}: what is shared must be a whole number.")
    return mechanism


def check_motion(motion: Motion) -> None:
    """Refuse a mechanism that can't be opened here, or whose noise is for other voters."""
    for weight in motion.voters.values():
        check_voters(replace(motion, weight=weight))


def check_voters(motion: Motion) -> None:
    """Refuse noise that is not divided among those who vote."""
    mechanism = skellam_mechanism(motion)
    if mechanism.n_parties != len(motion.voters):
        raise ValueError(
            f"{mechanism!r} divides its noise among n_parties={mechanism.n_parties}, and "
            f"{len(motion.voters)} vote."
        )


def comparison_bits(motion: Motion, n_rows: int) -> int:
    """Compute the length of differences of noisy counts, with their sign, from public numbers.

    A difference is at most the weight of all ballots, and noise. With probability 1 - 2^-60 no
    comparison in a motion has longer noise.
    """
    mechanism = skellam_mechanism(motion)
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
    t asinh(t / v).
    """

    def fits(t: float) -> bool:
        bound = math.hypot(variance, t) - variance - t * math.asinh(t / variance)
        return math.log(2) + bound <= math.log(tail)

    high = 1.0
    while not fits(high):
        high *= 2
    low = high / 2
    while high - low > 0.5:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return math.ceil(high)
