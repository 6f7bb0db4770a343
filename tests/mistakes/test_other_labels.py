"""Targets of types that are no classes, or no numbers; each remedy is followed."""

import re

import numpy as np
import pandas as pd
import pytest
from tests.mistakes._mistake import CLASSIFIERS, LABELS, PUBLIC_TABLE, TABLE, TARGETS, N, numbers

from secretballot import PrivacyAccountant, PublicData

MONTHS = pd.Series(pd.PeriodIndex(np.where(LABELS, "2020-02", "2020-01"), freq="M"))
OBJECTS = {
    "periods": MONTHS,
    "array of periods": MONTHS.to_numpy(object),
    "intervals": pd.cut(pd.Series(LABELS), [-1, 0, 1]),
    "dates": np.array([pd.Timestamp(f"2020-01-{1 + label:02}").date() for label in LABELS]),
}
COMPLEX = {
    "array": LABELS.astype(complex),
    "objects": LABELS.astype(complex).astype(object),
    "list": LABELS.astype(complex).tolist(),
}


def refused(make, y, message, **settings):
    accountant = PrivacyAccountant(30.0, 1e-5)
    model = make(accountant, epsilon=20.0, **settings)
    with pytest.raises(ValueError, match=message) as error:
        model.fit(TABLE, y, X_public=PublicData(PUBLIC_TABLE))
    assert not accountant.entries()
    assert str(error.value).endswith("NOT FOR PUBLICATION, as it depends on private rows.")
    return str(error.value), model


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.filterwarnings("ignore:classes=None")
def test_objects_that_are_no_classes(make, kind):
    y = OBJECTS[kind]
    text, _ = refused(make, y, r"Unknown label type: y holds objects \(\w+\)", classes=None)
    y = eval(re.search(r"Pass (.*?),", text)[1], {"y": y})
    texts = sorted(set(y))
    model = make(PrivacyAccountant(30.0, 1e-5), epsilon=20.0, classes=texts)
    assert model.fit(TABLE, y, X_public=PublicData(PUBLIC_TABLE)).score(TABLE, y) > 0.8


@pytest.mark.parametrize("kind", COMPLEX)
@pytest.mark.parametrize("make", [*CLASSIFIERS, numbers])
def test_complex_numbers(make, kind):
    words = r"Complex data not supported(: y holds complex numbers|\. Every row needs one)"
    if make is numbers and kind != "array":
        words = "y holds what is no number. Every row needs"
    refused(make, COMPLEX[kind], words)


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("y", [TARGETS, TARGETS.astype(object), TARGETS.tolist(), LABELS + 0.5])
def test_continuous_labels(make, y):
    refused(make, y, "Unknown label type: continuous")


def test_periods_as_numbers():
    y = pd.Series(pd.period_range("2020-01-01", periods=N, freq="D"))
    for periods in (y, y.to_numpy(object)):
        text, model = refused(numbers, periods, "y holds periods, and the target of a regression")
        days = eval(
            re.search(r"to days, (.*?), and declare", text)[1], {"pandas": pd, "y": periods}
        )
        np.testing.assert_array_equal(np.asarray(days), np.arange(N))
        model = numbers(PrivacyAccountant(30.0, 1e-5), epsilon=20.0, target_bounds=(0, N))
        model.fit(TABLE, days, X_public=PublicData(PUBLIC_TABLE))
