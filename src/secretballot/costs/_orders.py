"""The shared grid of Renyi orders."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: Currency of a budget: divergences at a Renyi order, epsilons at infinity, or mu^2.
Order = float | Literal["gaussian"]
GAUSSIAN: Literal["gaussian"] = "gaussian"

# fmt: off
#: 24 orders from 1.01 to 1.9 and 42 from 52 to 4096 in growing steps; between them steps of 1/4 to
#: 10, of 1/2 to 20, and the integers to 50 of published tables. They are literals because computed
#: orders differ between processors in their last digit, and ledgers move between machines.
_FINITE = (
    1.01, 1.0121609377565761, 1.0147888407119319, 1.0179846171389724, 1.0218709809602897,
    1.0265971638133344, 1.032344645363542, 1.0393341219024566, 1.0478339808165353,
    1.0581706063359144, 1.070740912291335, 1.0860275831218338, 1.1046176083693302,
    1.1272248223621286, 1.1547173145837304, 1.188150763251736, 1.228808972075666,
    1.2782531667558348, 1.3383819441487914, 1.4115041760742684, 1.5004276671810337,
    1.608566971225716, 1.740074505778401, 1.9, 2.0, 2.25, 2.5, 2.75, 3.0, 3.25, 3.5, 3.75, 4.0,
    4.25, 4.5, 4.75, 5.0, 5.25, 5.5, 5.75, 6.0, 6.25, 6.5, 6.75, 7.0, 7.25, 7.5, 7.75, 8.0,
    8.25, 8.5, 8.75, 9.0, 9.25, 9.5, 9.75, 10.0, 10.5, 11.0, 11.5, 12.0, 12.5, 13.0, 13.5, 14.0,
    14.5, 15.0, 15.5, 16.0, 16.5, 17.0, 17.5, 18.0, 18.5, 19.0, 19.5, 20.0, 21.0, 22.0, 23.0,
    24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0, 37.0, 38.0,
    39.0, 40.0, 41.0, 42.0, 43.0, 44.0, 45.0, 46.0, 47.0, 48.0, 49.0, 50.0, 52.0,
    57.84368384548381, 64.34407232339012, 71.57496493856004, 79.6184546761088,
    88.56586001059267, 98.51876165300196, 109.59015580586194, 121.90573701945358,
    135.60532521353784, 150.8444530656904, 167.79613178801367, 186.65281533925003,
    207.62858537217411, 230.9615817221748, 256.9167060305835, 285.7886291972343,
    317.90513680613515, 353.6308505051798, 393.3713675890611, 437.5778657824472,
    486.75222550195065, 541.4527277503939, 602.3003923320882, 669.9860283474644,
    745.2780770119635, 829.0313358394263, 922.1966632364405, 1025.8317736847844,
    1141.1132460706651, 1269.3498814924094, 1411.9975621990247, 1570.675780354504,
    1747.1860242804717, 1943.5322309178355, 2161.9435367061374, 2404.899585173404,
    2675.158678555874, 2975.7890930555436, 3310.203913260457, 3682.199781206178, 4096.0,
)
# fmt: on


def _shared_orders() -> Floats:
    orders = np.array([*_FINITE, np.inf])
    orders.flags.writeable = False
    return orders


#: The Renyi orders on which every curve of the library lives: 149 finite ones, the integers 2 to 50
#: of published tables among them, and infinity.
ORDERS: Floats = _shared_orders()

#: Rounding of orders that were computed on other machines, in units of the last place.
_ORDER_ROUNDING = 4


def order_array(orders: tuple[float, ...] | None) -> Floats:
    return ORDERS if orders is None else np.asarray(orders, dtype=np.float64)


def same_orders(orders: ArrayLike, recorded: ArrayLike) -> NDArray[np.bool_]:
    """Compare orders elementwise, up to rounding in the last place."""
    first, second = np.asarray(orders, dtype=np.float64), np.asarray(recorded, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        near = np.abs(first - second) <= _ORDER_ROUNDING * np.spacing(second)
    return np.asarray(near | (first == second))  # infinity equals infinity


@lru_cache(maxsize=1024)
def order_index(order: Order) -> int:
    """Find the position of an order on the shared grid; raise `ValueError` if it is not there."""
    if isinstance(order, str):
        raise ValueError(f"order={order!r} is not a Renyi order.")
    index = int(np.searchsorted(ORDERS, order))
    for position in (index, index - 1):
        if 0 <= position < len(ORDERS) and same_orders(order, ORDERS[position]):
            return position
    nearest = f"the smallest is {ORDERS[0]:g}"
    if index > 0:
        below, above = ORDERS[index - 1], ORDERS[index]
        nearest = f"the nearest are {below:.16g} and {above:.16g}"
    raise ValueError(
        f"order={order!r} is not one of the {len(ORDERS)} Renyi orders of the shared grid; "
        f"{nearest}."
    )


def grid_order(order: Order) -> Order:
    """Round an order to the shared grid; raise `ValueError` if it is not there."""
    return order if order == GAUSSIAN else float(ORDERS[order_index(order)])
