"""Where connections come in, each in a thread of its own."""

from __future__ import annotations

import logging
import selectors
import socket
import threading
import time
from collections.abc import Callable

log = logging.getLogger("secretballot.collaboration")


class Listener:
    """Listens at an address until it is closed.

    Parameters
    ----------
    address : tuple of str and int
    meet : callable
        Takes each connection, in a thread.
    most : int
        How many there may be at once; others are closed.
    """

    def __init__(
        self, address: tuple[str, int], meet: Callable[[socket.socket], None], most: int
    ) -> None:
        self._meet, self._places = meet, threading.Semaphore(most)
        self._listening = socket.create_server(address)
        self.address: tuple[str, int] = self._listening.getsockname()[:2]
        self._waker, self._woken = socket.socketpair()
        self._meeting: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._accept, name="votes", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let nobody in any more."""
        self._waker.close()
        self._thread.join()

    def wait(self, seconds: float) -> None:
        """Wait until all who came in are gone, at most that long."""
        end = time.monotonic() + seconds
        for thread in self._meeting:
            thread.join(max(0.0, end - time.monotonic()))

    def _accept(self) -> None:
        with self._listening, self._woken, selectors.DefaultSelector() as selector:
            selector.register(self._listening, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while not any(key.fileobj is self._woken for key, _ in selector.select()):
                self._admit()

    def _admit(self) -> None:
        try:
            plain, where = self._listening.accept()
        except OSError:  # gone before it came in
            return
        if not self._places.acquire(blocking=False):
            log.warning("%s was refused: too many connections", where)
            plain.close()
            return
        thread = threading.Thread(target=self._met, args=(plain, where), daemon=True)
        self._meeting = [each for each in self._meeting if each.is_alive()] + [thread]
        thread.start()

    def _met(self, plain: socket.socket, where: tuple[str, int]) -> None:
        try:
            self._meet(plain)
        except ConnectionError as error:
            log.warning("%s: %s", where, error)
        except Exception:
            log.exception("%s: a fault of the server's own", where)
        finally:
            self._places.release()
