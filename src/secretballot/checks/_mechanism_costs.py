"""Promises about what a mechanism charges."""

from __future__ import annotations

import numpy as np

from secretballot.checks._budgets import (
    ROUNDING,
    below,
    budget_of,
    charges_known,
    columns_of,
    mechanism_counts,
    pay,
    same_cost,
    some_level,
    spent_by_level,
)
from secretballot.checks._mechanism_example import MechanismExample
from secretballot.divergences import level_cost


def check_charges_no_more_than_its_most(example: MechanismExample) -> None:
    mechanism, counts = example.mechanism, mechanism_counts(example)
    outcome = pay(budget_of(example), example, counts)
    columns = columns_of(counts)
    most, anywhere = mechanism.max_cost(columns), mechanism.max_cost()
    votes = counts if charges_known(mechanism, counts) else None
    known = mechanism.max_cost(columns, votes)
    charged = mechanism.cost(outcome, n_columns=columns)
    charged_known = mechanism.cost(outcome, votes, n_columns=columns)
    for group, cost in charged.items():
        assert cost.shape == (len(counts),), "cost() is per row"
        assert below(cost, most[group]), "no row costs more than max_cost()"
        assert below(most[group], anywhere[group]), "max_cost() bounds any number of columns"
        assert below(charged_known[group], known[group]), "known rows cost at most their most"
        finite = known[group].curve[..., :-1] <= most[group].curve[:-1] * ROUNDING
        assert finite.all(), "no known row costs more than the worst case"


def check_every_row_is_charged_alone(example: MechanismExample) -> None:
    mechanism, counts = example.mechanism, mechanism_counts(example)
    columns = columns_of(counts)
    outcome = pay(budget_of(example), example, np.concatenate([counts] * 2))
    together = mechanism.cost(outcome, n_columns=columns)
    there, first = mechanism.participation(len(outcome)), mechanism.participation(1)
    for row in range(len(outcome)):
        for group, alone in mechanism.cost(outcome[row : row + 1], n_columns=columns).items():
            if group in there and not there[group][row]:
                assert not together[group][row].curve.any(), "who sits a row out pays nothing"
            elif group not in first or first[group][0]:
                promise = "a row costs the same in any batch, wherever it stands"
                same_cost(together[group][row : row + 1], alone, promise)


def check_cost_is_linear_in_the_count(example: MechanismExample) -> None:
    accountant, counts = budget_of(example), mechanism_counts(example)
    repeated = np.concatenate([counts] * 3)
    outcome = pay(accountant, example, repeated)
    costs = example.mechanism.cost(outcome, n_columns=columns_of(counts))
    parallel = example.mechanism.rows == "parallel"
    charges = {group: cost.max() if parallel else cost.sum() for group, cost in costs.items()}
    for group, cost in costs.items():  # added up by hand
        added = cost.curve.max(axis=0) if parallel else sum(cost.curve)
        assert np.allclose(charges[group].curve[:-1], added[:-1], rtol=1e-9), "costs add up"
    for level, spent in spent_by_level(accountant).items():
        promise = "the ledger holds the cost of every row"
        same_cost(spent.cost, level_cost(charges, level, 2.0), promise)
    pay(accountant, example, repeated)
    assert some_level(accountant).n_releases == 2, "every release is an entry"
    assert some_level(accountant).n_rows == 2 * len(repeated), "every row is counted"
