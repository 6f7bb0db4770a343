"""Amount of messages and bytes on a line or a server."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass
class Traffic:
    """Counts of messages and bytes sent and received, before encryption.

    Attributes
    ----------
    n_messages : int
    n_bytes : int
    """

    n_messages: int = 0
    n_bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, n_messages: int, n_bytes: int) -> None:
        """Count messages and bytes."""
        with self._lock:
            self.n_messages += n_messages
            self.n_bytes += n_bytes
