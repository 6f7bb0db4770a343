"""Mistakes with labels and targets."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from tests.mistakes._mistake import (
    CLASSIFIERS,
    LABELS,
    POOL,
    TARGETS,
    Mistake,
    N,
    X,
    cases,
    check,
    logistic,
    numbers,
)

from secretballot import PrivacyAccountant, PublicData
from secretballot.tables._labels import declared_classes, encode, learned_classes

WORDS = np.where(LABELS == 1, "yes", "no")
MANY = 3 * (np.arange(N) // 4)
ONLY_NUMBERS = (numbers,)
MIXED = np.array([1, "1"] * (N // 2), dtype=object)


def labels(name, message, y, models=CLASSIFIERS, **settings):
    return Mistake(name, message, data={"y": y}, settings=settings, models=models)


MISTAKES = (
    Mistake("no labels", "requires y to be passed", data={"y": None}),
    Mistake("the name of a column", r"y is of type str.*table\['label'\]", data={"y": "income"}),
    Mistake("a single number", "y is of type int.*Give the column itself", data={"y": 1}),
    Mistake("labels as PublicData", "y is PublicData.*as they are", data={"y": PublicData(LABELS)}),
    Mistake("masked labels", "y is a masked array", data={"y": np.ma.array(LABELS)}),
    Mistake("a column vector", r"ravel\(\)", data={"y": LABELS[:, None]}),
    Mistake(
        "some rows without a label",
        "NaN.*[Ll]eave rows without one out",
        data={"y": np.where(np.arange(N) == 3, np.nan, LABELS)},
    ),
    labels(
        "a quantity as labels", "y holds 163 numbers.*PrivateLinearRegression", MANY, classes=None
    ),
    labels(
        "a quantity as labels, declared",
        "classes holds 163 numbers.*PrivateLinearRegression",
        MANY,
        classes=np.unique(MANY),
    ),
    labels("a number as label", "Unknown label type: continuous.*regression target", X[:, 0]),
    labels(
        "numbers as texts", r"classes \[0, 1\], such as \['[01]'\]; name all", LABELS.astype(str)
    ),
    labels("minus one for zero", r"classes \[0, 1\], such as \[-1\]; name all", 2 * LABELS - 1),
    labels(
        "words for 0 and 1",
        r"such as \['(yes|no)'\]; name all of them in classes, or leave out",
        WORDS,
    ),
    labels(
        "a blank behind a word",
        "such as .'yes '.; name all",
        np.where(LABELS == 1, "yes ", "no"),
        classes=["no", "yes"],
    ),
    labels(
        "names of classes forgotten", "Name the possible labels: classes=", LABELS, classes=None
    ),
    labels("one class named", "classes holds 1 class.*at least two", LABELS, classes=[0]),
    labels("a class named twice", "names a class twice", LABELS, classes=[0, 1, 1]),
    labels("the number of classes", "'classes' .* must be an array-like", LABELS, classes=2),
    labels("a set of classes", "give a list of labels, not a set", LABELS, classes={0, 1}),
    labels("a dict of classes", "not a dict: classes=", LABELS, classes={0: "no", 1: "yes"}),
    labels(
        "a missing class", "names a missing label.*Leave it out", LABELS, classes=[0, 1, np.nan]
    ),
    labels("one-hot classes", "one-hot table.*argmax", np.column_stack([LABELS, 1 - LABELS])),
    labels("a sparse column", "one label only. Pass an array", csr_array(LABELS[:, None])),
    labels(
        "texts among numbers",
        r"y mixes texts.*y.astype\(str\)",
        MIXED,
    ),
    labels("dates as labels", "not among the classes", pd.to_datetime(LABELS)),
    labels("bytes", "Convert the labels to a string", LABELS.astype("S1")),
    labels(
        "labels of one class",
        "y holds 1 class.*at least two",
        np.zeros(N, dtype=int),
        classes=None,
    ),
    labels(
        "a class that y does not have, with a weight",
        "class_weight names 'yes', which is none of",
        LABELS,
        (logistic,),
        class_weight={"yes": 2.0},
    ),
    *(
        labels(
            f"{name}={value} of one class a row",
            f"{name}=.* is for several labels a row.*class_weight=",
            LABELS,
            (logistic,),
            **{name: value},
        )
        for name, value in (
            ("label_threshold", "rate"),
            ("label_threshold", 0.3),
            ("label_threshold", [0.3, 0.7]),
            ("label_rate", 0.1),
        )
    ),
    labels(
        "balanced labels of several columns",
        "label_threshold='rate'",
        np.column_stack([LABELS, 1 - LABELS]),
        (logistic,),
        class_weight="balanced",
        classes=None,
    ),
    Mistake(
        "weights of rows",
        "every (row casts a vector|teacher's ballot).*(budgets=|class_weight=)",
        data={"sample_weight": np.ones(N)},
    ),
    Mistake(
        "labels of public rows",
        "argument 'y_public'; it takes X, y, X_public",
        data={"y_public": LABELS[:120]},
    ),
    # Numbers
    labels(
        "texts as numbers",
        r"texts.*y.astype\(float\), decimal commas",
        TARGETS.astype(str),
        ONLY_NUMBERS,
    ),
    labels("classes for a regression", "take PrivateLogisticRegression", WORDS, ONLY_NUMBERS),
    labels("dates as numbers", "y holds dates", pd.to_datetime(LABELS), ONLY_NUMBERS),
    labels(
        "several numbers",
        "y has 2 columns.*give one column of it",
        np.stack([TARGETS] * 2, axis=1),
        ONLY_NUMBERS,
    ),
    labels(
        "an infinite number",
        "infinity.*leave rows without one out",
        np.where(TARGETS > 1, np.inf, TARGETS),
        ONLY_NUMBERS,
    ),
    labels(
        "no bounds", r"Pass target_bounds=\(low, high\)", TARGETS, ONLY_NUMBERS, target_bounds=None
    ),
    labels(
        "bounds the wrong way round", "low < high", TARGETS, ONLY_NUMBERS, target_bounds=(4, -4)
    ),
    labels("one bound", "'target_bounds' .* Got 4", TARGETS, ONLY_NUMBERS, target_bounds=4),
    labels(
        "bounds as texts",
        "no pair .low, high. of finite",
        TARGETS,
        ONLY_NUMBERS,
        target_bounds=("0", "1"),
    ),
    labels(
        "bounds read from private targets",
        "target_bounds: .* least and largest private value.*Declare bounds",
        TARGETS,
        ONLY_NUMBERS,
        target_bounds=(TARGETS.min(), TARGETS.max()),
    ),
    Mistake(
        "targets beyond the bounds",
        "private targets lie beyond it.*Declare bounds in the unit of y",
        settings={"target_bounds": (100, 200)},
        models=ONLY_NUMBERS,
        found="for 1 %",
    ),
    labels(
        "targets in dollars, bounds in thousands",
        "private targets lie beyond it.*Declare bounds in the unit of y",
        TARGETS * 1_000 + 50_000,
        ONLY_NUMBERS,
        target_bounds=(20, 80),
    )._replace(found="for 1 %"),
    Mistake(
        "bounds of another unit",
        "over 100 times as wide as the residuals.*Declare bounds",
        settings={"target_bounds": (-1e6, 1e6)},
        models=ONLY_NUMBERS,
        epsilon=9.0,
        found="in fit",
    ),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_labels(mistake, make):
    check(mistake, make)


def test_codes_of_many_classes_are_named():
    assert len(declared_classes(range(150))) == 150
    assert len(declared_classes(np.arange(150) + 1.0)) == 150
    assert len(learned_classes(MANY.astype(str))) == 163


@pytest.fixture(scope="module")
def fitted():
    accountant = PrivacyAccountant(4, 1e-5)
    model = logistic(accountant, epsilon=3)
    return model.fit(X, LABELS, X_public=POOL)


DATES = pd.Series(pd.date_range("2020-01-01", periods=N))
TIMES = {
    "dates": DATES,
    "dates of a zone": DATES.dt.tz_localize("Europe/Berlin"),
    "dates in an array": DATES.to_numpy(),
    "dates as objects": DATES.dt.date,
    "dates in a list": list(DATES.dt.date),
    "dates of polars": pl.Series(DATES),
    "durations": DATES - DATES[0],
    "durations in an array": (DATES - DATES[0]).to_numpy(),
    "durations of polars": pl.Series(DATES - DATES[0]),
}


@pytest.mark.parametrize("kind", TIMES)
def test_the_remedy_of_times_as_numbers(kind):
    y = TIMES[kind]
    model = numbers(PrivacyAccountant(4.0, 1e-5), target_bounds=(0, N))
    with pytest.raises(ValueError, match=f"y holds {kind.split()[0]}.*NOT FOR PUB") as error:
        model.fit(X, y, X_public=POOL)
    assert not model.accountant.entries()
    remedy = re.search(r"to days, (.*), and declare", str(error.value))[1]
    days = eval(remedy, {"pandas": pd, "y": y})
    np.testing.assert_allclose(days, np.arange(N), atol=0.1)
    model.fit(X, days, X_public=POOL)


@pytest.mark.parametrize("score", ["score_private", "confusion_private"])
@pytest.mark.parametrize(
    "y", [X[:, 0], WORDS, LABELS.astype(str)], ids=["numbers", "words", "texts of numbers"]
)
def test_a_score_of_other_labels(fitted, score, y):
    before = len(fitted.accountant.entries())
    message = "most labels in y are none of .*Give labels in the words.*NOT FOR PUBLICATION"
    with pytest.raises(ValueError, match=message):
        getattr(fitted, score)(X, y, share=0.05)
    assert len(fitted.accountant.entries()) == before


@pytest.mark.parametrize("score", ["score_private", "confusion_private"])
@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_a_score_with_missing_labels(fitted, score, missing):
    before = len(fitted.accountant.entries())
    y = LABELS.astype(object)
    y[3] = missing
    with pytest.raises(ValueError, match="NaN or None.*Leave rows without one out.*Nothing was"):
        getattr(fitted, score)(X, y, share=0.05)
    assert len(fitted.accountant.entries()) == before


def test_a_score_with_a_few_other_labels(fitted):
    few = np.where(np.arange(N) % 3, LABELS, 9)
    message = "217 of 650 labels in y are none of .*and recalls leave them out.*NOT FOR PUBLICATION"
    with pytest.warns(UserWarning, match=message):
        assert fitted.score_private(X, few, share=0.05).accuracy < 0.8
    with pytest.warns(UserWarning, match=message):
        confusion = fitted.confusion_private(X, few, share=0.2)
    assert confusion.accuracy < 0.8 < confusion.balanced_accuracy
    fitted.score_private(X, np.where(np.arange(N) % 200, LABELS, 9), share=0.05)


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize(
    "y",
    [
        pd.Series([None, True, False], dtype=object),
        pd.Series([np.nan, True, False], dtype=object),
        pd.Series([None, True, False], dtype="boolean"),
        pd.Series([None, 1, 0], dtype=object),
        pd.Series([None, 1.0, 0.0], dtype=object),
        pl.Series([None, True, False]),
        np.array([None, True, False]),
    ],
    ids=["None", "NaN", "boolean", "whole numbers", "numbers", "polars", "array"],
)
def test_the_remedy_of_missing_labels(make, y):
    y = y[np.where(np.arange(N) % 50, 2 - LABELS, 0)]
    for classes in ([0, 1], [False, True]):
        model = make(PrivacyAccountant(4.0, 1e-5), classes=classes)
        with pytest.raises(ValueError, match="NaN or .*Leave rows without one out of X and y"):
            model.fit(X, y, X_public=POOL)
        assert not model.accountant.entries()
    keep = pd.notna(np.asarray(y, dtype=object))
    model.fit(X[keep], y.filter(keep) if isinstance(y, pl.Series) else y[keep], X_public=POOL)
    assert model.score(X[keep], LABELS[keep] == 1) > 0.6


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("kind", [pd.DataFrame, np.asarray, np.ndarray.tolist, csr_array])
def test_the_remedy_of_one_hot_labels(make, kind):
    names, y = ["yes", "no"], kind(np.column_stack([LABELS, 1 - LABELS]))
    model = make(PrivacyAccountant(4.0, 1e-5), classes=["no", "yes"])
    with pytest.raises(ValueError, match="one-hot table.*pass numpy") as error:
        model.fit(X, y, X_public=POOL)
    remedy = re.search(r"pass (numpy\.take\(.*?axis=1\)\))", str(error.value))[1]
    y = eval(remedy, {"numpy": np, "names": names, "y": y})
    np.testing.assert_array_equal(y, WORDS)
    model.fit(X, y, X_public=POOL)


@pytest.mark.parametrize("first", [0, 1])
def test_the_remedies_of_many_numbers(first):
    y = np.arange(150) + first
    with pytest.raises(ValueError, match=r"If they are the codes 0, 1, 2, \.\.\.") as error:
        learned_classes(y)
    assert "if other codes, give y.astype(str)" in str(error.value)
    assert len(learned_classes(y.astype(str))) == 150
    if first == 0:
        remedy = re.search(r"classes=(range\(\d+\))", str(error.value))[1]
        np.testing.assert_array_equal(encode(y, declared_classes(eval(remedy)), "y"), y)
