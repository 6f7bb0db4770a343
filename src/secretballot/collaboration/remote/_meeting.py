"""How a party and an aggregator meet: who is there, and what was agreed."""

from __future__ import annotations

from typing import NamedTuple

from secretballot._numbers import check_number
from secretballot.collaboration._agreement import Agreement
from secretballot.collaboration._party import Party
from secretballot.collaboration.remote._channel import Channel, ChannelError
from secretballot.collaboration.remote._message import Message
from secretballot.collaboration.remote._terms import Terms, TermsError, accepted

#: Who doesn't hear from the aggregator for so many of its timeouts takes it for lost.
_SILENCES = 2.0


class Met(NamedTuple):
    """A channel to an aggregator, what both agree on, and how long it may be silent."""

    channel: Channel
    terms: Terms
    silence: float


def meet(channel: Channel, party: Party, agreement: Agreement, trust: str) -> Met:
    """Return what an aggregator says, if that is what the party agreed to.

    Raises
    ------
    ChannelError
        If it lets nobody in with this certificate.
    TermsError
        If it says something else than the party agreed to.
    """
    try:
        said = expect(channel, "welcome").words
        if said.get("name") != party.name:
            raise TermsError(
                f"the certificate is that of {said.get('name')!r}, and the party is {party.name!r}"
            )
        check_number("the aggregator's timeout", said.get("timeout"), above=0)
        terms = accepted(said, agreement, party, trust)
    except BaseException:
        channel.close()
        raise
    return Met(channel, terms, _SILENCES * said["timeout"])


def expect(channel: Channel, kind: str) -> Message:
    """Return the next message, which must be of a kind; ChannelError says why if it is not."""
    message = channel.hear(channel.timeout)
    if message.kind == "refused":
        channel.answer(Message("thanks"))
        channel.close()
        raise ChannelError(f"the aggregator refused: {message.words.get('why')}")
    if message.kind != kind:
        channel.refuse(f"{message.kind!r} came instead of {kind!r}")
    return message
