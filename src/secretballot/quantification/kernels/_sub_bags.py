"""Random parts of bags, of which held-out sets and bootstrap resamples are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from secretballot.quantification._bag_types import Floats, Integers, Matrix

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
