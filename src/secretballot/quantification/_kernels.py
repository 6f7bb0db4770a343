"""Kernel means of bags: sums over random parts of bags, and all inner products of these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from secretballot.quantification._bag_ids import Floats, Integers, Matrix
from secretballot.quantification._bags import stack_bags

Scalar = TypeVar("Scalar", bound=np.generic)


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
        """Return the matrix (n_bags, n_parts) of bag means; `counts`: times each part is taken."""
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
        """Merge parts until no bag has more than `most`; also return the matrix that does it."""
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


#: Rows and columns of a block of distances, which should fit a core's cache.
_BLOCK_ROWS = 512
#: Instances of which the median distance is taken.
_MEDIAN_ROWS = 1000


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
    # Distances don't depend on the origin; far from it, their digits would cancel.
    origin = None if sparse.issparse(X) else X.mean(axis=0)
    left = _KernelSide(X, X_sizes, origin, block_size)
    right = left if Y is None or Y_sizes is None else _KernelSide(Y, Y_sizes, origin, block_size)
    sums = np.zeros((len(gammas), len(X_sizes), right.n_parts))
    tasks = (
        delayed(_block_row_sums)(left, right, row, row if same else 0, gammas)
        for row in range(len(left.blocks))
    )
    # Threads suffice: BLAS and ufuncs release the lock. In order, so that sums don't depend on the
    # threads, and one at a time, so that results don't pile up.
    results = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(tasks)
    for parts, row_sums in results:
        sums[:, parts] += row_sums
    return sums + sums.transpose(0, 2, 1) if same else sums


class _KernelSide:
    def __init__(
        self, X: Matrix, sizes: Integers, origin: NDArray[np.floating] | None, block_size: int
    ) -> None:
        self.X = X if origin is None else X - origin
        self.lengths = row_norms(self.X, squared=True)
        self.n_parts = len(sizes)
        self.blocks = row_blocks(sizes, block_size)


def row_blocks(sizes: Integers, block_size: int) -> list[tuple[slice, slice, Integers]]:
    """Return blocks of rows: the rows, the parts in them, and where in the block parts start."""
    ends = np.cumsum(sizes)
    part_of = np.repeat(np.arange(len(sizes)), sizes)
    blocks = []
    for start in range(0, int(ends[-1]), block_size):
        stop = min(start + block_size, int(ends[-1]))
        parts = slice(int(part_of[start]), int(part_of[stop - 1]) + 1)
        starts = np.maximum(ends[parts] - sizes[parts] - start, 0)
        blocks.append((slice(start, stop), parts, starts))
    return blocks


def _block_row_sums(
    left: _KernelSide, right: _KernelSide, row: int, first_column: int, gammas: Floats
) -> tuple[slice, Floats]:
    rows, parts, starts = left.blocks[row]
    sums = np.zeros((len(gammas), parts.stop - parts.start, right.n_parts))
    for column in range(first_column, len(right.blocks)):
        columns, column_parts, column_starts = right.blocks[column]
        distance = squared_distances(
            left.X[rows], right.X[columns], left.lengths[rows], right.lengths[columns]
        )
        # A diagonal block is its own mirror image: the sum with the transpose doubles it.
        share = 0.5 if left is right and column == row else 1.0
        for number, kernel in enumerate(kernel_values(distance, gammas)):
            by_column_part = np.add.reduceat(kernel, column_starts, axis=1)
            sums[number, :, column_parts] += share * np.add.reduceat(
                by_column_part.astype(np.float64, copy=False), starts, axis=0
            )
    return parts, sums


def squared_distances(
    X: Matrix, Y: Matrix, X_lengths: NDArray[np.floating], Y_lengths: NDArray[np.floating]
) -> NDArray[np.floating]:
    distance = inner_products(X, Y)
    distance *= -2
    distance += X_lengths[:, None]
    distance += Y_lengths
    return np.maximum(distance, 0, out=distance)


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


def _median_gamma(X: Matrix, rng: np.random.Generator) -> float:
    """Return 1 / (2 median squared distance), of a sample of the instances."""
    rows = np.sort(rng.choice(X.shape[0], min(_MEDIAN_ROWS, X.shape[0]), replace=False))
    sample = X[rows]
    lengths = row_norms(sample, squared=True)
    distance = lengths[:, None] + lengths - 2 * inner_products(sample, sample)
    median = float(np.median(distance[np.triu_indices(len(lengths), 1)]))
    # If most instances are equal the mean is the scale of the others.
    scale = median if median > 1e-12 * max(lengths.max(), 1e-300) else float(distance.mean())
    return 0.5 / scale if scale > 0 else 1.0


def candidate_gammas(
    gamma: str | float, multiples: Sequence[float], X: Matrix, rng: np.random.Generator
) -> Floats:
    """Return the bandwidths to try: a fixed one, the median's, or multiples of that."""
    if not isinstance(gamma, str):
        return np.array([float(gamma)])
    return _median_gamma(X, rng) * np.array(multiples if gamma == "held_out" else (1.0,))


