"""The winner of each row of shared counts, by comparisons that open nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.computing._shares import PRIME, VALUE_BITS


async def winners(
    runtime: Any, shares: NDArray[np.object_], rule: str, bits: int
) -> NDArray[np.object_]:
    """Return a share of each winner, by the rule and the bits of a `SharedVote`.

    Parameters
    ----------
    runtime : mpyc.runtime.Runtime
        Connected with the two others.
    shares : ndarray of shape (n_rows, n_columns)
        This computing party's.
    rule, bits
        The numbers compared differ by less than 2^(bits - 1).
    """
    kind = runtime.SecInt(VALUE_BITS, p=PRIME)
    table = kind.array(kind.field.array(shares.T))
    find = _largest if rule == "plurality" else _is_below_zero
    share = await runtime.gather(find(runtime, table, bits))
    return np.asarray(share.value).T


def _is_below_zero(runtime: Any, numbers: Any, bits: int) -> Any:
    return runtime.np_sgn(numbers, l=bits, LT=True)


def _largest(runtime: Any, table: Any, bits: int) -> Any:
    """Return the lowest position of the largest number of each column of a table.

    A knock-out: neighbours are compared, the first stays unless the second is larger, and so the
    order is kept and ties go to the lowest. A winner is opened as its position, found on the way.
    """
    position: Any = np.arange(table.shape[0])[:, None]
    while (n := table.shape[0]) > 1:
        even = n - n % 2
        first, second = table[0:even:2], table[1:even:2]
        ahead, behind = position[0:even:2], position[1:even:2]
        moves = _is_below_zero(runtime, first - second, bits)
        if n == 2:
            return (ahead + moves * (behind - ahead))[0]
        left = first + moves * (second - first)
        place = ahead + moves * (behind - ahead)
        if n % 2:
            last = position[even:] + moves[:1] * 0
            left = runtime.np_concatenate((left, table[even:]), axis=0)
            place = runtime.np_concatenate((place, last), axis=0)
        table, position = left, place
    raise ValueError("a plurality is of two columns or more.")
