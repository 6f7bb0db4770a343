"""Fits whose public rows, or declared columns, are compared with private rows."""

import json

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import PrivateLogisticRegression, PrivateTeacherEnsemble

RNG = np.random.default_rng(0)
N = 1500
X, POOL = RNG.normal(50, 10, size=(N, 3)), RNG.normal(50, 10, size=(200, 3))
Y = (X[:, 0] > 50).astype(int)


def linear(accountant, **parameters):
    few = {"rounds": 1, "interactions": 0, **parameters}
    return PrivateLogisticRegression(classes=[0, 1], accountant=accountant, **few)


def teachers(accountant, **parameters):
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    return PrivateTeacherEnsemble(learner, 100, classes=[0, 1], accountant=accountant, **parameters)


def in_days(rows):
    return rows * [365, 1, 1]


def in_thousands(rows):
    return rows / 1000


def released(accountant):
    return [entry for entry in accountant.entries() if entry.is_release]


def measured(accountant):
    return [each for each in released(accountant) if "measured" in json.loads(each.note)]


class Stopped(Exception):
    """Raised in place of a release."""
