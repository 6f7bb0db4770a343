"""Choose bandwidth and diagonal by held-out instances of the training bags."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.quantification._simplex_fit import fit_on_simplex
from secretballot.quantification.kernels._bag_gram import PartSums, unmix
from secretballot.quantification.kernels._sub_bags import SubBags

N_SPLITS = 4
#: Where held-out sets are predicted no better than this share of the error of always guessing even
#: ratios, they only tell noise: what was safe in most of our measurements is taken then.
_TELLING = 0.75
_SAFE_DIAGONAL = 0.75


class Choice(NamedTuple):
    """What was chosen, and the estimated error of everything that was tried."""

    gamma: int
    diagonal: float
    errors: NDArray[np.float64]


def choose_kernel(
    sums: list[PartSums],
    proportions: NDArray[np.float64],
    covariance: NDArray[np.float64] | None,
    solver: str,
    diagonals: ArrayLike,
    rng: np.random.Generator,
    safe_gamma: int = 0,
) -> Choice:
    """Choose what predicts held-out sets best; nothing but released proportions is seen.

    Bags are split in halves. Class means come from one half; the other makes sets to be
    predicted: signed mixtures of its bags whose class ratios, by the released proportions, are
    those of test sets far from any bag (one class alone, even, and in between).

    Parameters
    ----------
    sums : list of PartSums
        At each bandwidth, over the same parts.
    proportions, covariance, solver
        As for `unmix`.
    diagonals : array-like
        Shares of the self-similarity to try.
    rng : Generator
    safe_gamma : int, default=0
        Which bandwidth to take where held-out sets tell nothing.

    Returns
    -------
    Choice
        ``errors`` has shape (n_gammas, n_diagonals): mean L1 error.
    """
    tried = np.asarray(diagonals, dtype=float)
    errors = np.zeros((len(sums), len(tried)))
    parts = sums[0].parts
    ratios = target_ratios(proportions.shape[1], rng)
    for times in _halves(parts, rng):
        for number, one in enumerate(sums):
            left, right = one.gram(times), one.gram(1 - times)
            mixture = unmix(proportions, left, covariance, solver)
            other = unmix(proportions, right, covariance, solver)
            between = one.products(parts.weights(times), parts.weights(1 - times))
            cross = mixture.T @ between @ other @ ratios.T
            for column, diagonal in enumerate(tried):
                gram = mixture.T @ left.kept(diagonal) @ mixture
                found = fit_on_simplex(gram, cross)
                errors[number, column] += np.abs(found - ratios).sum(axis=1).mean() / N_SPLITS
    best = np.unravel_index(np.argmin(errors), errors.shape)
    guess = np.abs(1 / proportions.shape[1] - ratios).sum(axis=1).mean()
    if errors[best] > _TELLING * guess:
        best = (safe_gamma, int(np.argmin(np.abs(tried - _SAFE_DIAGONAL))))
    return Choice(int(best[0]), float(tried[best[1]]), errors)


def target_ratios(n_classes: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return class ratios to be predicted: every class alone, even, and two Dirichlet laws."""
    alone = (
        np.eye(n_classes) if n_classes <= 20 else np.eye(n_classes)[rng.permutation(n_classes)[:20]]
    )
    return np.concatenate(
        [
            alone,
            np.full((1, n_classes), 1 / n_classes),
            rng.dirichlet(np.ones(n_classes), size=len(alone)),
            rng.dirichlet(np.full(n_classes, 0.1), size=len(alone)),
        ]
    )


def _halves(parts: SubBags, rng: np.random.Generator) -> list[NDArray[Any]]:
    """Return halves, pairwise swapped: shape (n_parts,) of 0 and 1, half of each bag's parts."""
    splits = []
    for _ in range(N_SPLITS // 2):
        keys = rng.random(len(parts.bag))
        rank = np.empty(len(keys), dtype=int)
        rank[np.lexsort((keys, parts.bag))] = np.concatenate([np.arange(n) for n in parts.n_parts])
        taken = (rank < (parts.n_parts // 2)[parts.bag]).astype(float)
        splits += [taken, 1 - taken]
    return splits
