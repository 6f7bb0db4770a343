"""Keyed hash of owner ids: SipHash-2-4, beside its published values and a plain one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secretballot._base._owner_hash import hash_integers, hash_packed, hash_texts
from secretballot.tables._owners import Owners

KEY = bytes(range(16))
# The first and the sixteenth of the values published with the algorithm: texts 0, 1, ..., n - 1.
PUBLISHED = {0: 0x726FDB47DD0E0E31, 1: 0x74F839C593DC67FD, 15: 0xA129CA6149BE45E5}
MASK = 2**64 - 1


def plain(text, key):
    """Compute SipHash-2-4 with Python's numbers."""

    def rotated(word, bits):
        return (word << bits | word >> (64 - bits)) & MASK

    def mix(v):
        v[0] = (v[0] + v[1]) & MASK
        v[2] = (v[2] + v[3]) & MASK
        v[1], v[3] = rotated(v[1], 13) ^ v[0], rotated(v[3], 16) ^ v[2]
        v[0] = (rotated(v[0], 32) + v[3]) & MASK
        v[2] = (v[2] + v[1]) & MASK
        v[1], v[3] = rotated(v[1], 17) ^ v[2], rotated(v[3], 21) ^ v[0]
        v[2] = rotated(v[2], 32)

    k = [int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")]
    names = (b"somepseu", b"dorandom", b"lygenera", b"tedbytes")
    v = [int.from_bytes(name, "big") ^ k[at % 2] for at, name in enumerate(names)]
    n_whole = len(text) // 8
    words = [int.from_bytes(text[8 * at : 8 * at + 8], "little") for at in range(n_whole)]
    words.append(int.from_bytes(text[8 * n_whole :], "little") | (len(text) % 256) << 56)
    for word in words:
        v[3] ^= word
        mix(v)
        mix(v)
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(4):
        mix(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_published_values():
    hashes = hash_texts([bytes(range(n)) for n in PUBLISHED], KEY)
    assert hashes.tolist() == list(PUBLISHED.values())


@given(st.lists(st.binary(max_size=40) | st.binary(min_size=250, max_size=270)), st.binary())
def test_texts_of_any_length(texts, key):
    key = (key + KEY)[:16]
    assert hash_texts(texts, key).tolist() == [plain(text, key) for text in texts]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_whole_numbers_are_eight_bytes(numbers):
    expected = [plain(number.to_bytes(8, "little", signed=True), KEY) for number in numbers]
    assert hash_integers(np.array(numbers, dtype=np.int64), KEY).tolist() == expected


def test_many_batches_and_packed_texts_are_the_same(monkeypatch):
    monkeypatch.setattr("secretballot._base._owner_hash._BATCH", 7)
    texts = [f"patient {number}".encode() for number in range(100)]
    expected = [plain(text, KEY) for text in texts]
    assert hash_texts(texts, KEY).tolist() == expected
    offsets = np.cumsum([0, *map(len, texts)])
    part = hash_packed(b"".join(texts), offsets[30:61], KEY)
    assert part.tolist() == expected[30:60]


def test_the_smallest_whole_number_of_64_bits():
    smallest = -(2**63)
    expected = hash_integers(np.array([smallest, 5]), KEY)
    assert Owners.read([smallest, 5], 2).hashes(KEY).tolist() == expected.tolist()


@pytest.mark.parametrize("owners", [[3, 2**70, -5, 3], ["b", "a", "b", "é" * 9], [b"x", b"xx"]])
def test_equal_ids_have_equal_hashes_and_others_differ(owners):
    read = Owners.read(owners, len(owners))
    hashes = read.hashes(KEY)[read.of_row].tolist()
    assert len(set(hashes)) == len(set(owners))
    for id_, other in zip(owners, hashes, strict=True):
        assert hashes[owners.index(id_)] == other
    assert read.hashes(KEY[::-1])[read.of_row].tolist() != hashes
