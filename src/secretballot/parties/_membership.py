"""Membership of a party in a process of its own, in votes held elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from typing import Self

import numpy as np

from secretballot._base._errors import BudgetExceededError
from secretballot._base._numbers import check_number
from secretballot._base._sklearn_compat import _num_samples
from secretballot._base._view import visible
from secretballot.parties._aggregator import TrustedAggregator, VoteRefusedError, VoteTally
from secretballot.parties._agreement import Agreement
from secretballot.parties._channel import SILENCE, Connection, Credentials
from secretballot.parties._party import Party
from secretballot.parties._question import Motion, Question, Table, rows_digest
from secretballot.parties._stream import (
    MAX_SECONDS,
    ChannelError,
    Fields,
    Message,
    MessageError,
    Stream,
    read_field,
)
from secretballot.parties._table import decode_table, encode_table
from secretballot.parties._terms import (
    NO_BUDGET,
    NO_COLUMNS,
    TermsError,
    VoteOutcome,
    VoteTerms,
    check_settings,
    check_terms,
    decode_answer,
    decode_outcome,
)
from secretballot.parties._vote import Answer

#: The longest name of a question.
_NAME = 64


class Session:
    """A party's side of the votes of one connection, one after the other.

    Its own agreement decides what it pays. A payment is only taken back when its question was
    closed or voided. Where the connection is lost before, it stays charged: the vote may have been
    opened.
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


#: A party that leaves waits this multiple of its timeout for the end of a vote that it has paid.
_PATIENCE = 10


