"""Rows made up in place of public ones, from private means and products that are paid for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr

from secretballot.linear._additive_bins import AdditiveBins, declared_bins
from secretballot.linear._columns import names_of
from secretballot.linear._design import Design, Floats
from secretballot.linear._posterior import Belief, Release, probabilities
from secretballot.linear._rounds import Ballots, gains, rounded_towards_zero

#: So many rows are made up. More would be trusted more, and they are only about right.
_MADE_UP = 400
_SEED = 20_200_722
#: Binary places of a bin's code: products of two codes and a share of an owner are exact.
_CODE_BITS = 10
#: Relative rounding of the few products that scale the exact sums.
_ROUNDING = 2.0**-40


@dataclass(frozen=True)
class Unseen:
    """Declared bins of rows of which no public one was seen.

    The first round tells the means of all bins too, free of charge: two people's vectors
    (residual times bins, bins) lie no further apart than those of the residuals alone can, because
    bins are never negative. Then one round more tells how columns go together.
    """

    features: AdditiveBins

    n_like = _MADE_UP

    @classmethod
    def of(
        cls,
        data: Any,
        bounds: Mapping[Any, tuple[float, float]],
        n_bins: int,
        categories: Mapping[Any, Sequence[Any]],
    ) -> Unseen:
        """Return the bins that bounds and categories declare."""
        return cls(declared_bins(names_of(data.X), bounds, n_bins, categories))

    def looked_at(
        self, ballots: Ballots, mechanism: Any, ask: Callable[..., Floats]
    ) -> tuple[Design, tuple[Release, ...]]:
        """Return made-up rows, and what the first round released.

        Notes
        -----
        For residuals r, r' at most 1 long and bins f, f' of the norm c, the vectors (f r, f) and
        (f' r', f') have the product (r r' + 1) f f' >= 0, and each has the square 2 c^2 at most: so
        they are 2 c apart at most. Of products z z' of two numbers each, with |z| at most 1, two
        lie sqrt(2) apart at most, and so do averages of them, which are positive semidefinite.
        They are scaled to 2 c, less what rounds the scaled sums.
        """
        features, norm = self.features, self.features.norm
        nothing = Belief.nothing(features.n_features, ballots.n_columns, 1)
        both = np.concatenate([ballots.sums(nothing, norm), ballots.means(norm)], axis=1)
        wide = replace(mechanism, norm=float(np.sqrt(2)) * norm)
        noisy = ask(both, wide) / ballots.total
        moments, means = noisy[:, :-1], noisy[:, -1]
        noise = mechanism.sigma / ballots.total
        exact_codes, shares = self._codes(moments, means, noise)
        codes = [np.rint(code * 2**_CODE_BITS) / 2**_CODE_BITS for code in exact_codes]
        rounding = _ROUNDING + 2.0**-52 * ballots.total
        scale = 2 * norm / (float(np.sqrt(2)) + rounding)
        products = _products(ballots, features, codes)
        noisy = ask(scale * products, wide) / (scale * ballots.total)
        rows = self._made_up(codes, shares, noisy, noise / scale)
        start = np.zeros((rows.shape[0], ballots.n_columns))
        p = probabilities(start)
        return Design(rows), (Release(moments, p, gains(p), noise),)

    def _codes(
        self, moments: Floats, means: Floats, noise: float
    ) -> tuple[list[Floats], list[Floats]]:
        """Return for each column a number of each bin, and the bins' shares of the rows.

        The number is what the bin says of the classes: along the direction of classes that differ
        most, by as much as stands out of the noise.
        """
        codes, shares = [], []
        ends = self.features.ends
        for low, high in itertools.pairwise(ends):
            share = np.maximum(means[low:high], noise)
            share = share / share.sum()
            rates = moments[low:high] / (share + 2 * noise)[:, None]
            rates = rates - share @ rates
            direction = np.linalg.svd(np.sqrt(share)[:, None] * rates, full_matrices=False)[2][0]
            code = rates @ direction
            largest = float(np.abs(code).max())
            codes.append(code / largest if largest > 0 else code)
            shares.append(share)
        return codes, shares

    def _made_up(
        self,
        codes: list[Floats],
        shares: list[Floats],
        products: Floats,
        noise: float,
    ) -> csr_array:
        """Return rows whose columns go together about as released: of a Gaussian copula."""
        p = len(codes)
        together = np.zeros((p, p))
        upper = np.triu_indices(p)
        together[upper] = products.ravel() / np.where(upper[0] == upper[1], 1.0, np.sqrt(2)) * p
        together = together + np.triu(together, 1).T
        middles = np.array([share @ code for code, share in zip(codes, shares, strict=True)])
        spreads = np.array(
            [np.sqrt(s @ c**2 - (s @ c) ** 2) for c, s in zip(codes, shares, strict=True)]
        )
        correlations = (together - np.outer(middles, middles)) / np.maximum(
            np.outer(spreads, spreads), 4 * noise * p
        )
        np.fill_diagonal(correlations, 1.0)
        values, vectors = np.linalg.eigh(np.clip(correlations, -0.95, 0.95))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        root /= np.linalg.norm(root, axis=1, keepdims=True)
        rng = np.random.default_rng(_SEED)  # public: nothing depends on what it draws
        ranks = ndtr(rng.normal(size=(_MADE_UP, p)) @ root.T)
        found = np.empty((_MADE_UP, p), dtype=np.intp)
        for column, (code, share) in enumerate(zip(codes, shares, strict=True)):
            order = np.argsort(code)
            at = np.searchsorted(np.cumsum(share[order]), ranks[:, column])
            found[:, column] = order[at.clip(0, len(order) - 1)] + self.features.ends[column]
        starts = np.arange(_MADE_UP + 1) * p
        shape = (_MADE_UP, self.features.n_features)
        return csr_array((np.ones(found.size), found.ravel(), starts), shape=shape)


def _products(ballots: Ballots, features: AdditiveBins, codes: list[Floats]) -> Floats:
    """Compute the sums of products of two columns' codes, a vector of length 1 at most each row.

    Notes
    -----
    No product is rounded. Codes have `_CODE_BITS` binary places, and shares so many that a share
    times a product, and the sum of all, are exact. So an owner adds an average of products z z',
    which is positive semidefinite. Rounded row by row, it would not be: products of one sign may
    vanish, those of the other survive.
    """
    p = len(codes)
    numbers = np.concatenate(codes)
    bits = ballots.share_bits(1.0) - 2 * _CODE_BITS
    total = np.zeros((p, p))
    for rows, one_hot in ballots.parts():
        z = (numbers[one_hot.indices] * one_hot.data).reshape(-1, p)
        total += (z * rounded_towards_zero(ballots.shares[rows, None], bits)).T @ z
    upper = np.triu_indices(p)
    twice = np.where(upper[0] == upper[1], 1.0, np.sqrt(2))
    return np.asarray(total[upper] * (twice / p))[None]
