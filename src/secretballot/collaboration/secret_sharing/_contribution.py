"""What a voter shares of its ballots: whole numbers, with its part of the noise in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting import noise_generator
from secretballot.collaboration._question import Motion
from secretballot.collaboration.secret_sharing._comparison import (
    check_mechanism,
    check_voters,
    compared_by,
    comparison_bits,
    shared_numbers,
)
from secretballot.computing import Part, Recipients, deliver


def share_ballots(
    name: str, motions: Sequence[Motion], ballots: Sequence[NDArray[Any]], recipients: Recipients
) -> None:
    """Share a voter's ballots on each motion, with its part of the noise, among computing parties.

    Parameters
    ----------
    name : str
    motions : sequence of Motion
        As they were sent to it, with the weight of its ballot.
    ballots : sequence of ndarray
        What it would cast.
    recipients : Recipients

    Raises
    ------
    TypeError, ValueError
        If a mechanism's noise can't be drawn in parts, or is for others; nothing was sent.
    LineError
        If a computing party has not got its share.
    """
    for motion in motions:
        check_mechanism(motion)
        check_voters(motion)
    parts = [
        _part(motion, contribution(motion, cast, noise_generator()))
        for motion, cast in zip(motions, ballots, strict=True)
    ]
    deliver(name, parts, recipients)


def _part(motion: Motion, numbers: NDArray[np.int64]) -> Part:
    """Return numbers, and what they may be used for: that is for voters to say."""
    bits = comparison_bits(motion, len(numbers))
    return Part(motion.columns, numbers, compared_by(motion), tuple(motion.voters), bits)


def contribution(
    motion: Motion, ballots: NDArray[Any], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return what one voter adds to the sum."""
    mechanism: Any = motion.mechanism
    counts = replace(motion, voters={"": motion.weight}).counted({"": ballots}).astype(np.int64)
    return shared_numbers(motion, counts + mechanism.share(counts.shape, rng))
