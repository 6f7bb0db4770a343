"""Explicit features of a kernel: their sums over parts of bags cost time linear in instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse

from secretballot.quantification._kernel_sums import _product, _squared_lengths

_ROWS = 4096


class LinearFeatures:
    """The instances themselves; sparse ones stay sparse."""

    def __call__(self, X: Any, which: Sequence[int]) -> list[Any]:
        return [X]


class FourierFeatures:
    """Random Fourier features of the rbf kernel.

    Cosine and sine of one frequency come in pairs, so that every feature vector has length 1, as
    in the kernel's own feature space. Frequencies don't depend on data, and those of two
    bandwidths differ in scale only.
    """

    def __init__(
        self, n_features: int, gammas: NDArray[np.float64], n_components: int, entropy: int
    ) -> None:
        rng = np.random.default_rng([entropy, 1])
        # Single precision: rounding is far below the Monte-Carlo error of the features.
        self.frequencies = rng.standard_normal((n_features, max(n_components // 2, 1))).astype("f4")
        self.scales = np.sqrt(2 * gammas)

    def __call__(self, X: Any, which: Sequence[int]) -> list[NDArray[Any]]:
        angle = X.astype("f4", copy=False) @ self.frequencies
        half = angle.shape[1]
        maps = []
        for scale in self.scales[which]:
            features = np.empty((angle.shape[0], 2 * half), dtype="f4")
            np.multiply(angle, np.float32(scale), out=features[:, :half])
            np.sin(features[:, :half], out=features[:, half:])
            np.cos(features[:, :half], out=features[:, :half])
            features /= np.float32(np.sqrt(half))
            maps.append(features)
        return maps


class NystroemFeatures:
    """Kernel values at landmarks drawn from the instances, made orthonormal."""

    def __init__(
        self, X: Any, gammas: NDArray[np.float64], n_components: int, rng: np.random.Generator
    ) -> None:
        rows = rng.choice(X.shape[0], min(n_components, X.shape[0]), replace=False)
        self.landmarks = X[np.sort(rows)]
        self.norms = _squared_lengths(self.landmarks)
        self.gammas = gammas
        everything = range(len(gammas))
        self.roots = [_inverse_root(k) for k in self._kernels(self.landmarks, everything)]

    def _kernels(self, X: Any, which: Sequence[int]) -> list[NDArray[Any]]:
        distance = _product(X, self.landmarks)
        distance = _squared_lengths(X)[:, None] + self.norms - 2 * distance
        np.maximum(distance, 0, out=distance)
        return [np.exp(-self.gammas[number] * distance) for number in which]

    def __call__(self, X: Any, which: Sequence[int]) -> list[NDArray[Any]]:
        kernels = self._kernels(X, which)
        return [kernel @ self.roots[n] for kernel, n in zip(kernels, which, strict=True)]


def _inverse_root(kernel: NDArray[Any]) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh(kernel.astype(np.float64))
    kept = values > 1e-8 * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept])


def feature_sums(
    features: Any,
    X: Any,
    sizes: NDArray[np.int64],
    *,
    which: Sequence[int],
    n_jobs: int | None = None,
) -> tuple[list[Any], NDArray[np.float64]]:
    """Sum features over each part.

    Parameters
    ----------
    features : callable
        The map.
    X : ndarray or CSR of shape (n_instances, n_features)
        Part after part.
    sizes : ndarray of shape (n_parts,)
    which : sequence of int
        The bandwidths wanted, by number.
    n_jobs : int, default=None
        Threads over blocks of instances.

    Returns
    -------
    sums : list of ndarray or CSR of shape (n_parts, n_components)
        One for each bandwidth.
    lengths : ndarray of shape (n_bandwidths, n_parts)
        Sums of squared feature lengths.
    """
    if isinstance(features, LinearFeatures):
        return [_part_sums(X, sizes)], _part_sums(_squared_lengths(X)[:, None], sizes).T
    ends = np.cumsum(sizes)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    blocks = [slice(i, min(i + _ROWS, int(ends[-1]))) for i in range(0, int(ends[-1]), _ROWS)]

    def work(rows: slice) -> Any:
        parts = slice(int(owner[rows.start]), int(owner[rows.stop - 1]) + 1)
        cuts = np.maximum(ends[parts] - sizes[parts] - rows.start, 0)
        maps = features(X[rows], which)
        sums = [np.add.reduceat(one, cuts, axis=0, dtype=np.float64) for one in maps]
        lengths = [
            np.add.reduceat(np.einsum("ij,ij->i", one, one), cuts, dtype=np.float64) for one in maps
        ]
        return parts, sums, lengths

    total: list[Any] = []
    squared = np.empty(0)
    done = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
        delayed(work)(rows) for rows in blocks
    )
    for parts, sums, lengths in done:
        if not total:
            total = [np.zeros((len(sizes), one.shape[1])) for one in sums]
            squared = np.zeros((len(sums), len(sizes)))
        for number, one in enumerate(sums):
            total[number][parts] += one
            squared[number, parts] += lengths[number]
    return total, squared


def _part_sums(X: Any, sizes: NDArray[np.int64]) -> Any:
    if not sparse.issparse(X):
        return np.add.reduceat(X, np.cumsum(sizes) - sizes, axis=0, dtype=np.float64)
    columns = np.arange(int(sizes.sum()))
    where = (np.repeat(np.arange(len(sizes)), sizes), columns)
    member = sparse.csr_array((np.ones(len(columns)), where), shape=(len(sizes), len(columns)))
    return sparse.csr_array(member @ X)
