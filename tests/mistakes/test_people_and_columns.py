"""Mistakes with owners, levels, declared bounds and categories, and directions."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder
from tests.mistakes._mistake import (
    ALL,
    CLASSIFIERS,
    COLUMNS,
    JOBS,
    LABELS,
    LINEAR,
    PUBLIC_JOBS,
    PUBLIC_TABLE,
    TABLE,
    TARGETS,
    Mistake,
    N,
    X,
    cases,
    check,
    logistic,
    numbers,
    teachers,
)

from secretballot import PrivacyAccountant, PublicData
from secretballot.accounting import PrivacyLeakWarning
from secretballot.measures import private_quantiles
from secretballot.tables._table_checks import warn_repeated_rows

OWNERS, OWNED = np.arange(N) // 2, {"unit": "owner"}
BALANCED = np.concatenate([np.arange(N), np.flatnonzero(LABELS)])
LEVELS = {"strict": 2.0, "generous": 4.0}


def owners(name, message, values, **budget):
    return Mistake(name, message, data={"owners": values}, budget={**OWNED, **budget})


def levels(name, message, values):
    given = {"data": {"budgets": values}, "models": CLASSIFIERS}
    return Mistake(name, message, epsilon=LEVELS, **given)


def declared(name, message, bounds, models=LINEAR, found="before"):
    settings = {"bounds": bounds}
    return Mistake(
        name, message, data={"X_public": None}, settings=settings, models=models, found=found
    )


def categories(name, message, given, models=LINEAR):
    data = {"X": JOBS, "X_public": PublicData(PUBLIC_JOBS)}
    return Mistake(name, message, data=data, settings={"categories": given}, models=models)


MISTAKES = (
    owners(
        "owners of a budget of rows",
        "owners was given.*unit='owner'.*or leave owners out",
        OWNERS,
        unit="row",
    ),
    owners("fewer owners", "owners has 600 entries, but X has 650 rows; give one", OWNERS[:600]),
    owners("owners in a column", "owners has shape .650, 1.; give one owner id", OWNERS[:, None]),
    owners(
        "the name of a column",
        "owners is a text, and no list; give one owner id per row.*of X_public.$",
        "id",
    ),
    *(
        owners(
            f"a row of the owner {missing!r}",
            r"owners\[0\] is missing.*Leave rows without an id out.*NOT FOR PUB",
            [missing, *map(str, OWNERS[1:])],
        )
        for missing in (
            *(None, float("nan"), pd.NA, pd.NaT, "", " ", "nan", "NaN", "None", "null"),
            *("UNKNOWN", "N/A", "NA", "-", "--", " ? "),
        )
    ),
    owners("a missing number", r"owners\[649\] is missing", np.r_[OWNERS[:-1], np.nan]),
    owners(
        "missing ids as bytes", r"owners\[0\] is missing", [b"", *map(b"%d".__mod__, OWNERS[1:])]
    ),
    *(
        owners(
            f"a whole text for an id ({type(text).__name__})",
            r"owners\[1\] has more than 1,000 characters.*column of ids.*NOT FOR PUB",
            [text[:1000], text, *[text[:9]] * (N - 2)],
        )
        for text in ("x" * 1001, b"x" * 10**6)
    ),
    owners("a number of 1,001 digits", r"owners\[1\] has more than", [1, 10**1000] * (N // 2)),
    owners("owners as fractions", "give strings, bytes or whole numbers", OWNERS + 0.5),
    owners("ids as dates", "Timestamp.*give strings", [pd.Timestamp(2020, 1, 1)] * N),
    owners(
        "one person with two ids",
        r"owners\[0\] and owners\[1\] .*two owners.*owners.str.strip.*NOT FOR PUB",
        ["Ann", "ann ", *map(str, OWNERS[2:])],
    ),
    owners(
        "one owner of all rows",
        "Use about|Use more rows|owners has 1 different ones",
        np.zeros(N, dtype=int),
    ),
    Mistake(
        "groups for owners", "'groups'; it takes X, y, X_public, owners", data={"groups": OWNERS}
    ),
    Mistake(
        "rows copied to balance classes",
        "X holds .* copies of other rows.*class_weight='balanced'.*owners=X.index",
        data={"X": TABLE.iloc[BALANCED], "y": LABELS[BALANCED], "X_public": PUBLIC_TABLE},
        models=CLASSIFIERS,
    ),
    Mistake(
        "rows copied without their index labels",
        "X holds .* copies of other rows. .*Leave copies out.*owners=",
        data={
            "X": TABLE.iloc[BALANCED].reset_index(drop=True),
            "y": LABELS[BALANCED],
            "X_public": PUBLIC_TABLE,
        },
        models=CLASSIFIERS,
    ),
    Mistake(
        "an array of rows that are there twice",
        "X holds 650 copies of other rows.*Leave copies out",
        data={"X": np.r_[X, X], "y": np.r_[LABELS, LABELS]},
        models=CLASSIFIERS,
    ),
    Mistake(
        "names of columns in private rows alone",
        "X has names of columns and X_public has none.*Give both",
        data={"X": TABLE},
    ),
    Mistake(
        "names of columns in public rows alone",
        "X_public has names of columns and X has none.*Give both",
        data={"X_public": PublicData(PUBLIC_TABLE)},
    ),
    declared(
        "bounds of another unit",
        "bounds or categories do not match X.*in the unit of the column.*check_public_rows=False",
        (50, 99),
        found="for 1 %",
    ),
    declared(
        "dates of another country as bounds",
        "such as '2024-12-31'",
        dict.fromkeys(range(4), ("01.02.2019", "31.12.2023")),
    ),
    Mistake(
        "categories spelt otherwise, without public rows",
        "bounds or categories do not match X.*as they are spelt.*The column is 'job'",
        found="for 1 %",
        data={"X": JOBS, "X_public": None},
        settings={
            "bounds": dict.fromkeys(COLUMNS, (-5, 5)),
            "categories": {"job": ["Clerk", "Nurse"]},
        },
        models=LINEAR,
    ),
    Mistake(
        "days before months, without public rows",
        r"no private cell of the column 'job' can be read.*datetime\(X\[column\], dayfirst=True\)",
        data={"X": JOBS.assign(job="31.12.2023"), "X_public": None},
        settings={
            "bounds": {
                **dict.fromkeys(COLUMNS, (-5, 5)),
                "job": ("2019-01-01", "2024-01-01"),
            }
        },
        models=LINEAR,
    ),
    *(
        Mistake(
            f"numbers as bounds of {kind}",
            rf"the column 'job' holds {kind}, and bounds\['job'\] are none.*{remedy}",
            data={"X": JOBS.assign(job=cells), "X_public": None},
            settings={"bounds": {**dict.fromkeys(COLUMNS, (-5, 5)), "job": (2015, 2025)}},
            models=LINEAR,
        )
        for kind, remedy, cells in (
            ("times", r"\('2020-01-01', '2024-12-31'\)", pd.date_range("2015", periods=N)),
            ("durations", "Timedelta", pd.to_timedelta(np.arange(N), unit="D")),
        )
    ),
    Mistake("levels of one budget", "Open it with one per level", data={"budgets": ["strict"] * N}),
    levels(
        "an unknown level", r"budgets\[0\]='lax' is not a level.*'strict', 'generous'", ["lax"] * N
    ),
    levels("fewer levels", "budgets has 600 entries.*give one level per row", ["strict"] * 600),
    levels("levels as numbers", "every row needs one of 'strict', 'generous'", np.ones(N)),
    levels("a level for all rows", "budgets has 6 entries.*give one level per row", "strict"),
    levels("a level that nobody has", "no row .* 'generous'.*check the spelling", ["strict"] * N),
    Mistake(
        "an owner of two levels",
        "an owner has one",
        data={"owners": OWNERS, "budgets": np.where(np.arange(N) % 2, "strict", "generous")},
        epsilon=LEVELS,
        budget=OWNED,
    ),
    declared("bounds the wrong way round", "give .low, high., low below high", (4, -4)),
    declared("bounds of another column", "bounds names 'age', which is no column", {"age": (0, 1)}),
    declared("bounds of some columns", "give it .low, high., or categories", {0: (0, 1)}),
    declared("bounds of three columns", "each of the 4 columns", [(0, 1)] * 3),
    declared("bounds as a word", "'bounds' .* Got 'auto'", "auto"),
    declared("one bound", "'bounds' .* Got 4", 4),
    declared("a missing bound", "give .low, high., low below high", (0, np.nan)),
    declared(
        "bounds read from private rows",
        "bounds: .* least and largest private value.*Declare bounds",
        np.column_stack([X.min(axis=0), X.max(axis=0)]),
    ),
    Mistake(
        "bounds read from private rows, many of which have the least value",
        "bounds: .* least and largest private value.*Declare bounds",
        data={"X": X.clip(-1, None), "X_public": None},
        settings={"bounds": [(-1, high) for high in X.max(axis=0)]},
        models=LINEAR,
    ),
    categories(
        "categories of an unknown column",
        "the column 'work', which X(_public)? does not have",
        {"work": ["a"]},
        (*LINEAR, teachers),
    ),
    categories("a category for a list", "is no list of categories", {"job": "clerk"}),
    categories(
        "categories without columns", "'categories' .* must be an instance of 'dict'", ["clerk"]
    ),
    categories("no categories", "is no list of categories", {"job": []}),
    categories(
        "identifiers as categories",
        r"20,000 categories, and at most 1,000.*leave a column.*out.*columns=\[",
        {"job": [f"id{i}" for i in range(20_000)]},
    ),
    categories(
        "categories spelt otherwise",
        r"no cell of this column of X_public is one of them.*X_public\['job'\]\.unique\(\)",
        {"job": ["Clerk", "Nurse"]},
    ),
    Mistake(
        "categories of a data type spelt otherwise",
        "no cell of this column of X_public is one of them",
        data={
            "X": JOBS.astype({"job": "category"}),
            "X_public": PublicData(PUBLIC_JOBS.astype({"job": "category"})),
        },
        settings={"categories": {"job": ["Clerk", "Nurse"]}},
    ),
    categories(
        "groups of a column of numbers",
        "no cell of this column of X_public is one of them.*pandas.cut",
        {"age": ["young", "old"]},
    ),
    *(
        Mistake(
            f"a mask of columns ({type(mask).__name__})",
            r"mask of booleans.*X\.columns\[mask\].*numpy\.flatnonzero\(mask\)",
            data={"X": TABLE, "X_public": PublicData(PUBLIC_TABLE)},
            settings={"columns": mask},
            models=LINEAR,
        )
        for mask in ([True, False, True, False], TABLE.std() > 0, np.array([False, True]))
    ),
    Mistake(
        "a direction of 2",
        "array-like of -1, 0 or 1",
        settings={"monotonic_cst": [1, 2, 0, 0]},
        models=LINEAR,
    ),
    Mistake("too few directions", "has 4 features", settings={"monotonic_cst": [1]}, models=LINEAR),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_people_and_columns(mistake, make):
    check(mistake, make)


@pytest.mark.parametrize("make", LINEAR)
def test_categories_are_never_compared_with_private_cells(make):
    """A transformer needs public rows: private ones don't take their place."""
    model = make(
        PrivacyAccountant(4.0, 1e-5), features=OneHotEncoder(), categories={"job": ["Clerk"]}
    )
    with pytest.raises(ValueError, match="pass X_public"):
        model.fit(JOBS, LABELS)


