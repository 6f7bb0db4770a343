"""Calls that a library for arrays would accept, or answer with an error of NumPy."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from tests.mistakes._mistake import (
    CLASSIFIERS,
    LABELS,
    POOL,
    PUBLIC_TABLE,
    ROWS,
    TABLE,
    TARGETS,
    Mistake,
    X,
    cases,
    check,
    logistic,
    teachers,
)

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.measures import (
    confusion_private,
    private_quantiles,
    regression_score_private,
    score_private,
)
from secretballot.mechanisms import NoisyCounts, VectorSum
from secretballot.parties import Party

GROUPS = TABLE.groupby(LABELS)


def private_model(**settings):
    return logistic(PrivacyAccountant(9.0, 1e-5), bounds=(-9, 9), **settings)


def numbers_of(name, message, y_pred):
    return Mistake(
        f"predictions of numbers: {name}",
        message,
        lambda a: regression_score_private(a, TARGETS, y_pred, target_bounds=(-6, 6), share=0.1),
    )


MISTAKES = (
    *(
        Mistake(
            f"a vote by {type(mechanism).__name__}",
            "releases numbers, and a vote a class, or labels; use one that does, such as GNMax",
            settings={"mechanism": mechanism},
            models=(teachers,),
        )
        for mechanism in (NoisyCounts(sigma=4.0), VectorSum(sigma=4.0, norm=1.0, diameter=1.0))
    ),
    *(
        Mistake(
            f"a private model as {name}",
            "private model with an accountant of its own.*pass a plain classifier",
            settings=settings,
            models=(teachers,),
        )
        for name, settings in {
            "a teacher": {"learner": private_model(epsilon=0.2)},
            "a teacher that takes all": {"learner": private_model()},
            "a teacher that searches": {
                "learner": GridSearchCV(private_model(epsilon=0.2), {"n_bins": [2, 3]})
            },
            "a student": {"student": private_model(epsilon=0.2)},
        }.items()
    ),
    Mistake(
        "a private model of a party",
        "private model with an accountant of its own.*pass a plain classifier",
        lambda a: Party(private_model(), name="site", accountant=a, classes=[0, 1]),
    ),
    Mistake(
        "complex numbers, both",
        "Complex data not supported: X(_public)? holds complex numbers; give real ones.",
        data={"X": X.astype(complex), "X_public": PublicData(ROWS.astype(complex))},
    ),
    Mistake(
        "groups of a table, quantiles",
        "X is of type DataFrameGroupBy, which is no table of rows",
        lambda a: private_quantiles(GROUPS, 0.5, bounds=(-4, 4), accountant=a, share=0.1),
    ),
    Mistake(
        "groups of a column, quantiles",
        "X is of type SeriesGroupBy, which is no table of rows",
        lambda a: private_quantiles(GROUPS["age"], 0.5, bounds=(-4, 4), accountant=a, share=0.1),
    ),
    Mistake(
        "groups of labels",
        "y_true is of type SeriesGroupBy, which is no column of values",
        lambda a: score_private(a, pd.Series(LABELS).groupby(LABELS), LABELS, share=0.1),
    ),
    *(
        Mistake(
            f"a model for its predictions, {score.__name__}",
            "y_pred is of type LogisticRegression, which is no column of values",
            lambda a, score=score, settings=settings: score(
                a, LABELS, LogisticRegression(), share=0.1, **settings
            ),
        )
        for score, settings in (
            (score_private, {}),
            (confusion_private, {"classes": [0, 1]}),
            (regression_score_private, {"target_bounds": (0, 1)}),
        )
    ),
    Mistake(
        "public groups",
        r"X_public=<DataFrameGroupBy> is no table; give the public rows themselves",
        data={"X_public": PublicData(PUBLIC_TABLE.groupby("age"))},
    ),
    numbers_of(
        "words",
        "y_pred holds no finite real number.*model.predict",
        ["low", "high"] * (len(X) // 2),
    ),
    numbers_of("complex", "y_pred holds no finite real number", TARGETS.astype(complex)),
    numbers_of("missing", "y_pred holds no finite real number", TARGETS * float("nan")),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_strange_calls(mistake, make):
    check(mistake, make)


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_errors_of_complex_rows_to_predict_show_none_of_them(make):
    model = make(PrivacyAccountant(9.0, 1e-5)).fit(X, LABELS, X_public=POOL)
    with pytest.raises(ValueError, match="Complex data not supported") as error:
        model.predict(X.astype(complex))
    assert len(str(error.value)) < 150


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_the_remedy_of_an_array_of_objects_to_predict_names_its_columns():
    towns = np.random.default_rng(0).choice(["north", "south"], len(X))
    table = pd.DataFrame({"age": X[:, 0], "town": towns})
    model = PrivateLogisticRegression(classes=[0, 1], accountant=PrivacyAccountant(9.0, 1e-5))
    model.fit(table[200:], LABELS[200:], X_public=PublicData(table[:200]))
    array = table[:9].to_numpy(object)
    with pytest.raises(ValueError, match="holds texts") as error:
        model.predict(array)
    remedy = re.search(r"as (pandas\.DataFrame\(.*\))\.infer_objects", str(error.value))[1]
    frame = eval(remedy, {"pandas": pd, "X": array, "model": model}).infer_objects()
    np.testing.assert_array_equal(model.predict(frame), model.predict(table[:9]))
