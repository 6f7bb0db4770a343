"""Nobody pays more than their level is charged: brute force over all rows and replacements."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.ensemble._votes import collect_votes

from secretballot.accounting import ORDERS, PrivacyAccountant
from secretballot.costs._divergence import renyi_divergence
from secretballot.costs._groups import level_cost
from secretballot.ensemble import PrivateTeacherEnsemble, Upsampling, Vanishing, Weighting
from secretballot.mechanisms import ConfidentGNMax, GNMax
from secretballot.testing._outcome_laws import outcome_law

QUERIES = np.array([[0.0], [1.0], [0.0], [1.0], [1.0]])
FINITE = slice(0, len(ORDERS) - 1)
VARIANTS = [
    Upsampling(),
    Upsampling(copies={"strict": 2, "generous": 3}),
    Weighting(),
    Weighting(balance=False),
    Vanishing(),
]
GNMAX = GNMax(sigma=1.2)
CONFIDENT = ConfidentGNMax(sigma=1.2, sigma_threshold=1.5, threshold=2.0)


class Tiny:
    """A dozen rows of a domain so small that every replacement can be tried."""

    def __init__(self, individualization, n_classes, owners=None):
        rng = np.random.default_rng(n_classes)
        self.classes = list(range(n_classes))
        self.X = rng.integers(2, size=(12, 1)).astype(float)
        self.y = rng.integers(n_classes, size=12)
        self.levels = np.array(["strict", "generous", "strict"] * 4)
        self.owners = owners
        self.ensemble = PrivateTeacherEnsemble(
            DecisionTreeClassifier(max_depth=1),
            n_teachers=5,
            individualization=individualization,
            classes=self.classes,
            accountant=PrivacyAccountant(
                {"strict": 1.0, "generous": 2.0}, 1e-5, unit="row" if owners is None else "owner"
            ),
            random_state=3,
            check_public_rows=False,
        )
        self.here = self.ballots(self.X, self.y)
        # Replacements that lead to the same ballots reveal the same: one of each is enough.
        self.there = {
            (level, tuple(votes.tobytes() for votes in ballots.values())): ballots
            for level, X, y in self.neighbours()
            for ballots in [self.ballots(X, y)]
        }

    def ballots(self, X, y):
        """Return what the teachers of each group vote, trained on some data."""
        ensemble = self.ensemble.fit(X, y, owners=self.owners, budgets=self.levels)
        groups = ensemble._labelling.facts.assignment.groups
        return collect_votes(ensemble._teachers, QUERIES, ensemble.classes_, None, groups=groups)

    def neighbours(self):
        """Yield the level of a row, or owner, and data in which it is replaced."""
        units = [[row] for row in range(12)]
        if self.owners is not None:
            units = [np.flatnonzero(self.owners == owner) for owner in np.unique(self.owners)]
        for rows in units:
            for x in (0.0, 1.0):
                for label in self.classes:
                    if (self.X[rows] == x).all() and (self.y[rows] == label).all():
                        continue
                    X, y = self.X.copy(), self.y.copy()
                    X[rows], y[rows] = x, label
                    yield self.levels[rows[0]], X, y

    def check(self, base, votes_known):
        """No level reveals more than it is charged; return what each reveals, and its charge."""
        plan = self.ensemble._labelling.facts.assignment
        planned = plan.individualize(base, len(self.classes))
        here = plan.add_up(self.here, planned)
        law = getattr(planned, "mechanism", planned)  # turns are in the counts
        cost = {
            level: charged(planned, here, level, votes_known) for level in ("strict", "generous")
        }
        dearest = {level: np.zeros(len(ORDERS) - 1) for level in cost}
        for (level, _), ballots in self.there.items():
            divergences = divergence(law, here, plan.add_up(ballots, planned))
            assert np.all(divergences <= cost[level] * (1 + 1e-9) + 1e-12)
            dearest[level] = np.maximum(dearest[level], divergences)
        return dearest, cost


def divergence(mechanism, here, there):
    """Return the divergence of all labels, the larger direction, at the finite orders."""
    laws = [outcome_law(mechanism, votes).log_probabilities for votes in (here, there)]
    both = [sum(renyi_divergence(*pair, ORDERS[FINITE])) for pair in (laws, laws[::-1])]
    return np.maximum(*both)


def charged(planned, votes, level, votes_known):
    """Return what the level is charged for all rows, each passing its threshold."""
    most = planned.cost(
        np.zeros(len(votes)), votes if votes_known else None, n_columns=votes.shape[1]
    )
    return level_cost({group: each.sum() for group, each in most.items()}, level, 2.0).curve[FINITE]


@pytest.mark.parametrize(
    ("individualization", "n_classes"),
    [
        *((variant, 2) for variant in VARIANTS),
        *((variant, 3) for variant in (Upsampling(), Weighting(), Vanishing())),
        *(pytest.param(VARIANTS[number], 3, marks=pytest.mark.slow) for number in (1, 3)),
    ],
    ids=repr,
)
def test_every_replaced_row(individualization, n_classes):
    tiny = Tiny(individualization, n_classes)
    for base in (GNMAX, CONFIDENT):
        tiny.check(base, votes_known=False)  # the worst case
        dearest, cost = tiny.check(base, votes_known=True)  # data dependent
        # The levels do differ: what a generous row reveals is more than a strict one is charged.
        # (With 2 and 3 copies of so few rows, no row happens to reveal all that it may.)
        if base is GNMAX and n_classes == 2 and individualization is not VARIANTS[1]:
            assert np.any(dearest["generous"] > cost["strict"])


@pytest.mark.parametrize("individualization", VARIANTS, ids=repr)
def test_every_replaced_owner(individualization):
    # Owners 0, 3, 6, 9 are generous, as their rows are.
    owners = np.array([1, 0, 1, 2, 3, 2, 4, 6, 4, 5, 9, 5])
    Tiny(individualization, 2, owners).check(GNMAX, votes_known=True)
