"""Parties that ask each other for votes, and what carries their questions."""

from secretballot._base._public import published
from secretballot.parties._aggregator import TrustedAggregator
from secretballot.parties._agreement import Agreement
from secretballot.parties._answer import Answer
from secretballot.parties._collaboration import Collaboration
from secretballot.parties._credentials import Credentials
from secretballot.parties._party import Party
from secretballot.parties._stream import ChannelError
from secretballot.parties._voter import VoteRefusedError
from secretballot.parties.remote._membership import Membership
from secretballot.parties.remote._vote_records import VoteOutcome
from secretballot.parties.remote._vote_server import VoteServer
from secretballot.parties.remote._vote_terms import TermsError

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
