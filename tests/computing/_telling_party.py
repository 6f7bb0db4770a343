"""A computing party that tells what it makes and sees on the way: random bits, masked numbers."""

from __future__ import annotations

import os

import numpy as np

from secretballot.computing import PRIME, VALUE_BITS, _computing_party, _mpyc
from secretballot.computing.__main__ import main


class Os:
    """Of the operating system what random bits take."""

    urandom = staticmethod(os.urandom)


async def tell_digits(runtime, shares, how, bits):
    kind = runtime.SecInt(VALUE_BITS, p=PRIME)
    if how == "plurality":
        if runtime.pid == bits - 2:
            _mpyc.os.urandom = bytes  # its signs are known
        made = await runtime.np_random_bits(kind.field, shares.size)
        _mpyc.os.urandom = os.urandom
        return made.value.reshape(shares.shape)
    opened, output = [], runtime.output

    def listened(x, *args, **settings):
        result = output(x, *args, **settings)
        opened.append(result)
        return result

    runtime.output = listened
    sign = runtime.np_sgn(kind.array(kind.field.array(shares[:, :1])), l=bits, LT=True)
    await runtime.gather(sign)
    runtime.output = output
    masked = (await opened[0]).value.reshape(-1)
    # What is public is a share of itself.
    digits = [(masked >> shift) % 16 for shift in (0, bits, bits + 40)]
    return np.stack(digits, axis=1)


if __name__ == "__main__":
    _mpyc.os, _computing_party.winners = Os(), tell_digits
    main()
