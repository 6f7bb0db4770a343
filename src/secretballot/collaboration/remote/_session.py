"""A party's side of votes: what it is asked for comes as messages, and nothing of it is code."""

from __future__ import annotations

import contextlib
import math
import threading
from typing import Any

import numpy as np

from secretballot._errors import BudgetExceededError
from secretballot.collaboration._party import Party
from secretballot.collaboration._question import Motion, Question, for_party, for_voters
from secretballot.collaboration._voter import Tally
from secretballot.collaboration.remote._message import Message, MessageError
from secretballot.collaboration.remote._table import take_table
from secretballot.collaboration.remote._terms import Terms

#: What a party can't do, in a word for the others: never why, which only it may know.
NO_BUDGET, NO_COLUMNS = "budget", "columns"


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
    """

    def __init__(self, party: Party, terms: Terms) -> None:
        self.idle = threading.Event()
        self.idle.set()
        self._party, self._terms = party, terms
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
        if message.kind == "here":
            return Message("here")
        what = {
            "invite": self._invite,
            "reserve": self._reserve,
            "cast": self._cast,
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
        if not (asker is None or isinstance(asker, str)) or asker == self._party.name:
            raise MessageError(f"a question is said to be of {asker!r}")
        self._question = None
        try:
            question = Question(
                id=id,
                asker=asker,
                X=take_table(words, list(message.arrays)),
                classes=self._terms.classes,
                labels=self._terms.labels,
                aggregator=self._terms.aggregator,
            )
            self._columns = self._party.invite(question)
        except ValueError:  # rows that can't be read here are not of its kind either
            return Message("cannot", {"why": NO_COLUMNS})
        self._question = question
        self._price_ahead(question)
        return Message("invited", {"columns": list(self._columns)})

    def _price_ahead(self, question: Question) -> None:
        """Compute the price while others do: they are invited together, and pay one by one."""
        mechanism = self._terms.agreement.mechanism
        if getattr(mechanism, "n_votes", None) is None:
            mechanism = for_party(mechanism, self._terms.agreement.weight(self._party.name))
            with contextlib.suppress(BudgetExceededError):  # which is told when it has to pay
                self._party.accountant.price(
                    mechanism, question.n_rows, n_columns=len(self._columns)
                )

    def _reserve(self, message: Message) -> Message:
        question = self._asked(message)
        if self._motions:
            raise MessageError("a question came to be paid twice")
        motions = self._agreed(message.words.get("motions"))
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
        cast = self._party.cast(question)
        return Message("cast", {}, [_small(each) for each in cast])

    def _close(self, message: Message) -> Message:
        question = self._paid(message)
        tallies = [_tally(each, question.n_rows) for each in _list(message.words.get("tallies"))]
        if len(tallies) != len(self._motions):
            raise MessageError("there are not as many tallies as votes")
        self._party.close(question, tallies)
        self._forget_payment()
        self._question = None
        return Message("closed")

    def _void(self, message: Message) -> Message:
        question = self._paid(message)
        self._party.void(question)
        self._forget_payment()
        return Message("voided")

    def _forget_payment(self) -> None:
        self._motions = []
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

    def _agreed(self, said: Any) -> list[Motion]:
        """Return motions as the party's own agreement has them, if what was said fits it."""
        agreement, motions, used = self._terms.agreement, list[Motion](), set[int]()
        own = agreement.weight(self._party.name)
        for each in _list(said):
            columns, weight, total = _fields(each, "columns", "weight", "total_weight")
            columns = tuple(_list(columns))
            # With classes there is one vote, on all of them.
            whole = self._terms.classes is None or columns == self._columns
            fits = columns and whole and all(type(at) is int for at in columns)
            if not fits or set(columns) - set(self._columns) or len(set(columns)) < len(columns):
                raise MessageError(f"a vote on columns {columns} of {self._columns}")
            if used & set(columns):
                raise MessageError(f"two votes on the columns {sorted(used & set(columns))}")
            if weight != own:
                raise MessageError(f"a ballot of weight {weight!r} instead of {own:g}")
            if total is not None and not (_is_number(total) and total > own):
                raise MessageError(f"a vote of weight {total!r} in all, and {own:g} is one's own")
            mechanism = agreement.mechanism
            if (total is None) != (getattr(mechanism, "n_votes", None) is None):
                raise MessageError("what all ballots weigh is said where nobody asks, or not said")
            try:
                if total is not None:
                    mechanism = for_voters(mechanism, float(total))
                mechanism = for_party(mechanism, own)
            except ValueError as error:
                raise MessageError(f"a vote of weight {total!r} in all: {error}") from None
            motions.append(Motion(columns, mechanism, own))
            used |= set(columns)
        if not motions:
            raise MessageError("a vote on nothing")
        return motions


def _small(cast: Any) -> Any:
    array = np.asarray(cast)
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def _tally(said: Any, n_rows: int) -> Tally:
    rows, answers = _fields(said, "n_rows", "n_answers")
    if type(rows) is not int or not 0 < rows <= n_rows:
        raise MessageError(f"{rows!r} rows of {n_rows} were begun")
    if answers is not None and (type(answers) is not int or not 0 <= answers <= rows):
        raise MessageError(f"{answers!r} rows of {rows} were answered")
    return Tally(rows, answers)


def _fields(said: Any, *names: str) -> list[Any]:
    if not isinstance(said, dict) or set(said) != set(names):
        raise MessageError(f"of a vote {names} are told, and here {said!r} was")
    return [said[name] for name in names]


def _list(said: Any) -> list[Any]:
    if not isinstance(said, list):
        raise MessageError(f"a list was expected, and {said!r} came")
    return said


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
