"""Questions of parties elsewhere, heard one at a time."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from secretballot.collaboration._aggregator import Aggregator, Gathered
from secretballot.collaboration._question import Motion, Question
from secretballot.collaboration._vote import hold_vote
from secretballot.collaboration._voter import Voter, VoteRefusedError
from secretballot.collaboration.remote._attendance import Attendance
from secretballot.collaboration.remote._channel import Channel, ChannelError
from secretballot.collaboration.remote._message import Message, MessageError
from secretballot.collaboration.remote._remote_voter import ForwardedQuestion
from secretballot.collaboration.remote._table import take_table
from secretballot.collaboration.remote._terms import Terms
from secretballot.collaboration.remote._told_answer import told
from secretballot.collaboration.secret_sharing import SecretSharingAggregator


class Hearing:
    """Puts the question of one party to all others who are there."""

    def __init__(
        self, there: Attendance, terms: Terms, aggregator: Aggregator, min_voters: int
    ) -> None:
        self._there, self._terms = there, terms
        self._aggregator, self._least = aggregator, min_voters
        self._one_at_a_time = threading.Lock()

    @contextmanager
    def alone(self, seconds: float) -> Iterator[bool]:
        """Keep other questions out; yield whether that was possible in time."""
        mine = self._one_at_a_time.acquire(timeout=seconds)
        try:
            yield mine
        finally:
            if mine:
                self._one_at_a_time.release()

    def hear(self, channel: Channel, asker: str, asked: Message) -> None:
        """Let the others vote on a question, and tell the asker alone."""
        try:
            question = self._question(asker, asked)
        except MessageError as error:
            why = f"the aggregator can't read the rows: {error}; nothing was spent."
            channel.ask(Message("refused", {"why": why}), "thanks")
            return
        with self.alone(channel.timeout) as mine:
            if mine:
                answer = self._put(question, channel)
            else:
                why = "another question is being voted on; nothing was spent. Ask again."
                answer = Message("refused", {"why": why})
        channel.ask(answer, "thanks")

    def _question(self, asker: str, asked: Message) -> ForwardedQuestion:
        table = take_table(asked.words, list(asked.arrays))
        question = ForwardedQuestion(
            id=uuid.uuid4().hex,
            asker=asker,
            X=table,
            classes=self._terms.classes,
            labels=self._terms.labels,
            aggregator=self._terms.aggregator,
            words={name: asked.words[name] for name in _TABLE if name in asked.words},
            arrays=asked.arrays,
        )
        if question.n_rows == 0:
            raise MessageError("no rows")
        return question

    def _put(self, question: ForwardedQuestion, asker: Channel) -> Message:
        voters = self._there.voters(without=question.asker or "")
        for voter in voters.values():
            voter.begin(question, "invite")
        aggregator = _Attended(self._aggregator, asker)
        try:
            answer = hold_vote(question, self._terms.agreement, voters, aggregator, self._least)
        except VoteRefusedError as error:
            return Message("refused", {"why": str(error)})
        except (TypeError, ValueError) as error:
            # Those who are there can't vote so: fewer than may collude, for example.
            return Message("refused", {"why": f"{error} Nothing was opened, and nothing spent."})
        return told(answer, self._terms)


#: What a table is told by.
_TABLE = ("table", "columns", "shape")


class _Attended(Aggregator):
    """An aggregator for whom parties cast side by side, and who opens nothing for nobody."""

    def __init__(self, aggregator: Aggregator, asker: Channel) -> None:
        self._aggregator, self._asker = aggregator, asker

    def check(self, motions: Sequence[Motion]) -> None:
        self._aggregator.check(motions)

    def gather(self, question: Question, voters: Mapping[str, Voter]) -> Gathered:
        if not isinstance(self._aggregator, SecretSharingAggregator):
            for voter in voters.values():
                voter.begin(question, "cast")  # type: ignore[attr-defined]
        gathered = self._aggregator.gather(question, voters)
        if not self._asker.is_silent():
            # Before anything is opened: the voters take back what they paid.
            raise ChannelError(f"{question.asker!r}, who asked, is gone")
        return gathered

    def open(
        self, gathered: Gathered, motions: Sequence[Motion], random_state: Any
    ) -> list[NDArray[Any]]:
        return self._aggregator.open(gathered, motions, random_state)
