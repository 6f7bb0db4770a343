"""The documentation: its examples run as they stand, its figures hold, its links lead somewhere."""

from __future__ import annotations

import math
import re
import shlex
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks.proportions.distortion import DEFAULT, distortions
from examples.labels_against_epsilon import DELTA, SIGMA, labels
from scipy.special import ndtri
from tests.games._references import tied

from secretballot.__main__ import main
from secretballot.accounting import PrivacyAccountant, price_plan
from secretballot.accounting._pricing import PricedRows, pricing_for
from secretballot.costs._noise import gaussian_delta
from secretballot.mechanisms import ConfidentGNMax, GNMax

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
}
EXAMPLES = {
    name: blocks
    for name, page in PAGES.items()
    if (blocks := re.findall(r"^```python\n(.*?)^```", page, flags=re.S | re.M))
}
# Audits draw: seeded, but a stream of random numbers may change between versions of NumPy.
DRAWN = {"docs/theory/audit.md": 0.05}
NUMBER = r"\d+(?:\.\d+)?"


@pytest.mark.filterwarnings("ignore:a copy of the model")  # pages about tools have words for it
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, tmp_path, monkeypatch, capsys):
    """In the order of the page; what a page says is printed is printed.

    Examples draw noise without a seed, as users do: nothing is asserted about what depends on it.
    """
    monkeypatch.chdir(tmp_path)
    names = {}
    for example in EXAMPLES[name]:
        exec(compile(example, name, "exec"), names)
    shown = "".join(re.findall(r"^```text\n(.*?)^```", PAGES[name], flags=re.S | re.M))
    if shown:
        printed = capsys.readouterr().out
        assert re.split(NUMBER, printed) == re.split(NUMBER, shown)
        figures, expected = (
            list(map(float, re.findall(NUMBER, text))) for text in (printed, shown)
        )
        assert figures == pytest.approx(expected, rel=DRAWN.get(name, 0))
    for command in re.findall(r"^secretballot (.*)$", "".join(shell_blocks(name)), flags=re.M):
        assert main(shlex.split(command)) == 0, command


def shell_blocks(name):
    return re.findall(r"^```sh\n(.*?)^```", PAGES[name], flags=re.S | re.M)


CHARGED = "docs/development/how-a-release-is-charged.md"


@pytest.mark.parametrize("heading", ["## Default budget", "## Renyi budget"])
def test_functions_of_a_release_are_in_their_files(heading):
    _, rows = table(CHARGED, heading)
    assert 5 < len(rows) <= 11
    for function, path, _ in rows:
        source = (ROOT / "src/secretballot" / path.strip("`")).read_text(encoding="utf-8")
        assert re.search(rf"(def|class) {function.strip('`')}\b", source), function


@pytest.mark.parametrize(
    ("order", "budget"),
    [("gaussian", '`"gaussian"`'), ("renyi", '`"renyi"`'), (math.inf, "`math.inf`")],
)
def test_pricing_classes(order, budget):
    accountant = PrivacyAccountant(epsilon=1.0, delta=1e-5, order=order)
    confident = ConfidentGNMax(sigma=40.0, sigma_threshold=200.0, threshold=300.0)
    classes = [
        type(pricing_for(accountant._limits(None), PricedRows(mechanism=mechanism, n_rows=3)))
        for mechanism in (GNMax(sigma=40.0), confident)
    ]
    (cells,) = [cells for name, *cells in table(CHARGED, "## Pricing class")[1] if budget in name]
    assert cells == [f"`{pricing.__name__}`" for pricing in classes]


@pytest.mark.parametrize("n_rows", [2, 10, 50])
def test_refunds_fall_short(n_rows):
    accountant = PrivacyAccountant(epsilon=1.0, delta=1e-5)
    rows = PricedRows(mechanism=GNMax(sigma=40.0), n_rows=n_rows, n_columns=2)
    pricing = pricing_for(accountant._limits(None), rows)
    span = pricing.span(n_rows)
    paid = pricing.price(accountant._ledger.totals(), span)
    refund = pricing.refund(span, paid)["everyone"]
    (_, *columns), ((_, *kept),) = table("docs/topics/budgets.md", "What a Gaussian budget keeps")
    shown = dict(zip(columns, kept, strict=True))[str(n_rows)]
    assert agrees(shown, 100 * (1 - float(refund.mu2) / float(paid["everyone"].mu2)))


def test_best_guess_of_the_front_page():
    page = " ".join(PAGES["docs/index.md"].split())
    (quoted,) = re.findall(r"which guess is right in at most (\S+) of 100", page)
    statement = PrivacyAccountant(epsilon=1.0, delta=1e-5, unit="row").statement()
    assert 'PrivacyAccountant(epsilon=1.0, delta=1e-5, unit="row")' in page
    assert f"guesses right in at most {quoted} of 100" in statement.summary["how_strongly"]


def test_links_have_targets():
    """To a file of the repository; that they lead to pages on the site is checked by Sphinx."""
    links = [
        (name, link)
        for name, page in PAGES.items()
        for link in re.findall(r"\]\(([^)#\s]+)", page)
        if "://" not in link
    ]
    assert len(links) > 15
    assert [
        (name, link) for name, link in links if not (ROOT / name).parent.joinpath(link).is_file()
    ] == []


