"""Parties elsewhere as a vote uses them, and the list of those that are connected."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from typing import NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import BudgetExceededError
from secretballot.parties._message import Buffer, Fields, Message, MessageError, read_field
from secretballot.parties._motion import Motion
from secretballot.parties._question import Question
from secretballot.parties._server import DaemonThreads
from secretballot.parties._stream import ChannelError, Stream
from secretballot.parties._voter import Absent, Voter, Voters, VoteTally

#: Reasons for which a party can't vote. It never says more, which only it may know.
NO_BUDGET, NO_COLUMNS = "budget", "columns"

#: Kind of the answer to each kind of request.
_ANSWERS = {"reserve": "reserved", "cast": "cast", "close": "closed", "void": "voided"}

T = TypeVar("T")


class RemoteVoter:
    """A party at the other end of a stream.

    A party that is late, answers nonsense or breaks off is `Absent`, and the stream is closed.
    `ledger` is a digest of its budget.
    """

    def __init__(self, ledger: str, stream: Stream, timeout: float) -> None:
        self.name = stream.caller
        self.ledger = ledger
        self.stream = stream
        self._timeout = timeout
        self._motions: Sequence[Motion] = ()

    def begin_invite(self, question: Question, fields: Fields, body: Buffer) -> None:
        """Send an invitation with the rows."""
        fields = {**fields, "question": question.id, "asker": question.asker}
        self.stream.send(Message("invite", fields, body))

    def invite(self, question: Question) -> tuple[int, ...]:
        """Return the columns that it votes on; a party with other rows is absent."""
        answer = self._receive("invited")
        if answer.kind == "cannot":
            raise Absent(self.name, "the rows do not have the columns of its own")
        n_columns = question.target.n_columns
        try:
            columns = read_field(answer.fields, "columns", list[int])
        except MessageError:
            self._fail("columns")
        is_known = columns == sorted(set(columns)) and max(columns, default=0) < n_columns
        # With classes there is one vote, on all of them.
        if not is_known or (question.classes is not None and len(columns) != n_columns):
            self._fail("columns")
        return tuple(columns)

    def reserve(self, question: Question, motions: Sequence[Motion]) -> None:
        """Let it pay the most that the votes can cost."""
        described = [
            {"columns": motion.columns, "weight": motion.weight, "voters": list(motion.voters)}
            for motion in motions
        ]
        answer = self._ask(question, "reserve", motions=described)
        if answer.kind == "cannot":
            if answer.fields.get("why") != NO_BUDGET:
                self._fail("no reason")
            raise BudgetExceededError(f"the budget of {self.name!r} does not allow it.")
        self._motions = motions

    def cast(self, question: Question) -> list[NDArray[np.intp]]:
        """Return its ballots."""
        answer = self._ask(question, "cast", self._n_bytes(question))
        start, ballots = 0, list[NDArray[np.intp]]()
        if answer.kind == "cannot":
            self._fail("no ballots")
        if len(answer.body) != self._n_bytes(question):
            self._fail("ballots on something else")
        for motion in self._motions:
            shape = motion.ballot_shape(question)
            codes = np.frombuffer(answer.body, motion.ballot_type, math.prod(shape), start)
            ballots.append(self._checked_ballots(codes.reshape(shape), motion))
            start += codes.nbytes
        return ballots

    def close(self, question: Question, tallies: Sequence[VoteTally]) -> None:
        """Let it record that the votes were opened."""
        self._ask(question, "close", tallies=[tally._asdict() for tally in tallies])

    def void(self, question: Question) -> None:
        """Let it take back its payment."""
        self._ask(question, "void")

    def dismiss(self) -> None:
        """Tell it that there will be no more questions."""
        self.stream.send(Message("end"))
        self.stream.finish()

    def _n_bytes(self, question: Question) -> int:
        """Compute the length of its ballots on all motions."""
        return sum(
            motion.ballot_type.itemsize * math.prod(motion.ballot_shape(question))
            for motion in self._motions
        )

    def _checked_ballots(
        self, codes: NDArray[np.unsignedinteger], motion: Motion
    ) -> NDArray[np.intp]:
        if (codes > (1 if codes.ndim == 2 else motion.n_columns - 1)).any():
            self._fail("ballots on something else")
        ballots = codes.astype(np.intp)
        limit = motion.counting.max_positives
        if limit is not None and (ballots.sum(axis=1) > limit).any():
            self._fail("ballots for too many labels")
        return ballots

    def _ask(self, question: Question, kind: str, max_bytes: int = 0, **fields: object) -> Message:
        self.stream.send(Message(kind, {"question": question.id, **fields}))
        return self._receive(_ANSWERS[kind], max_bytes)

    def _receive(self, kind: str, max_bytes: int = 0) -> Message:
        try:
            return self.stream.receive(self._timeout, max_bytes, (kind, "cannot"))
        except ChannelError as error:
            raise Absent(self.name, str(error)) from None

    def _fail(self, fault: str) -> NoReturn:
        self.stream.close()
        raise Absent(self.name, f"it answered nonsense: {fault}")


class RemoteVoters(Voters):
    """Parties elsewhere, who are asked side by side."""

    def ask(self, request: Callable[[Voter], T]) -> dict[str, T]:
        """Return all replies, or raise the error of a party when all have replied."""
        threads = DaemonThreads()
        replies = {name: threads.submit(request, voter) for name, voter in self.items()}
        wait(replies.values())
        return {name: reply.result() for name, reply in replies.items()}


class Attendance:
    """Connected parties, by name."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._voters: dict[str, RemoteVoter] = {}

    def voters(self, *, without: str | None = None) -> dict[str, RemoteVoter]:
        """Return all who are connected, or all but one."""
        with self._changed:
            return {
                name: voter
                for name, voter in sorted(self._voters.items())
                if name != without and not voter.stream.is_closed
            }

    def enter(self, voter: RemoteVoter) -> None:
        """Let a party vote from the next question on, and close its earlier connection.

        A party with the budget of another one is refused: its people would have two ballots.
        """
        with self._changed:
            for other in self._voters.values():
                if other.ledger == voter.ledger and other.name != voter.name:
                    raise ChannelError(
                        f"{voter.name!r} has the ledger of {other.name!r}, which is there; each "
                        "party needs a budget of its own"
                    )
            earlier = self._voters.get(voter.name)
            self._voters[voter.name] = voter
            voter.stream.send(Message("joined"))  # before any question
            self._changed.notify_all()
        if earlier is not None:
            earlier.stream.close()

    def leave(self, voter: RemoteVoter) -> None:
        """Remove a party, unless it has come again by another connection."""
        with self._changed:
            if self._voters.get(voter.name) is voter:
                del self._voters[voter.name]
                self._changed.notify_all()

    def wait_for(self, names: set[str], seconds: float) -> bool:
        """Wait until some parties are connected; return True if they are."""
        with self._changed:
            return self._changed.wait_for(lambda: names <= set(self._voters), seconds)
