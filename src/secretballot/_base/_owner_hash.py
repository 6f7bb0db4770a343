"""Keyed hash of owner ids, many at once.

SipHash-2-4 [1]_ is a pseudorandom function of short texts: without the key nobody can choose ids
that go to the same teacher, or find where one goes. NumPy computes it for all ids together.

References
----------
.. [1] Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

#: Bytes of a key, and of a block; bits of a byte, and the place of the length in the last block.
KEY_SIZE, _BLOCK_SIZE = 16, 8
_BITS_OF_BYTE, _LENGTH_PLACE = np.uint64(8), np.uint64(56)
#: Initial state.
_STATE = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
#: Ids that are hashed together: their state fits into a processor's cache.
_BATCH = 2**14


def hash_integers(numbers: NDArray[np.int64], key: bytes) -> Words:
    """Hash whole numbers as texts of 8 bytes: (n,)."""
    blocks = np.ascontiguousarray(numbers, dtype="<i8").view("<u8")
    length = np.uint64(_BLOCK_SIZE) << _LENGTH_PLACE
    hashes = np.empty(len(blocks), dtype=np.uint64)
    for begin in range(0, len(blocks), _BATCH):
        batch = slice(begin, begin + _BATCH)
        hashes[batch] = _siphash([blocks[batch], length], key)
    return hashes


def hash_texts(texts: Sequence[bytes], key: bytes) -> Words:
    """Hash texts of any length: (n,)."""
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    return hash_packed(b"".join(texts), np.concatenate([[0], np.cumsum(lengths)]), key)


def hash_packed(data: bytes | memoryview, offsets: NDArray[np.int64], key: bytes) -> Words:
    """Hash texts of a buffer, text i from offsets[i] to offsets[i + 1]: (n,)."""
    starts, lengths = offsets[:-1], np.diff(offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    bytes_ = np.frombuffer(data, dtype=np.uint8)[first:last]
    buffer = np.append(bytes_, np.zeros(_BLOCK_SIZE, dtype=np.uint8))
    # The block that begins at each byte: not yet a number, as those are slow to read out of place.
    blocks_at = np.ndarray(last - first + 1, dtype="V8", buffer=buffer, strides=(1,))
    n_whole = lengths // _BLOCK_SIZE
    hashes = np.empty(len(starts), dtype=np.uint64)
    for n in np.flatnonzero(np.bincount(n_whole)).tolist():
        places = np.flatnonzero(n_whole == n)
        for begin in range(0, len(places), _BATCH):
            batch = places[begin : begin + _BATCH]
            at = starts[batch] - first
            words = [blocks_at[at + _BLOCK_SIZE * place].view("<u8") for place in range(n + 1)]
            sizes = lengths[batch].astype(np.uint64)
            words[-1] &= (np.uint64(1) << (sizes % _BLOCK_SIZE * _BITS_OF_BYTE)) - np.uint64(1)
            words[-1] |= sizes << _LENGTH_PLACE
            hashes[batch] = _siphash(words, key)
    return hashes


def _siphash(words: Sequence[Words | np.uint64], key: bytes) -> Words:
    """Mix the first, second, ... words of n texts into their hashes: (n,)."""
    n = np.size(words[0])
    keys = np.frombuffer(key, dtype="<u8")
    initial = (word ^ int(keys[place % 2]) for place, word in enumerate(_STATE))
    state = [np.full(n, word, dtype=np.uint64) for word in initial]
    spare = np.empty(n, dtype=np.uint64)
    for word in words:
        state[3] ^= word
        _mix(state, spare, 2)
        state[0] ^= word
    state[2] ^= np.uint64(0xFF)
    _mix(state, spare, 4)
    return np.asarray(state[0] ^ state[1] ^ state[2] ^ state[3])


def _mix(state: list[Words], spare: Words, n_rounds: int) -> None:
    def rotate(words: Words, bits: int) -> None:
        np.right_shift(words, np.uint64(64 - bits), out=spare)
        np.left_shift(words, np.uint64(bits), out=words)
        np.bitwise_or(words, spare, out=words)

    def add(total: Words, words: Words, bits: int) -> None:
        total += words
        rotate(words, bits)
        words ^= total

    v0, v1, v2, v3 = state
    for _ in range(n_rounds):
        add(v0, v1, 13)
        rotate(v0, 32)
        add(v2, v3, 16)
        add(v0, v3, 21)
        add(v2, v1, 17)
        rotate(v2, 32)
