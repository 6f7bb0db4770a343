"""Rounds of a fit: what all private rows sum up to is released, and believed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.linear._design import Design, Floats
from secretballot.linear._posterior import Belief, Release, believe, probabilities

#: Bits of a float's sum that are exact.
_BITS = 52
#: Residuals are shorter by this than they may be: norms, shares and what is clipped are rounded.
_HAIR = 2.0**-40
#: Beliefs of which so many times as much is left, in squares, as of the best are not gone on with.
_WORSE = 2.0
#: So many private rows are looked at together.
_ROWS = 2**17
#: Features of so many numbers are kept from round to round.
_MOST_KEPT = 2**26


@dataclass(frozen=True)
class Ballots:
    """The private rows of one fit, as they cast their vectors.

    Attributes
    ----------
    transform : callable
        From positions of rows to their features.
    codes : ndarray of shape (n_rows,)
        Positions of their classes.
    shares : ndarray of shape (n_rows,)
        What each row's vector is multiplied by: the weight of its level, over the number of its
        owner's rows.
    n_classes : int
    total : float
        The sum of the weights of all rows, or owners.
    n_numbers : int
        How many numbers a row's features are, zeros left out.
    """

    transform: Callable[[slice], Any]
    codes: NDArray[np.intp]
    shares: Floats
    n_classes: int
    total: float
    n_numbers: int
    _kept: dict[int, Any] = field(default_factory=dict, repr=False)

    @property
    def n_columns(self) -> int:
        """How many residuals a row has: one of two classes, else one a class."""
        return 1 if self.n_classes == 2 else self.n_classes

    def parts(self) -> Iterator[tuple[slice, Any]]:
        """Yield some rows after the others, with their features: computed once, if they fit."""
        for start in range(0, len(self.codes), _ROWS):
            rows = slice(start, start + _ROWS)
            features = self._kept.get(start)
            if features is None:
                features = self.transform(rows)
                if len(self.codes) * self.n_numbers <= _MOST_KEPT:
                    self._kept[start] = features
            yield rows, features

    def sums(self, belief: Belief, norm: float) -> Floats:
        """Return the sum of all vectors, (n_features, n_columns): features times residuals.

        Residuals of classes are divided by the longest that a row with these probabilities could
        have, so that none is longer than 1. Features and residuals are rounded towards zero to
        multiples of a power of two that is small enough for sums to be exact: what a row adds
        doesn't depend on the others.
        """
        whole = self.share_bits(norm)
        total: Any = 0.0
        for rows, features in self.parts():
            one_hot = not isinstance(features, np.ndarray)
            bits = whole if one_hot else whole // 2
            design, slopes = Design(features), belief.coefficients[1:]
            if not one_hot:
                # Scores are exact too: in another place of a table they are added in another order.
                largest = max(norm * float(np.linalg.norm(slopes)), 1.0)
                slopes = rounded_towards_zero(
                    slopes, _BITS - bits - math.ceil(math.log2(largest)) - 1
                )
                design = Design(rounded_towards_zero(features, bits))
            scores = design.decision(slopes, belief.coefficients[:1])
            p = probabilities(scores)
            targets = targets_of(self.codes[rows], self.n_classes)
            residuals = _shortened(gains(p)[:, None] * (targets - p))
            shares = rounded_towards_zero(self.shares[rows, None], whole)
            total = total + design.sums(rounded_towards_zero(residuals * shares, bits))
        return np.asarray(total)

    def means(self, norm: float) -> Floats:
        """Return the sum of all features, (n_features, 1), where they are zeros and ones."""
        total: Any = 0.0
        for rows, features in self.parts():
            # No less than the same row's residual, which is this times what is at most 1 long.
            shares = rounded_towards_zero(self.shares[rows, None], self.share_bits(norm))
            total = total + Design(features).sums(shares)
        return np.asarray(total)

    def share_bits(self, norm: float) -> int:
        """Return the binary places of shares with which sums of vectors of this norm are exact."""
        return _BITS - math.ceil(math.log2(max(self.total * max(norm, 1.0), 1.0))) - 1


def targets_of(codes: NDArray[np.intp], n_classes: int) -> Floats:
    """Return a column for each class, or the second of two."""
    if n_classes == 2:
        return np.asarray(codes[:, None] == 1, dtype=np.float64)
    return np.asarray(codes[:, None] == np.arange(n_classes), dtype=np.float64)


def gains(p: Floats) -> Floats:
    """Return one over the longest residual that a row with these probabilities can have."""
    if p.shape[1] == 1:
        return np.asarray(1 / np.maximum(p, 1 - p)[:, 0])
    return np.asarray(1 / np.sqrt((p**2).sum(axis=1) - 2 * p.min(axis=1) + 1))


def learn(
    ballots: Ballots,
    features: Any,
    public: Design,
    ask: Callable[[Floats], Floats],
    *,
    sigma: float,
    n_rounds: int,
    n_people: float,
    releases: tuple[Release, ...] = (),
) -> Belief:
    """Release the rounds one after the other, each at what was believed after the one before.

    Parameters
    ----------
    ballots : Ballots
    features : AdditiveBins or DenseFeatures
    public : Design
        Features of the public rows.
    ask : callable
        From sums to noisy sums; the accountant's.
    sigma : float
        Standard deviation of the noise on each sum.
    n_rounds : int
    n_people : float
        Private rows or owners, as many as if all weighed alike.
    releases : tuple of Release
        What was released before.
    """
    belief = Belief.nothing(features.n_features, ballots.n_columns, len(features.groups))
    found = list(releases)
    if found:
        belief = believe(found, public, features.groups, belief, n_people, final=not n_rounds)
    best, least = belief, math.inf
    for remaining in reversed(range(n_rounds)):
        noisy = ask(ballots.sums(belief, features.norm))
        p = probabilities(public.decision(belief.coefficients[1:], belief.coefficients[:1]))
        found.append(Release(noisy / ballots.total, p, gains(p), sigma / ballots.total))
        # Of a belief that is right nothing is left but noise: each round judges the one before.
        left = float((noisy**2).sum())
        if left <= least:
            best, least = belief, left
        belief = believe(found, public, features.groups, belief, n_people, final=not remaining)
        if left > _WORSE * least:
            # Public rows, or those made up, mislead it here: it keeps to what was better before.
            belief = belief.between(best) if remaining else best
    return belief


def _shortened(residuals: Floats) -> Floats:
    """Return residuals that are shorter than 1, by a hair; longer by rounding alone."""
    lengths = np.linalg.norm(residuals, axis=1, keepdims=True)
    return np.asarray(residuals * ((1 - _HAIR) / np.maximum(lengths, 1.0)))


def rounded_towards_zero(numbers: Floats, bits: int) -> Floats:
    """Round numbers towards zero to multiples of two to the power of -bits."""
    return np.asarray(np.trunc(np.ldexp(numbers, bits)) * 2.0**-bits)
