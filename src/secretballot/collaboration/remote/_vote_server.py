"""Where parties in processes of their own meet: on the machine of an aggregator they trust."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any, Self

from secretballot._numbers import check_integer, check_number
from secretballot.collaboration._aggregator import Aggregator
from secretballot.collaboration._agreement import Agreement
from secretballot.collaboration._question import votes_apart
from secretballot.collaboration.remote._attendance import Attendance
from secretballot.collaboration.remote._hearing import Hearing
from secretballot.collaboration.remote._remote_voter import RemoteVoter
from secretballot.collaboration.remote._terms import LEDGER, Terms, as_aggregator
from secretballot.ensemble import check_votes_on, declared_classes
from secretballot.transport import (
    MAX_PIECE,
    MAX_SECONDS,
    ChannelError,
    Credentials,
    Line,
    Message,
    Server,
    Traffic,
)

#: Seconds at the end until connections are closed.
_GOODBYE = 1.0


class VoteServer:
    """Lets parties in processes of their own ask each other, over mutual TLS.

    It runs where the aggregator does. With a `TrustedAggregator` all parties trust it: it sees the
    rows that are asked about and the ballots, draws the noise, and sends the answer to the party
    that asked. With a `SecretSharingAggregator` parties send shares of their ballots to three
    computing parties, and it sees the rows and the answer alone. It keeps nothing. Each party runs
    a `Membership`.

    Parameters
    ----------
    agreement : Agreement
        What all parties agreed on; each compares it with its own. Its parties may take part: they
        are the names in their certificates (the subject's common name, or a DNS name of
        subjectAltName). A certificate that names nobody of them, or two, is refused.
    classes : array-like, default=None
        The classes that rows may have.
    labels : sequence of str, default=None
        Instead of `classes`, all labels that any party knows.
    credentials : Credentials
        The aggregator's certificate, and the authority that parties' certificates are from.
    aggregator : Aggregator, default=None
        Who adds up ballots and draws the noise; None: a `TrustedAggregator`. Parties must have
        agreed to the same kind. A `SecretSharingAggregator` needs addresses.
    address : tuple of str and int, default=("127.0.0.1", 0)
        Where to listen; port 0 takes a free one.
    timeout : float, default=300.0
        Seconds that a party has to answer one message: with its ballots, or that it has paid (to
        price a plan of many classes takes a while, once). Who is late is absent, and its connection
        is closed.
    max_bytes : int, default=2**30
        The longest question. The server takes at most four times as much memory for all of them.

    Attributes
    ----------
    address : tuple of str and int
        Where it listens.
    traffic : Traffic
        How many messages (`n_messages`), and bytes before encryption (`n_bytes`), were sent and
        received so far.

    See Also
    --------
    Membership : A party's side.
    Collaboration : The same in one process.

    Notes
    -----
    One question is voted on at a time; another one waits for `timeout`, and is refused then.
    Refused connections are logged, by the logger ``"secretballot.collaboration"``.

    Examples
    --------
    On the aggregator's machine::

        credentials = Credentials("authority.pem", "aggregator.pem", "aggregator.key")
        VoteServer(
            agreement,
            classes=[0, 1],
            credentials=credentials,
            address=("0.0.0.0", 7443),
        ).serve_forever()

    With three computing parties, whom it calls with a certificate that they let hold votes::

        calling = Credentials("authority.pem", "votes.pem", "votes.key")
        computing = [("a.example.org", 7501), ("b.example.org", 7502), ("c.example.org", 7503)]
        with SecretSharingAggregator(computing, credentials=calling) as aggregator:
            VoteServer(
                agreement, ..., credentials=credentials, aggregator=aggregator
            ).serve_forever()
    """

    def __init__(
        self,
        agreement: Agreement,
        *,
        classes: Any = None,
        labels: Sequence[str] | None = None,
        credentials: Credentials,
        aggregator: Aggregator | None = None,
        address: tuple[str, int] = ("127.0.0.1", 0),
        timeout: float = 300.0,
        max_bytes: int = 2**30,
    ) -> None:
        if not isinstance(agreement, Agreement):
            raise TypeError(f"agreement={agreement!r} must be an Agreement.")
        if (classes is None) == (labels is None):
            raise ValueError("give classes (one class a row) or labels (several), and not both.")
        check_number("timeout", timeout, above=0, below=MAX_SECONDS)
        check_integer("max_bytes", max_bytes)
        if not isinstance(credentials, Credentials):
            raise TypeError(f"credentials={credentials!r} must be Credentials.")
        self.parties = tuple(agreement.parties)
        self.agreement = agreement
        self.aggregator = as_aggregator(aggregator)
        self.timeout = float(timeout)
        self.max_bytes = max_bytes
        self.address = address
        self.traffic = Traffic()
        self._terms = Terms(
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
        Message("terms", self._terms.said()).head()  # what can't be told is refused here
        self._credentials = credentials
        self._there = Attendance()
        self._hearing = Hearing(
            self._there, self._terms, self.aggregator, self.timeout, self.max_bytes
        )
        self._server: Server | None = None
        self._ended = threading.Event()

    @property
    def present(self) -> tuple[str, ...]:
        """The parties that are connected, and will be asked."""
        return self._there.names

    def wait_for(self, parties: Sequence[str], seconds: float) -> bool:
        """Wait until parties are connected.

        Parameters
        ----------
        parties : sequence of str
        seconds : float
            How long at most.

        Returns
        -------
        bool
            Whether all of them are.
        """
        return self._there.wait_for(set(parties), seconds)

    def start(self) -> Self:
        """Listen, in threads of their own.

        Returns
        -------
        VoteServer
        """
        self._server = Server(
            self.address,
            {
                "terms": self._tell_terms,
                "join": self._let_in,
                "ask": self._hearing.hear,
                "outcome": self._tell_outcome,
            },
            credentials=self._credentials,
            names=self.parties,
            # Two questions on their way or being voted on, and words.
            max_bytes=2 * self.max_bytes + MAX_PIECE,
        )
        self.address, self.traffic = self._server.address, self._server.traffic
        self._server.start()
        return self

    def serve_forever(self) -> None:
        """Listen until `close` is called, or the process is interrupted."""
        with self:
            self._ended.wait()

    def close(self) -> None:
        """End: a vote that has begun is ended first, and all parties are told."""
        if self._server is None:
            return
        server, self._server = self._server, None
        with self._hearing.alone():
            for voter in self._there.voters().values():
                voter.dismiss()
        server.close(_GOODBYE)
        self._ended.set()

    def _tell_terms(self, line: Line) -> Iterator[Message]:
        line.receive(self.timeout)
        yield Message("terms", {**self._terms.said(), "name": line.caller})

    def _let_in(self, line: Line) -> Iterator[Message]:
        ledger = line.receive(self.timeout).words.get(LEDGER)
        if not isinstance(ledger, str):
            raise ChannelError(f"{line.caller!r} does not say which ledger it spends from")
        voter = RemoteVoter(ledger, line, self.timeout)
        try:
            # Whoever has joined is asked from then on, and not before it knows.
            with line.held:
                self._there.enter(voter)
                line.send(Message("joined"))
            yield from line.outgoing()
        finally:
            self._there.leave(voter)

    def _tell_outcome(self, line: Line) -> Iterator[Message]:
        asked = line.receive(self.timeout).words.get("question")
        yield self._hearing.records.told(asked, line.caller)

    def __enter__(self) -> Self:
        return self if self._server else self.start()

    def __exit__(self, *_: object) -> None:
        self.close()
