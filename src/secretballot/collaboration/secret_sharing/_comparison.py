"""How the winners of a motion come out of shared numbers, and how long these are."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.collaboration._question import Motion
from secretballot.computing import VALUE_BITS

#: How likely it may be, in one motion, that noise is longer than the numbers compared.
_WRAPS = 2.0**-60


def compared_by(motion: Motion) -> str:
    """Return how computing parties find the winners: two columns are one difference."""
    return "negative" if motion.n_columns == 2 else "plurality"


def shared_numbers(motion: Motion, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what is shared of noisy counts: all of them or, of two, what the first is ahead."""
    return counts[:, :1] - counts[:, 1:] if motion.n_columns == 2 else counts


def as_outcome(motion: Motion, winners: NDArray[np.int64]) -> NDArray[Any]:
    """Return what the mechanism itself would have released."""
    return winners[:, 0] if motion.n_columns == 2 else winners


def check_mechanism(motion: Motion) -> None:
    """Refuse a mechanism whose noise voters can't draw, or that isn't charged for winners alone."""
    mechanism: Any = motion.mechanism
    if getattr(mechanism, "opens", None) != "winner":
        raise TypeError(
            f"{mechanism!r} is not charged for the winner of whole counts with noise that voters "
            "draw, and nothing else is opened here; with a SecretSharingAggregator take SkellamMax "
            "with opens='winner'."
        )
    if motion.weight != int(motion.weight):
        raise ValueError(f"weight={motion.weight!r}: what is shared must be a whole number.")


def check_motion(motion: Motion) -> None:
    """Refuse a mechanism that can't be opened here, or whose noise is for others than those."""
    for weight in motion.voters.values():
        check_mechanism(replace(motion, weight=weight))
    check_voters(motion)


def check_voters(motion: Motion) -> None:
    """Refuse noise that is not divided among those who vote."""
    mechanism: Any = motion.mechanism
    if mechanism.n_parties != len(motion.voters):
        raise ValueError(
            f"{mechanism!r} divides its noise among n_parties={mechanism.n_parties}, and "
            f"{len(motion.voters)} vote."
        )


def comparison_bits(motion: Motion, n_rows: int) -> int:
    """Return how long differences of noisy counts are, with their sign.

    Every voter says so to computing parties, by the public numbers of the vote. Differences are at
    most the weight of all ballots, and noise; of all comparisons in a motion none has
    noise beyond that but with a probability of 2^-60.
    """
    mechanism: Any = motion.mechanism
    # A difference of two counts, each with the noise of all voters.
    variance = 2 * mechanism.total_variance
    n_comparisons = n_rows * max(1, motion.n_columns - 1) * motion.n_columns / 2
    most = int(sum(motion.voters.values())) + skellam_reach(variance, _WRAPS / n_comparisons)
    bits = most.bit_length() + 1
    if bits > VALUE_BITS:
        raise ValueError(
            f"{mechanism!r}: differences of noisy counts have up to {bits} bits, and computing "
            f"parties compare {VALUE_BITS}; use smaller weights, or less noise."
        )
    return bits


def skellam_reach(variance: float, tail: float) -> int:
    """Return a whole number that Skellam noise exceeds, up or down, with probability `tail`.

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
