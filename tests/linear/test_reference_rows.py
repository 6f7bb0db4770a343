"""Rows that stand for the private ones: their margins, correlations and weights."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from secretballot import PrivacyAccountant, PrivateLinearRegression, PublicData
from secretballot.linear._additive_bins import AdditiveBins, nullable_bins
from secretballot.linear._column_bins import NumberBins
from secretballot.linear._design import Design
from secretballot.linear._reference_rows import (
    N_SYNTHETIC,
    PERMUTED_SIZE,
    ReferenceRows,
    dense_reference_rows,
)
from secretballot.linear._synthetic_rows import (
    ColumnMargins,
    column_margins,
    draw_rows,
    released_correlations,
)

EDGES = np.array([-1.0, 0.0, 1.0])


def bins(n_columns):
    """Return columns of four bins each."""
    return AdditiveBins(
        [NumberBins(index, np.empty(0), EDGES, np.arange(4.0)) for index in range(n_columns)]
    )


def margins(n_columns, rng):
    shares = rng.dirichlet(np.ones(4), n_columns)
    return [ColumnMargins(share, np.array([0.5, -1.0, 1.0, 0.0])) for share in shares]


def scores_of(drawn, column_margins_):
    score_of_bin = np.concatenate([margin.scores for margin in column_margins_])
    return score_of_bin[drawn.indices].reshape(drawn.shape[0], -1)


def test_synthetic_rows_have_the_shares_of_the_margins():
    expected = margins(5, np.random.default_rng(0))
    drawn = draw_rows(bins(5), expected, np.zeros((5, 5)), np.zeros((5, 5)))
    assert drawn.shape == (N_SYNTHETIC, 20)
    shares = np.concatenate([margin.shares for margin in expected])
    np.testing.assert_allclose(drawn.sum(axis=0) / N_SYNTHETIC, shares, atol=1.01 / N_SYNTHETIC)


def test_synthetic_rows_follow_known_correlations_and_else_the_prior():
    uniform = [ColumnMargins(np.full(4, 0.25), np.array([-1.0, -0.3, 0.3, 1.0]))] * 2
    found = {}
    for precision in (0.0, 1e6):
        known = np.array([[1.0, -0.8], [-0.8, 1.0]])
        drawn = draw_rows(bins(2), uniform, known, np.full((2, 2), precision))
        found[precision] = np.corrcoef(scores_of(drawn, uniform).T)[0, 1]
    assert found[1e6] == pytest.approx(-0.75, abs=0.05)
    assert found[0.0] == pytest.approx(0.2, abs=0.05)


def test_released_products_give_the_correlations_of_rows():
    rng = np.random.default_rng(1)
    expected = margins(3, rng)
    drawn = draw_rows(bins(3), expected, np.full((3, 3), 0.6), np.full((3, 3), 1e9))
    scores = scores_of(drawn, expected)
    upper = np.triu_indices(3)
    products = (scores.T @ scores / len(scores))[upper] / 3
    products *= np.where(upper[0] == upper[1], 1.0, np.sqrt(2))
    correlations, _ = released_correlations(expected, products, 1e-3)
    np.testing.assert_allclose(correlations, np.corrcoef(scores.T), atol=0.02)


def test_margins_lie_between_released_means_and_public_shares():
    features, means = bins(1), np.array([0.4, 0.3, 0.2, 0.1])
    public = csr_array(np.tile([0.0, 0.0, 0.0, 1.0], (50, 1)))
    residuals = np.array([[0.1], [0.0], [0.0], [-0.05]])

    def shares(noise, rows):
        return column_margins(features, residuals, means, noise, rows)[0].shares

    np.testing.assert_allclose(shares(1e-9, public), means, atol=1e-6)
    np.testing.assert_allclose(shares(1e-9, None), means, atol=1e-6)
    smoothed = np.array([1, 1, 1, 51]) / 54
    np.testing.assert_allclose(shares(1e3, public), smoothed, atol=0.01)
    between = shares(0.05, public)
    assert (between > np.minimum(means, smoothed)).all()
    assert (between < np.maximum(means, smoothed)).all()


def test_weights_and_the_limit_of_no_public_rows():
    rng = np.random.default_rng(2)
    synthetic, public = rng.normal(size=(300, 2)), rng.normal(size=(100, 2))
    both = ReferenceRows.from_rows(public, synthetic, 50.0)
    assert both.effective_size == 150
    assert both.weights.sum() == pytest.approx(1)
    expected = (public.mean(axis=0) * 100 + synthetic.mean(axis=0) * 50) / 150
    np.testing.assert_allclose(both.means(np.ones((400, 1)))[:, 0], expected)
    few = ReferenceRows.from_rows(public[:0], synthetic, 50.0)
    alone = ReferenceRows.from_rows(None, synthetic, 50.0)
    assert few.effective_size == alone.effective_size == 50
    np.testing.assert_allclose(few.weights, alone.weights)
    np.testing.assert_allclose(few.products(np.ones((300, 1))), alone.products(np.ones((300, 1))))


def test_permuted_columns_keep_means_and_lose_correlations():
    rng = np.random.default_rng(3)
    column = rng.normal(size=1000)
    reference = dense_reference_rows(np.stack([column, column, np.ones(1000)], axis=1))
    synthetic = reference.design.features[1000:]
    assert reference.effective_size == 1000 + PERMUTED_SIZE
    np.testing.assert_allclose(synthetic.mean(axis=0), [column.mean()] * 2 + [1.0])
    assert abs(np.corrcoef(synthetic[:, :2].T)[0, 1]) < 0.1


def test_products_of_one_hot_rows_are_those_of_dense_rows():
    rng = np.random.default_rng(4)
    table = rng.normal(size=(50, 3)) * 2
    table[rng.random(table.shape) < 0.1] = np.nan
    one_hot, weights = bins(3).transform_columns(list(table.T)), rng.normal(size=(50, 2))
    expected = Design(one_hot.toarray()).products(weights)
    np.testing.assert_allclose(Design(one_hot).products(weights), expected, atol=1e-12)


@pytest.mark.parametrize(("n_columns", "n_values"), [(12, 2), (3, 9)])
def test_products_and_squares_of_one_hot_rows_with_many_or_few_pairs(n_columns, n_values):
    rng = np.random.default_rng(5)
    codes = rng.integers(n_values, size=(40, n_columns)) + n_values * np.arange(n_columns)
    entries = (np.ones(codes.size), codes.ravel(), np.arange(41) * n_columns)
    one_hot, weights = (
        csr_array(entries, shape=(40, n_columns * n_values)),
        rng.normal(size=(40, 2)),
    )
    dense = one_hot.toarray()
    expected = np.einsum("nc,ni,nj->cij", weights, dense, dense)
    np.testing.assert_allclose(Design(one_hot).products(weights), expected, atol=1e-12)
    covariance = np.cov(rng.normal(size=(1 + dense.shape[1], 50)))
    rows = np.concatenate([np.ones((40, 1)), dense], axis=1)
    quadratic = np.einsum("ni,ij,nj->n", rows, covariance, rows)
    for design in (Design(one_hot), Design(dense)):
        np.testing.assert_allclose(design.quadratic(covariance), quadratic, atol=1e-12)


def test_raked_weights_give_the_wanted_shares_and_keep_odds_ratios():
    # Two columns of two bins; a table of counts, whose margins are to be (.5, .5) and (.9, .1).
    features = AdditiveBins(
        [
            NumberBins(index, np.empty(0), np.array([0.0]), np.array([0.25, 0.75]))
            for index in (0, 1)
        ]
    )
    codes = np.repeat(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32), [6, 2, 1, 3], 0)
    rows = features.rows_of_codes(codes, np.random.default_rng(0))
    reference = ReferenceRows(Design(rows), np.full(12, 1 / 12), 12.0)
    raked = reference.raked(
        [(slice(0, 2), np.array([0.5, 0.5])), (slice(2, 4), np.array([0.9, 0.1]))]
    )
    shares = raked.means(np.ones((12, 1)))[:, 0]
    np.testing.assert_allclose(shares, [0.5, 0.5, 0.9, 0.1], atol=1e-9)
    table = np.array(
        [raked.weights[(codes == cell).all(axis=1)].sum() for cell in np.ndindex(2, 2)]
    )
    assert table[0] * table[3] / (table[1] * table[2]) == pytest.approx(6 * 3 / (2 * 1))
    expected_size = 12 * (1 / 12) / (raked.weights**2).sum()
    assert raked.effective_size == pytest.approx(expected_size)


def test_rows_with_missing_cells_keep_their_weight_and_absent_bins_get_none():
    features = bins(1)
    rows = features.rows_of_codes(np.array([[0], [0], [1], [3]], dtype=np.int32), None)
    rows.data[0] = 0.0  # the first row's cell is missing
    reference = ReferenceRows(Design(rows), np.full(4, 0.25), 4.0)
    raked = reference.raked([(slice(0, 4), np.array([0.2, 0.2, 0.4, 0.2]))])
    np.testing.assert_allclose(raked.weights, [0.25, 0.25, 0.25, 0.25], atol=1e-12)


@pytest.mark.parametrize(("share", "is_like_public"), [(0.25, True), (0.45, False)])
def test_shares_that_public_rows_can_not_have_are_the_released_ones(share, is_like_public):
    others = (1 - share) / 3
    means = np.array([share, others, others, others])
    codes = np.arange(400, dtype=np.int32)[:, None] % 4
    public = bins(1).rows_of_codes(codes, None)
    (margin,) = column_margins(bins(1), means[:, None] - 0.25, means, 1e-3, public)
    assert margin.is_like_public == is_like_public
    np.testing.assert_allclose(margin.shares, means, atol=2e-3)


@pytest.mark.parametrize(("missing", "is_like_public"), [(0.01, True), (0.05, False)])
def test_missing_cells_that_no_public_row_has_are_the_released_ones(missing, is_like_public):
    features = nullable_bins(bins(1))
    means = np.append(np.full(4, (1 - missing) / 4), missing)
    codes = np.arange(300, dtype=np.int32)[:, None] % 4
    public = features.rows_of_codes(codes, np.random.default_rng(0))
    (margin,) = column_margins(features, means[:, None] - 0.2, means, 1e-3, public)
    assert margin.is_like_public == is_like_public
    if not is_like_public:
        assert margin.shares[-1] == pytest.approx(missing, abs=1e-3)


def test_rare_bins_that_a_few_public_rows_miss_are_no_difference():
    # With 25 public rows, the most frequent of 40 bins is all that they show.
    shares = np.append(np.full(39, 0.1 / 39), 0.9)
    features = AdditiveBins([NumberBins(0, np.empty(0), np.arange(39.0), np.arange(40.0))])
    public = features.rows_of_codes(np.full((25, 1), 39, dtype=np.int32), None)
    (margin,) = column_margins(features, np.zeros((40, 1)), shares, 1e-4, public)
    assert margin.is_like_public


def clinic(n, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "c": rng.choice(list("xyz"), n, p=[0.4, 0.3, 0.3])})
    return X, (X["a"] + 2 * (X["c"] == "z") + rng.normal(scale=0.5, size=n)).to_numpy()


@pytest.mark.filterwarnings("ignore:.*reproducible")
@pytest.mark.parametrize("how", ["no z", "shifted"])
def test_public_rows_with_other_shares_do_not_spoil_a_fit(how, monkeypatch):
    X, y = clinic(20_000, 0)
    pool, _ = clinic(400, 1)
    pool = pool[pool["c"] != "z"] if how == "no z" else pool.assign(a=pool["a"] / 2 + 1)
    new, answers = clinic(2_000, 2)

    def score(seed):
        model = PrivateLinearRegression(
            target_bounds=(-6, 8),
            check_public_rows=False,
            accountant=PrivacyAccountant(1.0, 1e-5),
            random_state=seed,
        ).fit(X, y, X_public=PublicData(pool))
        return model.score(new, answers)

    assert score(0) > 0.75
    if how == "shifted":  # then the noise decides whether rounds diverge
        monkeypatch.setattr(ReferenceRows, "raked", lambda self, shares: self)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit may be seen to have failed
            assert np.mean([score(seed) for seed in range(4)]) < 0.77
