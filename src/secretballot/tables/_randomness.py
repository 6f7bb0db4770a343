"""Independent random streams of one fit, each keyed by its use."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeAlias

import numpy as np

from secretballot.accounting._accountant import PrivacyAccountant

#: What scikit-learn takes as `random_state`.
RandomState: TypeAlias = int | np.random.RandomState | None

_PARTITION, _TEACHER, _STUDENT, _NOISE, _NAMED = range(5)


@dataclass(frozen=True)
class Randomness:
    """Streams of one fit, each keyed by its use and index.

    Drawn from one stream, a teacher's would depend on the shards before it, and one replaced row
    could move many ballots.
    """

    entropy: int
    seeded: bool
    parameter: str = field(default="None", compare=False)  # `random_state`, for messages

    @classmethod
    def from_seed(cls, random_state: RandomState) -> Randomness:
        """Make the streams of a scikit-learn ``random_state``, fresh ones for None."""
        if random_state is None:
            return cls(secrets.randbits(128), seeded=False)
        parameter = repr(random_state)
        if isinstance(random_state, np.random.RandomState):
            random_state = random_state.randint(2**31 - 1)
        return cls(int(random_state), seeded=True, parameter=parameter)

    def check_ledger(self, accountant: PrivacyAccountant) -> None:
        """Refuse seeds on a named ledger, before anything is paid for."""
        if self.seeded and accountant.ledger and not accountant.allow_seeded:
            raise ValueError(
                f"random_state={self.parameter} makes the noise reproducible, which protects "
                f"nobody, and is refused on the named ledger {accountant.ledger!r}. Fit with "
                "random_state=None, or open a ledger for experiments with allow_seeded=True."
            )

    def _stream(self, *key: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.entropy, spawn_key=key)

    def partition(self, part: int = 0) -> np.random.SeedSequence:
        return self._stream(_PARTITION, part) if part else self._stream(_PARTITION)

    @property
    def partition_digest(self) -> str:
        """Public name of the key of the partition."""
        return sha256(f"secretballot partition {self.entropy}".encode()).hexdigest()

    def teacher(self, index: int) -> np.random.SeedSequence:
        return self._stream(_TEACHER, index)

    def student(self) -> np.random.SeedSequence:
        return self._stream(_STUDENT)

    def noise(self, count: int) -> np.random.SeedSequence | None:
        """Return the seed of the ``count``-th release; None for the cryptographic generator."""
        return self._stream(_NOISE, count) if self.seeded else None

    def named_noise(self, name: str, number: int) -> np.random.SeedSequence | None:
        """Return the seed of a row of a planned release; None for the cryptographic generator."""
        digest = int.from_bytes(sha256(name.encode()).digest()[:8], "little")
        return self._stream(_NAMED, digest, number) if self.seeded else None
