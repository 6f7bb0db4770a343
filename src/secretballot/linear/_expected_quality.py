"""Prospects of a fit: what noise left of models of certain tables, by the signal-to-noise ratio."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import NamedTuple

from secretballot._errors import warn
from secretballot.linear.rounds import ClassResponse, NumberResponse, Response


class Prospect(NamedTuple):
    """Quality of models between two ratios of signal to noise.

    Attributes
    ----------
    below : float
        Upper end of the ratios.
    least, most : float
        Range of the share of a score that noise left.
    loss : float
        Largest loss of accuracy; NaN for numbers.
    """

    below: float
    least: float
    most: float
    loss: float = math.nan


#: Measured by benchmarks/equal_epsilon/noise_loss.py: (AUC - .5) on Adult, Bank and Credit as a
#: share of that without noise, and the R^2 of ages in Adult and credit limits.
_CLASSES = (
    Prospect(30.0, 0.28, 0.70, 0.111),
    Prospect(100.0, 0.62, 0.99, 0.058),
    Prospect(400.0, 0.88, 1.0, 0.026),
    Prospect(math.inf, 0.97, 1.0, 0.007),
)
_NUMBERS = (
    Prospect(100.0, -2.8, 0.64),
    Prospect(400.0, 0.80, 0.88),
    Prospect(math.inf, 0.91, 0.92),
)

#: A fit is warned of where models kept less than this share.
_LITTLE = 0.5


def expected_quality(signal: float, response: Response) -> str:
    """Describe what models of certain tables kept at such a ratio; "" where none was measured."""
    prospect = _prospect(signal, response)
    if prospect is None:
        return ""
    if math.isnan(prospect.loss):
        if prospect.least < 0:
            return (
                "At this ratio of signal to noise models of two tables (ages in Adult, credit "
                "limits) were often worse than the mean: R^2 was at most "
                f"{prospect.most:.0%} of that without noise, and often below 0."
            )
        return (
            "At this ratio of signal to noise models of two tables (ages in Adult, credit limits) "
            f"had {_range(prospect)} of the R^2 that they have without noise. Other tables differ."
        )
    return (
        "At this ratio of signal to noise models of three tables (Adult, Bank, Credit) kept "
        f"{_range(prospect)} of the AUC above .5 that they have without noise, and lost up to "
        f"{prospect.loss:.3f} of accuracy. Other tables differ."
    )


def warn_weak_signal(signal: float, response: Response) -> None:
    """Warn, before anything is spent, of a fit that may learn next to nothing."""
    prospect = _prospect(signal, response)
    if prospect is not None and prospect.least < _LITTLE:
        warn(
            f"the private rows stand out of the noise {signal:.2g} times only. "
            f"{expected_quality(signal, response)} Use more rows, a larger epsilon or fewer "
            "columns; price_fit(n, X_public) says beforehand what to expect."
        )


def _range(prospect: Prospect) -> str:
    if prospect.least == prospect.most:
        return f"about {prospect.least:.0%}"
    return f"{prospect.least:.0%} to {prospect.most:.0%}"


def _prospect(signal: float, response: Response) -> Prospect | None:
    return next((prospect for prospect in _prospects(response) if signal < prospect.below), None)


@singledispatch
def _prospects(response: Response) -> Sequence[Prospect]:
    """Return the measured prospects, by ascending ratio."""
    return ()


@_prospects.register
def _(response: ClassResponse) -> Sequence[Prospect]:
    return _CLASSES


@_prospects.register
def _(response: NumberResponse) -> Sequence[Prospect]:
    return _NUMBERS
