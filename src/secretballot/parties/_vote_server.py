"""The server at which parties in processes of their own meet, on the aggregator's machine."""

from __future__ import annotations

import math
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import BudgetExceededError
from secretballot._base._sklearn_compat import _num_samples
from secretballot.ensemble._mechanism_choice import check_votes_on
from secretballot.parties._aggregator import (
    Absent,
    TrustedAggregator,
    Voter,
    VoteRefusedError,
    Voters,
    VoteTally,
)
from secretballot.parties._agreement import Agreement
from secretballot.parties._channel import SILENCE, Credentials, DaemonThreads, Server
from secretballot.parties._question import Motion, Question, votes_apart
from secretballot.parties._stream import (
    MAX_PIECE,
    Buffer,
    ChannelError,
    Fields,
    Message,
    MessageError,
    Stream,
    Traffic,
    read_field,
)
from secretballot.parties._table import TABLE_FIELDS, decode_table
from secretballot.parties._terms import (
    NO_BUDGET,
    OPENED,
    UNKNOWN,
    VOID,
    VOTING,
    VoteTerms,
    check_settings,
    encode_answer,
)
from secretballot.parties._vote import hold_vote
from secretballot.tables._labels import declared_classes

#: Kind of the answer to each kind of request.
_ANSWERS = {"reserve": "reserved", "cast": "cast", "close": "closed", "void": "voided"}

T = TypeVar("T")


class RemoteVoter:
    """A party at the other end of a stream; `ledger` is a digest of its budget.

    A party that is late, answers nonsense or breaks off is `Absent`, and the stream is closed.
    """

    def __init__(self, ledger: str, stream: Stream, timeout: float) -> None:
        self.name = stream.caller
        self.ledger = ledger
        self.stream = stream
        self._timeout = timeout
        self._motions: Sequence[Motion] = ()

    def begin_invite(self, question: Question, fields: Fields, body: Buffer) -> None:
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
        self._ask(question, "close", tallies=[tally._asdict() for tally in tallies])

    def void(self, question: Question) -> None:
        self._ask(question, "void")

    def dismiss(self) -> None:
        self.stream.send(Message("end"))
        self.stream.finish()

    def _n_bytes(self, question: Question) -> int:
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
        with self._changed:
            return {
                name: voter
                for name, voter in sorted(self._voters.items())
                if name != without and not voter.stream.is_closed
            }

    def enter(self, voter: RemoteVoter) -> None:
        """Let a party vote from the next question on, and close its earlier connection."""
        with self._changed:
            for other in self._voters.values():
                if other.ledger == voter.ledger and other.name != voter.name:
                    # Its people would have two ballots.
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
        with self._changed:
            return self._changed.wait_for(lambda: names <= set(self._voters), seconds)


#: Number of votes that a server remembers.
_MOST_VOTES = 1_000
#: Seconds at the end until connections are closed.
_GOODBYE = 1.0
#: Seconds in which the asker confirms, when all have voted, that it is connected.
_CONFIRMATION = 20.0
#: Bytes of a ballot on a row or a label, as it is counted.
_BALLOT = 8


@dataclass
class VoteRecord:
    asker: str
    n_rows: int
    state: str = VOTING
    answer: Message | None = None


class VoteRecords:
    def __init__(self) -> None:
        self._records: dict[str, VoteRecord] = {}
        self._lock = threading.Lock()

    def begin(self, question: str, asker: str, n_rows: int) -> VoteRecord:
        """Remember a vote, and forget answers of earlier ones to the same party."""
        record = VoteRecord(asker, n_rows)
        with self._lock:
            for other in self._records.values():
                if other.asker == asker:
                    other.answer = None
            self._records[question] = record
            for oldest in list(self._records)[:-_MOST_VOTES]:
                del self._records[oldest]
        return record

    def outcome(self, question: object, party: str) -> Message:
        """Describe a vote to a party: its state and, if the party asked, the answer."""
        with self._lock:
            record = self._records.get(str(question), VoteRecord("", 0, UNKNOWN))
            fields: dict[str, object] = {"state": record.state}
            if record.answer is None or record.asker != party:
                return Message("outcome", fields)
            fields |= {"n_rows": record.n_rows, "answer": record.answer.fields}
            return Message("outcome", fields, record.answer.body)


