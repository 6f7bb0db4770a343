"""Parties that keep their data, ask each other for labels, and learn from noisy votes."""

from secretballot._public import published
from secretballot.collaboration._aggregator import TrustedAggregator
from secretballot.collaboration._agreement import Agreement
from secretballot.collaboration._answer import Answer
from secretballot.collaboration._collaboration import Collaboration
from secretballot.collaboration._party import Party
from secretballot.collaboration._voter import VoteRefusedError
from secretballot.collaboration.remote import Membership, TermsError, VoteOutcome, VoteServer
from secretballot.transport import ChannelError, Credentials

__all__ = [
    "Agreement",
    "Answer",
    "ChannelError",
    "Collaboration",
    "Credentials",
    "Membership",
    "Party",
    "TermsError",
    "TrustedAggregator",
    "VoteOutcome",
    "VoteRefusedError",
    "VoteServer",
]

published(globals())
