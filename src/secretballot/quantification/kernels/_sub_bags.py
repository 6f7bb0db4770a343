"""Sub-bags: each bag in a few random parts, of which held-out sets and resamples are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


@dataclass(frozen=True)
class SubBags:
    """Which part of which bag is where.

    Sums over instances are kept for each part. A held-out set leaves parts out and a bootstrap
    draws parts, so that neither needs the instances again, nor more than one pass over distances.

    Attributes
    ----------
    sizes : ndarray of shape (n_parts,)
        Instances in each part.
    bag : ndarray of shape (n_parts,)
        Which bag each part is of; sorted.
    """

    sizes: NDArray[np.int64]
    bag: NDArray[np.int64]

    @property
    def n_bags(self) -> int:
        return int(self.bag[-1]) + 1

    @property
    def bag_sizes(self) -> NDArray[np.int64]:
        """Instances in each bag."""
        return np.bincount(self.bag, weights=self.sizes).astype(np.int64)

    @property
    def n_parts(self) -> NDArray[np.int64]:
        """Parts of each bag."""
        return np.bincount(self.bag)

    def weights(self, times: NDArray[Any] | None = None) -> sparse.csr_array:
        """Return the matrix that makes bag means of part sums, shape (n_bags, n_parts).

        Parameters
        ----------
        times : ndarray of shape (n_parts,), default=None
            How often each part is taken; once if None.
        """
        taken = np.ones(len(self.bag)) if times is None else np.asarray(times, dtype=float)
        count = np.bincount(self.bag, weights=taken * self.sizes)
        shape = (self.n_bags, len(self.bag))
        where = (self.bag, np.arange(len(self.bag)))
        return sparse.csr_array((taken / count[self.bag], where), shape=shape)

    def join(self, other: SubBags) -> SubBags:
        """Return these and further bags."""
        return SubBags(
            np.concatenate([self.sizes, other.sizes]),
            np.concatenate([self.bag, other.bag + self.n_bags]),
        )

    def only(self, bags: NDArray[np.intp]) -> tuple[sparse.csr_array, SubBags]:
        """Return the matrix that picks the parts of some bags, in increasing order, and these."""
        kept = np.flatnonzero(np.isin(self.bag, bags))
        number = np.searchsorted(bags, self.bag[kept])
        picked = sparse.csr_array(sparse.eye_array(len(self.bag), format="csr")[kept])
        return picked, SubBags(self.sizes[kept], number)

    def merged(self, most: int) -> tuple[sparse.csr_array, SubBags]:
        """Return the matrix that merges parts to at most so many of each bag, and these."""
        first = np.cumsum(self.n_parts) - self.n_parts
        number = self.bag * most + (np.arange(len(self.bag)) - first[self.bag]) % most
        _, number = np.unique(number, return_inverse=True)
        shape = (int(number.max()) + 1, len(number))
        into = sparse.csr_array((np.ones(len(number)), (number, np.arange(len(number)))), shape)
        bag = np.repeat(np.arange(self.n_bags), np.minimum(self.n_parts, most))
        return into, SubBags((into @ self.sizes).astype(np.int64), bag)


def cut(
    bags: Sequence[Any], n_parts: int, entropy: int, first: int = 0
) -> tuple[SubBags, list[Any]]:
    """Cut bags into parts at random.

    Parameters
    ----------
    bags : sequence of array of shape (n_instances, n_features)
    n_parts : int
        Of each bag; fewer where it has fewer instances.
    entropy : int
        Seed. A bag's cut depends on it and on the bag's number, not on the bags before it.
    first : int, default=0
        Number of the first bag.

    Returns
    -------
    parts : SubBags
    bags : list
        With rows in the order of the parts.
    """
    sizes, owner, ordered = [], [], []
    for number, bag in enumerate(bags):
        size = bag.shape[0]
        rows = np.random.default_rng([entropy, first + number]).permutation(size)
        pieces = [len(piece) for piece in np.array_split(rows, min(n_parts, size))]
        sizes += pieces
        owner += [number] * len(pieces)
        ordered.append(bag[rows])
    return SubBags(np.array(sizes), np.array(owner)), ordered
