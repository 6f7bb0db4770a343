"""Base class of mechanisms for label proportions: bags in parallel, a public grid."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._numbers import check_integer
from secretballot.costs._cost import HasGaussianCost, RenyiCost
from secretballot.costs._groups import EVERYONE
from secretballot.costs._law import Law, Step
from secretballot.costs._orders import Floats
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._proportion_moves import ProportionsMove

#: Number of draws that an expected distortion is averaged over.
_N_DRAWS = 2000


@dataclass(frozen=True, kw_only=True)
class Proportions(Mechanism):
    """Base class: label counts of bags, shape (n_bags, n_classes), become noisy proportions.

    One label of one bag is protected. The bags' members, and so their sizes, are public. Bags are
    disjoint people: a release costs as much as its dearest bag.

    Parameters
    ----------
    epsilon : float, default=None
        Charge the pair of this epsilon and the least delta at it, for budgets at order infinity.
        None: charge the Renyi curve.
    resolution : int, default=2**20
        Proportions are multiples of ``1 / resolution``, so that the last digits of a float don't
        reveal the counts.
    """

    rows: ClassVar[str] = "parallel"

    epsilon: float | None = field(default=None)
    resolution: int = field(default=2**20)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("resolution", self.resolution, most=2**40)

    @abstractmethod
    def move(self, n_columns: int | None = None) -> ProportionsMove:
        """Return the noisy move of one bag."""

    def priced(self, n_columns: int | None = None) -> HasGaussianCost:
        """Return the price of one bag in a Gaussian budget."""
        return self.move(n_columns).priced()

    @abstractmethod
    def _draw(self, counts: Floats, rng: np.random.Generator) -> Floats:
        """Draw proportions, not yet on the grid."""

    @abstractmethod
    def covariance(self, proportions: ArrayLike, sizes: ArrayLike) -> Floats:
        """Estimate each bag's noise covariance at its released proportions.

        Parameters
        ----------
        proportions : array-like of shape (n_bags, n_classes)
        sizes : array-like of shape (n_bags,)

        Returns
        -------
        ndarray of shape (n_bags, n_classes, n_classes)
            Singular: proportions sum to 1. The projection of negative proportions to 0 is ignored.
        """

    def expected_distortion(self, size: int, n_classes: int, *, min_count: int = 0) -> float:
        """Compute the expected L1 distance between released and true proportions of a bag.

        Of `size` labels, without data: the larger distance of two cases, all classes alike, and
        all but one at `min_count`.
        """
        rng = np.random.default_rng(0)
        return max(
            float(np.abs(self._draw(np.tile(case, (_N_DRAWS, 1)), rng) - case / size).sum(1).mean())
            for case in public_cases(size, n_classes, min_count)
        )

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return whole label counts of shape (n_bags, n_classes), or raise `ValueError`."""
        checked = super().check_counts(counts)
        if checked.shape[1] < 2:
            raise ValueError(f"counts has shape {checked.shape}; proportions need two classes.")
        if (checked != np.floor(checked)).any():
            raise ValueError("counts must be whole numbers of labels.")
        empty = np.flatnonzero(checked.sum(axis=1) == 0)
        if empty.size:
            raise ValueError(f"bag {empty[0]} is empty; leave it out, it has no proportions.")
        return checked

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> Floats:
        """Draw the proportions of each bag, shape (n_bags, n_classes); rows sum to 1."""
        return on_grid(self._draw(counts, rng), self.resolution)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the one move of a bag, for everyone's label."""
        return {EVERYONE: (Step("proportions", self.move(n_columns)),)}

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the counts, on which the exact cost may depend."""
        return {"proportions": counts}

    def max_cost(
        self,
        n_columns: int | None = None,
        counts: ArrayLike | None = None,
        *,
        order: float | None = None,
    ) -> dict[str, RenyiCost]:
        """Compute the largest cost of a bag: see `Mechanism.max_cost`."""
        if self.epsilon is None:
            return super().max_cost(n_columns, counts, order=order)
        if counts is None:
            return {EVERYONE: _pure_cost(self.epsilon, self.move(n_columns).delta(self.epsilon))}
        return self.cost(np.asarray(counts), counts)

    def cost(
        self, outcome: ArrayLike, counts: ArrayLike | None = None, *, n_columns: int | None = None
    ) -> dict[str, RenyiCost]:
        """Compute the cost of each bag: see `Mechanism.cost`."""
        if self.epsilon is None:
            return super().cost(outcome, counts, n_columns=n_columns)
        if counts is None:
            delta = np.full(len(np.asarray(outcome)), self.move(n_columns).delta(self.epsilon))
        else:
            votes = self.check_counts(counts)
            delta = self.move(votes.shape[1]).known_delta(votes, self.epsilon)
        return {EVERYONE: _pure_cost(self.epsilon, delta)}


def _pure_cost(epsilon: float, delta: float | Floats) -> RenyiCost:
    """Return the cost of the pairs (epsilon, delta)."""
    curve = RenyiCost.from_epsilon_delta(epsilon).curve
    return RenyiCost(np.broadcast_to(curve, (*np.shape(delta), len(curve))), delta)


def public_cases(size: int, n_classes: int, min_count: int) -> list[Floats]:
    """Return the even and the skewed counts of a bag, for an expected distortion."""
    if n_classes * min_count > size:
        raise ValueError(
            f"min_count={min_count!r} for each of {n_classes} classes can't hold in a bag of "
            f"{size} labels; use at most {size // n_classes}."
        )
    skewed = np.full(n_classes, float(min_count))
    skewed[-1] = size - (n_classes - 1) * min_count
    return [np.full(n_classes, size / n_classes), skewed]


def on_simplex(values: Floats) -> Floats:
    """Project rows to the simplex: the nearest (least squares) non-negative rows of sum 1."""
    ordered = -np.sort(-values, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1
    ranks = np.arange(1, values.shape[1] + 1)
    n_positive = (ordered - excess / ranks > 0).sum(axis=1)[:, None]
    lift = np.take_along_axis(excess, n_positive - 1, axis=1) / n_positive
    return np.asarray(np.maximum(values - lift, 0.0))


def on_grid(proportions: Floats, resolution: int) -> Floats:
    """Round rows to multiples of 1/resolution that sum to 1: largest remainders go up."""
    steps = proportions * resolution
    floor = np.floor(steps)
    missing = np.rint(resolution - floor.sum(axis=1))
    ranks = np.argsort(np.argsort(floor - steps, axis=1, kind="stable"), axis=1)
    return np.asarray((floor + (ranks < missing[:, None])) / resolution)
