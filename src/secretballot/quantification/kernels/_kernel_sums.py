"""Sums of kernel values between parts of bags, in blocks, without the Gram matrix of instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from secretballot.quantification._bag_types import Floats, Integers, Matrix

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