@pytest.mark.parametrize("name", ["README.md", "docs/topics/guarantee.md"])
def test_the_public_part_of_neighbours_is_stated(name):
    text = " ".join(PAGES[name].split())
    for fact in ("number of rows", r"owner.{,40} ids", "take part", "level of privacy"):
        assert re.search(fact, text), fact


def table(name, heading):
    """Cells of the first table of a page after `heading`, without its own two lines of heading."""
    lines = iter(PAGES[name].split(heading)[1].splitlines())
    rows = []
    for line in lines:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            break
    return rows[0], rows[2:]


def agrees(shown, value):
    """Compare a value with a figure that is shown, up to the figure's rounding."""
    figure = shown.strip("* %").replace(",", "")
    unit = 10.0 ** -len(figure.partition(".")[2])
    return abs(value - float(figure)) <= unit / 2 * (1 + 1e-9)


def test_labels_against_epsilon():
    _, rows = table("docs/theory/game.md", "Labels of two classes")
    computed = labels(np.array([0.5, np.log(2), 1.0, 2.0, 4.0])).values()
    assert [cells for _, *cells in rows] == [[f"{n:,}" for n in counts] for counts in computed]


def test_budgets_have_the_labels_of_the_game():
    _, priced = table("docs/theory/game.md", "Labels of two classes")
    _, rows = table("docs/topics/budgets.md", "Labels of two classes")
    labels_of = {name: cells for name, *cells in rows}
    assert [labels_of[f"{name}, any batches"] for name in ("published accounting", "Renyi")] == [
        priced[i][1:] for i in (0, 3)
    ]


COLUMNS = {
    "Gaussian": "gaussian",
    "Laplace, pure": "laplace (pure)",
    "Laplace": "laplace (delta)",
    "Dirichlet, promise": "dirichlet (promise)",
    "pseudo": "dirichlet (pseudo)",
    "paper": "dirichlet (paper)",
}


@pytest.mark.parametrize("heading", ["First the setting of Iyer", "A delta of .05 is no"])
def test_distortions(heading):
    (_, *columns), rows = table("docs/topics/proportions.md", heading)
    for setting, *cells in rows:
        values = [float(value.replace(",", "")) for value in setting.split(", ")]
        names = ("c",) if len(values) == 1 else ("epsilon", "delta", "m")
        computed = distortions({**DEFAULT, **dict(zip(names, values, strict=True))}, 400)
        for column, cell in zip(columns, cells, strict=True):
            value = computed[COLUMNS[column]]
            assert np.isnan(value) if cell == "can't" else agrees(cell, value), (setting, column)


def first_tie_too_many():
    ratio = np.sqrt(2) / SIGMA
    ties = (n for n in range(1, 400) if tied(n, ratio, np.log(2), ratio / 2) > DELTA)
    return [next(ties)]


def three_classes_beyond_two(n_rows):
    two, three = (
        price_plan(GNMax(sigma=SIGMA), n_rows, n_columns=n_classes).epsilon(DELTA)
        for n_classes in (2, 3)
    )
    return [100 * (three / two - 1)]


def paid_of_noisy_counts():
    ratio = 2 / SIGMA**2
    plans = {n: price_plan(GNMax(sigma=SIGMA), n, n_columns=2) for n in (1, 4, 10, 30, 88, 313)}
    return [100 * float(p.gaussian_cost(1e-8).mu2) / (n * ratio) for n, p in plans.items()]


def charged_afterwards():
    """Two coins, the second after one outcome alone; what the other gives back buys a normal."""
    p, epsilon = 0.86, 1.87
    loss = np.log(p / (1 - p))
    one, both = (2 * ndtri(p)) ** 2, (ndtri(p**2) - ndtri((1 - p) ** 2)) ** 2
    second = p * max(-np.expm1(epsilon - 2 * loss), 0) + (1 - p) * max(-np.expm1(epsilon), 0)
    other = float(gaussian_delta(np.sqrt(both - one), epsilon + loss))
    return [p * second + (1 - p) * other, float(gaussian_delta(np.sqrt(both), epsilon))]


def test_room_for_failure():
    _, (shares,) = table("docs/theory/gaussian-budget.md", "## The delta beside it")
    for shown, value in zip(shares[1:], paid_of_noisy_counts(), strict=True):
        assert agrees(shown, value), (shown, value)


def test_refund_of_a_shorter_plan_is_unsound():
    _, (deltas,) = table("docs/theory/gaussian-budget.md", "## The refund")
    for shown, value in zip(deltas, charged_afterwards(), strict=True):
        assert agrees(shown, value), (shown, value)


@pytest.mark.parametrize(
    ("name", "sentence", "compute"),
    [
        ("docs/theory/game.md", r"exceeds epsilon = log 2 with (\d+) labels", first_tie_too_many),
        (
            "docs/theory/game.md",
            r"by ([\d.]+) % of epsilon with 10 rows",
            partial(three_classes_beyond_two, 10),
        ),
        pytest.param(
            "docs/theory/game.md",
            r"with 10 rows, and by ([\d.]+) % with 40",
            partial(three_classes_beyond_two, 40),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_figures_in_sentences(name, sentence, compute):
    (match,) = re.finditer(sentence, " ".join(PAGES[name].split()))
    for shown, value in zip(match.groups(), compute(), strict=True):
        assert agrees(shown, value), (shown, value)