def test_the_remedies_of_a_mask():
    mask = np.array([True, False, True, False])
    for rows, pool, columns in (
        (TABLE, PUBLIC_TABLE, TABLE.columns[mask]),
        (X, PUBLIC_TABLE.to_numpy(), np.flatnonzero(mask)),
    ):
        model = logistic(PrivacyAccountant(4.0, 1e-5), columns=columns)
        terms = model.fit(rows, LABELS, X_public=PublicData(pool)).terms()
        assert [term.name for term in terms] == list(columns)


@pytest.mark.filterwarnings("error")
def test_honest_twins_are_no_copies():
    rng = np.random.default_rng(0)
    tables = (
        rng.integers(0, 2, (4_000, 6)),
        rng.integers(0, 40, (4_000, 2)),
        np.round(rng.normal(size=(4_000, 1)), 2),
        np.repeat(np.indices((20, 10)).reshape(2, -1).T, 3, axis=0),  # a design
        np.where(rng.random((4_000, 3)) < 0.9, 0, rng.normal(size=(4_000, 3))),
    )
    for rows in tables:
        warn_repeated_rows(rows)  # warnings are errors here
        warn_repeated_rows(pd.DataFrame(rows))
    whole = np.column_stack([rng.permutation(1_500), rng.integers(0, 9, 1_500)])
    with pytest.warns(PrivacyLeakWarning, match="X holds 1,500 copies"):
        warn_repeated_rows(pd.DataFrame(np.r_[whole, whole]))


