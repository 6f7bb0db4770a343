"""The privacy statement: what it says, what it withholds, and what it can be checked against."""

import dataclasses
import json
import math

import numpy as np
import pytest
from tests._fakes import Gaussian, Known, Pure, basic_budget, spend, votes
from tests._quietly import quietly

from secretballot import PrivateLinearRegression, PrivateLogisticRegression, mechanisms
from secretballot.accounting import PrivacyAccountant, PrivacyStatement


def flat(statement):
    """The text without its line breaks."""
    return " ".join(str(statement).split())


@pytest.fixture
def accountant(tmp_path):
    accountant = PrivacyAccountant(
        {"strict": 1.0, "lax": 3.0},
        1e-5,
        unit="owner",
        ledger=tmp_path / "budget.ledger",
        order="renyi",
    )
    named = {"classes_learned": False, "split_by": "owner"}
    for n_rows in (2, 3):
        accountant.release(Gaussian(sigma=40), votes(n_rows), note=named)
    accountant.release(Gaussian(sigma=50), votes(4))
    return accountant


def test_the_guarantee_per_level(accountant):
    statement = accountant.statement()
    spent = accountant.spent()
    assert (statement.unit, statement.relation) == ("owner", "replace")
    for level in statement.levels:
        name = level["level"]
        assert level["epsilon"] == {"strict": 1.0, "lax": 3.0}[name]
        assert (level["delta"], level["approximation_delta"]) == (1e-5, 0.0)
        assert level["order"] == spent[name].order
        assert level["share_spent"] == spent[name].share
        assert level["epsilon_spent"] == spent[name].epsilon
    text = flat(statement)
    assert "neighbours if everything that one owner contributed is replaced by any other." in text
    for name in ("strict", "lax"):
        assert f"{spent[name].share:.1%}" in text


def test_releases_are_grouped(accountant):
    first, second = accountant.statement().released
    assert first["mechanism"] == {"mechanism": "tests._fakes:Gaussian", "sigma": 40}
    assert first["note"] == {"classes_learned": False, "split_by": "owner"}
    assert (first["n_releases"], first["n_rows"], first["seeded"]) == (2, 5, False)
    assert first["first"] < first["last"] < second["first"] == second["last"]
    assert (second["n_releases"], second["n_rows"]) == (1, 4)


def test_the_head_stands_for_the_ledger_as_it_was(accountant):
    statement = accountant.statement()
    head = accountant._ledger.verify()
    assert (statement.head, statement.n_entries) == (head.digest, head.n_entries) == (head[1], 3)
    assert statement.ledger_id == accountant._ledger.header().ledger_id
    assert f"verify FILE --head 3:{head.digest}\n" in str(statement)
    accountant.release(Gaussian(sigma=50), votes(1))
    assert accountant.statement().head != statement.head


def test_nothing_released_yet():
    statement = PrivacyAccountant(1.0, 1e-5, order="renyi").statement()
    assert statement.released == ()
    assert statement.levels[0]["share_spent"] == 0
    assert "nothing" in str(statement)
    assert len(statement.head) == 64
    assert "All noise came from" not in str(statement)
    assert "any time" not in str(statement)
    assert "anything but what a cryptographic generator draws next" in flat(statement)
    assert "Nobody can predict the cryptographic generator" in flat(statement)


@pytest.mark.parametrize(
    ("unit", "promise", "assumption"),
    [
        ("row", "one row of the private data", "One row is protected at a time"),
        ("owner", "everything that one owner contributed", "owner ids are right"),
        ("label", "the private label of one instance", "Only the labels are private"),
        ("voter", "the whole ballot of one voter", "Each voter cast one ballot"),
    ],
)
@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_units_and_relations(unit, promise, assumption, relation):
    accountant = PrivacyAccountant(1.0, 1e-5, unit=unit, relation=relation, order="renyi")
    text = flat(accountant.statement())
    moved = "replaced by any other" if relation == "replace" else "added or removed"
    assert f"neighbours if {promise} is {moved}. For any two" in text
    assert assumption in text
    assert ("two such steps apart: twice epsilon" in text) == (relation == "add_remove")
    # Who takes part is hidden where units are added and removed.
    public = ("How many rows there are is public", "take part is public", "Who voted is public")
    assert any(each in text for each in public) == (relation == "replace" and unit != "label")


