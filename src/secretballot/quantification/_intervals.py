"""Intervals for class ratios, by a bootstrap over parts of bags and over noise of proportions.

Theory: docs/theory/class-ratios.md, "Intervals".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import norm
from scipy.stats import t as student

from secretballot.quantification._bag_ids import Floats
from secretballot.quantification._class_means import (
    PRIOR_FREEDOM,
    class_directions,
    distance_rounding,
    fit_on_simplex,
    fit_signed,
    inverse_above,
)
from secretballot.quantification._kernels import SubBags
from secretballot.quantification._label_proportions import matrix_roots
from secretballot.quantification._misfit import chance_distances
from secretballot.quantification._ratios import RatioFit

#: If at least this share of a squared distance of classes may be chance, all ratios are possible.
_UNKNOWN = 0.95
#: Least share of a covariance that remains when that of labels is removed.
_LEAST_REMAINDER = 0.1
#: Stands for infinitely many degrees of freedom, whose quotients would overflow.
_MANY = 1e12


class RatioInterval(NamedTuple):
    """Class ratios with an interval for each; all of shape (n_bags, n_classes)."""

    ratios: Floats
    lower: Floats
    upper: Floats


def bootstrap(
    fit: RatioFit,
    cross: Floats,
    group_parts: SubBags,
    *,
    confidence: float,
    target: str,
    n_resamples: int,
    rng: np.random.Generator,
) -> RatioInterval:
    """Return class ratios of groups, and bootstrap intervals for a "group" or "population".

    `cross` has the inner products of training parts with the groups' parts.
    """
    sums, means, effects = fit.sums, fit.means, fit.effects
    gram, parts, mixture = sums.gram(), sums.parts, means.mixture
    P, n_classes = fit.proportions.values, mixture.shape[1]
    weights, group_weights = parts.weights(), group_parts.weights()
    dual_weights = means.dual_mixture.T @ weights
    products = dual_weights @ cross @ group_weights.T
    ratios = fit_on_simplex(fit.gram, products, fit.proportions.mean)
    # Without self-similarity, which would bias the centre towards the bags' mean.
    class_gram = means.gram(gram, 0.0)
    values, vectors = class_directions(class_gram)
    rounding = distance_rounding(class_gram)
    if effects is None:
        floor = chance_distances(fit.test_data, vectors)
    else:
        floor = gram.spread @ (mixture @ vectors) ** 2  # as for the bags that were left out
    floor = np.maximum(floor, rounding)
    inverse = inverse_above(values, vectors, floor)
    centre = fit_signed(class_gram, products, inverse, fit.proportions.mean)
    # The linear effect of each part of a training bag, and of a group, on the ratios.
    each_part = sparse.eye_array(len(parts.bag), format="csr")
    effects_of_parts = sums.products(inverse @ dual_weights, each_part)
    bag_moves = _resample(effects_of_parts, parts, n_resamples, rng)
    moves = np.einsum("rik,ij,tj->rtk", bag_moves, mixture, ratios, optimize=True)
    group_moves = _resample(inverse @ dual_weights @ cross, group_parts, n_resamples, rng)
    noise_moves = np.zeros_like(moves)
    factors = fit.proportions.noise_factors()
    if factors is not None:
        noise = rng.standard_normal((n_resamples, *P.shape))
        # Class means err by A' noise M, and ratios by that in coordinates of the classes.
        noise_moves = np.einsum(
            "tk,ik,ijl,ril->rtj", ratios, mixture, factors, noise, optimize=True
        )
    tail = (1 - confidence) / 2
    # Degrees of freedom of the bags' variance, from the parts that matter to a class.
    freedom = max(int(parts.n_parts.min()) - 1, int((parts.n_parts - 1).sum()) // (2 * n_classes))
    instance_labels = _label_covariance(P)
    bag_labels = instance_labels / parts.bag_sizes[:, None, None]
    within = _within_classes(effects_of_parts, parts, instance_labels)
    for number, r in enumerate(ratios):
        size, n_parts = int(group_parts.bag_sizes[number]), int(group_parts.n_parts[number])
        labels = np.einsum("i,ijk->jk", (mixture @ r) ** 2, bag_labels)
        of_bags = _remove_covariance(moves[:, number], labels)
        # The variance of few instances is uncertain: it is shrunk towards that within the bags.
        of_own_parts = _remove_covariance(group_moves[:, number], _label_covariance(r) / size)
        of_group = math.sqrt(n_parts - 1) * of_own_parts
        of_group += math.sqrt(PRIOR_FREEDOM) * _draw_normal(within / size, n_resamples, rng)
        of_group /= math.sqrt(n_parts - 1 + PRIOR_FREEDOM)
        terms = [(of_bags, freedom), (of_group, n_parts - 1 + PRIOR_FREEDOM)]
        if target == "population":
            # As in Wilson's interval of a share, where all labels may be alike by chance.
            evens = max(float(norm.isf(tail)), 0.0) ** 2
            smoothed = (size * r + evens / n_classes) / (size + evens)
            of_labels = _draw_normal(_label_covariance(smoothed) / size, n_resamples, rng)
            terms.append((of_labels, _MANY))
        factor = _student_factor(tail, min(freedom, _freedom_of_sum(terms)))
        moves[:, number] = factor * sum(term for term, _ in terms)
    moves += noise_moves
    if effects is None:
        moves *= math.sqrt(fit.birge_ratio)
        chance = norm.isf(tail) * floor / np.maximum(values, rounding)
    else:
        root = _student_factor(tail, effects.freedom) * matrix_roots(effects.covariance)
        moves += rng.standard_normal(moves.shape) @ root.T
        chance = np.zeros(len(values))
    chance[values <= rounding] = 1.0
    moves = _widen_uncertain(moves, chance, vectors, rng)
    lower, upper = np.clip(np.quantile(moves, [tail, 1 - tail], axis=0) + centre, 0, 1)
    return RatioInterval(ratios, np.minimum(lower, ratios), np.maximum(upper, ratios))


def _freedom_of_sum(terms: list[tuple[Floats, float]]) -> float:
    """Return the degrees of freedom of a sum of variances of draws (Welch and Satterthwaite)."""
    variances = np.array([np.var(draws, axis=0).sum() for draws, _ in terms])
    shares = variances / max(float(variances.sum()), 1e-300)
    freedoms = np.array([freedom for _, freedom in terms])
    return 1 / max(float(shares**2 @ (1 / freedoms)), 1 / _MANY)


def _student_factor(tail: float, freedom: float) -> float:
    """Return the quantile of Student's t over the normal one."""
    return float(student.isf(tail, freedom) / max(float(norm.isf(tail)), 1e-300))


