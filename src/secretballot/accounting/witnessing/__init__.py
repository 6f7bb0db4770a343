"""Signed heads of a ledger, which a witness keeps elsewhere: a restored ledger lacks them."""

from secretballot.accounting.witnessing._head_log import HeadLog
from secretballot.accounting.witnessing._publish_head import publish_head
from secretballot.accounting.witnessing._signed_head import SignedHead
from secretballot.accounting.witnessing._signing_keys import make_key_pair
from secretballot.accounting.witnessing._witness import Witness

__all__ = ["HeadLog", "SignedHead", "Witness", "make_key_pair", "publish_head"]
