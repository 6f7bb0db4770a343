"""Test that new groups are mixtures of the learned classes."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from secretballot.quantification._simplex_fit import sum_zero_basis
from secretballot.quantification.kernels import ROUNDING, BagErrors, PartSums, error_terms, unmix
from secretballot.quantification.ratios._ratio_diagnostics import MisfitWarning
from secretballot.quantification.ratios._ratio_misfit import MisfitData

#: For all groups of a call together (Bonferroni).
_LEVEL = 0.01
_NEGLIGIBLE = 1e-6
_MOST_PARTS = 50
#: Most terms of training bags' errors, of which all pairs are multiplied for every group.
_MOST_TERMS = 240


def group_p_values(
    data: MisfitData,
    groups: list[PartSums],
    cross: NDArray[np.float64],
    ratios: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the p-value of each group's distance from the mixtures of the classes.

    `cross` has the inner products of training parts with the parts of all groups, and `ratios` the
    estimates. The distance is a quadratic form in the errors of the class means and of the group's
    (class-ratios in docs/theory).
    """
    P, sums = data.proportions.values, data.sums
    n_bags = len(P)
    merger, parts = sums.parts.merge(max(2, _MOST_TERMS // n_bags))
    sums, merger = sums.transform(merger, parts), merger @ data.merger
    weights, gram = sums.parts.weights(), sums.gram()
    mixture = unmix(P, gram, data.proportions.covariance)
    terms, term_bag, unsure = error_terms(sums, gram.spread)
    # The affine hull of the class means: directions, and a point on it.
    hull = sparse.csr_array((mixture @ sum_zero_basis(P.shape[1])).T @ weights)
    centre = sparse.csr_array(mixture.mean(axis=1)[None] @ weights)
    inverse = np.linalg.pinv(sums.products(hull, hull), hermitian=True)
    term_products, hull_terms = sums.products(terms, terms), sums.products(hull, terms)
    hull_centre = sums.products(hull, centre)
    centre_length = float(sums.products(centre, centre)[0, 0])
    ends = np.cumsum([len(group.parts.bag) for group in groups])[:-1]
    p_values = []
    for group, group_cross, r in zip(groups, np.split(cross, ends, axis=1), ratios, strict=True):
        group_merger, parts = group.parts.merge(_MOST_PARTS)
        group, between = group.transform(group_merger, parts), merger @ group_cross @ group_merger.T
        group_gram = group.gram()
        group_terms, _, group_unsure = error_terms(group, group_gram.spread)
        # Products of all error terms, and of their parts outside of the hull.
        on_hull = np.c_[hull_terms, hull @ between @ group_terms.T]
        across = terms @ between @ group_terms.T
        group_products = group.products(group_terms, group_terms)
        products = np.block([[term_products, across], [across.T, group_products]])
        outside = products - on_hull.T @ inverse @ on_hull
        coefficients = np.r_[(mixture @ r)[term_bag], -np.ones(group_terms.shape[0])]
        errors = BagErrors(
            outside * np.outer(coefficients, coefficients),
            np.r_[term_bag, np.full(len(group_unsure), n_bags)],
            np.r_[unsure, group_unsure],
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
    data: MisfitData,
    groups: list[PartSums],
    cross: NDArray[np.float64],
    ratios: NDArray[np.float64],
) -> None:
    """Warn of groups that are no mixtures of the learned classes; see `group_p_values`."""
    p_values = group_p_values(data, groups, cross, ratios)
    rejected = np.flatnonzero(p_values * len(p_values) < _LEVEL)
    if rejected.size:
        quoted = ", ".join(map(str, rejected[:5])) + (" and others" if rejected.size > 5 else "")
        warnings.warn(
            f"{rejected.size} of {len(groups)} groups (number {quoted}) are not mixtures of the "
            "classes that were learned: features of a class are others there (p = "
            f"{p_values.min():.1g}), and ratios and intervals may be far off. Learn from bags that "
            "are like these groups.",
            MisfitWarning,
            stacklevel=3,
        )
