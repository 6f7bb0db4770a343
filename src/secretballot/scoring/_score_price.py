"""What a score costs, and how exact it will be, before anything is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from secretballot._numbers import check_integer, check_number
from secretballot._tables import percent
from secretballot._views import Bar, Prose, Shown, Table, View
from secretballot.mechanisms import NoisyCounts
from secretballot.scoring._intervals import of_population

#: The noise without a wish, in standard deviations of an even chance: it widens an interval for the
#: population by an eighth.
_BESIDE_SAMPLING = 0.5


@dataclass(frozen=True, kw_only=True)
class ScorePrice(Shown):
    """What a score on private rows would cost.

    Attributes
    ----------
    sigma : float
        Standard deviation of the noise on each count.
    share : float or dict of str to float
        Which share of the whole budget it takes, per level if epsilon is per level.
    half_width : float
        How far the interval of the accuracy will reach to either side at most (it does at an
        accuracy of a half).
    level : float
        Of that interval.
    """

    sigma: float
    share: float | dict[str, float]
    half_width: float
    level: float

    def _view(self) -> View:
        shares = self.share if isinstance(self.share, dict) else {"everyone": self.share}
        rows = [
            (level, Bar.of(each, "of the budget"), percent(each)) for level, each in shares.items()
        ]
        width = f"+-{self.half_width:.1%} at {self.level:.0%}, noise {self.sigma:.3g} on each count"
        table = Table(("level", "", "of the budget"), rows)
        return View("ScorePrice", (table, Prose.of(width, quiet=True)))


@dataclass(frozen=True)
class Noise:
    """What counts are released with."""

    mechanism: NoisyCounts
    n_columns: int
    scope: Any

    @classmethod
    def of(
        cls, accountant: Any, n: int, n_columns: int, epsilon: Any, sigma: Any, level: Any
    ) -> Noise:
        """Return the noise that was asked for, by a sigma or by what it may cost."""
        check_number("level", level, above=0, below=1)
        if epsilon is not None and sigma is not None:
            raise ValueError(
                f"epsilon={epsilon!r} and sigma={sigma!r}: give one of them, the most that this "
                "may cost or how much noise there is; or neither."
            )
        scope = accountant.scope(epsilon)
        if epsilon is not None:
            made = accountant.calibrate(NoisyCounts, 1, n_columns=n_columns, scope=scope)
            return cls(made, n_columns, scope)
        if sigma is None:
            sigma = _BESIDE_SAMPLING * math.sqrt(n) / 2
        return cls(NoisyCounts(sigma=float(sigma)), n_columns, scope)

    def price(self, accountant: Any, n: int, level: float) -> ScorePrice:
        """Return what it costs."""
        # A trace is a sum of as many cells as there are classes.
        noise = self.mechanism.sigma * self.n_columns**0.25
        low, high = of_population(n / 2, n, noise, level)
        return ScorePrice(
            sigma=self.mechanism.sigma,
            share=accountant.price(self.mechanism, n_columns=self.n_columns, scope=self.scope),
            half_width=(high - low) / 2,
            level=level,
        )


def price_score(
    accountant: Any,
    n: int,
    *,
    n_classes: int | None = None,
    epsilon: float | dict[str, float] | None = None,
    sigma: float | None = None,
    level: float = 0.95,
) -> ScorePrice:
    """Return what `score_private` or `confusion_private` would cost. Nothing is spent.

    Parameters
    ----------
    accountant : PrivacyAccountant
        The budget of the private rows.
    n : int
        How many rows, or owners, will be counted.
    n_classes : int, default=None
        Of a confusion matrix; None: for the accuracy alone.
    epsilon, sigma, level
        As for `score_private`.

    Returns
    -------
    ScorePrice

    Raises
    ------
    BudgetExceededError
        If it doesn't fit what is left.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.scoring import price_score
    >>> price = price_score(PrivacyAccountant(epsilon=1, delta=1e-5), 9_000)
    >>> f"{price.share:.1%} of the budget, +-{price.half_width:.1%}"
    '2.5% of the budget, +-1.2%'
    """
    check_integer("n", n)
    if n_classes is not None:
        check_integer("n_classes", n_classes, least=2)
    n_columns = 1 if n_classes is None else n_classes**2
    return Noise.of(accountant, n, n_columns, epsilon, sigma, level).price(accountant, n, level)
