"""Calibrated noise on the real mechanisms: every row fits, one more doesn't, less noise neither."""

import numpy as np
import pytest
from tests._fakes import calibrated

from secretballot import BudgetExceededError, GNMax, PrivacyAccountant
from secretballot.accounting import EVERYONE
from secretballot.mechanisms import VectorSum

RENYI = [("renyi", *each) for each in [(0.2, 30), (1.0, 1), (2.0, 2000)]]
MU2 = [("gaussian", *each) for each in [(0.2, 3), (2.0, 200)]]


@pytest.mark.parametrize("n_columns", [2, 3])
@pytest.mark.parametrize(("order", "epsilon", "n_queries"), RENYI + MU2)
def test_all_rows_fit_and_not_one_more(n_columns, order, epsilon, n_queries):
    if (order, n_columns, n_queries) == ("gaussian", 3, 200):
        pytest.skip("takes seconds, and says what three rows do")
    accountant = PrivacyAccountant(epsilon, 1e-5, order=order)
    mechanism = accountant.calibrate(GNMax, n_queries, n_columns=n_columns)
    votes = np.full((n_queries, n_columns), 10)
    assert len(accountant.release(mechanism, votes)) == n_queries
    assert (0.9999 if order == "renyi" else 0.998) <= accountant.spent().share <= 1
    assert accountant.spent().epsilon <= epsilon
    with pytest.raises(BudgetExceededError):
        accountant.release(mechanism, votes[:1])


def test_calibration_needs_as_much_noise_as_the_published_rule_needs_less_accuracy():
    # For the same (epsilon, delta) and queries the exact charge needs 20 % less noise.
    wanted = {"epsilon": 1.0, "delta": 1e-5, "n_rows": 100, "n_columns": 2}
    exact = calibrated(GNMax, **wanted, order="renyi")
    published = calibrated(
        lambda sigma: VectorSum(sigma=sigma, diameter=2**0.5), **wanted, order="renyi"
    )
    assert 0.79 < exact.sigma / published.sigma < 0.81
    assert float((100 * exact.max_cost(2)[EVERYONE]).epsilon(1e-5)) <= 1.0
