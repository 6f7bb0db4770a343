"""Coefficients in a given order, and the order that follows from features of columns."""

import itertools

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from secretballot.linear import _posterior
from secretballot.linear._additive_bins import AdditiveBins, ColumnPair, PairedBins
from secretballot.linear._column_bins import CategoryBins, NumberBins, NumberKnots
from secretballot.linear._columns import PublicColumn
from secretballot.linear._posterior import (
    Posterior,
    monotone_posterior,
    ordered_coefficients,
    rounded_coefficients,
)
from secretballot.tables._columns import Column

#: Relations of five or six of eight coefficients: chains, a lattice of two columns, and a cycle.
ORDERS = {
    "a chain": [(1, 2), (2, 3), (3, 4), (4, 5)],
    "two chains, one falling": [(0, 1), (1, 2), (5, 4), (4, 3), (7, 5)],
    "a lattice": [(1, 2), (2, 3), (4, 5), (5, 6), (1, 4), (2, 5), (3, 6)],
    "both orders": [(1, 2), (2, 1), (2, 3), (3, 6)],
}


def law(seed, n=8):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, n)) * np.logspace(-1.5, 0, n)
    return rng.normal(size=n), factors @ factors.T + 1e-4 * np.eye(n)


def closest(values, covariance, relations):
    """Solve the program by trying all sets of relations that hold as equalities."""
    precision, best, least = np.linalg.inv(covariance), None, np.inf
    rows = np.zeros((len(relations), len(values)))
    for row, (lower, upper) in zip(rows, relations, strict=True):
        row[lower], row[upper] = -1, 1
    for size in range(len(rows) + 1):
        for active in itertools.combinations(range(len(rows)), size):
            own = rows[list(active)]
            moved = covariance @ own.T @ np.linalg.pinv(own @ covariance @ own.T) @ own @ values
            candidate = values - moved
            loss = moved @ precision @ moved
            if (rows @ candidate).min() > -1e-9 and loss < least:
                best, least = candidate, loss
    return best


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("order", ORDERS)
def test_coefficients_are_the_closest_in_order(order, seed):
    values, covariance = law(seed)
    relations = np.array(ORDERS[order])
    found = ordered_coefficients(values, covariance, relations)
    np.testing.assert_allclose(found, closest(values, covariance, relations), atol=1e-7)
    lower, upper = relations.T
    assert (found[lower] <= found[upper]).all()


def test_all_columns_of_a_posterior_are_put_in_order():
    (first, covariance), (second, _) = law(0), law(1)
    values = np.stack([first, second], axis=1)
    posterior = Posterior(values, np.ones((8, 2)), np.ones((8, 2)), np.ones(1), covariance)
    # Features are counted without the intercept, which is the first coefficient.
    ordered = monotone_posterior(posterior, np.array(ORDERS["a chain"]) - 1)
    expected = [closest(column, covariance, ORDERS["a chain"]) for column in (first, second)]
    np.testing.assert_allclose(ordered.coefficients, np.stack(expected, axis=1), atol=1e-7)
    assert ordered.variances is posterior.variances
    assert monotone_posterior(posterior, np.empty((0, 2), dtype=int)) is posterior


def test_equal_errors_without_correlation_make_isotonic_regression():
    values = np.random.default_rng(0).normal(size=300) + np.linspace(0, 1, 300)
    relations = np.stack([np.arange(299), np.arange(1, 300)], axis=1)
    found = ordered_coefficients(values, 0.01 * np.eye(300), relations)
    np.testing.assert_allclose(found, isotonic_regression(values).x, atol=1e-9)


def test_coefficients_in_order_stay():
    values, covariance = law(0)
    values[1:5] = np.sort(values[1:5])
    relations = np.array([(1, 2), (2, 3), (3, 4)])
    found = ordered_coefficients(values, covariance, relations)
    np.testing.assert_allclose(found, values, atol=1e-12)


def test_without_a_solution_in_time_the_order_holds(monkeypatch):
    def gives_up(*args, **kwargs):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(_posterior, "nnls", gives_up)
    values, covariance = law(1)
    relations = np.array(ORDERS["a lattice"])
    found = ordered_coefficients(values, covariance, relations)
    lower, upper = relations.T
    assert (found[lower] <= found[upper]).all()
    assert np.abs(found - values).max() < 2 * np.ptp(values)


def test_sums_of_rounded_coefficients_are_exact():
    rng = np.random.default_rng(0)
    values = rounded_coefficients(np.append(rng.normal(size=50) * 1e5, np.pi * 1e5))
    weights = np.arange(257) / 256
    for value in values:
        assert len(set(weights * value + (1 - weights) * value)) == 1
    np.testing.assert_array_equal(rounded_coefficients(values), values)
    np.testing.assert_array_equal(rounded_coefficients(np.zeros(3)), np.zeros(3))


def numbers():
    """Return public numbers of which 0, the least, and 5 and 6 are frequent."""
    rng = np.random.default_rng(0)
    return np.concatenate(
        [np.zeros(60), np.full(30, 5.0), np.full(20, 6.0), [5.1], rng.uniform(1, 9, 90)]
    )


