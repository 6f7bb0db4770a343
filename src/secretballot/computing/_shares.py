"""Shamir shares for three, any one of which is uniform, and the field that they are in.

A share is two unsigned 64-bit numbers, the lower half first, in memory as in messages.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from secretballot.transport import Buffer, MessageError

Shares = NDArray[np.uint64]

#: Number of computing parties; any two of them together know everything.
N_COMPUTING = 3

#: The field. A Mersenne number, so square roots are one power (it is 3 modulo 4).
PRIME = 2**127 - 1

#: A comparison opens numbers under a mask that is longer by `MASK_BITS`. They differ from uniform
#: ones by a statistical distance of at most two to the minus `LEAK_BITS`.
MASK_BITS, LEAK_BITS = 63, 61

#: The longest numbers, with their sign, that fit under the mask and into the field.
VALUE_BITS = 127 - MASK_BITS - 2
#: Bytes of one share.
WIDTH = 16
#: The largest halves of a share; both together are the prime.
_LOW, _HIGH, _TOP_BIT = np.uint64(2**64 - 1), np.uint64(2**63 - 1), np.uint64(63)
#: Shares that are added up at a time.
_STEP = 2**16


def split(values: NDArray[np.int64]) -> list[Shares]:
    """Split values into a share for each computing party, each of the shape of the values and 2.

    The shares of a number s are s + r, s + 2 r and s + 3 r, with r uniform in the field.
    """
    negative = values < 0
    low = values.astype(np.uint64) - negative  # -n is the prime minus n
    share = np.stack((low, np.where(negative, _HIGH, np.uint64(0))), axis=-1)
    slope, shares = _uniform(values.shape), []
    for _ in range(N_COMPUTING):
        share = added(share, slope)
        shares.append(share)
    return shares


def added(first: Shares, second: Shares) -> Shares:
    """Add shares in the field."""
    low = first[..., 0] + second[..., 0]
    high = first[..., 1] + second[..., 1] + (low < first[..., 0])
    # 2^127 is 1 modulo the prime: the top bit counts as 1.
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
    """Reconstruct numbers around 0 from three shares; ValueError if they are not on a line."""
    first, second, third = map(as_integers, shares)
    if np.any((2 * second - first - third) % PRIME):
        raise ValueError("the three shares of a result don't belong to each other.")
    values = (2 * first - second) % PRIME  # where the line is at 0
    values = np.where(values > PRIME // 2, values - PRIME, values)
    if np.any(abs(values) >= 2**62):
        raise ValueError("the three shares of a result hide a number that is too large.")
    return np.asarray(values, dtype=np.int64)


def as_integers(shares: Shares) -> NDArray[np.object_]:
    """Convert shares to Python's integers, with which MPyC computes."""
    low, high = shares[..., 0].astype(object), shares[..., 1].astype(object)
    return np.asarray(low + (high << 64), dtype=object)


def from_integers(numbers: NDArray[np.object_]) -> Shares:
    """Convert integers of the field to shares."""
    data = b"".join(int(number).to_bytes(WIDTH, "little") for number in numbers.ravel())
    return read_shares(data, numbers.shape)


def read_shares(data: Buffer, shape: Sequence[int]) -> Shares:
    """View bytes as shares of a shape, or raise `MessageError`."""
    count = math.prod(shape)
    if len(data) != count * WIDTH:
        raise MessageError(f"{len(data)} bytes are not {count} shares of {WIDTH} bytes each.")
    shares = np.frombuffer(data, dtype="<u8").reshape(*shape, 2)
    low, high = shares[..., 0], shares[..., 1]
    if np.any(high > _HIGH) or np.any(_is_prime(low, high)):
        raise MessageError("a share is no element of the field.")
    return shares


def _is_prime(low: NDArray[np.uint64], high: NDArray[np.uint64]) -> NDArray[np.bool_]:
    return np.asarray((high == _HIGH) & (low == _LOW))


def _uniform(shape: tuple[int, ...]) -> Shares:
    """Draw uniform elements of the field."""
    n = int(np.prod(shape))
    numbers = np.frombuffer(secrets.token_bytes(n * WIDTH), "<u8").reshape(n, 2).copy()
    numbers[:, 1] &= _HIGH
    while (rejected := np.flatnonzero(_is_prime(numbers[:, 0], numbers[:, 1]))).size:
        numbers[rejected] = _uniform((rejected.size,))
    return numbers.reshape(*shape, 2)
