"""Shared bits that none of the three knows: most of what a comparison costs."""

from __future__ import annotations

import asyncio
import os
from types import MethodType
from typing import Any

import numpy as np

from secretballot.computing._shares import PRIME

#: Two of three: neither knows the other's signs, and the third none.
_SENDERS = (0, 1)


def cheaper_bits(runtime: Any) -> None:
    """Let a runtime of MPyC make random bits by a multiplication.

    MPyC opens the square of a random number, and takes a root, a power modulo the prime for each
    bit; that was seven tenths of a vote's time. Here two parties share random signs, and the bit is
    the sign of their product, as MPyC does where it has no pseudorandom sharing.
    """
    runtime.np_random_bits = MethodType(runtime.coroutine(_random_bits), runtime)


# MPyC reads a return annotation as the type of what is shared; this says that below.
async def _random_bits(runtime: Any, field: Any, n: int):  # type: ignore[no-untyped-def]
    await runtime.returnType(asyncio.Future)
    signs = np.zeros(n, dtype=object)
    if runtime.pid in _SENDERS:
        bits = np.unpackbits(np.frombuffer(os.urandom(-(-n // 8)), np.uint8), count=n)
        signs = 2 * bits.astype(object) - 1
    numbers = runtime.SecFld(PRIME).array
    first, second = runtime.input(numbers(field.array(signs)), senders=list(_SENDERS))
    product = await runtime.gather(first * second)
    return field.array((product.value + 1) * ((PRIME + 1) // 2) % PRIME)
