"""A threshold that no row passes, by public numbers, is warned of before it is paid."""

import warnings

import pytest

from secretballot import ConfidentGNMax, PrivacyAccountant

VOTES = [[90, 5, 5], [20, 70, 10]]


def confident(threshold, **settings):
    return ConfidentGNMax(sigma=50.0, sigma_threshold=50.0, threshold=threshold, **settings)


def test_a_threshold_out_of_reach_of_all_votes_is_warned_of():
    accountant = PrivacyAccountant(1.0, 1e-5)
    with pytest.warns(UserWarning, match="threshold=1000 is out of reach.*Use a lower threshold"):
        accountant.release(confident(1000, n_votes=100), VOTES)


@pytest.mark.parametrize("mechanism", [confident(300, n_votes=100), confident(1000)])
def test_a_threshold_that_noise_reaches_or_of_a_private_number_of_votes_is_not(mechanism):
    accountant = PrivacyAccountant(1.0, 1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(accountant.release(mechanism, VOTES)) == 2
