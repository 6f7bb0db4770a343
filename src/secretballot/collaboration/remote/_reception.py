"""Who comes in: shows a certificate, hears the terms, and votes or asks."""

from __future__ import annotations

import contextlib
import socket
import ssl
from dataclasses import dataclass

from secretballot.collaboration.remote._attendance import Attendance
from secretballot.collaboration.remote._channel import Channel, ChannelError
from secretballot.collaboration.remote._hearing import Hearing
from secretballot.collaboration.remote._message import Message
from secretballot.collaboration.remote._remote_voter import RemoteVoter
from secretballot.collaboration.remote._terms import LEDGER, Terms
from secretballot.collaboration.remote._tls import name_of, shake_hands
from secretballot.collaboration.remote._traffic import Traffic


@dataclass(frozen=True)
class Reception:
    """Meets whoever connects.

    Parameters
    ----------
    parties : tuple of str
        Who may come in.
    terms : Terms
    context : SSLContext
    there : Attendance
        Whom voters are added to.
    hearing : Hearing
        Who hears questions.
    timeout, max_bytes, traffic
        Of each channel.
    """

    parties: tuple[str, ...]
    terms: Terms
    context: ssl.SSLContext
    there: Attendance
    hearing: Hearing
    timeout: float
    max_bytes: int
    traffic: Traffic

    def meet(self, plain: socket.socket) -> None:
        """Let one connection say who it is, and hear it until it ends."""
        secure = shake_hands(plain, self.context, self.timeout)
        channel = Channel(secure, self.timeout, self.max_bytes, self.traffic)
        try:
            self._serve(channel, name_of(secure, self.parties))
        except ChannelError as error:
            with contextlib.suppress(ChannelError):
                channel.ask(Message("refused", {"why": str(error)}), "thanks")
            raise
        finally:
            channel.close()

    def _serve(self, channel: Channel, name: str) -> None:
        said = {**self.terms.said(), "name": name, "timeout": self.timeout}
        hello = channel.ask(Message("welcome", said), "join", "ask")
        if hello.kind == "ask":
            self.hearing.hear(channel, name, hello)
            return
        ledger = hello.words.get(LEDGER)
        if not isinstance(ledger, str):
            channel.refuse(f"{name!r} does not say which ledger it spends from")
        voter = RemoteVoter(name, ledger, channel)
        try:
            # Whoever has joined is asked from then on, and not before it knows.
            with channel.held:
                self.there.enter(voter)
                channel.ask(Message("joined"), "here")
            while channel.watch(self.timeout / 2):
                voter.ping()
        finally:
            self.there.leave(voter)
