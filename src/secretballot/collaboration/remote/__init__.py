"""Parties in processes of their own, that meet at an aggregator over mutual TLS.

Nothing that is sent is code: words and numbers as JSON, and arrays as their bytes.
"""

from secretballot.collaboration.remote._channel import ChannelError
from secretballot.collaboration.remote._membership import Membership
from secretballot.collaboration.remote._terms import TermsError
from secretballot.collaboration.remote._vote_server import VoteServer

__all__ = ["ChannelError", "Membership", "TermsError", "VoteServer"]
