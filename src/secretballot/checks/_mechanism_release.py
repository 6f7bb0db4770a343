"""Promises about charges, and about how a mechanism and the accountant work together."""

from __future__ import annotations

import json
import pickle
import tempfile
from dataclasses import FrozenInstanceError, fields
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.base import clone

from secretballot.accounting import BudgetExceededError, PrivacyAccountant, RenyiCost
from secretballot.checks._contract import NotApplicable, expect_refusal, quietly
from secretballot.checks._mechanism_example import (
    ROUNDING,
    MechanismExample,
    budget_of,
    charges_known,
    count_columns,
    epsilon_for_rows,
    fits,
    mechanism_counts,
    pay,
    some_level,
    spent_by_level,
)
from secretballot.divergences import Cost, level_cost


def check_is_an_immutable_description(example: MechanismExample) -> None:
    mechanism = example.mechanism
    parameters = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    assert type(mechanism)(**parameters) == mechanism, "parameters make the same mechanism again"
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism, "a pickle is the same mechanism"
    for name in parameters:
        try:
            setattr(mechanism, name, None)
        except FrozenInstanceError:
            continue
        raise AssertionError(f"{name} can be changed after the mechanism was made")
    described = json.loads(json.dumps(mechanism.describe()))
    name = described["mechanism"].rpartition(":")[2]
    assert name == type(mechanism).__qualname__, "describe() names the mechanism"
    assert set(parameters) <= set(described), "describe() tells every parameter"


def check_charges_no_more_than_its_most(example: MechanismExample) -> None:
    mechanism, counts = example.mechanism, mechanism_counts(example)
    outcome = pay(budget_of(example), example, counts)
    columns = count_columns(counts)
    most, anywhere = mechanism.max_cost(columns), mechanism.max_cost()
    votes = counts if charges_known(mechanism, counts) else None
    most_on_votes = mechanism.max_cost(columns, votes)
    charged = mechanism.cost(outcome, n_columns=columns)
    charged_known = mechanism.cost(outcome, votes, n_columns=columns)
    for group, cost in charged.items():
        assert cost.shape == (len(counts),), "cost() is per row"
        assert _is_below(cost, most[group]), "no row costs more than max_cost()"
        assert _is_below(most[group], anywhere[group]), "max_cost() bounds any number of columns"
        assert _is_below(charged_known[group], most_on_votes[group]), (
            "known rows cost at most their most"
        )
        finite = most_on_votes[group].curve[..., :-1] <= most[group].curve[:-1] * ROUNDING
        assert finite.all(), "no known row costs more than the worst case"


def check_every_row_is_charged_alone(example: MechanismExample) -> None:
    mechanism, counts = example.mechanism, mechanism_counts(example)
    columns = count_columns(counts)
    outcome = pay(budget_of(example), example, np.concatenate([counts] * 2))
    together = mechanism.cost(outcome, n_columns=columns)
    participation, first = mechanism.participation(len(outcome)), mechanism.participation(1)
    for row in range(len(outcome)):
        for group, alone in mechanism.cost(outcome[row : row + 1], n_columns=columns).items():
            if group in participation and not participation[group][row]:
                assert not together[group][row].curve.any(), "who sits a row out pays nothing"
            elif group not in first or first[group][0]:
                promise = "a row costs the same in any batch, wherever it stands"
                _assert_same_cost(together[group][row : row + 1], alone, promise)


def check_cost_is_linear_in_the_count(example: MechanismExample) -> None:
    accountant, counts = budget_of(example), mechanism_counts(example)
    repeated = np.concatenate([counts] * 3)
    outcome = pay(accountant, example, repeated)
    costs = example.mechanism.cost(outcome, n_columns=count_columns(counts))
    parallel = example.mechanism.rows == "parallel"
    charges = {group: cost.max() if parallel else cost.sum() for group, cost in costs.items()}
    for group, cost in costs.items():  # added up by hand
        added = cost.curve.max(axis=0) if parallel else sum(cost.curve[1:], cost.curve[0])
        assert np.allclose(charges[group].curve[:-1], added[:-1], rtol=1e-9), "costs add up"
    for level, spent in spent_by_level(accountant).items():
        promise = "the ledger holds the cost of every row"
        _assert_same_cost(spent.cost, level_cost(charges, level, 2.0), promise)
    pay(accountant, example, repeated)
    assert some_level(accountant).n_releases == 2, "every release is an entry"
    assert some_level(accountant).n_rows == 2 * len(repeated), "every row is counted"