@pytest.mark.parametrize(
    ("notes", "said", "unsaid"),
    [
        (
            [{"classes_learned": True}],
            "In the one release the set of classes was learned",
            "beforehand",
        ),
        ([{"classes_learned": False}] * 2, "In all releases the set of classes was named", "learn"),
        (
            [{"classes_learned": True}, {}],
            "In 1 of 2 releases the set of classes was lea",
            "beforehand",
        ),
        ([{"split_by": "party"}], "nobody's data is with two of them", "by their position"),
        ([{"split_by": "row"}], "by their position", "parties"),
        ([{"split_by": "owner"}], "a keyed hash of the owner's id", "parties"),
        ([{"features_from": "public"}, {}], "In 1 of 2 releases what rows are desc", "declared"),
        (
            [{"features_from": "declared"}],
            "without looking at private rows, and are public",
            "fitted bef",
        ),
        ([{"features_from": "frozen"}] * 2, "In all releases rows were described by", "declared"),
        ([{"features_from": "frozen"}], "saw no private row is its user's word", "rows alone"),
        ([{"bags_formed_by": "label"}, {}], "In 1 of 2 releases THE BAGS WERE FORMED", "promised"),
        ([{"bags_formed_by": "group"}], "which bag each belongs to", "FORMED BY LABEL"),
        (
            [{"bags_formed_by": "not said"}],
            "That no instance is in two bags is the caller",
            "FORMED",
        ),
        ([{"bags_formed_by": "group"}], "which bag each belongs to", "in two bags"),
        ([{"min_count_promised": 5}], "at least 5 of each class", "FORMED BY LABEL"),
        ([{"min_count_promised": 0}], "which bag each belongs to", "promised"),
    ],
)
def test_assumptions_that_releases_declared(notes, said, unsaid):
    unit = "label" if "bag" in said else "row"
    accountant = PrivacyAccountant(4.0, 1e-5, unit=unit, order=math.inf)
    for note in notes:
        accountant.release(Pure(epsilon=0.25), votes(1), note=note)
    text = flat(accountant.statement())
    assert said in text
    assert unsaid not in text


DIRECT = "numbers were handed to the budget directly"
SCORED = "predictions were scored"


@pytest.mark.parametrize(
    ("notes", "said", "unsaid"),
    [
        ([{}], f"In the one release {DIRECT}", SCORED),
        ([{"purpose": "visits"}, {"split_by": "row"}], f"In 1 of 2 releases {DIRECT}", SCORED),
        ([{"measured": "visits"}], f"In the one release {DIRECT}", SCORED),
        ([{"measured": "accuracy", "n_counted": 9}], f"In the one release {SCORED}", DIRECT),
        ([{"measured": "squared errors", "n_counted": 9}], "that this ledger released", DIRECT),
        ([{"measured": "confusion matrix", "n_counted": 9}, {}], f"1 of 2 releases {SCORED}", "-"),
        ([{"split_by": "owner"}], "What is assumed", DIRECT),
        ([{"features_from": "public"}], "What is assumed", DIRECT),
        ([{"counted_from": "owners"}], "What is assumed", DIRECT),
    ],
)
def test_what_callers_answer_for(notes, said, unsaid):
    accountant = PrivacyAccountant(4.0, 1e-5)
    for note in notes:
        accountant.release(mechanisms.NoisyCounts(sigma=400.0), [[3.0]], note=note)
    text = flat(accountant.statement())
    assert said.lower() in text.lower()
    assert unsaid == "-" or unsaid not in text
    assert "That one row changes them by no more than the mechanism" in text or DIRECT not in text