# Tables of one column in the place of a column


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize(
    "convert", [np.asarray, lambda column: pd.DataFrame(column, columns=["id"]), np.ndarray.tolist]
)
def test_the_remedy_of_a_table_of_one_column_of_owners(make, convert):
    owners, y = convert(np.arange(N)[:, None] // 2), TARGETS if make is numbers else LABELS
    model = make(PrivacyAccountant(30.0, 1e-5, unit="owner"), epsilon=20.0)
    with pytest.raises(ValueError, match=r"owners has shape \(650, 1\)") as error:
        model.fit(TABLE, y, X_public=PublicData(PUBLIC_TABLE), owners=owners)
    assert not model.accountant.entries()
    remedy = re.search("owner id per row: (.*).$", str(error.value))[1]
    column = eval(remedy, {"owners": owners})
    model.fit(TABLE, y, X_public=PublicData(PUBLIC_TABLE), owners=column)


def test_the_remedy_of_a_table_of_one_column_of_levels():
    model = logistic(PrivacyAccountant({"low": 10.0, "high": 20.0}, 1e-5))
    budgets = np.where(np.arange(N) % 2, "low", "high")[:, None]
    with pytest.raises(ValueError, match=r"budgets has shape .*: budgets\.ravel\(\)\.$"):
        model.fit(TABLE, LABELS, X_public=PublicData(PUBLIC_TABLE), budgets=budgets)
    model.fit(TABLE, LABELS, X_public=PublicData(PUBLIC_TABLE), budgets=budgets.ravel())


@pytest.mark.parametrize("make", LINEAR)
def test_names_of_no_column(make):
    """The error lists those that there are."""
    listed = r"\['age', 'pay', 'hours', 'visits'"
    for settings in ({"bounds": {"aeg": (0, 1)}}, {"categories": {"aeg": ["a"]}}):
        model = make(PrivacyAccountant(30.0, 1e-5), epsilon=20.0, **settings)
        for ask in (
            lambda model=model: model.fit(JOBS, LABELS, X_public=PublicData(PUBLIC_JOBS)),
            lambda model=model: model.read_columns(PUBLIC_JOBS),
        ):
            with pytest.raises(ValueError, match=f"names.* 'aeg', which .*{listed}"):
                ask()
        assert not model.accountant.entries()
    with pytest.raises(ValueError, match=f"bounds names 'aeg', .*{listed}"):
        private_quantiles(
            TABLE, accountant=PrivacyAccountant(1.0, 1e-5), bounds={"aeg": (0, 1)}, share=0.1
        )
