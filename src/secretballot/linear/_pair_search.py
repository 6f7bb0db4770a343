"""Search for pairs of columns: one release beside the rounds of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from secretballot.linear.features import AdditiveBins, FeatureMap
from secretballot.linear.rounds import Response
from secretballot.mechanisms._noisy_counts import VectorSum

if TYPE_CHECKING:
    from secretballot.accounting._accountant import PrivacyAccountant
    from secretballot.ledger._budget import Scope

#: Most pairs that join a model of few columns, or for each column of many, and most columns all of
#: whose pairs are asked.
_FEW_PAIRS, _PAIRS_PER_COLUMN, _MOST_COLUMNS = 6, 0.5, 100


@dataclass(frozen=True)
class PairSearch:
    """Plan to release the residuals of all pairs of columns."""

    n_pairs: int  # largest number of pairs that join the model
    mechanism: VectorSum  # mechanism of vectors as long as a round's

    #: Share of the fit's budget.
    share: ClassVar[float] = 0.05
    #: Index of the release's noise, less 1.
    NOISE_INDEX: ClassVar[int] = 2**31 + 2

    @classmethod
    def of(
        cls,
        accountant: PrivacyAccountant,
        interactions: int | str,
        response: Response,
        features: FeatureMap,
        n_rounds: int,
        *,
        signal: float,
        weight: float | dict[str, float],
        scope: Scope,
    ) -> PairSearch | None:
        """Plan the release; None if no pairs are wanted, or can be modelled."""
        if not isinstance(features, AdditiveBins):
            return None
        n_pairs = count_pairs(
            interactions, response, len(features.columns), n_rounds, signal=signal
        )
        if not n_pairs:
            return None
        mechanism = accountant.calibrate(
            lambda sigma: response.mechanism(sigma, features, weight),
            n_rows=1,
            scope=scope,
            share=cls.share,
        )
        return cls(n_pairs, mechanism)


def count_pairs(
    interactions: int | str, response: Response, n_columns: int, n_rounds: int, *, signal: float
) -> int:
    if not response.has_pairs or not n_rounds or n_columns < 2:
        return 0
    if not isinstance(interactions, str):
        return interactions
    is_clear = response.asks_pairs(signal, n_rounds) and n_columns <= _MOST_COLUMNS
    return max(_FEW_PAIRS, int(_PAIRS_PER_COLUMN * n_columns)) if is_clear else 0
