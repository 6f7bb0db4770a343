"""Kernel means of bags: sums over random parts of bags, and all inner products of these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from secretballot.quantification._bag_ids import Floats, Integers, Matrix
from secretballot.quantification._bags import stack_bags

Scalar = TypeVar("Scalar", bound=np.generic)
#: Rows and columns of a block of distances, which should fit a core's cache.
_BLOCK_ROWS = 512
#: Instances whose features are made together.
_FEATURE_ROWS = 1024
#: Instances of a part from which the mean length of its features is estimated.
_LENGTH_ROWS = 64
#: Instances in the sample for the median distance.
_MEDIAN_ROWS = 1000


@dataclass(frozen=True)
class SubBags:
    """Sizes of parts, and the bag of each, sorted; shape (n_parts,).

    Sums over instances are stored for each part. A held-out set leaves parts out and a bootstrap
    draws parts, so that neither needs the instances again.
    """

    sizes: Integers
    bag: Integers

    @classmethod
    def of_one_bag(cls, sizes: Integers) -> SubBags:
        return cls(sizes, np.zeros(len(sizes), dtype=np.int64))

    @property
    def n_bags(self) -> int:
        return int(self.bag[-1]) + 1

    @property
    def bag_sizes(self) -> Integers:
        return np.bincount(self.bag, weights=self.sizes).astype(np.int64)

    @property
    def n_parts(self) -> Integers:
        return np.bincount(self.bag)

    def split(self, values: NDArray[Scalar]) -> list[NDArray[Scalar]]:
        """Split an array with a row for each part into an array for each bag."""
        return np.split(values, np.cumsum(self.n_parts)[:-1])

    def weights(self, counts: Floats | Integers | None = None) -> sparse.csr_array:
        """Return the matrix (n_bags, n_parts) of bag means; a part is taken `counts` times."""
        taken = np.ones(len(self.bag)) if counts is None else np.asarray(counts, dtype=float)
        n_instances = np.bincount(self.bag, weights=taken * self.sizes)
        shape = (self.n_bags, len(self.bag))
        positions = (self.bag, np.arange(len(self.bag)))
        return sparse.csr_array((taken / n_instances[self.bag], positions), shape=shape)

    def join(self, other: SubBags) -> SubBags:
        return SubBags(
            np.concatenate([self.sizes, other.sizes]),
            np.concatenate([self.bag, other.bag + self.n_bags]),
        )

    def select(self, bags: Integers) -> tuple[sparse.csr_array, SubBags]:
        """Return the parts of some bags, in increasing order, and the matrix that picks them."""
        rows = np.flatnonzero(np.isin(self.bag, bags))
        number = np.searchsorted(bags, self.bag[rows])
        picker = sparse.csr_array(sparse.eye_array(len(self.bag), format="csr")[rows])
        return picker, SubBags(self.sizes[rows], number)

    def merge(self, most: int) -> tuple[sparse.csr_array, SubBags]:
        """Merge parts until no bag has more than `most`; return the merging matrix too."""
        first = np.cumsum(self.n_parts) - self.n_parts
        number = self.bag * most + (np.arange(len(self.bag)) - first[self.bag]) % most
        _, number = np.unique(number, return_inverse=True)
        shape = (int(number.max()) + 1, len(number))
        merger = sparse.csr_array((np.ones(len(number)), (number, np.arange(len(number)))), shape)
        bag = np.repeat(np.arange(self.n_bags), np.minimum(self.n_parts, most))
        return merger, SubBags((merger @ self.sizes).astype(np.int64), bag)


def cut_bags(
    bags: Sequence[Matrix], n_parts: int, seed: int, first: int = 0
) -> tuple[SubBags, list[Matrix]]:
    """Cut bags into parts at random; return the bags with rows in the order of the parts.

    A bag with fewer than `n_parts` instances has one part for each. Its cut depends on the seed and
    on the bag's number, counted from `first`, not on other bags.
    """
    sizes, bag_of, ordered = [], [], []
    for number, bag in enumerate(bags):
        rows = np.random.default_rng([seed, first + number]).permutation(bag.shape[0])
        parts = [len(part) for part in np.array_split(rows, min(n_parts, len(rows)))]
        sizes += parts
        bag_of += [number] * len(parts)
        ordered.append(bag[rows])
    return SubBags(np.array(sizes), np.array(bag_of)), ordered


#: Weights of parts, a row for each weighted sum.
PartWeights: TypeAlias = "Floats | sparse.csr_array"


class BagGram(NamedTuple):
    """Inner products of the means of bags, shape (n_bags, n_bags)."""

    products: Floats
    #: Variance of each bag's mean: the bias of its squared length.
    spread: Floats

    def with_diagonal(self, share: float) -> Floats:
        """Return the products with this share of the self-similarity left on the diagonal."""
        return self.products - np.diag((1 - share) * self.spread)

    def select(self, bags: Integers) -> BagGram:
        return BagGram(self.products[np.ix_(bags, bags)], self.spread[bags])


class PartSums(NamedTuple):
    """Feature sums over the parts of bags, or the inner products of these, at one bandwidth."""

    #: Sums, shape (n_parts, n_features); or if `is_gram`, inner products of all pairs of sums.
    table: Matrix
    #: Sums of each instance's similarity to itself, shape (n_parts,).
    lengths: Floats
    parts: SubBags
    is_gram: bool = False

    def products(self, left: PartWeights, right: PartWeights) -> Floats:
        """Return inner products of two sets of weighted sums over parts."""
        if self.is_gram:
            return np.asarray(left @ self.table @ right.T)
        return np.asarray(inner_products(left @ self.table, right @ self.table), dtype=np.float64)

    def gram(self, counts: Floats | Integers | None = None) -> BagGram:
        """Return the Gram matrix of bags; `counts` as for `SubBags.weights`."""
        weights = self.parts.weights(counts)
        gram = self.products(weights, weights)
        taken = np.ones(len(self.parts.bag)) if counts is None else counts
        n_instances = np.bincount(self.parts.bag, weights=taken * self.parts.sizes)
        spread = (weights @ self.lengths - np.diag(gram)) / np.maximum(n_instances - 1, 1)
        return BagGram(gram, np.maximum(spread, 0.0))

    def transform(self, matrix: sparse.csr_array, parts: SubBags) -> PartSums:
        """Return the sums over other parts, made by a matrix of `SubBags.select` or `merge`."""
        table = matrix @ self.table
        table = table @ matrix.T if self.is_gram else table
        return PartSums(table, matrix @ self.lengths, parts, self.is_gram)


def kernel_sums(
    X: Matrix,
    X_sizes: Integers,
    gammas: Floats,
    Y: Matrix | None = None,
    Y_sizes: Integers | None = None,
    *,
    block_size: int = _BLOCK_ROWS,
    n_jobs: int | None = None,
) -> Floats:
    """Sum exp(-gamma norm(x - y)^2) over the pairs of two parts, for all pairs of parts.

    Instances are part after part; Y is X by default, at half the work. Returns shape (n_gammas,
    n_parts, n_parts of Y), which doesn't depend on `n_jobs`, and on `block_size` only by rounding.
    """
    same = Y is None or Y_sizes is None
    Y, Y_sizes = (X, X_sizes) if Y is None or Y_sizes is None else (Y, Y_sizes)
    if not sparse.issparse(X):
        # Distances don't depend on the origin; far from it, their digits would cancel.
        origin = X.mean(axis=0)
        X, Y = X - origin, Y - origin
    X_blocks, Y_blocks = row_blocks(X_sizes, block_size), row_blocks(Y_sizes, block_size)

    def sum_row(row: int) -> tuple[slice, Floats]:
        rows, parts, starts = X_blocks[row]
        sums = np.zeros((len(gammas), len(starts), len(Y_sizes)))
        for column in range(row if same else 0, len(Y_blocks)):
            columns, column_parts, column_starts = Y_blocks[column]
            distance = euclidean_distances(X[rows], Y[columns], squared=True)
            # A diagonal block is its own mirror image: the sum with the transpose doubles it.
            share = 0.5 if same and column == row else 1.0
            for number, kernel in enumerate(kernel_values(distance, gammas)):
                by_column_part = np.add.reduceat(kernel, column_starts, axis=1)
                sums[number, :, column_parts] += share * np.add.reduceat(
                    by_column_part.astype(np.float64, copy=False), starts, axis=0
                )
        return parts, sums

    # Threads suffice: BLAS and ufuncs release the lock. In order, so that sums don't depend on the
    # threads, and one at a time, so that results don't pile up.
    results = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
        delayed(sum_row)(row) for row in range(len(X_blocks))
    )
    sums = np.zeros((len(gammas), len(X_sizes), len(Y_sizes)))
    for parts, row_sums in results:
        sums[:, parts] += row_sums
    return sums + sums.transpose(0, 2, 1) if same else sums


def row_blocks(sizes: Integers, block_size: int) -> list[tuple[slice, slice, Integers]]:
    """Return blocks of rows: the rows, the parts in them, and where in the block parts start."""
    ends = np.cumsum(sizes)
    part_of = np.repeat(np.arange(len(sizes)), sizes)
    blocks = []
    for rows in gen_batches(int(ends[-1]), block_size):
        parts = slice(int(part_of[rows.start]), int(part_of[rows.stop - 1]) + 1)
        starts = np.maximum(ends[parts] - sizes[parts] - rows.start, 0)
        blocks.append((rows, parts, starts))
    return blocks


def kernel_values(distance: NDArray[np.floating], gammas: Floats) -> Iterator[NDArray[np.floating]]:
    """Yield exp(-gamma distance) for each gamma, in the same memory.

    For a gamma twice the previous one it is the previous kernel's square.
    """
    kernel, previous = np.empty_like(distance), None
    for gamma in gammas:
        if previous is not None and gamma == 2 * previous:
            np.multiply(kernel, kernel, out=kernel)
        else:
            np.multiply(distance, distance.dtype.type(-gamma), out=kernel)
            np.exp(kernel, out=kernel)
        previous = gamma
        yield kernel


def inner_products(X: Matrix, Y: Matrix) -> NDArray[np.floating]:
    return safe_sparse_dot(X, Y.T, dense_output=True)


def candidate_gammas(
    gamma: str | float, multiples: Sequence[float], X: Matrix, rng: np.random.Generator
) -> Floats:
    """Return the bandwidths to try: a fixed one, the median's, or multiples of that.

    The median's is 1 / (2 median squared distance), of a sample of the instances.
    """
    if not isinstance(gamma, str):
        return np.array([float(gamma)])
    rows = np.sort(rng.choice(X.shape[0], min(_MEDIAN_ROWS, X.shape[0]), replace=False))
    distance = euclidean_distances(X[rows], squared=True)
    median = float(np.median(distance[np.triu_indices(len(rows), 1)]))
    # If most instances are equal the mean is the scale of the others.
    largest = float(row_norms(X[rows], squared=True).max())
    scale = median if median > 1e-12 * max(largest, 1e-300) else float(distance.mean())
    middle = 0.5 / scale if scale > 0 else 1.0
    return middle * np.array(multiples if gamma == "held_out" else (1.0,))


class _PairedWaves(RBFSampler):
    """Cosine and sine of each random frequency, so that every feature vector has length 1.

    `RBFSampler` draws a random phase for each feature: lengths vary, and errors are larger.
    """

    def transform(self, X: Matrix) -> NDArray[np.floating]:
        angle = safe_sparse_dot(X, self.random_weights_)
        return np.hstack([np.cos(angle), np.sin(angle)]) / math.sqrt(self.n_components)


class ExplicitFeatures:
    """Explicit features of the rbf kernel, for a list of bandwidths.

    With `kind=None` the features are the instances themselves. Features are computed for a block of
    instances at a time.
    """

    def __init__(
        self, kind: str | None, X: Matrix, gammas: Floats, n_components: int, seed: int
    ) -> None:
        self.gammas, self.numbers = gammas, range(len(gammas))
        self.maps: list[_PairedWaves] | list[Nystroem] = []
        if kind is None:
            return
        # Far from the origin, digits of distances would cancel.
        self.origin = None if sparse.issparse(X) else X.mean(axis=0)
        self.dtype: type[np.floating] = np.float64
        if kind == "rff":
            # Rounding in single precision is far below the Monte-Carlo error.
            self.dtype = np.float32
            make, n_sampled, rows = _PairedWaves, max(n_components // 2, 1), np.arange(1)
            self.n_features = 2 * n_sampled
        else:
            make, n_sampled = Nystroem, min(n_components, X.shape[0])
            rows = np.random.default_rng([seed, 2]).choice(X.shape[0], n_sampled, replace=False)
            self.n_features = n_sampled
        sample = self._centre(X[np.sort(rows)])
        self.maps = [
            make(gamma=gamma, n_components=n_sampled, random_state=seed).fit(sample)
            for gamma in gammas
        ]

    def _centre(self, X: Matrix) -> Matrix:
        return (X if self.origin is None else X - self.origin).astype(self.dtype, copy=False)

    def table(self, X: Matrix, number: int) -> Matrix:
        """Return the features at one bandwidth, in single precision."""
        if not self.maps:
            return X
        table = np.empty((X.shape[0], self.n_features), dtype=np.float32)
        for rows in gen_batches(X.shape[0], _FEATURE_ROWS):
            table[rows] = self.maps[number].transform(self._centre(X[rows]))
        return table

    def sums(
        self, X: Matrix, sizes: Integers, numbers: Sequence[int], n_jobs: int | None = None
    ) -> tuple[list[Matrix], Floats]:
        """Sum features, and squared lengths (n_bandwidths, n_parts), over parts in order."""
        if not self.maps:
            member = _membership(np.r_[0, np.cumsum(sizes)])
            return [member @ X], (member @ row_norms(X, squared=True))[None]
        rank = np.arange(X.shape[0]) - np.repeat(np.cumsum(sizes) - sizes, sizes)

        def sum_block(rows: slice, starts: Integers) -> list[tuple[Floats, Floats]]:
            few = np.flatnonzero(rank[rows] < _LENGTH_ROWS)
            member = _membership(np.r_[starts, rows.stop - rows.start]).astype(self.dtype)
            results = []
            for number, values in zip(numbers, self._values(X[rows], numbers), strict=True):
                lengths = row_norms(self._orthonormal(values[few], number), squared=True)
                results.append((member @ values, member[:, few] @ lengths))
            return results

        blocks = row_blocks(sizes, _FEATURE_ROWS)
        results = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(sum_block)(rows, starts) for rows, _, starts in blocks
        )
        totals = np.zeros((len(numbers), len(sizes), self.n_features))
        squared = np.zeros((len(numbers), len(sizes)))
        for (_, parts, _), by_number in zip(blocks, results, strict=True):
            for row, (sums, lengths) in enumerate(by_number):
                totals[row, parts] += sums
                squared[row, parts] += lengths
        squared *= sizes / np.minimum(sizes, _LENGTH_ROWS)
        pairs = zip(totals, numbers, strict=True)
        return [self._orthonormal(total, number) for total, number in pairs], squared

    def _values(self, X: Matrix, numbers: Sequence[int]) -> Iterator[NDArray[np.floating]]:
        """Yield features, or for Nystroem kernel values of landmarks, which are cheaper to sum."""
        block, maps = self._centre(X), [self.maps[number] for number in numbers]
        if isinstance(maps[0], _PairedWaves):
            yield from (features.transform(block) for features in maps)
        else:
            distance = euclidean_distances(block, maps[0].components_, squared=True)
            yield from kernel_values(distance, self.gammas[list(numbers)])

    def _orthonormal(self, values: NDArray[np.floating], number: int) -> NDArray[np.floating]:
        features = self.maps[number]
        return values @ features.normalization_.T if isinstance(features, Nystroem) else values


def _membership(ends: Integers) -> sparse.csr_array:
    """Return the matrix that sums rows over parts, given the boundaries of all parts."""
    n_rows = int(ends[-1])
    return sparse.csr_array((np.ones(n_rows), np.arange(n_rows), ends), (len(ends) - 1, n_rows))


class KernelEmbedding:
    """Exact kernel sums: stores the instances, and takes time quadratic in their number."""

    def __init__(
        self, bags: list[Matrix], parts: SubBags, gammas: Floats, n_jobs: int | None
    ) -> None:
        self.X, self.parts, self.gammas, self.n_jobs = stack_bags(bags), parts, gammas, n_jobs
        self._grams = kernel_sums(self.X, parts.sizes, gammas, n_jobs=n_jobs)

    def sums(self) -> list[PartSums]:
        return [_kernel_part_sums(gram, self.parts) for gram in self._grams]

    def cross(self, number: int, bags: list[Matrix], parts: SubBags) -> Floats:
        """Return kernel sums with the parts of other bags, shape (n_parts, n_other_parts)."""
        other, gamma = stack_bags(bags), self.gammas[[number]]
        sizes = self.parts.sizes
        return kernel_sums(self.X, sizes, gamma, other, parts.sizes, n_jobs=self.n_jobs)[0]

    def within(self, number: int, bags: list[Matrix], parts: SubBags) -> list[PartSums]:
        """Return the sums over the parts of other bags, for each bag on its own."""
        gamma = self.gammas[[number]]
        return [
            _kernel_part_sums(
                kernel_sums(bag, sizes, gamma, n_jobs=self.n_jobs)[0], SubBags.of_one_bag(sizes)
            )
            for bag, sizes in zip(bags, parts.split(parts.sizes), strict=True)
        ]


def _kernel_part_sums(gram: Floats, parts: SubBags) -> PartSums:
    # The features of an instance have length 1.
    return PartSums(gram, parts.sizes.astype(float), parts, is_gram=True)


class FeatureEmbedding:
    """Sums of explicit features: forgets the instances, and takes time linear in their number."""

    def __init__(
        self, features: ExplicitFeatures, bags: list[Matrix], parts: SubBags, n_jobs: int | None
    ) -> None:
        self.features, self.parts, self.n_jobs = features, parts, n_jobs
        self._sums, self._lengths = self._sum(bags, parts, features.numbers)

    def _sum(
        self, bags: list[Matrix], parts: SubBags, numbers: Sequence[int]
    ) -> tuple[list[Matrix], Floats]:
        return self.features.sums(stack_bags(bags), parts.sizes, numbers, self.n_jobs)

    def add(self, bags: list[Matrix], parts: SubBags) -> None:
        sums, lengths = self._sum(bags, parts, self.features.numbers)
        self.parts = self.parts.join(parts)
        self._sums = [stack_bags(pair) for pair in zip(self._sums, sums, strict=True)]
        self._lengths = np.concatenate([self._lengths, lengths], axis=1)

    def sums(self) -> list[PartSums]:
        # There may be many parts: their own Gram matrix is never made.
        pairs = zip(self._sums, self._lengths, strict=True)
        return [PartSums(sums, lengths, self.parts) for sums, lengths in pairs]

    def cross(self, number: int, bags: list[Matrix], parts: SubBags) -> Floats:
        (sums,), _ = self._sum(bags, parts, [number])
        return np.asarray(inner_products(self._sums[number], sums), dtype=np.float64)

    def within(self, number: int, bags: list[Matrix], parts: SubBags) -> list[PartSums]:
        (sums,), (lengths,) = self._sum(bags, parts, [number])
        return [
            PartSums(sums[rows], lengths[rows], SubBags.of_one_bag(parts.sizes[rows]))
            for rows in parts.split(np.arange(len(parts.bag)))
        ]
