"""Mistakes with functions from an amount of noise to a mechanism, and with orders."""

import re

import pytest

from secretballot import ConfidentGNMax, GNMax, PrivacyAccountant


def constant(noise):
    del noise
    return GNMax(sigma=5.0)


def constant_threshold(noise):
    del noise
    return ConfidentGNMax(sigma=5.0, sigma_threshold=5.0, threshold=20.0)


def inverse(noise):
    return GNMax(sigma=5.0 / noise)


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
@pytest.mark.parametrize(
    ("make", "epsilon"),
    [(constant, 1.0), (constant_threshold, 1.0), (inverse, 1.0), (inverse, 100.0)],
)
def test_a_function_must_make_more_noise_of_more(order, make, epsilon):
    accountant = PrivacyAccountant(epsilon, 1e-5, order=order)
    with pytest.raises(ValueError, match="no more noise from a larger amount.*sigma=noise") as e:
        accountant.calibrate(make, 10, n_columns=2)
    assert "fewer queries" not in str(e.value)
    assert accountant.calibrate(lambda noise: GNMax(sigma=noise), 10, n_columns=2).sigma > 0


@pytest.mark.parametrize("order", [1, 0.5, -3.0])
def test_an_order_below_the_grid_has_one_nearest(order):
    with pytest.raises(ValueError, match=r"the smallest is 1\.01\.$"):
        PrivacyAccountant(1.0, 1e-5, order=order)


def test_the_nearest_orders_are_accepted():
    for middle in (2.1, 10.3, 55.0, 60.0, 1000.0, 4000.0):
        with pytest.raises(ValueError, match="nearest") as error:
            PrivacyAccountant(20.0, 1e-5, order=middle)
        below, above = re.search("nearest are (.*) and (.*)[.]$", str(error.value)).groups()
        assert float(below) < middle < float(above)
        for order in (below, above):
            assert PrivacyAccountant(20.0, 1e-5, order=float(order)).epsilon == 20.0
