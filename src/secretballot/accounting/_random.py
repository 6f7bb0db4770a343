"""Sources of noise."""

from __future__ import annotations

import numbers
import os
import sys
from importlib.util import find_spec

import numpy as np

from secretballot._errors import PrivacyLeakWarning, warn

#: None for a cryptographic generator, or a seed.
RandomState = int | np.random.SeedSequence | np.random.Generator | None


def is_seeded(random_state: RandomState) -> bool:
    """Test for noise that protects nobody; ValueError if `random_state` is no source of noise.

    That is reproducible noise, and the noise of a demonstration in a browser.
    """
    if random_state is None:
        return is_demonstration()
    if isinstance(random_state, np.random.SeedSequence | np.random.Generator):
        return True
    is_int = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if is_int and random_state >= 0:
        return True
    raise ValueError(
        f"random_state={random_state!r} is not a source of noise; use None (a cryptographic "
        "generator), or for tests a non-negative int, numpy.random.SeedSequence or "
        "numpy.random.Generator."
    )


def is_demonstration() -> bool:
    """Test for a browser, for which randomgen has no build. Elsewhere its lack is an error."""
    return sys.platform == "emscripten" and find_spec("randomgen") is None


def noise_generator(random_state: RandomState = None) -> np.random.Generator:
    """Return the noise generator of one release.

    None is a fresh stream of ChaCha with 20 rounds, keyed by the operating system: it can't be
    continued or run backwards from what was released, and a forked child never repeats it. In a
    browser it is NumPy's own generator, with a warning at each call: a demonstration.
    """
    if random_state is not None:
        return np.random.default_rng(random_state)
    if is_demonstration():
        _warn_demonstration()
        return np.random.default_rng()
    import randomgen

    # A key, not a seed: seeds are stretched by a generator that is not cryptographic.
    key = int.from_bytes(os.urandom(32), "little")
    return np.random.Generator(randomgen.ChaCha(key=key, rounds=20))


def _warn_demonstration() -> None:
    warn(
        "Demonstration: this noise protects nobody. In a browser it comes from NumPy's seeded "
        "generator, which is not cryptographic. Release private rows with an installed Python, "
        "where randomgen draws the noise.",
        PrivacyLeakWarning,
    )


def warn_seeded() -> None:
    """Warn that reproducible noise protects nobody."""
    warn(
        "Noise drawn with random_state is reproducible and protects nobody: whoever knows the "
        "seed can subtract it. It is for tests and examples; leave random_state=None to protect.",
        PrivacyLeakWarning,
    )
