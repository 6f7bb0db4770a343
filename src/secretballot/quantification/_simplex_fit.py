"""Least squares for class ratios, on the simplex and without signs."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from secretballot.quantification._bag_types import Floats

_NEGLIGIBLE = 1e-10
_ROUNDING = 1e-12


def fit_on_simplex(gram: Floats, cross: Floats, fallback: Floats) -> Floats:
    """Minimise ``r' G r - 2 r' v`` over non-negative r that sum to 1, for each column v of `cross`.

    Returns shape (n_columns, n_classes). In directions in which G is not positive, as may happen
    once self-similarities are taken out, ratios are those of `fallback`. With G = L'L and v = L'b
    the objective is norm((L - b 1') r)^2, and its minimum is found, up to its length, by
    non-negative least squares for ((L - b 1'), w 1') r = (0, w), whatever w > 0.
    """
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    least = max(values[-1] * _NEGLIGIBLE, 1e-290)
    unknown = values <= least
    root = np.sqrt(np.maximum(values, least))
    factor = root[:, None] * vectors.T
    targets = np.where(
        unknown[:, None], factor @ fallback[:, None], vectors.T @ cross / root[:, None]
    )
    n_classes = len(gram)
    ratios = np.empty(cross.T.shape)
    system = np.empty((len(factor) + 1, n_classes))
    right = np.zeros(len(factor) + 1)
    for number, b in enumerate(targets.T):
        system[:-1] = factor - b[:, None]
        weight = max(float(np.abs(system[:-1]).max()), 1e-300)
        system[-1], right[-1] = weight, weight
        r = nnls(system, right)[0]
        ratios[number] = r / r.sum()
    return ratios


def fit_signed(gram: Floats, cross: Floats, inverse: Floats, fallback: Floats) -> Floats:
    """Minimise the objective of `fit_on_simplex` over r that sum to 1 but may be negative.

    `inverse` is that of `gram` over directions of sum zero.
    """
    return np.asarray(fallback + (inverse @ (cross - (gram @ fallback)[:, None])).T)


def class_directions(gram: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues, ascending, and eigenvectors of class means over sum-zero directions."""
    basis = sum_zero_basis(len(gram))
    values, vectors = np.linalg.eigh(basis.T @ gram @ basis)
    return values, basis @ vectors


def distance_rounding(gram: Floats) -> float:
    return max(float(np.abs(gram).max()) * _ROUNDING, 1e-290)


def inverse_above(values: Floats, vectors: Floats, floor: Floats) -> Floats:
    """Return the inverse of `class_directions`, with eigenvalues of at least `floor`."""
    least = np.maximum(floor, max(float(values[-1]) * _ROUNDING, 1e-300))
    return np.asarray((vectors / np.maximum(values, least)) @ vectors.T)


def sum_zero_basis(n_classes: int) -> Floats:
    """Return an orthonormal basis of the vectors that sum to zero, as columns."""
    return np.linalg.qr(np.c_[np.ones(n_classes), np.eye(n_classes)[:, 1:]])[0][:, 1:]
