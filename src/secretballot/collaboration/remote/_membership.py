"""A party in a process of its own, as it takes part in votes held elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from secretballot._numbers import check_integer, check_number
from secretballot._sklearn_compat import _num_samples
from secretballot._tables import visible
from secretballot.collaboration._aggregator import Aggregator
from secretballot.collaboration._agreement import Agreement
from secretballot.collaboration._answer import Answer
from secretballot.collaboration._party import Party
from secretballot.collaboration._voter import VoteRefusedError
from secretballot.collaboration.remote._outcome import STATES, VoteOutcome
from secretballot.collaboration.remote._session import Session
from secretballot.collaboration.remote._table import put_table
from secretballot.collaboration.remote._terms import (
    LEDGER,
    Terms,
    TermsError,
    accepted,
    as_aggregator,
)
from secretballot.collaboration.remote._told_answer import answer_bytes, heard
from secretballot.collaboration.secret_sharing import SecretSharingAggregator
from secretballot.transport import (
    MAX_SECONDS,
    ChannelError,
    Connection,
    Credentials,
    Line,
    Message,
    MessageError,
)

#: Whoever leaves waits so many of its timeouts for the end of a vote that it has paid for.
_PATIENCE = 10


class Membership:
    """A party's place among others that meet at a `VoteServer`, over mutual TLS.

    It votes on what others ask (`serve`, or `start` in a thread), and asks them (`ask`). What its
    ballots may cost is reserved on its own ledger before they leave, and built from the agreement
    that it was given here: an aggregator that says another one is refused, and so is a vote that
    doesn't follow from it.

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
    aggregator : Aggregator, default=None
        What the party agreed to rely on. None: a `TrustedAggregator`, which sees its ballots. With
        a `SecretSharingAggregator` ballots go in shares to the three at its addresses, and to
        nobody else: addresses never come from the server. It sends with the certificate that the
        aggregator was given.
    server_name : str, default=None
        What the aggregator's certificate must say; None: the host in `address`.
    timeout : float, default=60.0
        Seconds to connect, and to send one message.
    max_bytes : int, default=2**30
        The longest question. It takes at most four times as much memory.

    Attributes
    ----------
    fault : Exception or None
        What ended voting in a thread (`start`), if that was not the aggregator or `close`.
    asked : str or None
        The id of the last question that the server heard from here, for `outcome`.

    See Also
    --------
    VoteServer : The other side.

    Notes
    -----
    A lost connection is not taken up again by itself: `serve` raises `ChannelError`, and may be
    called again. What was reserved for a vote that was not closed by then stays charged, as it may
    have been opened. So does, once shares have left, what the server calls void, unless one of the
    computing parties confirms that it opened nothing, and will not. What became of a vote can be
    asked later (`outcome`).

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

    or ``place.serve()`` to vote only. Where nobody is trusted with ballots, each party says so, and
    where the three computing parties are::

        computing = [("a.example.org", 7501), ("b.example.org", 7502), ("c.example.org", 7503)]
        place = Membership(
            party,
            ("votes.example.org", 7443),
            credentials=credentials,
            agreement=agreement,
            aggregator=SecretSharingAggregator(computing, credentials=credentials),
        )
    """

    def __init__(
        self,
        party: Party,
        address: tuple[str, int],
        *,
        credentials: Credentials,
        agreement: Agreement,
        aggregator: Aggregator | None = None,
        server_name: str | None = None,
        timeout: float = 60.0,
        max_bytes: int = 2**30,
    ) -> None:
        if not isinstance(party, Party):
            raise TypeError(f"party={party!r} must be a Party.")
        party._check_fitted()
        if not isinstance(agreement, Agreement):
            raise TypeError(f"agreement={agreement!r} must be an Agreement.")
        if not isinstance(credentials, Credentials):
            raise TypeError(f"credentials={credentials!r} must be Credentials.")
        check_number("timeout", timeout, above=0, below=MAX_SECONDS)
        check_integer("max_bytes", max_bytes)
        self.party = party
        self.address = address
        self.agreement = agreement
        self.aggregator = as_aggregator(aggregator)
        self.server_name = address[0] if server_name is None else server_name
        self.timeout = float(timeout)
        self.max_bytes = max_bytes
        self.asked: str | None = None
        self.fault: Exception | None = None
        self._credentials = credentials
        self._joined: tuple[Connection, Line, Session] | None = None
        self._thread: threading.Thread | None = None
        self._left = False

    def connect(self) -> Self:
        """Connect, and join those who vote.

        Returns
        -------
        Membership

        Raises
        ------
        ChannelError
            If the aggregator can't be reached, is not who it should be, or lets nobody in with this
            certificate.
        TermsError
            If it says something else than this party agreed to.
        """
        by = self.aggregator
        recipients = by.recipients if isinstance(by, SecretSharingAggregator) else None
        connection = self._connection()
        try:
            session = Session(self.party, self._terms(connection), recipients, self.max_bytes)
            line = connection.open("join")
            told = Message("join", {LEDGER: self.party.accountant.scope().ledger})
            line.ask(told, "joined", timeout=self.timeout)
        except BaseException:
            connection.close()
            raise
        self._joined, self._left = (connection, line, session), False
        return self

    def serve(self) -> None:
        """Vote on what others ask, until the aggregator or `close` ends it.

        It connects first if that was not done, or the connection was lost.

        Raises
        ------
        ChannelError
            If the connection was lost, or something came that a party is not asked.
        """
        if self._joined is None or self._joined[1].is_closed:
            self.connect()
        assert self._joined is not None
        connection, line, session = self._joined
        try:
            while (message := line.receive(None, self.max_bytes)).kind != "end":
                try:
                    answer = session.answer(message)
                except MessageError as error:
                    line.fail(f"the aggregator asked what it may not: {error}")
                line.send(answer)
        except ChannelError:
            if not self._left:
                raise
        finally:
            line.close()
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
        self._thread = threading.Thread(target=self._serve_apart, daemon=True)
        self._thread.start()
        return self

    def ask(self, X: Any, *, timeout: float = 3600.0) -> Answer:
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
            If the connection was lost. `outcome` says whether the question was opened.
        TermsError
            If the aggregator says something else than this party agreed to.
        ValueError
            If X holds what can't be sent, or is not of the party's columns. Nothing was spent.
        """
        check_number("timeout", timeout, above=0, below=MAX_SECONDS)
        X = self.party._matching(X)
        n_rows = _num_samples(X)
        if n_rows == 0:
            raise ValueError("X has 0 rows; ask about at least one.")
        words, body = put_table(X)
        if body.nbytes > self.max_bytes:
            raise ValueError(
                f"X takes {body.nbytes:,} bytes, and max_bytes={self.max_bytes:,}; ask about fewer "
                "rows at once, or let both sides allow more."
            )
        with self._connected() as (connection, terms):
            return self._put(connection, terms, Message("ask", words, body), n_rows, timeout)

    def outcome(self, question: str | None = None) -> VoteOutcome:
        """Ask the server what became of a question, such as one whose connection was lost.

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
        with self._connected() as (connection, terms):
            asked = Message("outcome", {"question": question})
            told = connection.ask("outcome", asked, timeout=self.timeout, max_bytes=self.max_bytes)
            try:
                return _outcome(question, told, terms)
            except MessageError as error:
                raise ChannelError(f"the outcome can't be read: {error}") from None

    def close(self) -> None:
        """Leave; a vote in which this party has paid already is ended first."""
        if self._joined is None:
            return
        connection, line, session = self._joined
        session.idle.wait(_PATIENCE * self.timeout)
        self._left = True
        line.close()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        connection.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve_apart(self) -> None:
        try:
            self.serve()
        except Exception as error:
            self.fault = error

    def _put(
        self, connection: Connection, terms: Terms, asked: Message, n_rows: int, timeout: float
    ) -> Answer:
        line = connection.open("ask", timeout=timeout)
        try:
            reply = line.ask(asked, "heard", "refused", timeout=timeout)
            if reply.kind == "heard":
                said = reply.words.get("question")
                self.asked = said if isinstance(said, str) else None
                # All have voted, and nothing is opened yet.
                reply = _received(line, "ready", "refused")
            if reply.kind == "ready":
                line.send(Message("open"))
                reply = _received(line, "answer", "refused", max_bytes=answer_bytes(terms, n_rows))
            if reply.kind == "refused":
                raise VoteRefusedError(visible(str(reply.words.get("why"))))
            try:
                return heard(reply, terms, n_rows)
            except MessageError as error:
                line.fail(f"the answer can't be read: {error}")
        finally:
            line.close()

    def _connection(self) -> Connection:
        return Connection(self.address, credentials=self._credentials, server_name=self.server_name)

    @contextmanager
    def _connected(self) -> Iterator[tuple[Connection, Terms]]:
        with self._connection() as connection:
            yield connection, self._terms(connection)

    def _terms(self, connection: Connection) -> Terms:
        """Return what the aggregator says, if that is what the party agreed to."""
        said = connection.ask("terms", Message("terms"), timeout=self.timeout).words
        if said.get("name") != self.party.name:
            raise TermsError(
                f"the certificate is that of {said.get('name')!r}, and the party is "
                f"{self.party.name!r}"
            )
        return accepted(said, self.agreement, self.party, self.aggregator.trust)


def _received(line: Line, *kinds: str, max_bytes: int = 0) -> Message:
    message = line.receive(None, max_bytes)  # gRPC knows until when
    if message.kind not in kinds:
        line.fail(f"{message.kind[:40]!r} came instead of {kinds[0]!r}")
    return message


def _outcome(question: str, told: Message, terms: Terms) -> VoteOutcome:
    state, said, n_rows = (told.words.get(name) for name in ("state", "answer", "n_rows"))
    if state not in STATES:
        raise MessageError("a state that is none")
    if said is None:
        return VoteOutcome(question, state, None)
    if not isinstance(said, dict) or type(n_rows) is not int or n_rows < 1:
        raise MessageError("an answer that is none")
    return VoteOutcome(question, state, heard(Message("answer", said, told.body), terms, n_rows))
