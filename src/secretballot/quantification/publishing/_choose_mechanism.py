"""Which mechanism distorts proportions least, from public parameters alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from secretballot.mechanisms import (
    DirichletProportions,
    GaussianProportions,
    LaplacePriorProportions,
    LaplaceProportions,
    Proportions,
)


class Task:
    """What is public about a release: privacy, bag sizes, classes and what is promised."""

    def __init__(
        self,
        epsilon: float,
        delta: float,
        sizes: NDArray[np.int64],
        n_classes: int,
        min_count: int,
        pseudo_count: Any,
    ) -> None:
        self.epsilon, self.delta = epsilon, delta
        self.sizes, self.n_classes = sizes, n_classes
        self.min_count, self.pseudo_count = min_count, pseudo_count

    def distortion(self, mechanism: Proportions) -> NDArray[np.float64]:
        """Return each bag's expected L1 distortion."""
        sizes, inverse = np.unique(self.sizes, return_inverse=True)
        each = [
            mechanism.expected_distortion(int(m), self.n_classes, min_count=self.min_count)
            for m in sizes
        ]
        return np.array(each)[inverse]

    def dirichlet(self) -> DirichletProportions:
        """Return the calibrated Dirichlet mechanism, with the pseudo-count that distorts least."""

        def make(pseudo_count: float) -> DirichletProportions:
            return DirichletProportions.calibrated(
                self.epsilon, self.delta, pseudo_count=pseudo_count, min_count=self.min_count
            )

        if self.pseudo_count != "auto":
            return make(self.pseudo_count)

        def distortion(log_pseudo_count: float) -> float:
            return float(self.distortion(make(float(np.exp(log_pseudo_count)))).mean())

        found = minimize_scalar(
            distortion,
            bounds=(np.log(1e-2), np.log(1e3)),
            method="bounded",
            options={"xatol": 0.02},
        )
        some = make(float(np.exp(found.x)))
        try:
            none = make(0.0)
        except ValueError:  # nothing, or too little, is promised
            return some
        return none if self.distortion(none).mean() <= found.fun else some

    def named(self, name: str) -> Proportions:
        """Return the calibrated mechanism of that name."""
        if name == "dirichlet":
            return self.dirichlet()
        kind = {
            "gaussian": GaussianProportions,
            "laplace": LaplaceProportions,
            "laplace_prior": LaplacePriorProportions,
        }[name]
        return kind.calibrated(self.epsilon, self.delta, n_classes=self.n_classes)

    def best(self) -> Proportions:
        """Return the mechanism with the least expected distortion over all bags."""
        # Without a delta only Laplace noise is private.
        names = NAMES if self.delta > 0 else ("laplace", "laplace_prior")
        return min(map(self.named, names), key=lambda made: self.distortion(made).mean())


NAMES = ("gaussian", "laplace", "laplace_prior", "dirichlet")