def test_single_values_become_intervals_without_other_public_numbers():
    x = numbers()
    bins = NumberBins("x", np.array([0.0, 5.0, 6.0]), np.array([3.0, 5.2, 5.6, 7.0]), np.zeros(8))
    ordered = bins.in_order(x)
    assert not len(ordered.values)
    codes = ordered.codes(x)
    for value in bins.values:
        own = codes[x == value][0]
        assert set(x[codes == own]) == {value}
    # Numbers below the least one are with it.
    assert ordered.codes([-1.0])[0] == ordered.codes([0.0])[0] == 0
    # No bin is empty, and none of the former edges with numbers on both sides is lost.
    assert sorted(set(codes)) == list(range(ordered.n_bins))
    assert {3.0, 5.2, 5.6, 7.0} <= set(ordered.edges)
    order = np.argsort(x, kind="stable")
    assert (np.diff(codes[order]) >= 0).all()
    # The rank of a bin is the share of the rows below its middle row.
    assert ordered.ranks[2] == pytest.approx(((codes < 2).mean() + (codes <= 2).mean()) / 2)
    assert (np.diff(ordered.ranks) > 0).all()


def test_single_values_at_either_end_and_side_by_side():
    x = np.concatenate([np.full(30, 1.0), np.full(30, 2.0), [2.5, 2.7], np.full(30, 9.0)])
    bins = NumberBins("x", np.array([1.0, 2.0, 9.0]), np.empty(0), np.zeros(4))
    ordered = bins.in_order(x)
    np.testing.assert_array_equal(ordered.edges, [1.0, 2.0, 2.7])
    # Bins without single values stay what they are.
    assert ordered.in_order(x) is ordered


def test_single_values_become_knots_on_which_synthetic_rows_lie():
    x = numbers()
    bins = NumberBins("x", np.array([0.0, 5.0, 6.0]), np.array([3.0, 5.0, 7.0]), np.full(7, 0.5))
    knots = NumberKnots.of_bins(bins, 1.0, 9.0)
    ordered = knots.in_order(x)
    assert not len(ordered.values)
    np.testing.assert_array_equal(ordered.knots, [0.0, 1.0, 3.0, 5.0, 6.0, 7.0, 9.0])
    assert (np.diff(ordered.ranks) >= 0).all()
    codes = np.repeat(np.arange(7), 50)
    drawn, weights = ordered.drawn_entries(codes.astype(np.int32), np.random.default_rng(0))
    places = (weights * ordered.knots[drawn]).sum(axis=1).reshape(7, 50)
    assert (places[[0, 3, 4]] == ordered.knots[[0, 3, 4], None]).all()
    assert (np.ptp(places[[1, 2, 5, 6]], axis=1) > 0.5).all()
    assert ordered.in_order(x) is ordered


def bins_of(name, n_bins):
    edges = np.arange(1.0, n_bins)
    return NumberBins(name, np.empty(0), edges, (np.arange(n_bins) + 0.5) / n_bins)


def paired(groups):
    columns = [bins_of("a", 4), CategoryBins("b", np.array(["u", "v"])), bins_of("c", 2)]
    return PairedBins(AdditiveBins(columns), [ColumnPair((0, 1), groups)])


def test_cells_of_pairs_are_ordered_as_their_columns():
    features = paired((np.array([0, 0, 1, 2]), np.array([0, 1, 1])))
    relations = features.order_relations(np.array([1, 0, -1], dtype=np.int8))
    # Four bins, three categories and two bins; then 3 x 2 cells from 9 on.
    chain, falling = [(0, 1), (1, 2), (2, 3)], [(8, 7)]
    cells = [(9, 11), (10, 12), (11, 13), (12, 14)]
    assert sorted(map(tuple, relations.tolist())) == sorted([*chain, *falling, *cells])
    assert len(features.order_relations(np.zeros(3, dtype=np.int8))) == 0


def test_cells_of_merged_bins_in_another_order_are_equal():
    # Predictions along the first column pass the groups 0, 1, 0, 2.
    features = paired((np.array([0, 1, 0, 2]), np.array([0, 0, 0])))
    relations = features.order_relations(np.array([1, 0, 0], dtype=np.int8))
    cells = {(lower, upper) for lower, upper in relations.tolist() if lower >= 9}
    assert cells == {(9, 10), (10, 9), (9, 11)}


def test_only_columns_with_a_direction_are_put_in_order():
    x = numbers()
    bins = NumberBins("x", np.array([0.0]), np.array([3.0]), np.zeros(3))
    columns = [PublicColumn.of(Column("x"), x)] * 2
    ordered = AdditiveBins([bins, bins]).in_order(np.array([0, 1]), columns)
    assert ordered.columns[0] is bins
    np.testing.assert_array_equal(ordered.columns[1].edges, [0.0, 3.0])


def test_monotone_sums_have_monotone_parts():
    # As docs/theory/logistic-regression.md says of pairs: the smallest rises of cells are moved.
    rng = np.random.default_rng(0)
    for _ in range(50):
        groups = np.unique(np.sort(rng.integers(0, 4, 8)), return_inverse=True)[1]
        cells = rng.normal(size=(groups.max() + 1, 3))
        steps = cells[groups[1:]] - cells[groups[:-1]]
        effects = np.append(0, np.cumsum(rng.exponential(size=7) - steps.min(axis=1)))
        total = effects[:, None] + cells[groups]
        assert (np.diff(total, axis=0) > 0).all()
        assert not (np.diff(cells, axis=0) >= 0).all() or groups.max() == 0
        moved = np.append(0, np.cumsum(np.diff(cells, axis=0).min(axis=1)))
        own, others = effects + moved[groups], cells - moved[:, None]
        np.testing.assert_allclose(own[:, None] + others[groups], total)
        assert (np.diff(own) > 0).all()
        assert (np.diff(others, axis=0) > -1e-12).all()
