"""Sums over private rows, computed so that a row's vector does not depend on other rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from secretballot.linear._additive_bins import PairedBins
from secretballot.linear._design import Design, Features, Floats
from secretballot.tables._private_rows import PrivateRows

#: What is learned of each row: a class code, a number, or label indicators.
Targets: TypeAlias = NDArray[np.generic] | csr_array
#: Function from the targets and the scores of some rows to their residuals.
Residuals = Callable[[Targets, Floats], Floats]
#: Function from the targets and the scores of some rows to their residuals, and a bin of each.
BinnedResiduals = Callable[[Targets, Floats], tuple[Floats, NDArray[np.intp]]]

#: Bits of a float's mantissa in which sums are exact.
_BITS = 52
#: Relative margin below the limit of a residual's length: norms, shares, features are rounded.
_LENGTH_MARGIN = 2.0**-40
#: Private rows in a block.
_BLOCK_ROWS = 2**17
#: Features (rows times numbers) that are kept from round to round.
_CACHE_SIZE = 2**26
#: Residuals (rows times columns) of a part of a block.
_MOST_RESIDUALS = 2**23


@dataclass(frozen=True)
class RowSums:
    """Private rows of one fit, as the vectors that are summed."""

    transform: Callable[[slice], Features]  # function from a slice of rows to their features
    targets: Targets  # class codes, numbers, or label indicators
    # (n_rows,): factor of each row's vector: the weight of its level over the number of its owner's
    # rows.
    shares: Floats
    total: float  # sum of the weights of all rows, or owners
    n_numbers: int  # features of a row that are not 0
    weight_bits: int = 0  # binary places of sparse features: 0 for one-hot rows
    _cache: dict[int, Features] = field(default_factory=dict, repr=False)
    _designs: dict[int, tuple[int, Design]] = field(default_factory=dict, repr=False)

    def with_cells(self, features: PairedBins) -> RowSums:
        def transform(rows: slice) -> Features:
            one_hot = self._cache.get(rows.start)
            if one_hot is None:
                one_hot = self.transform(rows)
            assert isinstance(one_hot, csr_array)
            return features.with_cells(one_hot)

        return replace(
            self,
            transform=transform,
            n_numbers=self.n_numbers + len(features.pairs),
            _cache={},
            _designs={},
        )

    def blocks(self) -> Iterator[tuple[slice, Features]]:
        """Yield blocks of rows with their features, which are cached if they fit."""
        for start in range(0, len(self.shares), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            features = self._cache.get(start)
            if features is None:
                features = self.transform(rows)
                if len(self.shares) * self.n_numbers <= _CACHE_SIZE:
                    self._cache[start] = features
            yield rows, features

    def residual_sums(self, coefficients: Floats, norm: float, residuals: Residuals) -> Floats:
        """Sum features times residuals over the rows: (n_features, n_outputs).

        A row's residuals are clipped to a length of 1, or as much more as its features are shorter
        than the norm. Features and residuals are rounded towards zero to multiples of a power of
        two at which the sum is exact. So a row's vector is the same whatever the other rows are.
        `residuals` maps the targets of rows and their scores to residuals: (n_rows, n_outputs).
        """
        total: Floats | float = 0.0
        blocks = self._weighted_blocks(coefficients, norm, residuals, self.weight_bits)
        for _, design, weights in blocks:
            total = total + design.sums(weights)
        return np.asarray(total)

    def counted_sums(
        self, coefficients: Floats, norm: float, residuals: BinnedResiduals, n_bins: int
    ) -> Floats:
        """Sum features times single residuals, and count the bins of the residuals behind them.

        `residuals` returns a bin of each row too. Counts are sums of shares; a row's residual is
        nowhere larger than its share.
        """
        total: Floats | float = 0.0
        counts, bins = np.zeros(n_bins), []

        def values(targets: Targets, scores: Floats) -> Floats:
            numbers, codes = residuals(targets, scores)
            bins.append(codes)
            return numbers

        blocks = self._weighted_blocks(coefficients, norm, values, self.weight_bits)
        for rows, design, weights in blocks:
            total = total + design.sums(weights)[:, 0]
            shares = rounded_towards_zero(self.shares[rows], self.share_bits(norm))
            counts += np.bincount(bins.pop(), shares, n_bins)
        return np.concatenate([np.asarray(total), counts])

    def pair_sums(
        self, coefficients: Floats, norm: float, residuals: Residuals, merge: NDArray[np.intp]
    ) -> Floats:
        total: Floats | float = 0.0
        blocks = self._weighted_blocks(coefficients, norm, residuals, 2 * self.weight_bits)
        for _, design, weights in blocks:
            total = total + design.pair_sums(merge, weights[:, 0])
        return np.asarray(total)

    def right_sum(self, coefficients: Floats, norm: float) -> Floats:
        total, bits = 0.0, self.share_bits(1.0)
        for rows, _, scores, _ in self._scored_blocks(coefficients, norm, self.weight_bits):
            is_right = scores.argmax(axis=1) == self.targets[rows]
            total += rounded_towards_zero(self.shares[rows], bits) @ is_right
        return np.array([total])

    def _weighted_blocks(
        self, coefficients: Floats, norm: float, residuals: Residuals, weight_bits: int
    ) -> Iterator[tuple[slice, Design, Floats]]:
        """Yield blocks of rounded features, with their clipped and rounded residuals."""
        share_bits = self.share_bits(norm)
        for rows, design, scores, bits in self._scored_blocks(coefficients, norm, weight_bits):
            clipped = _clip_lengths(
                residuals(self.targets[rows], scores), design.residual_limits(norm)
            )
            shares = rounded_towards_zero(self.shares[rows, None], share_bits)
            yield rows, design, rounded_towards_zero(clipped * shares, bits)

    def _scored_blocks(
        self, coefficients: Floats, norm: float, weight_bits: int
    ) -> Iterator[tuple[slice, Design, Floats, int]]:
        """Yield blocks of rounded features, their scores, and the binary places of residuals.

        Residuals leave room for `weight_bits` binary places of sparse features, or products.
        """
        share_bits = self.share_bits(norm)
        for rows, features in self._parts(coefficients.shape[1]):
            slopes = coefficients[1:]
            if isinstance(features, np.ndarray):
                bits = share_bits // 2
                # Scores are exact too: their terms are added in an order that depends on the rows.
                largest = max(norm * float(np.linalg.norm(slopes)), 1.0)
                slope_bits = _BITS - bits - math.ceil(math.log2(largest)) - 1
                slopes = rounded_towards_zero(slopes, slope_bits)
                design = self._rounded_design(rows.start, features, bits)
            else:
                bits, design = share_bits - weight_bits, Design(features)
            yield rows, design, design.decision(slopes, coefficients[:1]), bits

    def _rounded_design(self, start: int, features: Floats, bits: int) -> Design:
        """Return rounded features of a block, which take the place of the cached ones."""
        kept_bits, design = self._designs.get(start, (None, None))
        if design is not None and kept_bits == bits and design.features is features:
            return design
        design = Design(rounded_towards_zero(features, bits))
        if self._cache.get(start) is features:
            self._cache[start], self._designs[start] = design.features, (bits, design)
        return design

    def _parts(self, n_outputs: int) -> Iterator[tuple[slice, Features]]:
        """Yield blocks in parts whose residuals are few enough to be held at once."""
        step = max(_MOST_RESIDUALS // n_outputs, 1)
        for rows, features in self.blocks():
            if features.shape[0] <= step:
                yield rows, features
                continue
            for start in range(0, features.shape[0], step):
                part = slice(rows.start + start, min(rows.start + start + step, rows.stop))
                yield part, features[start : start + step]

    def feature_sums(self, norm: float) -> Floats:
        total: Floats | float = 0.0
        bits = self.share_bits(norm) - self.weight_bits
        for rows, features in self.blocks():
            # At least the same row's residuals, which are this times a length of at most 1.
            shares = rounded_towards_zero(self.shares[rows, None], bits)
            total = total + Design(features).sums(shares)
        return np.asarray(total)

    def score_products(
        self, column_scores: Callable[[csr_array], Floats], score_bits: int
    ) -> Floats:
        """Sum the products of two columns' scores: exact, so that parts add up to the same.

        No product is rounded, so an owner adds an average of products z z', which is positive
        semidefinite. Rounded row by row it would not be: products of one sign may vanish while
        those of the other survive. `column_scores` maps features to scores of size at most 1, which
        are rounded towards zero to `score_bits` binary places.
        """
        bits = self.share_bits(1.0) - 2 * score_bits
        total: Floats | float = 0.0
        for block, one_hot in self.blocks():
            assert isinstance(one_hot, csr_array)
            z = rounded_towards_zero(column_scores(one_hot), score_bits)
            total = total + (z * rounded_towards_zero(self.shares[block, None], bits)).T @ z
        return np.asarray(total)

    def share_bits(self, norm: float) -> int:
        """Compute the binary places of shares at which sums of vectors of this norm are exact."""
        return _BITS - math.ceil(math.log2(max(self.total * max(norm, 1.0), 1.0))) - 1


@dataclass(frozen=True)
class StoredRows:
    """Sparse vectors with the fewest bytes, and what belongs to the rows."""

    codes: NDArray[np.unsignedinteger]  # (n_entries,): features of the entries, row by row
    # (n_rows + 1,): place of each row's first entry. None: all rows have equally many.
    ends: NDArray[np.int64] | None
    weights: Floats | None  # (n_entries,): entries; None: all are 1
    n_features: int
    targets: Targets  # this and the others: see `RowSums`
    shares: Floats
    total: float
    n_numbers: int
    weight_bits: int

    @classmethod
    def of(cls, rows: RowSums) -> StoredRows | None:
        """Return sparse vectors; None for dense ones, or if there are no rows."""
        blocks = [features for _, features in rows.blocks()]
        if not blocks or not all(isinstance(features, csr_array) for features in blocks):
            return None
        table = vstack(blocks, format="csr")
        n_rows, n_features = table.shape
        sizes = np.diff(table.indptr)
        return cls(
            codes=table.indices.astype(np.min_scalar_type(n_features)),
            ends=None if n_rows and (sizes == sizes[0]).all() else table.indptr.astype(np.int64),
            weights=None if (table.data == 1).all() else table.data,
            n_features=n_features,
            targets=rows.targets,
            shares=rows.shares,
            total=rows.total,
            n_numbers=rows.n_numbers,
            weight_bits=rows.weight_bits,
        )

    def rows(self) -> RowSums:
        return RowSums(
            transform=self._features,
            targets=self.targets,
            shares=self.shares,
            total=self.total,
            n_numbers=self.n_numbers,
            weight_bits=self.weight_bits,
        )

    def _features(self, rows: slice) -> csr_array:
        start, stop, _ = rows.indices(len(self.shares))
        if self.ends is None:
            n_entries = len(self.codes) // max(len(self.shares), 1)
            ends = n_entries * np.arange(start, stop + 1)
        else:
            ends = self.ends[start : stop + 1]
        part = slice(ends[0], ends[-1])
        codes = self.codes[part].astype(np.int32)
        weights = _ones(len(codes)) if self.weights is None else np.asarray(self.weights[part])
        shape = (stop - start, self.n_features)
        return csr_array((weights, codes, (ends - ends[0]).astype(np.int32)), shape=shape)


@lru_cache(maxsize=2)
def _ones(n_entries: int) -> Floats:
    """Return entries of one-hot rows: those of a whole block, or of the last one of a bucket.

    Two fifths of a round would be spent on making them again.
    """
    ones = np.ones(n_entries)
    ones.flags.writeable = False
    return ones


def add_cells(rows: PrivateRows[RowSums], features: PairedBins) -> PrivateRows[RowSums]:
    """Return the same rows with the cells of pairs beside one-hot features."""
    paired, _ = rows.keep(
        partial(RowSums.with_cells, features=features), StoredRows.of, StoredRows.rows
    )
    return paired


def as_vector(products: Floats) -> Floats:
    """Scale sums of products of scores so that each row adds a vector of length at most 1.

    It is the upper triangle over the number of columns; what is off the diagonal is multiplied by
    the square root of 2.
    """
    p = len(products)
    upper = np.triu_indices(p)
    return np.asarray(products[upper] * (np.where(upper[0] == upper[1], 1.0, np.sqrt(2)) / p))


def rounded_towards_zero(numbers: Floats, bits: int) -> Floats:
    """Round numbers towards zero to multiples of two to the power of -bits."""
    return np.asarray(np.trunc(np.ldexp(numbers, bits)) * 2.0**-bits)


def _clip_lengths(residuals: Floats, limits: Floats) -> Floats:
    """Shorten residuals to lengths just below their limits."""
    lengths = np.linalg.norm(residuals, axis=1, keepdims=True)
    factors = limits / np.maximum(lengths, limits)
    return np.asarray(residuals * ((1 - _LENGTH_MARGIN) * factors))
