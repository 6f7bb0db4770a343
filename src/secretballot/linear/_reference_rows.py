"""Weighted rows that stand for the private ones: public rows, and synthetic ones beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.special import expit, softmax

from secretballot.linear._additive_bins import PairedBins
from secretballot.linear._design import Design, Features, Floats

#: Number of synthetic rows.
N_SYNTHETIC = 2000
#: Public rows that all synthetic rows together count as: of a copula, and of permuted columns.
COPULA_SIZE, PERMUTED_SIZE = 200.0, 50.0
_SEED = 20_200_722
#: Passes over the columns in which weights are adjusted to shares.
_RAKING_PASSES = 20


def probabilities(scores: Floats) -> Floats:
    """Compute probabilities of scores; of a single column those of the second of two classes."""
    return np.asarray(expit(scores) if scores.shape[1] == 1 else softmax(scores, axis=1))


@dataclass(frozen=True)
class ReferenceRows:
    """Rows by which expectations over private rows are estimated."""

    design: Design
    weights: Floats  # (n_rows,): their sum is 1
    effective_size: float  # number of public rows with which estimates would be as accurate

    @classmethod
    def from_rows(
        cls, public: Features | None, synthetic: Features, synthetic_size: float
    ) -> ReferenceRows:
        """Weigh public rows and synthetic rows, which together count as `synthetic_size` rows."""
        n_synthetic = synthetic.shape[0]
        if public is None:
            return cls(
                Design(synthetic), np.full(n_synthetic, 1 / n_synthetic), float(synthetic_size)
            )
        n_public = public.shape[0]
        size = n_public + synthetic_size
        if isinstance(public, np.ndarray):
            rows: Features = np.concatenate([public, np.asarray(synthetic)])
        else:
            rows = csr_array(vstack([public, synthetic], format="csr"))
        weights = np.concatenate(
            [np.full(n_public, 1 / size), np.full(n_synthetic, synthetic_size / n_synthetic / size)]
        )
        return cls(Design(rows), weights, size)

    def with_cells(self, features: PairedBins) -> ReferenceRows:
        one_hot = self.design.features
        assert isinstance(one_hot, csr_array)
        return replace(self, design=Design(features.with_cells(one_hot)))

    def raked(self, shares: Sequence[tuple[slice, Floats]]) -> ReferenceRows:
        """Return the rows with weights by which columns have other shares of their features.

        Each pass multiplies the weights by the ratio of wanted and present shares, column by column
        (iterative proportional fitting: Deming and Stephan, "On a least squares adjustment of a
        sampled frequency table", Annals of Mathematical Statistics 11, 1940).
        """
        columns = [(self.design.features[:, place], share) for place, share in shares]
        weights = self.weights
        for features, share in _RAKING_PASSES * columns:
            present = np.asarray(features.T @ weights)
            wanted_shares = np.where(present > 0, share, 0.0)
            wanted_shares *= present.sum() / wanted_shares.sum()
            ratios = wanted_shares / np.maximum(present, np.finfo(np.float64).tiny)
            missing = 1 - np.asarray(features.sum(axis=1)).ravel()
            weights = weights * (np.asarray(features @ ratios) + missing)
        weights = weights / weights.sum()
        factor = float((self.weights**2).sum() / (weights**2).sum())
        return replace(self, weights=weights, effective_size=self.effective_size * factor)

    def probabilities(self, coefficients: Floats) -> Floats:
        """Compute class probabilities from coefficients, the intercept first."""
        return probabilities(self.design.decision(coefficients[1:], coefficients[:1]))

    def scores(self, coefficients: Floats) -> Floats:
        """Compute scores from coefficients (1 + n_features,), the intercept first: (n_rows,)."""
        return self.design.decision(coefficients[1:], coefficients[0])

    def means(self, values: Floats) -> Floats:
        """Estimate the means of features times values: (n_features, n_outputs)."""
        return self.design.sums(values * self.weights[:, None])

    def private_means(
        self, n_people: float, released: FeatureMeans | None
    ) -> tuple[Floats, Floats]:
        """Estimate the means of features over the private rows, and their standard errors."""
        features = self.design.features
        squares = features.power(2) if isinstance(features, csr_array) else features**2
        means = np.asarray(features.T @ self.weights)
        spread = np.maximum(np.asarray(squares.T @ self.weights) - means**2, 1e-12)
        variances = spread * (1 / self.effective_size + 1 / n_people)
        if released is not None:
            share = variances / (variances + released.noise**2)
            means = means + share * (released.values - means)
            variances = share * released.noise**2
        return means, np.sqrt(variances)

    def unit_slopes(self) -> Floats:
        """Estimate the derivatives of the means of features times scores in the coefficients."""
        ones = np.ones((len(self.weights), 1))
        return np.concatenate([self.means(ones), self.products(ones)[0]], axis=1)

    def products(self, values: Floats) -> Floats:
        """Estimate the means of f f' times values: (n_outputs, n_features, n_features)."""
        return self.design.products(values * self.weights[:, None])


@dataclass(frozen=True)
class FeatureMeans:
    """Released means of the features of columns over the private rows."""

    values: Floats  # (n_features,)
    noise: float  # standard deviation of the noise on each
    places: list[slice]  # features of each column

    def mean_score(self, reference: ReferenceRows, coefficients: Floats) -> tuple[float, float]:
        """Estimate the mean score of private rows: the mean over columns, of rows with a cell.

        The mean over reference rows moves by what the released means differ, as far as their noise
        is less than the sampling error. Returns the estimate and its variance.
        """
        n_features = len(self.values)
        scores = reference.scores(coefficients)
        sums = reference.means(np.stack([scores, np.ones(len(scores))], axis=1))[:n_features]
        mean = float(sums[:, 0].sum()) / len(self.places)
        # What the effects of a column have in common is known: a row's weights add to 1.
        effects = coefficients[1 : 1 + n_features].copy()
        for place in self.places:
            effects[place] -= effects[place].mean()
        noise = self.noise**2 * float(effects @ effects)
        centre = float(reference.weights @ scores)
        sampling = float(reference.weights @ (scores - centre) ** 2) / reference.effective_size
        if noise + sampling == 0:
            return mean, 0.0
        share = sampling / (sampling + noise)
        return mean + share * float(effects @ (self.values - sums[:, 1])), share * noise


def dense_reference_rows(public: Floats) -> ReferenceRows:
    """Return public rows of dense features, and synthetic ones with permuted columns."""
    rng = np.random.default_rng(_SEED)  # a public seed: the draws protect nothing
    columns = [
        rng.permutation(np.resize(rng.permutation(column), N_SYNTHETIC)) for column in public.T
    ]
    return ReferenceRows.from_rows(public, np.stack(columns, axis=1), PERMUTED_SIZE)
