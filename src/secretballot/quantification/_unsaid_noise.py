"""Proportions that show to be noisy where nothing was said of a noise."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

#: Published proportions are multiples of this.
_GRID = 2.0**-20
#: Exact ones of bags of up to 2**14 instances are never all on that grid and this fine.
_FINE = 2.0**-15
#: Decimals up to which figures may have been rounded by somebody.
_DECIMALS = 12
#: Of a share, in single precision.
_ROUNDING = 1e-7


def warn_of_noise(values: NDArray[np.float64], sizes: NDArray[np.int64] | None = None) -> None:
    """Warn of proportions that are no shares of whole numbers, and say what to give with them.

    Rounded figures are let through: a figure of three decimals may be any whole number within
    .0005 of it.

    Parameters
    ----------
    values : ndarray of shape (n_bags, n_classes)
    sizes : ndarray of shape (n_bags,), default=None
        Instances in each bag. None if these are not all that the proportions are of.
    """
    sign = _sign(values, sizes)
    if sign is not None:
        warnings.warn(
            f"{sign}, and nothing was said of their noise, so that they are taken to be exact. If "
            "they were published with noise give the PublishedProportions themselves, or "
            "covariance=published.covariance(); if they are right as they are, a covariance of "
            "zeros.",
            UserWarning,
            stacklevel=4,
        )


def _sign(values: NDArray[np.float64], sizes: NDArray[np.int64] | None) -> str | None:
    if (values < -_ROUNDING).any():
        return "some proportions are negative"
    whole = None if sizes is None else _are_shares(values, sizes[:, None])
    if whole is not None and whole.all():
        return None
    coarse = np.abs(values / _FINE - np.rint(values / _FINE)) < 1e-6
    fine = np.abs(values / _GRID - np.rint(values / _GRID)) < 1e-6
    if fine.all() and not coarse.all():
        return "the proportions are all multiples of 1/2**20, as publish_proportions rounds them"
    if whole is not None and whole.mean() < 0.5:
        return (
            f"the proportions of {np.count_nonzero(~whole)} of {len(whole)} bags are shares of no "
            "whole number of their instances (they may also be those of others than these)"
        )
    return None


def _are_shares(values: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each bag's could be counts over its size, as rounded as their decimals say."""
    error = np.full(values.shape, _ROUNDING)
    for decimals in range(_DECIMALS, 0, -1):
        scaled = values * 10.0**decimals
        error[np.abs(scaled - np.rint(scaled)) < 1e-3] = 0.5 * 10.0**-decimals
    count = values * sizes
    # Room for what was rounded the other way.
    fits = np.abs(count - np.rint(count)) <= 1.02 * error * sizes + _ROUNDING
    return np.asarray(fits.all(axis=1))
