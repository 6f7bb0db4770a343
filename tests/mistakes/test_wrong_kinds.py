"""Arguments of a wrong kind: sizes, teachers, public data used as a table, closed budgets."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.mistakes._mistake import (
    COLUMNS,
    JOBS,
    LABELS,
    PUBLIC_TABLE,
    TABLE,
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
from secretballot.ensemble import PrivateChoice
from secretballot.measures import price_score, private_quantiles
from secretballot.parties import Party
from secretballot.tables import PrivateParts

POOL_TABLE = PublicData(PUBLIC_TABLE)
CHOICE = PrivateChoice([LogisticRegression(), LogisticRegression(C=0.1)])
Y = pd.Series(LABELS)
UNKNOWN = pd.DataFrame({"flu": LABELS, "cold": 1.0 - LABELS})
UNKNOWN.iloc[3, 1] = np.nan
FILES = ["2023.parquet", "2024.parquet"]
#: Arguments that users pass in place of a number of rows, and the error of each.
SIZES = {
    "files": (FILES, "rows in parts or files are not counted here. Give the number of all rows"),
    "paths": ([Path(file) for file in FILES], "n=<list|n=.*PosixPath|files are not counted here"),
    "one path": (Path("2023.parquet"), "files are not counted here. Give the number of all rows"),
    "frames": ([TABLE[:9], TABLE[9:]], "rows in parts or files are not counted here"),
    "a shape": (TABLE.shape, "is a shape, or counts by value. Give the number of all rows"),
    "counts": (Y.value_counts(), "is a shape, or counts by value.*or the sum of the counts"),
    "a dict of counts": (
        Y.value_counts().to_dict(),
        "names levels of the accountant.*or give the number of all rows",
    ),
}


def size(name, price):
    given, message = SIZES[name]
    return Mistake(f"{name} as number of rows", message, lambda a: price(a, given))


def closed(accountant):
    child = accountant.child("team", epsilon=1.0)
    child.close()
    return child


MISTAKES = (
    *(size(name, lambda a, n: logistic(a).price_fit(n, POOL_TABLE)) for name in SIZES),
    *(size(name, lambda a, n: numbers(a).plan_fit(n, POOL_TABLE)) for name in SIZES),
    *(size(name, lambda a, n: teachers(a).price_fit(n, POOL_TABLE)) for name in SIZES),
    *(size(name, price_score) for name in list(SIZES)[:-1]),
    *(
        Mistake(
            f"a choice as {name}",
            "has, a PrivateChoice.*student= of PrivateTeacherEnsemble.*GridSearchCV",
            call,
        )
        for name, call in {
            "a teacher": lambda a: teachers(a, learner=CHOICE).fit(X, LABELS),
            "a step of a teacher": lambda a: teachers(
                a, learner=make_pipeline(StandardScaler(), CHOICE)
            ).price_fit(N, X[:99]),
            "a party": lambda a: Party(CHOICE, name="site", accountant=a, classes=[0, 1]),
        }.items()
    ),
    Mistake(
        "labels with missing cells",
        r"y has shape \(650, 2\) and contains NaN or None.*Leave rows with an unknown label out",
        data={"y": UNKNOWN},
        settings={"classes": None},
        models=(logistic, teachers),
    ),
    Mistake(
        "a typing error in bounds of quantiles",
        r"bounds names 'agee'.*These are \['age', 'pay', 'hours', 'visits'\]",
        lambda a: private_quantiles(JOBS, 0.5, bounds={"agee": (0, 1)}, accountant=a, share=0.1),
    ),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_wrong_kinds(mistake, make):
    check(mistake, make)


def test_a_number_of_parts(tmp_path):
    TABLE.assign(y=LABELS, who=np.arange(N)).to_parquet(tmp_path / "rows.parquet")
    parts = PrivateParts.from_parquet(tmp_path / "rows.parquet", owners="who", y="y")
    accountant = PrivacyAccountant(4.0, 1e-5, unit="owner")
    for make in (logistic, teachers):
        with pytest.raises(ValueError, match="Give the number of all owners, such as n=100_000"):
            make(accountant).price_fit(parts, POOL_TABLE)


@pytest.mark.parametrize("use", [lambda pool: pool.drop(columns="age"), lambda pool: pool.columns])
def test_public_data_that_is_used_as_its_table(use):
    with pytest.raises(AttributeError, match=r"PublicData\(pool\.X\.drop\("):
        use(POOL_TABLE)


def test_a_closed_child_has_nothing_left():
    whole = PrivacyAccountant(4.0, 1e-5)
    child = closed(whole)
    with pytest.raises(ValueError, match="'team' was closed"):
        child.epsilon_per_fit(3)
    assert child.remaining().share == child.remaining().amount == 0
    assert whole.remaining().share == 1


def test_a_table_to_predict_that_lacks_a_chosen_column():
    model = logistic(PrivacyAccountant(4.0, 1e-5), columns=COLUMNS[:3])
    model.fit(TABLE, LABELS, X_public=POOL_TABLE)
    with pytest.raises(ValueError, match="columns= names .'hours'.*add them, or rename"):
        model.predict(TABLE[["age", "pay", "visits"]])
    assert len(model.predict(TABLE[COLUMNS[:3][::-1]])) == N


@pytest.mark.filterwarnings("ignore:a copy of the model was fitted")
def test_a_search_whose_scores_are_paid_with_owners():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(3_000, 4)), columns=COLUMNS).rename(lambda row: row + 9)
    ids = pd.Series(np.arange(3_000) // 2, index=table.index)
    accountant = PrivacyAccountant(4.0, 1e-5, unit="owner")
    model = logistic(accountant, epsilon=accountant.epsilon_per_fit(5, share=0.8))

    def paid(model, X, y):
        return model.score_private(X, y, owners=ids.loc[X.index], share=0.01).accuracy

    search = GridSearchCV(model, {"n_bins": [2, 3]}, cv=2, error_score="raise", scoring=paid)
    search.fit(
        table, (table["age"] > 0).astype(int).rename("target"), X_public=POOL_TABLE, owners=ids
    )
    assert search.cv_results_["mean_test_score"].max() > 0.8
