"""Class ratios that fit a mean best: least squares on the simplex."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

_NEGLIGIBLE = 1e-10


def fit_on_simplex(gram: NDArray[np.float64], cross: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimise ``r G r - 2 r v`` over non-negative r that sum to 1, for each column v.

    Parameters
    ----------
    gram : ndarray of shape (n_classes, n_classes)
        Inner products of class means. Directions in which it is not positive, as may happen once
        self-similarities are taken out, are left out: they say nothing.
    cross : ndarray of shape (n_classes, n_bags)
        Inner products of class means with the mean to be fitted.

    Returns
    -------
    ndarray of shape (n_bags, n_classes)

    Notes
    -----
    With G = L'L and v = L'b the objective is norm(L r - b)^2, and as r sums to 1 that is
    norm((L - b 1') r)^2: the point of least norm in a convex hull. It is found, up to its length,
    by non-negative least squares for (C, w) r = (0, w), whatever w > 0.
    """
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    kept = values > max(values[-1], 0.0) * _NEGLIGIBLE
    if not kept.any():
        return np.full(cross.T.shape, 1 / len(gram))
    root = np.sqrt(values[kept])
    factor = root[:, None] * vectors[:, kept].T
    target = (vectors[:, kept].T @ cross) / root[:, None]
    n_classes = len(gram)
    found = np.empty(cross.T.shape)
    system = np.empty((len(factor) + 1, n_classes))
    right = np.zeros(len(factor) + 1)
    for number, b in enumerate(target.T):
        system[:-1] = factor - b[:, None]
        weight = max(float(np.abs(system[:-1]).max()), 1e-300)
        system[-1], right[-1] = weight, weight
        r = nnls(system, right)[0]
        found[number] = r / r.sum()
    return found


def fit_signed(
    gram: NDArray[np.float64], cross: NDArray[np.float64], inverse: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Minimise the same over r that sum to 1 but may be negative.

    Parameters
    ----------
    gram, cross
        As for `fit_on_simplex`.
    inverse : ndarray of shape (n_classes, n_classes)
        Of `gram` over directions of sum zero.

    Returns
    -------
    ndarray of shape (n_bags, n_classes)
    """
    even = np.full(len(gram), 1 / len(gram))
    return np.asarray(even + (inverse @ (cross - (gram @ even)[:, None])).T)


def directions(gram: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the eigenvalues of class means' products over directions of sum zero, and these.

    Parameters
    ----------
    gram : ndarray of shape (n_classes, n_classes)

    Returns
    -------
    values : ndarray of shape (n_classes - 1,)
        Squared distances of classes, ascending.
    vectors : ndarray of shape (n_classes, n_classes - 1)
        Orthonormal.
    """
    basis = sum_zero(len(gram))
    values, vectors = np.linalg.eigh(basis.T @ gram @ basis)
    return values, basis @ vectors


def rounding_of(gram: NDArray[np.float64]) -> float:
    """Return what squared distances are at least off by; never nothing."""
    return max(float(np.abs(gram).max()) * 1e-12, 1e-290)


def inverse_over(
    values: NDArray[np.float64], vectors: NDArray[np.float64], floor: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the inverse, with no eigenvalue below a floor, nor of next to nothing.

    Parameters
    ----------
    values, vectors
        From `directions`.
    floor : ndarray of shape (n_classes - 1,)
    """
    least = np.maximum(floor, max(float(values[-1]) * 1e-12, 1e-300))
    return np.asarray((vectors / np.maximum(values, least)) @ vectors.T)


def sum_zero(n_classes: int) -> NDArray[np.float64]:
    """Return an orthonormal basis of the vectors that sum to zero, as columns."""
    return np.linalg.qr(np.c_[np.ones(n_classes), np.eye(n_classes)[:, 1:]])[0][:, 1:]
