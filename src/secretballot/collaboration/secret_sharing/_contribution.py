"""Contributions of voters: ballots as integers, with a part of the noise in them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting import noise_generator
from secretballot.collaboration._motion import Motion
from secretballot.collaboration.secret_sharing._comparison import (
    check_voters,
    comparison_bits,
    comparison_rule,
    shared_numbers,
    skellam_mechanism,
)
from secretballot.computing import Contribution, Recipients, SharedVote, deliver
from secretballot.ledger import to_json


def share_ballots(
    name: str,
    motions: Sequence[Motion],
    ballots: Sequence[NDArray[np.intp]],
    recipients: Recipients,
) -> None:
    """Share a voter's ballots on each motion, with its part of the noise, among computing parties.

    Parameters
    ----------
    name : str
    motions : sequence of Motion
        As they were sent to it, with the weight of its ballot.
    ballots : sequence of ndarray
        As it would cast them.
    recipients : Recipients

    Raises
    ------
    TypeError, ValueError
        If a mechanism's noise can't be drawn in parts, or is for others; nothing was sent.
    ChannelError
        If a computing party has not got its share.
    """
    for motion in motions:
        check_voters(motion)
    contributions = []
    for motion, cast in zip(motions, ballots, strict=True):
        numbers = noisy_numbers(motion, cast, noise_generator())
        contributions.append(Contribution(shared_vote(motion, len(numbers)), numbers))
    deliver(name, contributions, recipients)


def shared_vote(motion: Motion, n_rows: int) -> SharedVote:
    """Build the terms of a motion, as each voter states them to computing parties."""
    return SharedVote(
        columns=motion.columns,
        shape=(n_rows, 1 if motion.n_columns == 2 else motion.n_columns),
        rule=comparison_rule(motion),
        voters=tuple(sorted(motion.voters)),
        bits=comparison_bits(motion, n_rows),
        digest=terms_digest(motion),
    )


def terms_digest(motion: Motion) -> str:
    """Compute a digest of the mechanism and of all weights, which all voters must have alike.

    One voter's privacy depends on the variance of the others' noise. The coordinator could send
    different terms to each voter.
    """
    mechanism = replace(motion.mechanism, weight=1)  # type: ignore[type-var]
    described = to_json(mechanism.describe(), "mechanism"), sorted(motion.voters.items())
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def noisy_numbers(
    motion: Motion, ballots: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Add one voter's part of the noise to its ballots, as numbers to be shared."""
    counts = replace(motion, voters={"": motion.weight}).counts({"": ballots}).astype(np.int64)
    noise = skellam_mechanism(motion).share(counts.shape, rng)
    return shared_numbers(motion, counts + noise)
