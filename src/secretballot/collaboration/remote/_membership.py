"""A party in a process of its own, as it takes part in votes held elsewhere."""

from __future__ import annotations

import ssl
import threading
from typing import Any, Self

from secretballot._numbers import check_integer, check_number
from secretballot._sklearn_compat import _num_samples
from secretballot.collaboration._aggregator import Aggregator
from secretballot.collaboration._agreement import Agreement
from secretballot.collaboration._answer import Answer
from secretballot.collaboration._party import Party
from secretballot.collaboration.remote._asking import put
from secretballot.collaboration.remote._channel import Channel, ChannelError
from secretballot.collaboration.remote._meeting import Met, expect, meet
from secretballot.collaboration.remote._message import Message, MessageError
from secretballot.collaboration.remote._session import Session
from secretballot.collaboration.remote._terms import LEDGER, as_aggregator
from secretballot.collaboration.remote._tls import reach
from secretballot.collaboration.secret_sharing import SecretSharingAggregator
from secretballot.computing import check_context


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
    context : ssl.SSLContext
        With the party's certificate, and the authority that the aggregator's certificate is from.
    agreement : Agreement
        What the party agreed to.
    aggregator : Aggregator, default=None
        What the party agreed to rely on. None: a `TrustedAggregator`, which sees its ballots. With
        a `SecretSharingAggregator` ballots go in shares to the three at its addresses, and to
        nobody else: addresses never come from the server. Its context holds the party's
        certificate, under whose name it sends.
    server_name : str, default=None
        What the aggregator's certificate must say; None: the host in `address`.
    timeout : float, default=60.0
        Seconds to connect, and to send one message.
    max_bytes : int, default=2**30
        The longest message.

    Attributes
    ----------
    fault : Exception or None
        What ended voting in a thread (`start`), if that was not the aggregator or `close`.

    See Also
    --------
    VoteServer : The other side.

    Notes
    -----
    A lost connection is not taken up again by itself: `serve` raises `ChannelError`, and may be
    called again. What was reserved for a vote that was not closed by then stays charged, as it may
    have been opened. So does, once shares have left, what the server calls void, unless one of the
    computing parties confirms that it opened nothing, and will not.

    Examples
    --------
    At each party, in a process of its own::

        context = ssl.create_default_context(cafile="authority.pem")
        context.load_cert_chain("north.pem")
        place = Membership(
            party, ("votes.example.org", 7443), context=context, agreement=agreement
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
            context=context,
            agreement=agreement,
            aggregator=SecretSharingAggregator(computing, context=context),
        )
    """

    def __init__(
        self,
        party: Party,
        address: tuple[str, int],
        *,
        context: ssl.SSLContext,
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
        check_context(context, server=False)
        check_number("timeout", timeout, above=0)
        check_integer("max_bytes", max_bytes)
        self.party = party
        self.address = address
        self.agreement = agreement
        self.aggregator = as_aggregator(aggregator)
        self.server_name = address[0] if server_name is None else server_name
        self.timeout = float(timeout)
        self.max_bytes = max_bytes
        self._context = context
        self._channel: Channel | None = None
        self._session: Session | None = None
        self._thread: threading.Thread | None = None
        self._left = False
        self.fault: Exception | None = None

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
        channel, terms, self._silence = self._meet()
        ledger = self.party.accountant.scope().ledger
        try:
            channel.answer(Message("join", {LEDGER: ledger}))
            expect(channel, "joined")
            channel.answer(Message("here"))
        except BaseException:
            channel.close()
            raise
        by = self.aggregator
        recipients = by.recipients if isinstance(by, SecretSharingAggregator) else None
        self._session = Session(self.party, terms, recipients)
        self._channel, self._left = channel, False
        return self

    def serve(self) -> None:
        """Vote on what others ask, until the aggregator or `close` ends it.

        It connects first if that was not done, or the connection was lost.

        Raises
        ------
        ChannelError
            If the connection was lost, or something came that a party is not asked.
        """
        if self._channel is None or self._channel.is_closed:
            self.connect()
        channel, session = self._channel, self._session
        assert channel is not None
        assert session is not None
        try:
            while True:
                message = channel.hear(self._silence)
                if message.kind == "end":
                    channel.answer(Message("ended"))
                    return
                try:
                    answer = session.answer(message)
                except MessageError as error:
                    channel.refuse(f"the aggregator asked what it may not: {error}")
                channel.answer(answer)
        except ChannelError:
            if not self._left:
                raise
        finally:
            channel.close()
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
            Rows to be labelled: numbers, booleans, texts, categories and missing values. The
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
            If the connection was lost. Whether the question was opened is not known then.
        TermsError
            If the aggregator says something else than this party agreed to.
        ValueError
            If X holds what can't be sent, or is not of the party's columns. Nothing was spent.
        """
        check_number("timeout", timeout, above=0)
        X = self.party._matching(X)
        if _num_samples(X) == 0:
            raise ValueError("X has 0 rows; ask about at least one.")
        return put(X, self._meet, timeout)

    def close(self) -> None:
        """Leave; a vote in which this party has paid already is ended first."""
        if self._channel is None or self._session is None:
            return
        self._session.idle.wait(self._silence)
        self._left = True
        self._channel.close()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve_apart(self) -> None:
        try:
            self.serve()
        except Exception as error:
            self.fault = error

    def _meet(self) -> Met:
        secure = reach(self.address, self._context, self.timeout, self.server_name)
        channel = Channel(secure, self.timeout, self.max_bytes)
        return meet(channel, self.party, self.agreement, self.aggregator.trust)