class Membership:
    """Membership of a party among others that meet at a `VoteServer`, over mutual TLS.

    It votes on what others ask (`serve`, or `start` in a thread), and asks them (`ask`). What its
    ballots may cost follows from the agreement given here, and is reserved on its own ledger before
    they leave. An aggregator with another agreement is refused.

    Parameters
    ----------
    party : Party
        Fitted; its name must be that of the certificate.
    address : tuple of str and int
        Where the server listens.
    credentials : Credentials
        The party's certificate, and the authority that the aggregator's certificate is from.
    agreement : Agreement
        What the party agreed to.
    aggregator : TrustedAggregator, default=None
        What the party agreed to rely on. None: a `TrustedAggregator`, which sees its ballots.
    server_name : str, default=None
        Name that the aggregator's certificate must have; None: the host in `address`.
    timeout : float, default=60.0
        Seconds to connect, and to send one message. A server without a sign of life for 30
        seconds, or for twice the timeout if that is less, is lost.
    max_bytes : int, default=2**30
        The longest question. It takes at most four times as much memory.

    Attributes
    ----------
    fault : Exception or None
        Error that ended voting in a thread (`start`), if it was not ended by the aggregator or by
        `close`.
    asked : str or None
        The id of the last question that the server received from here, for `outcome`.

    See Also
    --------
    VoteServer : The other side.

    Notes
    -----
    After a lost connection `serve` raises `ChannelError`, and may be called again. A vote that was
    not closed by then stays charged, as it may have been opened. The state of a vote can be asked
    later (`outcome`).

    Examples
    --------
    At each party, in a process of its own::

        credentials = Credentials("authority.pem", "north.pem", "north.key")
        place = Membership(
            party, ("votes.example.org", 7443), credentials=credentials, agreement=agreement
        )
        with place:  # votes on what others ask, in a thread
            answer = place.ask(X)
            party.learn(X, answer)

    or ``place.serve()`` to vote only.
    """

    def __init__(
        self,
        party: Party,
        address: tuple[str, int],
        *,
        credentials: Credentials,
        agreement: Agreement,
        aggregator: TrustedAggregator | None = None,
        server_name: str | None = None,
        timeout: float = 60.0,
        max_bytes: int = 2**30,
    ) -> None:
        if not isinstance(party, Party):
            raise TypeError(f"party={party!r} must be a Party.")
        party._check_fitted()
        self.party = party
        self.address = address
        self.agreement = agreement
        self.aggregator = check_settings(agreement, credentials, aggregator, timeout, max_bytes)
        self.server_name = address[0] if server_name is None else server_name
        self.timeout = float(timeout)
        self.max_bytes = max_bytes
        self.asked: str | None = None
        self.fault: Exception | None = None
        self._credentials = credentials
        self._joined: tuple[Connection, Stream, Session] | None = None
        self._thread: threading.Thread | None = None
        self._has_left = False

    def connect(self) -> Self:
        """Connect, and join those who vote.

        Returns
        -------
        Membership

        Raises
        ------
        ChannelError
            If the aggregator can't be reached, has another name, or refuses this certificate.
        TermsError
            If its terms are not what this party agreed to.
        """
        connection = self._connection()
        try:
            session = Session(self.party, self._terms(connection), self.max_bytes)
            stream = connection.open("join")
            request = Message("join", {"ledger": self.party.accountant.scope().ledger})
            stream.ask(request, "joined", timeout=self.timeout)
        except BaseException:
            connection.close()
            raise
        self._joined, self._has_left = (connection, stream, session), False
        return self

    def serve(self) -> None:
        """Vote on what others ask, until the aggregator or `close` ends it.

        It connects first if that was not done, or the connection was lost.

        Raises
        ------
        ChannelError
            If the connection was lost, or a message came that is no request to a party.
        """
        if self._joined is None or self._joined[1].is_closed:
            self.connect()
        assert self._joined is not None
        connection, stream, session = self._joined
        try:
            while (message := stream.receive(None, self.max_bytes)).kind != "end":
                try:
                    answer = session.answer(message)
                except MessageError as error:
                    stream.fail(f"the aggregator asked what it may not: {error}")
                stream.send(answer)
        except ChannelError:
            if not self._has_left:
                raise
        finally:
            stream.close()
            connection.close()
            session.idle.set()

    def start(self) -> Self:
        """Connect, and vote in a thread of its own, so that this one may ask.

        Returns
        -------
        Membership
        """
        self.connect()
        self.fault = None
        self._thread = threading.Thread(target=self._serve_in_thread, daemon=True)
        self._thread.start()
        return self

    def ask(self, X: Table, *, timeout: float = 3600.0) -> Answer:
        """Ask all other parties that are connected for labels; each pays for its own people.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame, list of str} of shape (n_rows, n_features)
            Rows to be labelled: numbers, booleans, times, texts, categories and missing values. The
            aggregator and all who answer see them.
        timeout : float, default=3600.0
            Seconds to wait for the answer.

        Returns
        -------
        Answer
            For `Party.learn`.

        Raises
        ------
        VoteRefusedError
            If too few can vote, a vote failed, or another question took too long.
        ChannelError
            If the connection was lost. `outcome` tells if the question was opened.
        TermsError
            If the aggregator's terms are not what this party agreed to.
        ValueError
            If X holds values that can't be sent, or not the party's columns. Nothing was spent.
        """
        check_number("timeout", timeout, above=0, below=MAX_SECONDS)
        X = self.party._matching(X)
        n_rows = _num_samples(X)
        if n_rows == 0:
            raise ValueError("X has 0 rows; ask about at least one.")
        self.party.check_own_question(X)
        fields, body = encode_table(X)
        if body.nbytes > self.max_bytes:
            raise ValueError(
                f"X takes {body.nbytes:,} bytes, and max_bytes={self.max_bytes:,}; ask about fewer "
                "rows at once, or let both sides allow more."
            )
        with self._connection() as connection:
            terms = self._terms(connection)
            with closing(connection.open("ask", timeout=timeout)) as stream:
                request = Message("ask", fields, body)
                return self._ask(stream, request, terms, n_rows, rows_digest(X), timeout)

    def outcome(self, question: str | None = None) -> VoteOutcome:
        """Ask the server for the state of a question, such as one whose connection was lost.

        Nothing is charged.

        Parameters
        ----------
        question : str, default=None
            Its id: of an entry of the party's own ledger, or of an `Answer`. None: the last one
            that was asked from here.

        Returns
        -------
        VoteOutcome
            With the answer, if it was opened and is this party's last one.
        """
        question = self.asked if question is None else question
        if not isinstance(question, str):
            raise ValueError(f"question={question!r} must be the id of one that was heard.")
        with self._connection() as connection:
            terms = self._terms(connection)
            request = Message("outcome", {"question": question})
            reply = connection.ask(
                "outcome", request, timeout=self.timeout, max_bytes=self.max_bytes
            )
            try:
                return decode_outcome(question, reply, terms)
            except MessageError as error:
                raise ChannelError(f"the outcome can't be read: {error}") from None

    def close(self) -> None:
        """Leave; a vote that this party has paid already is ended first."""
        if self._joined is None:
            return
        connection, stream, session = self._joined
        session.idle.wait(_PATIENCE * self.timeout)
        self._has_left = True
        stream.close()
        if self._thread is not None:
            self._thread.join(_PATIENCE * self.timeout)
            self._thread = None
        connection.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve_in_thread(self) -> None:
        try:
            self.serve()
        except Exception as error:
            self.fault = error

    def _ask(
        self,
        stream: Stream,
        request: Message,
        terms: VoteTerms,
        n_rows: int,
        digest: bytes,
        timeout: float,
    ) -> Answer:
        reply = stream.ask(request, "heard", "refused", timeout=timeout)
        if reply.kind == "heard":
            question = reply.fields.get("question")
            self.asked = question if isinstance(question, str) else None
            if self.asked is not None:
                self.party.remember(self.asked, digest)
            reply = stream.receive(None, 0, ("ready", "refused"))  # until the call's own timeout
        if reply.kind == "ready":  # all have voted, and nothing is opened yet
            stream.send(Message("open"))
            reply = stream.receive(None, self.max_bytes, ("answer", "refused"))
        if reply.kind == "refused":
            raise VoteRefusedError(visible(str(reply.fields.get("why"))))
        try:
            return decode_answer(reply.fields, reply.body, terms, n_rows)
        except MessageError as error:
            stream.fail(f"the answer can't be read: {error}")

    def _connection(self) -> Connection:
        return Connection(
            self.address,
            credentials=self._credentials,
            server_name=self.server_name,
            silence=min(SILENCE, 2 * self.timeout),
        )

    def _terms(self, connection: Connection) -> VoteTerms:
        """Ask for the aggregator's terms, and compare them with the agreement."""
        fields = connection.ask(
            "terms", Message("terms"), timeout=self.timeout, max_bytes=self.max_bytes
        ).fields
        if fields.get("name") != self.party.name:
            raise TermsError(
                f"the certificate is that of {fields.get('name')!r}, and the party is "
                f"{self.party.name!r}"
            )
        return check_terms(fields, self.agreement, self.party, self.aggregator)
