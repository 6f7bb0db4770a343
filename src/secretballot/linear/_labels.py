"""Several labels a row as the response of a fit: their residuals are clipped together."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import expit, logit

from secretballot.linear._averaged_rounds import (
    AVERAGED_ROUNDS,
    ClippedResponse,
    run_averaged_rounds,
)
from secretballot.linear._design import Floats
from secretballot.linear._private_sums import Residuals, Targets
from secretballot.linear._reference_rows import ReferenceRows
from secretballot.linear._response import ClassifierResponse, FittedRounds, RoundPlan
from secretballot.tables._labels import check_targets

#: Clipping norm in units of the length of a row's residuals at the declared rates.
_RELATIVE_NORM = 0.6
#: Probabilities and thresholds are clipped to between this and 1 less this.
_LEAST_PROBABILITY = 1e-9


@dataclass(frozen=True)
class LabelResponse(ClassifierResponse, ClippedResponse):
    """Labels of each row."""

    rates: Floats  # (n_labels,): public guess of the share of rows with each label
    # (n_labels,): probability above which a label is predicted. None: its mean over the reference
    # rows.
    thresholds: Floats | None = None

    @property
    def n_outputs(self) -> int:
        return len(self.rates)

    @property
    def note(self) -> dict[str, object]:
        """Kind of model, for the ledger. The number of labels is public, as that of rows is."""
        model = f"logistic regression of {len(self.rates)} labels"
        return {"model": model, "classes_learned": False}

    def read(self, y: ArrayLike) -> Targets:
        targets = check_targets(y)
        if targets.ndim != 2 or targets.shape[1] != len(self.rates):
            raise ValueError(f"y has shape {targets.shape}; give {len(self.rates)} labels a row.")
        return csr_array(targets, dtype=np.float64)

    def choose_rounds(self, signal: float, n_public: int) -> int:
        return AVERAGED_ROUNDS

    def run_rounds(self, plan: RoundPlan) -> FittedRounds:
        return run_averaged_rounds(plan, self)

    @property
    def first_scores(self) -> Floats:
        return np.asarray(logit(self.rates))

    @property
    def clipping_norm(self) -> float:
        return _RELATIVE_NORM * float(np.sqrt(_variances(self.rates).sum()))

    @property
    def inverse_slope(self) -> float:
        return 1 / float(_variances(self.rates).mean())

    @property
    def scaled_residuals(self) -> Residuals:
        norm = self.clipping_norm

        def residuals(targets: Targets, scores: Floats) -> Floats:
            assert isinstance(targets, csr_array)
            return np.asarray((targets.toarray() - expit(scores)) / norm)

        return residuals

    def corrected(
        self, mean: Floats, reference: ReferenceRows, limits: Floats, coefficients: Floats
    ) -> tuple[Floats, float]:
        """Subtract the expectation: under the model clipped residuals have a mean other than 0."""
        p = label_probabilities(reference, coefficients)
        present, absent = self._factors(p, limits)
        variances = _variances(p)
        slopes = reference.weights @ (variances * ((1 - p) * present + p * absent))
        expected = reference.means(variances * (present - absent))
        return mean - expected, float(slopes.max()) * self.inverse_slope

    def moments(
        self, reference: ReferenceRows, limits: Floats, coefficients: Floats
    ) -> tuple[Floats, Floats]:
        p = label_probabilities(reference, coefficients)
        present, absent = self._factors(p, limits)
        variances = _variances(p)
        slopes = variances * ((1 - p) * present + p * absent)
        squares = variances * ((1 - p) * present**2 + p * absent**2)
        return reference.weights @ slopes, reference.weights @ squares

    def _factors(self, p: Floats, limits: Floats) -> tuple[Floats, Floats]:
        """Compute the mean factor by which residuals are clipped if a label is present, or absent.

        Labels are taken as independent. The squared length of the other labels' residuals is taken
        at three points: no other label is present; or some are, one standard deviation below or
        above the mean.
        """
        p = np.clip(p, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
        p_none = np.exp(_of_others(np.log1p(-p)))
        p_some = 1 - p_none
        least = _of_others(p**2)
        mean = _of_others(_variances(p))
        square = _of_others(_variances(p) * (1 - 2 * p) ** 2) + mean**2
        with np.errstate(invalid="ignore", divide="ignore"):  # a single label has no others
            mean = np.where(p_some > 0, (mean - p_none * least) / p_some, 0.0)
            variance = np.where(p_some > 0, (square - p_none * least**2) / p_some, 0.0) - mean**2
        deviation = np.sqrt(np.maximum(variance, 0.0))
        points = (
            (p_none, least),
            (p_some / 2, np.maximum(mean - deviation, least)),
            (p_some / 2, mean + deviation),
        )
        norm = self.clipping_norm * limits

        def factor(own_square: Floats) -> Floats:
            factors = np.zeros_like(own_square)
            for weight, other_squares in points:
                factors += weight * norm / np.sqrt(np.maximum(own_square + other_squares, norm**2))
            return factors

        return factor((1 - p) ** 2), factor(p**2)

    def fitted(self, rounds: FittedRounds) -> LabelResponse:
        if self.thresholds is not None:
            return self
        assert rounds.reference is not None
        p = label_probabilities(rounds.reference, rounds.posterior.coefficients)
        rates = rounds.reference.weights @ p
        least = _LEAST_PROBABILITY
        return replace(self, thresholds=np.clip(rates, least, 1 - least))

    def class_values(self) -> list[NDArray[np.generic]]:
        return [np.array([0, 1]) for _ in self.rates]

    def decision(self, scores: Floats) -> Floats:
        assert self.thresholds is not None
        return np.asarray(scores - logit(self.thresholds))

    def probabilities(self, scores: Floats) -> Floats:
        return np.asarray(expit(scores))

    def predict(self, scores: Floats) -> NDArray[np.generic]:
        return np.asarray(self.decision(scores) > 0, dtype=np.int64)

    def find_target(self, target: Hashable) -> tuple[int, float]:
        codes: dict[Hashable, int] = {code: code for code in range(len(self.rates))}
        if target not in codes:
            raise ValueError(
                f"target={target!r} is no label; give the index of one, from 0 to {len(codes) - 1}."
            )
        return codes[target], 1.0


def label_probabilities(reference: ReferenceRows, coefficients: Floats) -> Floats:
    return np.asarray(expit(reference.design.decision(coefficients[1:], coefficients[:1])))


def _variances(p: Floats) -> Floats:
    return np.asarray(p * (1 - p))


def _of_others(terms: Floats) -> Floats:
    """Sum the terms of all other labels, for each label."""
    return np.asarray(terms.sum(axis=1, keepdims=True) - terms)
