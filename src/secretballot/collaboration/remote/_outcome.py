"""Outcomes of votes, kept at the server for who lost its connection."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import NamedTuple

from secretballot.collaboration._answer import Answer
from secretballot.transport import Message

#: So many votes are remembered.
_MOST = 1_000

#: States of a vote: going on; nothing was opened, and nothing will be; opened; and not known.
VOTING, VOID, OPENED, UNKNOWN = STATES = ("voting", "void", "opened", "unknown")


class VoteOutcome(NamedTuple):
    """What became of a question.

    Attributes
    ----------
    question : str
        Its id, as it is in the ledgers of voters.
    state : {"voting", "void", "opened", "unknown"}
        ``"voting"``: it is voted on now. ``"void"``: nothing was opened, and nothing will be; who
        heard it took back what it had paid. ``"opened"``: it is paid. ``"unknown"``: it failed
        while it was opened, or is not one that the server has held since it was started; what was
        reserved for it stays charged.
    answer : Answer or None
        Where it was opened, to the party that asked, until it asks again.

    Examples
    --------
    >>> from secretballot.collaboration import VoteOutcome
    >>> VoteOutcome("3f2a", "void", None).state
    'void'
    """

    question: str
    state: str
    answer: Answer | None


@dataclass
class Record:
    """One vote as the server remembers it."""

    asker: str
    n_rows: int
    state: str = VOTING
    answer: Message | None = None


@dataclass
class Records:
    """Votes that were held since the server was started, the latest ones."""

    _held: dict[str, Record] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, question: str, asker: str, n_rows: int) -> Record:
        """Remember a vote, and no answer of an earlier one to the same party."""
        record = Record(asker, n_rows)
        with self._lock:
            for other in self._held.values():
                if other.asker == asker:
                    other.answer = None
            self._held[question] = record
            for oldest in list(self._held)[:-_MOST]:
                del self._held[oldest]
        return record

    def told(self, question: object, party: str) -> Message:
        """Return what a party may know of a vote: its state and, of its own, the answer."""
        with self._lock:
            record = self._held.get(question) if isinstance(question, str) else None
            if record is None:
                return Message("outcome", {"state": UNKNOWN})
            answer = record.answer if record.asker == party else None
            words = {"state": record.state}
            if answer is not None:
                words |= {"n_rows": record.n_rows, "answer": answer.words}
            return Message("outcome", words, b"" if answer is None else answer.body)
