"""Notes on public columns: remedies that work, identifiers, copies and codes for missing."""

import io
import re

import numpy as np
import pandas as pd
import pytest

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.accounting import BudgetExceededError

N = 300
RNG = np.random.default_rng(0)
WHOLE, PARTS = RNG.integers(1_000, 2_000_000, N), RNG.uniform(1, 90_000, N).round(2)
ORDER = RNG.permutation(N)


def note(cells, name="odd", **others):
    """Return the note on one column of a public table."""
    pool = pd.DataFrame({"x": RNG.normal(size=N), **others, name: cells})
    readings = PrivateLogisticRegression(classes=[0, 1]).read_columns(PublicData(pool))
    return {reading.name: reading.note for reading in readings}[name]


def swapped(texts):
    """Return texts of numbers with decimal commas."""
    return [text.translate(str.maketrans(",.", ".,")) for text in texts]


def holed(cells):
    """Return cells of which nine of ten are missing."""
    return [cell if row % 10 == 0 else np.nan for row, cell in enumerate(cells)]


def converted(X, remedy):
    """Return the column that a remedy makes of `X["column"]`."""
    if remedy == "astype(float)":
        return X["column"].astype(float)
    file = io.StringIO(X.to_csv(index=False))
    made = eval(remedy, {"pandas": pd, "X": X, "column": "column", "file": file})
    return made["column"] if hasattr(made, "columns") else made


