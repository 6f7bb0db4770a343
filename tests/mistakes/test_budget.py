"""Mistakes with the budget: its size, its unit, and what a fit may spend of it."""

import re
import warnings

import pytest
from tests.mistakes._mistake import (
    ALL,
    LABELS,
    LINEAR,
    POOL,
    TARGETS,
    Mistake,
    X,
    cases,
    check,
    logistic,
    numbers,
    teachers,
)

from secretballot import BudgetExceededError, GNMax, PrivacyAccountant


def opened(name, message, *arguments, **options):
    return Mistake(name, message, lambda _: PrivacyAccountant(*arguments, **options))


def second_fit(_):
    """Fit a model with what an earlier fit has left: nothing."""
    given = PrivacyAccountant(4.0, 1e-5)
    model = logistic(given, rounds=0, interactions=0).fit(X, LABELS, X_public=POOL)
    n_entries = len(given.entries())
    try:
        model.fit(X, LABELS, X_public=POOL)
    finally:
        assert len(given.entries()) == n_entries


def greedy_fit(make):
    """Fit a model again with an epsilon of which a part is left."""
    given = PrivacyAccountant(4.0, 1e-5)
    model = make(given, epsilon=given.epsilon_per_fit(share=0.8))
    y = TARGETS if make is numbers else LABELS
    model.fit(X, y, X_public=POOL)
    n_entries = len(given.entries())
    try:
        model.fit(X, y, X_public=POOL)
    finally:
        assert len(given.entries()) == n_entries


MISTAKES = (
    opened("epsilon as text", "epsilon='1' must be a finite number above 0", "1", 1e-5),
    opened("epsilon of 0", "epsilon=0 must be a finite number above 0", 0, 1e-5),
    opened("a negative epsilon", "epsilon=-1 must be a finite number above 0", -1, 1e-5),
    opened("epsilon missing in a table", "epsilon=nan must be a finite", float("nan"), 1e-5),
    opened("epsilon in a list", r"epsilon=\[1, 2\] must be a finite number", [1, 2], 1e-5),
    opened("no delta", "delta=None: give the probability.*such as 1e-5", 1.0),
    opened("delta as text", "without quotes: delta=1e-5", 1.0, "1e-5"),
    opened("delta of 1", "strictly between 0 and 1", 1.0, 1.0),
    opened("delta of 0", "a delta of 0 needs order=inf", 1.0, 0),
    opened("a negative delta", "strictly between 0 and 1", 1.0, -1e-5),
    opened("epsilon and delta swapped", "delta=0.5 is more than 0.1.*delta=1e-5", 1e-5, 0.5),
    opened("a weak budget", "epsilon=20 is a weak guarantee.*of about 1", 20.0, 1e-5),
    opened("an unknown unit", "unit='person' is unknown; use one of", 1.0, 1e-5, unit="person"),
    opened(
        "an unknown relation", "relation='remove' is unknown; use", 1.0, 1e-5, relation="remove"
    ),
    opened("an unknown order", "order='zcdp' must be 'gaussian'", 1.0, 1e-5, order="zcdp"),
    opened("no level", "has no level; give one number, or one per level", {}, 1e-5),
    opened("a level as text", "epsilon='1' of the level 'a' must be", {"a": "1"}, 1e-5),
    opened(
        "a folder as ledger",
        "is no ledger but a folder.*name a new file, such as ./budget.ledger",
        1.0,
        1e-5,
        ledger="/",
    ),
    opened(
        "a ledger in no folder", "name a file in a folder that exists", 1, 1e-5, ledger="/no/b.db"
    ),
    Mistake(
        "a ledger that is gone",
        "does not exist.*name a file with",
        lambda _: PrivacyAccountant.open("/no/b.db"),
    ),
    Mistake(
        "accountant forgotten",
        r"accountant=PrivacyAccountant\(epsilon, delta\).*PrivacyAccountant.open\(path\)",
        settings={"accountant": None},
    ),
    Mistake(
        "accountant taken away before a score",
        r"accountant=None.*PrivacyAccountant.open\(path\) of the ledger",
        lambda _: logistic(None).score_private(X, LABELS, share=0.05),
    ),
    Mistake(
        "epsilon as accountant",
        "'accountant' .*PrivacyAccountant' or None. Got 1.0",
        settings={"accountant": 1.0},
    ),
    Mistake(
        "the class as accountant",
        "'accountant' .* must be an instance",
        settings={"accountant": PrivacyAccountant},
    ),
    Mistake(
        "a file as accountant",
        "'accountant' .* Got 'budget.db'",
        settings={"accountant": "budget.db"},
    ),
    Mistake(
        "epsilon of a fit as text",
        "'epsilon' .* must be a float.* Got '1'",
        settings={"epsilon": "1"},
    ),
    Mistake("epsilon of a fit of 0", "'epsilon' .* Got 0", settings={"epsilon": 0}),
    Mistake(
        "epsilon of a fit above the budget",
        "is more than the accountant's budget of 4.0.*Use a smaller epsilon",
        settings={"epsilon": 40},
    ),
    Mistake(
        "levels for one budget",
        "must name every level of the budget",
        settings={"epsilon": {"a": 1}},
    ),
    Mistake("a tiny epsilon", "drown.*Use (about|some)", settings={"epsilon": 0.001}),
    Mistake(
        "a budget that is spent",
        "Next to nothing is left of the budget.*an amount beforehand: epsilon=",
        second_fit,
    ),
    Mistake(
        "delta above one over n",
        "delta=0.01 is above 1/n.*such as 1e-5",
        lambda _: logistic(PrivacyAccountant(4.0, 0.01)).fit(X, LABELS, X_public=POOL),
    ),
    Mistake(
        "a budget of owners without owners",
        "Pass owners=, one owner id per row.$",
        budget={"unit": "owner"},
    ),
    Mistake("a budget of voters", "It is for votes of FrozenEstimators", budget={"unit": "voter"}),
    Mistake(
        "a budget of another relation",
        "Use PrivacyAccountant.*relation='replace'",
        budget={"relation": "add_remove"},
    ),
    Mistake("more fits than a budget has", "at most 3", lambda a: a.epsilon_per_fit(1_000)),
    Mistake("no fit", "n_fits=0 must be an integer of at least 1", lambda a: a.epsilon_per_fit(0)),
    Mistake("a share in percent", "share=90 must be at", lambda a: a.epsilon_per_fit(2, share=90)),
    Mistake("a price and no budget", "accountant=", lambda _: logistic(None).price_fit(650, POOL)),
    Mistake(
        "a price without rows or bounds",
        "Pass the public rows, or name the columns: bounds=",
        lambda a: logistic(a).price_fit(650),
    ),
    Mistake(
        "a price of teachers without public rows",
        "X_public=None: a fit without public rows releases nothing",
        lambda a: teachers(a).price_fit(650),
    ),
    Mistake(
        "a price of unknown levels",
        "one budget for everyone. Open it with one per level",
        lambda a: logistic(a).price_fit({"strict": 650}, POOL),
    ),
    Mistake(
        "too little noise",
        "The rows cost .* times the mu.2.*use more noise",
        settings={"mechanism": GNMax(sigma=0.1)},
        models=(teachers,),
    ),
    Mistake(
        "few people, a small epsilon, classes",
        "stand out of the noise.*Use more rows",
        models=(logistic,),
        epsilon=0.3,
    ),
    Mistake(
        "few people, a small epsilon, numbers",
        "drown|often worse than the mean.*Use more rows",
        models=LINEAR[1:],
        epsilon=0.3,
    ),
    Mistake(
        "too few people",
        "would drown what 150 private rows.*to predict better than a constant.*Use about",
        data={"X": X[:150], "y": LABELS[:150]},
        models=LINEAR,
        epsilon=0.1,
    ),
    Mistake("one teacher", "Use many teachers", settings={"n_teachers": 1}, models=(teachers,)),
    Mistake(
        "teachers without rows",
        "needs at least as many rows.*lower n_teachers",
        settings={"n_teachers": 700},
        models=(teachers,),
    ),
    Mistake(
        "the class of a mechanism",
        "not a mechanism but a class; pass an instance",
        lambda a: a.release(GNMax, [[3, 4]]),
    ),
    Mistake(
        "arguments of a release swapped",
        "is not a mechanism.*pass an instance",
        lambda a: a.release([[3, 4]], GNMax(sigma=9)),
    ),
    Mistake(
        "votes of one row", "pass one row per query", lambda a: a.release(GNMax(sigma=9), [3, 4])
    ),
    Mistake(
        "negative votes",
        "non-negative numbers of votes",
        lambda a: a.release(GNMax(sigma=9), [[-3, 4]]),
    ),
    Mistake("noise as text", "sigma='5' must be a finite number", lambda _: GNMax(sigma="5")),
)


