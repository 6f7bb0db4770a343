"""Class means as signed mixtures of bags, ratios by least squares, and the choice of a kernel.

Theory: docs/theory/class-ratios.md, "Class means" and "Group effects".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import null_space
from scipy.optimize import nnls

from secretballot.quantification._bag_ids import Floats, Integers
from secretballot.quantification._kernels import BagGram, PartSums, SubBags
from secretballot.quantification._label_proportions import LabelProportions

#: Sums of inner products below this share of their absolute sum are rounding errors.
ROUNDING = 1e-12
#: Degrees of freedom of the pooled variance when a bag's own variance is shrunk towards it.
PRIOR_FREEDOM = 5.0
#: Eigenvalues below this share of the largest are taken to be zero.
_NEGLIGIBLE = 1e-10
#: Halves of the bags that are held out in turn.
_N_SPLITS = 4
#: Above this share of the error of guessing even ratios, held-out errors are mostly noise.
_INFORMATIVE = 0.75
#: Diagonal that is then taken: it was good in most of our measurements.
_SAFE_DIAGONAL = 0.75
#: Most held-out sets that consist of a single class.
_MOST_PURE = 20


def unmix(
    proportions: Floats,
    gram: BagGram,
    covariance: Floats | None = None,
    solver: str = "class_mean",
    effect: float = 0.0,
) -> Floats:
    """Compute classes as signed mixtures A of bags, with P' A = I, by weighted least squares.

    `effect` is a further variance of every bag's mean.
    """
    P = proportions
    first = _least_squares(P, gram.spread + effect)
    if solver == "bag_mixture":
        null = null_space(P.T)
        if not null.shape[1]:
            return first
        inverse = invert_products(null.T @ gram.products @ null, np.abs(gram.products).max())
        return first - null @ inverse @ (null.T @ gram.products @ first)
    if covariance is None:
        return first
    means = first.T @ gram.products @ first
    return _least_squares(P, gram.spread + effect + proportion_noise(covariance, means))


def invert_products(products: Floats, length: float) -> Floats:
    """Return the pseudo-inverse of inner products of sums of vectors of this squared length.

    Sums that are rounding errors of their terms are taken to be zero.
    """
    rounding = ROUNDING * length / max(float(np.abs(products).max()), 1e-300)
    return np.asarray(np.linalg.pinv(products, rcond=max(rounding, 1e-15), hermitian=True))


def _least_squares(P: Floats, variance: Floats) -> Floats:
    root = 1 / np.sqrt(floor_variance(variance))
    return (np.linalg.pinv(root[:, None] * P) * root).T


def proportion_noise(covariance: Floats | None, means: Floats) -> Floats | float:
    """Return the variance that noise of the proportions adds to each bag's residual.

    `means` are the inner products of the class means.
    """
    if covariance is None:
        return 0.0
    return np.maximum(np.einsum("ijk,kj->i", covariance, means), 0.0)


def shrink_variance(spread: Floats, sizes: Integers) -> Floats:
    """Return the variances of bags' means, those of small bags shrunk towards the pooled one."""
    freedom = np.maximum(sizes - 1.0, 0.0)
    pooled = (freedom * sizes) @ spread / max(float(freedom.sum()), 1.0)
    total = freedom + PRIOR_FREEDOM
    return np.asarray((freedom * spread + PRIOR_FREEDOM * pooled / sizes) / total)


def floor_variance(variance: Floats) -> Floats:
    """Return variances without zeros, which bags of equal instances have."""
    return np.maximum(variance, max(float(variance.max()) * 1e-9, 1e-300))


def jackknife(mixture: Floats, sums: PartSums) -> tuple[Floats, Floats]:
    """Return inner products of class means, and the same with parts left out in turn.

    The variance of a function of the former is that of the function over the latter, times their
    number less one.
    """
    parts = sums.parts
    first = np.cumsum(parts.n_parts) - parts.n_parts

    def products(counts: Floats | None) -> Floats:
        return np.asarray(mixture.T @ sums.gram(counts).with_diagonal(0.0) @ mixture)

    without = []
    for number in range(int(parts.n_parts.max())):
        counts = np.ones(len(parts.bag))
        counts[first + number % parts.n_parts] = 0.0
        without.append(products(counts))
    return products(None), np.array(without)


class ClassMeans(NamedTuple):
    """Class means as signed mixtures of bags, shape (n_bags, n_classes), from `unmix`."""

    mixture: Floats
    #: Mixtures whose inner products with a group's mean are those of the class means with it, in
    #: the metric in use. The same as `mixture` but for random group effects.
    dual_mixture: Floats
    #: Subtracted from the inner products of class means by the metric.
    correction: Floats

    def gram(self, bags: BagGram, diagonal: float) -> Floats:
        """Return inner products of class means, with a share of the self-similarity of bags."""
        return self.mixture.T @ bags.with_diagonal(diagonal) @ self.mixture - self.correction


