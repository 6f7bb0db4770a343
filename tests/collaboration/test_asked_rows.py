"""Rows that can't be answered, and answers that are about other rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.collaboration._parties import agreed, budget

from secretballot import GNMax
from secretballot.parties import Collaboration, Party

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 2))
Y = (X[:, 0] > 0).astype(int)
SHARP = agreed(GNMax(sigma=0.5), parties=[f"site {i}" for i in range(4)])


def together(rows=X, estimator=None):
    parties = [
        Party(
            estimator or LogisticRegression(),
            name=f"site {i}",
            accountant=budget(1e3),
            classes=[0, 1],
        ).fit(rows[i::5], Y[i::5])
        for i in range(4)
    ]
    return Collaboration(parties)


def unspent(collaboration):
    return all(party.accountant.entries() == [] for party in collaboration.parties.values())


FRAME = pd.DataFrame(X, columns=["a", "b"])
TEXTS = pd.DataFrame({"a": RNG.choice(["u", "v"], 400), "b": X[:, 1]})


@pytest.mark.parametrize(
    ("rows", "equal"),
    [
        (X, X.copy()),
        (X, csr_array(X)),
        (X, X.tolist()),
        (FRAME, FRAME.copy()),
        (FRAME.assign(b=RNG.integers(9, size=400)).astype({"b": "Int64"}), None),
    ],
    ids=["array", "sparse", "list", "frame", "nullable"],
)
@pytest.mark.parametrize("asker", ["site 0", None])
def test_an_answer_is_learned_for_its_rows_alone(rows, equal, asker):
    equal = rows if equal is None else equal
    collaboration = together(rows)
    party = collaboration.parties["site 0"]
    answer = collaboration.ask(asker, rows[:20], SHARP)
    before = party.predict(rows)
    for others in (rows[20:40], rows[:20][::-1]):
        with pytest.raises(ValueError, match="holds other rows than .*Pass the rows that were"):
            party.learn(others, answer)
    np.testing.assert_array_equal(party.predict(rows), before)
    party.learn(equal[:20], answer)


def test_an_answer_from_elsewhere_does_not_tell_its_rows():
    there, here = together(), together().parties["site 0"]
    here.learn(X[20:40], there.ask("site 0", X[:20], SHARP))


def test_labels_are_no_answer():
    party = together().parties["site 0"]
    with pytest.raises(TypeError, match="must be an Answer, as ask returns it"):
        party.learn(X[:20], Y[:20])


@pytest.mark.parametrize(
    ("fitted", "asked", "message"),
    [
        (X, np.full((5, 2), np.nan), "for party 'site 0', contains NaN"),
        (X, np.full((5, 2), "a", dtype=object), "can't answer these rows.*could not convert"),
        (X, FRAME[["b", "a"]][:5], "has the columns .'b', 'a'.*pass X.to_numpy"),
        (FRAME, TEXTS[:5], "can't answer these rows.*could not convert"),
    ],
    ids=["missing", "texts", "names", "texts of a frame"],
)
def test_rows_that_no_model_can_answer_are_refused_unpaid(fitted, asked, message):
    collaboration = together(fitted)
    with pytest.raises(ValueError, match=message):
        collaboration.ask("site 0", asked, SHARP)
    with pytest.raises(ValueError, match=message):
        collaboration.learn({"site 0": asked}, SHARP)
    assert unspent(collaboration)


def test_missing_values_of_nobody():
    collaboration = together()
    with pytest.raises(ValueError, match="for party 'site 0', contains NaN"):
        collaboration.ask(None, np.full((5, 2), np.nan), SHARP)
    assert unspent(collaboration)


def test_pools_without_the_names_of_their_parties():
    for pools in (X[:20], [X[:20]]):
        with pytest.raises(TypeError, match=r"must be a dict.*'site 0': X"):
            together().learn(pools, SHARP)


def test_models_that_take_missing_values_are_asked_about_them():
    gaps = np.where(np.abs(X) < 0.1, np.nan, X)
    collaboration = together(gaps, make_pipeline(SimpleImputer(), LogisticRegression()))
    answer = collaboration.ask("site 0", gaps[:20], SHARP)
    collaboration.parties["site 0"].learn(gaps[:20], answer)
