"""Where parties in processes of their own meet: on the machine of an aggregator they trust."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Sequence
from typing import Any, Self

from secretballot._numbers import check_integer, check_number
from secretballot.collaboration._aggregator import Aggregator
from secretballot.collaboration._agreement import Agreement
from secretballot.collaboration._question import votes_apart
from secretballot.collaboration._vote import votes_on
from secretballot.collaboration.remote._attendance import Attendance
from secretballot.collaboration.remote._hearing import Hearing
from secretballot.collaboration.remote._listener import Listener
from secretballot.collaboration.remote._message import Message
from secretballot.collaboration.remote._reception import Reception
from secretballot.collaboration.remote._terms import Terms, as_aggregator
from secretballot.collaboration.remote._traffic import Traffic
from secretballot.computing import check_context
from secretballot.ensemble import check_votes_on, declared_classes

#: Strangers that may be knocking at once, beside the parties.
_STRANGERS = 16
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
        What all parties agreed on; each compares it with its own.
    parties : sequence of str
        Who may take part: the names in their certificates (the subject's common name, or a DNS name
        of subjectAltName). A certificate that names nobody of them, or two, is refused.
    classes : array-like, default=None
        The classes that rows may have.
    labels : sequence of str, default=None
        Instead of `classes`, all labels that any party knows.
    context : ssl.SSLContext
        With the aggregator's certificate, and the authority that parties' certificates are from.
        It must ask for certificates: ``verify_mode=ssl.CERT_REQUIRED``.
    aggregator : Aggregator, default=None
        Who adds up ballots and draws the noise; None: a `TrustedAggregator`. Parties must have
        agreed to the same kind. A `SecretSharingAggregator` needs addresses.
    address : tuple of str and int, default=("127.0.0.1", 0)
        Where to listen; port 0 takes a free one.
    min_voters : int, default=2
        A question that fewer parties can vote on is refused, and so is a label that fewer know.
    timeout : float, default=300.0
        Seconds that a party has to answer one message: with its ballots, or that it has paid (to
        price a plan of many classes takes a while, once). Who is late is absent, and its connection
        is closed.
    max_bytes : int, default=2**30
        The longest message.

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

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations("authority.pem")
        context.load_cert_chain("aggregator.pem")
        VoteServer(
            agreement,
            parties=["north", "south", "west"],
            classes=[0, 1],
            context=context,
            address=("0.0.0.0", 7443),
        ).serve_forever()

    With three computing parties, whom it calls with a certificate that they let hold votes::

        calling = ssl.create_default_context(cafile="authority.pem")
        calling.load_cert_chain("votes.pem")
        computing = [("a.example.org", 7501), ("b.example.org", 7502), ("c.example.org", 7503)]
        with SecretSharingAggregator(computing, context=calling) as aggregator:
            VoteServer(agreement, ..., context=context, aggregator=aggregator).serve_forever()
    """

    def __init__(
        self,
        agreement: Agreement,
        *,
        parties: Sequence[str],
        classes: Any = None,
        labels: Sequence[str] | None = None,
        context: ssl.SSLContext,
        aggregator: Aggregator | None = None,
        address: tuple[str, int] = ("127.0.0.1", 0),
        min_voters: int = 2,
        timeout: float = 300.0,
        max_bytes: int = 2**30,
    ) -> None:
        if not isinstance(agreement, Agreement):
            raise TypeError(f"agreement={agreement!r} must be an Agreement.")
        if (classes is None) == (labels is None):
            raise ValueError("give classes (one class a row) or labels (several), and not both.")
        check_integer("min_voters", min_voters, least=2)
        check_number("timeout", timeout, above=0)
        check_integer("max_bytes", max_bytes)
        check_context(context, server=True)
        self.parties = tuple(parties)
        if isinstance(parties, str) or len(set(self.parties)) <= min_voters:
            raise ValueError(
                f"parties={parties!r}: one asks and min_voters={min_voters} others answer; name "
                "all who may take part, as their certificates do."
            )
        self.agreement = agreement
        self.aggregator = as_aggregator(aggregator)
        self.min_voters = min_voters
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
        everyone = dict.fromkeys(self.parties, columns)
        self.aggregator.check(votes_on(agreement, everyone, 2, self._terms.labels))
        Message("welcome", self._terms.said()).parts(0)  # what can't be told is refused here
        self._there = Attendance()
        self._hearing = Hearing(self._there, self._terms, self.aggregator, min_voters)
        self._reception = Reception(
            self.parties,
            self._terms,
            context,
            self._there,
            self._hearing,
            self.timeout,
            max_bytes,
            self.traffic,
        )
        self._listener: Listener | None = None
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
        most = 2 * len(self.parties) + _STRANGERS
        self._listener = Listener(self.address, self._reception.meet, most)
        self.address = self._listener.address
        return self

    def serve_forever(self) -> None:
        """Listen until `close` is called, or the process is interrupted."""
        with self:
            self._ended.wait()

    def close(self) -> None:
        """End: a vote that has begun is ended first, and all parties are told."""
        if self._listener is None:
            return
        listener, self._listener = self._listener, None
        listener.close()
        with self._hearing.alone(self.timeout):
            for voter in self._there.voters().values():
                voter.dismiss()
        # Strangers who say nothing are not waited for.
        listener.wait(_GOODBYE)
        self._ended.set()

    def __enter__(self) -> Self:
        return self if self._listener else self.start()

    def __exit__(self, *_: object) -> None:
        self.close()
