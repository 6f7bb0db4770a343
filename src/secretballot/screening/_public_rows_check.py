"""Noisy bit that tells public rows that do not match the private ones, before a fit is paid for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.stats import binom

from secretballot._errors import NOT_FOR_PUBLICATION, BudgetExceededError
from secretballot._sklearn_compat import _num_samples
from secretballot.accounting import Reservation
from secretballot.mechanisms import NoisyCounts
from secretballot.scoring import People
from secretballot.screening._cells_outside import cells_outside

#: Noise on the count as a share of the people, and at most.
_NOISE, _MOST_NOISE = 0.08, 1_000.0
#: Share of what a fit may spend that the check costs at most.
_MOST_SHARE = 0.01
#: Most probable false alarm of a check that is made.
_FALSE_ALARM = 1e-3
#: What the fit leaves for rounding, beside the check.
_SPARE = 1e-6
#: Facts of a fit's note that are of its ballots, whose weights are not those of this count.
_OF_VOTES = ("people", "individualization")


@dataclass(frozen=True, kw_only=True)
class PublicRowsCheck:
    """Check of public rows against private ones: a noisy count, charged like any release.

    The count is the largest, over all columns, of the people whose cell lies outside of what public
    rows show. An owner counts the share of rows. Replacing one person changes it by 1 at most,
    however many columns there are.

    Attributes
    ----------
    n : int
        Rows, or owners.
    sigma : float or None
        Noise on the count; None where there is no check.
    share : float
        Share of what the fit may spend.
    skipped : str
        Why there is no check; empty if there is one.
    count : float or None
        The noisy count, once it is released.
    """

    n: int
    sigma: float | None = None
    share: float = 0.0
    skipped: str = ""
    count: float | None = None

    #: Count of releases that its noise is keyed by where it is seeded: no other has so large a one.
    NOISE: ClassVar[int] = 2**31

    @classmethod
    def of(cls, estimator: Any, n: int, X_public: Any, scope: Any) -> PublicRowsCheck:
        """Return the check of a fit, not yet made: its noise and its price, from public numbers.

        Parameters
        ----------
        estimator : PrivateTeacherEnsemble or PrivateLogisticRegression
        n : int
            Rows, or owners.
        X_public : table
        scope : Scope
            The fit's part of the run.
        """
        if not estimator.check_public_rows:
            return cls(n=n, skipped="check_public_rows=False")
        if isinstance(getattr(estimator, "reservation", None), Reservation):
            return cls(n=n, skipped="all releases are drawn from a reservation")
        n_public, n_columns = (
            _num_samples(X_public),
            math.prod(getattr(X_public, "shape", (0,))[1:]),
        )
        if n_columns * _false_alarm(n_public) > _FALSE_ALARM:
            return cls(n=n, skipped=f"{n_public} public rows show too little of what there is")
        sigma = min(_NOISE * n, _MOST_NOISE)
        share = _share(estimator.accountant, NoisyCounts(sigma=sigma), scope)
        if share > _MOST_SHARE:
            return cls(n=n, skipped=f"it would cost more than {_MOST_SHARE:.0%} of the fit")
        return cls(n=n, sigma=sigma, share=share)

    @property
    def rest(self) -> float:
        """Part of what the fit may spend that is left to the fit."""
        return 1.0 if self.sigma is None else (1 - self.share) * (1 - _SPARE)

    def made(
        self,
        estimator: Any,
        X: Any,
        X_public: Any,
        owners: Any,
        *,
        scope: Any,
        random_state: Any,
        note: Mapping[str, Any],
    ) -> PublicRowsCheck:
        """Release the count, and refuse public rows that most people lie outside of.

        Raises
        ------
        ValueError
            If the noisy count is more than half of the people. What the check cost stays spent.
        """
        if self.sigma is None:
            return self
        accountant = estimator.accountant
        count, worst = 0.0, None
        people = People.of(accountant, owners, _num_samples(X))
        for name, outside in cells_outside(X, X_public, estimator.categories):
            total = float(people.total(outside.astype(np.float64)))
            if total > count:
                count, worst = total, name
        released = accountant.release(
            NoisyCounts(sigma=self.sigma),
            [[count]],
            random_state=random_state,
            scope=scope,
            note={
                **{word: each for word, each in note.items() if word not in _OF_VOTES},
                "measured": "rows outside of the public rows",
                "n_counted": self.n,
            },
        )
        noisy = float(released[0, 0])
        if noisy > self.n / 2:
            raise ValueError(
                f"X_public does not match X: about {min(max(noisy / self.n, 0), 1):.0%} of the "
                "private rows lie outside of what it shows in a column (numbers beyond its range, "
                "categories that it does not have, cells of another type). The fit would learn "
                f"next to nothing; it was not begun, and {self.share:.2g} of what it may spend was "
                "paid for this check. Give both the same units and codes, and the same steps of a "
                "Pipeline, or pass check_public_rows=False. "
                f"The column is {worst!r}. {NOT_FOR_PUBLICATION}"
            )
        return PublicRowsCheck(n=self.n, sigma=self.sigma, share=self.share, count=noisy)

    def __str__(self) -> str:
        if self.sigma is None:
            return f"public rows not checked: {self.skipped}"
        return f"public rows checked for {self.share:.2g} of the fit"


def _false_alarm(n_public: int) -> float:
    """Compute the probability that matching public rows are refused, for a column of numbers.

    New rows lie outside of the range of m others with a probability p that is drawn from the beta
    distribution (2, m - 1); it is above x as often as a binomial (m, x) is at most 1.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    line = np.clip(0.5 + _NOISE * nodes, 0, 1)
    return float(binom.cdf(1, n_public, line) @ weights / weights.sum())


def _share(accountant: Any, mechanism: NoisyCounts, scope: Any) -> float:
    """Compute a release's share of the budget of the fit; infinity if it doesn't fit."""
    try:
        one = accountant.calibrate(NoisyCounts, 1, n_columns=1, scope=scope)
        whole = accountant.price(one, n_columns=1, scope=scope)
        priced = accountant.price(mechanism, n_columns=1, scope=scope)
    except BudgetExceededError:
        return math.inf
    if not isinstance(priced, dict):
        return float(priced / whole)
    return max(priced[level] / whole[level] for level in priced if whole[level] > 0)