def test_a_ledger_without_a_name_can_not_be_checked_later(tmp_path):
    unnamed = PrivacyAccountant(1.0, 1e-5).statement()
    assert unnamed.is_temporary
    assert "it is deleted when its program ends" in flat(unnamed)
    assert "ledger='survey.ledger'" in flat(unnamed)
    assert "verify FILE" not in flat(unnamed)
    named = PrivacyAccountant(1.0, 1e-5, ledger=tmp_path / "of.ledger").statement()
    assert not named.is_temporary
    assert "verify FILE" in flat(named)
    assert "has no name" not in flat(named)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda **how: PrivateLogisticRegression(classes=[0, 1], **how), "2 classes"),
        (lambda **how: PrivateLogisticRegression(classes=[0, 1, 2], **how), "3 classes"),
        (PrivateLogisticRegression, "2 labels"),
        (lambda **how: PrivateLinearRegression(target_bounds=(0, 2), **how), None),
    ],
)
def test_what_sums_were_released_for(model, words):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_200, 3))
    y = rng.integers(0, 2, (1_200, 2) if words == "2 labels" else 1_200)
    accountant = PrivacyAccountant(4.0, 1e-5)
    model(bounds=(-5, 5), accountant=accountant).fit(X, y)
    learned = f"a logistic regression of {words}" if words else "a regression of a number"
    text = flat(accountant.statement())
    assert f"sums over bounded rows, with noise, for {learned} on 3 columns." in text
    of_targets = "" if words else ", or of target_bounds"
    checked = f"counts, with noise (rows outside of declared bounds and categories{of_targets})"
    assert f"{checked}, for {learned} on 3 columns." in text


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ([{}], "(one over delta), at most a tenth. The releases do not name their number."),
        ([{"n_counted": 600}, {"n_counted": 1_500}], "is 1,500: one over delta is 67 times as"),
        ([{"n_counted": 10_000}], "names is 10,000: one over delta is 10 times as many."),
        (
            [{"n_counted": 10_001}],
            "names is 10,001: ONE OVER DELTA IS ONLY 9.9 TIMES AS MANY. A delta of at most 1.0e-05",
        ),
        (
            [{"n_counted": 50_000}],
            "ONE OVER DELTA IS ONLY 2 TIMES AS MANY. A delta of at most 2.0e-06 would be",
        ),
        ([{"n_counted": 100_000}], "names is 100,000: NOT FEWER. DELTA IS TOO LARGE FOR THEM."),
        ([{"people": {"strict": 40, "lax": 2}}, {}], "is 42: one over delta is 2,381 times"),
    ],
)
def test_the_largest_number_of_people_is_named(notes, said):
    accountant = PrivacyAccountant(4.0, 1e-5, order=math.inf)
    for note in notes:
        accountant.release(Pure(epsilon=0.25), votes(1), note=note)
    text = flat(accountant.statement())
    assert "far fewer than 100,000 rows (one over delta)" in text
    assert said in text


@pytest.mark.parametrize(
    "note",
    [
        {"people": 7, "individualization": [1], "classes_learned": "x", "split_by": {}},
        {"people": {"strict": 3}},
        {"people": {"strict": 3}, "individualization": {"variant": "none", "none": 3}},
        {"min_count_promised": "5", "bags_formed_by": None, "priced": ["as one plan"]},
        {"min_count_promised": [1], "priced": True, "features_from": "private"},
        ["classes_learned"],
        3,
        None,
    ],
)
def test_a_note_of_another_version_breaks_nothing(note):
    """What the statement can't read it doesn't say; what was noted is there as it is."""
    accountant = basic_budget()
    spend(accountant)
    entry = dataclasses.replace(accountant.entries()[0], note=json.dumps(note))
    accountant._ledger.transact(lambda transaction: transaction.append(entry))
    statement = accountant.statement()
    plain = basic_budget()
    spend(plain, 2)
    counted = ("Votes were cast", DIRECT, "one over delta")
    assumptions = {
        each for each in statement.assumptions if not any(words in each for words in counted)
    }
    assert assumptions - set(plain.statement().assumptions) <= {
        each for each in statement.assumptions if "level of privacy was chosen" in each
    }
    assert (statement.outside, statement.recorded) == ((), plain.statement().recorded)
    assert statement.released[1]["note"] == note
    assert statement.to_html()
    assert json.dumps(statement.to_dict())


