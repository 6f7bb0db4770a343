"""Kernel sums between parts of bags, in blocks: the Gram matrix of instances is never held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse

#: Rows and columns of a block of distances: it should stay in a core's cache while it is worked on.
_BLOCK = 512


def kernel_sums(
    X: Any,
    X_sizes: NDArray[np.int64],
    gammas: NDArray[np.float64],
    Y: Any = None,
    Y_sizes: NDArray[np.int64] | None = None,
    *,
    block: int = _BLOCK,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Sum exp(-gamma norm(x - y)^2) over the pairs of two parts, for all pairs of parts.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_instances, n_features)
        Part after part.
    X_sizes : ndarray of shape (n_parts,)
        Instances in each part.
    gammas : ndarray of shape (n_gammas,)
        All are computed from one pass over the distances.
    Y, Y_sizes : default=None
        The other side; the same as the first if None, at half the work.
    block : int
        Rows and columns of a block of distances: all that is held of the Gram matrix, and of it
        one for each thread.
    n_jobs : int, default=None
        Threads over blocks.

    Returns
    -------
    ndarray of shape (n_gammas, n_parts, n_parts of Y)

    Notes
    -----
    The result doesn't depend on `n_jobs`, and on `block` up to rounding.
    """
    same = Y is None
    centre = _centre(X)
    left = _Side(X, X_sizes, centre, block)
    right = left if same else _Side(Y, Y_sizes, centre, block)
    sums = np.zeros((len(gammas), left.n_parts, right.n_parts))
    tasks = (
        delayed(_row_of_blocks)(left, right, row, row if same else 0, gammas)
        for row in range(len(left.blocks))
    )
    # Threads: the work is done in BLAS and ufuncs, which let others run. In order, so that sums
    # come out the same whoever computes them, and one at a time, so that results don't pile up.
    done = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(tasks)
    for parts, found in done:
        sums[:, parts] += found
    return sums + sums.transpose(0, 2, 1) if same else sums


class _Side:
    """Instances in blocks, with their squared lengths and where parts begin."""

    def __init__(self, X: Any, sizes: Any, centre: Any, block: int) -> None:
        self.X = X if centre is None else X - centre
        self.norms = squared_lengths(self.X)
        self.n_parts = len(sizes)
        ends = np.cumsum(sizes)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        self.blocks = []
        for start in range(0, int(ends[-1]), block):
            stop = min(start + block, int(ends[-1]))
            parts = slice(int(owner[start]), int(owner[stop - 1]) + 1)
            cuts = np.maximum(ends[parts] - sizes[parts] - start, 0)
            self.blocks.append((slice(start, stop), parts, cuts))


def _row_of_blocks(
    left: _Side, right: _Side, row: int, first: int, gammas: NDArray[np.float64]
) -> tuple[slice, NDArray[np.float64]]:
    rows, parts, cuts = left.blocks[row]
    total = np.zeros((len(gammas), parts.stop - parts.start, right.n_parts))
    for column in range(first, len(right.blocks)):
        columns, other, other_cuts = right.blocks[column]
        distance = product(left.X[rows], right.X[columns])
        distance *= -2
        distance += left.norms[rows, None]
        distance += right.norms[columns]
        np.maximum(distance, 0, out=distance)
        # Its own mirror image: halves, which the sum with the transpose makes whole.
        share = 0.5 if left is right and column == row else 1.0
        for number, kernel in enumerate(powers(distance, gammas)):
            by_part = np.add.reduceat(kernel, other_cuts, axis=1)
            total[number, :, other] += share * np.add.reduceat(
                by_part.astype(np.float64, copy=False), cuts, axis=0
            )
    return parts, total


def powers(distance: NDArray[Any], gammas: NDArray[np.float64]) -> Iterator[NDArray[Any]]:
    """Yield exp(-gamma distance) for each gamma; a gamma twice the last is its square."""
    kernel, last = np.empty_like(distance), None
    for gamma in gammas:
        if last is not None and gamma == 2 * last:
            np.multiply(kernel, kernel, out=kernel)
        else:
            np.multiply(distance, distance.dtype.type(-gamma), out=kernel)
            np.exp(kernel, out=kernel)
        last = gamma
        yield kernel


def product(X: Any, Y: Any) -> NDArray[Any]:
    product = X @ Y.T
    return product.toarray() if sparse.issparse(product) else product


def squared_lengths(X: Any) -> NDArray[Any]:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _centre(X: Any) -> NDArray[Any] | None:
    """Distances don't depend on the origin; far from it, their digits would cancel."""
    return None if sparse.issparse(X) else X.mean(axis=0)


def median_gamma(X: Any, rng: np.random.Generator, n_instances: int = 1000) -> float:
    """Return 1 / (2 median squared distance), of a sample of the instances."""
    few = X[np.sort(rng.choice(X.shape[0], min(n_instances, X.shape[0]), replace=False))]
    norms = squared_lengths(few)
    distance = norms[:, None] + norms - 2 * product(few, few)
    median = float(np.median(distance[np.triu_indices(len(norms), 1)]))
    # Most instances alike: then the mean says how far the others are.
    typical = median if median > 1e-12 * max(norms.max(), 1e-300) else float(distance.mean())
    return 0.5 / typical if typical > 0 else 1.0


def candidate_gammas(
    gamma: str | float, multiples: Sequence[float], X: Any, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the bandwidths to try: one that is given, the median's, or multiples of that."""
    if not isinstance(gamma, str):
        return np.array([float(gamma)])
    return median_gamma(X, rng) * np.array(multiples if gamma == "held_out" else (1.0,))
