"""The aggregator that shares ballots among three computing parties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from secretballot._numbers import check_number
from secretballot.collaboration._aggregator import Aggregator, Seed
from secretballot.collaboration._motion import Motion
from secretballot.collaboration._question import Question
from secretballot.collaboration._voter import Absent, VoteRefusedError, Voters
from secretballot.collaboration.secret_sharing._contribution import shared_vote
from secretballot.computing import LONGEST_ROW, Address, Panel, Processes, Recipients, SharedVote
from secretballot.transport import MAX_SECONDS, ChannelError, Credentials

#: A vote whose shares have all come: its name, and the terms of each motion.
Delivered = tuple[str, tuple[SharedVote, ...]]


class SecretSharingAggregator(Aggregator):
    """Aggregator of ballots and noise in shares, of which three computing parties open winners.

    Each voter adds its part of the noise to its ballots and splits the sum into three shares, any
    one of which is a random number. Each computing party adds up the shares that it gets, and the
    three compare the sums with each other in secret. Nobody sees a ballot, a count or the noise:
    the winners alone are opened, to the asker, and charged.

    Parameters
    ----------
    addresses : sequence of (str, int), default=None
        Host and port of three computing parties (``python -P -m secretballot.computing``), best on
        machines of three who distrust each other. None: three processes of this machine, which is
        for tests and for trying it out; the machine's owner sees everything.
    credentials : Credentials, default=None
        Needed with `addresses`: the authority that signs everybody's certificates, and a
        certificate and key to show.
    timeout : float, default=120.0
        Seconds that any step, such as a batch of rows, may take.

    See Also
    --------
    TrustedAggregator : Takes one whom all trust, and any mechanism.

    Notes
    -----
    *Assumptions.* Of three computing parties two are honest, and all three follow the
    protocol (an honest majority against passive listeners; MPyC). Two that put their shares
    together see every ballot, with that voter's own noise alone. Wrong shares of a result are
    noticed when it is opened; other deviations, and voters that cast more than a ballot or leave
    out their noise, need not be. As many voters as `n_colluders` of the mechanism may reveal their
    noise. A comparison opens numbers under random masks, at a statistical distance of 2^-61 from
    random ones, which belongs to delta.

    It takes `SkellamMax`, charged for the winner. A voter whose share is missing voids the vote,
    which is held again with the other voters. If a computing party is lost while a vote is opened,
    the vote stays charged.

    *Names and certificates.* On several machines certificates prove all names. Voters and computing
    parties must be given the addresses themselves, in the same order. A vote is opened if all
    voters have stated the same voters, mechanism and weights.

    Examples
    --------
    At each of three computing parties, whose certificate names the host that others know it by::

        python -m secretballot.computing --listen 0.0.0.0:7501 --coordinator votes \\
            --voters north south west \\
            --certificate a.pem --key a.key --authority authority.pem \\
            --computing a.example.org:7501 b.example.org:7502 c.example.org:7503

    and ``SecretSharingAggregator(computing, credentials=credentials)`` with their addresses where
    votes are held (`VoteServer`; the certificate is that of ``votes``) and at each party
    (`Membership`; it is that of the party). On one machine:

    >>> from secretballot.collaboration import SecretSharingAggregator
    >>> SecretSharingAggregator()
    SecretSharingAggregator()
    """

    trust = "secret sharing"

    def __init__(
        self,
        addresses: Sequence[Address] | None = None,
        *,
        credentials: Credentials | None = None,
        timeout: float = 120.0,
    ) -> None:
        check_number("timeout", timeout, above=0, below=MAX_SECONDS)
        if addresses is not None and len(addresses) != 3:
            raise ValueError(f"addresses={addresses!r} must be of three computing parties.")
        if (addresses is None) != (credentials is None):
            raise ValueError(
                "addresses and credentials go together: computing parties of other machines are "
                "reached by TLS, on which both sides show certificates, and those of this one not."
            )
        if credentials is not None and not isinstance(credentials, Credentials):
            raise TypeError(f"credentials={credentials!r} must be Credentials.")
        if addresses is not None and len(set(map(tuple, addresses))) != len(addresses):
            raise ValueError(
                f"addresses={addresses!r} name a computing party twice, which would have two "
                "shares, and so everything; give three."
            )
        self.addresses = addresses
        self.timeout = float(timeout)
        self._credentials = credentials
        self._processes: Processes | None = None
        self._panel: Panel | None = None

    def check(self, motions: Sequence[Motion]) -> None:
        """Refuse mechanisms that are not charged for a winner with noise of the voters' own."""
        for motion in motions:
            vote = shared_vote(motion, 1)
            if vote.bits * vote.shape[1] > LONGEST_ROW:
                raise ValueError(
                    f"{motion.n_columns} classes of {vote.bits} bits each are more than the "
                    f"{LONGEST_ROW} bits that computing parties compare at once; ask about fewer."
                )

    def recipients(self, session: str) -> Recipients:
        """Return the computing parties of a vote, for which they collect shares under a name."""
        local, token = [], ""
        if self._processes is not None:
            local, token = self._processes.addresses, self._processes.token
        addresses = tuple((host, int(port)) for host, port in self.addresses or local)
        return Recipients(session, addresses, token, self.timeout, self._credentials)

    def gather(self, question: Question, motions: Sequence[Motion], voters: Voters) -> Delivered:
        """Let voters send their shares; none comes here."""
        if question.seeded:
            raise ValueError(
                "random_state: voters draw their own noise where ballots are shared, and it can't "
                "be made reproducible; leave random_state=None."
            )
        try:
            panel = self._connected()
            votes = tuple(shared_vote(motion, motion.n_rows(question)) for motion in motions)
            session = panel.begin(votes)
            recipients = self.recipients(session)
            for name, voter in voters.items():
                try:
                    voter.deliver(question, recipients)
                except OSError as error:
                    panel.received(session)  # raises if a computing party is lost, and no voter
                    raise Absent(name, "its shares did not arrive") from error
            for senders in panel.received(session):
                for name in voters:
                    if name not in senders:
                        raise Absent(name, "its shares are missing at a computing party")
        except ChannelError as error:
            raise VoteRefusedError(
                f"computing parties failed before anything was opened ({self._end(error)}); what "
                "had been reserved was given back (parties elsewhere that had sent their shares "
                "can't know it, and stay charged). Ask again."
            ) from error
        return session, votes

    def open(
        self, gathered: Delivered, motions: Sequence[Motion], random_state: Seed
    ) -> list[NDArray[np.int64]]:
        """Let computing parties find the winners, and open them here."""
        session, votes = gathered
        panel = self._panel
        assert panel is not None
        try:
            return [panel.winners(session, vote).reshape(vote.shape[0]) for vote in votes]
        except ChannelError as error:
            raise ChannelError(self._end(error)) from error

    def close(self) -> None:
        """Hang up, and end the processes that were started here; a next vote begins anew."""
        if self._panel is not None:
            self._panel.close()
        if self._processes is not None:
            self._processes.close()
        self._panel = self._processes = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        addresses = "" if self.addresses is None else repr(list(self.addresses))
        return f"{type(self).__name__}({addresses})"

    def _connected(self) -> Panel:
        """Return connected computing parties, new ones if need be."""
        if self._panel is None or self._panel.closed:
            self.close()
            if self.addresses is None:
                self._processes = Processes(self.timeout)
            place = self.recipients("")
            self._panel = Panel(place.addresses, place.token, self.timeout, self._credentials)
        return self._panel

    def _end(self, error: ChannelError) -> str:
        """End all computing parties after one has failed, and describe the fault."""
        if self._panel is not None:
            self._panel.close()
        cause = self._processes.post_mortem() if self._processes is not None else ""
        self.close()
        return f"{error} {cause}".strip()
