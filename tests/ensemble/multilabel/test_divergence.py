"""Nobody who votes on labels pays more than their level is charged: all replaced ballots."""

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from tests._quietly import quietly
from tests.ensemble.multilabel._rows import X, Y, ensemble_of

from secretballot.accounting import ORDERS, PrivacyAccountant
from secretballot.costs._divergence import renyi_divergence
from secretballot.costs._groups import level_cost
from secretballot.ensemble import Upsampling, Vanishing, Weighting
from secretballot.mechanisms import BinaryVoting, PowersetVoting, TauVoting
from secretballot.testing._outcome_laws import outcome_law

FINITE = slice(0, len(ORDERS) - 1)
LEVELS = {"strict": 1.0, "generous": 2.5}
#: Whose each row is. No level has a whole number of voters a row where they take turns.
OF_ROW = np.where(np.arange(len(X)) % 10 < 6, "strict", "generous")
N_TEACHERS, N_ROWS, N_LABELS = 6, 4, 2
BALLOTS = np.array(list(product((0, 1), repeat=N_LABELS)))
PASSING = {"threshold": 4.0, "sigma_threshold": 1.5}
MECHANISMS = {
    "binary": BinaryVoting(sigma=1.2, n_votes=N_TEACHERS),
    "binary, a threshold": BinaryVoting(sigma=1.2, n_votes=N_TEACHERS, **PASSING),
    "tau": TauVoting(sigma=1.2, n_votes=N_TEACHERS, tau=1.1),
    "tau, a threshold": TauVoting(sigma=1.2, n_votes=N_TEACHERS, tau=1.1, **PASSING),
    "powerset": PowersetVoting(sigma=1.2, n_labels=N_LABELS),
    "powerset, a threshold": PowersetVoting(sigma=1.2, n_labels=N_LABELS, **PASSING),
}
VARIANTS = {
    "upsampling": Upsampling(copies={"strict": 1, "generous": 2}),
    "weighting": Weighting(),
    "vanishing": Vanishing(),
}


def counted(plan, mechanism, ballots):
    """Counts of all teachers' ballots, shape (n_teachers, n_rows, n_labels)."""
    counting = mechanism.counting(N_LABELS)
    votes = {}
    for group, cast in zip(plan.groups, ballots, strict=True):
        if group in votes:
            votes[group] = counting.add(votes[group], cast)
        else:
            votes[group] = counting.begin(cast, len(ballots))
    return plan.add_up(votes, mechanism, counting)


def divergence(mechanism, here, there):
    """Divergence of each row, the larger direction, at the finite orders."""
    laws = [outcome_law(mechanism, votes).log_probabilities for votes in (here, there)]
    return np.maximum(*(renyi_divergence(*pair, ORDERS[FINITE]) for pair in (laws, laws[::-1])))


def moved(plan, individualization):
    """Which teachers a person of each level may be with."""
    teachers = range(plan.n_teachers)
    if isinstance(individualization, Upsampling):
        for level, copies in individualization.copies.items():
            yield from ((level, each) for each in list(combinations(teachers, copies))[:6])
    else:
        yield from ((plan.groups[each].split("/")[0], (each,)) for each in teachers)


@cache
def plan_of(variant):
    """Return the plan of an ensemble of all rows."""
    ensemble = ensemble_of(
        n_teachers=N_TEACHERS,
        individualization=VARIANTS[variant],
        accountant=PrivacyAccountant(LEVELS, 1e-5, order="renyi"),
        student=None,
    )
    return quietly(ensemble.fit, X, Y, budgets=OF_ROW)._labelling.facts.assignment


@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_replaced_ballot(variant, kind):
    individualization, plan = VARIANTS[variant], plan_of(variant)
    planned = plan.individualize(MECHANISMS[kind], N_LABELS)
    mechanism = getattr(planned, "mechanism", planned)  # turns are in the counts
    rng = np.random.default_rng(1)
    ballots = BALLOTS[rng.integers(len(BALLOTS), size=(plan.n_teachers, N_ROWS))]
    ballots[:, 0] = [1, 0]  # unanimous
    here = counted(plan, planned, ballots)
    passed = np.zeros((N_ROWS, N_LABELS), dtype=int)
    charged = {}
    for votes in (None, here):
        cost = planned.cost(passed, votes, n_columns=N_LABELS)
        totals = {group: each.sum() for group, each in cost.items()}
        for level in LEVELS:
            charged[level, votes is None] = level_cost(totals, level, 2.0).curve[FINITE]
    dearest = dict.fromkeys(LEVELS, np.zeros(len(ORDERS) - 1))
    for level, teachers in moved(plan, individualization):
        divergences = np.zeros((N_ROWS, len(ORDERS) - 1))
        for new in product(BALLOTS, repeat=len(teachers)):
            there = ballots.copy()
            there[list(teachers)] = np.array(new)[:, None]
            # Rows are independent: the worst of each, together.
            divergences = np.maximum(
                divergences, divergence(mechanism, here, counted(plan, planned, there))
            )
        dearest[level] = np.maximum(dearest[level], divergences.sum(axis=0))
    for (level, _), most in charged.items():
        assert np.all(dearest[level] <= most * (1 + 1e-9) + 1e-12)
    # A generous person reveals more than a strict one is charged: levels do differ.
    if variant != "vanishing" and kind == "binary":
        assert np.any(dearest["generous"] > charged["strict", False])
