"""Tests that bags and new groups are mixtures of the same classes, and that classes differ.

Theory: docs/theory/class-ratios.md, "Tests".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import chi2

from secretballot._base._errors import warn
from secretballot.quantification._bag_ids import Floats, Integers
from secretballot.quantification._class_means import (
    ROUNDING,
    floor_variance,
    invert_products,
    jackknife,
    proportion_noise,
    shrink_variance,
    sum_zero_basis,
    unmix,
)
from secretballot.quantification._kernels import PartSums
from secretballot.quantification._label_proportions import LabelProportions

#: For noise of proportions, which may be Laplace noise: half of its excess kurtosis.
_NOISE_RELATIVE_VARIANCE = 1.5
#: Probability beyond the grid of scales, on either side, and the size of the grid.
_TAIL = 1e-15
_GRID_SIZE = 300
#: Real groups that violate the assumption do so by far: a strict level costs little power.
_LEVEL = 0.01
#: Most terms of the bags' errors: all pairs of terms are multiplied.
_MOST_TERMS = 800
#: Largest share of a bag's variance that is attributed to differences of its classes.
_MOST_BETWEEN = 0.9
#: Smaller limits for the test of groups, which multiplies all pairs for every group.
_MOST_GROUP_TERMS = 240
_MOST_GROUP_PARTS = 50
#: Below this share of the squared length of error terms, what is outside of the hull is rounding.
_NEGLIGIBLE = 1e-6


class BagErrors(NamedTuple):
    """Independent terms whose sums are the errors of the bags' means."""

    #: Inner products of the terms, shape (n_terms, n_terms).
    products: Floats
    #: The bag of each term.
    bag: Integers
    #: Relative variance of the estimate of the term's variance: one over degrees of freedom.
    relative_variance: Floats

    def tail(
        self, weights: Floats, value: float, most_freedom: float = np.inf
    ) -> tuple[float, float]:
        """Return the mean of a quadratic form in the bags' errors, and P(form > value).

        `weights`, shape (n_bags, n_bags), are those of the inner products of errors. The tail is
        that of a chi-square with the same three moments (Imhof, Biometrika 48, 1961), averaged over
        the estimated scale (Satterthwaite), which has at most `most_freedom` degrees of freedom.
        """
        Q = self.products * weights[np.ix_(self.bag, self.bag)]
        square = Q @ Q
        mean, second, third = np.trace(Q), np.trace(square), np.sum(square * Q)
        if not mean > 0:  # bags of equal instances
            return 0.0, float(value <= 0)
        freedom = second**3 / third**2
        same_bag = self.bag[:, None] == self.bag
        variance = float(np.sum(Q**2 * same_bag, axis=1) @ self.relative_variance)
        scale_freedom = min(mean**2 / max(variance, 1e-9 * mean**2), most_freedom)
        scale, probability = _scale_grid(scale_freedom)
        standardised = freedom + (value * scale - mean) * np.sqrt(freedom / second)
        tail = probability @ chi2.sf(standardised, freedom)
        return float(mean), min(float(tail), 1.0)


def _scale_grid(freedom: float) -> tuple[Floats, Floats]:
    """Return a grid of values of a chi-square over its degrees of freedom, and probabilities."""
    ends = np.log([chi2.ppf(_TAIL, freedom) / freedom, chi2.isf(_TAIL, freedom) / freedom])
    first, last = np.maximum(ends, -700)
    scale = np.exp(np.linspace(first, last, _GRID_SIZE))
    log_density = chi2.logpdf(freedom * scale, freedom) + np.log(scale)
    density = np.exp(log_density - log_density.max())
    return scale, density / density.sum()


