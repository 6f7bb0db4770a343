"""Signs of noise in proportions that are given without a covariance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import warn
from secretballot.quantification._bag_types import Floats, Integers

#: Published proportions are multiples of this.
_GRID = 2.0**-20
#: Exact proportions of bags of up to 2**14 instances are never all multiples of `_GRID` and not
#: all of this.
_COARSE_GRID = 2.0**-15
#: Most decimals to which figures may have been rounded.
_DECIMALS = 12
#: Rounding error of a share in single precision.
_ROUNDING = 1e-7


def warn_of_unstated_noise(values: Floats, sizes: Integers | None = None) -> None:
    """Warn of proportions that can't be exact; no sizes if they are also of other instances."""
    sign = _sign_of_noise(values, sizes)
    if sign is not None:
        warn(
            f"{sign}, and nothing was said of their noise, so that they are taken to be exact. If "
            "they were published with noise give the PublishedProportions themselves, or "
            "covariance=published.covariance(); if they are right as they are, a covariance of "
            "zeros."
        )


def _sign_of_noise(values: Floats, sizes: Integers | None) -> str | None:
    if (values < -_ROUNDING).any():
        return "some proportions are negative"
    exact = None if sizes is None else _are_exact(values, sizes[:, None])
    if exact is not None and exact.all():
        return None
    if _on_grid(values, _GRID) and not _on_grid(values, _COARSE_GRID):
        return "the proportions are all multiples of 1/2**20, as publish_proportions rounds them"
    if exact is not None and exact.mean() < 0.5:
        return (
            f"the proportions of {np.count_nonzero(~exact)} of {len(exact)} bags are shares of no "
            "whole number of their instances (they may also be those of others than these)"
        )
    return None


def _on_grid(values: Floats, step: float) -> bool:
    return bool((np.abs(values / step - np.rint(values / step)) < 1e-6).all())


def _are_exact(values: Floats, sizes: Integers) -> NDArray[np.bool_]:
    """Test, per bag, if proportions times bag size are whole numbers, up to the decimals given.

    A proportion with three decimals may have been rounded from any one within 0.0005 of it.
    """
    error = np.full(values.shape, _ROUNDING)
    for decimals in range(_DECIMALS, 0, -1):
        scaled = values * 10.0**decimals
        error[np.abs(scaled - np.rint(scaled)) < 1e-3] = 0.5 * 10.0**-decimals
    counts = values * sizes
    # Rounding to d decimals errs by at most 0.5 * 10**-d. The 2 % cover halves that floating-point
    # error puts just beyond that.
    fits = np.abs(counts - np.rint(counts)) <= 1.02 * error * sizes + _ROUNDING
    return np.asarray(fits.all(axis=1))
