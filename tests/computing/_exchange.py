"""What a link of MPyC needs of a runtime and of a stream; MPyC itself is not imported."""

from __future__ import annotations

from types import SimpleNamespace


class Runtime:
    """The first of three, or the second, whose key of 16 bytes the first one sends."""

    options = SimpleNamespace(no_prss=False)
    pid = 0

    def set_protocol(self, peer, protocol):
        self.linked = peer

    def _prss_keys_to_peer(self, peer):
        return [bytes(16)]

    def _prss_keys_from_peer(self, peer, data=None):
        return 16


class Sent:
    """A stream that keeps what is sent."""

    def __init__(self):
        self.bodies, self.closed = [], False

    def send(self, message):
        self.bodies.append(message.body)

    def close(self):
        self.closed = True


#: What the first party says first.
HELLO = (0).to_bytes(2, "little") + bytes(16)


def head(place, length):
    """What comes before a message."""
    return place.to_bytes(8, "little") + length.to_bytes(4, "little")
