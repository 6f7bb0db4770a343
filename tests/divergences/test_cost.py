"""RenyiCost: composition, and conversion against closed forms and an independent library."""

import pickle

import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st

from secretballot.accounting import ORDERS, RenyiCost
from secretballot.costs._cost import epsilon_at_orders, renyi_budget
from secretballot.costs._orders import order_index

GAUSSIAN = RenyiCost(ORDERS / (2 * 10.0**2))


def test_grid_holds_the_orders_of_published_tables_and_infinity():
    assert set(range(2, 51)) <= set(ORDERS)
    assert np.isinf(ORDERS[-1])
    assert np.all(np.diff(ORDERS) > 0)
    assert ORDERS[0] > 1
    with pytest.raises(ValueError, match=r"order=2\.1 is not one of .* nearest are 2 and 2\.25"):
        order_index(2.1)


def test_sequential_composition_adds_and_parallel_takes_the_maximum():
    other = RenyiCost(np.sqrt(ORDERS), delta=1e-6)
    total = GAUSSIAN + other
    nearest = GAUSSIAN.curve + other.curve
    assert ((nearest <= total.curve) & (total.curve <= np.nextafter(nearest, np.inf))).all()
    assert total.delta == 1e-6
    either = GAUSSIAN.parallel(other)
    np.testing.assert_array_equal(either.curve, np.maximum(GAUSSIAN.curve, other.curve))
    assert either.delta == 1e-6


@given(st.integers(0, 500))
def test_a_count_is_never_forgotten(count):
    release = RenyiCost.from_epsilon_delta(0.1, 1e-7)
    total = release * count
    np.testing.assert_allclose(total.curve, release.curve * count)
    assert total.delta == pytest.approx(1e-7 * count)


def test_an_infinite_curve_used_zero_times_costs_nothing():
    assert np.isinf(GAUSSIAN.at(np.inf))
    none = GAUSSIAN * np.array([0.0, 1.0])
    assert none.at(np.inf)[0] == 0
    assert np.isinf(none.at(np.inf)[1])


def test_a_single_release_has_plain_numbers_and_a_batch_arrays():
    batch = GAUSSIAN * np.arange(4)
    for number, array in (
        (GAUSSIAN.epsilon(1e-5), batch.epsilon(1e-5)),
        (GAUSSIAN.at(2.0), batch.at(2.0)),
    ):
        assert type(number) is float
        assert array.shape == (4,)
        assert array[1] == number


def test_batches_sum_and_slice():
    batch = GAUSSIAN * np.arange(4)
    assert batch.shape == (4,)
    np.testing.assert_allclose(batch.sum().curve[:-1], 6 * GAUSSIAN.curve[:-1])
    np.testing.assert_allclose(batch[1:3].sum().curve[:-1], 3 * GAUSSIAN.curve[:-1])
    np.testing.assert_allclose(batch.max().curve[:-1], 3 * GAUSSIAN.curve[:-1])


@pytest.mark.parametrize(
    ("sigma", "count", "delta"), [(10, 1, 1e-5), (40, 100, 1e-6), (5, 7, 0.01)]
)
def test_cks_conversion_against_dp_accounting(sigma, count, delta):
    import dp_accounting

    finite = [float(a) for a in ORDERS[:-1]]
    oracle = rdp_privacy_accountant.RdpAccountant(finite)
    oracle.compose(dp_accounting.GaussianDpEvent(sigma), count)
    ours = (RenyiCost(ORDERS / (2 * sigma**2)) * count).epsilon(delta)
    # The oracle also knows a bound of its own for small divergences; it never exceeds ours.
    assert float(ours) == pytest.approx(oracle.get_epsilon(delta), rel=1e-6)


def test_mironov_conversion_is_its_formula():
    orders = range(2, 51)
    expected = min(a / 200 + np.log(1e5) / (a - 1) for a in orders)
    got = GAUSSIAN.epsilon(1e-5, conversion="mironov", orders=orders)
    assert float(got) == pytest.approx(expected, rel=1e-12)


def test_approximation_delta_is_taken_from_delta():
    curve = GAUSSIAN.curve
    assert RenyiCost(curve, 1e-6).epsilon(1e-5) == pytest.approx(
        float(RenyiCost(curve).epsilon(9e-6)), rel=1e-12
    )
    assert np.isinf(RenyiCost(curve, 1e-5).epsilon(1e-5))
    # Order infinity needs no delta but can't repair a deficit either.
    pure = RenyiCost.from_epsilon_delta(0.5, 1e-5)
    assert pure.epsilon(1e-5) == 0.5
    assert np.isinf(pure.epsilon(0.9e-5))


@given(st.floats(0.01, 20), st.floats(1e-12, 0.1))
@settings(max_examples=50)
def test_budget_is_the_inverse_of_the_conversion(epsilon, delta):
    finite = ORDERS[:-1]
    budget = renyi_budget(epsilon, delta, finite)
    usable = budget > 0
    converted = epsilon_at_orders(budget[usable], finite[usable], delta)
    assert np.all(converted <= epsilon * (1 + 1e-15))
    np.testing.assert_allclose(converted, epsilon, rtol=1e-10)


@given(st.floats(0.001, 5))
def test_pure_dp_curve_is_above_randomised_response(epsilon):
    # Randomised response attains pure DP, so no valid curve is below its divergence.
    p = np.exp(epsilon) / (1 + np.exp(epsilon))
    finite = ORDERS[:-1]
    moment = np.logaddexp(
        finite * np.log(p) + (1 - finite) * np.log1p(-p),
        finite * np.log1p(-p) + (1 - finite) * np.log(p),
    )
    curve = RenyiCost.from_epsilon_delta(epsilon).curve
    assert np.all(curve[:-1] >= moment / (finite - 1) - 1e-12)
    assert curve[-1] == epsilon


@pytest.mark.parametrize("epsilon", [1e300, np.float64(1e300)])
def test_a_pure_epsilon_may_be_as_large_as_a_float(epsilon):
    assert (RenyiCost.from_epsilon_delta(epsilon).curve == epsilon).all()


def test_bad_input_names_what_is_wrong():
    with pytest.raises(ValueError, match="last axis must hold 150 orders"):
        RenyiCost([1.0, 2.0])
    with pytest.raises(ValueError, match="curve must be non-negative and not NaN"):
        RenyiCost(np.full(len(ORDERS), np.nan))
    with pytest.raises(ValueError, match="delta must be non-negative"):
        RenyiCost(np.zeros(len(ORDERS)), -1e-9)
    with pytest.raises(ValueError, match="count must be non-negative"):
        GAUSSIAN * -1
    with pytest.raises(ValueError, match="conversion='renyi' is unknown"):
        GAUSSIAN.epsilon(1e-5, conversion="renyi")


def test_immutable_and_picklable():
    with pytest.raises(AttributeError, match="immutable"):
        GAUSSIAN.delta = 0.5
    again = pickle.loads(pickle.dumps(GAUSSIAN))
    np.testing.assert_array_equal(again.curve, GAUSSIAN.curve)
