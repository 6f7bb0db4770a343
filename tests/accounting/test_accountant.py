"""The one door: who is charged, what is refused, and what is told."""

import math

import numpy as np
import pytest
from tests._fakes import (
    Gaussian,
    Grouped,
    Known,
    RoundRobin,
    votes,
)
from tests.accounting.conftest import refused, room

from secretballot.accounting import (
    EVERYONE,
    ORDERS,
    LedgerError,
    PrivacyAccountant,
    PrivacyLeakWarning,
    RenyiCost,
    Scope,
)

# Levels and members


def test_every_level_has_to_have_room():
    accountant = PrivacyAccountant({"strict": 1.0, "generous": 3.0}, 1e-5, order=20)
    strict, generous = (accountant.remaining()[level].amount / 20 for level in accountant.epsilon)
    # The strict level would allow 8 rows, the generous one 5.
    outcome = accountant.release(
        Grouped(rates={"strict": strict / 8.5, "generous": generous / 5.5}), votes(20)
    )
    assert len(outcome) == 5
    shares = {level: spent.share for level, spent in accountant.spent().items()}
    assert shares == pytest.approx({"strict": 5 / 8.5, "generous": 5 / 5.5})
    # Everyone's charges come on top of a level's own.
    accountant.release(Grouped(rates={EVERYONE: strict / 10}), votes(1))
    assert accountant.spent()["strict"].share == pytest.approx(5 / 8.5 + 0.1)
    assert "level 'generous'" in refused(
        accountant, Grouped(rates={"strict": 0.0, "generous": generous}), votes(1)
    )


def test_members_that_take_turns_share_a_level_and_not_a_charge():
    accountant = PrivacyAccountant(1.0, 1e-5, order="renyi")
    rate = room(accountant) / accountant.spent().order / 5.5
    outcome = accountant.release(RoundRobin(level="everyone", rate=rate), votes(30))
    # Nine rows: five for one member, four for the other. Whose turn is next is not in the most
    # that a row can cost, so the first member's sixth has to fit already.
    assert len(outcome) == 9
    assert accountant.spent().share == pytest.approx(5 / 5.5)
    assert set(accountant.entries()[0].charges) == {"everyone/x/0", "everyone/x/1"}
    refused(accountant, RoundRobin(level="everyone", rate=rate), votes(1))


def test_groups_have_to_be_the_budgets(accountant):
    with pytest.raises(ValueError, match="'strict', which this budget does not have"):
        accountant.release(Grouped(rates={"strict": 0.1, EVERYONE: 0.1}), votes(1))
    levels = PrivacyAccountant({"strict": 1.0, "generous": 3.0}, 1e-5, order="renyi")
    with pytest.raises(ValueError, match="nothing to the level 'generous'"):
        levels.release(Grouped(rates={"strict": 0.01}), votes(1))
    assert levels.entries() == []


# Data-dependent accounting


def test_data_dependent_accounting_charges_the_votes_that_occurred():
    with pytest.warns(PrivacyLeakWarning, match="data_dependent"):
        accountant = PrivacyAccountant(1.0, 1e-5, accounting="data_dependent", order="renyi")
    unit = room(accountant) / accountant.spent().order / 10.5
    counts = np.column_stack([np.ones(40), np.tile([unit, unit / 10], 20)])
    outcome = accountant.release(Known(most=unit), counts)
    # Pairs cost 1.1 units: after 9 of them (9.9) a cheap row would fit, but its turn is later.
    assert len(outcome) == 18
    assert accountant.spent().share == pytest.approx(9.9 / 10.5)
    assert "itself sensitive" in repr(accountant)
    worst = PrivacyAccountant(1.0, 1e-5, order="renyi")
    assert len(worst.release(Known(most=unit), counts)) == 10


@pytest.mark.filterwarnings("ignore:accounting='data_dependent'")
def test_the_order_that_accounting_needs_is_its_default():
    known = PrivacyAccountant(1.0, 1e-5, accounting="data_dependent").levels
    assert known == PrivacyAccountant(1.0, 1e-5, order="renyi").levels
    for accounting in ("worst_case", "sanitized"):
        assert PrivacyAccountant(1.0, 1e-5, accounting=accounting).levels[0].order == "gaussian"
    for order in ("gaussian", math.inf):
        with pytest.raises(ValueError, match="use order='renyi' with accounting='data_dep"):
            PrivacyAccountant(1.0, 1e-5, accounting="data_dependent", order=order)


def test_opening_a_data_dependent_ledger_warns_again(tmp_path):
    path = tmp_path / "budget.ledger"
    with pytest.warns(PrivacyLeakWarning):
        PrivacyAccountant(1.0, 1e-5, accounting="data_dependent", ledger=path, order="renyi")
    with pytest.warns(PrivacyLeakWarning):
        assert PrivacyAccountant.open(path).accounting == "data_dependent"


# Mechanisms that are none, or wrong


class Negligent(Gaussian):
    """Charges more than its most."""

    def cost(self, outcome, counts=None, *, n_columns=None):
        return {EVERYONE: 2 * super().cost(outcome)[EVERYONE]}