def test_mechanisms_that_are_not_the_librarys_are_marked():
    class GNMax(mechanisms.GNMax):
        """Calls itself like its parent, and might do anything."""

        def describe(self):
            return {**super().describe(), "mechanism": "GNMax"}

    class Foreign(mechanisms.GNMax):
        pass

    turns = {"everyone": (1, 2)}
    accountant = PrivacyAccountant(4.0, 1e-5, order="renyi")
    for mechanism in (
        mechanisms.GNMax(sigma=400.0),
        mechanisms.RoundRobin(mechanism=mechanisms.GNMax(sigma=400.0), turns=turns),
    ):
        accountant.release(mechanism, votes(1))
    assert "not one of the library's" not in flat(accountant.statement())
    assert Foreign(sigma=4).describe()["mechanism"].endswith(":" + Foreign.__qualname__)
    accountant.release(GNMax(sigma=400.0), votes(1))
    accountant.release(mechanisms.RoundRobin(mechanism=Foreign(sigma=400.0), turns=turns), votes(1))
    statement = accountant.statement()
    assert "In 2 of 4 releases the mechanism was not one of the library's: " in flat(statement)
    assert "The proof of what it costs is its author's." in flat(statement)
    names = [each["mechanism"]["mechanism"] for each in statement.released]
    assert names == ["GNMax", "RoundRobin", f"{__name__}:{GNMax.__qualname__}", "RoundRobin"]
    assert statement.released[3]["mechanism"]["inner"]["mechanism"].startswith(f"{__name__}:")
    assert f"{__name__}:{GNMax.__qualname__}(" in str(statement)


def test_seeded_noise():
    accountant = basic_budget()
    spend(accountant)
    assert "All noise came from a cryptographic generator" in flat(accountant.statement())
    quietly(accountant.release, Pure(epsilon=0.25), votes(1), random_state=0)
    statement = accountant.statement()
    assert [each["seeded"] for each in statement.released] == [False, True]
    assert "IN 1 OF 2 RELEASES THE NOISE WAS REPRODUCIBLE" in flat(statement)
    assert "All noise" not in flat(statement)


def test_order_infinity_is_basic_composition():
    assert "basic composition" in flat(basic_budget().statement())
    finite = PrivacyAccountant(1.0, 1e-5, order="renyi").statement()
    assert "basic composition" not in flat(finite)
    for statement in (finite, basic_budget().statement()):
        assert "Epsilon so far is a reading" in flat(statement)


def test_figures_that_are_sensitive_themselves_are_withheld():
    accountant = quietly(PrivacyAccountant, 1.0, 1e-5, accounting="data_dependent", order="renyi")
    accountant.release(Known(most=1.0), [[5.0, 1e-4], [4.0, 2e-4]])
    figures = {repr(value) for value in (accountant.spent().share, accountant.spent().epsilon)}
    digest = accountant.entries()[-1].digest
    statement = accountant.statement()
    for form in (json.dumps(statement.to_dict()), str(statement), statement.to_html()):
        assert not any(figure in form for figure in figures)
        assert digest not in form
        assert f"{accountant.spent().share:.1%}" not in form
    assert statement.released[0]["n_rows"] is None
    assert "withheld" in str(statement)
    assert "sensitive themselves" in flat(statement)
    # In the worst case none of them is.
    worst = basic_budget()
    spend(worst)
    assert worst.entries()[-1].digest in json.dumps(worst.statement().to_dict())
    assert "withheld" not in str(worst.statement())


