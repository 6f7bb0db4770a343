"""Budgets within a budget: what they cost, what comes back, and what is refused."""

import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from tests._fakes import Pure

from secretballot import PrivateLogisticRegression
from secretballot.accounting import (
    BudgetExceededError,
    LedgerError,
    PrivacyAccountant,
    PrivacyLeakWarning,
)
from secretballot.accounting._report import replay
from secretballot.ledger._budget import Scope
from secretballot.ledger._ledger import Ledger
from secretballot.mechanisms import GNMax, VectorSum

VOTES = [[30, 10], [5, 35]]


@pytest.fixture
def whole(tmp_path):
    return PrivacyAccountant(1.0, 1e-5, ledger=tmp_path / "whole.ledger")


def amount(account):
    return account.remaining().amount


def vector(share, account):
    """Return a sum of vectors that takes a share of what an account has left."""
    return VectorSum(sigma=2 / math.sqrt(share * amount(account) * (1 - 1e-9)), norm=1.0)


def test_three_halves_and_a_third_fit_into_one(whole):
    for name in "abc":
        assert whole.child(name, epsilon=0.5).epsilon == 0.5
    whole.child("d", epsilon=0.36)
    before = whole.entries()
    with pytest.raises(
        BudgetExceededError,
        match=r"'e' does not fit.* of mu\^2, of which .* is spent and .* is left",
    ):
        whole.child("e", epsilon=0.1)
    assert len(whole.entries()) == len(before)
    assert list(whole.children()) == ["a", "b", "c", "d"]


def test_a_release_is_charged_to_the_child_alone(whole):
    team = whole.child("team", epsilon=0.5)
    left = amount(whole)
    team.release(GNMax(sigma=100.0), VOTES)
    assert amount(whole) == left
    assert 0 < team.spent().share < 1
    assert (team.spent().n_releases, team.spent().n_rows) == (1, 2)
    assert whole.spent().n_releases == 1
    with pytest.raises(BudgetExceededError):
        team.release(GNMax(sigma=5.0), VOTES)
    # A sibling's part is its own.
    assert whole.child("other", epsilon=0.5).spent().share == 0


def test_closing_gives_back_what_was_not_spent(whole):
    full = amount(whole)
    team = whole.child("team", epsilon=0.5)
    team.release(vector(0.25, team), np.zeros((1, 3)))
    spent = team.spent().amount
    team.close()
    assert amount(whole) == pytest.approx(full - spent, rel=1e-9)
    with pytest.raises(ValueError, match="closed"):
        team.close()
    with pytest.raises(ValueError, match="was closed"):
        team.release(GNMax(sigma=1e4), VOTES)
    model = PrivateLogisticRegression(classes=[0, 1], bounds=[(-1, 1)], accountant=team)
    for ask in (model.plan_fit, model.price_fit):
        with pytest.raises(ValueError, match="'team' was closed"):
            ask(10_000)
    with pytest.raises(ValueError, match="'team' was closed"):
        team.price(GNMax(sigma=1e4), 1)
    assert amount(whole) == pytest.approx(full - spent, rel=1e-9)
    with pytest.raises(ValueError, match="was closed, for good"):
        whole.child("team", epsilon=0.1)
    replay(Ledger.open(whole.ledger))


def test_reservations_are_settled_or_count_as_spent(whole):
    full, costs = amount(whole), []
    for settles in (True, False):
        team = whole.child(f"team {settles}", epsilon=0.4)
        reservation = team.reserve(GNMax(sigma=100.0), 10, n_columns=2)
        paid = team.spent().amount
        team.close([reservation] if settles else [])
        costs.append((full - amount(whole), paid))
        full = amount(whole)
    assert costs[0][0] == pytest.approx(0, abs=1e-12)
    assert costs[1][0] == pytest.approx(costs[1][1], rel=1e-9)


def test_children_have_one_level(whole):
    team = whole.child("team", epsilon=0.6)
    assert (whole.child_name, team.child_name) == ("", "team")
    for epsilon in (0.1, None):
        with pytest.raises(ValueError, match="'team' has no children: take parts of the whole"):
            team.child("team", epsilon=epsilon)
    assert team.children() == {}
    reopened = PrivacyAccountant.open(whole.ledger)
    assert list(reopened.children()) == ["team"]
    with pytest.raises(LedgerError, match="no child budget 'nobody'"):
        reopened.child("nobody")


@pytest.mark.parametrize("order", ["renyi", 8.0, math.inf])
def test_other_currencies(order):
    whole = PrivacyAccountant(4.0, 1e-5, order=order)
    full = whole.remaining()
    if order != math.inf:
        with pytest.raises(ValueError, match="can't be certified .* order='gaussian'"):
            whole.child("small", epsilon=0.5)
    team = whole.child("team", epsilon=3.0)
    assert 0 < amount(whole) < full.amount
    (most,) = (level.amount for level in team.levels)
    assert full.amount - amount(whole) == pytest.approx(most)
    mechanism = Pure(epsilon=0.25) if order == math.inf else GNMax(sigma=400.0)
    team.release(mechanism, VOTES)
    spent = team.spent().amount
    assert 0 < spent < most
    team.close()
    assert full.amount - amount(whole) == pytest.approx(spent, rel=1e-6)


