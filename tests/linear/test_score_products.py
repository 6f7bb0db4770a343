"""Released products of columns: an owner of many rows moves them by no more than charged."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from secretballot.linear._additive_bins import AdditiveBins
from secretballot.linear._column_bins import NumberBins
from secretballot.linear._private_sums import RowSums, as_vector
from secretballot.linear._synthetic_rows import SCORE_BITS


def bins(n_columns):
    """Return columns of four bins each: a row chooses among four codes in each column."""
    edges, nothing = np.array([-1.0, 0.0, 1.0]), np.empty(0)
    return AdditiveBins([NumberBins(at, nothing, edges, np.arange(4.0)) for at in range(n_columns)])


def matrices(rows, share, codes, total):
    """Return what each of the rows adds, as symmetric matrices of shape (n_rows, p, p)."""
    p = rows.shape[1]
    features = bins(p)
    upper = np.triu_indices(p)
    out = np.zeros((len(rows), p, p))
    for place, row in enumerate(rows):
        private = RowSums(
            transform=lambda _, row=row: features.transform_columns(row[:, None] - 1.5),
            targets=np.zeros(1),
            shares=np.array([share]),
            total=total,
            n_numbers=p,
        )
        products = private.score_products(partial(features.column_scores, scores=codes), SCORE_BITS)
        out[(place, *upper)] = as_vector(products)
    diagonal = np.einsum("nii->ni", out)
    whole = (out + out.transpose(0, 2, 1)) / np.sqrt(2)
    np.einsum("nii->ni", whole)[:] = diagonal
    return whole


def furthest(found):
    """Return how far each matrix lies at most from a mean of products z z' with |z| <= 1.

    The square of the distance to B is |A|^2 + |B|^2 - 2 <A, B>: of all B that are positive
    semidefinite and have a trace of at most 1, the furthest is along A's smallest eigenvalue, or 0.
    """
    least = np.linalg.eigvalsh(found)[:, 0]
    lengths = (found**2).sum(axis=(1, 2))
    return np.sqrt(np.maximum(lengths + 1 - 2 * least, lengths))


def adverse_rows(p, rng):
    """Return rows of four bins whose codes are 1, -1 and, a little less, b and -b."""
    half = np.arange(p) < p // 2
    star = np.arange(p) < 1
    chosen = [np.where(half, 0, 3), np.where(star, 0, 3), np.where(half, 0, 2), np.zeros(p)]
    return np.stack([*chosen, *rng.integers(4, size=(2, p))]).astype(float)


@pytest.mark.parametrize("p", [2, 8, 20])
def test_owners_of_any_number_of_rows(p):
    rng = np.random.default_rng(p)
    rows = adverse_rows(p, rng)
    sizes = np.unique(np.geomspace(1, 200_000, 40).astype(int))
    # Sizes at which products of a row stop to be as large as one step of some grid.
    sizes = np.unique([*sizes, *(int(2**b * 2**0.5 / p) for b in range(8, 21))])
    for n_rows in sizes[sizes > 0]:
        weight = np.floor(2.0**51 / n_rows) / 2.0**51  # as of `People`
        for b in (255 / 256, 230 / 256):
            codes = [np.array([1.0, -1.0, -b, b])] * p
            found = n_rows * matrices(rows, weight, codes, total=100.0)
            assert furthest(found).max() <= np.sqrt(2) * (1 + 1e-12), (n_rows, b)


def test_owners_weigh_the_same_whatever_their_number_of_rows():
    p, n_rows = 8, 10_000
    codes = [np.array([1.0, -1.0, -0.5, 0.5])] * p
    row = np.zeros((1, p))
    (one,) = matrices(row, 1.0, codes, 1000.0)
    (many,) = n_rows * matrices(row, 1 / n_rows, codes, 1000.0)
    assert np.trace(one) == pytest.approx(1)
    assert many == pytest.approx(one, rel=0.01)


def test_parts_add_up_to_the_bits_of_all_rows():
    p, rng = 3, np.random.default_rng(0)
    features, scores = bins(p), [np.array([1.0, -0.3, 0.7, -0.9])] * p
    rows, shares = rng.integers(4, size=(1000, p)) - 1.5, 1 / rng.integers(1, 8, 1000)

    def products(part):
        private = RowSums(
            transform=lambda block: features.transform_columns(rows[part][block].T),
            targets=np.zeros(len(rows[part])),
            shares=shares[part],
            total=1000.0,
            n_numbers=p,
        )
        return private.score_products(partial(features.column_scores, scores=scores), SCORE_BITS)

    parts = sum(products(slice(start, start + 77)) for start in range(0, 1000, 77))
    assert as_vector(parts).tobytes() == as_vector(products(slice(None))).tobytes()
