"""Random divisions, releases, reservations, draws and settlements, against each person's truth.

A person is somebody of level a: in each scope one part of each division, and not known which. All
of them are followed. What the ledger says of the level must be at least what each has paid.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.accounting._report import replay
from secretballot.costs import _groups
from secretballot.mechanisms import GNMax, RoundRobin, VectorSum

#: Names and numbers of parts of the divisions in each scope.
DIVISIONS = [("", 1), ("", 2), ("", 3), ("other teachers", 2)]
N_SCOPES = 2
#: One choice of a part for each division of each scope.
PEOPLE = np.array(list(itertools.product(*(range(of) for _, of in DIVISIONS * N_SCOPES))))
EPSILON, DELTA = {"a": 2.0, "b": 6.0}, 1e-5


class Attack:
    """One budget of two levels, and what was spent from it by each person of level a."""

    def __init__(self, seed, order):
        self.rng = np.random.default_rng([seed, order == "renyi"])
        self.accountant = PrivacyAccountant(EPSILON, DELTA, order=order)
        self.order = self.accountant.levels[0].order
        self.scopes = [self.accountant.scope() for _ in range(N_SCOPES)]
        self.people = np.zeros(len(PEOPLE))
        self.open, self.done, self.foreign = [], Counter(), False

    def mechanism(self, which=None):
        """Make turns of level a; level b is always there, or takes turns of its own."""
        number = int(self.rng.integers(len(DIVISIONS))) if which is None else which
        name, of = DIVISIONS[number]
        turns = {"a": (int(self.rng.integers(1, of + 1)), of), "b": (1, self.rng.integers(1, 3))}
        sigma, weight = float(self.rng.choice([30.0, 40.0])), {"a": 1.0, "b": 1.0}
        inner = (VectorSum if self.order == "gaussian" else GNMax)(sigma=sigma, weight=weight)
        made = RoundRobin(
            mechanism=inner,
            turns={level: (int(k), int(n)) for level, (k, n) in turns.items()},
            first_row=int(self.rng.integers(5)),
            division=name,
        )
        return number, made

    def paid(self, scope, number, mechanism, n_rows):
        """Add what was drawn to everybody who took part."""
        present, of = mechanism.turns["a"]
        part = PEOPLE[:, scope * len(DIVISIONS) + number]
        law = mechanism.mechanism.laws(2)
        if self.order == "gaussian":
            row = law["a"][0].move.ratio ** 2
        else:
            row = float(mechanism.mechanism.max_cost(2)["a"].at(self.order))
        for at in range(mechanism.first_row, mechanism.first_row + n_rows):
            voting = {(at * present + each) % of for each in range(present)}
            self.people += row * np.isin(part, list(voting))

    def release(self):
        scope, n_rows = int(self.rng.integers(N_SCOPES)), int(self.rng.integers(1, 6))
        number, mechanism = self.mechanism()
        begun = self.accountant.release(mechanism, np.zeros((n_rows, 2)), scope=self.scopes[scope])
        self.paid(scope, number, mechanism, len(begun))

    def reserve(self):
        scope, (number, mechanism) = int(self.rng.integers(N_SCOPES)), self.mechanism()
        reservation = self.accountant.reserve(
            mechanism, int(self.rng.integers(1, 12)), n_columns=2, scope=self.scopes[scope]
        )
        self.open.append((scope, number, reservation))

    def draw(self):
        scope, number, reservation = self.open[self.rng.integers(len(self.open))]
        state, mechanism = self.accountant.reserved(reservation), reservation.mechanism
        same = self.rng.random() < 0.5
        if same:
            mechanism = RoundRobin(
                mechanism=mechanism.mechanism,
                turns=mechanism.turns,
                first_row=mechanism.first_row + state.rows,
                division=mechanism.division,
            )
        else:
            number, mechanism = self.mechanism()
        scope = scope if self.rng.random() < 0.9 else 1 - scope
        n_rows = int(self.rng.integers(1, 4))
        self.accountant.release(
            mechanism, np.zeros((n_rows, 2)), reservation=reservation, scope=self.scopes[scope]
        )
        self.paid(scope, number, mechanism, n_rows)
        self.foreign |= not same

    def top_up(self):
        *_, reservation = self.open[self.rng.integers(len(self.open))]
        self.accountant.top_up(reservation, n_rows=int(self.rng.integers(1, 4)))

    def settle(self):
        *_, reservation = self.open.pop(self.rng.integers(len(self.open)))
        self.accountant.settle(reservation)

    @property
    def spent(self):
        return self.accountant.spent()["a"].amount

    def check(self):
        """The dearest person has paid no more than the ledger says."""
        assert self.people.max() <= self.spent * (1 + 1e-9), dict(self.done)

    def run(self, n_steps):
        first = [self.release, self.reserve]
        later = [*first, self.release, *[self.draw] * 4, self.top_up, self.settle]
        for _ in range(n_steps):
            steps = later if self.open else first
            step = steps[self.rng.integers(len(steps))]
            before = self.spent, self.accountant._ledger.verify()
            try:
                step()
            except (ValueError, BudgetExceededError):
                self.done[f"{step.__name__} refused"] += 1
                assert (self.spent, self.accountant._ledger.verify()) == before
            else:
                self.done[step.__name__] += 1
            self.check()
        while self.open:
            self.settle()
        self.check()


@pytest.mark.parametrize(("order", "n_budgets"), [("renyi", 40), ("gaussian", 40)])
def test_nobody_pays_more_than_the_ledger_says(order, n_budgets, counts):
    done, tight = Counter(), []
    for seed in range(n_budgets):
        attack = Attack(seed, order)
        attack.run(30)
        level = attack.accountant.levels[0]
        assert attack.people.max() <= level.amount
        assert replay(attack.accountant._ledger)["a"].amount == pytest.approx(attack.spent)
        done += attack.done
        if not attack.foreign:
            # What was not drawn has come back, and the dearest person has paid for the rest. A row
            # that was drawn keeps 2 / pi of its part of the payment, also of what was paid for
            # parts that had no turn: the ledger does not know who had.
            tight.append(attack.people.max() / attack.spent)
    assert np.quantile(tight, 0.1) > 1 - 1e-6
    assert min(tight) > 0.98
    assert done["draw"] > 100
    assert done["draw refused"] > 100
    for what, number in sorted(done.items()):
        counts(f"{order}: {what}", number)
    counts(f"{order}: people followed", n_budgets * len(PEOPLE))
    counts(f"{order}: budgets in which the dearest person paid all that was spent", len(tight))


@pytest.mark.parametrize("order", ["renyi", "gaussian"])
def test_a_planted_error_is_found(order, monkeypatch, counts):
    """Divisions that are taken for one: somebody pays less than they owe."""
    monkeypatch.setattr(_groups, "group_division", lambda group: "one")
    n_errors = 0
    for seed in range(10):
        try:
            Attack(seed, order).run(30)
        except AssertionError:
            n_errors += 1
    assert n_errors > 5
    counts(f"{order}: budgets in which the planted error was found, of 10", n_errors)
