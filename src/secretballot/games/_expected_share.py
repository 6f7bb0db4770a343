"""About what a plan will cost: where the search for its noise begins. Nothing is charged by it."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from secretballot.divergences import (
    BoundedRange,
    ClippedBits,
    FewDraws,
    Floats,
    Law,
    NoisyBit,
    NoisyMax,
    NoisyVector,
    PureRelease,
)
from secretballot.games._clipped_row import played_bits
from secretballot.games._worst_game import is_gaussian

_ROWS = np.log([1, 2, 4, 10, 30, 100, 300, 1000, 20_000])
_QUANTILES = -ndtri([1e-4, 1e-6, 5e-8, 1e-10, 1e-12])

#: Shares of the noisy counts' mu^2 that plans of two classes cost, by rows and by their delta.
_BINARY = np.array(
    [
        [1.000, 1.001, 1.001, 1.008, 1.012],
        [0.861, 0.900, 0.915, 0.937, 0.947],
        [0.766, 0.797, 0.816, 0.848, 0.867],
        [0.697, 0.712, 0.722, 0.741, 0.754],
        [0.6604, 0.6659, 0.6694, 0.6765, 0.6818],
        [0.6449, 0.6470, 0.6481, 0.6503, 0.6520],
        [0.6396, 0.6409, 0.6413, 0.6421, 0.6426],
        [0.6373, 0.6386, 0.6386, 0.6389, 0.6391],
        [0.6383, 0.6384, 0.6386, 0.6387, 0.6388],
    ]
)

#: What the bound for three and more classes adds.
_MORE = np.array(
    [
        [0.000, 0.000, 0.000, 0.000, 0.000],
        [0.006, 0.024, 0.029, 0.052, 0.050],
        [0.007, 0.011, 0.016, 0.036, 0.036],
        [0.008, 0.009, 0.010, 0.012, 0.015],
        [0.009, 0.009, 0.0095, 0.0096, 0.0097],
        [0.009, 0.009, 0.0094, 0.0096, 0.0098],
        [0.0098, 0.0098, 0.0096, 0.0093, 0.0092],
        [0.0098, 0.0098, 0.0096, 0.0093, 0.0092],
        [0.0100, 0.0101, 0.0101, 0.0103, 0.0103],
    ]
)

#: Moves that tell most where two outcomes are as likely, and as much together as noisy bits do.
_ALIKE = (NoisyBit, BoundedRange, FewDraws, PureRelease)


def expected_share(law: Law, n_rows: int, approximation_delta: float) -> float | None:
    """Return about what part of its noisy numbers' mu^2 a plan will cost; None if nobody knows."""
    if any(step.after is not None for step in law):
        return None
    if all(isinstance(step.move, _ALIKE) for step in law):
        return _share_of_bits(law, n_rows, approximation_delta)
    if len({step.move for step in law}) != 1:
        return None
    move, n_moves = law[0].move, n_rows * sum(step.times for step in law)
    if isinstance(move, NoisyVector) or (isinstance(move, NoisyMax) and is_gaussian(move)):
        return 1.0
    part = 1.0
    if isinstance(move, ClippedBits):
        bits = played_bits(move)
        if bits is None:
            return 1.0
        n_moves, part = n_moves * bits[0], bits[1] / move.noisy_numbers
    elif not isinstance(move, NoisyMax):
        return None
    binary = isinstance(move, ClippedBits) or move.n_classes == 2
    share = _looked_up(n_moves, approximation_delta, _BINARY if binary else _BINARY + _MORE)
    return None if share is None else part * share


def _share_of_bits(law: Law, n_rows: int, approximation_delta: float) -> float | None:
    """Return the share of bits and draws, which are as many as if all told equally much."""
    found = []
    for step in law:
        move = step.move
        if isinstance(move, FewDraws):
            found.append((step.times * move.most, move.ratio**2 / max(move.most, 1)))
        elif isinstance(move, NoisyBit):
            found.append((step.times, (move.shift / move.scale) ** 2))
        else:
            assert isinstance(move, BoundedRange | PureRelease)
            found.append((step.times, move.ratio**2))
    together = sum(n * each for n, each in found)
    squares = sum(n * each**2 for n, each in found)
    n_moves = n_rows * together**2 / squares if squares else 0.0
    return _looked_up(n_moves, approximation_delta, _BINARY)


def _looked_up(n_moves: float, approximation_delta: float, shares: Floats) -> float | None:
    if n_moves < 1 or not 0 < approximation_delta < 1:
        return None
    quantile = float(-ndtri(approximation_delta))
    by_rows = [np.interp(quantile, _QUANTILES, each) for each in shares]
    return float(np.interp(math.log(n_moves), _ROWS, by_rows))
