"""Shamir shares for three, any one of which says nothing, and the field that they are in."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: How many computing parties there are; any two of them know everything.
N_COMPUTING = 3

#: The field. A Mersenne number, so square roots are one power (it is 3 modulo 4).
PRIME = 2**127 - 1

#: A comparison opens its two numbers under a mask that is longer by so many bits. What that tells,
#: in statistical distance, is at most two to the minus `LEAK_BITS`.
MASK_BITS, LEAK_BITS = 63, 61

#: The longest numbers, with their sign, that fit under the mask and into the field.
VALUE_BITS = 127 - MASK_BITS - 2

#: Bytes of one share.
WIDTH = 16

#: What a party's share counts at 0, where the secret is, if only the first two are used.
_AT_ZERO = (2, -1)


def split(values: NDArray[np.int64]) -> list[NDArray[np.object_]]:
    """Return a share for each computing party, whole numbers below the prime.

    The shares of a number s are s + r, s + 2 r and s + 3 r, with r uniform in the field: the values
    at 1, 2 and 3 of a line through s at 0. Whatever one share is, and whatever s, there is exactly
    one such line, so one share has the same law for all s.

    Parameters
    ----------
    values : ndarray of int64
        Any shape.

    Returns
    -------
    list of ndarray of object
        Three, each of the shape of `values`.
    """
    slope = np.array([secrets.randbelow(PRIME) for _ in range(values.size)], dtype=object)
    slope = slope.reshape(values.shape)
    secret = values.astype(object)
    return [(secret + at * slope) % PRIME for at in range(1, N_COMPUTING + 1)]


def opened(shares: Sequence[NDArray[np.object_]]) -> NDArray[np.int64]:
    """Return what three shares hide, as numbers around 0.

    Raises
    ------
    ValueError
        If they are not on a line: one of them is not what was computed.
    """
    first, second, third = shares
    if np.any((2 * second - first - third) % PRIME):
        raise ValueError("the three shares of a result don't belong to each other.")
    values = (_AT_ZERO[0] * first + _AT_ZERO[1] * second) % PRIME
    values = np.where(values > PRIME // 2, values - PRIME, values)
    if np.any(abs(values) >= 2**62):
        raise ValueError("the three shares of a result hide a number that no result is.")
    return np.asarray(values, dtype=np.int64)


def as_bytes(shares: NDArray[np.object_]) -> bytes:
    """Return shares as bytes, `from_bytes` of which they are."""
    return b"".join(int(share).to_bytes(WIDTH, "little") for share in shares.ravel())


def from_bytes(data: bytes, shape: Sequence[int]) -> NDArray[np.object_]:
    """Return shares of a shape, or raise `ValueError`."""
    count = int(np.prod([int(n) for n in shape], dtype=object))
    if len(data) != count * WIDTH:
        raise ValueError(f"{len(data)} bytes are not {count} shares of {WIDTH} bytes each.")
    found = np.empty(count, dtype=object)
    for i in range(count):
        found[i] = int.from_bytes(data[i * WIDTH : (i + 1) * WIDTH], "little")
    if np.any(found >= PRIME):
        raise ValueError("a share is no element of the field.")
    return found.reshape(tuple(shape))
