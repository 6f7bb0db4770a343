"""Noisy check, before quantiles are paid for, that columns have values within their bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secretballot._base._errors import NOT_FOR_PUBLICATION, warn
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.ledger._budget import Scope
from secretballot.measures._number_columns import RankSums
from secretballot.mechanisms._noisy_counts import NoisyCounts
from secretballot.tables._public_rows_check import (
    MOST_BUDGET_SHARE,
    release_largest_count,
    share_after,
    share_of,
)

#: Noise on the count as a share of the people: the first that is cheap enough is taken.
_NOISE_SHARES = (0.04, 0.08)
#: Largest noise on the count.
_MOST_NOISE = 1_000.0
#: Standard deviations of the noise by which an accepted count is below the number of people.
_ERRORS = 3.0
#: Largest share of the people, by this count, without a warning.
_FEW_OUTSIDE = 0.25


@dataclass(frozen=True)
class BoundsCheck:
    """Check of declared bounds: a noisy count, charged like any release.

    The count is the largest, over all columns, of the people without a value within the bounds.
    Replacing one person changes it by 1 at most, however many columns there are.
    """

    n: int
    #: Noise on the count; None where there is no check.
    sigma: float | None
    #: Share of what the release may spend.
    share: float

    @classmethod
    def of(cls, accountant: PrivacyAccountant, n: int, scope: Scope) -> BoundsCheck:
        for noise_share in _NOISE_SHARES:
            sigma = min(noise_share * n, _MOST_NOISE)
            share = share_of(accountant, NoisyCounts(sigma=sigma), scope)
            if share <= MOST_BUDGET_SHARE:
                return cls(n, sigma, share)
        return cls(n, None, 0.0)

    @property
    def remaining_share(self) -> float:
        return share_after(self.share)

    def release_count(
        self,
        accountant: PrivacyAccountant,
        counted: RankSums,
        *,
        scope: Scope,
        random_state: int | np.random.Generator | None,
    ) -> None:
        """Release the count; ValueError, with the cost spent, if it is close to all people."""
        if self.sigma is None:
            return
        if isinstance(random_state, np.random.Generator | None):
            seed: np.random.SeedSequence | np.random.Generator | None = random_state
        else:  # another stream than that of the quantiles
            seed = np.random.SeedSequence(random_state, spawn_key=(1,))
        noisy, worst = release_largest_count(
            accountant,
            counted.n_outside,
            self.sigma,
            scope=scope,
            random_state=seed,
            note={
                "measured": f"{counted.unit}s without a value within bounds",
                "n_counted": self.n,
            },
        )
        if noisy > self.n - _ERRORS * self.sigma:
            raise ValueError(
                f"about {min(noisy / self.n, 1):.0%} of the {counted.unit}s have no value within "
                "the bounds of a column: its cells are missing, or lie outside. Quantiles would be "
                f"a bound; they were not released, and {self.share:.2g} of what they may cost was "
                "paid for this check. Declare bounds in the unit of the column, or leave it out. "
                f"The column is {worst!r}. {NOT_FOR_PUBLICATION}"
            )
        if noisy > _FEW_OUTSIDE * self.n:
            # Of several columns, only private cells tell which one it is.
            column = f"the column {worst!r}" if len(counted.n_outside) == 1 else "a column"
            warn(
                f"about {noisy / self.n:.0%} of the {counted.unit}s, by the noisy count of the "
                f"check, have no value within the bounds of {column}: its cells are missing, lie "
                "outside, or are no numbers, such as '1,234.56', or infinite. Quantiles are those "
                "of the cells that are numbers. Declare bounds in the unit of the column. If it "
                "holds texts, pass numbers, pandas.to_numeric(X[column].str.replace(',', '')); if "
                "it holds infinite numbers, X[column].clip(low, high) counts them at the bounds."
            )

    def __str__(self) -> str:
        if self.sigma is None:
            return f"bounds not checked: it would cost more than {MOST_BUDGET_SHARE:.0%}"
        return f"bounds checked for {self.share:.2g} of the cost"