class VoteServer:
    """Server at which parties in processes of their own ask each other, over mutual TLS.

    Each party runs a `Membership`. All trust this server: it sees the rows and the ballots, draws
    the noise, and sends the answer to the party that asked. It keeps nothing.

    Parameters
    ----------
    agreement : Agreement
        What all parties agreed on; each compares it with its own. Parties are known by the names in
        their certificates (the subject's common name, or a DNS name of subjectAltName). A
        certificate that names none of them, or two, is refused.
    classes : array-like, default=None
        The classes that rows may have.
    labels : sequence of str, default=None
        Instead of `classes`, all labels that any party knows.
    credentials : Credentials
        The aggregator's certificate, and the authority that parties' certificates are from.
    aggregator : TrustedAggregator, default=None
        Counts ballots and draws the noise; None: a new one. Parties must have agreed to the same
        kind.
    address : tuple of str and int, default=("127.0.0.1", 0)
        Where to listen; port 0 takes a free one.
    timeout : float, default=300.0
        Seconds that a party has to answer one message: with its ballots, or that it has paid (to
        price a plan of many classes takes a while, once). A party that is late is absent. So is one
        without a sign of life for 30 seconds, or for twice the timeout if that is less.
    max_bytes : int, default=2**30
        The longest question. The server takes at most four times as much memory for all of them.

    Attributes
    ----------
    address : tuple of str and int
        Where it listens.
    traffic : Traffic
        Numbers of messages (`n_messages`), and of bytes before encryption (`n_bytes`), sent and
        received so far.

    See Also
    --------
    Membership : A party's side.
    Collaboration : The same in one process.

    Notes
    -----
    One question is voted on at a time; another one waits for `timeout`, and is refused then.
    Refused calls are logged, by the logger ``"secretballot.parties"``.

    Examples
    --------
    On the aggregator's machine::

        credentials = Credentials("authority.pem", "aggregator.pem", "aggregator.key")
        VoteServer(
            agreement, classes=[0, 1], credentials=credentials, address=("0.0.0.0", 7443)
        ).serve_forever()

    """

    def __init__(
        self,
        agreement: Agreement,
        *,
        classes: ArrayLike | None = None,
        labels: Sequence[str] | None = None,
        credentials: Credentials,
        aggregator: TrustedAggregator | None = None,
        address: tuple[str, int] = ("127.0.0.1", 0),
        timeout: float = 300.0,
        max_bytes: int = 2**30,
    ) -> None:
        self.aggregator = check_settings(agreement, credentials, aggregator, timeout, max_bytes)
        if (classes is None) == (labels is None):
            raise ValueError("give classes (one class a row) or labels (several), and not both.")
        self.parties = tuple(agreement.parties)
        self.agreement = agreement
        self.timeout = float(timeout)
        self.max_bytes = max_bytes
        self.address = address
        self.traffic = Traffic()
        self._terms = VoteTerms(
            agreement,
            None if classes is None else tuple(declared_classes(classes).tolist()),
            None if labels is None else tuple(labels),
            self.aggregator.trust,
        )
        if not votes_apart(agreement.mechanism, self._terms.labels):
            check_votes_on(agreement.mechanism, self._terms.target)
        columns = tuple(range(self._terms.target.n_columns))
        most = self.parties[: agreement.most_voters]
        self.aggregator.check([agreement.motion(columns, most, self._terms.labels)])
        Message("terms", self._terms.fields()).head()  # raises here what can't be sent
        self._credentials = credentials
        self._attendance = Attendance()
        self._records = VoteRecords()
        self._one_at_a_time, self._decoding = threading.Lock(), threading.Lock()
        self._server: Server | None = None
        self._ended = threading.Event()

    @property
    def present(self) -> tuple[str, ...]:
        """The parties that are connected, and will be asked."""
        return tuple(self._attendance.voters())

    def wait_for(self, parties: Sequence[str], seconds: float) -> bool:
        """Wait until parties are connected.

        Parameters
        ----------
        parties : sequence of str
        seconds : float
            The longest wait.

        Returns
        -------
        bool
            True if all of them are.
        """
        return self._attendance.wait_for(set(parties), seconds)

    def start(self) -> Self:
        """Listen, in threads of their own.

        Returns
        -------
        VoteServer
        """
        self._server = Server(
            self.address,
            {
                "terms": self._send_terms,
                "join": self._join,
                "ask": self._hear,
                "outcome": self._send_outcome,
            },
            credentials=self._credentials,
            names=self.parties,
            # Two questions on their way or being voted on, and fields.
            max_bytes=2 * self.max_bytes + MAX_PIECE,
            silence=min(SILENCE, 2 * self.timeout),
        )
        self.address, self.traffic = self._server.address, self._server.traffic
        self._server.start()
        return self

    def serve_forever(self) -> None:
        """Listen until `close` is called, or the process is interrupted."""
        with self:
            self._ended.wait()

    def close(self) -> None:
        """Finish a vote that has begun, tell all parties, and end."""
        if self._server is None:
            return
        server, self._server = self._server, None
        with self._alone():
            for voter in self._attendance.voters().values():
                voter.dismiss()
        server.close(_GOODBYE)
        self._ended.set()

    def _send_terms(self, stream: Stream) -> None:
        stream.receive(self.timeout)
        stream.send(Message("terms", {**self._terms.fields(), "name": stream.caller}))

    def _join(self, stream: Stream) -> None:
        ledger = read_field(stream.receive(self.timeout).fields, "ledger", str)
        voter = RemoteVoter(ledger, stream, self.timeout)
        try:
            self._attendance.enter(voter)
            stream.wait_closed()
        finally:
            self._attendance.leave(voter)

    def _send_outcome(self, stream: Stream) -> None:
        question = stream.receive(self.timeout).fields.get("question")
        stream.send(self._records.outcome(question, stream.caller))

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Keep other questions out; yield False if another one did not end in time."""
        is_alone = self._one_at_a_time.acquire(timeout=self.timeout)
        try:
            yield is_alone
        finally:
            if is_alone:
                self._one_at_a_time.release()

    def _hear(self, stream: Stream) -> None:
        """Let the others vote on a question, and send the answer to the asker alone."""
        requests = [stream.receive(self.timeout, self.max_bytes)]
        try:
            question = self._question(requests[0], stream.caller)
        except MessageError as error:
            stream.send(_refusal(f"the aggregator can't read the rows: {error}"))
            return
        with self._alone() as is_alone:
            if is_alone:
                stream.send(self._vote(question, requests, stream))
            else:
                stream.send(_refusal("another question is being voted on; ask again"))

    def _question(self, request: Message, asker: str) -> Question:
        with self._decoding:
            n_rows = _num_samples(decode_table(request.fields, request.body, self.max_bytes))
        n_cells = n_rows * len(self._terms.labels or "1") * len(self.agreement.parties)
        if not 0 < n_cells <= self.max_bytes // _BALLOT:
            raise MessageError(
                f"{n_rows:,} rows, and ballots on 1 to "
                f"{n_rows * self.max_bytes // _BALLOT // max(1, n_cells):,} fit into max_bytes="
                f"{self.max_bytes:,}"
            )
        # The server needs the number of rows alone, and sends their bytes on as they came.
        return self._terms.question(uuid.uuid4().hex, asker, np.empty((n_rows, 0)))

    def _vote(self, question: Question, requests: list[Message], stream: Stream) -> Message:
        """Return the answer; the request is released before parties vote."""
        record = self._records.begin(question.id, stream.caller, question.n_rows)
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
                question, self.agreement, RemoteVoters(voters), self.aggregator, before_open=confirm
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

    def __enter__(self) -> Self:
        return self if self._server else self.start()

    def __exit__(self, *_: object) -> None:
        self.close()


def _refusal(reason: str) -> Message:
    text = f"{reason.rstrip('.')}. Nothing was opened, and nothing spent."
    return Message("refused", {"why": text})
