"""Explicit features of a kernel, whose sums over parts take time linear in the instances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms

from secretballot.quantification._bag_types import Floats, Integers, Matrix
from secretballot.quantification.kernels._kernel_sums import (
    kernel_values,
    row_blocks,
    squared_distances,
)

_BLOCK_ROWS = 1024
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
        first = self.transform(X[:_BLOCK_ROWS], [number])[0]
        table = np.empty((X.shape[0], first.shape[1]), dtype="f4")
        table[:_BLOCK_ROWS] = first
        for start in range(_BLOCK_ROWS, X.shape[0], _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
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

        blocks = row_blocks(sizes, _BLOCK_ROWS)
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
