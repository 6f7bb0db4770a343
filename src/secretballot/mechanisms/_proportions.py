"""What the publishers of label proportions share: bags in parallel, a public grid."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_integer, check_number
from secretballot.divergences import EVERYONE, Floats, HasGaussianCost, Law, RenyiCost, Step
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._proportion_moves import ProportionMove

_DRAWS = 2000


@dataclass(frozen=True, kw_only=True)
class Proportions(Mechanism):
    """Base class: label counts of bags, shape (n_bags, n_classes), become noisy proportions.

    One label of one bag is protected; who is in which bag, and so every bag's size, is public.
    Bags are disjoint people: a release costs as much as its dearest bag.

    Parameters
    ----------
    epsilon : float, default=None
        Charge the pair of this epsilon and the least delta at it, for budgets at order infinity.
        None: charge the Renyi curve.
    resolution : int, default=2**20
        Proportions are multiples of ``1 / resolution``, so that no trace of the counts is left in
        the last digits of a float.
    """

    rows: ClassVar[str] = "parallel"

    epsilon: float | None = field(default=None)
    resolution: int = field(default=2**20)

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            check_number("epsilon", self.epsilon, above=0)
        check_integer("resolution", self.resolution, most=2**40)

    @abstractmethod
    def move(self, n_columns: int | None = None) -> ProportionMove:
        """Return the noisy move that one bag makes."""

    def priced(self, n_columns: int | None = None) -> HasGaussianCost:
        """Return what one bag's draw costs in a Gaussian budget: its exact profile."""
        return self.move(n_columns).priced()

    @abstractmethod
    def _draw(self, counts: Floats, rng: np.random.Generator) -> Floats:
        """Return proportions before they are put on the grid."""

    @abstractmethod
    def covariance(self, proportions: ArrayLike, sizes: ArrayLike) -> Floats:
        """Return each bag's noise covariance, estimated at its released proportions.

        Parameters
        ----------
        proportions : array-like of shape (n_bags, n_classes)
        sizes : array-like of shape (n_bags,)

        Returns
        -------
        ndarray of shape (n_bags, n_classes, n_classes)
            Singular: proportions sum to 1. What keeping them from being negative changes is left
            out.
        """

    def expected_distortion(self, size: int, n_classes: int, *, min_count: int = 0) -> float:
        """Expected L1 distance between the released and the true proportions of a bag.

        The larger of two public cases: all classes alike, and all but one at `min_count`. It
        looks at no data.

        Parameters
        ----------
        size : int
            Labels in the bag.
        n_classes : int
        min_count : int, default=0
            Least number of labels that each class is taken to have.
        """
        rng = np.random.default_rng(0)
        return max(
            float(np.abs(self._draw(np.tile(case, (_DRAWS, 1)), rng) - case / size).sum(1).mean())
            for case in public_cases(size, n_classes, min_count)
        )

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return label counts as an array of shape (n_bags, n_classes), or raise `ValueError`."""
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
        """Return the one move of a bag; whose label it is makes no difference."""
        return {EVERYONE: (Step("proportions", self.move(n_columns)),)}

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Every bag is drawn once."""
        return {"proportions": np.ones(len(outcome))}

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the counts, on which the exact cost depends."""
        return {"proportions": counts}

    def max_cost(
        self, n_columns: int | None = None, counts: Any = None, *, order: float | None = None
    ) -> dict[str, RenyiCost]:
        """Return the most a bag can cost: see `Mechanism.max_cost`."""
        if self.epsilon is None:
            return super().max_cost(n_columns, counts, order=order)
        if counts is None:
            return {EVERYONE: self._pair(self.move(n_columns).delta(self.epsilon))}
        return self.cost(np.asarray(counts), counts)

    def cost(
        self, outcome: ArrayLike, counts: Any = None, *, n_columns: int | None = None
    ) -> dict[str, RenyiCost]:
        """Return what each bag did cost: see `Mechanism.cost`."""
        if self.epsilon is None:
            return super().cost(outcome, counts, n_columns=n_columns)
        if counts is None:
            delta = np.full(len(np.asarray(outcome)), self.move(n_columns).delta(self.epsilon))
        else:
            known = self.check_counts(counts)
            delta = self.move(known.shape[1]).known_delta(known, self.epsilon)
        return {EVERYONE: self._pair(delta)}

    def _pair(self, delta: float | Floats) -> RenyiCost:
        assert self.epsilon is not None
        pure = RenyiCost.from_epsilon_delta(self.epsilon).curve
        return RenyiCost(np.broadcast_to(pure, (*np.shape(delta), len(pure))), delta)


def public_cases(size: int, n_classes: int, min_count: int) -> list[Floats]:
    """Return counts that say what a mechanism does to a bag: even ones, and skewed ones."""
    if n_classes * min_count > size:
        raise ValueError(
            f"min_count={min_count!r} for each of {n_classes} classes can't hold in a bag of "
            f"{size} labels; use at most {size // n_classes}."
        )
    skewed = np.full(n_classes, float(min_count))
    skewed[-1] = size - (n_classes - 1) * min_count
    return [np.full(n_classes, size / n_classes), skewed]


def on_simplex(values: Floats) -> Floats:
    """Return the nearest rows (least squares) that are non-negative and sum to 1."""
    ordered = -np.sort(-values, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1
    ranks = np.arange(1, values.shape[1] + 1)
    kept = (ordered - excess / ranks > 0).sum(axis=1)
    lift = np.take_along_axis(excess, kept[:, None] - 1, axis=1) / kept[:, None]
    return np.asarray(np.maximum(values - lift, 0.0))


def on_grid(proportions: Floats, resolution: int) -> Floats:
    """Round rows to multiples of 1/resolution that sum to 1: largest remainders go up."""
    steps = proportions * resolution
    floor = np.floor(steps)
    missing = np.rint(resolution - floor.sum(axis=1))
    ranks = np.argsort(np.argsort(floor - steps, axis=1, kind="stable"), axis=1)
    return np.asarray((floor + (ranks < missing[:, None])) / resolution)
