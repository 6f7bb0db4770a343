"""Warnings of a fit that learned little, from released numbers alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import warn
from secretballot.linear._additive_bins import AdditiveBins
from secretballot.linear._design import FeatureMap, Features, Floats
from secretballot.linear._posterior import Posterior

#: The last residual counts as large beyond this multiple of its noise and sampling error, in
#: squares.
_LARGE_RESIDUAL = 10.0
#: The model explains the rows if less than this share of the first residual remains.
_EXPLAINED = 0.8
#: Standard deviations that noise hardly reaches.
_CLEAR_SIGNAL = 6.0
#: Share of public rows with other categories, above which sums of the public ones may be noise.
_MOST_OTHERS = 0.5
#: Public categories, or cells, hardly occur if fewer rows have one than this share of all others.
_FEW_PUBLIC = 0.1
#: An effect of this many standard errors was learned.
CLEAR_EFFECT = 4.0
#: An effect is flattened if less than this share of its range remains.
_FLAT = 0.5
#: Targets seem to lie beyond a bound if the model predicts it, nearer than this share of the range.
_NEAR = 0.025
#: Root mean square of residuals, as a share of half the range, below which they hardly vary.
_SMALL, _TINY = 0.1, 0.01


def warn_failed_fit(
    posterior: Posterior,
    features: FeatureMap,
    public: Features | None,
    residuals: Sequence[Floats],
    counts: Floats | None,
    sigma: float,
    n_rows: float,
) -> None:
    """Warn of a fit that learned nothing. Free of charge: it reads released numbers alone.

    `residuals` are released sums, round by round. Those of later features (pairs of columns) come
    last, and are not compared with the first round, which did not ask them. `n_rows` counts each
    row or owner by the square of its weight.
    """
    signs = []
    if not posterior.coefficients[1:].any():
        signs.append("all coefficients are 0, so that all rows are predicted alike")
    if isinstance(features, AdditiveBins) and counts is not None:
        absent, empty = _absent_columns(features, public, counts, sigma)
        if absent:
            signs.append(f"next to no private row has a public category of {', '.join(absent)}")
        if empty:
            signs.append(
                f"next to no private row has a cell of {', '.join(empty)} that can be read, and "
                "public rows have some"
            )
    energies = [float((residual[: len(residuals[0])] ** 2).sum()) for residual in residuals]
    if len(energies) > 1:
        # The residuals of a row have a length of at most 1: so large is the sampling error.
        noise = residuals[0].size * sigma**2 + n_rows * features.norm**2
        if energies[-1] > max(_LARGE_RESIDUAL * noise, _EXPLAINED * energies[0]):
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


def warn_flattened(
    free: Posterior, ordered: Posterior, features: AdditiveBins, directions: NDArray[np.int8]
) -> None:
    """Warn of columns with a clear effect against their direction, by released numbers alone."""
    assert free.covariance is not None
    flattened = []
    for column, place, direction in zip(
        features.columns, features.value_places, directions.tolist(), strict=True
    ):
        values = slice(1 + place.start, 1 + place.stop)
        trend = direction * np.linspace(-1.0, 1.0, place.stop - place.start)
        before, after = free.coefficients[values], ordered.coefficients[values]
        factor = free.variances[values].sum(axis=0) / free.covariance.diagonal()[values].sum()
        error = np.sqrt(factor * (trend @ free.covariance[values, values] @ trend))
        is_against = trend @ before < -CLEAR_EFFECT * error
        if (is_against & (np.ptp(after, axis=0) < _FLAT * np.ptp(before, axis=0))).any():
            flattened.append(repr(column.name))
    if flattened:
        warn(
            f"monotonic_cst: the effect of {', '.join(flattened)} clearly goes the other way, so "
            "the direction flattens it, and next to nothing is predicted from it. Does it name the "
            "right class, or sign? Reverse the direction in another fit, or leave it out. This "
            "follows from what was released, and the budget is spent."
        )


def warn_target_bounds(bounds: tuple[float, float], intercept: float, residual: float) -> bool:
    """Warn of bounds that are too narrow or far too wide for a model without any clear effect.

    Return whether they are.

    `intercept` is the released mean of the predictions, `residual` the released root mean square of
    the residuals, as a share of half the range.
    """
    low, high = bounds
    beyond = [
        name
        for name, distance in (("low", intercept - low), ("high", high - intercept))
        if distance < _NEAR * (high - low)
    ]
    remedy = "Declare bounds that most targets fill"
    if beyond and residual < _SMALL:
        reason = f"nearly all private targets seem to lie at or beyond the {beyond[0]} end"
        remedy += "; if y has two values, fit PrivateLogisticRegression"
    elif residual < _TINY:
        reason = (
            f"they are over {1 / _TINY:.0f} times as wide as the residuals, and noise is in "
            "proportion to them"
        )
    else:
        return False
    warn(
        f"target_bounds={bounds!r}: {reason}, so next to nothing was learned. Do they have the "
        f"unit of y? {remedy}. This follows from what was released, and the budget is spent."
    )
    return True


def _absent_columns(
    features: AdditiveBins, public: Features | None, counts: Floats, sigma: float
) -> tuple[list[str], list[str]]:
    """Return the columns in which few private rows have a public category, and any cell.

    Noise does not explain it. Columns in which most public rows have other categories are left out,
    and those that public rows lack as well.
    """
    absent, empty = [], []
    shares = None if public is None else np.asarray(public.sum(axis=0)).ravel() / public.shape[0]

    def are_few(people: Floats, others: float, share: float = _FEW_PUBLIC) -> bool:
        most = float(people.sum()) + _CLEAR_SIGNAL * sigma * len(people) ** 0.5
        return most < share * (others - _CLEAR_SIGNAL * sigma)

    for column, place in zip(features.columns, features.places, strict=True):
        values, missing = np.split(counts[place], [column.n_values])
        if shares is not None:
            missing_share = float(shares[place][column.n_values :].sum())
            ratio = (1 - missing_share) / max(missing_share, 0.5)
            if are_few(values, float(missing.sum()), _FEW_PUBLIC * min(ratio, 1.0)):
                empty.append(repr(column.name))
        code = column.other_code
        if not code or (shares is not None and shares[place][code] > _MOST_OTHERS):
            continue
        if are_few(values[:code], float(values[code])):
            absent.append(repr(column.name))
    return absent, empty
