"""The first lines of a statement: whom it protects and how strongly, in people's terms."""

import dataclasses
import math
import re
import warnings

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from tests._fakes import Known, Pure, basic_budget, spend, votes

from secretballot import mechanisms
from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning
from secretballot.accounting._notes import RELEASE_WORDS, release_words
from secretballot.accounting._summary import chance, percent_up

TEN_TO_FIFTY = "A true suspicion grows from 10% to 50% or more, or from 50% to 90% or more, in"


def quietly(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        warnings.filterwarnings("ignore", ".* is a weak guarantee")
        return function(*args, **kwargs)


def strength(*args, **kwargs):
    return quietly(PrivacyAccountant, *args, **kwargs).statement().summary["how_strongly"]


def test_the_statement_begins_with_five_answers():
    statement = PrivacyAccountant(1.0, 1e-5).statement()
    text = str(statement).split("\n\n")[1]
    questions = re.findall(r"^(\S[^:]+):", text, flags=re.M)
    assert questions == [
        "Who is protected",
        "From what",
        "How strongly",
        "Until when",
        "On which assumptions",
    ]
    assert list(statement.summary) == [
        "who",
        "from_what",
        "how_strongly",
        "until_when",
        "assumptions",
    ]
    for answer in statement.summary.values():
        assert answer in " ".join(text.split())
        assert answer.endswith(".")


def test_pairs_by_closed_form():
    """(e + delta)/(e + 1) = .73107, and 9 delta/(9 - e) = 1/69,796."""
    said = strength(1.0, 1e-5, order=math.inf)
    assert "guesses right in at most 73.2 of 100 cases after seeing all releases" in said
    assert f"{TEN_TO_FIFTY} at most 1 of 69,000 cases." in said
    assert said.endswith("In differential privacy: epsilon 1 at delta 1e-05.")
    assert strength(1.0, 1e-5, order="renyi") == said
    pure = strength(0.5, 0.0, order=math.inf)
    assert "at most 62.3 of 100 cases" in pure  # 1.6487/2.6487 = .62246
    assert f"{TEN_TO_FIFTY} no case." in pure


def test_mu_by_closed_form():
    """A Gaussian budget guarantees more than its pair: mu .2679 has Phi(mu/2) = .5533."""
    accountant = PrivacyAccountant(1.0, 1e-5)
    (level,) = accountant.statement().levels
    assert level["limit"] == accountant.levels[0].amount
    guess = 1e-7 + (1 - 1e-7) * norm.cdf(math.sqrt(level["limit"]) / 2)
    assert level["best_guess"] == pytest.approx(guess, rel=1e-8)
    assert guess == pytest.approx(0.55328, abs=1e-5)
    said = accountant.statement().summary["how_strongly"]
    assert "at most 55.4 of 100 cases" in said
    (many,) = re.findall(r"at most 1 of ([\d,]+) cases", said)
    assert int(many.replace(",", "")) == pytest.approx(1 / level["ninefold_rise"], rel=0.06)
    assert 1 / int(many.replace(",", "")) >= level["ninefold_rise"] > 1e-7


def test_it_is_the_budget_that_is_stated():
    """Not what was spent of it: the figures stay as they are until it is used up."""
    accountant = basic_budget()
    before = accountant.statement()
    spend(accountant, 16)
    after = accountant.statement()
    assert accountant.remaining().share == 0
    for name in ("who", "from_what", "how_strongly"):
        assert after.summary[name] == before.summary[name]
    changed = {"share_spent", "epsilon_spent"}
    for was, now in zip(before.levels, after.levels, strict=True):
        assert {k: v for k, v in was.items() if k not in changed} == {
            k: v for k, v in now.items() if k not in changed
        }
    assert (
        "0.0% of the budget was spent by then; when it is used up" in before.summary["until_when"]
    )
    assert "100.0% of the budget was spent by then; when" in after.summary["until_when"]
    assert f"had 16 entries on {after.as_of[:10]}" in after.summary["until_when"]


UNITS = {
    "row": ("Every row of the private data", "how many rows there are", "each row is another"),
    "owner": ("Every owner", "which owners take part", "all rows of an owner carry one id"),
    "label": ("Every instance", "the instances and the bags", "instances and bags may be known"),
    "voter": ("Every voter", "who voted", "each voter cast one ballot"),
}


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("unit", UNITS)
def test_units_and_relations(unit, relation):
    statement = PrivacyAccountant(1.0, 1e-5, unit=unit, relation=relation).statement()
    who, public, word = UNITS[unit]
    assert statement.summary["who"].startswith(who)
    assert word in statement.summary["assumptions"]
    replaced = relation == "replace"
    assert (f"Not hidden: {public}" in statement.summary["from_what"]) == replaced
    assert ("whether it is in the data" in statement.summary["from_what"]) == (not replaced)
    # Two ways of taking part are two steps apart where units are added and removed.
    assert ("may say" in statement.summary["how_strongly"]) == replaced
    assert ("is in the data at all" in statement.summary["how_strongly"]) == (not replaced)


@pytest.mark.parametrize(
    ("epsilon", "weakness"),
    [(0.5, ""), (4.0, ""), (4.5, "WEAKLY: an epsilon of 4.5"), (11.0, "HARDLY AT ALL: an epsil")],
)
def test_large_epsilons_are_called_weak(epsilon, weakness):
    said = strength(epsilon, 1e-5)
    assert said.startswith(weakness or "Take something")
    assert ("promises" in said) == bool(weakness)


def test_each_level_has_its_own_figures():
    budget = {"strict": 0.5, "lax": 8.0}
    said = strength(budget, 1e-5)
    alone = [strength(epsilon, 1e-5) for epsilon in budget.values()]
    figures = [re.findall(r"at most (\S+ of \S+) cases", text) for text in alone]
    assert len(figures[0]) == len(figures[1]) == 2
    for first, second in zip(*figures, strict=True):
        assert f"at most {first} cases ('strict'), at most {second} cases ('lax')" in said
    assert said.startswith("WEAKLY for 'lax': an epsilon of 8 promises little.")
    assert said.endswith("epsilon 0.5 for 'strict', epsilon 8 for 'lax' at delta 1e-05.")
    statement = PrivacyAccountant(budget, 1e-5).statement()
    assert "who is of which level is public" in statement.summary["who"]
    assert "Spent by then: 0.0% of 'strict', 0.0% of 'lax'" in statement.summary["until_when"]


def test_of_many_levels_the_ends_are_named():
    said = strength({f"level {k}": k / 2 for k in range(6, 0, -1)}, 1e-5)
    assert re.findall(r"level \d", said) == ["level 1", "level 6"] * 3
    statement = PrivacyAccountant({f"level {k}": k / 2 for k in range(1, 7)}, 1e-5).statement()
    assert str(statement).count("level 3") == 2  # in both tables


@pytest.mark.parametrize(
    ("note", "seeded", "outside"),
    [
        ({"classes_learned": True}, None, "the set of classes (in 1 of 2 releases)"),
        ({"classes_learned": False}, None, ""),
        ({"types_learned": ["a"]}, None, "types and categories of columns (in 1 of 2"),
        ({"categories_learned": ["a"]}, None, "categories of columns (in 1 of 2"),
        ({"public_may_be_private": True}, None, "rows that were used as public ones, and may be"),
        ({"bags_formed_by": "label"}, None, "labels, which membership in a bag gives away (in 1"),
        ({"bags_formed_by": "group"}, None, ""),
        ({}, 0, "what was released with noise that a seed reproduces (in 1 of 2 releases)"),
        ({"classes_learned": True}, 0, "reproduces (in 1 of 2 releases); the set of classes (in "),
    ],
)
def test_exceptions_stand_first(note, seeded, outside):
    accountant = basic_budget()
    plain = accountant.statement()
    spend(accountant)
    quietly(accountant.release, Pure(epsilon=0.25), votes(1), note=note, random_state=seeded)
    statement = accountant.statement()
    said = statement.summary["how_strongly"]
    if not outside:
        assert said == plain.summary["how_strongly"]
        assert statement.outside == ()
        assert "OUTSIDE OF THE GUARANTEE" not in str(statement)
        return
    assert said.startswith("NOT PROTECTED: ")
    assert outside in said.split(". ")[0]
    assert ". For all else, take something" in said
    assert len(statement.outside) == len(said.split(". ")[0].split(";"))
    assert not set(statement.outside) & {*statement.assumptions, *statement.recorded}
    text = " ".join(str(statement).split())
    assert "over its whole life and are not listed as outside: P(S) <=" in text


def test_where_all_noise_is_seeded_nothing_is_protected():
    accountant = basic_budget()
    for seed in range(2):
        quietly(accountant.release, Pure(epsilon=0.25), votes(1), random_state=seed)
    said = accountant.statement().summary["how_strongly"]
    assert said.startswith("NOT AT ALL. NOT PROTECTED: what was released with noise that a seed")
    assert "cases" not in said


def overspent(epsilon):
    """A ledger to which another program wrote more than the budget allows."""
    accountant = PrivacyAccountant(epsilon, 1e-5, order=math.inf)
    accountant.release(Pure(epsilon=0.5), votes(1))
    entry = accountant.entries()[0]
    for _ in range(2):
        accountant._ledger.transact(lambda transaction: transaction.append(entry))
    return accountant.statement()


def test_overspent_levels_have_no_figures():
    statement = overspent(1.0)
    said = statement.summary["how_strongly"]
    assert said.startswith("NOT AT ALL. NOT PROTECTED: the level 'everyone', whose budget is ove")
    assert "cases" not in said
    (level,) = statement.levels
    assert level["best_guess"] is level["ninefold_rise"] is None
    assert "IS OVERSPENT (150.0%)" in statement.outside[0]
    two = overspent({"strict": 1.0, "lax": 4.0})
    said = two.summary["how_strongly"]
    assert said.startswith("NOT PROTECTED: the level 'strict', whose budget is overspent. For all")
    assert said.endswith("In differential privacy: epsilon 4 at delta 1e-05.")
    assert [level["best_guess"] is None for level in two.levels] == [True, False]


def test_data_dependent_budgets_promise_nothing_to_others():
    accountant = quietly(PrivacyAccountant, 1.0, 1e-5, accounting="data_dependent", order="renyi")
    accountant.release(Known(most=1.0), [[5.0, 1e-4], [4.0, 2e-4]])
    statement = accountant.statement()
    said = statement.summary["how_strongly"]
    assert said.startswith("No figure can be stated that others may rely on.")
    assert "not of all data, as differential privacy does" in said
    assert "cases" not in said
    assert "The share that was spent by then is withheld" in statement.summary["until_when"]
    text = " ".join(str(statement).split())
    assert "None that holds for all data." in text
    assert "P(S)" not in text
    assert "Signature" not in text
    assert "nothing to sign" in text
    (level,) = statement.levels
    for name in ("share_spent", "epsilon_spent", "best_guess", "ninefold_rise"):
        assert level[name] is None
    assert statement.head is None
    # A sanitized budget is charged as in the worst case, and is stated as one.
    sanitized = PrivacyAccountant(1.0, 1e-5, accounting="sanitized").statement()
    assert sanitized.summary == PrivacyAccountant(1.0, 1e-5).statement().summary
    assert "records of the votes beside them" in " ".join(sanitized.recorded)


def test_no_private_figure_is_in_a_data_dependent_statement():
    """Other votes, with other costs, make the same statement."""
    shown = []
    for costs in ([1e-4, 2e-4], [3e-3, 1e-3]):
        accountant = quietly(
            PrivacyAccountant, 1.0, 1e-5, accounting="data_dependent", order="renyi"
        )
        accountant.release(Known(most=1.0), [[5.0, cost] for cost in costs])
        statement = accountant.statement()
        same = {"ledger_id": "", "created": "", "as_of": statement.as_of[:10], "released": ()}
        shown.append(str(dataclasses.replace(statement, **same)))
    assert shown[0] == shown[1]


@settings(max_examples=40)
@given(st.floats(0, 1))
@example(1e-9)
@example(0.00999999999999)
@example(0.01)
@example(0.5)
@example(0.9999)
@example(1.0)
@example(5e-324)
def test_probabilities_are_rounded_up(probability):
    """What is read back is never less, and more by a tenth at most."""
    if probability == 0:
        assert chance(probability) == "none"
        return
    cases, of = (float(number.replace(",", "")) for number in chance(probability).split(" of "))
    assert probability <= cases / of * (1 + 1e-12) <= max(1.12 * probability, 1.12e-9)
    percent = float(percent_up(probability).rstrip("%"))
    assert 100 * probability <= percent * (1 + 1e-12) <= 100 * probability + 0.1001


def test_every_mechanism_has_plain_words():
    abstract = {"Mechanism", "TopK"}
    classes = {
        name
        for name in mechanisms.__all__
        if isinstance(getattr(mechanisms, name), type) and name not in abstract
    }
    assert set(RELEASE_WORDS) == classes - {"RoundRobin"}
    turns = mechanisms.RoundRobin(
        mechanism=mechanisms.GNMax(sigma=4.0), turns={"everyone": (1, 2)}
    ).describe()
    assert release_words(turns, {}) == RELEASE_WORDS["GNMax"]
    counts = {"mechanism": "NoisyCounts"}
    assert release_words(counts, {"measured": "accuracy"}) == "share of right answers, with noise"
    matrix = {"measured": "confusion matrix"}
    assert release_words(counts, matrix) == "counts, with noise (confusion matrix)"
    for strange in (None, 3, {}, {"mechanism": ["x"]}, {"mechanism": "tests._fakes:Pure"}):
        assert release_words(strange, {}) == "answers of a mechanism that is not the library's"


def test_what_was_released_is_in_plain_words():
    accountant = PrivacyAccountant(1.0, 1e-5)
    accountant.release(mechanisms.GNMax(sigma=40.0), votes(3))
    accountant.release(mechanisms.NoisyCounts(sigma=400.0), [[3.0]], note={"measured": "accuracy"})
    text = " ".join(str(accountant.statement()).split())
    assert ": the class with the most votes, after noise. GNMax(ballots=1" in text
    assert "answers: 3" in text
    assert ": share of right answers, with noise. NoisyCounts(" in text
