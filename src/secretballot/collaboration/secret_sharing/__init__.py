"""Votes with nobody to trust: ballots and noise in shares, and only winners opened."""

from secretballot._public import published
from secretballot.collaboration.secret_sharing._aggregator import SecretSharingAggregator
from secretballot.collaboration.secret_sharing._contribution import share_ballots

__all__ = ["SecretSharingAggregator", "share_ballots"]

published(globals())
