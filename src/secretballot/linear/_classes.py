"""Classes as the response of a fit: residuals, rounds of two classes, comparison of features."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.linear._averaged_rounds import (
    AVERAGED_ROUNDS,
    AveragedRounds,
    ClippedResponse,
    run_averaged_rounds,
)
from secretballot.linear._design import Floats
from secretballot.linear._pair_rounds import release_pairs
from secretballot.linear._posterior import Posterior, ReleasedRound, fit_posterior
from secretballot.linear._private_sums import Residuals, RowSums, Targets, add_cells
from secretballot.linear._reference_rows import ReferenceRows, probabilities
from secretballot.linear._response import ClassifierResponse, FittedRounds, RivalPlan, RoundPlan
from secretballot.linear._synthetic_rows import release_first_round
from secretballot.tables._labels import check_targets, encode, warn_classes_learned

Gains = Callable[[Floats], Floats]

#: Length to which residuals of a row with features of the largest length are clipped.
_CLIPPING_NORM = 0.3
#: Least ratio of the first round's two errors (see `choose_rounds`), and rounds after the first.
_ROUNDS = ((30.0, 1), (150.0, 2), (1500.0, 3), (15000.0, 5))
#: Fewest rounds with which pairs are searched by default.
_FEWEST_PAIR_ROUNDS = 2


@dataclass(frozen=True)
class ClassResponse(ClassifierResponse, ClippedResponse):
    """Class of each row."""

    classes: NDArray[np.generic]  # (n_classes,)
    classes_learned: bool  # whether the classes are those of private rows

    @property
    def n_outputs(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)

    @property
    def note(self) -> dict[str, object]:
        model = f"logistic regression of {len(self.classes)} classes"
        return {"model": model, "classes_learned": self.classes_learned}

    @property
    def has_pairs(self) -> bool:
        return len(self.classes) == 2

    def asks_pairs(self, signal: float, n_rounds: int) -> bool:
        """Decide if pairs are searched by default: noise hides them if there are few rounds."""
        return n_rounds >= _FEWEST_PAIR_ROUNDS

    @property
    def has_direction(self) -> bool:
        return len(self.classes) == 2

    @property
    def has_rival(self) -> bool:
        return len(self.classes) > 2

    def warn(self) -> None:
        if self.classes_learned:
            warn_classes_learned()

    def read(self, y: ArrayLike) -> Targets:
        return encode(check_targets(y), self.classes, "y")

    def choose_rounds(self, signal: float, n_public: int) -> int:
        """Choose the number of rounds of residuals after the first.

        The first round uses public rows in place of private ones. Its squared error is
        1 / n_public, and that of the noise 1 / signal^2: later rounds of two classes pay off if the
        noise is the smaller one.
        """
        if len(self.classes) > 2:
            return AVERAGED_ROUNDS
        ratio = signal**2 / n_public
        return max((rounds for least, rounds in _ROUNDS if ratio >= least), default=0)

    def run_rounds(self, plan: RoundPlan) -> FittedRounds:
        if len(self.classes) == 2:
            return run_class_rounds(plan)
        if plan.rival is not None:
            return run_rival_rounds(plan, plan.rival, self)
        return run_averaged_rounds(plan, self)

    @property
    def first_scores(self) -> Floats:
        return np.zeros(len(self.classes))

    @property
    def clipping_norm(self) -> float:
        return _CLIPPING_NORM

    @property
    def inverse_slope(self) -> float:
        return float(len(self.classes))

    @property
    def scaled_residuals(self) -> Residuals:
        return class_residuals(len(self.classes), lambda p: np.full(len(p), 1 / _CLIPPING_NORM))

    @property
    def has_score_factor(self) -> bool:
        """True: clipping shortens the residuals of unexpected classes most."""
        return True

    def corrected(
        self, mean: Floats, reference: ReferenceRows, limits: Floats, coefficients: Floats
    ) -> tuple[Floats, float]:
        """Centre a released mean: the residuals of a row sum to 0, so the rest is noise."""
        p = reference.probabilities(coefficients)
        factors = _factors(p, limits)
        weights = reference.weights[:, None] * (p * factors).sum(axis=1, keepdims=True)
        slopes = np.diag((weights * p).sum(axis=0)) - p.T @ (weights * p)
        largest = float(np.linalg.eigvalsh(slopes)[-1]) * p.shape[1]
        return mean - mean.mean(axis=1, keepdims=True), largest

    def moments(
        self, reference: ReferenceRows, limits: Floats, coefficients: Floats
    ) -> tuple[Floats, Floats]:
        p = reference.probabilities(coefficients)
        factors = _factors(p, limits)
        slopes = p * (1 - p) * (p * factors).sum(axis=1, keepdims=True)
        own_squares = p * (factors * (1 - p)) ** 2
        other_squares = p**2 * ((p * factors**2).sum(axis=1, keepdims=True) - p * factors**2)
        return reference.weights @ slopes, reference.weights @ (own_squares + other_squares)

    def score_products(self, p: Floats, limits: Floats, scores: Floats) -> Floats:
        return np.asarray(_factors(p, limits) * (scores - (p * scores).sum(axis=1, keepdims=True)))

    def class_values(self) -> NDArray[np.generic]:
        return self.classes

    def decision(self, scores: Floats) -> Floats:
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def probabilities(self, scores: Floats) -> Floats:
        p = probabilities(scores)
        return np.concatenate([1 - p, p], axis=1) if p.shape[1] == 1 else p

    def predict(self, scores: Floats) -> NDArray[np.generic]:
        codes = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes[np.asarray(codes, dtype=np.intp)])

    def find_target(self, target: Hashable) -> tuple[int, float]:
        """Return the output of a class, and its sign: two classes share one output."""
        classes = self.classes.tolist()
        if target is None and len(classes) > 2:
            raise ValueError(f"target=None, and there are more than two classes: one of {classes}.")
        if target is not None and target not in classes:
            raise ValueError(f"target={target!r} is none of the classes: {classes}.")
        code = len(classes) - 1 if target is None else classes.index(target)
        return (code, 1.0) if len(classes) > 2 else (0, 1.0 if code else -1.0)


def class_residuals(n_classes: int, gains: Gains) -> Residuals:
    """Return residuals as a function of codes and scores; `gains` maps probabilities to factors."""

    def residuals(codes: Targets, scores: Floats) -> Floats:
        p = probabilities(scores)
        return np.asarray(gains(p)[:, None] * (class_indicators(codes, n_classes) - p))

    return residuals


def class_indicators(codes: Targets, n_classes: int) -> Floats:
    assert isinstance(codes, np.ndarray)
    if n_classes == 2:
        return np.asarray(codes[:, None] == 1, dtype=np.float64)
    return np.asarray(codes[:, None] == np.arange(n_classes), dtype=np.float64)


def residual_gains(p: Floats) -> Floats:
    """Compute the inverse of the largest residual length at the probabilities of each row."""
    if p.shape[1] == 1:
        return np.asarray(1 / np.maximum(p, 1 - p)[:, 0])
    return np.asarray(1 / np.sqrt((p**2).sum(axis=1) - 2 * p.min(axis=1) + 1))


def _factors(p: Floats, limits: Floats) -> Floats:
    lengths = np.sqrt((p**2).sum(axis=1, keepdims=True) - 2 * p + 1)
    largest = _CLIPPING_NORM * limits
    return np.asarray(largest / np.maximum(lengths, largest))


def run_class_rounds(plan: RoundPlan) -> FittedRounds:
    """Release residuals of two classes, each at the last posterior; search pairs half-way."""
    rows, features = plan.rows, plan.features
    noise = plan.noise(features.norm) / plan.total
    posterior = Posterior.initial(features.n_features, 1, len(features.groups))
    clipped = class_residuals(2, residual_gains)
    noisy, counts, reference = release_first_round(plan, clipped, np.zeros(1))
    released, rounds = [noisy], []
    for n_done in range(1, plan.n_rounds + 1):
        p = reference.probabilities(posterior.coefficients)
        rounds.append(ReleasedRound(released[-1][:, 0] / plan.total, p, residual_gains(p), noise))
        posterior = fit_posterior(rounds, reference, features.groups, posterior, plan.n_people)
        if n_done == plan.n_rounds:
            break
        if plan.n_pairs and n_done == (plan.n_rounds + 1) // 2:
            p = reference.probabilities(posterior.coefficients)[:, 0]
            slopes = np.minimum(p, 1 - p)  # the gain times p (1 - p)
            paired = release_pairs(
                plan,
                reference,
                posterior.coefficients,
                clipped,
                slopes,
                slopes / np.maximum(p, 1 - p),
            )
            if paired is not None:
                features, rows, reference = (
                    paired,
                    add_cells(rows, paired),
                    reference.with_cells(paired),
                )
                noise = plan.noise(paired.norm) / plan.total
                sizes = [pair.n_cells for pair in paired.pairs]
                posterior = posterior.padded(sizes)
        residual_sums = partial(
            RowSums.residual_sums,
            coefficients=posterior.coefficients,
            norm=features.norm,
            residuals=clipped,
        )
        released.append(plan.noisy_sums(rows.sum(residual_sums), features.norm))
    return FittedRounds(posterior, released, features, reference=reference, counts=counts)


#: Part of the pilot rounds before the first comparison.
_FIRST_PART = 2 / 3
#: The first comparison decides if the difference, in standard deviations of the noise, is below the
#: first number or above the second. The last one decides for the rival above the third.
_CLEARLY_BEHIND, _CLEARLY_AHEAD, _AHEAD = -0.5, 2.0, 0.5


def run_rival_rounds(plan: RoundPlan, rival: RivalPlan, response: ClassResponse) -> FittedRounds:
    """Run a few rounds with both kinds of features, compare them, and finish the better kind.

    A comparison takes the place of a round: the number of private rows that the rival's model
    predicts right, less that of the plan's, is released at the cost of a round. The first one
    decides if it is clear, and otherwise the second, after the rest of the pilot rounds. The better
    features take all releases that are left.
    """
    candidates = [AveragedRounds(candidate, response) for candidate in (plan, rival.plan)]

    def compare(n_rounds: int) -> float:
        """Take steps with both, and release the difference, in standard deviations of its noise."""
        for candidate in candidates:
            candidate.advance(n_rounds)
        difference = candidates[1].right_sum() - candidates[0].right_sum()
        return float(plan.noisy_sums(difference, 1.0)[0]) / plan.noise(1.0)

    n_first, n_comparisons = max(round(_FIRST_PART * rival.n_pilot), 1), 1
    difference = compare(n_first)
    if n_first < rival.n_pilot and _CLEARLY_BEHIND < difference < _CLEARLY_AHEAD:
        difference = compare(rival.n_pilot - n_first)
        n_comparisons += 1
    is_ahead = difference > _AHEAD
    n_lost = candidates[not is_ahead].n_done + n_comparisons
    fitted = candidates[is_ahead].finish(plan.n_rounds + rival.n_pilot - n_lost)
    return replace(fitted, is_rival=is_ahead)
