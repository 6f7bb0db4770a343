"""Parties in processes of their own, that meet at an aggregator by gRPC over mutual TLS.

Nothing that is sent is code: words and numbers as JSON, arrays as their bytes, and data frames and
texts as Arrow's stream of columns, checked before it is used.
"""

from secretballot.collaboration.remote._membership import Membership
from secretballot.collaboration.remote._outcome import VoteOutcome
from secretballot.collaboration.remote._terms import TermsError
from secretballot.collaboration.remote._vote_server import VoteServer

__all__ = ["Membership", "TermsError", "VoteOutcome", "VoteServer"]