_FEATURE_ROWS = 1024
#: Rows of a part and block whose feature lengths are measured.
_LENGTH_ROWS = 128
#: Largest gamma times squared length for which single precision has distances to 1e-5 or so.
_SINGLE_RANGE = 100.0
#: Number of instances from which on single precision is used: it saves time, and orthonormal
#: features magnify its rounding.
_MANY_ROWS = 20_000


class LinearFeatures:
    """The instances themselves; sparse ones stay sparse. Methods as of `BlockFeatures`."""

    def table(self, X: Matrix, number: int) -> Matrix:
        return X

    def sums(
        self, X: Matrix, sizes: Integers, numbers: Sequence[int], n_jobs: int | None = None
    ) -> tuple[list[Matrix], Floats]:
        lengths = _part_sums(row_norms(X, squared=True)[:, None], sizes)
        return [_part_sums(X, sizes)], np.asarray(lengths.T, dtype=np.float64)


class BlockFeatures(ABC):
    """Features at numbered bandwidths, a block of instances at a time, never held for all."""

    @abstractmethod
    def transform(self, X: Matrix, numbers: Sequence[int]) -> list[NDArray[np.floating]]:
        """Return the features of a block at each bandwidth."""

    @abstractmethod
    def block_sums(
        self, X: Matrix, member: Floats, numbers: Sequence[int]
    ) -> tuple[list[NDArray[np.floating]], list[Floats]]:
        """Return sums of features, and of squared lengths, over the parts of a block.

        `member`, shape (n_parts, n_instances), is 1 where an instance is in a part.
        """

    def table(self, X: Matrix, number: int) -> NDArray[np.float32]:
        first = self.transform(X[:_FEATURE_ROWS], [number])[0]
        table = np.empty((X.shape[0], first.shape[1]), dtype="f4")
        table[:_FEATURE_ROWS] = first
        for start in range(_FEATURE_ROWS, X.shape[0], _FEATURE_ROWS):
            rows = slice(start, start + _FEATURE_ROWS)
            table[rows] = self.transform(X[rows], [number])[0]
        return table

    def sums(
        self, X: Matrix, sizes: Integers, numbers: Sequence[int], n_jobs: int | None = None
    ) -> tuple[list[Matrix], Floats]:
        """Sum features, and squared lengths (n_bandwidths, n_parts), over parts in order."""

        def sum_block(rows: slice, starts: Integers):  # type: ignore[no-untyped-def]
            # A product with 0 and 1: BLAS adds rows faster than a reduction does.
            lengths = np.diff(np.r_[starts, rows.stop - rows.start])
            member = np.repeat(np.eye(len(starts)), lengths, axis=1)
            return self.block_sums(X[rows], member, numbers)

        blocks = row_blocks(sizes, _FEATURE_ROWS)
        results = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(sum_block)(rows, starts) for rows, _, starts in blocks
        )
        totals: list[Matrix] = []
        squared = np.zeros((len(numbers), len(sizes)))
        for (_, parts, _), (sums, lengths) in zip(blocks, results, strict=True):
            totals = totals or [np.zeros((len(sizes), part.shape[1])) for part in sums]
            for number, (part, length) in enumerate(zip(sums, lengths, strict=True)):
                totals[number][parts] += part
                squared[number, parts] += length
        return totals, squared