def _widen_uncertain(
    moves: Floats, chance: Floats, vectors: Floats, rng: np.random.Generator
) -> Floats:
    """Widen moves along directions in which the distance of classes may be chance.

    `chance` is the share of the squared distance that may be chance. Fieller's interval for a
    quotient is longer by 1 / sqrt(1 - chance^2); at a share of about 1 all ratios are possible.
    """
    along = moves @ vectors
    factor = 1 / np.sqrt(1 - np.minimum(chance, _UNKNOWN) ** 2)
    everything = np.where(chance < _UNKNOWN, 0.0, 1.0)
    wider = along * factor + everything * rng.standard_normal(along.shape)
    return np.asarray(moves + (wider - along) @ vectors.T)


def _resample(
    effects: Floats, parts: SubBags, n_resamples: int, rng: np.random.Generator
) -> Floats:
    """Return the effects of redrawing each bag's parts, shape (n_resamples, n_bags, n_classes).

    Of n parts, n - 1 are drawn with replacement, so that the variance is unbiased. A bag of one
    part shows no variance.
    """
    moves = np.zeros((n_resamples, parts.n_bags, len(effects)))
    for number, rows in enumerate(parts.split(np.arange(len(parts.bag)))):
        n, sizes = len(rows), parts.sizes[rows]
        if n == 1:
            continue
        counts = rng.multinomial(n - 1, np.full(n, 1 / n), size=n_resamples)
        weights = counts / (counts @ sizes)[:, None]
        moves[:, number] = (weights - 1 / sizes.sum()) @ effects[:, rows].T
    return moves


def _draw_normal(covariance: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
    return rng.standard_normal((n_draws, len(covariance))) @ matrix_roots(covariance).T


def _label_covariance(ratios: Floats) -> Floats:
    """Return the covariance of an instance's label, shape (..., n_classes, n_classes)."""
    p = np.clip(ratios, 0, 1)
    return p[..., None] * np.eye(p.shape[-1]) - p[..., None] * p[..., None, :]


def _within_classes(effects: Floats, parts: SubBags, label_covariance: Floats) -> Floats:
    """Return the covariance of an instance's effect within its class, pooled over bags.

    `effects` are sums over parts, and `label_covariance` is that of an instance of each bag.
    """
    of_bag = (effects @ parts.weights().T)[:, parts.bag]
    deviations = (effects - of_bag * parts.sizes) / np.sqrt(parts.sizes)
    freedom = parts.n_parts - 1
    covariance = deviations @ deviations.T / freedom.sum()
    labels = np.einsum("i,ijk->jk", freedom / freedom.sum(), label_covariance)
    change = _removal(covariance, labels)
    return np.asarray(change.T @ covariance @ change)


def _removal(total: Floats, covariance: Floats) -> Floats:
    """Return the linear map that reduces a covariance `total` by `covariance`."""
    values, vectors = np.linalg.eigh(total)
    positive = values > 1e-12 * max(values[-1], 1e-300)
    root = vectors[:, positive] * np.sqrt(values[positive])
    white = vectors[:, positive] / np.sqrt(values[positive])
    remainder, rotation = np.linalg.eigh(np.eye(int(positive.sum())) - white.T @ covariance @ white)
    shrink = (rotation * np.sqrt(np.clip(remainder, _LEAST_REMAINDER, 1))) @ rotation.T
    return np.asarray(white @ shrink @ root.T)


def _remove_covariance(moves: Floats, covariance: Floats) -> Floats:
    """Map moves linearly so that their covariance is less by a given one."""
    return moves @ _removal(np.cov(moves.T), covariance)
