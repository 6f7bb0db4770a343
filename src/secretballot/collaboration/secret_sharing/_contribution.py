"""What a voter shares of its ballots: whole numbers, with its part of the noise in them."""

from __future__ import annotations

import hashlib
import json
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
from secretballot.computing import Part, Recipients, SharedVote, deliver
from secretballot.ledger import to_json


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
    ChannelError
        If a computing party has not got its share.
    """
    for motion in motions:
        check_mechanism(motion)
        check_voters(motion)
    parts = []
    for motion, cast in zip(motions, ballots, strict=True):
        numbers = contribution(motion, cast, noise_generator())
        parts.append(Part(shared_vote(motion, len(numbers)), numbers))
    deliver(name, parts, recipients)


def shared_vote(motion: Motion, n_rows: int) -> SharedVote:
    """Return the terms of a motion, as each voter states them to computing parties."""
    return SharedVote(
        columns=motion.columns,
        shape=(n_rows, 1 if motion.n_columns == 2 else motion.n_columns),
        rule=compared_by(motion),
        voters=tuple(sorted(motion.voters)),
        bits=comparison_bits(motion, n_rows),
        digest=terms_digest(motion),
    )


def terms_digest(motion: Motion) -> str:
    """Compute a digest of the mechanism and of all weights, which all voters must have alike.

    One voter's privacy depends on the noise of the others: of so much variance, and for so many
    colluders. Whoever holds the vote tells each of them what it likes.
    """
    mechanism = replace(motion.mechanism, weight=1)  # type: ignore[type-var, call-arg]
    described = to_json(mechanism.describe(), "mechanism"), sorted(motion.voters.items())
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def contribution(
    motion: Motion, ballots: NDArray[Any], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return what one voter adds to the sum."""
    mechanism: Any = motion.mechanism
    counts = replace(motion, voters={"": motion.weight}).counted({"": ballots}).astype(np.int64)
    return shared_numbers(motion, counts + mechanism.share(counts.shape, rng))
