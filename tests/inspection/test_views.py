"""What is shown of objects: text and HTML say the same, nothing acts, and nothing is private."""

import copy
import html as html_module
import math
import pickle
import re
import time
from functools import cache

import numpy as np
import pytest

from secretballot._base._view import (
    Answers,
    Bar,
    Blanks,
    Heading,
    Items,
    Key,
    Prose,
    Segment,
    Shade,
    Table,
    View,
    facts,
    percent,
)
from secretballot.accounting import PlanPrice, PrivacyAccountant, PublishedEpsilon, price_plan
from secretballot.ensemble import PrivateLabels, recommend_teachers
from secretballot.measures import (
    PrivateConfusion,
    PrivateItems,
    PrivateRegressionScore,
    PrivateScore,
    RegressionScorePrice,
    ScorePrice,
)
from secretballot.mechanisms import GNMax
from secretballot.parties import Agreement, Answer
from secretballot.testing import Neighbours, audit_epsilon

#: Would begin a tag, or end an attribute of either kind, or a line. (No level may have a slash.)
ACTING = "<script>alert('&\"\n')<br>"
NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[-+]?\d+)?%?")


def levels():
    accountant = PrivacyAccountant({ACTING: 1.0, "generous": 3.0}, 1e-5)
    accountant.release(GNMax(sigma=40), np.tile([30.0, 20.0], (7, 1)))
    return accountant


def labels():
    there = np.array([True, True, True, False, True])
    return PrivateLabels(np.array([ACTING, "b", "b", None, ACTING], dtype=object), there)


def multilabel():
    there = np.array([[True, False], [True, True], [False, True]])
    return PrivateLabels(np.array([[1, -1], [0, 1], [-1, 1]]), there)


def answer():
    return Answer(
        labels=labels().labels,
        answered=labels().answered,
        names=None,
        voters=(ACTING, "south"),
        absent={"west": ACTING},
        mechanism=GNMax(sigma=5.0),
        id=ACTING,
    )


def audit():
    pair = Neighbours(np.array([[73.0, 77.0]]), np.array([[72.0, 78.0]]), ACTING)
    return audit_epsilon(
        GNMax(sigma=1.5), [pair], delta=1e-2, claim={ACTING: 2.2}, n_draws=500, random_state=0
    )


def confusion():
    counts = np.array([[1234.0, -3.0], [56.0, 789.0]])
    return PrivateConfusion(
        matrix=counts, classes=np.array([ACTING, "b"]), level=0.95, n=2076, unit="row", sigma=4.5
    )


def interval_score():
    ends = {"interval": (0.812, 0.834), "rows_interval": (0.815, 0.831)}
    return PrivateScore(accuracy=0.823, level=0.95, n=9000, unit="owner", sigma=23.7, **ends)


def numbers_score(low=-0.1):
    return PrivateRegressionScore(
        r2=0.41,
        r2_interval=(low, 0.52),
        rmse=1234.5,
        rmse_interval=(1100.0, 1300.0),
        level=0.95,
        n=9000,
        unit="row",
        sigma=11.9,
        largest_error=6000.0,
        largest_deviation=8000.0,
        centre=500.0,
    )


def published():
    return PublishedEpsilon(
        epsilon=1.27,
        delta=1e-5,
        failure=0.001,
        cap=2.81,
        cap_delta=1e-5,
        order=3.0,
        sigma=4.0,
        n_rows=500,
    )


def every_part():
    bar = Bar((Segment("this", 0.5, ACTING),))
    parts = (
        Heading(ACTING),
        Prose.of(ACTING, ACTING, wrapped=True),
        Items((ACTING, ACTING), wrapped=True),
        Answers(((ACTING, ACTING),)),
        Blanks((ACTING, ACTING)),
        Table((ACTING, Key(ACTING, "this"), ""), [(ACTING, Shade(ACTING, 0.5), bar)]),
        facts((ACTING, ACTING)),
        Table((ACTING,), [(ACTING,)], folded=ACTING),
    )
    return View(ACTING, parts, about=ACTING)


