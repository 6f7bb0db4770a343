"""Mistakes with counts, quantiles, proportions, collaborations, fitted models and ledgers."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.mistakes._mistake import (
    LABELS,
    POOL,
    ROWS,
    Mistake,
    N,
    X,
    cases,
    check,
    logistic,
    numbers,
    teachers,
)

from secretballot import GNMax, PrivacyAccountant, private_top_k
from secretballot.measures import private_quantiles
from secretballot.parties import Collaboration, Party
from secretballot.quantification import Bags, publish_proportions
from secretballot.reports._cli import main

VISITS = {"park": 900.0, "pool": 800.0, "zoo": 3.0}
EVENTS = pd.DataFrame({"person": [1, 1, 2], "item": ["park", "zoo", "park"]})
BAGS = Bags.from_groups(None, LABELS, groups=np.arange(N) % 12)
AGES = X[:, 0]
#: Of 4,000 cells, half hold a comma and can't be read.
WRITTEN = pd.DataFrame({"amount": np.linspace(0, 2_000, 4_000)}).map("{:,.2f}".format)


def items(name, message, counts=VISITS, k=1, **options):
    options = {"mechanism": "exponential", "share": 0.5, **options}
    return Mistake(
        f"items: {name}", message, lambda a: private_top_k(counts, k, accountant=a, **options)
    )


def quantiles(name, message, X=X, q=0.5, **options):
    options = {"bounds": (-4, 4), "share": 0.5, **options}
    return Mistake(
        f"quantiles: {name}", message, lambda a: private_quantiles(X, q, accountant=a, **options)
    )


def proportions(name, message, bags=BAGS, classes=(0, 1), epsilon=1.0, delta=1e-5, **options):
    return Mistake(
        f"proportions: {name}",
        message,
        lambda a: publish_proportions(
            bags, classes, epsilon, delta, **{k: a if v == "row" else v for k, v in options.items()}
        ),
    )


def party(number, **options):
    given = {
        "name": f"site {number}",
        "accountant": PrivacyAccountant(4.0, 1e-5),
        "classes": [0, 1],
    }
    return Party(LogisticRegression(), **{**given, **options})


def fitted(n_parties=4, **options):
    return [
        party(i, **options).fit(X[i::n_parties], LABELS[i::n_parties]) for i in range(n_parties)
    ]


def together(name, message, make):
    return Mistake(f"parties: {name}", message, make)


def unfitted(name, message, call):
    return Mistake(f"before fit: {name}", message, call)


def amounts(accountant, table):
    return private_quantiles(table, 0.5, bounds=(0, 5_000), accountant=accountant, share="rest")


MISTAKES = (
    items("their number forgotten", "k=None .*say how many", k=None),
    items("more than there are", "k=10 .* ask for fewer", k=10),
    items("a number as text", "k='2' must be an integer", k="2"),
    items(
        "a number as text, of a stable set", "k='3' must be an integer", k="3", mechanism="stable"
    ),
    items("none", "k=0 must be an integer of at least 1", k=0),
    items("names without counts", "pass one number for each item", ["park", "zoo"]),
    items("raw events", "counts has dtype object; pass numbers", EVENTS),
    items("a missing count", "must be finite and non-negative", {"park": np.nan, "zoo": 2.0}),
    items("a negative count", "must be finite and non-negative", {"park": -5.0, "zoo": 2.0}),
    items(
        "an unknown mechanism", "mechanism='laplace' is unknown; use one of", mechanism="laplace"
    ),
    items("an unknown domain", "domain='public' is unknown; use", domain="public"),
    items("epsilon as text", "epsilon='1' must be a finite number", epsilon="1", share=None),
    items("no amount", r"needs the amount .*share=0.05 .*share='rest'", share=None),
    items("two amounts", "epsilon=0.2 and share=0.5: give one", epsilon=0.2),
    items("a percentage", "share=20 must be .*of at most 1", share=20),
    items("another word", "share='all' is unknown.*'rest'", share="all"),
    quantiles("no amount", r"needs the amount .*share=0.05 .*share='rest'", share=None),
    Mistake(
        "items: no accountant",
        "accountant=None must be a PrivacyAccountant",
        lambda _: private_top_k(VISITS, 1, accountant=None, share="rest"),
    ),
    Mistake(
        "items: visits of owners",
        "unit='owner', but counts are added up already.*owners=, one owner id per row",
        lambda a: private_top_k(VISITS, 1, accountant=a, share="rest"),
        budget={"unit": "owner"},
    ),
    Mistake(
        "items: a table of visits of owners",
        "unit='owner', but a row .* several of an owner.*owners=, one owner id per row",
        lambda a: private_top_k(pd.get_dummies(EVENTS["item"]), 1, accountant=a, share="rest"),
        budget={"unit": "owner"},
    ),
    quantiles("in percent", "must hold levels between 0 and 1.*Use 0.01", q=[25, 50]),
    quantiles(
        "years as bounds of dates",
        r"the column 0 holds times, and bounds\[0\] are none.*\('2020-01-01', '2024-12-31'\)"
        ".*NOT FOR PUBLICATION",
        pd.Series(pd.date_range("2015", periods=N)),
        bounds=(2015, 2025),
    ),
    quantiles("a word", "q='median' must hold levels between 0 and 1.*such as 0.5", q="median"),
    quantiles("levels by column", "q=.* must hold levels between 0 and 1", q={"age": 0.5}),
    quantiles(
        "levels of each column", "q=.* one list of levels for all columns", q=[[0.1], [0.2, 0.3]]
    ),
    quantiles(
        "bounds and rows in each other's place",
        r"bounds has shape \(650,\); give one pair \(low, high\)",
        (-4, 4),
        bounds=AGES,
    ),
    *(
        Mistake(
            f"quantiles: commas in thousands of {of}",
            rf"about \d\d% of the rows.*{column}.*no numbers.*to_numeric",
            lambda a, table=table: amounts(a, table),
            found="for 1 %",
        )
        for of, column, table in (
            ("a column", "the column 'amount'", WRITTEN),
            ("one of two columns", "a column", WRITTEN.assign(other=1.0)),
        )
    ),
    quantiles("least and largest value", "depend on single people. Use 0.01", q=[0, 1]),
    quantiles("bounds the wrong way round", "give .low, high., low below high", bounds=(4, -4)),
    quantiles(
        "bounds read from private rows",
        "least and largest private value.*Declare bounds",
        AGES,
        bounds=(AGES.min(), AGES.max()),
    ),
    proportions("epsilon as text", "epsilon='1' must be a finite number", epsilon="1"),
    proportions("one class", "holds 1 class", classes=[0]),
    proportions("words for 0 and 1", "name all classes there are", classes=["no", "yes"]),
    proportions("labels without bags", "Bags.from_groups makes bags", LABELS),
    proportions("a budget of rows", "unit='label'.* is another budget", accountant="row"),
    Mistake(
        "proportions: a budget of owners",
        "private_top_k.*owners=.*another budget: what it spends adds to this one",
        lambda a: publish_proportions(BAGS, [0, 1], 1.0, 1e-5, accountant=a),
        budget={"unit": "owner"},
    ),
    proportions("an unknown mechanism", "'geometric' is unknown; use", mechanism="geometric"),
    proportions("an empty bag", "the bag 1 is empty; leave it out", [[0, 1], []]),
    proportions("delta of 1", "delta=1.0 must be", delta=1.0),
    together("two", "one asks and at least two others", lambda _: Collaboration(fitted(2))),
    together(
        "without models",
        r"has no model yet; call fit\(X, y\) first",
        lambda _: Collaboration([party(i) for i in range(4)]),
    ),
    together(
        "one budget for all",
        "each needs a budget of its own",
        lambda a: Collaboration(fitted(accountant=a)),
    ),
    together("one name", "names must differ", lambda _: Collaboration(fitted(name="site"))),
    together(
        "models instead of parties",
        "is no Party",
        lambda _: Collaboration([LogisticRegression().fit(X, LABELS)] * 4),
    ),
    together(
        "an unknown party asks",
        "asker='x' is none of the parties",
        lambda _: (site := Collaboration(fitted())).ask("x", ROWS[:3], site.agree(GNMax, 3)),
    ),
    together(
        "a mechanism with its noise",
        "make=GNMax.* is a mechanism.*Pass its class",
        lambda _: Collaboration(fitted()).agree(GNMax(sigma=1.0), 9),
    ),
    together(
        "rows for their number",
        "(?s)n_rows=.* must be an integer",
        lambda _: Collaboration(fitted()).agree(GNMax, ROWS),
    ),
    together("no budget", "give a PrivacyAccountant", lambda _: party(0, accountant=None)),
    unfitted("predict, classes", "not fitted yet. Call 'fit'", lambda a: logistic(a).predict(X)),
    unfitted("predict, numbers", "not fitted yet. Call 'fit'", lambda a: numbers(a).predict(X)),
    unfitted("predict, teachers", "call fit with private", lambda a: teachers(a).predict(X)),
    unfitted(
        "predict_private", "call fit with private", lambda a: teachers(a).predict_private(ROWS)
    ),
    unfitted("scores", "Call 'fit'", lambda a: logistic(a).score_private(X, LABELS, share=0.05)),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_other_tools(mistake, make):
    check(mistake, make)


@pytest.fixture(scope="module")
def fit():
    """A fitted model that has some budget left."""
    accountant = PrivacyAccountant(4.0, 1e-5)
    return logistic(accountant, epsilon=2.0, rounds=0, interactions=0).fit(X, LABELS, X_public=POOL)


FITTED = {
    "other columns": (lambda model: model.predict(X[:, :3]), "X has 3 features.*expecting 4"),
    "one row as a vector": (lambda model: model.predict(X[0]), "reshape"),
    "epsilon as text": (lambda model: model.score_private(X, LABELS, epsilon="1"), "epsilon='1'"),
    "fewer rows than labels": (
        lambda model: model.score_private(X[:9], LABELS, share=0.05),
        "give a prediction for each private label",
    ),
}


@pytest.mark.parametrize("name", FITTED)
def test_fitted_models(name, fit):
    call, message = FITTED[name]
    n_entries = len(fit.accountant.entries())
    with pytest.raises((ValueError, TypeError), match=message):
        call(fit)
    assert len(fit.accountant.entries()) == n_entries


# Files


def test_a_second_budget_for_the_same_ledger(tmp_path):
    path = tmp_path / "budget.db"
    PrivacyAccountant(1.0, 1e-5, ledger=path)
    with pytest.raises(RuntimeError, match=r"exists already; PrivacyAccountant.open\("):
        PrivacyAccountant(1.0, 1e-5, ledger=path)


def test_a_copy_of_a_ledger(tmp_path):
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=tmp_path / "budget.db")
    copy = tmp_path / "copy.db"
    copy.write_bytes((tmp_path / "budget.db").read_bytes())
    with pytest.raises(RuntimeError, match="it is a copy.*accept='moved'"):
        logistic(PrivacyAccountant.open(copy)).fit(X, LABELS, X_public=POOL)
    assert accountant.entries() == []


def test_a_seed_on_a_named_ledger(tmp_path):
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=tmp_path / "budget.db")
    with pytest.raises(ValueError, match="random_state=0 .*Fit with random_state=None"):
        logistic(accountant, random_state=0).fit(X, LABELS, X_public=POOL)
    assert accountant.entries() == []


def test_a_pickle_whose_ledger_is_gone(tmp_path):
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=tmp_path / "budget.db")
    pickled = pickle.dumps(logistic(accountant))
    for file in tmp_path.iterdir():
        file.unlink()
    with pytest.raises(RuntimeError, match="does not exist.*PrivacyAccountant"):
        pickle.loads(pickled).fit(X, LABELS, X_public=POOL)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ledger", "show", "missing.db"], "missing.db"),
        (["ledger", "shows"], "shows.*choose from"),
        (["ledger", "show"], "required"),
    ],
    ids=["no such file", "no such word", "no file"],
)
def test_the_command_line(words, message, capsys):
    try:
        code = main(words)
    except SystemExit as ended:
        code = ended.code
    assert code
    said = "".join(capsys.readouterr())
    assert re.search(message, said, re.DOTALL)


def test_the_remedy_of_cells_that_are_no_numbers():
    X = WRITTEN.assign(amount=pd.to_numeric(WRITTEN["amount"].str.replace(",", "")))
    released = amounts(PrivacyAccountant(4.0, 1e-5), X)
    assert released.values[0, 0] == pytest.approx(1_000, abs=50)
