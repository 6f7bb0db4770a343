"""Scopes: parts of a run with caps of their own."""

import math
import pickle

import pytest
from tests._fakes import Gaussian, Grouped, Pure, votes
from tests.accounting.conftest import refused

from secretballot.accounting import PrivacyAccountant, Scope


def test_a_scope_is_capped_on_its_own(accountant):
    scope, other = accountant.scope(0.5), accountant.scope(0.5)
    mechanism = Gaussian(sigma=100)
    counts = votes(10_000)
    in_scope = len(accountant.release(mechanism, counts, scope=scope))
    capped = PrivacyAccountant(0.5, 1e-5, order="renyi")
    assert in_scope == len(capped.release(mechanism, counts))
    message = refused(accountant, mechanism, counts, scope=scope)
    assert "of epsilon=0.5 for this part of the run" in message
    # Another scope, or none, has what the budget has left, and the budget caps them all.
    assert len(accountant.release(mechanism, counts, scope=other)) == in_scope
    rest = len(accountant.release(mechanism, counts))
    whole = len(PrivacyAccountant(1.0, 1e-5, order="renyi").release(mechanism, counts))
    assert abs(2 * in_scope + rest - whole) <= 1
    assert "of the budget" in refused(accountant, mechanism, counts, scope=accountant.scope(0.5))


def test_scopes_without_a_cap_and_larger_than_the_budget():
    whole = len(
        PrivacyAccountant(1.0, 1e-5, order="renyi").release(Gaussian(sigma=100), votes(10_000))
    )
    for epsilon in (None, 1.0, 50.0):
        accountant = PrivacyAccountant(1.0, 1e-5, order="renyi")
        scope = accountant.scope(epsilon)
        outcome = accountant.release(Gaussian(sigma=100), votes(10_000), scope=scope)
        assert len(outcome) == whole
        assert accountant.entries()[0].scope_id == scope.id


def test_a_scope_may_be_capped_per_level(tmp_path):
    accountant = PrivacyAccountant(
        {"a": 1.0, "b": 4.0}, 1e-5, ledger=tmp_path / "ledger", order="renyi"
    )
    wide, narrow = Grouped(rates={"a": 1e-6, "b": 1e-3}), Grouped(rates={"a": 1e-4, "b": 1e-4})
    scope = accountant.scope({"a": 0.5, "b": 1.5})
    begun = len(accountant.release(wide, votes(10_000), scope=scope))
    alone = PrivacyAccountant({"a": 4.0, "b": 1.5}, 1e-5, order="renyi")
    assert begun == len(alone.release(wide, votes(10_000)))
    refused(accountant, wide, votes(1), scope=scope)
    # What is left to level a is its own cap.
    assert 0 < len(accountant.release(narrow, votes(10_000), scope=accountant.scope(0.5))) < 10_000
    again = PrivacyAccountant.open(tmp_path / "ledger")
    assert again.entries()[0].scope_epsilon == {"a": 0.5, "b": 1.5}
    again.statement()
    with pytest.raises(ValueError, match="must name every level of the budget: 'a', 'b'"):
        accountant.scope({"a": 0.5})
    with pytest.raises(ValueError, match="of the level 'b' must be a finite number above 0"):
        accountant.scope({"a": 0.5, "b": -1.0})
    other = Scope(scope.id, {"a": 0.5, "b": 1.6})
    with pytest.raises(ValueError, match="fixed by its first release"):
        again.release(wide, votes(1), scope=other)


def test_a_scope_of_basic_composition_is_capped_at_infinity():
    accountant = PrivacyAccountant(4.0, 1e-5, order=math.inf)
    scope = accountant.scope(1.0)
    assert len(accountant.release(Pure(epsilon=0.25), votes(9), scope=scope)) == 4
    refused(accountant, Pure(epsilon=0.25), votes(9), scope=scope)


def test_a_scope_is_remembered_by_the_ledger(accountant):
    """Another handle, which never saw the first release, keeps to the cap."""
    scope = accountant.scope(0.5)
    begun = len(accountant.release(Gaussian(sigma=100), votes(10_000), scope=scope))
    other = pickle.loads(pickle.dumps(accountant))
    assert begun
    refused(other, Gaussian(sigma=100), votes(1), scope=pickle.loads(pickle.dumps(scope)))
    with pytest.raises(ValueError, match=r"is in the ledger with epsilon=0\.5"):
        other.release(Gaussian(sigma=100), votes(1), scope=Scope(scope.id, 0.9))


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "1"])
def test_bad_scopes(accountant, epsilon):
    with pytest.raises(ValueError, match="epsilon=.* must be a finite number above 0"):
        accountant.scope(epsilon)
    with pytest.raises(ValueError, match="can't be certified"):
        accountant.scope(1e-6)
    with pytest.raises(TypeError, match=r"accountant\.scope\(\)"):
        accountant.release(Gaussian(sigma=100), votes(1), scope=0.5)
