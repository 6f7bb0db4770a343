"""Proxy of a server's socket that cuts a connection at a chosen message."""

from __future__ import annotations

import contextlib
import select
import shutil
import socket
import tempfile
import threading
from pathlib import Path

_NAME = ".s.PGSQL.5432"
#: Message of a client that ends its session; it is not counted.
_END = b"X\0\0\0\x04"


class CuttingProxy:
    """Passes messages on, and cuts the connection at one of those of the client.

    Attributes
    ----------
    n_messages : int
        Messages of clients since `cut` was called. A client waits for the answer to each.
    """

    def __init__(self, server):
        self.folder = Path(tempfile.mkdtemp(prefix="sbpx-"))
        self._target = str(server.folder / _NAME)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.folder / _NAME))
        self._listening.listen()
        self.n_messages = 0
        self._at, self._is_answered, self._stays_down = 0, False, False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, at, *, is_answered=False, stays_down=False):
        """Cut at a message: before it is passed on, or when the server has answered it.

        With `stays_down` no connection is made after that.
        """
        self.n_messages = 0
        self._at, self._is_answered, self._stays_down = at, is_answered, stays_down

    @property
    def is_down(self):
        """True if the connection was cut, and stays so."""
        return self._stays_down and self.n_messages >= self._at > 0

    def close(self):
        self._listening.close()
        shutil.rmtree(self.folder)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, socket.socket(socket.AF_UNIX) as server, contextlib.suppress(OSError):
            if self.is_down:
                return
            server.connect(self._target)
            while True:
                for readable in select.select([client, server], [], [])[0]:
                    message = readable.recv(1 << 20)
                    if not message or message == _END:
                        return
                    if readable is server:
                        client.sendall(message)
                        continue
                    self.n_messages += 1
                    is_cut = self.n_messages == self._at
                    if is_cut and not self._is_answered:
                        return
                    server.sendall(message)
                    if is_cut:
                        server.recv(1 << 20)
                        return
