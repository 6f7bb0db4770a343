"""Explicit features of a kernel: their sums over parts of bags cost time linear in instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse

from secretballot.quantification.kernels._kernel_sums import powers, product, squared_lengths

_ROWS = 1024
#: Rows of a part and block that are enough to say how long features are.
_LENGTHS = 128
#: Squared lengths times gamma up to which single precision has distances right to 1e-5 or so.
_SINGLE = 100.0
#: From so many instances on it is worth its rounding, which orthonormal features magnify.
_MANY = 20_000


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
        scales, waves = self.scales[which], []
        for number, scale in enumerate(scales):
            wave = np.empty((len(angle), 2 * half), dtype="f4")
            cosine, sine = wave[:, :half], wave[:, half:]
            # Bandwidths are doubled, so that every other one has double angles.
            halved = np.flatnonzero(np.isclose(2 * scales[:number], scale, rtol=1e-9, atol=0))
            if halved.size:
                old = waves[halved[0]]
                np.multiply(old[:, :half], old[:, half:], out=sine)
                sine *= 2
                np.multiply(old[:, :half], old[:, :half], out=cosine)
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

    def sums(
        self, X: Any, member: NDArray[np.float64], which: Sequence[int]
    ) -> tuple[list[NDArray[Any]], list[NDArray[np.float64]]]:
        """Return sums of features, and of their squared lengths, over the rows' parts."""
        waves = self(X, which)
        return [member.astype("f4") @ wave for wave in waves], [member.sum(axis=1)] * len(waves)


class NystroemFeatures:
    """Kernel values at landmarks drawn from the instances, made orthonormal.

    Of many instances kernel values are in single precision wherever distances can be; their
    rounding is far below the error of having few landmarks.
    """

    def __init__(
        self, X: Any, gammas: NDArray[np.float64], n_components: int, rng: np.random.Generator
    ) -> None:
        rows = rng.choice(X.shape[0], min(n_components, X.shape[0]), replace=False)
        landmarks = X[np.sort(rows)]
        # Distances don't depend on the origin; far from it, digits would cancel.
        self.centre = None if sparse.issparse(X) else landmarks.mean(axis=0, dtype=np.float64)
        self.landmarks = self._moved(landmarks)
        self.norms = squared_lengths(self.landmarks)
        self.gammas = gammas
        self.roots = [
            _inverse_root(kernel)
            for kernel in powers(_distances(self.landmarks, self.landmarks, self.norms), gammas)
        ]
        self._many = X.shape[0] >= _MANY
        self._single = [array.astype("f4") for array in (self.landmarks, self.norms)]
        self._single_roots = [root.astype("f4") for root in self.roots]

    def _moved(self, X: Any) -> Any:
        return X if self.centre is None else X - self.centre

    def _kernels(self, X: Any, which: Sequence[int]) -> Iterator[NDArray[Any]]:
        X, gammas = self._moved(X), self.gammas[list(which)]
        landmarks, norms = self.landmarks, self.norms
        longest = max(float(squared_lengths(X).max(initial=0)), float(norms.max()))
        if self._many and gammas.max() * longest < _SINGLE:
            X, (landmarks, norms) = X.astype("f4"), self._single
        # Each in place of the one before: to be used before the next is asked for.
        return powers(_distances(X, landmarks, norms), gammas)

    def _root(self, kernel: NDArray[Any], number: int) -> NDArray[Any]:
        return (self._single_roots if kernel.dtype == np.float32 else self.roots)[number]

    def __call__(self, X: Any, which: Sequence[int]) -> list[NDArray[Any]]:
        pairs = zip(self._kernels(X, which), which, strict=True)
        return [kernel @ self._root(kernel, number) for kernel, number in pairs]

    def sums(
        self, X: Any, member: NDArray[np.float64], which: Sequence[int]
    ) -> tuple[list[NDArray[Any]], list[NDArray[np.float64]]]:
        """Return sums of features, and of their squared lengths, over the rows' parts.

        Kernel values are summed before they are made orthonormal. Lengths can't be; where a part
        has many rows a few of them say how long the others are.
        """
        some = np.flatnonzero((member * np.cumsum(member, axis=1)).sum(axis=0) <= _LENGTHS)
        share = member[:, some] * (member.sum(axis=1) / member[:, some].sum(axis=1))[:, None]
        sums, lengths = [], []
        for kernel, number in zip(self._kernels(X, which), which, strict=True):
            few = kernel[some] @ self._root(kernel, number)
            sums.append((member.astype(kernel.dtype) @ kernel) @ self.roots[number])
            lengths.append(share @ np.einsum("ij,ij->i", few, few))
        return sums, lengths


def _distances(X: Any, landmarks: Any, norms: NDArray[Any]) -> NDArray[Any]:
    distance = product(X, landmarks)
    distance *= -2
    distance += squared_lengths(X)[:, None]
    distance += norms
    return np.maximum(distance, 0, out=distance)


def _inverse_root(kernel: NDArray[Any]) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh(kernel.astype(np.float64))
    kept = values > 1e-8 * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept])


def feature_table(features: Any, X: Any, number: int) -> Any:
    """Return the features of instances at one bandwidth, in single precision; their own as are.

    Parameters
    ----------
    features : callable
        The map.
    X : ndarray or CSR of shape (n_instances, n_features)
    number : int
        Of the bandwidth.

    Returns
    -------
    ndarray or CSR of shape (n_instances, n_components)
    """
    if isinstance(features, LinearFeatures):
        return X
    first = features(X[:_ROWS], [number])[0]
    table = np.empty((X.shape[0], first.shape[1]), dtype="f4")
    table[:_ROWS] = first
    for start in range(_ROWS, X.shape[0], _ROWS):  # nothing else is as long
        table[start : start + _ROWS] = features(X[start : start + _ROWS], [number])[0]
    return table


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
        return [_part_sums(X, sizes)], _part_sums(squared_lengths(X)[:, None], sizes).T
    ends = np.cumsum(sizes)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    blocks = [slice(i, min(i + _ROWS, int(ends[-1]))) for i in range(0, int(ends[-1]), _ROWS)]

    def work(rows: slice) -> Any:
        parts = slice(int(owner[rows.start]), int(owner[rows.stop - 1]) + 1)
        cuts = np.maximum(ends[parts] - sizes[parts] - rows.start, 0)
        # A product with 0 and 1: BLAS adds rows faster than a reduction does.
        member = np.repeat(np.eye(len(cuts)), np.diff(np.r_[cuts, rows.stop - rows.start]), axis=1)
        return parts, *features.sums(X[rows], member, which)

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
