"""Questions of parties elsewhere, voted on one at a time."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from secretballot._sklearn_compat import _num_samples
from secretballot.collaboration._aggregator import Aggregator
from secretballot.collaboration._question import Question
from secretballot.collaboration._vote import hold_vote
from secretballot.collaboration._voter import VoteRefusedError
from secretballot.collaboration.remote._answer_messages import (
    OPENED,
    UNKNOWN,
    VOID,
    VOTING,
    VoteRecords,
    encode_answer,
)
from secretballot.collaboration.remote._remote_voter import Attendance
from secretballot.collaboration.remote._table import TABLE_FIELDS, decode_table
from secretballot.collaboration.remote._vote_terms import VoteTerms
from secretballot.transport import Message, MessageError, Stream

#: Seconds in which the asker confirms, when all have voted, that it is connected.
_CONFIRMATION = 20.0
#: Bytes of a ballot on a row or a label, as it is counted.
_BALLOT = 8


class Hearing:
    """Votes of all connected parties on the question of one.

    Parameters
    ----------
    attendance : Attendance
    terms : VoteTerms
    aggregator : Aggregator
    timeout : float
        Seconds to send a question, and to wait for another one to end.
    max_bytes : int
        The longest question.
    """

    def __init__(
        self,
        attendance: Attendance,
        terms: VoteTerms,
        aggregator: Aggregator,
        timeout: float,
        max_bytes: int,
    ) -> None:
        self._attendance, self._terms, self._aggregator = attendance, terms, aggregator
        self._timeout, self._max_bytes = timeout, max_bytes
        self._one_at_a_time, self._decoding = threading.Lock(), threading.Lock()
        self.records = VoteRecords()

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Keep other questions out; yield False if another one did not end in time."""
        is_alone = self._one_at_a_time.acquire(timeout=self._timeout)
        try:
            yield is_alone
        finally:
            if is_alone:
                self._one_at_a_time.release()

    def hear(self, stream: Stream) -> None:
        """Let the others vote on a question, and send the answer to the asker alone."""
        requests = [stream.receive(self._timeout, self._max_bytes)]
        try:
            question = self._question(requests[0], stream.caller)
        except MessageError as error:
            stream.send(_refusal(f"the aggregator can't read the rows: {error}"))
            return
        with self.alone() as is_alone:
            if is_alone:
                stream.send(self._vote(question, requests, stream))
            else:
                stream.send(_refusal("another question is being voted on; ask again"))

    def _question(self, request: Message, asker: str) -> Question:
        with self._decoding:
            n_rows = _num_samples(decode_table(request.fields, request.body, self._max_bytes))
        n_cells = n_rows * len(self._terms.labels or "1") * len(self._terms.agreement.parties)
        if not 0 < n_cells <= self._max_bytes // _BALLOT:
            raise MessageError(
                f"{n_rows:,} rows, and ballots on 1 to "
                f"{n_rows * self._max_bytes // _BALLOT // max(1, n_cells):,} fit into max_bytes="
                f"{self._max_bytes:,}"
            )
        # The server needs the number of rows alone, and sends their bytes on as they came.
        return self._terms.question(uuid.uuid4().hex, asker, np.empty((n_rows, 0)))

    def _vote(self, question: Question, requests: list[Message], stream: Stream) -> Message:
        """Return the answer; the request is released before parties vote."""
        record = self.records.begin(question.id, stream.caller, question.n_rows)
        voters = self._attendance.voters(without=stream.caller)

        def confirm() -> None:
            # Nothing is opened for an asker that is gone: voters take back their payment.
            stream.ask(Message("ready"), "open", timeout=_CONFIRMATION)
            record.state = UNKNOWN  # until the answer is there

        try:
            stream.send(Message("heard", {"question": question.id}))
            request = requests.pop()
            table = {name: request.fields[name] for name in TABLE_FIELDS if name in request.fields}
            for voter in voters.values():
                voter.begin_invite(question, table, request.body)
            del request
            answer = hold_vote(
                question, self._terms.agreement, voters, self._aggregator, before_open=confirm
            )
        except BaseException as error:
            if record.state == VOTING:
                record.state = VOID
            if isinstance(error, VoteRefusedError):
                return Message("refused", {"why": str(error)})
            if isinstance(error, TypeError | ValueError) and record.state == VOID:
                # The connected parties can't vote by this agreement, such as too many colluders.
                return _refusal(str(error))
            raise
        record.answer, record.state = encode_answer(answer, self._terms), OPENED
        return record.answer


def _refusal(reason: str) -> Message:
    text = f"{reason.rstrip('.')}. Nothing was opened, and nothing spent."
    return Message("refused", {"why": text})