@pytest.mark.filterwarnings("ignore:the last residual is:UserWarning")  # few rows
@pytest.mark.parametrize("make", ALL)
def test_an_epsilon_that_is_not_left(make):
    """A fit never takes less than was asked for without a word."""
    message = r"takes 80.0% of the budget, and 20.0% is left.*epsilon_per_fit\(\) for what is left"
    with pytest.raises(BudgetExceededError, match=message):
        greedy_fit(make)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_budget(mistake, make):
    check(mistake, make)


def test_a_score_of_few_rows_is_too_dear_and_the_budget_not_used_up():
    accountant = PrivacyAccountant(1.0, 1e-5)
    model = logistic(accountant, epsilon=accountant.epsilon_per_fit(share=0.4), rounds=0)
    model.fit(X, LABELS, X_public=POOL)
    with pytest.raises(BudgetExceededError, match="less is left") as e:
        model.score_private(X[:20], LABELS[:20], sigma=1.0)
    assert "used up" not in str(e.value)
    model.score_private(X, LABELS, sigma=model.price_score(len(LABELS)).sigma)


@pytest.mark.parametrize(
    ("epsilon", "order", "of"),
    [
        (0.003, "gaussian", "budget"),
        (0.05, "gaussian", "fit"),
        (0.03, "renyi", "budget"),
        (0.03, "renyi", "fit"),
    ],
)
@pytest.mark.parametrize("make", ALL)
def test_the_remedy_of_a_larger_epsilon(make, epsilon, order, of):
    def fit(epsilon):
        given = PrivacyAccountant(epsilon if of == "budget" else 4.0, 1e-5, order=order)
        settings = {} if of == "budget" else {"epsilon": epsilon}
        model = make(given, check_public_rows=False, **settings)
        model.fit(X, TARGETS if make is numbers else LABELS, X_public=POOL)

    with pytest.raises(BudgetExceededError, match="times the epsilon") as error:
        fit(epsilon)
    factor = float(re.search(r"(\S+) times the epsilon", str(error.value))[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(factor * epsilon)
