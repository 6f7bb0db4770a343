"""The most likely coefficients, given what was released of the private rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpotri
from scipy.special import expit, softmax

from secretballot.linear._design import Design, Floats

#: What is believed of coefficients at first, before a group's size is learned from the releases.
_SIZE, _LEAST_SIZE, _LARGEST_SIZE = 0.5, 1e-4, 10.0
_PRIOR_ROWS, _PRIOR_SIZE = 0.1, 0.2
#: The intercept is free.
_INTERCEPT = 1e-2

_MOST_STEPS, _SIZES_A_STEP, _SMALL_STEP, _LARGEST_STEP = 8, 3, 2e-2, 3.0
#: Errors of public rows are computed anew so often.
_ERRORS_ANEW = 2


@dataclass(frozen=True)
class Release:
    """One round: the noisy mean of gain * (target - expected) * features, as it was released.

    Attributes
    ----------
    mean : ndarray of shape (n_features, n_columns)
    expected : ndarray of shape (n_public, n_columns)
        Probabilities on the public rows that the residuals were taken from.
    gain : ndarray of shape (n_public,)
        What residuals were multiplied by, so that all are as long at most.
    noise : float
        Standard deviation of each number's noise.
    """

    mean: Floats
    expected: Floats
    gain: Floats
    noise: float


@dataclass(frozen=True)
class Belief:
    """Coefficients, shape (1 + n_features, n_columns) with the intercept first; their variances.

    `sizes` are the mean squares of each group's coefficients; `centred` are the variances of
    coefficients less the mean of their group, which is known much better than that mean is.
    """

    coefficients: Floats
    variances: Floats
    centred: Floats
    sizes: Floats

    @classmethod
    def nothing(cls, n_features: int, n_columns: int, n_groups: int) -> Belief:
        """Return what is believed before anything is released."""
        zeros = np.zeros((1 + n_features, n_columns))
        return cls(zeros, zeros, zeros, np.full(n_groups, _SIZE))

    def between(self, other: Belief) -> Belief:
        """Return the belief half way to another."""
        halfway = (self.coefficients + other.coefficients) / 2
        return replace(self, coefficients=halfway)


def probabilities(scores: Floats) -> Floats:
    """Return probabilities of scores: of one column those of the second of two classes."""
    return expit(scores) if scores.shape[1] == 1 else softmax(scores, axis=1)


def believe(
    releases: Sequence[Release],
    public: Design,
    groups: Sequence[tuple[slice, NDArray[np.float64]]],
    before: Belief,
    n_people: float,
    *,
    final: bool = True,
) -> Belief:
    """Return the coefficients that explain all releases best.

    A release of features F and residuals of the classes y from probabilities s has, if rows have
    the classes with probabilities p, the mean E[gain (p - s) F]; it is taken over the public rows.
    Three errors add to it, and all are known: the noise; private classes are a sample (covariance
    E[gain^2 p (1 - p) F F'] / n, the same sample in all rounds); and public rows are not the
    private ones (covariance of gain (p - s) F, over both numbers of rows). What is best is the
    generalised least squares fit of all rounds together, with a normal prior for each group of
    coefficients, whose size is the one that explains the releases best (MacKay's evidence, by
    expectation maximisation). A round before the last is not lost, therefore: noise averages out.
    The first of them has the most of the third error, and weighs accordingly.

    Columns (classes, if there are more than two) are fitted one beside the other, with the
    curvature of classes that are alike.

    Parameters
    ----------
    releases : sequence of Release
    public : Design
    groups : list of tuple of slice and ndarray
        Places of features that are shrunk together, and their prior's inverse correlations.
    before : Belief
        To begin with.
    n_people : float
        How many private rows, or owners, were summed over.
    final : bool, default=True
        Whether no round follows, for which half the steps do.
    """
    n_columns = before.coefficients.shape[1]
    curvature = 1.0 if n_columns == 1 else n_columns / (n_columns - 1)
    values, sizes = before.coefficients.copy(), before.sizes.copy()
    variances, centred = np.zeros_like(values), np.zeros_like(values)
    released = np.concatenate([each.mean for each in releases])
    if n_columns > 1:
        # The residuals of a row sum to 0: what all classes have in common is noise.
        released = released - released.mean(axis=1, keepdims=True)
    roots: list[Floats] = []
    covariances = [np.empty(0)] * n_columns
    for step in range(_MOST_STEPS if final else _MOST_STEPS // 2):
        p = probabilities(public.decision(values[1:], values[:1]))
        spread = p * (1 - p)
        means, slopes = _expected(releases, public, p, curvature * spread)
        if step < _ERRORS_ANEW:
            errors = _errors(releases, public, p, spread, n_people)
            roots = [_root(each) for each in errors]
        moved, systems = np.empty_like(values), []
        for column in range(n_columns):
            found = released[:, column]
            slope = slopes[column]
            target = found - means[column] + slope @ values[:, column]
            # Both in units of the errors.
            both = np.empty((len(target), len(values) + 1), order="F")
            both[:, :-1], both[:, -1] = slope, target
            whitened = solve_triangular(
                roots[column], both, trans="T", overwrite_b=True, check_finite=False
            )
            products = whitened.T @ whitened
            systems.append((products[:-1, :-1], products[:-1, -1]))
        for _ in range(_SIZES_A_STEP):
            prior = _prior(groups, sizes, len(values))
            squares = np.zeros(len(groups))
            for column, (system, right) in enumerate(systems):
                covariance = _inverse(system + prior)
                moved[:, column] = covariance @ right
                variances[:, column] = np.diag(covariance)
                covariances[column] = covariance
                squares += _squares(groups, moved[:, column], covariance)
            n_each = n_columns * np.array([len(precision) for _, precision in groups])
            sizes = (squares + _PRIOR_ROWS * _PRIOR_SIZE) / (n_each + _PRIOR_ROWS)
            sizes = np.clip(sizes, _LEAST_SIZE, _LARGEST_SIZE)
        if n_columns > 1:
            # What all classes gain alike changes no probability, and nothing would hold it.
            moved -= moved.mean(axis=1, keepdims=True)
        furthest = float(np.abs(moved - values).max())
        values = values + (moved - values) * min(1.0, _LARGEST_STEP / max(furthest, 1e-300))
        if step >= _ERRORS_ANEW and furthest < _SMALL_STEP:
            break
    for column, covariance in enumerate(covariances):
        centred[:, column] = _centred(groups, covariance)
    return Belief(values, variances, centred, sizes)


def _expected(
    releases: Sequence[Release], public: Design, p: Floats, spread: Floats
) -> tuple[Floats, Floats]:
    """Return for each column what is expected of all releases, and its slope."""
    n_public, n_columns = p.shape
    means = [public.sums(each.gain[:, None] * (p - each.expected)) / n_public for each in releases]
    weights = np.concatenate([each.gain[:, None] * spread for each in releases], axis=1) / n_public
    sums, products = public.sums(weights), public.products(weights)
    n_features = len(sums)
    slopes = np.concatenate([sums.T[:, :, None], products], axis=2)
    slopes = slopes.reshape(len(releases), n_columns, n_features, 1 + n_features)
    together = slopes.transpose(1, 0, 2, 3).reshape(n_columns, -1, 1 + n_features)
    return np.concatenate(means).T, together


def _errors(
    releases: Sequence[Release], public: Design, p: Floats, spread: Floats, n_people: float
) -> Floats:
    """Return each column's covariance of the errors of all releases: its lower triangle."""
    (n_public, n_features), n_columns, n = public.shape, p.shape[1], len(releases)
    other_rows = 1 / n_public + 1 / n_people
    gaps = [each.gain[:, None] * (p - each.expected) for each in releases]
    means = [public.sums(gap) / n_public for gap in gaps]
    errors = np.zeros((n_columns, n, n_features, n, n_features))
    pairs = [(one, other) for one in range(n) for other in range(one, n)]
    weights = [
        (releases[one].gain * releases[other].gain)[:, None] * spread / n_people
        + gaps[one] * gaps[other] * other_rows
        for one, other in pairs
    ]
    each = np.concatenate(weights, axis=1) / n_public
    blocks = public.products(each).reshape(len(pairs), n_columns, n_features, n_features)
    one_more = (each.mean(axis=0) * public.largest**2).reshape(len(pairs), n_columns, 1)
    # Of few public rows the sample covariance is too sure of what it has seen in no direction:
    # it is drawn to its diagonal, the more the fewer rows there are for a feature. And what few of
    # them have, or none, may be rarer there than elsewhere: each feature is taken to have one more.
    trusted = n_public / (n_public + n_features)
    for (one, other), block, more in zip(pairs, blocks, one_more, strict=True):
        block -= other_rows * np.einsum("ik,jk->kij", means[one], means[other])
        variances = np.einsum("kii->ki", block) + more
        block *= trusted
        np.einsum("kii->ki", block)[:] = variances
        if one == other:
            block += releases[one].noise ** 2 * np.eye(n_features)
        errors[:, other, :, one] = block.transpose(0, 2, 1)
    return errors.reshape(n_columns, n * n_features, n * n_features)


def _root(lower: Floats) -> Floats:
    """Return the upper triangular R with R'R a positive definite matrix, and write over that.

    The lower triangle is read. Transposed it is as LAPACK wants it, and nothing is copied.
    """
    return np.asarray(cholesky(lower.T, overwrite_a=True, check_finite=False))


def _inverse(matrix: Floats) -> Floats:
    """Return the inverse of a positive definite matrix, and write over that."""
    half, _ = dpotri(_root(matrix), overwrite_c=1)  # below the diagonal it is 0
    inverse = half + half.T
    np.einsum("ii->i", inverse)[:] /= 2
    return np.asarray(inverse)


def _prior(groups: Sequence[tuple[slice, Floats]], sizes: Floats, n_coefficients: int) -> Floats:
    prior = np.zeros((n_coefficients, n_coefficients))
    prior[0, 0] = _INTERCEPT
    for (place, precision), size in zip(groups, sizes, strict=True):
        here = slice(1 + place.start, 1 + place.stop)
        prior[here, here] = precision / size
    return prior


def _centred(groups: Sequence[tuple[slice, NDArray[np.float64]]], covariance: Floats) -> Floats:
    """Return the variances of coefficients less the mean of their group."""
    found = np.diag(covariance).copy()
    for place, _ in groups:
        here = slice(1 + place.start, 1 + place.stop)
        means = covariance[here, here].mean(axis=0)
        found[here] += means.mean() - 2 * means
    return found


def _squares(groups: Sequence[tuple[slice, Floats]], values: Floats, covariance: Floats) -> Floats:
    """Return the expected squares of each group's coefficients."""
    found = []
    for place, precision in groups:
        here = slice(1 + place.start, 1 + place.stop)
        found.append(
            values[here] @ precision @ values[here] + np.sum(precision * covariance[here, here])
        )
    return np.array(found)