SHOWN = {
    "every part": every_part,
    "accountant": lambda: levels().report(),
    "fit": lambda: levels().report(levels().scope()),
    "spent": lambda: levels().spent(),
    "spent on one": lambda: levels().spent()["generous"],
    "remaining": lambda: levels().remaining(),
    "statement": lambda: levels().statement(),
    "plan": lambda: price_plan(GNMax(sigma=40), 3, n_columns=2),
    "labels": labels,
    "several labels": multilabel,
    "teachers": lambda: recommend_teachers(
        n_private=2_000, n_public=16, epsilon=1, delta=1e-5, n_rows=[]
    ),
    "audit": audit,
    "pair": lambda: audit().pairs[0],
    "score": interval_score,
    "confusion": confusion,
    "price": lambda: ScorePrice(
        sigma=23.7, share={ACTING: 0.025, "b": 0.5}, half_width=0.012, level=0.95
    ),
    "score of numbers": numbers_score,
    "hidden score of numbers": lambda: numbers_score(-math.inf),
    "price of numbers": lambda: RegressionScorePrice(
        sigma=23.7,
        share={ACTING: 0.025, "b": 0.5},
        half_width=0.05,
        largest_error=60,
        target_std=25,
        level=0.9,
    ),
    "published": published,
    "items": lambda: PrivateItems(np.array([ACTING, "b"], dtype=object), True),
    "no items": lambda: PrivateItems(None, False),
    "agreement": lambda: Agreement(
        mechanism=GNMax(sigma=5.0), parties=[ACTING, "south", "west"], weights={ACTING: 2.0}
    ),
    "answer": answer,
}


@cache
def made(name):
    return SHOWN[name]()


@pytest.fixture(params=SHOWN)
def shown(request):
    return made(request.param)


def read(page):
    """The text of a page as a reader sees it who has neither styles nor what is folded."""
    for unread in (r"<style>.*?</style>", r"<details>.*?</details>"):
        page = re.sub(unread, "", page, flags=re.S)
    return html_module.unescape(re.sub(r"<[^>]*>", " ", page))


def test_text_and_html_have_the_same_numbers(shown):
    page = shown._repr_html_()
    about = re.search(r'<p class="sb-title">.*?</p>', page).group()
    numbers = sorted(NUMBER.findall(read(page.replace(about, ""))))
    assert numbers == sorted(NUMBER.findall(str(shown)))


def test_views_are_escaped(shown):
    page = shown._repr_html_()
    assert "<script" not in page
    assert "alert('" not in page
    for tag in re.findall(r"<[^>]*>", page):
        assert re.fullmatch(r"</?[a-z0-9]+(?: [a-z-]+=\"[^\"<>]*\")*>", tag), tag
    text = str(shown)
    assert all(line.isprintable() for line in text.splitlines())
    assert "alert('&\"\n" not in text.lower()


def test_it_is_well_formed(shown):
    open_tags = []
    for end, name in re.findall(r"<(/?)([a-z0-9]+)", shown._repr_html_()):
        if end:
            assert open_tags.pop() == name
        elif name != "br":
            open_tags.append(name)
    assert open_tags == []


def test_it_needs_no_theme(shown):
    """Text has the colour of what is around it, so that dark pages stay legible."""
    page = shown._repr_html_()
    for colour in re.findall(r"[^-]color:([^;}\"]*)", page):
        assert colour in ("inherit", "inherit!important")
    assert not re.search(r"background:\s*(#|white|black)", page)


def test_objects_with_views_keep_their_types():
    released = labels()
    values, answered = released
    assert values is released.labels
    assert len(released) == 2
    assert answered.sum() == 4
    assert isinstance(pickle.loads(pickle.dumps(released)), PrivateLabels)
    spent = levels().spent()
    assert isinstance(spent, dict)
    assert list(spent) == [ACTING, "generous"]
    assert list(copy.copy(spent)) == list(spent)
    assert repr(published()).startswith("PublishedEpsilon(epsilon=1.27")
    assert isinstance(SHOWN["plan"](), PlanPrice)


def test_audits_show_no_data():
    """It is made up, or should be; if it is not, a notebook is no place for it."""
    for each in (audit(), audit().pairs[0]):
        for data in ("73", "77", "72", "78"):
            assert data not in NUMBER.findall(read(each._repr_html_()))
            assert data not in NUMBER.findall(str(each))


