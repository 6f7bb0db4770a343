"""Promises that the accountant keeps for every mechanism: gates, records, refusals, copies."""

from __future__ import annotations

import pickle
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.base import clone
from tests._quietly import quietly
from tests.checks._promises import expect_refusal

from secretballot.accounting import BudgetExceededError, PrivacyAccountant, PrivacySpent
from secretballot.costs._groups import Costs, level_cost
from secretballot.testing import MechanismExample
from secretballot.testing._mechanism_checks import (
    LARGE_EPSILON,
    ROUNDING,
    NotApplicable,
    assert_same_cost,
    budget_of,
    count_columns,
    mechanism_counts,
    pay,
    rows_that_fit,
)


def fits(accountant: PrivacyAccountant, costs: Costs) -> bool:
    """Check that costs fit every level of an unspent budget, but for rounding."""
    for level in accountant.levels:
        cost = level_cost(costs, level.name, level.order)
        if cost.at(level.order) > level.amount * ROUNDING:
            return False
        if cost.delta > level.approximation_delta * ROUNDING:
            return False
    return True


def epsilon_for_rows(example: MechanismExample, n_rows: int) -> float:
    """Find the epsilon of a budget in which about `n_rows` rows fit, each at its most."""
    most = example.mechanism.max_cost(count_columns(mechanism_counts(example)))
    n_rows = rows_that_fit(example, n_rows)
    costs = {group: n_rows * cost for group, cost in most.items()}
    epsilon = 1.0
    while not fits(budget_of(example, epsilon), costs):
        assert epsilon < LARGE_EPSILON, f"{n_rows} rows fit no budget; give the example more noise"
        epsilon *= 1.5
    return epsilon


def spent_by_level(accountant: PrivacyAccountant) -> dict[str, PrivacySpent]:
    """Look up the spending of each level."""
    spent = accountant.spent()
    return spent if isinstance(spent, dict) else {accountant.levels[0].name: spent}


def some_level(accountant: PrivacyAccountant) -> PrivacySpent:
    """Look up the spending of one level: releases and rows are counted alike for all."""
    return next(iter(spent_by_level(accountant).values()))


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
        assert_same_cost(spent.cost, level_cost(charges, level, 2.0), promise)
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
            assert_same_cost(spent.cost, total, "the entries add up to what is spent")


ACCOUNTANT_CHECKS = (
    check_cost_is_linear_in_the_count,
    check_answers_only_what_was_paid_for,
    check_runs_end_predictably,
    check_returned_means_recorded,
    check_refusal_changes_nothing,
    check_relation_is_enforced,
    check_copies_share_one_budget,
    check_ledger_replays_to_the_same_epsilon,
)
