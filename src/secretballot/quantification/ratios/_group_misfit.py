"""Whether a new group is a mixture of the classes that were learned: a test for each."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from secretballot.quantification._simplex_fit import sum_zero
from secretballot.quantification.kernels import ROUNDING, BagErrors, PartSums, error_terms, unmix
from secretballot.quantification.ratios._ratio_diagnostics import MisfitWarning
from secretballot.quantification.ratios._ratio_misfit import Tested

#: For all groups of a call together, that is for each far less.
_LEVEL = 0.01
_NEGLIGIBLE = 1e-6
_MOST_PARTS = 50
#: Of training bags' errors, of which all pairs are multiplied for every group.
_MOST_TERMS = 240


def group_p_values(
    tested: Tested,
    groups: list[PartSums],
    cross: NDArray[np.float64],
    ratios: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return, for each group, the chance of being as far from all mixtures of the classes.

    Parameters
    ----------
    tested : Tested
        What was learned from.
    groups : list of PartSums
        Each group by itself.
    cross : ndarray of shape (n_training_parts, n_parts of all groups)
        Inner products.
    ratios : ndarray of shape (n_groups, n_classes)
        As estimated.

    Notes
    -----
    What is left of a group's mean u after projecting it on the affine hull of the class means is
    the same of its error and of theirs, e - dM' r. Its squared length is a quadratic form in the
    terms of these errors, as in `find_misfit`, with inner products in the complement of the hull.
    Nothing is left there of how labels vary between instances, so that no share of the variance is
    taken for theirs, nor of noise of the proportions, which mixes the class means.
    """
    known, sums, into = tested
    fewer, parts = sums.parts.merged(max(2, _MOST_TERMS // len(known.values)))
    sums, into = sums.through(fewer, parts), fewer @ into
    P, weights, gram = known.values, sums.parts.weights(), sums.gram()
    mixture = unmix(P, gram, known.covariance)
    terms, owner, unsure = error_terms(sums, gram.spread)
    hull = sparse.csr_array((mixture @ sum_zero(P.shape[1])).T @ weights)
    centre = sparse.csr_array(mixture.mean(axis=1)[None] @ weights)
    inverse = np.linalg.pinv(sums.products(hull, hull), hermitian=True)
    among, on_hull = sums.products(terms, terms), sums.products(hull, terms)
    from_centre, length = sums.products(hull, centre), float(sums.products(centre, centre)[0, 0])
    ends = np.cumsum([len(group.parts.bag) for group in groups])[:-1]
    found, every = [], np.ones((P.shape[0] + 1,) * 2)
    for whole, own_cross, r in zip(groups, np.split(cross, ends, axis=1), ratios, strict=True):
        merged, parts = whole.parts.merged(_MOST_PARTS)
        group, between = whole.through(merged, parts), into @ own_cross @ merged.T
        own = group.gram()
        mine, _, own_unsure = error_terms(group, own.spread)
        aside = np.c_[on_hull, hull @ between @ mine.T]
        across = terms @ between @ mine.T
        inner = np.block([[among, across], [across.T, group.products(mine, mine)]])
        outside = inner - aside.T @ inverse @ aside
        moved = np.r_[(mixture @ r)[owner], -np.ones(mine.shape[0])]
        errors = BagErrors(
            outside * np.outer(moved, moved),
            np.r_[owner, np.full(len(own_unsure), P.shape[0])],
            np.r_[unsure, own_unsure],
        )
        mean = between @ group.parts.weights().T
        off = (from_centre - hull @ mean)[:, 0]
        lengths = length + float(own.products[0, 0])
        far = lengths - 2 * float((centre @ mean)[0, 0]) - off @ inverse @ off
        # Or mixtures of the classes are all there is, but for rounding.
        told = np.trace(outside) >= _NEGLIGIBLE * np.trace(inner) and far > ROUNDING * lengths
        # What few instances seem to vary by may be next to nothing by chance.
        free = max(int(parts.sizes.sum()) - 1, 1)
        found.append(errors.tail(every, far, free)[1] if told else 1.0)
    return np.array(found)


def warn_of_strangers(
    tested: Tested,
    groups: list[PartSums],
    cross: NDArray[np.float64],
    ratios: NDArray[np.float64],
) -> None:
    """Warn of groups that are no mixtures of the classes that were learned.

    Parameters
    ----------
    tested, groups, cross, ratios
        As for `group_p_values`.
    """
    p_values = group_p_values(tested, groups, cross, ratios)
    strange = np.flatnonzero(p_values * len(p_values) < _LEVEL)
    if strange.size:
        some = ", ".join(map(str, strange[:5])) + (" and others" if strange.size > 5 else "")
        warnings.warn(
            f"{strange.size} of {len(groups)} groups (number {some}) are not mixtures of the "
            "classes that were learned: features of a class are others there (p = "
            f"{p_values.min():.1g}), and ratios and intervals may be far off. Learn from bags that "
            "are like these groups.",
            MisfitWarning,
            stacklevel=3,
        )
