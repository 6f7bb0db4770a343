"""Questions of parties elsewhere, heard one at a time."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._sklearn_compat import _num_samples
from secretballot.collaboration._aggregator import Aggregator, Gathered
from secretballot.collaboration._question import Motion, Question
from secretballot.collaboration._vote import hold_vote
from secretballot.collaboration._voter import Voter, VoteRefusedError
from secretballot.collaboration.remote._attendance import Attendance
from secretballot.collaboration.remote._outcome import OPENED, UNKNOWN, VOID, Record, Records
from secretballot.collaboration.remote._remote_voter import RemoteVoter
from secretballot.collaboration.remote._table import take_table
from secretballot.collaboration.remote._terms import Terms
from secretballot.collaboration.remote._told_answer import told
from secretballot.collaboration.secret_sharing import SecretSharingAggregator
from secretballot.transport import ChannelError, Line, Message, MessageError

log = logging.getLogger("secretballot.collaboration")

#: Seconds in which who asks says, when all have voted, that it is there.
_PRESENT = 20.0
#: Bytes of a ballot on a row or a label, as it is counted.
_BALLOT = 8


class Hearing:
    """Puts the question of one party to all others who are there.

    Parameters
    ----------
    there : Attendance
    terms : Terms
    aggregator : Aggregator
    timeout : float
        Seconds to send a question, and to wait for another one to end.
    max_bytes : int
        The longest question.
    """

    def __init__(
        self,
        there: Attendance,
        terms: Terms,
        aggregator: Aggregator,
        timeout: float,
        max_bytes: int,
    ) -> None:
        self._there, self._terms, self._aggregator = there, terms, aggregator
        self._timeout, self._max_bytes = timeout, max_bytes
        self._one_at_a_time, self._decoding = threading.Lock(), threading.Lock()
        self.records = Records()

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Keep other questions out; yield whether that was possible in time."""
        mine = self._one_at_a_time.acquire(timeout=self._timeout)
        try:
            yield mine
        finally:
            if mine:
                self._one_at_a_time.release()

    def hear(self, line: Line) -> Iterator[Message]:
        """Let the others vote on a question, and tell the asker alone."""
        threading.Thread(target=self._hear, args=[line], daemon=True).start()
        yield from line.outgoing()

    def _hear(self, line: Line) -> None:
        try:
            line.send(self._answer(line))
        except ChannelError as error:
            log.warning("%r, who asked: %s", line.caller, error)
        except Exception:
            line.reason = "a fault of the aggregator's own"
            log.exception("%r, who asked: %s", line.caller, line.reason)
        finally:  # also after what is no Exception
            line.finish()

    def _answer(self, line: Line) -> Message:
        asked = [line.receive(self._timeout, self._max_bytes)]
        try:
            question = self._question(asked[0], line.caller)
        except MessageError as error:
            return _refused(f"the aggregator can't read the rows: {error}")
        with self.alone() as mine:
            if not mine:
                return _refused("another question is being voted on; ask again")
            return self._put(question, asked, line)

    def _question(self, asked: Message, asker: str) -> Question:
        with self._decoding:
            n_rows = _num_samples(take_table(asked.words, asked.body, self._max_bytes))
        n_cells = n_rows * len(self._terms.labels or "1") * len(self._terms.agreement.parties)
        if not 0 < n_cells <= self._max_bytes // _BALLOT:
            raise MessageError(
                f"{n_rows:,} rows, and ballots on 1 to "
                f"{n_rows * self._max_bytes // _BALLOT // max(1, n_cells):,} fit into max_bytes="
                f"{self._max_bytes:,}"
            )
        # Of the rows the server keeps the number, and sends the bytes on as they came.
        return Question(
            id=uuid.uuid4().hex,
            asker=asker,
            X=np.empty((n_rows, 0)),
            classes=self._terms.classes,
            labels=self._terms.labels,
            aggregator=self._terms.aggregator,
        )

    def _put(self, question: Question, asked: list[Message], line: Line) -> Message:
        """Return the answer; of what was asked nothing is held while parties vote."""
        record = self.records.begin(question.id, line.caller, question.n_rows)
        voters = self._there.voters(without=line.caller)
        aggregator = _Attended(self._aggregator, line, record)
        try:
            line.send(Message("heard", {"question": question.id}))
            _invite(question, asked.pop(), list(voters.values()))
            answer = told(
                hold_vote(question, self._terms.agreement, voters, aggregator), self._terms
            )
        except BaseException as error:
            record.state = UNKNOWN if aggregator.has_begun else VOID
            if isinstance(error, VoteRefusedError):
                return Message("refused", {"why": str(error)})
            if isinstance(error, TypeError | ValueError) and not aggregator.has_begun:
                # Those who are there can't vote so: fewer than may collude, for example.
                return _refused(str(error))
            raise
        record.answer, record.state = answer, OPENED
        return answer


def _invite(question: Question, asked: Message, voters: Sequence[RemoteVoter]) -> None:
    """Send the rows to all voters, as they came."""
    words = {name: asked.words[name] for name in _TABLE if name in asked.words}
    for voter in voters:
        voter.begin_invite(question, words, asked.body)


#: What a table is described by.
_TABLE = ("table", "arrays", "shape")


def _refused(why: str) -> Message:
    return Message("refused", {"why": f"{why.rstrip('.')}. Nothing was opened, and nothing spent."})


class _Attended(Aggregator):
    """An aggregator for whom parties cast side by side, and who opens nothing for nobody."""

    def __init__(self, aggregator: Aggregator, asker: Line, record: Record) -> None:
        self._aggregator, self._asker, self._record = aggregator, asker, record
        self.has_begun = False

    def check(self, motions: Sequence[Motion]) -> None:
        self._aggregator.check(motions)

    def gather(
        self, question: Question, motions: Sequence[Motion], voters: Mapping[str, Voter]
    ) -> Gathered:
        if not isinstance(self._aggregator, SecretSharingAggregator):
            for voter in voters.values():
                voter.begin_cast(question)  # type: ignore[attr-defined]
        gathered = self._aggregator.gather(question, motions, voters)
        # Before anything is opened; if nobody is there, the voters take back what they paid.
        self._asker.ask(Message("ready"), "open", timeout=_PRESENT)
        return gathered

    def open(
        self, gathered: Gathered, motions: Sequence[Motion], random_state: Any
    ) -> list[NDArray[Any]]:
        self.has_begun = True
        return self._aggregator.open(gathered, motions, random_state)