NUMBERS = {
    "plain": (map(str, PARTS), PARTS),
    "some missing": ([*map(str, PARTS[:-20]), *20 * [None]], [*PARTS[:-20], *20 * [np.nan]]),
    "unknown": ([*map(str, PARTS[:-9]), *9 * ["?"]], [*PARTS[:-9], *9 * [np.nan]]),
    "thousands": ([f"{x:,.2f}" for x in PARTS], PARTS),
    "thousands, whole": ([f"{x:,}" for x in WHOLE], WHOLE),
    "thousands, unknown": (
        [*(f"{x:,}" for x in WHOLE[:-9]), *9 * ["?"]],
        [*WHOLE[:-9], *9 * [np.nan]],
    ),
    "apostrophes": ([f"{x:,}".replace(",", "'") for x in WHOLE], WHOLE),
    "narrow spaces": ([f"{x:,}".replace(",", "\u202f") for x in WHOLE], WHOLE),
    "decimal commas": ([f"{x:.2f}".replace(".", ",") for x in PARTS], PARTS),
    "decimal commas, thousands": (swapped(f"{x:,.2f}" for x in PARTS), PARTS),
    "three places": ([f"{x:.3f}".replace(".", ",") for x in PARTS / 1e6], (PARTS / 1e6).round(3)),
    "dollars": ([f"${x:,}" for x in WHOLE], WHOLE),
    "debts": ([f"-${x:,}" for x in WHOLE], -WHOLE),
    "euros": (swapped(f"{x:,.2f} EUR" for x in PARTS), PARTS),
    "shares": ([f"{x:.2f}%" for x in PARTS / 900], (PARTS / 900).round(2)),
    "months": (N // 2 * [" 36 months", " 60 months"], N // 2 * [36, 60]),
    "years": (N // 3 * ["1 year", "2 years", "9 years"], N // 3 * [1, 2, 9]),
    "objects": (np.array([*PARTS[:-1], None], dtype=object), [*PARTS[:-1], np.nan]),
    "objects and a text": (np.array([*WHOLE[:-1], "none"], dtype=object), [*WHOLE[:-1], np.nan]),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_the_remedy_for_texts_of_numbers_makes_numbers(case):
    cells, expected = NUMBERS[case]
    X = pd.DataFrame({"x": np.arange(N), "column": cells})
    found = note(X["column"])
    (remedy,) = re.findall(r"read as categories; (.*) makes numbers$", found)
    made = converted(X, remedy)
    np.testing.assert_array_equal(made.to_numpy(dtype=float), np.array(expected, dtype=float))


#: Numbers of which each may have three decimals, or a separator of thousands.
AMBIGUOUS = {
    "points, euros": ("{:,} EUR", ".", 1_000.0),
    "points": ("{:,}", ".", 1_000.0),
    "commas, dollars": ("${:,}", ",", 1_000.0),
    "commas": ("{:,}", ",", 1_000.0),
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_numbers_that_may_be_read_in_two_ways_have_a_remedy_for_each(case):
    form, separator, factor = AMBIGUOUS[case]
    whole = RNG.integers(1_000, 99_999, N)
    cells = [form.format(x).replace(",", separator) for x in whole]
    X = pd.DataFrame({"x": np.arange(N), "column": cells})
    found = re.findall(r"(?:is '.*?'|or) ([0-9.]+)\? (.*?) makes such numbers", note(cells))
    assert len(found) == 2
    (digits,) = re.findall("is '(.*?)'", note(cells))
    row = [re.search("[0-9.,]+", cell)[0] for cell in cells].index(digits)
    ratios = set()
    for value, remedy in found:
        made = converted(X, remedy)
        assert made[row] == float(value)
        ratios.add(round(float((made / whole).mean()), 9))
        np.testing.assert_allclose(made / whole, made[0] / whole[0])
    assert ratios == {1.0, 1 / factor}


DAYS = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N), "D")
DATES = {
    "day first": "%d.%m.%Y",
    "day first, slashes": "%d/%m/%Y",
    "month first": "%m/%d/%Y",
    "year first": "%Y-%m-%d",
    "years of two digits": "%d.%m.%y",
    "with times": "%d.%m.%Y %H:%M",
}


@pytest.mark.parametrize("others", [0, 9])
@pytest.mark.parametrize("case", DATES)
def test_the_remedy_for_texts_of_dates_makes_dates(case, others):
    cells = [*DAYS.strftime(DATES[case])[: N - others], *others * ["unknown"]]
    (remedy,) = re.findall(r"^dates as texts, read as categories; (.*) makes dates$", note(cells))
    assert ("dayfirst=True" in remedy) == DATES[case].startswith("%d")
    made = converted(pd.DataFrame({"column": cells}), remedy)
    np.testing.assert_array_equal(made[: N - others], DAYS[: N - others])
    assert made[N - others :].isna().all()


def test_dates_that_may_be_read_in_two_ways_have_a_remedy_for_each():
    days = pd.to_datetime([f"2024-{row % 12 + 1}-{row // 12 % 12 + 1}" for row in range(N)])
    X = pd.DataFrame({"column": days.strftime("%d.%m.%Y")})
    pattern = "if the day stands first, (.*) makes dates; if the month does, (.*)$"
    ((day_first, month_first),) = re.findall(pattern, note(X["column"]))
    np.testing.assert_array_equal(converted(X, day_first), days)
    X["column"] = days.strftime("%m.%d.%Y")
    np.testing.assert_array_equal(converted(X, month_first), days)


def test_dates_of_two_orders_have_no_remedy_that_would_be_wrong():
    cells = [f"{row % 28 + 1}.{row % 12 + 1}.2024" for row in range(N)]
    cells[::2] = [f"{row % 12 + 1}.{row % 28 + 1}.2024" for row in range(0, N, 2)]
    assert note(cells).endswith("write the day, the month and the year in one order")


@pytest.mark.parametrize(
    "cells",
    [
        [f"{row % 20} g" if row % 15 else f"{row % 20} kg" for row in range(N)],
        [("1.5", "2,5", "1.250", "3,75")[row % 4] + row % 30 * "0" for row in range(N)],
    ],
)
def test_numbers_of_several_forms_have_no_remedy_that_would_be_wrong(cells):
    assert re.search("as texts.*one unit, with one decimal separator", note(cells))


@pytest.mark.parametrize(
    "cells",
    [
        holed(N // 3 * ["a", "b", "c"]),  # no numbers, but missing cells
        [f"{row % 30 + 1}{'ABC'[row % 3]}" for row in range(N)],  # seats
        N // 3 * ["1st", "2nd", "3rd"],
        N // 3 * ["18-29", "30-59", "60+"],
        holed(N * [1.0]),  # a mark
        WHOLE * 7 + RNG.permutation(N),  # amounts that all differ
        RNG.integers(0, 1_000, N),
        RNG.choice([99, 199, 299, 499, 999], N),
        RNG.normal(size=N),
    ],
)
def test_columns_without_a_problem_have_no_note(cells):
    assert note(cells) == ""


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("person", ORDER),
        ("member_id", RNG.choice(10**9, N, replace=False)),
        ("ID", RNG.choice(10**9, N, replace=False)),
        ("AccountNo", RNG.choice(10**9, N, replace=False)),
        ("person", [*RNG.permutation(N - 1), None]),
    ],
)
def test_integers_that_identify_rows_are_named(name, cells):
    assert "another integer, as with identifiers" in note(cells, name)


@pytest.mark.parametrize(
    "cells",
    [
        PARTS,
        holed(PARTS),
        N // 3 * ["u", "v", "w"],
        pd.Timestamp("2020-01-01") + pd.to_timedelta(ORDER, "D"),
    ],
)
def test_copies_of_columns_are_named(cells):
    assert note(cells, first=cells) == "the same as 'first' in every public row"
    assert "the same" not in note(cells, first=[*cells[1:], cells[0]])


def test_rare_marks_may_be_equal_by_chance():
    mark = np.arange(N) < 2
    assert note(mark, first=mark) == ""


@pytest.mark.parametrize("cells", [holed(N * [0]), holed(N * [0.0]), holed(N * [2_019])])
def test_columns_of_one_number_and_missing_cells_are_constant(cells):
    assert note(cells) == "constant wherever it is not missing"


@pytest.mark.parametrize("code", [-999, 9_999, -99, 999, -9_999.0])
@pytest.mark.parametrize("cells", [RNG.integers(0, 60, N), RNG.normal(40, 9, N)])
def test_codes_for_missing_are_asked_about(code, cells):
    end = "smallest" if code < 0 else "largest"
    coded = np.where(np.arange(N) % 20 == 0, code, cells)
    assert note(coded) == f"the {end} value is {code:.0f}: is it a code for missing?"


def test_a_code_among_larger_numbers_is_asked_about():
    coded = np.where(np.arange(N) % 20 == 0, 9_999, RNG.integers(200_000, 900_000, N))
    assert "smallest value is 9999: is it" in note(coded)


def test_private_rows_have_no_say_in_notes():
    """A fit warns by public rows alone, before it pays."""
    rows = pd.DataFrame({"x": RNG.normal(size=2_000), "job": RNG.choice(["u", "v"], 2_000)})
    pool = rows[:N].set_axis(range(9_000, 9_000 + N)).assign(x=rows["x"].to_numpy()[:N] + 0.1)
    y = (rows["x"] > 0).to_numpy()
    accountant = PrivacyAccountant(1e-9, 1e-6)
    model = PrivateLogisticRegression(classes=[0, 1], accountant=accountant)
    odd = rows.assign(job="$28,000", x=np.where(rows.index % 2, 9_999, 0))
    with pytest.raises(BudgetExceededError):
        model.fit(odd, y, X_public=PublicData(pool))
    told = pool.assign(job="$28,000", x=np.where(np.arange(N) % 2, 9_999, 0.5))
    with (
        pytest.warns(UserWarning, match=r"'x' \(the largest value is 9999.*'job' \(constant"),
        pytest.raises(BudgetExceededError),
    ):
        model.fit(rows, y, X_public=PublicData(told))
    assert not accountant.entries()


def test_declared_categories_that_leave_most_public_cells_out():
    """A column of numbers, of which two values are declared, is lost: that is said."""
    rng = np.random.default_rng(0)
    pool = pd.DataFrame({"age": rng.integers(18, 90, size=400), "x": rng.normal(size=400)})
    accountant = PrivacyAccountant(1.0, 1e-5)
    few, most = (
        PrivateLogisticRegression(classes=[0, 1], accountant=accountant, categories={"age": named})
        for named in ([18, 19], list(range(18, 80)))
    )
    (age, _) = few.read_columns(pool)
    assert age.note.endswith(
        "of its public cells are none of its declared categories, and share a bin"
    )
    assert most.read_columns(pool)[0].note == ""
    X = pd.DataFrame({"age": rng.integers(18, 90, size=4_000), "x": rng.normal(size=4_000)})
    with pytest.warns(UserWarning, match="'age' .9.% of its public cells are none"):
        few.fit(X, rng.integers(2, size=4_000), X_public=PublicData(pool))
