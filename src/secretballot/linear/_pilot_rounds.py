"""Number of rounds after which additive and kernel features are compared."""

from __future__ import annotations

import math

from secretballot._base._sklearn_compat import _num_samples
from secretballot.linear._fit_size import FitSize
from secretballot.linear.features import FEW_PUBLIC_ROWS, AdditiveBins, FeatureMap
from secretballot.linear.input import FitInput

#: Share of all rounds that either features have before they are compared for the last time.
_PILOT_SHARE = 0.15
#: Largest noise of a comparison, as a share of the private rows.
_MOST_ERROR = 0.12


def count_pilot_rounds(features: object, data: FitInput, bins: FeatureMap, size: FitSize) -> int:
    """Count the rounds with kernel features beside additive ones; 0 if they are not compared.

    The count follows from public numbers alone.

    Parameters
    ----------
    features : object
        Parameter of the estimator.
    data : FitInput
    bins : FeatureMap
        The additive features.
    size : FitSize
    """
    if features != "auto" or not data.response.has_rival or not isinstance(bins, AdditiveBins):
        return 0
    if data.X_public is None or _num_samples(data.X_public) < FEW_PUBLIC_ROWS:
        return 0
    n_categories = sum(column.other_code is not None for column in bins.columns)
    n_pilot = round(_PILOT_SHARE * (1 + size.n_rounds))
    # A comparison is paid like a round, and moves by 2 as the mechanism of a whole fit does.
    noise = size.whole_fit.sigma * math.sqrt(1 + size.n_rounds + n_pilot)
    if 2 * n_categories > len(bins.columns) or noise > _MOST_ERROR * data.total:
        return 0
    return n_pilot