def class_means(
    proportions: Floats,
    gram: BagGram,
    covariance: Floats | None = None,
    solver: str = "class_mean",
    effect: float = 0.0,
    dampings: tuple[float, ...] = (np.inf,),
) -> list[ClassMeans]:
    """Return the class means, for each damping of the metric of random group effects.

    A damping is the variance between groups that all directions have, as a share of the residuals'
    variance; infinity is no random effect.
    """
    mixture = unmix(proportions, gram, covariance, solver, effect)
    plain = ClassMeans(mixture, mixture, np.zeros((mixture.shape[1],) * 2))
    freedom = len(mixture) - mixture.shape[1]
    if freedom < 1 or np.isinf(dampings).all():
        return [plain] * len(dampings)
    weight = 1 / floor_variance(gram.spread + effect)
    residual = np.eye(len(mixture)) - proportions @ mixture.T
    residual *= np.sqrt(weight / weight.mean() / freedom)[:, None]
    values, vectors = np.linalg.eigh(residual @ gram.products @ residual.T)
    values = np.maximum(values, 0.0)
    projection = mixture.T @ gram.products @ residual.T @ vectors
    residual = vectors.T @ residual
    by_damping = []
    total = max(float(values.sum()), 1e-300)
    for damping in dampings:
        shrunk = projection / np.maximum(values + damping * total, 1e-300)
        by_damping.append(
            plain
            if np.isinf(damping)
            else ClassMeans(mixture, mixture - (shrunk @ residual).T, shrunk @ projection.T)
        )
    return by_damping


def effect_variance(proportions: Floats, gram: BagGram, noise: Floats) -> float:
    """Return the variance of random group effects, by the method of moments.

    `noise` is the variance of each bag's mean without them.
    """
    residual = np.eye(len(proportions)) - proportions @ np.linalg.pinv(proportions)
    freedom = np.trace(residual)
    if freedom < 0.5:
        return 0.0
    total = np.sum(residual * gram.products)
    return max(0.0, float(total - np.diag(residual) @ noise) / freedom)


def fit_on_simplex(gram: Floats, cross: Floats, fallback: Floats) -> Floats:
    """Minimise ``r' G r - 2 r' v`` over non-negative r that sum to 1, for each column v of `cross`.

    Returns shape (n_columns, n_classes). In directions in which G is not positive, as may happen
    once self-similarities are taken out, ratios are those of `fallback`. With G = L'L and v = L'b
    the objective is norm((L - b 1') r)^2, and its minimum is found, up to its length, by
    non-negative least squares for ((L - b 1'), w 1') r = (0, w), whatever w > 0.
    """
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    least = max(values[-1] * _NEGLIGIBLE, 1e-290)
    unknown = values <= least
    root = np.sqrt(np.maximum(values, least))
    factor = root[:, None] * vectors.T
    targets = np.where(
        unknown[:, None], factor @ fallback[:, None], vectors.T @ cross / root[:, None]
    )
    n_classes = len(gram)
    ratios = np.empty(cross.T.shape)
    system = np.empty((len(factor) + 1, n_classes))
    right = np.zeros(len(factor) + 1)
    for number, b in enumerate(targets.T):
        system[:-1] = factor - b[:, None]
        weight = max(float(np.abs(system[:-1]).max()), 1e-300)
        system[-1], right[-1] = weight, weight
        r = nnls(system, right)[0]
        ratios[number] = r / r.sum()
    return ratios


def fit_signed(gram: Floats, cross: Floats, inverse: Floats, fallback: Floats) -> Floats:
    """Minimise the objective of `fit_on_simplex` over r that sum to 1 but may be negative.

    `inverse` is that of `gram` over directions of sum zero.
    """
    return np.asarray(fallback + (inverse @ (cross - (gram @ fallback)[:, None])).T)


def class_directions(gram: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues, ascending, and eigenvectors of class means over sum-zero directions."""
    basis = sum_zero_basis(len(gram))
    values, vectors = np.linalg.eigh(basis.T @ gram @ basis)
    return values, basis @ vectors


def distance_rounding(gram: Floats) -> float:
    return max(float(np.abs(gram).max()) * ROUNDING, 1e-290)


def inverse_above(values: Floats, vectors: Floats, floor: Floats) -> Floats:
    """Return the inverse of `class_directions`, with eigenvalues of at least `floor`."""
    least = np.maximum(floor, max(float(values[-1]) * ROUNDING, 1e-300))
    return np.asarray((vectors / np.maximum(values, least)) @ vectors.T)


def sum_zero_basis(n_classes: int) -> Floats:
    """Return an orthonormal basis of the vectors that sum to zero, as columns."""
    return np.linalg.qr(np.c_[np.ones(n_classes), np.eye(n_classes)[:, 1:]])[0][:, 1:]


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
