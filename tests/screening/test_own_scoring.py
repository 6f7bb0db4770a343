"""Which scoring functions pay for what they read of private rows."""

from functools import partial

import pytest
from sklearn.metrics import accuracy_score, make_scorer

from secretballot.scoring import score_private
from secretballot.scoring import score_private as score_it
from secretballot.screening._own_scoring import pays

PUBLIC = ([[0.0]], [0])


def direct(model, X, y):
    return model.score_private(X, y).accuracy


def helped(model, X, y):
    return direct(model, X, y)


def far(model, X, y):
    return helped(model, X, y)


def too_far(model, X, y):
    return far(model, X, y)


def free(model, X, y):
    return model.score(X, y)


class Scorer:
    def __init__(self, metric):
        self.metric = metric

    def __call__(self, model, X, y):
        return self.rate(model, X, y)

    def rate(self, model, X, y):
        return self.metric(model, X, y)


class Paying(Scorer):
    def rate(self, model, X, y):
        return model.score_private(X, y).accuracy


def around(metric):
    return lambda model, X, y: metric(model, X, y)


def renamed(accountant, model, X, y):
    return score_it(accountant, y, model.predict(X)).accuracy


PAYING = {
    "a method": direct,
    "a lambda": lambda model, X, y: model.score_private(X, y).accuracy,
    "within a function": lambda model, X, y: (lambda: model.score_private(X, y))(),
    "a function that it calls": helped,
    "and one that this calls": far,
    "of the library": lambda model, X, y: score_private(None, y, model.predict(X)),
    "of another name": partial(renamed, None),
    "an object": Paying(None),
    "an object with a function": Scorer(direct),
    "a bound method": Paying(None).rate,
    "a closure": around(direct),
    "several": {"one": direct, "two": helped},
    "public rows": lambda model, X, y: model.score(*PUBLIC),
    "no rows": lambda *_: 0.0,
}

FREE = {
    "none": None,
    "a name": "accuracy",
    "a scorer": make_scorer(accuracy_score),
    "a method": free,
    "a lambda": lambda model, X, y: model.score(X, y),
    "a part": partial(free),
    "an object": Scorer(free),
    "a bound method": Scorer(free).rate,
    "a closure": around(free),
    "too many calls": too_far,
    "one of several": {"one": direct, "two": free},
    "a class": Scorer,
    "a builtin": max,
}


@pytest.mark.parametrize("name", PAYING)
def test_functions_that_pay(name):
    assert pays(PAYING[name])


@pytest.mark.parametrize("name", FREE)
def test_functions_that_do_not_pay(name):
    assert not pays(FREE[name])
