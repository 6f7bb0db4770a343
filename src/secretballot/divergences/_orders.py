"""The shared grid of Renyi orders."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def _shared_orders() -> Floats:
    orders = np.concatenate(
        [
            1.0 + np.geomspace(0.01, 0.9, 24),
            np.arange(2.0, 10.0, 0.25),
            np.arange(10.0, 20.0, 0.5),
            np.arange(20.0, 51.0, 1.0),
            np.geomspace(52.0, 4096.0, 42),
            [np.inf],
        ]
    )
    orders.flags.writeable = False
    return orders


#: The Renyi orders on which every curve of the library lives: 149 finite ones, the integers 2 to 50
#: of published tables among them, and infinity.
ORDERS: Floats = _shared_orders()


def order_index(order: float) -> int:
    """Position of ``order`` on the shared grid; `ValueError` if it is not there."""
    index = int(np.searchsorted(ORDERS, order))
    if index == len(ORDERS) or ORDERS[index] != order:
        below, above = ORDERS[max(index - 1, 0)], ORDERS[min(index, len(ORDERS) - 1)]
        raise ValueError(
            f"order={order!r} is not one of the {len(ORDERS)} Renyi orders of the shared grid; "
            f"the nearest are {below:g} and {above:g}."
        )
    return index
