"""Choice of bandwidth and diagonal by held-out instances of the training bags."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from secretballot.quantification._bag_types import Floats
from secretballot.quantification._label_proportions import LabelProportions
from secretballot.quantification._simplex_fit import fit_on_simplex
from secretballot.quantification.kernels._bag_gram import PartSums, unmix
from secretballot.quantification.kernels._sub_bags import SubBags

_N_SPLITS = 4
#: Share of the error of guessing even ratios above which held-out errors are mostly noise. Then
#: the safe choices are taken, which were good in most of our measurements.
_INFORMATIVE = 0.75
_SAFE_DIAGONAL = 0.75
_MOST_PURE = 20


def choose_kernel(
    sums: list[PartSums],
    proportions: LabelProportions,
    solver: str,
    diagonals: ArrayLike,
    rng: np.random.Generator,
    safe_number: int,
) -> tuple[int, float, Floats]:
    """Choose the bandwidth and the diagonal that predict held-out sets best; also their errors.

    Bags are split in halves. Class means come from one half; signed mixtures of the other half's
    bags are predicted, whose class ratios, by the released proportions, are far from any bag's.
    `safe_number` is taken where held-out sets are uninformative.
    """
    shares = np.asarray(diagonals, dtype=float)
    errors = np.zeros((len(sums), len(shares)))
    P, covariance = proportions.values, proportions.covariance
    parts = sums[0].parts
    targets = _target_ratios(P.shape[1], rng)
    for half in _halves(parts, rng):
        weights, other_weights = parts.weights(half), parts.weights(1 - half)
        for number, part_sums in enumerate(sums):
            gram, other_gram = part_sums.gram(half), part_sums.gram(1 - half)
            mixture = unmix(P, gram, covariance, solver)
            other_mixture = unmix(P, other_gram, covariance, solver)
            between = part_sums.products(weights, other_weights)
            cross = mixture.T @ between @ other_mixture @ targets.T
            for column, share in enumerate(shares):
                class_gram = mixture.T @ gram.with_diagonal(share) @ mixture
                ratios = fit_on_simplex(class_gram, cross, proportions.mean)
                errors[number, column] += np.abs(ratios - targets).sum(axis=1).mean() / _N_SPLITS
    best = divmod(int(np.argmin(errors)), len(shares))
    guess = np.abs(1 / P.shape[1] - targets).sum(axis=1).mean()
    if errors[best] > _INFORMATIVE * guess:
        best = (safe_number, int(np.argmin(np.abs(shares - _SAFE_DIAGONAL))))
    return best[0], float(shares[best[1]]), errors


def _target_ratios(n_classes: int, rng: np.random.Generator) -> Floats:
    """Return class ratios to be predicted: single classes, even, and two Dirichlet laws."""
    single = np.eye(n_classes)
    if n_classes > _MOST_PURE:
        single = single[rng.permutation(n_classes)[:_MOST_PURE]]
    return np.concatenate(
        [
            single,
            np.full((1, n_classes), 1 / n_classes),
            rng.dirichlet(np.ones(n_classes), size=len(single)),
            rng.dirichlet(np.full(n_classes, 0.1), size=len(single)),
        ]
    )


def _halves(parts: SubBags, rng: np.random.Generator) -> list[Floats]:
    """Return random halves of each bag's parts and their complements, as 0 and 1."""
    halves = []
    for _ in range(_N_SPLITS // 2):
        keys = rng.random(len(parts.bag))
        rank = np.empty(len(keys), dtype=int)
        rank[np.lexsort((keys, parts.bag))] = np.concatenate([np.arange(n) for n in parts.n_parts])
        half = (rank < (parts.n_parts // 2)[parts.bag]).astype(float)
        halves += [half, 1 - half]
    return halves
