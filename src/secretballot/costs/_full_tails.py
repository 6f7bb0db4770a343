"""Uniform, exponential, Gumbel and Laplace numbers with full tails.

Numpy transforms uniform numbers of 53 bits, which cuts the tails: Gumbel noise lies within 40.4
scales, so a candidate further behind never wins, and a pure epsilon has an excess delta of about
``n * 2**-53 * (exp(width) - 1) / 2`` for n candidates. Here small uniform numbers keep 53
significant bits down to the smallest float, and so do the tails.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from secretballot.costs._orders import Floats

Shape = int | tuple[int, ...]
Words = NDArray[np.uint64]

#: Bits of a random word.
_BITS = 64


def draw_uniform(shape: Shape, rng: np.random.Generator) -> Floats:
    """Draw uniform numbers above 0, at most 1, with 53 significant bits however small they are."""
    return _scaled(_words((2, *_axes(shape)), rng), rng)


def draw_exponential(shape: Shape, rng: np.random.Generator) -> Floats:
    """Draw standard exponential numbers -log(U), with full precision at both ends.

    A uniform number U above 1/2 is drawn as 1 - U.
    """
    *words, sides = _words((3, *_axes(shape)), rng)
    return _exponential(_scaled(words, rng), sides)


def draw_gumbel(shape: Shape, rng: np.random.Generator) -> Floats:
    """Draw standard Gumbel numbers."""
    return np.asarray(-np.log(draw_exponential(shape, rng)))


def draw_laplace(shape: Shape, rng: np.random.Generator) -> Floats:
    """Draw standard Laplace numbers."""
    *words, sides = _words((3, *_axes(shape)), rng)
    size = _exponential(_scaled(words, rng), sides)
    negative = (sides >> np.uint64(_BITS - 2)) & np.uint64(1)
    return np.asarray(np.where(negative, -size, size))


def _axes(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else shape


def _words(shape: tuple[int, ...], rng: np.random.Generator) -> Words:
    return rng.integers(0, 2**_BITS, size=shape, dtype=np.uint64)


def _scaled(words: Words | list[Words], rng: np.random.Generator) -> Floats:
    """Convert two words to a number up to 1; leading zero words are followed by more words."""
    high, low = (np.array(word) for word in words)
    exponent = np.zeros(high.shape, dtype=np.int64)
    while (zero := high == 0).any():
        high[zero] = low[zero]
        low[zero] = _words((int(zero.sum()),), rng)
        exponent[zero] -= _BITS
    number = np.ldexp(low.astype(np.float64), -_BITS) + high
    return np.asarray(np.ldexp(number, exponent - _BITS))


def _exponential(uniform: Floats, sides: Words) -> Floats:
    half = uniform / 2
    return np.where(sides >> np.uint64(_BITS - 1), -np.log(half), -np.log1p(-half))