class Lavish(Gaussian):
    """Answers more than it was asked."""

    def sample(self, counts, rng):
        return np.zeros(len(counts) + 1)


class OneCost(Gaussian):
    """Forgets that costs are per row."""

    def cost(self, outcome, counts=None, *, n_columns=None):
        return self.max_cost()


class Secretive(Gaussian):
    """Describes itself with something that is no plain value."""

    def describe(self):
        return {"secret": object()}


@pytest.mark.parametrize(
    ("mechanism", "error", "message"),
    [
        (Negligent(sigma=40), RuntimeError, "more to '\\*' than its max_cost"),
        (Lavish(sigma=40), RuntimeError, "answered 3 rows instead of 2"),
        (OneCost(sigma=40), RuntimeError, "one cost per row"),
        (Secretive(sigma=40), ValueError, "describe"),
        (Gaussian, TypeError, "a class; pass an instance"),
        (object(), TypeError, "is not a mechanism"),
    ],
)
def test_faulty_mechanisms_release_nothing(accountant, mechanism, error, message):
    with pytest.raises(error, match=message):
        accountant.release(mechanism, votes(2))
    assert accountant.entries() == []


def test_a_mechanism_that_is_not_proven_for_the_relation():
    accountant = PrivacyAccountant(1.0, 1e-5, relation="add_remove", order="renyi")
    with pytest.raises(ValueError, match=r"proven for the relation\(s\) replace.*add_remove"):
        accountant.release(Gaussian(sigma=40), votes(1))
    with pytest.raises(ValueError, match="add_remove"):
        accountant.calibrate(Gaussian, 1)


def test_bad_counts_and_notes_release_nothing(accountant):
    with pytest.raises(ValueError, match="counts has shape"):
        accountant.release(Gaussian(sigma=40), [1.0])
    with pytest.raises(ValueError, match="note must hold"):
        accountant.release(Gaussian(sigma=40), votes(1), note={"x": object()})
    assert accountant.entries() == []


@pytest.mark.parametrize(
    "note",
    [
        {"priced": "as one plan"},
        {"classes_learned": "no"},
        {"features_from": ["public"]},
        {"split_by": "label"},
        {"split_by": ["row"]},
        {"bags_formed_by": 3},
        {"min_count_promised": "five"},
        {"people": {"strict": "many"}},
        {"people": 7},
        {"people": {"strict": 3}, "individualization": "weighting"},
        {"people": {"strict": 3}, "individualization": {"variant": "weighting"}},
        {"people": {"strict": 3}, "individualization": {"variant": []}},
    ],
)
def test_words_that_the_statement_reads_are_checked(accountant, note):
    """It says them of the release, and can't be broken by them."""
    with pytest.raises(ValueError, match="note.*Call it something else|note.*call it something"):
        accountant.release(Gaussian(sigma=40), votes(1), note=note)
    assert accountant.entries() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("unit", "user"), ("relation", "swap"), ("accounting", "expected"), ("allow_seeded", "yes")],
)
def test_unknown_words(name, value):
    with pytest.raises(ValueError, match=f"{name}='{value}' is unknown; use one of"):
        PrivacyAccountant(1.0, 1e-5, **{name: value}, order="renyi")


# Reports


def test_spent_and_remaining(accountant):
    assert accountant.spent().epsilon == 0
    assert accountant.spent().share == 0
    assert accountant.remaining().share == 1
    accountant.release(Gaussian(sigma=40), votes(7))
    spent, remaining = accountant.spent(), accountant.remaining()
    expected = RenyiCost(ORDERS) * (7 / 40**2)
    assert spent.epsilon == pytest.approx(float(expected.epsilon(1e-5)), rel=1e-12)
    assert spent.amount == pytest.approx(7 / 40**2 * spent.order, rel=1e-12)
    assert (spent.level, spent.n_releases, spent.n_rows) == ("everyone", 1, 7)
    assert spent.share + remaining.share == pytest.approx(1)
    assert spent.amount + remaining.amount == pytest.approx(accountant.levels[0].amount)


def test_the_reading_never_passes_the_budget():
    for epsilon in (0.3, 1.0, 4.0):
        accountant = PrivacyAccountant(epsilon, 1e-5, order="renyi")
        accountant.release(Gaussian(sigma=300), votes(100_000))
        assert epsilon * 0.99 < accountant.spent().epsilon <= epsilon


def test_repr_and_html():
    accountant = PrivacyAccountant({"<b>": 1.0, "plain": 3.0}, 1e-5, unit="owner", order="renyi")
    accountant.release(Gaussian(sigma=40), votes(7))
    text = repr(accountant)
    assert "epsilon={'<b>': 1, 'plain': 3}, delta=1e-05 per owner (replace)" in text
    assert "% spent of 'plain'" in text
    html = accountant._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert "ledger: temporary" in html


def test_errors_and_classes_name_the_path_users_import_from():
    for public in (PrivacyAccountant, LedgerError, RenyiCost, Scope):
        assert public.__module__ == "secretballot.accounting"
