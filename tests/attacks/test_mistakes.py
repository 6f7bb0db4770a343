"""Mistakes of a first day: each is refused, or warned of, before anything is spent.

And the one check that is a release itself: how often it is wrong, what it finds, what it tells.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import (
    PrivacyAccountant,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.mechanisms import NoisyCounts
from secretballot.screening import PublicRowsCheck, cells_outside

N = 2000
COLUMNS = ["age", "pay", "hours"]


def people(n, seed):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(45, 12, n), rng.lognormal(3, 0.5, n), rng.normal(38, 6, n)])
    return pd.DataFrame(rows, columns=COLUMNS), (rows[:, 0] > 45).astype(int)


X, Y = people(N, 0)
POOL, _ = people(60, 1)


def linear(accountant, **settings):
    return PrivateLogisticRegression(
        **{"classes": [0, 1], "epsilon": 1.0, "accountant": accountant, **settings}
    )


def teachers(accountant, **settings):
    settings = {"classes": [0, 1], "epsilon": 1.0, "accountant": accountant, **settings}
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    return PrivateTeacherEnsemble(learner, 200, student=LogisticRegression(), **settings)


def shuffled(values):
    return pd.Series(values).sample(frac=1, random_state=0)


class Mistake(NamedTuple):
    """One line that somebody wrote: parameters, arguments of `fit`, or a call of its own."""

    name: str
    settings: dict[str, Any] = {}
    data: dict[str, Any] = {}
    call: Callable[[Any], Any] | None = None
    #: What the operator reads.
    message: str = ""
    #: The largest share of the budget that finding it may cost.
    price: float = 0.0


MISTAKES = (
    Mistake("the private rows as public rows", {}, {"X_public": X}, None, "is X itself"),
    Mistake("wrapped", {}, {"X_public": PublicData(X)}, None, "is X itself"),
    Mistake("some of them", {}, {"X_public": X.iloc[:40]}, None, "X_public (shares|has)"),
    Mistake("drawn", {}, {"X_public": X.sample(40, random_state=0)}, None, "index labels"),
    Mistake("copied", {}, {"X_public": X[:40].copy().reset_index()[COLUMNS]}, None, "X_public"),
    Mistake(
        "rows without their index",
        {},
        {"X_public": X.sample(50, random_state=1).set_axis(range(9000, 9050))},
        None,
        "50 rows that are rows of X",
    ),
    Mistake(
        "ages in days",
        {},
        {"X": X.assign(age=X.age * 365), "X_public": POOL},
        None,
        "X_public does not match X",
        0.01,
    ),
    Mistake(
        "pay in other units in the pool",
        {},
        {"X_public": POOL.assign(pay=POOL.pay * 100)},
        None,
        "X_public does not match X",
        0.01,
    ),
    Mistake(
        "other codes",
        {},
        {
            "X": X.assign(job=np.where(Y == 1, "A", "B")),
            "X_public": POOL.assign(job=["1", "2"] * 30),
        },
        None,
        "X_public does not match X",
        0.01,
    ),
    Mistake(
        "scaled before the estimator",
        {},
        {"X": X / 1000},
        None,
        "X_public does not match X",
        0.01,
    ),
    Mistake("labels in another order", {}, {"y": shuffled(Y)}, None, "y has the index of X"),
    Mistake("no labels for a row", {}, {"y": np.where(X.index == 3, np.nan, Y)}, None, "NaN"),
    Mistake("a regression target", {}, {"y": X.age.to_numpy()}, None, "regression"),
    Mistake("weights", {}, {"sample_weight": np.ones(N)}, None, "sample_weight"),
    Mistake("five rows", {}, {"X": X[:5], "y": Y[:5]}, None, "drown|n_teachers=200"),
    Mistake("epsilon .001", {"epsilon": 0.001}, {}, None, "drown"),
    Mistake("classes of another spelling", {"classes": ["no", "yes"]}, {}, None, "among"),
    Mistake("owners of a budget of rows", {}, {"owners": np.arange(N) // 2}, None, "unit"),
    Mistake("missing public columns", {}, {"X_public": POOL[["age"]]}, None, "columns|feature"),
    Mistake("an empty pool", {}, {"X_public": POOL[:0]}, None, "0 rows"),
    Mistake(
        "stacked without a part of the budget",
        {"epsilon": None},
        {},
        lambda model: StackingClassifier([("model", model)]).fit(X, Y),
        "StackingClassifier fits 6 times",
    ),
    Mistake(
        "voting with names of classes",
        {"classes": ["n", "y"]},
        {},
        lambda model: VotingClassifier([("model", model)]).fit(X, np.array(["n", "y"])[Y]),
        r"classes=\[0, 1\]",
    ),
    Mistake(
        "one against the rest with names of classes",
        {"classes": ["n", "y"]},
        {},
        lambda model: OneVsRestClassifier(model).fit(X, np.array(["n", "y"])[Y]),
        r"classes=\[0, 1\]",
    ),
)


@pytest.mark.parametrize("make", [linear, teachers])
def test_each_mistake_is_found_before_the_budget_is_spent(make, counts):
    n_refused = 0
    for mistake in MISTAKES:
        accountant = PrivacyAccountant(1.0, 1e-5)
        settings = dict(mistake.settings)
        if make is linear and mistake.call is not None:
            settings["bounds"] = dict.fromkeys(COLUMNS, (0, 100))
        model = make(accountant, **settings)
        arguments = {"X": X, "y": Y, "X_public": PublicData(POOL), **mistake.data}
        call = mistake.call or (lambda model, arguments=arguments: model.fit(**arguments))
        with pytest.raises((ValueError, TypeError, RuntimeError), match=mistake.message):
            call(model)
        assert accountant.spent().share <= mistake.price, mistake.name
        assert len(accountant.entries()) == (mistake.price > 0), mistake.name
        n_refused += 1
    counts(f"mistakes of a first day refused in time, {make.__name__}", n_refused)


def test_budgets_that_are_mistakes(counts):
    n_refused = 0
    for arguments, message in (
        ((1.0, "1e-5"), "without quotes"),
        ((1.0,), "delta=None"),
        ((0, 1e-5), "epsilon"),
        ((1.0, 1.0), "strictly between 0 and 1"),
    ):
        with pytest.raises(ValueError, match=message):
            PrivacyAccountant(*arguments)
        n_refused += 1
    with pytest.warns(UserWarning, match="epsilon=20 is a weak guarantee"):
        PrivacyAccountant(20.0, 1e-5)
    counts("mistaken budgets refused or warned of", n_refused + 1)


# The noisy count


def checked(private, public, seed, n=None):
    """Return the check of many budgets at once: whether it refuses."""
    accountant = PrivacyAccountant(1.0, 1e-5)
    model = linear(accountant)
    check = PublicRowsCheck.of(model, len(private), public, accountant.scope())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check.release_count(
                model,
                private,
                public,
                None,
                scope=accountant.scope(),
                random_state=np.random.SeedSequence(seed, spawn_key=(1,)),
                note={},
            )
    except ValueError:
        return True
    return False


@pytest.mark.parametrize(("n_rows", "n_public"), [(600, 25), (2000, 25), (2000, 400)])
def test_rows_of_the_same_kind_are_not_refused(n_rows, n_public, counts):
    refused, repeats = 0, 300
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        refused += checked(rng.normal(size=(n_rows, 8)), rng.normal(size=(n_public, 8)), seed)
    counts(f"honest pools of {n_public} refused among {repeats} ({n_rows} rows)", refused)
    # Of one in a thousand at most, 3 in 300 come less than once in three hundred times.
    assert refused <= 3


@pytest.mark.parametrize("n_rows", [600, 2000])
def test_most_rows_elsewhere_are_found(n_rows, counts):
    missed, repeats = 0, 300
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        private = rng.normal(size=(n_rows, 8))
        private[: int(0.9 * n_rows), rng.integers(8)] += 1e3
        missed += not checked(private, rng.normal(size=(40, 8)), seed)
    counts(f"pools missed with nine rows in ten elsewhere, of {repeats} ({n_rows} rows)", missed)
    assert missed == 0


def test_the_count_moves_by_one_person(counts):
    """Brute force: one row moves the largest count of all columns by 1 at most."""
    rng = np.random.default_rng(0)
    tried, furthest = 0, 0.0
    for _ in range(300):
        private, public = rng.normal(size=(50, 6)), rng.normal(size=(30, 6))
        before = largest(private, public)
        for row in (np.full(6, 1e9), np.full(6, np.nan), public[0], rng.normal(size=6) * 5):
            neighbour = private.copy()
            neighbour[rng.integers(50)] = row
            furthest = max(furthest, abs(largest(neighbour, public) - before))
            tried += 1
    counts("neighbours whose counts were compared", tried)
    assert furthest == 1


def largest(private, public):
    return max(outside.sum() for _, outside in cells_outside(private, public))


def test_the_audited_epsilon_is_below_what_was_charged(counts):
    """Neighbours one count apart, and a planted error: half the noise is found."""
    sigma, repeats = 2.0, 200_000
    rng = np.random.default_rng(0)
    audited = {}
    for label, noise in (("as charged", sigma), ("planted: half the noise", sigma / 2)):
        mechanism = NoisyCounts(sigma=noise)
        mine = mechanism.sample(np.full((repeats, 1), 100.0), rng)[:, 0]
        other = mechanism.sample(np.full((repeats, 1), 101.0), rng)[:, 0]
        audited[label] = audited_mu(mine, other)
        counts(f"audited mu, {label} (charged {1 / sigma})", round(audited[label], 3))
    assert 0.9 / sigma < audited["as charged"] <= 1 / sigma
    assert audited["planted: half the noise"] > 1.5 / sigma


def audited_mu(mine, other):
    """Return a mu that is refuted at 1e-6, from the best of some thresholds."""
    best = 0.0
    for line in np.linspace(97, 104, 15):
        n = len(mine)
        slack = np.sqrt(np.log(2 * 15 / 1e-6) / (2 * n))
        low = np.clip((other > line).mean() - slack, 1e-9, 1)
        high = np.clip((mine > line).mean() + slack, 1e-9, 1 - 1e-9)
        best = max(best, norm.ppf(low) - norm.ppf(high))
    return best
