"""Sums over parts of bags with all their inner products, by exact kernels or by features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secretballot.quantification._bag_input import stack_bags
from secretballot.quantification._bag_types import Floats, Matrix
from secretballot.quantification.kernels._bag_gram import PartSums
from secretballot.quantification.kernels._feature_maps import KernelFeatures
from secretballot.quantification.kernels._kernel_sums import inner_products, kernel_sums
from secretballot.quantification.kernels._sub_bags import SubBags


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
