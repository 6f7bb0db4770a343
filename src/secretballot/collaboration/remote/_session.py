"""A party's side of votes: what it is asked for comes as messages, and nothing of it is code."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from secretballot._errors import BudgetExceededError
from secretballot.collaboration._party import Party
from secretballot.collaboration._question import Motion, Question, for_party, votes_apart
from secretballot.collaboration.remote._said_vote import motions_of, tallies_of
from secretballot.collaboration.remote._table import take_table
from secretballot.collaboration.remote._terms import Terms
from secretballot.computing import Recipients
from secretballot.transport import Message, MessageError

#: What a party can't do, in a word for the others: never why, which only it may know.
NO_BUDGET, NO_COLUMNS, NO_DELIVERY = "budget", "columns", "delivery"


class Session:
    """The votes of one connection, one after the other.

    What it pays for is built from what the party agreed to, and from public numbers of the vote
    that have to fit that. A question is only dropped when it was closed or voided; where the
    connection is lost before, what was reserved stays charged: it may have been opened.

    Parameters
    ----------
    party : Party
    terms : Terms
        The party's own.
    recipients : callable, default=None
        Returns, for the name of a vote, the computing parties to which ballots go in shares, and
        then they go nowhere else; None: ballots are cast.
    max_bytes : int, default=2**30
        The longest message; rows may take twice of it in memory.
    """

    def __init__(
        self,
        party: Party,
        terms: Terms,
        recipients: Callable[[str], Recipients] | None = None,
        max_bytes: int = 2**30,
    ) -> None:
        self.idle = threading.Event()
        self.idle.set()
        self._party, self._terms, self._recipients = party, terms, recipients
        self._max_bytes = max_bytes
        self._delivered: Recipients | None = None
        self._question: Question | None = None
        self._columns: tuple[int, ...] = ()
        self._motions: list[Motion] = []

    def answer(self, message: Message) -> Message:
        """Return the answer to a message.

        Raises
        ------
        MessageError
            If it is not one that may come now.
        """
        what = {
            "invite": self._invite,
            "reserve": self._reserve,
            "cast": self._cast,
            "deliver": self._deliver,
            "close": self._close,
            "void": self._void,
        }.get(message.kind)
        if what is None:
            raise MessageError(f"{message.kind!r} is nothing that a party is asked")
        return what(message)

    def _invite(self, message: Message) -> Message:
        if self._motions:
            raise MessageError("a question came before the one before it was closed")
        words = message.words
        id, asker = words.get("question"), words.get("asker")
        if not (isinstance(id, str) and 0 < len(id) <= 64):
            raise MessageError("a question has no id")
        others = set(self._terms.agreement.parties) - {self._party.name}
        if asker is not None and not (isinstance(asker, str) and asker in others):
            raise MessageError(f"a question is said to be of {asker!r}")
        self._question = None
        try:
            question = Question(
                id=id,
                asker=asker,
                X=take_table(words, message.body, self._max_bytes),
                classes=self._terms.classes,
                labels=self._terms.labels,
                aggregator=self._terms.aggregator,
            )
            self._columns = self._party.invite(question)
        except Exception:  # rows that can't be read here are not of its kind, whatever they are
            return Message("cannot", {"why": NO_COLUMNS})
        self._question = question
        self._price_ahead(question)
        return Message("invited", {"columns": list(self._columns)})

    def _price_ahead(self, question: Question) -> None:
        """Compute the price while others do: they are invited together, and pay one by one."""
        mechanism = self._terms.agreement.mechanism
        if self._columns and getattr(mechanism, "n_votes", None) is None:
            mechanism = for_party(mechanism, self._terms.agreement.weight(self._party.name))
            motion = Motion(
                self._columns, mechanism, {}, apart=votes_apart(mechanism, self._terms.labels)
            )
            with contextlib.suppress(BudgetExceededError):  # which is told when it has to pay
                self._party.accountant.price(
                    mechanism, motion.n_rows(question), n_columns=motion.n_columns
                )

    def _reserve(self, message: Message) -> Message:
        question = self._asked(message)
        if self._motions or self._party.has_paid(question):
            raise MessageError("a question came to be paid twice")
        said, name = message.words.get("motions"), self._party.name
        motions = motions_of(said, self._terms, name, self._columns, question.asker)
        # Set before anything is paid: after a failure in the middle no other question is taken.
        self._motions = motions
        self.idle.clear()
        try:
            self._party.reserve(question, motions)
        except BudgetExceededError:
            self._forget_payment()
            return Message("cannot", {"why": NO_BUDGET})
        return Message("reserved")

    def _cast(self, message: Message) -> Message:
        question = self._paid(message)
        if self._recipients is not None:
            raise MessageError("ballots were asked for, and it was agreed that none is seen")
        cast = self._party.cast(question)
        told = zip(cast, self._motions, strict=True)
        return Message("cast", {}, b"".join(_as_bytes(each, motion) for each, motion in told))

    def _deliver(self, message: Message) -> Message:
        question, session = self._paid(message), message.words.get("session")
        if self._recipients is None:
            raise MessageError("shares were asked for, and it was agreed on ballots")
        if not (isinstance(session, str) and 0 < len(session) <= 64):
            raise MessageError("a vote has no name")
        if self._delivered is not None:
            # Of new shares, with new noise, another winner could be opened, which nobody paid for.
            raise MessageError("shares were asked for twice")
        self._delivered = self._recipients(session)
        try:
            self._party.deliver(question, self._delivered)
        except OSError:
            return Message("cannot", {"why": NO_DELIVERY})
        return Message("delivered")

    def _close(self, message: Message) -> Message:
        question = self._paid(message)
        n_rows = [each.n_rows(question) for each in self._motions]
        tallies = tallies_of(message.words.get("tallies"), n_rows)
        if self._recipients is not None and [each.n_rows for each in tallies] != n_rows:
            raise MessageError("fewer rows were begun than shares were delivered for")
        self._party.close(question, tallies)
        self._forget_payment()
        self._question = None
        return Message("closed")

    def _void(self, message: Message) -> Message:
        question = self._paid(message)
        if self._delivered is None:
            self._party.void(question)
        else:  # shares are elsewhere, and so is who knows whether they were opened
            self._party.withdraw(question, self._delivered)
        self._forget_payment()
        return Message("voided")

    def _forget_payment(self) -> None:
        self._motions, self._delivered = [], None
        self.idle.set()

    def _asked(self, message: Message) -> Question:
        if self._question is None or message.words.get("question") != self._question.id:
            raise MessageError(f"{message.kind!r} came for a question that was not asked")
        return self._question

    def _paid(self, message: Message) -> Question:
        question = self._asked(message)
        if not self._motions:
            raise MessageError(f"{message.kind!r} came for a question that was not paid")
        return question


def _as_bytes(cast: Any, motion: Motion) -> bytes:
    # As long as any ballots: how long a message is shows through TLS.
    return np.asarray(cast).astype(motion.ballot_type).tobytes()
