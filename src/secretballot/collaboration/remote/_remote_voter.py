"""A party elsewhere, as a vote sees it: each call is a message and its answer."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from secretballot._errors import BudgetExceededError
from secretballot.collaboration._question import Motion, Question
from secretballot.collaboration._voter import Absent, Tally
from secretballot.collaboration.remote._channel import Channel, ChannelError
from secretballot.collaboration.remote._message import Message
from secretballot.collaboration.remote._session import NO_BUDGET
from secretballot.computing import LineError, Recipients


@dataclass(frozen=True, kw_only=True)
class ForwardedQuestion(Question):
    """A question with its rows as they came, to be sent on as they are."""

    words: dict[str, Any] = field(repr=False)
    arrays: Sequence[NDArray[Any]] = field(repr=False)

    def message(self) -> Message:
        """Return what parties are sent."""
        told = {**self.words, "question": self.id, "asker": self.asker}
        return Message("invite", told, self.arrays)


class RemoteVoter:
    """A party at the other end of a channel.

    Whoever is late, answers nonsense or breaks off is `Absent`, and the channel is closed: nothing
    of it comes in later.

    Parameters
    ----------
    name : str
        From its certificate.
    ledger : str
        A digest of its budget.
    channel : Channel
    """

    def __init__(self, name: str, ledger: str, channel: Channel) -> None:
        self.name = name
        self.ledger = ledger
        self.channel = channel
        self._motions: Sequence[Motion] = ()
        self._begun: dict[tuple[str, str], Future[Message]] = {}

    def begin(self, question: Any, what: str) -> None:
        """Send what will be asked next, so that parties need not wait for each other."""
        message = Message(what, {"question": question.id})
        if what == "invite":
            message = question.message()
        answer: Future[Message] = Future()
        self._begun[question.id, what] = answer

        def run() -> None:
            try:
                answer.set_result(self.channel.ask(message, _ANSWERS[what], "cannot"))
            except Exception as error:
                answer.set_exception(error)

        threading.Thread(target=run, daemon=True).start()

    def invite(self, question: Question) -> tuple[int, ...]:
        """Return the columns that it votes on; who has other rows is absent."""
        answer = self._ended(question, "invite")
        if answer.kind == "cannot":
            raise Absent(self.name, "the rows do not have the columns of its own")
        columns = answer.words.get("columns")
        n_columns = question.target.n_columns
        if (
            not isinstance(columns, list)
            or not all(type(at) is int and 0 <= at < n_columns for at in columns)
            or columns != sorted(set(columns))
        ):
            self._nonsense("columns")
        return tuple(columns)

    def reserve(self, question: Question, motions: Sequence[Motion]) -> None:
        """Let it pay for what it may cost."""
        told = [
            {
                "columns": list(motion.columns),
                "weight": motion.weight,
                "voters": list(motion.voters),
            }
            for motion in motions
        ]
        answer = self._ask(question, "reserve", motions=told)
        if answer.kind == "cannot":
            if answer.words.get("why") != NO_BUDGET:
                self._nonsense("no reason")
            raise BudgetExceededError(f"the budget of {self.name!r} does not allow it.")
        self._motions = motions

    def cast(self, question: Question) -> list[NDArray[Any]]:
        """Return its ballots."""
        found = list(self._ended(question, "cast").arrays)
        if len(found) != len(self._motions):
            self._nonsense(f"{len(found)} ballots")
        return [
            self._ballots(each, motion, question)
            for each, motion in zip(found, self._motions, strict=True)
        ]

    def deliver(self, question: Question, recipients: Recipients) -> None:
        """Let it send shares of its ballots to computing parties, whose addresses it has.

        It is told under which name they collect shares, and nothing else of them.
        """
        answer = self._ask(question, "deliver", session=recipients.session)
        if answer.kind == "cannot":
            raise LineError(f"{self.name!r} did not reach all computing parties.")

    def close(self, question: Question, tallies: Sequence[Tally]) -> None:
        """Let it record that the votes were opened."""
        self._ask(question, "close", tallies=[tally._asdict() for tally in tallies])

    def void(self, question: Question) -> None:
        """Let it take everything back."""
        if (question.id, "cast") in self._begun:  # what was sent is answered first
            self._ended(question, "cast")
        self._ask(question, "void")

    def ping(self) -> None:
        """Ask whether it is there, and let it know that somebody is here."""
        self.channel.ask(Message("here"), "here")

    def dismiss(self) -> None:
        """Tell it that there will be no more questions."""
        with contextlib.suppress(ChannelError):
            self.channel.ask(Message("end"), "ended")
        self.channel.close()

    def _ballots(self, cast: NDArray[Any], motion: Motion, question: Question) -> NDArray[Any]:
        several = question.classes is None
        shape = (question.n_rows, motion.n_columns) if several else (question.n_rows,)
        most = 1 if several else motion.n_columns - 1
        if cast.dtype.kind != "u" or cast.shape != shape or (cast > most).any():
            self._nonsense("ballots on something else")
        ballots = cast.astype(np.intp)
        limit = motion.counting.max_positives
        if limit is not None and (ballots.sum(axis=1) > limit).any():
            self._nonsense("ballots for too many labels")
        return ballots

    def _ask(self, question: Question, what: str, **words: Any) -> Message:
        message = Message(what, {"question": question.id, **words})
        try:
            return self.channel.ask(message, _ANSWERS[what], "cannot")
        except ChannelError as error:
            raise Absent(self.name, str(error)) from None

    def _ended(self, question: Question, what: str) -> Message:
        if (question.id, what) not in self._begun:
            self.begin(question, what)
        try:
            return self._begun.pop((question.id, what)).result()
        except ChannelError as error:
            raise Absent(self.name, str(error)) from None

    def _nonsense(self, what: str) -> NoReturn:
        self.channel.close()
        raise Absent(self.name, f"it answered nonsense: {what}")


_ANSWERS = {
    "invite": "invited",
    "reserve": "reserved",
    "cast": "cast",
    "deliver": "delivered",
    "close": "closed",
    "void": "voided",
}
