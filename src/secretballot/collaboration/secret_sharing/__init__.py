"""Votes without a trusted aggregator: ballots and noise in shares, of which winners are opened."""

from secretballot._public import published
from secretballot.collaboration.secret_sharing._contribution import share_ballots
from secretballot.collaboration.secret_sharing._secret_sharing_aggregator import (
    SecretSharingAggregator,
)

__all__ = ["SecretSharingAggregator", "share_ballots"]

published(globals())
