"""How much is said."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass
class Traffic:
    """How much was sent and received, before encryption.

    Attributes
    ----------
    n_messages : int
    n_bytes : int
    """

    n_messages: int = 0
    n_bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, n_bytes: int) -> None:
        """Count a message."""
        with self._lock:
            self.n_messages += 1
            self.n_bytes += n_bytes