def test_as_a_dict(accountant):
    for statement in (accountant.statement(), basic_budget().statement()):
        values = statement.to_dict()
        text = json.dumps(values, allow_nan=False)
        assert PrivacyStatement.from_dict(json.loads(text)) == statement
        assert str(PrivacyStatement.from_dict(values)) == str(statement)
        # A copy: what is done to it is not done to the statement.
        values["levels"][0]["epsilon"] = -1
        assert statement.levels[0]["epsilon"] > 0
    assert basic_budget().statement().to_dict()["levels"][0]["order"] == "inf"
    assert float(basic_budget().statement().levels[0]["order"]) == math.inf


def test_the_keys_of_the_dict(accountant):
    values = accountant.statement().to_dict()
    names = [field.name for field in dataclasses.fields(PrivacyStatement)]
    assert list(values) == ["format", "version", *names]
    assert set(values["summary"]) == {
        *("who", "from_what", "how_strongly", "until_when", "assumptions")
    }
    for level in values["levels"]:
        assert set(level) == {
            *("level", "epsilon", "delta", "approximation_delta", "order", "limit"),
            *("share_spent", "epsilon_spent", "best_guess", "ninefold_rise"),
        }
    for release in values["released"]:
        assert set(release) == {
            *("words", "mechanism", "note", "seeded", "n_releases", "n_rows", "first", "last")
        }


@pytest.mark.parametrize("change", [{"format": "x"}, {"version": 2}, {"format": None}])
def test_other_formats_and_versions_are_refused(change):
    values = {**basic_budget().statement().to_dict(), **change}
    with pytest.raises(ValueError, match="or of another version of secretballot"):
        PrivacyStatement.from_dict(values)


def test_fields_missing_and_added_are_refused():
    values = basic_budget().statement().to_dict()
    with pytest.raises(ValueError, match=r"\['more'\] are missing or unknown"):
        PrivacyStatement.from_dict({**values, "more": 1})
    del values["unit"]
    with pytest.raises(ValueError, match=r"\['unit'\] are missing or unknown"):
        PrivacyStatement.from_dict(values)
    with pytest.raises(ValueError, match="format=None"):
        PrivacyStatement.from_dict({})


def test_as_html_escaped():
    accountant = PrivacyAccountant({"<b>strict": 1.0}, 1e-5, order="renyi")
    accountant.release(Gaussian(sigma=40), votes(1))
    page = accountant.statement().to_html()
    assert accountant.statement()._repr_html_() == page
    assert "&lt;b&gt;strict" in page
    assert "<b>" not in page
    assert "Gaussian(sigma=40)" in page
    for assumption in accountant.statement().assumptions:
        assert assumption[:30] in page


def test_a_name_can_not_pretend_to_be_a_line():
    accountant = PrivacyAccountant({"x\nepsilon 0.001\x1b[2J": 1.0}, 1e-5, order="renyi")
    text = str(accountant.statement())
    assert "\x1b" not in text
    assert "x\\nepsilon 0.001\\x1b[2J" in text


def test_as_one_line(accountant):
    assert repr(accountant.statement()) == (
        "<PrivacyStatement: epsilon=1 (strict), 3 (lax), delta=1e-05 per owner, 3 releases>"
    )


def test_rows_that_are_reserved():
    accountant, mechanism = PrivacyAccountant(4.0, 1e-5), mechanisms.GNMax(sigma=400.0)
    assert "paid for before" not in flat(accountant.statement())
    first = accountant.reserve(mechanism, 2)
    sentence = "one reservation rows were paid for before they were drawn; 2 of them may still be"
    assert sentence in flat(accountant.statement())
    accountant.release(mechanism, votes(1), reservation=first)
    second = accountant.reserve(mechanism, 1)
    accountant.release(mechanism, votes(1), reservation=second)
    sentence = "In 2 reservations rows were paid for before they were drawn; 1 of them may still be"
    assert sentence in flat(accountant.statement())
    accountant.settle(first)
    accountant.settle(second)
    text = flat(accountant.statement())
    assert "In 2 reservations rows were paid for before they were drawn. " in text
    assert "may still be drawn" not in text
