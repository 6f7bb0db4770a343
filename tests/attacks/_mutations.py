"""Generators of hostile bytes and words, from what is right: seeded, and the same in every run."""

from __future__ import annotations

import copy
import struct

#: Numbers at the edges of their types, and where sums and products wrap.
EDGES = (
    *(0, 1, -1, 2, 7, 8, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32),
    *(2**53, 2**62, 2**63 - 1, -(2**31), -(2**63), 10**9, 10**18, 10**30, 10**400),
)
#: What may stand where something else belongs.
WORDS = (
    *(None, True, False, "", "a", "\ud800", "\x00", "q" * 70, "ż" * 70, "object", "pandas"),
    *(0.5, 1e308, float("inf"), float("nan"), [], {}, [[]], [None], {"a": 1}, ["south"], [0, 1]),
)


def mutated_bytes(rng, body, others=()):
    """Bytes with one to four mistakes in them."""
    body = bytearray(body)
    for _ in range(int(rng.integers(1, 5))):
        n = len(body)
        at = int(rng.integers(0, n + 1))
        match int(rng.integers(0, 9)):
            case 0 | 1 if n:  # a bit
                body[at % n] ^= 1 << int(rng.integers(0, 8))
            case 2 if n:  # a byte
                body[at % n] = int(rng.integers(0, 256))
            case 3 | 4 if n >= 8:  # a number
                at = at % (n - 7)
                edge = EDGES[rng.integers(0, len(EDGES))] & (2**64 - 1)
                size = int(rng.choice([2, 4, 8]))
                body[at : at + size] = struct.pack("<Q", edge)[:size]
            case 5:  # an end
                del body[at:]
            case 6:  # a piece less
                del body[at : at + int(rng.integers(1, 64))]
            case 7:  # a piece twice
                piece = body[at : at + int(rng.integers(1, 64))]
                body[at:at] = piece * int(rng.integers(1, 4))
            case _:  # a piece of something else
                other = others[rng.integers(0, len(others))] if len(others) else bytes(32)
                start = int(rng.integers(0, len(other) + 1))
                body[at : at + 32] = bytes(other[start : start + 32])
    return bytes(body)


def mutated_words(rng, words):
    """Words of a message with one to three mistakes in them."""
    words = copy.deepcopy(dict(words))
    for _ in range(int(rng.integers(1, 4))):
        places = list(_places(words))
        holder, key = places[rng.integers(0, len(places))] if places else (words, "more")
        match int(rng.integers(0, 6)):
            case 0:
                holder[key] = EDGES[rng.integers(0, len(EDGES))]
            case 1 | 2:
                holder[key] = copy.deepcopy(WORDS[rng.integers(0, len(WORDS))])
            case 3 if isinstance(holder, dict) and key in holder:
                del holder[key]
            case 3 if isinstance(holder, list):
                holder.insert(0, copy.deepcopy(holder[key]))
            case 4:
                holder[key] = [holder.get(key) if isinstance(holder, dict) else holder[key]]
            case _ if key in holder or isinstance(holder, list):
                holder[key] = _near(rng, holder[key])
    return words


def _near(rng, value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-2, -1, 1, 2]))
    if isinstance(value, str):
        return mutated_bytes(rng, value.encode("utf-8", "replace")).decode("utf-8", "replace")
    return value


def _places(holder):
    """Where something can be replaced, at any depth."""
    items = holder.items() if isinstance(holder, dict) else enumerate(holder)
    for key, value in list(items):
        yield holder, key
        if isinstance(value, dict | list):
            yield from _places(value)
