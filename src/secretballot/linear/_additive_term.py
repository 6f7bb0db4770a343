"""Effects of columns, and of pairs of columns, on the log odds or on a number."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secretballot.linear._additive_bins import AdditiveBins
from secretballot.linear._column_reading import ShownList


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditiveTerm:
    """Effect of one column: a number for each bin or knot, and its standard error.

    Attributes
    ----------
    name : hashable
        The column; its position in an array.
    labels : tuple of str
        Texts of the bins, or knots, by the number at which they begin: a single value stands behind
        the interval that holds it. Or categories, and ``"others"``. The last one is ``"missing"``,
        of columns in which missing cells have an effect.
    values : ndarray of shape (n_values,) or None
        Numbers that are a bin of their own; None for categories.
    edges : ndarray of shape (n_intervals - 1,) or None
        Edges between the intervals, of which the first and the last are open; None for categories
        and knots.
    effect : ndarray of shape (n_labels,)
        Contribution of each label to the log odds, or to the number, less the mean over the
        column's bins (without that of missing cells).
    error : ndarray of shape (n_labels,)
        Standard deviation of each effect.
    is_value : ndarray of bool of shape (n_labels,)
        Whether a label is that of one of `values`.
    knots : ndarray of shape (n_knots,) or None
        Knots of a piecewise linear effect, constant beyond the first and the last; None for bins
        and categories.
    missing : float or None
        The last of `effect`, that of missing cells; None for columns without one.
    missing_error : float or None
        Standard deviation of it.
    """

    name: Hashable
    labels: tuple[str, ...]
    values: NDArray[np.float64] | None
    edges: NDArray[np.float64] | None
    effect: NDArray[np.float64]
    error: NDArray[np.float64]
    is_value: NDArray[np.bool_]
    knots: NDArray[np.float64] | None = None
    missing: float | None = None
    missing_error: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class PairTerm:
    """Effect of two columns together, beside the effects of each.

    Attributes
    ----------
    name : tuple of (hashable, hashable)
        The columns; their positions in an array.
    labels : tuple of two tuples of str
        Texts of the merged bins of each column.
    effect : ndarray of shape (n_first, n_second)
        Contribution of each pair of bins to the log odds, less the mean over all pairs of bins.
    error : ndarray of shape (n_first, n_second)
        Standard deviation of each effect.
    """

    name: tuple[Hashable, Hashable]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    effect: NDArray[np.float64]
    error: NDArray[np.float64]


class TermList(ShownList[AdditiveTerm | PairTerm]):
    """List of the terms of a model, which prints as a table with a row for each bin."""

    title = "Terms"
    headings = ("column", "bin", "effect", "error")

    def records(self) -> list[tuple[object, ...]]:
        """Return a row of the table for each label."""
        return [record for term in self for record in _records(term)]


def _records(term: AdditiveTerm | PairTerm) -> list[tuple[object, ...]]:
    """Return name, bin, effect and error of each bin, or pair of bins."""
    if isinstance(term, PairTerm):
        name = " and ".join(map(str, term.name))
        texts = [" and ".join(pair) for pair in itertools.product(*term.labels)]
        rows = zip(texts, term.effect.ravel().tolist(), term.error.ravel().tolist(), strict=True)
        return [(name, *row) for row in rows]
    rows = zip(term.labels, term.effect.tolist(), term.error.tolist(), strict=True)
    return [(term.name, *row) for row in rows]


def model_terms(
    features: AdditiveBins, coefficients: NDArray[np.float64], errors: NDArray[np.float64]
) -> TermList:
    terms = TermList()
    for column, place in zip(features.columns, features.places, strict=True):
        effect, error = coefficients[place], errors[place]
        effect = effect - effect[: column.n_values].mean()
        axis, is_nullable = column.axis(), column.n_values < column.n_bins
        listed = np.append(column.listed(), np.arange(column.n_values, column.n_bins))
        n_single = 0 if axis.values is None else len(axis.values)
        terms.append(
            AdditiveTerm(
                name=column.name,
                labels=(*column.labels(), *(["missing"] if is_nullable else [])),
                values=axis.values,
                edges=axis.edges,
                knots=axis.knots,
                effect=effect[listed],
                error=error[listed],
                is_value=listed < n_single,
                missing=float(effect[-1]) if is_nullable else None,
                missing_error=float(error[-1]) if is_nullable else None,
            )
        )
    for pair, place in zip(features.pairs, features.pair_places, strict=True):
        first, second = (features.columns[position] for position in pair.columns)
        effect = coefficients[place].reshape(pair.shape)
        terms.append(
            PairTerm(
                name=(first.name, second.name),
                labels=(
                    tuple(first.merged_labels(pair.groups[0])),
                    tuple(second.merged_labels(pair.groups[1])),
                ),
                effect=effect - effect.mean(),
                error=errors[place].reshape(pair.shape).copy(),
            )
        )
    return terms
