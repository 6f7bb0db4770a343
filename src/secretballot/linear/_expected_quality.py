"""Quality that noise left to models of certain tables, by the ratio of signal to noise."""

from __future__ import annotations

import math
from typing import NamedTuple

from secretballot._base._errors import warn
from secretballot.linear.rounds import ClassResponse, LabelResponse, NumberResponse, Response


class Prospect(NamedTuple):
    """Quality of models between two ratios of signal to noise."""

    below: float  # upper end of the ratios
    least: float  # least and largest share of a score that noise left
    most: float
    loss: float = math.nan  # largest loss of accuracy; NaN where it was not measured


class MeasuredQuality(NamedTuple):
    """Quality of models of certain tables, by the ratio of signal to noise."""

    tables: str
    score: str
    steps: tuple[Prospect, ...]  # by ascending ratio


#: Measured by benchmarks/equal_epsilon/noise_loss.py, and by benchmarks/multilabel/label_noise.py.
_CLASSES = MeasuredQuality(
    "three tables (Adult, Bank, Credit)",
    "AUC above .5",
    (
        Prospect(30.0, 0.28, 0.70, 0.111),
        Prospect(100.0, 0.62, 0.99, 0.058),
        Prospect(400.0, 0.88, 1.0, 0.026),
        Prospect(math.inf, 0.97, 1.0, 0.007),
    ),
)
_NUMBERS = MeasuredQuality(
    "three tables (prices of diamonds, ages in Adult, credit limits)",
    "R^2",
    (
        Prospect(30.0, -0.07, 0.38),
        Prospect(100.0, 0.52, 0.92),
        Prospect(400.0, 0.80, 0.96),
        Prospect(math.inf, 0.91, 0.97),
    ),
)
#: Ratios are divided by the root of the number of labels, which share a vector's length.
_LABELS = MeasuredQuality(
    "five tables (scene, emotions, enron, corel5k, bibtex)",
    "AUC above .5",
    (
        Prospect(2.0, 0.02, 0.33),
        Prospect(5.0, 0.09, 0.87),
        Prospect(10.0, 0.16, 0.94),
        Prospect(math.inf, 0.92, 0.99),
    ),
)

#: A fit is warned of where models kept less than this share.
_LITTLE = 0.5


def expected_quality(signal: float, response: Response) -> str:
    """Describe what models of certain tables kept at such a ratio."""
    if isinstance(response, ClassResponse) and response.n_columns > 1:
        return (
            f"What noise leaves of a model of {response.n_columns} classes was not measured: with "
            "two classes it leaves more. score_private tells after the fit."
        )
    tables, score, _ = _measured_quality(response)
    prospect = _prospect(signal, response)
    start = f"At this ratio of signal to noise models of {tables}"
    if prospect.least < 0:
        return (
            f"{start} were often worse than the mean: {score} was at most {prospect.most:.0%} of "
            "that without noise, and often below 0."
        )
    share = f"{prospect.least:.0%} to {prospect.most:.0%}"
    if prospect.least == prospect.most:
        share = f"about {prospect.least:.0%}"
    lost = "" if math.isnan(prospect.loss) else f", and lost up to {prospect.loss:.3f} of accuracy"
    return (
        f"{start} kept {share} of the {score} that they have without noise{lost}. Other "
        "tables differ."
    )


def warn_weak_signal(signal: float, response: Response) -> None:
    """Warn, before anything is spent, of a fit that may learn next to nothing."""
    if _prospect(signal, response).least < _LITTLE:
        warn(
            f"the private rows stand out of the noise {signal:.2g} times only. "
            f"{expected_quality(signal, response)} Use more rows, a larger epsilon or fewer "
            "columns; price_fit(n, X_public) says beforehand what to expect."
        )


def _prospect(signal: float, response: Response) -> Prospect:
    return next(step for step in _measured_quality(response).steps if signal < step.below)


def _measured_quality(response: Response) -> MeasuredQuality:
    if isinstance(response, NumberResponse):
        return _NUMBERS
    if not isinstance(response, LabelResponse):
        return _CLASSES
    root = math.sqrt(response.n_columns)
    steps = tuple(step._replace(below=root * step.below) for step in _LABELS.steps)
    return _LABELS._replace(steps=steps)
