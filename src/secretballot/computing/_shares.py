"""Shamir shares for three, any one of which says nothing, and the field that they are in.

A share is two unsigned 64-bit numbers, the lower half first, in memory as on the way.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Shares = NDArray[np.uint64]

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

#: The largest halves of a share; both together are the prime.
_LOW, _HIGH, _TOP_BIT = np.uint64(2**64 - 1), np.uint64(2**63 - 1), np.uint64(63)
#: Shares that are added up at a time.
_STEP = 2**16


def split(values: NDArray[np.int64]) -> list[Shares]:
    """Return a share for each computing party, each of the shape of the values and 2.

    The shares of a number s are s + r, s + 2 r and s + 3 r, with r uniform in the field: the values
    at 1, 2 and 3 of a line through s at 0. Whatever one share is, and whatever s, there is exactly
    one such line, so one share has the same law for all s.
    """
    negative = values < 0
    low = values.astype(np.uint64) - negative  # a negative number is so much below the prime
    share = np.stack((low, np.where(negative, _HIGH, np.uint64(0))), axis=-1)
    slope, shares = _uniform(values.shape), []
    for _ in range(N_COMPUTING):
        share = added(share, slope)
        shares.append(share)
    return shares


def added(first: Shares, second: Shares) -> Shares:
    """Return sums in the field."""
    low = first[..., 0] + second[..., 0]
    high = first[..., 1] + second[..., 1] + (low < first[..., 0])
    # 2^127 is 1 modulo the prime, so what is above goes below.
    above = high >> _TOP_BIT
    low = low + above
    high = (high & _HIGH) + (low < above)
    total = np.stack((low, high), axis=-1)
    total[_is_prime(low, high)] = 0
    return total


def add_to(total: Shares, shares: Shares) -> None:
    """Add shares to a total in place, a part at a time."""
    for at in range(0, len(total), _STEP):
        part = slice(at, at + _STEP)
        total[part] = added(total[part], shares[part])


def opened(shares: Sequence[Shares]) -> NDArray[np.int64]:
    """Return what three shares hide, as numbers around 0.

    Raises
    ------
    ValueError
        If they are not on a line: one of them is not what was computed.
    """
    first, second, third = map(as_integers, shares)
    if np.any((2 * second - first - third) % PRIME):
        raise ValueError("the three shares of a result don't belong to each other.")
    values = (_AT_ZERO[0] * first + _AT_ZERO[1] * second) % PRIME
    values = np.where(values > PRIME // 2, values - PRIME, values)
    if np.any(abs(values) >= 2**62):
        raise ValueError("the three shares of a result hide a number that no result is.")
    return np.asarray(values, dtype=np.int64)


def as_integers(shares: Shares) -> NDArray[np.object_]:
    """Return shares as whole numbers, with which MPyC computes."""
    low, high = shares[..., 0].astype(object), shares[..., 1].astype(object)
    return np.asarray(low + (high << 64), dtype=object)


def from_integers(numbers: NDArray[np.object_]) -> Shares:
    """Return whole numbers of the field as shares."""
    data = b"".join(int(number).to_bytes(WIDTH, "little") for number in numbers.ravel())
    return read_shares(data, numbers.shape)


def read_shares(data: bytes | memoryview, shape: Sequence[int]) -> Shares:
    """Return bytes as shares of a shape, or raise `ValueError`."""
    count = int(np.prod([int(n) for n in shape], dtype=object))
    if len(data) != count * WIDTH:
        raise ValueError(f"{len(data)} bytes are not {count} shares of {WIDTH} bytes each.")
    shares = np.frombuffer(data, dtype="<u8").reshape(*shape, 2)
    low, high = shares[..., 0], shares[..., 1]
    if np.any(high > _HIGH) or np.any(_is_prime(low, high)):
        raise ValueError("a share is no element of the field.")
    return shares


def _is_prime(low: NDArray[np.uint64], high: NDArray[np.uint64]) -> NDArray[np.bool_]:
    return np.asarray((high == _HIGH) & (low == _LOW))


def _uniform(shape: tuple[int, ...]) -> Shares:
    """Return elements of the field, each as likely as any other."""
    n = int(np.prod(shape))
    numbers = np.frombuffer(secrets.token_bytes(n * WIDTH), "<u8").reshape(n, 2).copy()
    numbers[:, 1] &= _HIGH
    while (again := np.flatnonzero(_is_prime(numbers[:, 0], numbers[:, 1]))).size:
        numbers[again] = _uniform((again.size,))
    return numbers.reshape(*shape, 2)
