"""Rounds of a fit: a posterior that a later round finds worse is dropped."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from secretballot.linear import _rounds
from secretballot.linear._posterior import Posterior

FEATURES = SimpleNamespace(n_features=2, groups=[slice(0, 2)], norm=1.0)
PUBLIC = SimpleNamespace(decision=lambda slopes, intercept: np.full((3, 1), intercept[0, 0]))


class Rows:
    """Private rows whose residual sums are as large as the intercept."""

    n_columns, total = 1, 10.0

    def __init__(self):
        self.asked = []

    def residual_sums(self, coefficients, norm):
        self.asked.append(float(coefficients[0, 0]))
        return np.full((2, 1), self.asked[-1])


@pytest.mark.parametrize(
    ("believed", "asked", "last"),
    [
        # Each better than the one before: the last is taken, though nothing has judged it.
        ([8.0, 4.0, 2.0, 1.0], [64.0, 8.0, 4.0, 2.0], 1.0),
        # The second is worse than the first: half way back, and on from there.
        ([8.0, 40.0, 2.0, 1.0], [64.0, 8.0, 40.0, 5.0], 1.0),
        # The last that was judged is worse: the best of those that were.
        ([8.0, 4.0, 40.0, 1.0], [64.0, 8.0, 4.0, 40.0], 4.0),
    ],
)
def test_worse_posteriors_are_dropped(monkeypatch, believed, asked, last):
    rows, coming = Rows(), iter(believed)

    def posterior(intercept):
        values = np.array([[intercept], [0.0], [0.0]])
        return Posterior(values, values, values, np.ones(1))

    monkeypatch.setattr(_rounds.Posterior, "initial", lambda *_: posterior(64.0))
    monkeypatch.setattr(_rounds, "fit_posterior", lambda *_, **__: posterior(next(coming)))
    found = _rounds.run_rounds(
        rows, FEATURES, PUBLIC, lambda sums: sums, sigma=1.0, n_rounds=4, n_people=10.0
    )
    assert rows.asked == asked
    assert found.coefficients[0, 0] == last
