"""Choice between additive and kernel features: one release beside the rounds of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from secretballot._sklearn_compat import _num_samples
from secretballot.linear.features import FEW_PUBLIC_ROWS, AdditiveBins, FeatureMap
from secretballot.linear.input import FitInput
from secretballot.mechanisms import VectorSum

if TYPE_CHECKING:
    from secretballot.accounting import PrivacyAccountant, Scope

#: Share of all rounds after which both features are compared.
_PILOT_SHARE = 0.15
#: Largest noise of the comparison, as a share of the private rows.
_MOST_ERROR = 0.1


@dataclass(frozen=True)
class FeatureSearch:
    """Plan to compare two kinds of features by the private rows that they predict right.

    Attributes
    ----------
    n_pilot : int
        Rounds with either features before they are compared.
    mechanism : VectorSum
        Mechanism of the difference of right answers.
    """

    n_pilot: int
    mechanism: VectorSum

    #: Share of the fit's budget.
    share: ClassVar[float] = 0.03
    #: Index of the release's noise, less 1.
    NOISE_INDEX: ClassVar[int] = 2**31 + 3

    @classmethod
    def of(
        cls,
        accountant: PrivacyAccountant,
        features: object,
        data: FitInput,
        bins: FeatureMap,
        n_rounds: int,
        scope: Scope,
    ) -> FeatureSearch | None:
        """Plan the comparison; None where public numbers speak for additive features.

        Parameters
        ----------
        accountant : PrivacyAccountant
        features : object
            Parameter of the estimator.
        data : FitInput
        bins : FeatureMap
            The additive features.
        n_rounds : int
            Sums of residuals, the first among them.
        scope : Scope
        """
        if features != "auto" or not data.response.has_rival or not isinstance(bins, AdditiveBins):
            return None
        if data.X_public is None or _num_samples(data.X_public) < FEW_PUBLIC_ROWS:
            return None
        n_categories = sum(column.other_code is not None for column in bins.columns)
        n_pilot = round(_PILOT_SHARE * n_rounds)
        if 2 * n_categories > len(bins.columns) or not n_pilot:
            return None
        mechanism = accountant.calibrate(
            lambda sigma: VectorSum(sigma=sigma, weight=data.weight),
            n_rows=1,
            scope=scope,
            share=cls.share,
        )
        if mechanism.sigma > _MOST_ERROR * data.total:
            return None
        return cls(n_pilot, mechanism)
