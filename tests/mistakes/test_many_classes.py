"""Fits of many classes that can't be useful, by public numbers: said before anything is paid."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.mistakes._mistake import ROWS, Mistake, N, cases, check, teachers

from secretballot import (
    GNMax,
    PrivacyAccountant,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
)
from secretballot.ensemble import recommend_teachers

CODES = np.random.default_rng(0).integers(20, size=N)


def many(name, message, n_classes=20, **settings):
    settings = {"n_teachers": None, "classes": range(n_classes), **settings}
    data = {"y": CODES % n_classes}
    if "mechanism" not in settings:
        data["X_public"] = ROWS[:45]  # noise that is searched for takes longer for more rows
    return Mistake(name, message, data=data, settings=settings, models=(teachers,))


MISTAKES = (
    many("12 classes", r"18 teachers \(of 36 rows\).*PrivateLogisticReg.* times the eps", 12),
    many("few teachers", "little of 20 classes.*has no teachers", n_teachers=10)._replace(
        epsilon=9.0
    ),
    many("noise of one's own", "of 20 classes.*or less noise", mechanism=GNMax(sigma=15.0)),
    Mistake(
        "fewer rows than classes",
        "X_public has 30 row.*too few.*20 classes.*give at least 40",
        data={"y": CODES, "X_public": ROWS[:30]},
        settings={"classes": range(20), "mechanism": GNMax(sigma=1.0)},
        models=(teachers,),
        epsilon=9.0,
    ),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_many_classes(mistake, make):
    check(mistake, make)


def model(n_classes, epsilon=1.0):
    return PrivateTeacherEnsemble(
        LogisticRegression(),
        student=LogisticRegression(),
        classes=range(n_classes),
        accountant=PrivacyAccountant(epsilon, 1e-5),
    )


@pytest.mark.parametrize(
    ("n", "n_public", "n_classes", "epsilon"),
    [
        (30_000, 2_000, 2, 0.5),
        (2_000, 300, 2, 1.0),
        pytest.param(8_000, 200, 10, 1.0, marks=pytest.mark.slow),
        pytest.param(40_000, 200, 20, 1.0, marks=pytest.mark.slow),
    ],
)
def test_fits_that_work_do_not_warn(n, n_public, n_classes, epsilon):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not model(n_classes, epsilon).price_fit(n, np.zeros((n_public, 4))).problem


@pytest.mark.slow
def test_fewer_public_rows_are_a_remedy():
    with pytest.warns(UserWarning, match=r"fewer public rows \(about [0-9]+, drawn at random"):
        model(6).price_fit(1_000, np.zeros((60, 4)))


def test_advice_on_many_classes():
    numbers = {"n_private": 8_000, "n_public": 1_000, "epsilon": 1.0, "delta": 1e-5}
    assert "learn 20 classes from" in recommend_teachers(n_classes=20, **numbers).reason
    assert "That is too little" not in recommend_teachers(n_classes=10, **numbers).reason


def test_prices_promise_what_was_measured():
    def expected(n_classes):
        linear = PrivateLogisticRegression(
            classes=range(n_classes), accountant=PrivacyAccountant(1.0, 1e-5)
        )
        return linear.price_fit(20_000, ROWS).expected

    assert "lost up to 0.007 of accuracy" in expected(2)
    for n_classes in (3, 60):
        assert f"a model of {n_classes} classes was not measured" in expected(n_classes)
        assert "0.007" not in expected(n_classes)
