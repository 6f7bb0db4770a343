"""Sums over parts of bags that give all their inner products: exact kernel, or features."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from secretballot.quantification._bag_input import stack
from secretballot.quantification.kernels._bag_gram import PartSums
from secretballot.quantification.kernels._feature_maps import (
    FourierFeatures,
    LinearFeatures,
    NystroemFeatures,
    feature_sums,
)
from secretballot.quantification.kernels._kernel_sums import kernel_sums
from secretballot.quantification.kernels._sub_bags import SubBags


class KernelEmbedding:
    """Exact kernel sums: keeps the instances, and takes time quadratic in them."""

    def __init__(
        self,
        bags: list[Any],
        parts: SubBags,
        gammas: NDArray[np.float64],
        block: int,
        n_jobs: int | None,
    ) -> None:
        self.X, self.parts, self.gammas = stack(bags), parts, gammas
        self.block, self.n_jobs = block, n_jobs
        self._grams = kernel_sums(self.X, parts.sizes, gammas, block=block, n_jobs=n_jobs)

    def sums(self) -> list[PartSums]:
        """Return the sums over parts at each bandwidth."""
        lengths = self.parts.sizes.astype(float)  # every instance's similarity to itself is 1
        return [
            PartSums(partial(self._products, number), lengths, self.parts)
            for number in range(len(self.gammas))
        ]

    def _products(self, number: int, left: Any, right: Any) -> NDArray[np.float64]:
        return _products(self._grams[number], left, right)

    def cross(self, number: int, bags: list[Any], parts: SubBags) -> NDArray[np.float64]:
        """Return kernel sums with the parts of other bags, shape (n_parts, n_other_parts)."""
        gamma = self.gammas[number : number + 1]
        sums = kernel_sums(
            self.X,
            self.parts.sizes,
            gamma,
            stack(bags),
            parts.sizes,
            block=self.block,
            n_jobs=self.n_jobs,
        )
        return sums[0]

    def within(self, number: int, bags: list[Any], parts: SubBags) -> list[PartSums]:
        """Return the sums over the parts of other bags, each bag by itself."""
        gamma, found = self.gammas[number : number + 1], []
        for bag, sizes in zip(bags, _by_bag(parts), strict=True):
            own = kernel_sums(bag, sizes, gamma, block=self.block, n_jobs=self.n_jobs)[0]
            found.append(_alone(own, sizes.astype(float), sizes))
        return found


class FeatureEmbedding:
    """Sums of explicit features: forgets the instances, and takes time linear in them.

    Further bags can be added.
    """

    def __init__(self, features: Any, n_gammas: int, n_jobs: int | None) -> None:
        self.features, self.n_gammas, self.n_jobs = features, n_gammas, n_jobs
        self.parts: SubBags | None = None
        self._sums: list[Any] = []
        self._lengths = np.empty((0, 0))

    def add(self, bags: list[Any], parts: SubBags) -> None:
        """Take further bags in."""
        sums, lengths = feature_sums(
            self.features,
            stack(bags),
            parts.sizes,
            which=range(self.n_gammas),
            n_jobs=self.n_jobs,
        )
        if self.parts is None:
            self.parts, self._sums, self._lengths = parts, sums, lengths
            return
        self.parts = self.parts.join(parts)
        self._sums = [_under(old, new) for old, new in zip(self._sums, sums, strict=True)]
        self._lengths = np.concatenate([self._lengths, lengths], axis=1)

    def sums(self) -> list[PartSums]:
        """Return the sums over parts at each bandwidth."""
        assert self.parts is not None
        return [
            PartSums(partial(self._products, number), lengths, self.parts)
            for number, lengths in enumerate(self._lengths)
        ]

    def _products(self, number: int, left: Any, right: Any) -> NDArray[np.float64]:
        # There may be many parts: their own Gram matrix is never made.
        sums = self._sums[number]
        return _inner(left @ sums, sums if right is None else right @ sums)

    def cross(self, number: int, bags: list[Any], parts: SubBags) -> NDArray[np.float64]:
        """Return inner products with the sums of other bags' parts."""
        sums, _ = feature_sums(
            self.features, stack(bags), parts.sizes, which=[number], n_jobs=self.n_jobs
        )
        return _inner(self._sums[number], sums[0])

    def within(self, number: int, bags: list[Any], parts: SubBags) -> list[PartSums]:
        """Return the sums over the parts of other bags, each bag by itself."""
        sums, lengths = feature_sums(
            self.features, stack(bags), parts.sizes, which=[number], n_jobs=self.n_jobs
        )
        ends = np.cumsum(parts.n_parts)
        return [
            _alone(_inner(rows, rows), lengths[0, end - len(sizes) : end], sizes)
            for sizes, end in zip(_by_bag(parts), ends, strict=True)
            for rows in (sums[0][end - len(sizes) : end],)
        ]


def _by_bag(parts: SubBags) -> list[NDArray[np.int64]]:
    return np.split(parts.sizes, np.cumsum(parts.n_parts)[:-1])


def _alone(own: Any, lengths: NDArray[np.float64], sizes: NDArray[np.int64]) -> PartSums:
    """Return the sums of one bag, known by their inner products."""
    return PartSums(
        partial(_products, own), lengths, SubBags(sizes, np.zeros(len(sizes), dtype=np.int64))
    )


def explicit_features(
    kind: str | None,
    X: Any,
    gammas: NDArray[np.float64],
    n_components: int,
    entropy: int,
) -> Any:
    """Return the map to explicit features; kind None is the linear kernel's."""
    if kind is None:
        return LinearFeatures()
    if kind == "rff":
        return FourierFeatures(X.shape[1], gammas, n_components, entropy)
    return NystroemFeatures(X, gammas, n_components, np.random.default_rng([entropy, 2]))


def _products(own: Any, left: Any, right: Any) -> NDArray[np.float64]:
    inner = left @ own
    return np.asarray(inner if right is None else inner @ right.T)


def _under(old: Any, new: Any) -> Any:
    return sparse.vstack([old, new], format="csr") if sparse.issparse(old) else np.r_[old, new]


def _inner(left: Any, right: Any) -> NDArray[np.float64]:
    product = left @ right.T
    return product.toarray() if sparse.issparse(product) else product
