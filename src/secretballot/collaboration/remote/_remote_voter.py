"""A party elsewhere, as a vote sees it: each call is a message and its answer."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from secretballot._errors import BudgetExceededError
from secretballot.collaboration._question import Motion, Question
from secretballot.collaboration._voter import Absent, Tally
from secretballot.collaboration.remote._session import NO_BUDGET
from secretballot.computing import Recipients
from secretballot.transport import ChannelError, Line, Message


class RemoteVoter:
    """A party at the other end of a line.

    Whoever is late, answers nonsense or breaks off is `Absent`, and the line is closed: nothing of
    it comes in later.

    Parameters
    ----------
    ledger : str
        A digest of its budget.
    line : Line
        Its name is that of the caller.
    timeout : float
        Seconds to answer one message.
    """

    def __init__(self, ledger: str, line: Line, timeout: float) -> None:
        self.name = line.caller
        self.ledger = ledger
        self.line = line
        self._timeout = timeout
        self._motions: Sequence[Motion] = ()
        self._begun: dict[tuple[str, str], Future[Message]] = {}

    def begin_invite(self, question: Question, words: Mapping[str, Any], body: Any) -> None:
        """Send an invitation with the rows, so that parties need not wait for each other."""
        told = {**words, "question": question.id, "asker": question.asker}
        self._begin(question, Message("invite", told, body))

    def begin_cast(self, question: Question) -> None:
        """Ask for ballots, so that parties need not wait for each other."""
        sizes = zip(map(math.prod, self._shapes(question)), self._motions, strict=True)
        most = sum(size * motion.ballot_type.itemsize for size, motion in sizes)
        self._begin(question, Message("cast", {"question": question.id}), most)

    def _begin(self, question: Question, message: Message, most: int = 0) -> None:
        answer: Future[Message] = Future()
        self._begun[question.id, message.kind] = answer

        def run() -> None:
            try:
                answer.set_result(self._answer(message, most))
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
            # With classes there is one vote, on all of them.
            or (question.classes is not None and len(columns) != n_columns)
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
        answer, at, found = self._ended(question, "cast"), 0, []
        if answer.kind == "cannot":
            self._nonsense("no ballots")
        for motion, shape in zip(self._motions, self._shapes(question), strict=True):
            end = at + math.prod(shape) * motion.ballot_type.itemsize
            if end > len(answer.body):
                self._nonsense("ballots on something else")
            cast = np.frombuffer(answer.body[at:end], motion.ballot_type).reshape(shape)
            found.append(self._checked(cast, motion))
            at = end
        if at != len(answer.body):
            self._nonsense("ballots on something else")
        return found

    def deliver(self, question: Question, recipients: Recipients) -> None:
        """Let it send shares of its ballots to computing parties, whose addresses it has.

        It is told under which name they collect shares, and nothing else of them.
        """
        answer = self._ask(question, "deliver", session=recipients.session)
        if answer.kind == "cannot":
            raise ChannelError(f"{self.name!r} did not reach all computing parties.")

    def close(self, question: Question, tallies: Sequence[Tally]) -> None:
        """Let it record that the votes were opened."""
        self._ask(question, "close", tallies=[tally._asdict() for tally in tallies])

    def void(self, question: Question) -> None:
        """Let it take everything back."""
        if (question.id, "cast") in self._begun:  # what was sent is answered first
            self._ended(question, "cast")
        self._ask(question, "void")

    def dismiss(self) -> None:
        """Tell it that there will be no more questions."""
        self.line.send(Message("end"))
        self.line.finish()

    def _shapes(self, question: Question) -> list[tuple[int, ...]]:
        """Return the shapes of its ballots."""
        several = question.classes is None
        return [(question.n_rows, len(motion.columns))[: 1 + several] for motion in self._motions]

    def _checked(self, cast: NDArray[Any], motion: Motion) -> NDArray[np.intp]:
        several = cast.ndim == 2
        if (cast > (1 if several else motion.n_columns - 1)).any():
            self._nonsense("ballots on something else")
        ballots = cast.astype(np.intp)
        limit = motion.counting.max_positives
        if limit is not None and (ballots.sum(axis=1) > limit).any():
            self._nonsense("ballots for too many labels")
        return ballots

    def _ask(self, question: Question, what: str, **words: Any) -> Message:
        try:
            return self._answer(Message(what, {"question": question.id, **words}))
        except ChannelError as error:
            raise Absent(self.name, str(error)) from None

    def _answer(self, message: Message, max_bytes: int = 0) -> Message:
        kinds = _ANSWERS[message.kind], "cannot"
        return self.line.ask(message, *kinds, timeout=self._timeout, max_bytes=max_bytes)

    def _ended(self, question: Question, what: str) -> Message:
        """Return the answer to what was begun."""
        try:
            return self._begun.pop((question.id, what)).result()
        except ChannelError as error:
            raise Absent(self.name, str(error)) from None

    def _nonsense(self, what: str) -> NoReturn:
        self.line.close()
        raise Absent(self.name, f"it answered nonsense: {what}")


_ANSWERS = {
    "invite": "invited",
    "reserve": "reserved",
    "cast": "cast",
    "deliver": "delivered",
    "close": "closed",
    "void": "voided",
}