def test_bars():
    bar = Bar((Segment("spent", 0.5, "before"), Segment("this", 0.001, "now"), Segment("", 0.499)))
    assert bar.text == f"[{'=' * 10}#{'.' * 9}]"
    assert 'aria-label="50.0% before, 0.1% now"' in bar.html
    assert "width:50.00%" in bar.html
    assert Bar.of(1.7).text == f"[{'#' * 20}]"
    assert Bar.of(float("nan")).text == f"[{'.' * 20}]"
    assert 'aria-hidden="true"' in Bar.between(0.2, 0.4).html
    assert Bar.between(0.2, 0.4).text == "[....####............]"


def test_tables():
    table = Table(("name", "count"), [("a", "1,234"), ("b", Shade("5", 0.1))])
    assert table.html.count('class="sb-number"') == 3
    assert table.text.splitlines()[2:] == ["a     1,234", "b     5"]
    assert facts(("accuracy", "0.8")).html.startswith('<table><tbody><tr><th scope="row">')
    folded = View("T", (Table(("a",), [("1",)], folded="<more>"),))
    assert "<summary>&lt;more&gt;</summary>" in folded.html
    assert str(folded) == ""


def test_labels_of_lists_and_parts_of_a_spend_are_shown():
    """From JSON, say, or with levels taken out."""
    there = PrivateLabels(["b", "a", "b"], [True, True, False])
    assert str(there) == str(PrivateLabels(np.array(["b", "a", "b"]), np.array([1, 1, 0]) > 0))
    spent = levels().spent()
    one = copy.copy(spent)
    del one[ACTING]
    assert len(str(one).splitlines()) == 3
    one.clear()
    assert str(one) == ""
    assert "sb-view" in one._repr_html_()


def test_long_texts_and_many_classes_take_no_time():
    """Others may have written them: the name of a voter, the reason why it is absent."""
    begun = time.process_time()
    table = Table(("a",), [("1" * 20_000 + "x",), ("1," * 10_000 + "x",), ("." * 20_000,)])
    assert "sb-number" not in table.html
    text = str(PrivateLabels(np.arange(100_000), np.ones(100_000, dtype=bool)))
    assert "and 99,988 rarer classes" in text
    assert time.process_time() - begun < 5
    for number in ("1,234", "-0.5", "+1e-05", ".5", "5.", "97.5%", "3 %", "inf", "nan", "-", ""):
        assert "sb-number" in Table(("a",), [(number,)]).html
    for share in (1e-9, 0.5, 1 - 1e-9):
        assert "sb-number" in Table(("a",), [(percent(share),)]).html
    for word in ("1-2", "1.2.3", "e5", "a", "%"):
        assert "sb-number" not in Table(("a",), [(word,)]).html


def test_unanswered_labels_are_not_shown():
    """Whatever stands there."""
    there = np.array([True, False, True])
    text = str(PrivateLabels(np.array(["b", "hidden", "b"]), there))
    assert "first rows: b, unanswered, b" in text
    assert "hidden" not in text
    several = PrivateLabels(np.ones((3, 2), dtype=int), np.column_stack([there, ~there]))
    rows = [line.split()[:4] for line in str(several).splitlines()[-2:]]
    assert rows == [["0", "2", "0", "1"], ["1", "1", "0", "2"]]


def test_many_classes_are_counted_together():
    names = np.array([f"c{at:02}" for at in range(40)] * 2, dtype=object)
    text = str(PrivateLabels(names, np.ones(80, dtype=bool)))
    assert "and 28 rarer classes" in text
    wide = PrivateLabels(np.ones((3, 40), dtype=int), np.ones((3, 40), dtype=bool))
    assert "and 28 more" in str(wide)
    nothing = PrivateLabels(np.array([], dtype=object), np.array([], dtype=bool))
    assert str(nothing) == "0 of 0 rows answered"
    assert "0 of 2 rows" in str(PrivateLabels(np.array([None, None]), np.zeros(2, dtype=bool)))


def test_shares_near_0_and_1_are_not_shown_as_0_and_1():
    shares = (None, 0, 1e-9, 0.0005, 0.5, 0.9994, 1 - 1e-9, 1, 1.2)
    told = ["withheld", "0.0%", "<0.1%", "0.1%", "50.0%", "99.9%", ">99.9%", "100.0%", "120.0%"]
    assert list(map(percent, shares)) == told
