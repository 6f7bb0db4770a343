"""Promises about how a mechanism and the accountant work together."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.checks._budgets import (
    ROUNDING,
    budget_of,
    columns_of,
    epsilon_for_rows,
    mechanism_counts,
    pay,
    same_cost,
    some_level,
    spent_by_level,
)
from secretballot.checks._contract import NotApplicable, refused
from secretballot.checks._mechanism_example import MechanismExample
from secretballot.divergences import Costs, level_cost


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
    # A run ends where the next row might not fit, whatever that row turned out to be.
    if example.mechanism.rows == "parallel":
        raise NotApplicable("parallel rows are all answered, or none")
    counts = mechanism_counts(example)
    most = example.mechanism.max_cost(columns_of(counts))
    epsilon = epsilon_for_rows(example, 10)
    for seed in range(20):
        accountant = budget_of(example, epsilon)
        outcome = pay(accountant, example, np.concatenate([counts] * 100), seed)
        cost = example.mechanism.cost(outcome, n_columns=columns_of(counts))

        def room(begun: int, cost: Costs = cost, budget: Any = accountant) -> bool:
            spent = {group: each[:begun].sum() + most[group] for group, each in cost.items()}
            totals = [
                (level_cost(spent, level.name, level.order), level) for level in budget.levels
            ]
            return all(
                total.at(level.order) <= level.amount * ROUNDING
                and total.delta <= level.approximation_delta * ROUNDING
                for total, level in totals
            )

        assert room(len(outcome) - 1), "a row is begun only if the most it can cost fits"
        assert not room(len(outcome)), "a row that fits is begun"


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
    refused(
        (BudgetExceededError, ValueError),
        "a release beyond the budget is refused",
        *(accountant.release, example.mechanism, mechanism_counts(example)),
    )
    assert [entry.digest for entry in accountant.entries()] == before, "a refusal records nothing"


def check_relation_is_enforced(example: MechanismExample) -> None:
    unproven = {"replace", "add_remove"} - example.mechanism.relations
    if not unproven:
        raise NotApplicable("proven for both relations, there is none to refuse")
    for relation in unproven:
        accountant = PrivacyAccountant(epsilon=1e9, delta=1e-5, relation=relation, order="renyi")
        message = refused(
            ValueError,
            f"nothing is released under {relation!r}, for which nothing is proven",
            *(accountant.release, example.mechanism, mechanism_counts(example)),
        )
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
            total = sum((level_cost(entry.charges, level, 2.0) for entry in entries[1:]),
                        level_cost(entries[0].charges, level, 2.0))  # fmt: skip
            same_cost(spent.cost, total, "the entries add up to what is spent")
