"""Texts of refusals: no figure that depends on the votes, and advice that fits the budget."""

import math
import re

import numpy as np
import pytest
from tests._fakes import Gaussian, votes

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.costs._split_plan import SplitPlan
from secretballot.mechanisms import ConfidentGNMax, GNMax, StableTopK

pytestmark = pytest.mark.filterwarnings("ignore:accounting='data_dependent'")


def budget(order=None, accounting="data_dependent", **options):
    return PrivacyAccountant(1.0, 1e-5, order=order, accounting=accounting, **options)


def refusals(winners, scope_epsilon):
    """Spend on a table, and collect the texts of all ways to ask for more."""
    accountant = budget()
    table = np.array([[winner, 250.0 - winner] for winner in winners])
    accountant.release(GNMax(sigma=60.0), table)
    scope = accountant.scope(scope_epsilon)
    one_row, many = np.array([[winners[0], 250.0 - winners[0]]]), 50
    asked = (
        lambda: accountant.release(GNMax(sigma=1.0), one_row, scope=scope),
        lambda: accountant.release(
            ConfidentGNMax(sigma=1.0, sigma_threshold=1.0, threshold=125.0), one_row, scope=scope
        ),
        lambda: accountant.reserve(GNMax(sigma=2.0), many, n_columns=2, scope=scope),
        lambda: accountant.price(GNMax(sigma=2.0), many, n_columns=2, scope=scope),
    )
    texts = []
    for ask in asked:
        with pytest.raises(BudgetExceededError) as caught:
            ask()
        texts.append(str(caught.value))
    return texts


@pytest.mark.parametrize("scope_epsilon", [None, 0.9])
def test_neighbouring_votes_have_the_same_refusals(scope_epsilon):
    """One ballot moves the counts of every row by one."""
    here = refusals([127.0] * 3, scope_epsilon)
    neighbour = refusals([126.0] * 3, scope_epsilon)
    assert here == neighbour
    for text in here:
        assert "withheld" in text
        # The cap of the scope is public.
        assert re.findall(r"\d[\d.e-]*", text) == ([] if scope_epsilon is None else ["0.9"])


@pytest.mark.parametrize("order", ["renyi", "gaussian", math.inf])
@pytest.mark.parametrize("accounting", ["worst_case", "sanitized"])
def test_other_budgets_state_the_figures(order, accounting):
    accountant = budget(order, accounting)
    with pytest.raises(BudgetExceededError, match=r"\d.* left|left.*\d"):
        accountant.reserve(GNMax(sigma=2.0), 50, n_columns=2)


@pytest.mark.parametrize("order", ["renyi", "gaussian"])
def test_the_advice_says_if_anything_was_spent(order):
    accountant = budget(order, "worst_case")
    loud = Gaussian(sigma=0.5)
    with pytest.raises(BudgetExceededError, match="nothing of this one has been spent"):
        accountant.release(loud, votes(1))
    accountant.release(Gaussian(sigma=100.0), votes(1))
    with pytest.raises(BudgetExceededError, match="otherwise what is left stays for releases"):
        accountant.release(loud, votes(1))
    rest = accountant.calibrate(lambda sigma: Gaussian(sigma=sigma), 1)
    accountant.release(rest, votes(1))
    with pytest.raises(BudgetExceededError, match="this budget is used up"):
        accountant.release(loud, votes(1))


def test_own_deltas_are_withheld_from_calibration():
    with pytest.raises(ValueError, match="figures are withheld"):
        budget(approximation_delta=1e-6).calibrate(
            lambda noise: StableTopK(rho=1 / noise**2, delta_t=2e-6), 6, n_columns=5
        )


@pytest.mark.parametrize(("start", "stop"), [(5, 8), (8, 12), (4, 3), (-1, 2)])
def test_rows_beyond_a_plan_have_no_price(start, stop):
    plan = SplitPlan(GNMax(sigma=40.0), 6, 2)
    with pytest.raises(ValueError, match="not part of a plan of 6 rows"):
        plan.pieces("rows", start, stop)
    assert all(piece.gaussian_cost(1e-7).mu2 > 0 for piece in plan.pieces("rows", 5, 6).values())
