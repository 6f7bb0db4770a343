"""Budgets of basic composition: a batch of votes is one plan, and pays one pair."""

import json
import math
import warnings

import numpy as np
import pytest
from tests._fakes import Pure

from secretballot.accounting import BudgetExceededError, PrivacyAccountant, price_plan, replay
from secretballot.ledger import Ledger
from secretballot.mechanisms import ConfidentGNMax, GNMax, RoundRobin

LOG2 = math.log(2)


def budget(epsilon=LOG2, delta=1e-5, **options):
    return PrivacyAccountant(epsilon, delta, order=math.inf, **options)


def tied(n_rows):
    return np.full((n_rows, 2), 125.0)


def pair(entry, level="everyone"):
    cost = entry.charges[level]
    return float(cost.at(math.inf)), float(cost.delta)


@pytest.mark.parametrize(("epsilon", "labels"), [(LOG2, 44), (1.0, 88)])
def test_labels_that_a_plan_buys(epsilon, labels):
    accountant = budget(epsilon)
    assert len(accountant.release(GNMax(sigma=40), tied(3 * labels))) == labels
    # The same budget, gated at a Renyi order, buys 38 and 76.
    renyi = PrivacyAccountant(epsilon, 1e-5, order="renyi")
    assert labels > 1.1 * len(renyi.release(GNMax(sigma=40), tied(3 * labels)))


def test_the_pair_is_on_the_plan_s_curve_and_in_the_ledger(tmp_path):
    accountant = budget(ledger=tmp_path / "ledger")
    accountant.release(GNMax(sigma=40), tied(20), note={"of": "a test"})
    (entry,) = accountant.entries()
    epsilon, delta = pair(entry)
    assert price_plan(GNMax(sigma=40), 20, n_columns=2).delta(epsilon) <= delta
    assert epsilon / LOG2 == pytest.approx(delta / 1e-5)
    assert accountant.spent().share == pytest.approx(epsilon / LOG2)
    assert json.loads(entry.note) == {"of": "a test", "priced": "as one plan"}
    assert "the price of all answers was fixed before anything was drawn" in " ".join(
        str(accountant.statement()).split()
    )
    assert replay(Ledger.open(tmp_path / "ledger"))["everyone"].share == accountant.spent().share


def test_plans_add_up_and_never_to_more_than_the_budget():
    accountant = budget(1.0)
    answered = [len(accountant.release(GNMax(sigma=40), tied(15))) for _ in range(2)]
    assert answered == [15, 15]
    answered += [len(accountant.release(GNMax(sigma=40), tied(200)))]
    assert 30 < sum(answered) < 80  # of 88 rows of one plan: pairs add up worse
    total = np.sum([pair(entry) for entry in accountant.entries()], axis=0)
    assert np.all(total <= [1.0, 1e-5])
    before = len(accountant.entries())
    with pytest.raises(BudgetExceededError):
        accountant.release(GNMax(sigma=1), tied(1))
    assert len(accountant.entries()) == before


def test_every_row_is_paid_for_whatever_its_outcome():
    mechanism = ConfidentGNMax(sigma=40, sigma_threshold=100, threshold=200)
    charged = []
    for top in (0.0, 125.0, 1e6):
        accountant = budget()
        accountant.release(mechanism, np.tile([top, 0.0], (10, 1)))
        charged.append(pair(accountant.entries()[0]))
    assert charged[0] == charged[1] == charged[2]


def test_a_scope_has_its_share_of_both():
    accountant = budget(1.0)
    scope = accountant.scope(0.5)
    begun = len(accountant.release(GNMax(sigma=40), tied(200), scope=scope))
    alone = PrivacyAccountant(0.5, 0.5e-5, order=math.inf)
    assert begun == len(alone.release(GNMax(sigma=40), tied(200)))
    with pytest.raises(BudgetExceededError, match="Not even one row"):
        accountant.release(GNMax(sigma=10), tied(1), scope=scope)
    assert len(accountant.release(GNMax(sigma=40), tied(200))) == pytest.approx(begun, abs=1)


