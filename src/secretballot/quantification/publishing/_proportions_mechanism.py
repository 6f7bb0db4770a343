"""Choice and calibration of a mechanism for label proportions, from public parameters alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from secretballot.mechanisms._proportions import (
    DirichletProportions,
    GaussianProportions,
    LaplacePriorProportions,
    LaplaceProportions,
    Proportions,
)
from secretballot.quantification._bag_types import Floats, Integers

_CLASSES: dict[str, type[GaussianProportions] | type[LaplaceProportions]] = {
    "gaussian": GaussianProportions,
    "laplace": LaplaceProportions,
    "laplace_prior": LaplacePriorProportions,
}
MECHANISM_NAMES = (*_CLASSES, "dirichlet")


class PublicParameters(NamedTuple):
    """Public parameters of a release."""

    epsilon: float
    delta: float
    sizes: Integers
    n_classes: int
    min_count: int  # promised
    pseudo_count: float | Literal["auto"]

    def distortion(self, mechanism: Proportions) -> Floats:
        """Return each bag's expected L1 distortion."""
        sizes, inverse = np.unique(self.sizes, return_inverse=True)
        by_size = [
            mechanism.expected_distortion(int(size), self.n_classes, min_count=self.min_count)
            for size in sizes
        ]
        return np.array(by_size)[inverse]

    def calibrate(self, name: str) -> Proportions:
        if name == "dirichlet":
            return self._calibrate_dirichlet()
        return _CLASSES[name].calibrated(self.epsilon, self.delta, n_classes=self.n_classes)

    def least_distorting(
        self, is_affordable: Callable[[Proportions], bool] = lambda _: True
    ) -> Proportions:
        """Return the affordable mechanism with the least expected distortion over all bags."""
        # Without a delta only Laplace noise is private.
        names = MECHANISM_NAMES if self.delta > 0 else ("laplace", "laplace_prior")
        mechanisms = [self.calibrate(name) for name in names]
        return min(
            filter(is_affordable, mechanisms),
            key=lambda mechanism: self.distortion(mechanism).mean(),
            default=mechanisms[0],
        )

    def _calibrate_dirichlet(self) -> DirichletProportions:
        """Return the Dirichlet mechanism with the pseudo-count that distorts least."""

        def calibrated(pseudo_count: float) -> DirichletProportions:
            return DirichletProportions.calibrated(
                self.epsilon, self.delta, pseudo_count=pseudo_count, min_count=self.min_count
            )

        if self.pseudo_count != "auto":
            return calibrated(self.pseudo_count)

        def distortion(log_pseudo_count: float) -> float:
            return float(self.distortion(calibrated(float(np.exp(log_pseudo_count)))).mean())

        minimum = minimize_scalar(
            distortion,
            bounds=(np.log(1e-2), np.log(1e3)),
            method="bounded",
            options={"xatol": 0.02},
        )
        with_pseudo_count = calibrated(float(np.exp(minimum.x)))
        try:
            without = calibrated(0.0)
        except ValueError:  # the promise is missing or too small
            return with_pseudo_count
        return without if self.distortion(without).mean() <= minimum.fun else with_pseudo_count
