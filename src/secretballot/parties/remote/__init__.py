"""Parties in processes of their own, that meet at an aggregator by gRPC over mutual TLS.

Nothing that is sent is code: public facts are JSON, and tables are arrays of numbers and UTF-8.
"""

from secretballot.parties.remote._membership import Membership
from secretballot.parties.remote._vote_records import VoteOutcome
from secretballot.parties.remote._vote_server import VoteServer
from secretballot.parties.remote._vote_terms import TermsError

__all__ = ["Membership", "TermsError", "VoteOutcome", "VoteServer"]
