"""Records of votes at the server, for parties that lost their connection."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import NamedTuple

from secretballot.parties._answer import Answer
from secretballot.parties._message import Message

#: Number of votes that a server remembers.
_MOST = 1_000

#: States of a vote: going on; nothing was opened, and nothing will be; opened; and not known.
VOTING, VOID, OPENED, UNKNOWN = STATES = ("voting", "void", "opened", "unknown")


class VoteOutcome(NamedTuple):
    """State of a question, and its answer.

    Attributes
    ----------
    question : str
        Its id, as it is in the ledgers of voters.
    state : {"voting", "void", "opened", "unknown"}
        ``"voting"``: it is voted on now. ``"void"``: nothing was opened, and nothing will be;
        voters that heard of it took back their payment. ``"opened"``: it is paid. ``"unknown"``:
        it failed while it was opened, or is not one that the server has held since it was started;
        what was reserved for it stays charged.
    answer : Answer or None
        Where it was opened, to the party that asked, until it asks again.

    Examples
    --------
    >>> from secretballot.parties import VoteOutcome
    >>> VoteOutcome("3f2a", "void", None).state
    'void'
    """

    question: str
    state: str
    answer: Answer | None


@dataclass
class VoteRecord:
    """One vote as the server remembers it."""

    asker: str
    n_rows: int
    state: str = VOTING
    answer: Message | None = None


class VoteRecords:
    """The latest votes since the server was started."""

    def __init__(self) -> None:
        self._records: dict[str, VoteRecord] = {}
        self._lock = threading.Lock()

    def begin(self, question: str, asker: str, n_rows: int) -> VoteRecord:
        """Remember a vote, and forget answers of earlier ones to the same party."""
        record = VoteRecord(asker, n_rows)
        with self._lock:
            for other in self._records.values():
                if other.asker == asker:
                    other.answer = None
            self._records[question] = record
            for oldest in list(self._records)[:-_MOST]:
                del self._records[oldest]
        return record

    def outcome(self, question: object, party: str) -> Message:
        """Describe a vote to a party: its state and, if the party asked, the answer."""
        with self._lock:
            record = self._records.get(str(question), VoteRecord("", 0, UNKNOWN))
            fields: dict[str, object] = {"state": record.state}
            if record.answer is None or record.asker != party:
                return Message("outcome", fields)
            fields |= {"n_rows": record.n_rows, "answer": record.answer.fields}
            return Message("outcome", fields, record.answer.body)