def error_terms(
    sums: PartSums,
    variance: Floats,
    noise_factors: Floats | None = None,
    mixture: Floats | None = None,
) -> tuple[sparse.csr_array, Integers, Floats]:
    """Return the errors of bags' means as weights of parts, a row for each term.

    The terms of a bag are the deviations of its parts from its mean, scaled to `variance`, that of
    the mean. Noise of the proportions adds terms that are mixtures of the class means.
    """
    parts = sums.parts
    bag, weights = parts.bag, parts.weights()
    share = parts.sizes / parts.bag_sizes[bag]
    deviations = sparse.diags_array(1 / parts.sizes) - weights[bag]
    deviations = sparse.csr_array(sparse.diags_array(share) @ deviations)
    lengths = np.bincount(bag, weights=np.diag(sums.products(deviations, deviations)))
    # Rounding errors are not scaled up.
    scale = np.sqrt(variance / np.maximum(np.maximum(lengths, 1e-6 * variance), 1e-300))
    terms, term_bag = sparse.diags_array(scale[bag]) @ deviations, bag
    relative_variance = 1 / np.maximum(parts.bag_sizes - 1.0, 1.0)[bag]
    if noise_factors is not None and mixture is not None:
        noise = np.einsum("ijf,nj->ifn", noise_factors, mixture).reshape(-1, len(mixture))
        terms = sparse.vstack([terms, sparse.csr_array(noise @ weights)])
        term_bag = np.r_[term_bag, np.repeat(np.arange(len(mixture)), noise_factors.shape[2])]
        relative_variance = np.r_[relative_variance, np.full(len(noise), _NOISE_RELATIVE_VARIANCE)]
    return sparse.csr_array(terms), term_bag, relative_variance


def bag_errors(
    sums: PartSums,
    variance: Floats,
    noise_factors: Floats | None = None,
    mixture: Floats | None = None,
) -> BagErrors:
    terms, term_bag, relative_variance = error_terms(sums, variance, noise_factors, mixture)
    return BagErrors(sums.products(terms, terms), term_bag, relative_variance)


class MisfitWarning(UserWarning):
    """Bags are not mixtures of the same classes: ratios are worse than they look."""


class Misfit(NamedTuple):
    """Test of the assumption that bags are mixtures of the same classes.

    Attributes
    ----------
    ratio : float
        Weighted squared residuals of the bags' means, over their expectation if only the sampling
        of instances and the noise of the proportions caused them. About 1 where features of a
        class are alike in every bag, and less where classes are hardly told apart.
    p_value : float
        Probability of at least this ratio under the assumption.
    degrees_of_freedom : int
        Number of bags less the number of classes.
    """

    ratio: float
    p_value: float
    degrees_of_freedom: int

    @property
    def significant(self) -> bool:
        """True if the assumption is rejected: a p-value below .01."""
        return self.p_value < _LEVEL


class MisfitData(NamedTuple):
    """Bags that are tested: all of them, or fewer bags in fewer parts."""

    proportions: LabelProportions
    sums: PartSums
    merger: sparse.csr_array  # from the training parts to their parts


