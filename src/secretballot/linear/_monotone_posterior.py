"""Constrained maximum of the coefficients' posterior: the most probable ones in a given order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import nnls

from secretballot.linear._design import Floats
from secretballot.linear._posterior import Posterior

#: Iterations of non-negative least squares for each relation, and the ridge that makes multipliers
#: unique, which those of two ordered columns of a pair are not.
_ITERATIONS, _RIDGE = 30, 1e-6
#: Binary places of rounded coefficients, below the largest.
_BITS = 32


def monotone_posterior(posterior: Posterior, relations: NDArray[np.intp]) -> Posterior:
    """Return the posterior with its most probable coefficients in order, and its own errors."""
    if not len(relations):
        return posterior
    assert posterior.covariance is not None
    columns = [
        ordered_coefficients(values, posterior.covariance, 1 + relations)
        for values in posterior.coefficients.T
    ]
    return replace(posterior, coefficients=np.stack(columns, axis=1))


def ordered_coefficients(values: Floats, covariance: Floats, relations: NDArray[np.intp]) -> Floats:
    """Return the closest coefficients in a given order, in the metric of a normal law.

    They minimise (b - values)' covariance^-1 (b - values) subject to b[i] <= b[j] for all relations
    (i, j).
    """
    related, places = np.unique(relations, return_inverse=True)
    lower, upper = places.reshape(relations.shape).T
    root = cholesky(covariance[np.ix_(related, related)], lower=True)
    ordered = _in_order(_project(values[related], root, lower, upper), lower, upper)
    moved = cho_solve((root, True), ordered - values[related])
    # All other coefficients have their mean given these.
    result = values + covariance[:, related] @ moved
    result[related] = ordered
    return result


def _project(
    values: Floats, root: Floats, lower: NDArray[np.intp], upper: NDArray[np.intp]
) -> Floats:
    """Solve the quadratic program, but for rounding, by non-negative least squares of its dual."""
    # The solution is root @ (start + slopes' multipliers).
    start = solve_triangular(root, values, lower=True)
    slopes = root[upper] - root[lower]
    slopes /= np.linalg.norm(slopes, axis=1, keepdims=True)
    n_relations = len(slopes)
    stacked = np.concatenate([slopes.T, _RIDGE * np.eye(n_relations)])
    target = np.concatenate([-start, np.zeros(n_relations)])
    try:
        multipliers, _ = nnls(stacked, target, maxiter=_ITERATIONS * n_relations)
    except RuntimeError:  # too many iterations: the budget is spent, so an answer is needed
        multipliers = np.zeros(n_relations)
    return np.asarray(root @ (start + slopes.T @ multipliers))


def _in_order(values: Floats, lower: NDArray[np.intp], upper: NDArray[np.intp]) -> Floats:
    """Return values without the remaining violations: the mean of running maxima and minima."""
    largest, smallest = values.copy(), values.copy()
    while (largest[lower] > largest[upper]).any():
        np.maximum.at(largest, upper, largest[lower])
    while (smallest[lower] > smallest[upper]).any():
        np.minimum.at(smallest, lower, smallest[upper])
    return (largest + smallest) / 2


def rounded_coefficients(values: Floats) -> Floats:
    """Round coefficients so that their sums times weights of knots are exact, and so in order."""
    exponent = int(np.frexp(np.abs(values).max())[1]) - _BITS
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent))
