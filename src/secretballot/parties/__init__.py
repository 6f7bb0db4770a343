"""Parties that ask each other for votes, and what carries their questions."""

from secretballot._base._objects import published
from secretballot.parties._aggregator import TrustedAggregator, VoteRefusedError
from secretballot.parties._agreement import Agreement
from secretballot.parties._channel import Credentials
from secretballot.parties._collaboration import Collaboration
from secretballot.parties._membership import Membership
from secretballot.parties._party import Party
from secretballot.parties._stream import ChannelError
from secretballot.parties._terms import TermsError, VoteOutcome
from secretballot.parties._vote import Answer
from secretballot.parties._vote_server import VoteServer

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