def test_levels_pay_their_own_pairs():
    levels = {"strict": 0.5, "generous": 1.5}
    accountant = budget(levels)
    mechanism = GNMax(sigma=40, weight={"strict": 1.0, "generous": 2.0})
    begun = len(accountant.release(mechanism, tied(400)))
    strict, generous = (pair(accountant.entries()[0], level) for level in levels)
    prices = price_plan(mechanism, begun, n_columns=2)
    assert prices["strict"].delta(strict[0]) <= strict[1]
    assert prices["generous"].delta(generous[0]) <= generous[1]
    alone = [
        len(budget(each).release(GNMax(sigma=40, weight=w), tied(400)))
        for each, w in ((0.5, 1.0), (1.5, 2.0))
    ]
    assert begun == min(alone)


@pytest.mark.parametrize("levels", [{"strict": 1.0}, {"strict": 1.0, "generous": 1.0, "lax": 1.0}])
def test_every_level_is_charged_and_no_other(levels):
    accountant = budget({"strict": 0.5, "generous": 1.5})
    with pytest.raises(ValueError, match="charges (nothing to )?the level '(generous|lax)'"):
        accountant.release(GNMax(sigma=40, weight=levels), tied(3))
    assert not accountant.entries()


def test_parts_that_sit_out_are_not_charged():
    turns = {"strict": (1, 3), "generous": (1, 1)}
    mechanism = RoundRobin(mechanism=GNMax(sigma=40), turns=turns)
    accountant = budget({"strict": LOG2, "generous": 9.0})
    begun = len(accountant.release(mechanism, tied(200)))
    assert 3 * 44 <= begun <= 3 * 44 + 2


def test_known_votes_that_agree_cost_less():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data_dependent = budget(accounting="data_dependent")
    assert len(data_dependent.release(GNMax(sigma=40), np.tile([240.0, 10.0], (150, 1)))) == 150
    assert len(budget().release(GNMax(sigma=40), np.tile([240.0, 10.0], (150, 1)))) == 44


def test_pure_costs_still_add_up_row_by_row():
    accountant = budget(4.0)
    assert len(accountant.release(Pure(epsilon=0.25), tied(30))) == 16


def test_no_delta_no_plan():
    with pytest.raises(BudgetExceededError, match="needs some of both"):
        budget(1.0, 0.0).release(GNMax(sigma=40), tied(3))


def test_advice_where_no_row_fits():
    accountant, loud = budget(1.0), GNMax(sigma=1.0)
    with pytest.raises(BudgetExceededError, match="nothing of this one has been spent"):
        accountant.release(loud, tied(2))
    accountant.release(GNMax(sigma=80), tied(1))
    with pytest.raises(BudgetExceededError, match="otherwise what is left stays for releases"):
        accountant.release(loud, tied(2))
    with pytest.raises(BudgetExceededError, match="otherwise another fit with a larger epsilon"):
        accountant.release(loud, tied(2), scope=accountant.scope(0.5))


@pytest.mark.parametrize("scope", [None, 0.3])
def test_calibration_to_the_rest_of_a_budget_of_pairs(scope):
    accountant = budget(1.0)
    accountant.release(GNMax(sigma=80), tied(10))
    within = accountant.scope(scope)
    mechanism = accountant.calibrate(GNMax, 25, n_columns=2, scope=within)
    share_left = 1 - accountant.spent().share
    assert len(accountant.release(mechanism, tied(60), scope=within)) == 25
    spent = accountant.spent().share - (1 - share_left)
    assert (scope or share_left) * 0.99 < spent <= (scope or share_left) * (1 + 1e-9)


def test_calibrated_noise_is_less_than_for_a_renyi_budget():
    plan = budget(1.0).calibrate(GNMax, 25, n_columns=2)
    rows = PrivacyAccountant(1.0, 1e-5, order="renyi").calibrate(GNMax, 25, n_columns=2)
    assert 0.85 * rows.sigma < plan.sigma < 0.97 * rows.sigma
    levels = {"strict": 0.5, "generous": 1.5}
    plan = budget(levels).calibrate(
        lambda sigma: GNMax(sigma=sigma, ballots={"strict": 1, "generous": 2}), 10, n_columns=2
    )
    assert len(budget(levels).release(plan, tied(20))) == 10
