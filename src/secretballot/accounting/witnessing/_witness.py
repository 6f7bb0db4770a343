"""Witness of a ledger."""

from __future__ import annotations

import os
from dataclasses import dataclass

from secretballot._errors import WitnessError
from secretballot.accounting.witnessing._head_log import HeadLog
from secretballot.accounting.witnessing._signing_keys import read_public_keys
from secretballot.ledger import is_url


@dataclass(frozen=True)
class Witness:
    """Signed heads of a ledger, kept elsewhere, against which the ledger is checked.

    ``secretballot ledger witness`` appends a head: the number of entries and the digest of the
    last, signed. A ledger that lacks one was restored from a copy, or written anew. Unlike the mark
    beside a ledger it protects on a machine that has never seen the ledger, if the heads come by
    another way than the ledger does.

    Parameters
    ----------
    path : path
        Log of signed heads, a line of JSON each.
    key : path
        File with the public key of the witness, or several keys, in PEM.

    See Also
    --------
    PrivacyAccountant.open : Refuses a ledger that lacks a signed head.

    Examples
    --------
    >>> from secretballot.accounting import PrivacyAccountant, Witness
    >>> witness = Witness("shared/survey.heads", "witness.pub")
    >>> accountant = PrivacyAccountant.open(
    ...     "survey.ledger", witness=witness
    ... )  # doctest: +SKIP
    """

    path: str | os.PathLike[str]
    key: str | os.PathLike[str]

    def __post_init__(self) -> None:
        if is_url(self.path) or is_url(self.key):
            raise WitnessError(
                "A witness and its key are files, and one of them looks like a URL or a login (it "
                "is not shown, as it may hold a password)."
            )

    def read(self) -> HeadLog:
        """Read the heads, and check signatures and order.

        Returns
        -------
        HeadLog
            Its ``heads`` have ``n_entries``, ``digest`` and ``time``.
        """
        return HeadLog.read(os.fspath(self.path), read_public_keys(self.key))
