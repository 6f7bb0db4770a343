"""A party's side of votes: checked messages come in, and its own agreement decides what it pays."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from secretballot._base._errors import BudgetExceededError
from secretballot.parties._message import Fields, Message, MessageError, read_field
from secretballot.parties._motion import Motion
from secretballot.parties._party import Party
from secretballot.parties._question import Question
from secretballot.parties._voter import VoteTally
from secretballot.parties.remote._remote_voter import NO_BUDGET, NO_COLUMNS
from secretballot.parties.remote._table import decode_table
from secretballot.parties.remote._vote_terms import VoteTerms

#: The longest name of a question.
_NAME = 64


class Session:
    """The votes of one connection, one after the other.

    A payment is only taken back when its question was closed or voided. Where the connection is
    lost before, it stays charged: the vote may have been opened.
    """

    def __init__(self, party: Party, terms: VoteTerms, max_bytes: int = 2**30) -> None:
        self.idle = threading.Event()
        self.idle.set()
        self._party, self._terms, self._max_bytes = party, terms, max_bytes
        self._question: Question | None = None
        self._columns: tuple[int, ...] = ()
        self._motions: list[Motion] = []

    def answer(self, message: Message) -> Message:
        """Return the answer to a message, or raise `MessageError` if it may not come now."""
        if message.kind == "invite":
            return self._invite(message)
        steps = {
            "reserve": self._reserve,
            "cast": self._cast,
            "close": self._close,
            "void": self._void,
        }
        if message.kind not in steps:
            raise MessageError(f"{message.kind!r} is no request to a party")
        if self._question is None or message.fields.get("question") != self._question.id:
            raise MessageError(f"{message.kind!r} came for a question that was not asked")
        if bool(self._motions) == (message.kind == "reserve"):
            paid = "paid before" if self._motions else "not paid"
            raise MessageError(f"{message.kind!r} came for a question that was {paid}")
        return steps[message.kind](self._question, message.fields)

    def _invite(self, message: Message) -> Message:
        if self._motions:
            raise MessageError("a question came before the one before it was closed")
        name = read_field(message.fields, "question", str)
        if not 0 < len(name) <= _NAME:
            raise MessageError(f"question={name[:_NAME]!r} is no name of 1 to {_NAME} characters")
        asker = read_field(message.fields, "asker", str)
        if asker == self._party.name or asker not in self._terms.agreement.parties:
            raise MessageError(f"{asker!r} may not ask party {self._party.name!r}")
        self._question = None
        try:
            rows = decode_table(message.fields, message.body, self._max_bytes)
            question = self._terms.question(name, asker, rows)
            self._columns = self._party.invite(question)
        except Exception:  # rows that can't be read here do not have its columns
            return Message("cannot", {"why": NO_COLUMNS})
        self._question = question
        return Message("invited", {"columns": list(self._columns)})

    def _reserve(self, question: Question, fields: Fields) -> Message:
        if self._party.has_paid(question):
            raise MessageError("a question came to be paid twice")
        motions = self._read_motions(fields, question.asker)
        # Set before anything is paid: after a failure in the middle no other question is taken.
        self._motions = motions
        self.idle.clear()
        try:
            self._party.reserve(question, motions)
        except BudgetExceededError:
            self._forget_payment()
            return Message("cannot", {"why": NO_BUDGET})
        return Message("reserved")

    def _read_motions(self, fields: Fields, asker: str | None) -> list[Motion]:
        motions = [
            self._terms.motion(motion, self._party.name, self._columns, asker)
            for motion in read_field(fields, "motions", list[dict[str, object]])
        ]
        columns = [column for motion in motions for column in motion.columns]
        if not motions or len(set(columns)) < len(columns):
            raise MessageError("a vote on nothing, or two votes on one column")
        return motions

    def _cast(self, question: Question, fields: Fields) -> Message:
        ballots = zip(self._party.cast(question), self._motions, strict=True)
        # Of a type that the vote decides: the length of a message shows through TLS.
        encoded = [
            np.asarray(cast).astype(motion.ballot_type).tobytes() for cast, motion in ballots
        ]
        return Message("cast", {}, b"".join(encoded))

    def _close(self, question: Question, fields: Fields) -> Message:
        n_rows = [motion.n_rows(question) for motion in self._motions]
        self._party.close(question, _read_tallies(fields, n_rows))
        self._forget_payment()
        self._question = None
        return Message("closed")

    def _void(self, question: Question, fields: Fields) -> Message:
        self._party.void(question)
        self._forget_payment()
        return Message("voided")

    def _forget_payment(self) -> None:
        self._motions = []
        self.idle.set()


def _read_tallies(fields: Fields, n_rows: Sequence[int]) -> list[VoteTally]:
    """Return public facts of outcomes, if they fit votes on some numbers of rows."""
    described = read_field(fields, "tallies", list[dict[str, object]])
    if len(described) != len(n_rows):
        raise MessageError("there are not as many tallies as votes")
    tallies = []
    for tally, most in zip(described, n_rows, strict=True):
        n_begun = read_field(tally, "n_rows", int)
        answers = None if tally.get("n_answers") is None else read_field(tally, "n_answers", int)
        if not 0 < n_begun <= most or (answers is not None and answers > n_begun):
            raise MessageError(f"{n_begun} rows of {most} were begun, and {answers} answered")
        tallies.append(VoteTally(n_begun, answers))
    return tallies