def check_answers_only_what_was_paid_for(example: MechanismExample) -> None:
    mechanism, counts = example.mechanism, mechanism_counts(example)
    rows = np.concatenate([counts] * 100)
    accountant = budget_of(example, epsilon_for_rows(example, 20))
    outcome = pay(accountant, example, rows)
    assert some_level(accountant).n_rows == len(outcome), "what is returned is recorded, no more"
    for spent in spent_by_level(accountant).values():
        assert spent.share <= ROUNDING, "no more than the budget is spent"
    if mechanism.rows == "parallel":
        assert len(outcome) == len(rows), "parallel rows are all answered, or none"
    else:
        assert 0 < len(outcome) < len(rows), "a small budget ends the run"


def check_runs_end_predictably(example: MechanismExample) -> None:
    # A run ends if the next row might not fit, whatever its outcome.
    if example.mechanism.rows == "parallel":
        raise NotApplicable("parallel rows are all answered, or none")
    counts = mechanism_counts(example)
    most = example.mechanism.max_cost(count_columns(counts))
    epsilon = epsilon_for_rows(example, 10)
    for seed in range(20):
        accountant = budget_of(example, epsilon)
        outcome = pay(accountant, example, np.concatenate([counts] * 100), seed)
        cost = example.mechanism.cost(outcome, n_columns=count_columns(counts))

        before_last, after_last = (
            {group: rows[:n_rows].sum() + most[group] for group, rows in cost.items()}
            for n_rows in (len(outcome) - 1, len(outcome))
        )
        promise = "a row is begun only if the most it can cost fits"
        assert fits(accountant, before_last), promise
        assert not fits(accountant, after_last), "a row that fits is begun"


def check_returned_means_recorded(example: MechanismExample) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budget.ledger"
        accountant = budget_of(example, ledger=path, allow_seeded=True)
        for n_releases in (1, 2):
            outcome = pay(accountant, example, mechanism_counts(example))
            entries = PrivacyAccountant.open(path).entries()
            promise = "what is returned is in the ledger already, for every handle to see"
            assert len(entries) == n_releases, promise
            assert entries[-1].n_rows == len(outcome), promise


def check_refusal_changes_nothing(example: MechanismExample) -> None:
    accountant = budget_of(example, 1e-9, order=np.inf, delta=1e-9)
    before = [entry.digest for entry in accountant.entries()]
    release = partial(accountant.release, example.mechanism, mechanism_counts(example))
    promise = "a release beyond the budget is refused"
    expect_refusal((BudgetExceededError, ValueError), promise, release)
    assert [entry.digest for entry in accountant.entries()] == before, "a refusal records nothing"


def check_relation_is_enforced(example: MechanismExample) -> None:
    unproven = {"replace", "add_remove"} - example.mechanism.relations
    if not unproven:
        raise NotApplicable("proven for both relations, there is none to refuse")
    for relation in unproven:
        accountant = quietly(
            PrivacyAccountant, epsilon=1e9, delta=1e-5, relation=relation, order="renyi"
        )
        release = partial(accountant.release, example.mechanism, mechanism_counts(example))
        promise = f"nothing is released under {relation!r}, for which nothing is proven"
        message = expect_refusal(ValueError, promise, release)
        assert relation in message, "the error names the relation"
        assert not accountant.entries(), "a refusal records nothing"


def check_copies_share_one_budget(example: MechanismExample) -> None:
    accountant, counts = budget_of(example), mechanism_counts(example)
    for handle in (clone(accountant), pickle.loads(pickle.dumps(accountant))):
        before = some_level(accountant).n_releases
        pay(handle, example, counts)
        promise = "a copy spends from the same budget"
        assert some_level(accountant).n_releases == before + 1, promise


def check_ledger_replays_to_the_same_epsilon(example: MechanismExample) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budget.ledger"
        accountant = budget_of(example, ledger=path, allow_seeded=True)
        for _ in range(3):
            pay(accountant, example, mechanism_counts(example))
        again = spent_by_level(PrivacyAccountant.open(path))
        for level, spent in spent_by_level(accountant).items():
            assert again[level].epsilon == spent.epsilon, "epsilon is replayed exactly"
        entries = PrivacyAccountant.open(path).entries()
        for level, spent in again.items():
            costs = [level_cost(entry.charges, level, 2.0) for entry in entries]
            total = sum(costs[1:], costs[0])
            _assert_same_cost(spent.cost, total, "the entries add up to what is spent")


def _is_below(cost: RenyiCost, most: RenyiCost) -> bool:
    """Check that a cost is nowhere above another, but for rounding."""
    return bool((cost.curve <= most.curve * ROUNDING).all() and (cost.delta <= most.delta).all())


def _assert_same_cost(cost: Cost, other: Cost, promise: str) -> None:
    """Compare two Renyi costs at the finite orders; AssertionError, with the promise."""
    finite = slice(0, -1)
    curve, other_curve = cost.curve[..., finite], other.curve[..., finite]
    assert np.allclose(curve, other_curve, rtol=1e-9, atol=0), promise
    assert np.allclose(cost.delta, other.delta, rtol=1e-9, atol=0), promise
