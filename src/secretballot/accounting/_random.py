"""Sources of noise."""

from __future__ import annotations

import numbers
import os

import numpy as np
import randomgen

from secretballot._base._errors import PrivacyLeakWarning, warn
from secretballot._base._numbers import quoted

#: None for a cryptographic generator, or a seed.
RandomState = int | np.random.SeedSequence | np.random.Generator | None


def is_seeded(random_state: RandomState) -> bool:
    """Test for reproducible noise; ValueError if `random_state` is no source of noise."""
    if random_state is None:
        return False
    if isinstance(random_state, np.random.SeedSequence | np.random.Generator):
        return True
    is_int = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if is_int and random_state >= 0:
        return True
    raise ValueError(
        f"random_state={quoted(random_state)} is not a source of noise; use None (a cryptographic "
        "generator), or for tests a non-negative int, numpy.random.SeedSequence or "
        "numpy.random.Generator."
    )


def noise_generator(random_state: RandomState = None) -> np.random.Generator:
    """Return the noise generator of one release.

    None is a fresh stream of ChaCha with 20 rounds, keyed by the operating system: it can't be
    continued or run backwards from what was released, and a forked child never repeats it.
    """
    if random_state is not None:
        return np.random.default_rng(random_state)
    # A key, not a seed: seeds are stretched by a generator that is not cryptographic.
    key = int.from_bytes(os.urandom(32), "little")
    return np.random.Generator(randomgen.ChaCha(key=key, rounds=20))


def warn_seeded() -> None:
    """Warn that reproducible noise protects nobody."""
    warn(
        "Noise drawn with random_state is reproducible and protects nobody: whoever knows the "
        "seed can subtract it. It is for tests and examples; leave random_state=None to protect.",
        PrivacyLeakWarning,
    )