def test_levels():
    whole = PrivacyAccountant({"strict": 0.5, "lax": 2.0}, 1e-5)
    team = whole.child("team", epsilon={"strict": 0.2, "lax": 1.0})
    assert team.epsilon == {"strict": 0.2, "lax": 1.0}
    shares = {level: rest.share for level, rest in whole.remaining().items()}
    assert 0.7 < shares["lax"] < 0.9 > shares["strict"] > 0.8
    with pytest.raises(BudgetExceededError, match="level 'strict'"):
        whole.child("other", epsilon={"strict": 0.49, "lax": 0.1})


@pytest.mark.filterwarnings("ignore:a copy of the model")
@pytest.mark.filterwarnings("ignore:.*this copy of the model takes")
def test_a_fit_spends_from_a_child(whole):
    team = whole.child("team", epsilon=0.5)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    model = PrivateLogisticRegression(
        classes=[0, 1], bounds=[(-3, 3)] * 2, accountant=team, epsilon=0.4
    )
    left = amount(whole)
    clone(model).fit(X, (X[:, 0] > 0).astype(int))
    assert amount(whole) == left
    assert 0.5 < team.spent().share < 1


def test_a_handle_survives_pickling_and_is_no_other(whole):
    team = whole.child("team", epsilon=0.5)
    copy = pickle.loads(pickle.dumps(team))
    copy.release(GNMax(sigma=100.0), VOTES)
    assert team.spent().n_releases == 1
    assert copy.same_ledger(team)
    assert not team.same_ledger(whole)
    scope = whole.scope(0.3)
    with pytest.raises(ValueError, match="another ledger"):
        team.release(GNMax(sigma=100.0), VOTES, scope=scope)
    reservation = whole.reserve(GNMax(sigma=300.0), 1, n_columns=2)
    with pytest.raises(ValueError, match="another ledger"):
        team.release(GNMax(sigma=300.0), VOTES[:1], reservation=reservation)
    with pytest.raises(ValueError, match="is no reservation"):
        team.resume(reservation.id, GNMax(sigma=300.0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "a/b", "epsilon": 0.1}, "without '/'"),
        ({"name": "", "epsilon": 0.1}, "non-empty"),
        ({"name": "a", "epsilon": -0.1}, "epsilon"),
        ({"name": "a", "epsilon": "half"}, "epsilon"),
        ({"name": "a", "epsilon": {"other": 0.1}}, "every level"),
        ({"name": "a", "epsilon": 0.1, "approximation_delta": 1e-5}, "more than the budget's"),
        ({"name": "a", "epsilon": 1e-9}, "can't be certified|does not fit|epsilon"),
    ],
)
def test_what_is_refused_records_nothing(whole, arguments, message):
    name = arguments.pop("name")
    if arguments["epsilon"] == 1e-9:
        whole.child(name, **arguments)  # small, and sound
        return
    with pytest.raises(ValueError, match=message):
        whole.child(name, **arguments)
    assert not whole.entries()


def test_a_child_larger_than_its_parent(whole):
    with pytest.raises(BudgetExceededError, match="it takes .* of mu"):
        whole.child("all and more", epsilon=1.5)
    whole.child("all", epsilon=1.0)
    assert whole.remaining().share == pytest.approx(0, abs=1e-9)


def test_budgets_whose_costs_depend_on_votes_have_no_children():
    with pytest.warns(PrivacyLeakWarning):
        whole = PrivacyAccountant(1.0, 1e-5, accounting="data_dependent", order="renyi")
    with pytest.raises(ValueError, match="would tell about them"):
        whole.child("team", epsilon=0.1)


def test_only_children_are_closed(whole):
    with pytest.raises(ValueError, match="is for a child budget"):
        whole.close()


def test_statements_name_children(whole):
    team = whole.child("team", epsilon=0.5)
    whole.child("north", epsilon=0.3)
    team.release(GNMax(sigma=100.0), VOTES)
    team.close()
    statement = whole.statement()
    (given,) = [each for each in statement.recorded if "given to children" in each]
    assert "'team' (epsilon 0.5, closed)" in given
    assert "'north' (epsilon 0.3)" in given
    assert sum(group["n_releases"] for group in statement.released) == 1
    own = team.statement()
    assert own.recorded[0].startswith("THIS IS A PART OF A BUDGET: the child 'team'")
    assert own.levels[0]["epsilon"] == 0.5
    assert own.levels[0]["share_spent"] == team.spent().share
    assert sum(group["n_releases"] for group in own.released) == 1
    assert not any("THIS IS A PART" in each for each in statement.recorded)


def test_a_scope_that_no_accountant_made_is_not_taken_by_a_child(whole):
    team = whole.child("team", epsilon=0.5)
    with pytest.raises(ValueError, match="another ledger than this accountant's"):
        team.release(GNMax(sigma=400.0), VOTES, scope=Scope("mine", None))
    assert team.spent().share == 0
