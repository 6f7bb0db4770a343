"""Rows to predict whose texts or dates a model does not know."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest

from secretballot import (
    BudgetExceededError,
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PublicData,
)

pytestmark = [
    # Targets here are a column in other codes.
    pytest.mark.filterwarnings("ignore:the column 'sex' of X_public has one value"),
    pytest.mark.filterwarnings("ignore:.*dates are read as days"),
    pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning"),  # seeds
    pytest.mark.usefixtures("few_cosines"),
]
START = pd.Timestamp("2015-01-01")
DECLARED = {
    "bounds": {"age": (0, 100), "since": ("2010-01-01", "2022-01-01")},
    "categories": {"sex": ["Female", "Male"]},
}


def table(n_rows, seed, missing=0.0):
    rng = np.random.default_rng(seed)
    days = pd.to_timedelta(rng.integers(0, 2_000, n_rows), unit="D")
    sex = rng.choice(["Female", "Male"], n_rows)
    X = pd.DataFrame({"sex": sex, "age": rng.integers(18, 80, n_rows), "since": START + days})
    return X.assign(since=X["since"].where(rng.random(n_rows) >= missing))


@cache
def fitted(kind, missing=0.0):
    """Return a shared model: a regression, or a classifier with these features, or declared."""
    X = table(2_000, 0, missing)
    y, pool = (X["sex"] == "Male").astype(int).rename("target"), PublicData(table(300, 1, missing))
    given = {"accountant": PrivacyAccountant(4.0, 1e-5), "random_state": 0}
    if kind == "numbers":
        model = PrivateLinearRegression(target_bounds=(0, 1), **given)
    elif kind == "declared":
        return PrivateLogisticRegression(classes=[0, 1], **given, **DECLARED).fit(X, y)
    else:
        model = PrivateLogisticRegression(kind, classes=[0, 1], **given)
    return model.fit(X, y, X_public=pool)


ROWS = table(100, 2)
OTHER = ROWS.assign(sex=ROWS["sex"].str.lower(), since="the first of May")


@pytest.mark.parametrize("kind", ["additive", "linear", "kernel", "declared", "numbers"])
def test_unknown_texts_and_dates_are_named(kind):
    model = fitted(kind)
    with pytest.warns(UserWarning, match="'sex' .100.0%.*'Female', 'Male'.*'since'") as caught:
        model.predict(OTHER)
    assert len(caught) == 1
    assert "'age'" not in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(ROWS)
        model.predict(OTHER[:19])
        # Half of the rows is not most of them.
        model.predict(pd.concat([ROWS[:50], OTHER[:50]]))


@pytest.mark.parametrize("kind", ["additive", "linear", "kernel", "declared", "numbers"])
def test_numbers_out_of_range_are_named(kind):
    model = fitted(kind)
    for age in (ROWS["age"] * 100, -99):
        with pytest.warns(UserWarning, match="numbers of X are out of.*'age' .*units") as caught:
            model.predict(ROWS.assign(age=age))
        assert len(caught) == 1
    with pytest.warns(UserWarning, match=r"'since' \(100.0% out of 201\d-"):
        model.predict(ROWS.assign(since=ROWS["since"] + pd.to_timedelta(9_999, unit="D")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(ROWS.assign(age=np.where(np.arange(100) < 50, -99, ROWS["age"])))


def test_a_score_on_rows_in_other_units_warns_before_it_is_paid():
    model = fitted("additive")  # nothing is left
    with (
        pytest.warns(UserWarning, match="'age'.*If X is private, so is this warning"),
        pytest.raises(BudgetExceededError),
    ):
        model.score_private(
            ROWS.assign(age=ROWS["age"] * 100), np.zeros(100, dtype=int), share=0.05
        )


@pytest.mark.filterwarnings("ignore:more than a quarter of the cells of X do not fit")
@pytest.mark.parametrize("kind", ["additive", "linear", "declared"])
def test_cells_that_are_often_missing_are_expected(kind):
    model = fitted(kind, missing=0.4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(table(100, 2, missing=0.8))


def test_chosen_columns_alone_are_compared():
    X = table(2_000, 0)
    model = PrivateLogisticRegression(
        classes=[0, 1], columns=["sex", "age"], accountant=PrivacyAccountant(4.0, 1e-5)
    ).fit(X, (X["sex"] == "Male").astype(int).rename("target"), X_public=PublicData(table(300, 1)))
    model.predict_proba(ROWS.assign(since=pd.NaT))
    with pytest.warns(UserWarning, match="'sex'"):
        model.predict_proba(OTHER)


def test_a_score_on_rows_with_other_spellings_warns_once():
    X = table(2_000, 0)
    model = PrivateLogisticRegression(
        classes=[0, 1], epsilon=3.0, accountant=PrivacyAccountant(4.0, 1e-5)
    ).fit(X, (X["sex"] == "Male").astype(int).rename("target"), X_public=PublicData(table(300, 1)))
    with pytest.warns(UserWarning, match="'sex'.*If X is private, so is this warning") as caught:
        model.score_private(
            X.assign(sex=X["sex"].str.lower()), np.zeros(2_000, dtype=int), share=0.05
        )
    (message,) = (str(warning.message) for warning in caught)
    assert message.endswith("NOT FOR PUBLICATION, as it depends on private rows.")


RARE = [f"N{at}" for at in range(2_000)]


@pytest.mark.parametrize("spelt", [str, str.lower])
def test_rare_categories_are_not_absent(spelt):
    """Public categories that few rows have sum to noise; those of another spelling do, too."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"delay": rng.normal(size=20_000), "plane": rng.choice(RARE, 20_000)})
    shown = np.repeat(RARE[:3], 3) if spelt is str else np.repeat(RARE[:60], 5)
    pool = pd.DataFrame({"delay": rng.normal(size=300), "plane": RARE[-300:]})
    pool.loc[: len(shown) - 1, "plane"] = list(map(spelt, shown))
    model = PrivateLogisticRegression(
        classes=[0, 1], check_public_rows=False, accountant=PrivacyAccountant(1.0, 1e-5)
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, (X["delay"] > 1).astype(int).rename("target"), X_public=PublicData(pool))
    absent = [
        each
        for each in caught
        if "next to no private row has a public category of 'plane'" in str(each.message)
    ]
    assert bool(absent) == (spelt is str.lower)


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateLinearRegression])
@pytest.mark.parametrize("present", [True, False])
def test_public_categories_without_an_effect_are_not_absent(kind, present):
    """Their residuals sum to noise, those of others do not."""
    rng = np.random.default_rng(0)

    def incomes(n_rows, unit):
        known = np.char.add(rng.choice(["30", "50"], n_rows), unit)
        return np.where(rng.random(n_rows) < 0.3, [f"{at}!" for at in range(n_rows)], known)

    X = pd.DataFrame({"income": incomes(6_000, ",000"), "age": rng.normal(size=6_000)})
    other = X["income"].str.endswith("!")
    pool = pd.DataFrame({"income": incomes(300, ",000" if present else "k"), "age": 0.0})
    pool["age"] = rng.normal(size=300)
    y = np.where(other, 1, X.groupby("income").cumcount() % 2)
    given = {"accountant": PrivacyAccountant(2.0, 1e-5), "check_public_rows": False}
    given |= {"classes": [0, 1]} if kind is PrivateLogisticRegression else {"target_bounds": (0, 1)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kind(**given).fit(X, y, X_public=PublicData(pool))
    absent = [each for each in caught if "public category of 'income'" in str(each.message)]
    assert bool(absent) == (not present)


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateLinearRegression])
@pytest.mark.parametrize("values", ["numbers", "texts", "units"])
@pytest.mark.parametrize("missing", [0.0, 0.7])
def test_columns_that_private_rows_lack_are_named(kind, values, missing):
    """Released counts say so; columns that are as often missing as public ones are not named."""

    def visits(n_rows, seed):
        rng = np.random.default_rng(seed)
        lab, gone = rng.normal(size=n_rows).round(2), rng.random(n_rows) < missing
        cells = pd.Series(lab if values == "numbers" else np.where(lab > 0, "high", "low"))
        return pd.DataFrame({"lab": cells.mask(gone), "age": rng.normal(size=n_rows)})

    X, pool = visits(8_000, 0), visits(300, 1)
    y = (X["age"] > 0).astype(int).rename("old")
    empty = "n/a" if values == "units" else None
    other = X.assign(lab=pd.Series([empty] * len(X), dtype=object))
    if values == "units":  # cells that are no numbers
        pool, X = pool.replace({"high": 1.0, "low": 0.0}), X.replace({"high": 1.0, "low": 0.0})
        pool, X = (each.astype({"lab": float}) for each in (pool, X))
    for rows, expected in ((X, False), (other, True)):
        given = {"accountant": PrivacyAccountant(6.0, 1e-5), "check_public_rows": False}
        given |= (
            {"classes": [0, 1]} if kind is PrivateLogisticRegression else {"target_bounds": (0, 1)}
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kind(**given).fit(rows, y, X_public=PublicData(pool))
        named = [
            each for each in caught if "next to no private row has a cell of 'lab'" in str(each)
        ]
        assert bool(named) == expected
