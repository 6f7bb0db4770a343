"""Intervals for class ratios, by drawing parts of bags and the proportions' noise again."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from scipy.stats import t as student

from secretballot.quantification._simplex_fit import (
    directions,
    fit_on_simplex,
    fit_signed,
    inverse_over,
    rounding_of,
)
from secretballot.quantification.kernels import SubBags
from secretballot.quantification.ratios._ratio_fit import RatioFit
from secretballot.quantification.ratios._ratio_misfit import chance_lengths

#: Chance alone makes classes look so far apart, as a share of the distance that was found.
_UNKNOWN = 0.95


class RatioInterval(NamedTuple):
    """Class ratios with an interval for each; all of shape (n_bags, n_classes)."""

    ratios: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


def bootstrap(
    fitted: RatioFit,
    cross: NDArray[np.float64],
    test_parts: SubBags,
    *,
    confidence: float,
    of: str,
    n_resamples: int,
    rng: np.random.Generator,
) -> RatioInterval:
    """Return class ratios and intervals.

    Parameters
    ----------
    fitted : RatioFit
    cross, test_parts
        Kernel sums of training parts with the parts of the bags to be estimated.
    confidence : float
    of : {"group", "population"}
    n_resamples : int
    rng : Generator

    Notes
    -----
    Without sign constraints the ratios solve M M' r = M u + constant. A resample moves them, to
    first order, by (M M')^-1 M (du - dM' r), over directions of sum zero: du and dM are what
    redrawn parts and redrawn noise change in the group's and the classes' means. Solving again for
    each resample would double the noise in M M', whose inverse is far from linear. The signed
    solution is what varies about the truth; cutting the interval to [0, 1] costs no coverage,
    as the truth is inside.

    Redrawn instances also change which labels are in a bag. That is no error: a training bag's
    proportions are those of its very instances, and so are a group's wanted ratios unless
    ``of="population"``. Estimates are exact for class means, so this part of the moves' covariance
    is the labels' own, (diag(p) - p p') / size, times the squared weight of the bag; it is taken
    out by a linear map.

    Where residuals of the training bags are larger than expected, though not by more than chance
    might make them, errors are taken to be so too (Birge, "The calculation of errors by the method
    of least squares", Phys. Rev. 40, 1932). Where bags are not mixtures of the same classes a group
    is taken for another such bag.
    """
    known, sums, means, effects = fitted.known, fitted.sums, fitted.means, fitted.effects
    bags, parts, A = sums.gram(), sums.parts, means.mixture
    weights, test_weights = parts.weights(), test_parts.weights()
    pulled = means.pull.T @ weights
    u = pulled @ cross @ test_weights.T
    ratios = fit_on_simplex(fitted.gram, u)
    apart = means.gram(bags, 0.0)  # what is kept would pull the centre to even ratios
    values, vectors = directions(apart)
    if effects is None:
        lengths = chance_lengths(fitted.tested, vectors)
    else:
        lengths = bags.spread @ (A @ vectors) ** 2  # as for the bags that were left out
    lengths = np.maximum(lengths, rounding_of(apart))
    inverse = inverse_over(values, vectors, lengths)
    signed = fit_signed(apart, u, inverse)
    # By how much a part of a training bag, and of a group, pulls at the ratios.
    drawn = _moves(sums.products(inverse @ pulled, None), parts, n_resamples, rng)
    moves = _moves(inverse @ pulled @ cross, test_parts, n_resamples, rng)
    moves -= np.einsum("rik,ij,tj->rtk", drawn, A, ratios, optimize=True)
    noise_moves = np.zeros_like(moves)
    roots = known.noise_roots()
    if roots is not None:
        noise = rng.standard_normal((n_resamples, *known.values.shape))
        # Class means err by A' noise M, and ratios by what that is in coordinates of the classes.
        noise_moves = np.einsum("tk,ik,ijl,ril->rtj", ratios, A, roots, noise, optimize=True)
    for number, r in enumerate(ratios):
        labels = np.einsum("i,ijk->jk", (A @ r) ** 2, _label_covariance(known.values, parts))
        if of == "group":
            labels += _label_covariance(ratios, test_parts)[number]
        moves[:, number] = _without(moves[:, number], labels)
    tail = (1 - confidence) / 2
    # The variance was estimated from the parts of the bags that matter to a class, at least one.
    free = max(int(parts.n_parts.min()) - 1, int((parts.n_parts - 1).sum()) // (2 * A.shape[1]))
    moves *= _further(tail, free)
    moves += noise_moves
    if effects is None:
        moves *= math.sqrt(fitted.residual_ratio)
        unsure = norm.isf(tail) * lengths / np.maximum(values, 1e-300)
        moves = _along_unsure(moves, unsure, vectors, rng)
    else:
        # What groups differ by is known from bags alone.
        values, vectors = np.linalg.eigh(effects.covariance)
        root = _further(tail, effects.n_free) * vectors * np.sqrt(np.maximum(values, 0.0))
        moves += rng.standard_normal(moves.shape) @ root.T
    lower, upper = np.quantile(moves, [tail, 1 - tail], axis=0) + signed
    lower, upper = np.clip(lower, 0, 1), np.clip(upper, 0, 1)
    return RatioInterval(ratios, np.minimum(lower, ratios), np.maximum(upper, ratios))


def _further(tail: float, free: int) -> float:
    """Return by how much a quantile of Student's t is further out than the normal one."""
    return float(student.isf(tail, free) / max(float(norm.isf(tail)), 1e-300))


def _along_unsure(
    moves: NDArray[np.float64],
    unsure: NDArray[np.float64],
    vectors: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return moves that are larger along directions in which classes are hardly told apart.

    Ratios there are moves divided by a squared distance of classes that is itself unsure, by a
    share of it; Fieller's interval for a quotient is longer by one over sqrt(1 - share^2). Where
    the share is about 1 nothing is known: everything from 0 to 1 is possible then.
    """
    along = moves @ vectors
    factor = 1 / np.sqrt(1 - np.minimum(unsure, _UNKNOWN) ** 2)
    wider = along * factor + np.where(unsure < _UNKNOWN, 0.0, 1.0) * rng.standard_normal(
        along.shape
    )
    return np.asarray(moves + (wider - along) @ vectors.T)


def _moves(
    pull: NDArray[np.float64], parts: SubBags, n_resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return what redrawing the parts of each bag moves, shape (n_resamples, n_bags, n_classes).

    Of n parts, n - 1 are drawn with replacement: their mean varies by what the parts' own
    variance, which is too small by (n - 1) / n, makes it, the right variance of the bag's mean.
    """
    moves = np.empty((n_resamples, parts.n_bags, len(pull)))
    last = np.cumsum(parts.n_parts)
    for number, n in enumerate(parts.n_parts):
        own = slice(int(last[number] - n), int(last[number]))
        times = rng.multinomial(n - 1, np.full(n, 1 / n), size=n_resamples)
        weights = times / (times @ parts.sizes[own])[:, None]
        moves[:, number] = (weights - 1 / parts.sizes[own].sum()) @ pull[:, own].T
    return moves


def _label_covariance(ratios: NDArray[np.float64], parts: SubBags) -> NDArray[np.float64]:
    """Return the covariance of the class ratios of bags drawn from a population."""
    p = np.clip(ratios, 0, 1)
    covariance = np.einsum("ij,jk->ijk", p, np.eye(p.shape[1])) - p[:, :, None] * p[:, None]
    return covariance / parts.bag_sizes[:, None, None]


def _without(moves: NDArray[np.float64], covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Map moves linearly so that their covariance is less by the one given."""
    have = np.cov(moves.T)
    values, vectors = np.linalg.eigh(have)
    kept = values > 1e-12 * max(values[-1], 1e-300)
    root = vectors[:, kept] * np.sqrt(values[kept])
    white = vectors[:, kept] / np.sqrt(values[kept])
    left, rotation = np.linalg.eigh(np.eye(int(kept.sum())) - white.T @ covariance @ white)
    # A group of one class varies next to nothing beyond its labels; keep a little of it.
    shrink = (rotation * np.sqrt(np.clip(left, 0.1, 1))) @ rotation.T
    return moves @ white @ shrink @ root.T
