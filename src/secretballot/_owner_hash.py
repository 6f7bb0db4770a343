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

#: Bytes of a key, and of a block.
KEY_SIZE, _BLOCK_SIZE = 16, 8
#: Initial state.
_STATE = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
#: Ids that are hashed together: their state fits into a processor's cache.
_BATCH = 2**14


def hash_integers(numbers: NDArray[np.int64], key: bytes) -> Words:
    """Hash whole numbers as texts of 8 bytes: (n,)."""
    blocks = np.ascontiguousarray(numbers, dtype="<i8").view("<u8")
    lengths = np.full(len(blocks), _BLOCK_SIZE, dtype=np.uint64)
    return _hash_blocks(np.stack([blocks, np.zeros_like(blocks)], axis=1), lengths, key)


def hash_texts(texts: Sequence[bytes], key: bytes) -> Words:
    """Hash texts of any length: (n,)."""
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    return hash_packed(b"".join(texts), np.concatenate([[0], np.cumsum(lengths)]), key)


def hash_packed(data: bytes | memoryview, offsets: NDArray[np.int64], key: bytes) -> Words:
    """Hash texts that follow each other in a buffer: (n,).

    Parameters
    ----------
    data : bytes-like
    offsets : ndarray of shape (n + 1,)
        Place in the buffer at which each text begins, and the end of the last.
    key : bytes
    """
    starts, lengths = offsets[:-1], np.diff(offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    buffer = np.zeros(last - first + _BLOCK_SIZE, dtype=np.uint8)
    buffer[: last - first] = np.frombuffer(data, dtype=np.uint8)[first:last]
    # The block that begins at each byte.
    blocks_at = np.ndarray(last - first + 1, dtype="<u8", buffer=buffer, strides=(1,))
    n_whole = lengths // _BLOCK_SIZE
    n_last_bytes = (lengths % _BLOCK_SIZE).astype(np.uint64)
    # The last block is what is left of a text: it has room for the length.
    masks = (np.uint64(1) << (np.uint64(8) * n_last_bytes)) - np.uint64(1)
    hashes = np.empty(len(starts), dtype=np.uint64)
    for n in np.flatnonzero(np.bincount(n_whole)).tolist():
        places = np.flatnonzero(n_whole == n)
        steps = _BLOCK_SIZE * np.arange(n + 1)
        blocks = blocks_at[(starts[places] - first)[:, None] + steps]
        blocks[:, -1] &= masks[places]
        hashes[places] = _hash_blocks(blocks, lengths[places], key)
    return hashes


def _hash_blocks(blocks: Words, lengths: Words, key: bytes) -> Words:
    """Compute SipHash-2-4 of texts of equally many blocks: (n,).

    Parameters
    ----------
    blocks : ndarray of shape (n, n_blocks)
        Texts, padded with zeros. The last block has fewer than 8 bytes.
    lengths : ndarray of shape (n,)
        Bytes of the texts.
    key : bytes
    """
    blocks[:, -1] |= lengths.astype(np.uint64) << np.uint64(56)
    hashes = np.empty(len(blocks), dtype=np.uint64)
    for start in range(0, len(blocks), _BATCH):
        part = slice(start, start + _BATCH)
        hashes[part] = _siphash(blocks[part].T, key)
    return hashes


def _siphash(words: Words, key: bytes) -> Words:
    """Mix words (n_words, n) of n texts into their hashes: (n,)."""
    keys = np.frombuffer(key, dtype="<u8")
    initial = (word ^ int(keys[place % 2]) for place, word in enumerate(_STATE))
    state = [np.full(words.shape[1], word, dtype=np.uint64) for word in initial]
    spare = np.empty(words.shape[1], dtype=np.uint64)
    for word in words:
        state[3] ^= word
        _mix(state, spare, 2)
        state[0] ^= word
    state[2] ^= np.uint64(0xFF)
    _mix(state, spare, 4)
    return np.asarray(state[0] ^ state[1] ^ state[2] ^ state[3])


def _mix(state: list[Words], spare: Words, n_rounds: int) -> None:
    """Apply rounds of SipHash to the state, in place."""

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
