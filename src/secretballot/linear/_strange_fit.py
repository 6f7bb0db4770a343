"""Signs, in what was released, of public rows that say nothing of the private ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secretballot._errors import warn
from secretballot.linear._additive_bins import AdditiveBins, Categories
from secretballot.linear._design import Floats
from secretballot.linear._posterior import Belief

#: Residuals are large from so many times their noise on, in squares, and explained if less than
#: this share of the first is left.
_LARGE, _EXPLAINED = 10.0, 0.8
#: Standard deviations that noise hardly reaches.
_CLEAR = 6.0


def warn_strange_fit(
    belief: Belief, features: Any, residuals: Sequence[Floats], sigma: float
) -> None:
    """Warn of a fit that learned nothing. It looks at released numbers alone, so it is free.

    Parameters
    ----------
    belief : Belief
    features : AdditiveBins or DenseFeatures
    residuals : sequence of ndarray of shape (n_features, n_columns)
        Released sums of residuals, round by round.
    sigma : float
        Noise on each number.
    """
    signs = []
    if not belief.coefficients[1:].any():
        signs.append("all coefficients are 0, so that all rows are predicted alike")
    if isinstance(features, AdditiveBins) and residuals:
        absent = _absent_columns(features, residuals[0], sigma)
        if absent:
            signs.append(f"no public category of {', '.join(absent)} occurs in private rows")
    energies = [float((each**2).sum()) for each in residuals]
    if len(energies) > 1:
        noise = residuals[0].size * sigma**2
        if energies[-1] > max(_LARGE * noise, _EXPLAINED * energies[0]):
            signs.append(
                f"the last residual is {energies[-1] / energies[0]:.2g} times the first (in "
                "squares), so the model explains next to nothing of the private rows"
            )
    if signs:
        warn(
            f"{'; '.join(signs)}. Do the public rows (or bounds and categories) have the units and "
            "codes of the private rows? This follows from what was released, and the budget is "
            "spent."
        )


def _absent_columns(features: AdditiveBins, sums: Floats, sigma: float) -> list[str]:
    """Return columns whose known categories sum up to noise while all others do not."""
    absent = []
    for column, first, end in zip(
        features.columns, features.ends[:-1], features.ends[1:], strict=True
    ):
        if not isinstance(column, Categories) or end - first < 2:
            continue
        known, others = sums[first : end - 1] / sigma, sums[end - 1] / sigma
        noise = known.size + _CLEAR * np.sqrt(2 * known.size)
        if np.abs(others).max() > 2 * _CLEAR and (known**2).sum() < noise:
            absent.append(repr(column.name))
    return absent