KernelFeatures: TypeAlias = "LinearFeatures | BlockFeatures"


class FourierFeatures(BlockFeatures):
    """Random Fourier features of the rbf kernel.

    Cosine and sine of one frequency come in pairs, so that every feature vector has length 1, as
    in the kernel's own feature space. Frequencies don't depend on data, and those of two
    bandwidths differ in scale only.
    """

    def __init__(self, n_features: int, gammas: Floats, n_components: int, seed: int) -> None:
        rng = np.random.default_rng([seed, 1])
        # Single precision: rounding is far below the Monte-Carlo error of the features.
        self.frequencies = rng.standard_normal((n_features, max(n_components // 2, 1))).astype("f4")
        self.scales = np.sqrt(2 * gammas)

    def transform(self, X: Matrix, numbers: Sequence[int]) -> list[NDArray[np.floating]]:
        angle = X.astype("f4", copy=False) @ self.frequencies
        half = angle.shape[1]
        scales = self.scales[numbers]
        waves: list[NDArray[np.floating]] = []
        for number, scale in enumerate(scales):
            wave = np.empty((len(angle), 2 * half), dtype="f4")
            cosine, sine = wave[:, :half], wave[:, half:]
            # Bandwidths are doubled, so that every other one has double angles.
            halved = np.flatnonzero(np.isclose(2 * scales[:number], scale, rtol=1e-9, atol=0))
            if halved.size:
                previous = waves[halved[0]]
                np.multiply(previous[:, :half], previous[:, half:], out=sine)
                sine *= 2
                np.multiply(previous[:, :half], previous[:, :half], out=cosine)
                cosine *= 2
                cosine -= 1
            else:
                np.multiply(angle, np.float32(scale), out=cosine)
                np.sin(cosine, out=sine)
                np.cos(cosine, out=cosine)
            waves.append(wave)
        for wave in waves:
            wave *= np.float32(1 / np.sqrt(half))
        return waves

    def block_sums(
        self, X: Matrix, member: Floats, numbers: Sequence[int]
    ) -> tuple[list[NDArray[np.floating]], list[Floats]]:
        waves = self.transform(X, numbers)
        return [member.astype("f4") @ wave for wave in waves], [member.sum(axis=1)] * len(waves)


class NystroemFeatures(BlockFeatures):
    """Kernel values at landmarks drawn from the instances, made orthonormal.

    Of many instances kernel values are in single precision wherever distances can be; their
    rounding is far below the error of having few landmarks.
    """

    def __init__(
        self, X: Matrix, gammas: Floats, n_components: int, rng: np.random.Generator
    ) -> None:
        rows = rng.choice(X.shape[0], min(n_components, X.shape[0]), replace=False)
        landmarks = X[np.sort(rows)]
        # Distances don't depend on the origin; far from it, digits would cancel.
        self.origin = None if sparse.issparse(X) else landmarks.mean(axis=0, dtype=np.float64)
        self.landmarks = self._centre(landmarks)
        self.lengths = row_norms(self.landmarks, squared=True)
        self.gammas = gammas
        distance = squared_distances(self.landmarks, self.landmarks, self.lengths, self.lengths)
        self.roots = [_inverse_root(kernel) for kernel in kernel_values(distance, gammas)]
        self._many = X.shape[0] >= _MANY_ROWS
        self._single = [array.astype("f4") for array in (self.landmarks, self.lengths)]
        self._single_roots = [root.astype("f4") for root in self.roots]

    def _centre(self, X: Matrix) -> Matrix:
        return X if self.origin is None else X - self.origin

    def _kernels(self, X: Matrix, numbers: Sequence[int]) -> Iterator[NDArray[np.floating]]:
        """Yield kernel values with the landmarks, in the same memory."""
        X, gammas = self._centre(X), self.gammas[list(numbers)]
        landmarks, lengths = self.landmarks, self.lengths
        longest = max(float(row_norms(X, squared=True).max(initial=0)), float(lengths.max()))
        if self._many and gammas.max() * longest < _SINGLE_RANGE:
            X, (landmarks, lengths) = X.astype("f4"), self._single
        return kernel_values(
            squared_distances(X, landmarks, row_norms(X, squared=True), lengths), gammas
        )

    def _root(self, kernel: NDArray[np.floating], number: int) -> NDArray[np.floating]:
        return (self._single_roots if kernel.dtype == np.float32 else self.roots)[number]

    def transform(self, X: Matrix, numbers: Sequence[int]) -> list[NDArray[np.floating]]:
        pairs = zip(self._kernels(X, numbers), numbers, strict=True)
        return [kernel @ self._root(kernel, number) for kernel, number in pairs]

    def block_sums(
        self, X: Matrix, member: Floats, numbers: Sequence[int]
    ) -> tuple[list[NDArray[np.floating]], list[Floats]]:
        # Kernel values are summed before they are made orthonormal. Lengths can't be: those of a
        # sample of a long part's rows stand for all.
        sample = np.flatnonzero((member * np.cumsum(member, axis=1)).sum(axis=0) <= _LENGTH_ROWS)
        share = member[:, sample] * (member.sum(axis=1) / member[:, sample].sum(axis=1))[:, None]
        sums, lengths = [], []
        for kernel, number in zip(self._kernels(X, numbers), numbers, strict=True):
            measured = kernel[sample] @ self._root(kernel, number)
            sums.append((member.astype(kernel.dtype) @ kernel) @ self.roots[number])
            lengths.append(share @ np.einsum("ij,ij->i", measured, measured))
        return sums, lengths


def _inverse_root(kernel: NDArray[np.floating]) -> Floats:
    values, vectors = np.linalg.eigh(kernel.astype(np.float64))
    positive = values > 1e-8 * values[-1]
    return vectors[:, positive] / np.sqrt(values[positive])


def _part_sums(X: Matrix, sizes: Integers) -> Matrix:
    if not sparse.issparse(X):
        return np.add.reduceat(X, np.cumsum(sizes) - sizes, axis=0, dtype=np.float64)
    columns = np.arange(int(sizes.sum()))
    positions = (np.repeat(np.arange(len(sizes)), sizes), columns)
    member = sparse.csr_array((np.ones(len(columns)), positions), shape=(len(sizes), len(columns)))
    return sparse.csr_array(member @ X)


def make_features(
    kind: str | None, X: Matrix, gammas: Floats, n_components: int, seed: int
) -> KernelFeatures:
    if kind is None:
        return LinearFeatures()
    if kind == "rff":
        return FourierFeatures(X.shape[1], gammas, n_components, seed)
    return NystroemFeatures(X, gammas, n_components, np.random.default_rng([seed, 2]))


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
        self,
        features: KernelFeatures,
        n_gammas: int,
        bags: list[Matrix],
        parts: SubBags,
        n_jobs: int | None,
    ) -> None:
        self.features, self.numbers, self.n_jobs = features, range(n_gammas), n_jobs
        self.parts = parts
        self._sums, self._lengths = self._sum(bags, parts, self.numbers)

    def _sum(
        self, bags: list[Matrix], parts: SubBags, numbers: Sequence[int]
    ) -> tuple[list[Matrix], Floats]:
        return self.features.sums(stack_bags(bags), parts.sizes, numbers, self.n_jobs)

    def add(self, bags: list[Matrix], parts: SubBags) -> None:
        sums, lengths = self._sum(bags, parts, self.numbers)
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
