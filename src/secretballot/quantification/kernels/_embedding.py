"""Sums over parts of bags with all their inner products, by exact kernels or by features."""

from __future__ import annotations

from functools import partial

import numpy as np

from secretballot.quantification._bag_input import stack_bags
from secretballot.quantification._bag_types import Floats, Integers, Matrix
from secretballot.quantification.kernels._bag_gram import PartSums, PartWeights
from secretballot.quantification.kernels._feature_maps import KernelFeatures
from secretballot.quantification.kernels._kernel_sums import inner_products, kernel_sums
from secretballot.quantification.kernels._sub_bags import SubBags


class KernelEmbedding:
    """Exact kernel sums: stores the instances, and takes time quadratic in their number."""

    def __init__(
        self,
        bags: list[Matrix],
        parts: SubBags,
        gammas: Floats,
        block_size: int,
        n_jobs: int | None,
    ) -> None:
        self.X, self.parts, self.gammas = stack_bags(bags), parts, gammas
        self._kernel_sums = partial(kernel_sums, block_size=block_size, n_jobs=n_jobs)
        self._grams = self._kernel_sums(self.X, parts.sizes, gammas)

    def sums(self) -> list[PartSums]:
        """Return the sums over parts at each bandwidth."""
        return [_sums_of_gram(gram, None, self.parts) for gram in self._grams]

    def cross(self, number: int, bags: list[Matrix], parts: SubBags) -> Floats:
        """Return kernel sums with the parts of other bags, shape (n_parts, n_other_parts)."""
        gamma = self.gammas[number : number + 1]
        return self._kernel_sums(self.X, self.parts.sizes, gamma, stack_bags(bags), parts.sizes)[0]

    def within(self, number: int, bags: list[Matrix], parts: SubBags) -> list[PartSums]:
        """Return the sums over the parts of other bags, for each bag on its own."""
        gamma = self.gammas[number : number + 1]
        return [
            _sums_of_gram(self._kernel_sums(bag, sizes, gamma)[0], None, _one_bag(sizes))
            for bag, sizes in zip(bags, parts.split(parts.sizes), strict=True)
        ]


class FeatureEmbedding:
    """Sums of explicit features: forgets the instances, and takes time linear in their number."""

    def __init__(self, features: KernelFeatures, n_gammas: int, n_jobs: int | None) -> None:
        self.features, self.n_gammas, self.n_jobs = features, n_gammas, n_jobs
        self.parts: SubBags | None = None
        self._sums: list[Matrix] = []
        self._lengths = np.empty((0, 0))

    def add(self, bags: list[Matrix], parts: SubBags) -> None:
        """Add further bags."""
        numbers = range(self.n_gammas)
        sums, lengths = self.features.sums(stack_bags(bags), parts.sizes, numbers, self.n_jobs)
        if self.parts is None:
            self.parts, self._sums, self._lengths = parts, sums, lengths
            return
        self.parts = self.parts.join(parts)
        self._sums = [stack_bags(pair) for pair in zip(self._sums, sums, strict=True)]
        self._lengths = np.concatenate([self._lengths, lengths], axis=1)

    def sums(self) -> list[PartSums]:
        """Return the sums over parts at each bandwidth."""
        assert self.parts is not None
        # There may be many parts: their own Gram matrix is never made.
        return [
            PartSums(partial(_feature_products, sums), lengths, self.parts)
            for sums, lengths in zip(self._sums, self._lengths, strict=True)
        ]

    def cross(self, number: int, bags: list[Matrix], parts: SubBags) -> Floats:
        """Return inner products with the sums of other bags' parts."""
        sums, _ = self.features.sums(stack_bags(bags), parts.sizes, [number], self.n_jobs)
        return inner_products(self._sums[number], sums[0])

    def within(self, number: int, bags: list[Matrix], parts: SubBags) -> list[PartSums]:
        """Return the sums over the parts of other bags, for each bag on its own."""
        (sums,), (lengths,) = self.features.sums(
            stack_bags(bags), parts.sizes, [number], self.n_jobs
        )
        rows = parts.split(np.arange(len(parts.bag)))
        return [
            _sums_of_gram(
                inner_products(sums[bag], sums[bag]), lengths[bag], _one_bag(parts.sizes[bag])
            )
            for bag in rows
        ]


def _one_bag(sizes: Integers) -> SubBags:
    return SubBags(sizes, np.zeros(len(sizes), dtype=np.int64))


def _sums_of_gram(gram: Floats, lengths: Floats | None, parts: SubBags) -> PartSums:
    """Return part sums with these inner products; without lengths, instances have length 1."""
    lengths = parts.sizes.astype(float) if lengths is None else lengths
    return PartSums(partial(_gram_products, gram), lengths, parts)


def _gram_products(gram: Floats, left: PartWeights, right: PartWeights | None) -> Floats:
    """Compute inner products of weighted sums; without `right`, with each part."""
    products = left @ gram
    return np.asarray(products if right is None else products @ right.T)


def _feature_products(sums: Matrix, left: PartWeights, right: PartWeights | None) -> Floats:
    return inner_products(left @ sums, sums if right is None else right @ sums)