def thin_bags(
    proportions: LabelProportions, sums: PartSums, rng: np.random.Generator
) -> MisfitData:
    """Sample bags and merge parts, so that the errors of bags have few terms."""
    n_bags, n_classes = proportions.values.shape
    n_noise = 0 if proportions.covariance is None else n_classes
    most = max(_MOST_TERMS // (2 + n_noise), 2 * n_classes)
    sample = np.arange(n_bags)
    if n_bags > most:
        sample = np.sort(rng.permutation(n_bags)[:most])
    picker, parts = sums.parts.select(sample)
    merger, parts = parts.merge(max(2, _MOST_TERMS // len(sample) - n_noise))
    merger = merger @ picker
    return MisfitData(proportions.take(sample), sums.transform(merger, parts), merger)


def check_misfit(data: MisfitData) -> Misfit | None:
    """Test that the bags' means are mixtures of class means by their proportions.

    Returns None if there are no more bags than classes: any means fit then. The statistic is a
    quadratic form in the errors of the bags' means.
    """
    P, covariance = data.proportions.values, data.proportions.covariance
    sums = data.sums
    n_bags, n_classes = P.shape
    if n_bags <= n_classes:
        return None
    gram = sums.gram()
    # A bag's weight must not depend on the variance that its error is compared with.
    variance = shrink_variance(gram.spread, sums.parts.bag_sizes)
    mixture = unmix(P, gram._replace(spread=variance), covariance)
    means = mixture.T @ gram.with_diagonal(0.0) @ mixture
    weight = 1 / floor_variance(variance + proportion_noise(covariance, means))
    weight /= weight.max()  # or its square may overflow
    residual = np.eye(n_bags) - P @ mixture.T
    N = residual.T @ (weight[:, None] * residual)
    within = within_share(P, gram.spread, sums.parts.bag_sizes, *jackknife(mixture, sums))
    errors = bag_errors(sums, gram.spread * within, data.proportions.noise_factors(), mixture)
    statistic, freedom = max(float(np.sum(N * gram.products)), 0.0), n_bags - n_classes
    mean, tail = errors.tail(N, statistic)
    rounding = ROUNDING * float(np.sum(np.abs(N * gram.products)))
    if max(statistic, mean) <= rounding:
        return Misfit(1.0, 1.0, freedom)  # bags of equal instances, without error
    return Misfit(statistic / max(mean, rounding), tail, freedom)


def within_share(
    ratios: Floats, spread: Floats, sizes: Integers, means: Floats, jackknifed: Floats
) -> Floats:
    """Return an upper bound on the share of bags' variance that is within their classes.

    `spread` is the variance of the bags' means, and `means` and `jackknifed` the inner products of
    class means that `jackknife` returns.
    """
    between = ratios @ np.diag(means) - np.einsum("ij,jk,ik->i", ratios, means, ratios)
    label_covariance = np.diag(ratios.mean(axis=0)) - ratios.T @ ratios / len(ratios)
    value = float(np.sum(label_covariance * means))
    values = np.sum(label_covariance * jackknifed, axis=(1, 2))
    error = np.sqrt((len(jackknifed) - 1) * np.var(values))
    certain = max(0.0, 1 - 2 * error / value) if value > 0 else 0.0
    share = certain * between / np.maximum(sizes * spread, 1e-300)
    return np.asarray(1 - np.clip(share, 0.0, _MOST_BETWEEN))


def separation_p_value(data: MisfitData, direction: Floats) -> float:
    """Return the p-value of the distance of two mixtures, whose difference is `direction`."""
    sums, gram = data.sums, data.sums.gram()
    bags = unmix(data.proportions.values, gram, data.proportions.covariance) @ direction
    weights = np.outer(bags, bags)
    distance = float(np.sum(weights * gram.products))
    if distance <= ROUNDING * float(np.sum(np.abs(weights * gram.products))):
        return 1.0
    # If classes are alike, noise of the proportions has no effect.
    return bag_errors(sums, gram.spread).tail(weights, distance)[1]


def chance_distances(data: MisfitData, vectors: Floats) -> Floats:
    """Return the standard deviation of classes' squared distances, if they were alike.

    `vectors`, shape (n_classes, n_directions), are differences of mixtures of classes.
    """
    gram = data.sums.gram()
    bags = unmix(data.proportions.values, gram, data.proportions.covariance) @ vectors
    errors = bag_errors(data.sums, gram.spread)
    weights = bags[errors.bag] ** 2
    return np.asarray(np.sqrt(2 * np.sum(weights * (errors.products**2 @ weights), axis=0)))


def group_p_values(
    data: MisfitData, groups: list[PartSums], cross: Floats, ratios: Floats
) -> Floats:
    """Return the p-value of each group's distance from the mixtures of the classes.

    `cross` has the inner products of training parts with the parts of all groups, and `ratios` the
    estimates. The distance is a quadratic form in the errors of the class means and of the group's.
    """
    P, sums = data.proportions.values, data.sums
    n_bags = len(P)
    merger, parts = sums.parts.merge(max(2, _MOST_GROUP_TERMS // n_bags))
    sums, merger = sums.transform(merger, parts), merger @ data.merger
    weights, gram = sums.parts.weights(), sums.gram()
    mixture = unmix(P, gram, data.proportions.covariance)
    terms, term_bag, relative_variance = error_terms(sums, gram.spread)
    # The affine hull of the class means: directions, and a point on it.
    hull = sparse.csr_array((mixture @ sum_zero_basis(P.shape[1])).T @ weights)
    centre = sparse.csr_array(mixture.mean(axis=1)[None] @ weights)
    term_products, hull_terms = sums.products(terms, terms), sums.products(hull, terms)
    hull_centre = sums.products(hull, centre)
    centre_length = float(sums.products(centre, centre)[0, 0])
    inverse = invert_products(sums.products(hull, hull), centre_length)
    ends = np.cumsum([len(group.parts.bag) for group in groups])[:-1]
    p_values = []
    for group, group_cross, r in zip(groups, np.split(cross, ends, axis=1), ratios, strict=True):
        if group.parts.sizes.sum() < 2:  # its error is unknown
            p_values.append(1.0)
            continue
        group_merger, parts = group.parts.merge(_MOST_GROUP_PARTS)
        group, between = group.transform(group_merger, parts), merger @ group_cross @ group_merger.T
        group_gram = group.gram()
        group_terms, _, group_relative_variance = error_terms(group, group_gram.spread)
        # Products of all error terms, and of their parts outside of the hull.
        on_hull = np.c_[hull_terms, hull @ between @ group_terms.T]
        across = terms @ between @ group_terms.T
        group_products = group.products(group_terms, group_terms)
        products = np.block([[term_products, across], [across.T, group_products]])
        outside = products - on_hull.T @ inverse @ on_hull
        coefficients = np.r_[(mixture @ r)[term_bag], -np.ones(group_terms.shape[0])]
        errors = BagErrors(
            outside * np.outer(coefficients, coefficients),
            np.r_[term_bag, np.full(len(group_relative_variance), n_bags)],
            np.r_[relative_variance, group_relative_variance],
        )
        mean = between @ group.parts.weights().T
        offset = (hull_centre - hull @ mean)[:, 0]
        lengths = centre_length + float(group_gram.products[0, 0])
        distance = lengths - 2 * float((centre @ mean)[0, 0]) - offset @ inverse @ offset
        # Without dimensions beyond the hull nothing can be tested.
        negligible = np.trace(outside) < _NEGLIGIBLE * np.trace(products)
        if negligible or distance <= ROUNDING * lengths:
            p_values.append(1.0)
            continue
        # The variance of few instances may be small by chance.
        most_freedom = max(int(parts.sizes.sum()) - 1, 1)
        everything = np.ones((n_bags + 1,) * 2)
        p_values.append(errors.tail(everything, distance, most_freedom)[1])
    return np.array(p_values)


def warn_of_misfit_groups(
    data: MisfitData, groups: list[PartSums], cross: Floats, ratios: Floats
) -> None:
    """Warn of groups that are no mixtures of the learned classes, at one level (Bonferroni)."""
    p_values = group_p_values(data, groups, cross, ratios)
    rejected = np.flatnonzero(p_values * len(p_values) < _LEVEL)
    if rejected.size:
        quoted = ", ".join(map(str, rejected[:5])) + (" and others" if rejected.size > 5 else "")
        warn(
            f"{rejected.size} of {len(groups)} groups (number {quoted}) are not mixtures of the "
            "classes that were learned: features of a class differ there (p = "
            f"{p_values.min():.1g}), and ratios and intervals may be far off. Learn from bags that "
            "are like these groups.",
            MisfitWarning,
        )
