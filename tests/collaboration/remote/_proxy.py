"""A network that loses, alters or cuts off what a party says."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Proxy:
    """Passes connections on to a server; from `arm` on, what the client says meets a fault.

    Parameters
    ----------
    address : tuple
        Of the server.
    fault : {"lost", "altered", "cut"}
    """

    def __init__(self, address, fault):
        self._server, self._fault = address, fault
        self._armed = threading.Event()
        self._sockets = [socket.create_server(("127.0.0.1", 0))]
        self.address = self._sockets[0].getsockname()[:2]
        self._threads = []
        self._begin(self._accept)

    def arm(self):
        self._armed.set()

    def close(self):
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()
        for each in self._sockets:
            each.close()

    def _begin(self, what, *arguments):
        self._threads.append(threading.Thread(target=what, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self):
        try:
            client, _ = self._sockets[0].accept()
        except OSError:
            return
        server = socket.create_connection(self._server)
        self._sockets += [client, server]
        self._begin(self._pass_on, client, server, True)
        self._begin(self._pass_on, server, client, False)

    def _pass_on(self, one, other, faulty):
        with suppress(OSError):
            while piece := one.recv(2**16):
                if faulty and self._armed.is_set():
                    if self._fault == "lost":
                        continue
                    if self._fault == "altered":
                        piece = piece[:-1] + bytes([piece[-1] ^ 1])
                    else:
                        other.sendall(piece[: len(piece) // 2])
                        break
                other.sendall(piece)
            other.shutdown(socket.SHUT_RDWR)
