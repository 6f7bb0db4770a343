"""Release of all pairs of columns, and choice of those that go together."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from secretballot.linear._additive_bins import AdditiveBins, ColumnPair, PairedBins
from secretballot.linear._design import Floats
from secretballot.linear._private_sums import Residuals, RowSums
from secretballot.linear._reference_rows import ReferenceRows
from secretballot.linear._response import RoundPlan

#: Merged bins of a column in the search of all pairs, and most of them in the chosen pairs.
_COARSE_BINS, _FINE_BINS = 4, 8
#: Cells of all chosen pairs up to which columns have more than the coarse bins: the time of a fit
#: grows with their cube.
_MOST_CELLS = 800
#: Expected share of false pairs among those that are chosen.
_FALSE_DISCOVERY_RATE = 0.1
#: Share of rows below which a cell tells nothing.
_LEAST_MASS = 1e-6


@dataclass(frozen=True)
class PairTest:
    """Score test of one pair's cells, after the effects of its two columns."""

    # Squared length of the score, less its mean without an interaction, per variance.
    effect_variance: float
    p_value: float

    @classmethod
    def of(cls, means: Floats, mass: Floats, errors: Floats) -> PairTest:
        """Test the cells of one pair.

        The mean of a cell is its mass times the sum of its effect and of the effects of its row and
        its column, plus an error. The effects of rows and columns are removed by generalised least
        squares. See "Pairs" in `docs/theory/logistic-regression.md`. `mass` is the slope of the
        means in the effect of the cell; `errors` are variances of noise and sampling.
        """
        n_first, n_second = means.shape
        weights = (np.maximum(mass, _LEAST_MASS) / np.sqrt(errors)).ravel()
        indicators = np.concatenate(
            [np.repeat(np.eye(n_first), n_second, axis=0), np.tile(np.eye(n_second), (n_first, 1))],
            axis=1,
        )
        basis, sizes, _ = np.linalg.svd(weights[:, None] * indicators, full_matrices=False)
        basis = basis[:, sizes > 1e-9 * sizes[0]]
        projection = np.eye(len(weights)) - basis @ basis.T
        score = weights * (projection @ (means / np.sqrt(errors)).ravel())
        root = weights[:, None] * projection
        laws = np.linalg.eigvalsh(root @ root.T)
        first, second, third = ((laws**power).sum() for power in (1, 2, 3))
        if second <= 0:
            return cls(0.0, 1.0)
        excess = float(score @ score) - first
        # Tail of a sum of squares, less its mean, from its second and third cumulant.
        degrees = second**3 / third**2
        p_value = chi2.sf(excess * np.sqrt(degrees / second) + degrees, degrees)
        return cls(excess / second, float(p_value))


def discoveries(p_values: Floats) -> NDArray[np.intp]:
    """Return the indices of tests that the Benjamini-Hochberg procedure rejects."""
    order = np.argsort(p_values)
    limits = _FALSE_DISCOVERY_RATE * np.arange(1, len(p_values) + 1) / len(p_values)
    below = np.flatnonzero(p_values[order] <= limits)
    return order[: below[-1] + 1] if len(below) else order[:0]


def release_pairs(
    plan: RoundPlan,
    reference: ReferenceRows,
    coefficients: Floats,
    residuals: Residuals,
    slopes: Floats,
    variances: Floats,
) -> PairedBins | None:
    """Release the residuals of the cells of all pairs of columns, and choose pairs.

    Returns the features with the cells of the chosen pairs; None if no pair stands out. `slopes`
    and `variances` (n_reference_rows,) are the derivative of the expected residual of each
    reference row in its score, and the variance of its residual.
    """
    features = plan.features
    assert isinstance(features, AdditiveBins)
    shares = reference.means(np.ones((len(reference.weights), 1)))[:, 0]
    groups = [
        column.merged_bins(shares[place] + 1e-9, _COARSE_BINS)
        for column, place in zip(features.columns, features.places, strict=True)
    ]
    starts = np.cumsum([0, *(group.max() + 1 for group in groups)])
    places = [slice(low, high) for low, high in itertools.pairwise(starts)]
    merge = np.concatenate(
        [group + start for group, start in zip(groups, starts[:-1], strict=True)]
    )
    pairs = list(itertools.combinations(range(len(places)), 2))
    pair_sums = partial(
        RowSums.pair_sums,
        coefficients=coefficients,
        norm=features.norm,
        residuals=residuals,
        merge=merge,
    )
    sums = plan.rows.sum(pair_sums)
    cells = np.concatenate([sums[places[i], places[j]].ravel() for i, j in pairs])
    radius = float(np.sqrt(len(pairs)))
    released = plan.noisy_sums(cells, radius, "pairs") / plan.total
    noise = plan.pair_noise(radius) / plan.total
    masses = reference.design.pair_sums(merge, reference.weights * slopes)
    errors = (
        noise**2 + reference.design.pair_sums(merge, reference.weights * variances) / plan.n_people
    )
    tests, first = [], 0
    for i, j in pairs:
        mass = masses[places[i], places[j]]
        means = released[first : first + mass.size].reshape(mass.shape)
        first += mass.size
        tests.append(PairTest.of(means, mass, errors[places[i], places[j]]))
    chosen = discoveries(np.array([test.p_value for test in tests])).tolist()
    chosen = sorted(chosen, key=lambda index: -tests[index].effect_variance)[: plan.n_pairs]
    if not chosen:
        return None
    chosen_pairs = [pairs[index] for index in chosen]
    for n_bins in range(_FINE_BINS, _COARSE_BINS - 1, -1):
        fine = [
            column.merged_bins(shares[place] + 1e-9, n_bins)
            for column, place in zip(features.columns, features.places, strict=True)
        ]
        sizes = [int(bins.max()) + 1 for bins in fine]
        if sum(sizes[i] * sizes[j] for i, j in chosen_pairs) <= _MOST_CELLS:
            break
    return PairedBins(features, [ColumnPair((i, j), (fine[i], fine[j])) for i, j in chosen_pairs])
