"""Parties for tests: with models that say what they are told to, or small real ones."""

from __future__ import annotations

import string

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression

from secretballot import GNMax, PrivacyAccountant
from secretballot.parties import Agreement, Party

#: Names that `several` and `real` give.
NAMES = (*string.ascii_lowercase, *(f"site {i}" for i in range(20)), "broken")


def agreed(mechanism, **settings):
    """Return an agreement of parties of all these names."""
    return Agreement(mechanism=mechanism, **{"parties": NAMES, **settings})


PLAIN = agreed(GNMax(sigma=2.0))


class Says(ClassifierMixin, BaseEstimator):
    """Predicts the same for every row, whatever it is fitted on."""

    def __init__(self, what=0):
        self.what = what

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(np.asarray(self.what)[None], len(X), axis=0)


def budget(epsilon=20.0, order="gaussian", **options):
    return PrivacyAccountant(epsilon, 1e-5, order=order, **options)


def saying(what, name, accountant=None, **options):
    """Return a party that votes for the same on every row."""
    kind = {} if np.ndim(what) else {"classes": [0, 1]}
    y = np.tile(what, (4, 1)) if np.ndim(what) else np.arange(4) % 2
    if np.ndim(what):
        y[0] = 1 - y[0]  # so that it isn't the rule of those who saw one thing only that votes
    party = Party(Says(what), name=name, accountant=accountant or budget(), **kind, **options)
    return party.fit(np.arange(8.0).reshape(4, 2), y)


def several(*said, **options):
    """Return parties named a, b, ..."""
    return [saying(what, chr(97 + i), **options) for i, what in enumerate(said)]


def real(n_parties, n_rows, **options):
    """Return fitted parties on blobs, and labelled rows of nobody's."""
    X, y = make_blobs(
        (n_parties + 1) * n_rows, centers=[[-1, 0], [1, 0]], cluster_std=1.0, random_state=0
    )
    parts = [slice(i * n_rows, (i + 1) * n_rows) for i in range(n_parties + 1)]
    parties = [
        Party(
            LogisticRegression(),
            name=f"site {i}",
            accountant=budget(**options),
            classes=[0, 1],
        ).fit(X[part], y[part])
        for i, part in enumerate(parts[:-1])
    ]
    return parties, X[parts[-1]], y[parts[-1]]
