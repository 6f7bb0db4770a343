"""Models that are sent without their ledger: their statement goes along, and no handle."""

import json
import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PublicData,
)
from secretballot.accounting import PrivacyStatement
from secretballot.mechanisms import GNMax

pytestmark = pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3_000, 3))
POOL = PublicData(RNG.normal(size=(200, 3)))
OWN = ("ledger_id", "created", "as_of", "head")


def classifier(accountant, **given):
    return PrivateLogisticRegression(classes=[0, 1], accountant=accountant, **given), X[:, 0] > 0


def regressor(accountant, **given):
    return PrivateLinearRegression(target_bounds=(-5, 5), accountant=accountant, **given), X[:, 0]


def fitted(make, accountant, *, of_others=False):
    """Fit to targets, or to those of others: each class, or sign, is the other one."""
    model, y = make(accountant, epsilon=0.5)
    if of_others:
        y = ~y if make is classifier else -y
    return model.fit(X, y.astype(float), X_public=POOL)


MAKE = pytest.mark.parametrize("make", [classifier, regressor])


def parts_of(value):
    """Yield a value and all that it holds."""
    yield value
    if isinstance(value, dict):
        held = list(value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        held = list(value)
    else:
        held = list(getattr(value, "__dict__", {}).values())
    for part in held:
        yield from parts_of(part)


@MAKE
def test_a_model_without_its_accountant_holds_nothing_of_a_ledger(make, tmp_path):
    # Whatever saves a model may save its attributes as they are, as skops does.
    path = tmp_path / "named.ledger"
    model = fitted(make, PrivacyAccountant(1.0, 1e-5, ledger=path)).set_params(accountant=None)
    for part in parts_of(vars(model)):
        assert not type(part).__module__.startswith("secretballot.ledger")
        assert not isinstance(part, str) or str(path) not in part


@MAKE
def test_the_statement_goes_along(make, tmp_path):
    path = tmp_path / "named.ledger"
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path)
    model = fitted(make, accountant)
    statement = accountant.statement()
    assert model.statement() == statement
    shipped = {"whole": pickle.dumps(model)}
    accountant.release(GNMax(sigma=4000.0), [[3, 4]])
    shipped["alone"] = pickle.dumps(model.set_params(accountant=None))
    for file in tmp_path.iterdir():
        file.unlink()
    for stored in shipped.values():
        loaded = pickle.loads(stored)
        assert loaded.statement() == statement
        assert loaded.statement().levels[0]["epsilon"] == 1.0
        assert PrivacyStatement.from_dict(loaded.statement().to_dict()) == statement
        assert len(loaded.predict(X[:5])) == 5
    for handle in (b"Accountant", b"_ledger", b".ledger", bytes(tmp_path)):
        assert handle not in shipped["alone"]


@MAKE
@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_a_model_keeps_plain_values_for_its_statement(make, order):
    accountant = PrivacyAccountant(1.0, 1e-5, order=order)
    model = fitted(make, accountant)
    plain = json.loads(json.dumps(model._statement, allow_nan=False))
    assert PrivacyStatement.from_facts(plain) == model.statement() == accountant.statement()


@MAKE
def test_a_second_fit_states_both(make):
    accountant = PrivacyAccountant(1.0, 1e-5)
    first = fitted(make, accountant)
    n_first = first.statement().n_entries
    second = fitted(make, accountant)
    assert first.statement().n_entries == n_first < second.statement().n_entries
    assert second.statement() == accountant.statement()


@MAKE
def test_private_targets_leave_no_trace_in_it(make):
    """Other targets, the same statement, but for times and digests."""
    one, other = (
        fitted(make, PrivacyAccountant(1.0, 1e-5), of_others=others).statement().to_dict()
        for others in (False, True)
    )
    for name in OWN:
        del one[name], other[name]
    for statement in (one, other):
        for group in statement["released"]:
            del group["first"], group["last"]
    assert one == other


@MAKE
def test_before_a_fit_there_is_none(make):
    model, _ = make(PrivacyAccountant(1.0, 1e-5))
    with pytest.raises(NotFittedError):
        model.statement()


@MAKE
def test_a_data_dependent_budget_withholds_its_figures(make):
    accountant = PrivacyAccountant(1.0, 1e-5, accounting="data_dependent", order="renyi")
    model = fitted(make, accountant).set_params(accountant=None)
    stored = pickle.dumps(model)
    for entry in accountant.entries():
        assert entry.digest.encode() not in stored
    statement = pickle.loads(stored).statement()
    assert statement.head is None
    assert statement.levels[0]["share_spent"] is None
    assert {group["n_rows"] for group in statement.released} == {None}
    assert all(group["mechanism"].keys() <= {"mechanism", "event"} for group in statement.released)
