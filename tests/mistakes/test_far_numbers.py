"""Rows to predict or to score, in memory or in parts, that are in other units or can't be read."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from tests.mistakes._mistake import (
    ALL,
    LABELS,
    POOL,
    PUBLIC_TABLE,
    TABLE,
    TARGETS,
    N,
    X,
    numbers,
    teachers,
)

from secretballot import PrivacyAccountant, PublicData
from secretballot.ensemble import make_table_pipeline
from secretballot.tables import PrivateParts

pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with")
FAR = TABLE.assign(pay=1000 * TABLE["pay"] + 5000)
ROWS = {
    "far": (FAR, r"most numbers of X are out of the range of .* in 'pay' \(100"),
    "unreadable": (
        TABLE.assign(pay=[f"secret-{row}" for row in range(N)]),
        "most cells of X are missing, can't be read.* in 'pay' .100",
    ),
    "missing": (TABLE.assign(pay=np.nan), "most cells of X are missing, .* in 'pay' .100"),
    "alike": (TABLE, ""),
    "some far": (TABLE.assign(pay=np.where(np.arange(N) % 3, TABLE["pay"], FAR["pay"])), ""),
}


def fitted(make, rows=TABLE, pool=PUBLIC_TABLE, **settings):
    accountant = PrivacyAccountant(100.0, 1e-5, unit="owner")
    model = make(accountant, epsilon=20.0, random_state=0, **settings)
    y = TARGETS if make is numbers else LABELS
    return model.fit(rows, y, X_public=PublicData(pool), owners=np.arange(N))


def told(ask):
    """Return the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ask()
    return [text for text in map(str, (w.message for w in caught)) if text.startswith("most")]


def as_parts(rows, y, folder):
    frame = rows.assign(y=y, owner=np.arange(len(rows)))
    for part in range(3):
        frame.iloc[part::3].to_parquet(folder / f"{part}.parquet")
    return PrivateParts(folder.glob("*.parquet"), y="y", owners="owner")


@pytest.fixture(scope="module")
def models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {make: fitted(make) for make in ALL}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("make", ALL)
def test_scores_of_parts_warn_as_those_in_memory(models, make, kind, tmp_path):
    model, (rows, message) = models[make], ROWS[kind]
    y = TARGETS if make is numbers else LABELS
    parts = as_parts(rows, y, tmp_path)
    for ask in ["score_private", "confusion_private"][: 1 if make is numbers else 2]:
        score = getattr(model, ask)
        in_memory = told(lambda score=score: score(rows, y, owners=np.arange(N), share=0.01))
        in_parts = told(lambda score=score: score(parts, share=0.01))
        assert in_parts == in_memory
        assert len(in_memory) == bool(message)
        if message:
            with pytest.warns(UserWarning, match=message):
                score(parts, share=0.01)
        assert "secret" not in "".join(in_memory)


@pytest.mark.parametrize("convert", [lambda rows: rows, pl.from_pandas])
def test_students_and_ensembles_warn_of_numbers_out_of_range(convert):
    model = fitted(teachers, convert(TABLE), convert(PUBLIC_TABLE), reservation=100)
    student = pickle.loads(pickle.dumps(model.to_student()))
    far, near = convert(FAR), convert(TABLE)
    for ask in ("predict", "predict_proba", "predict_log_proba", "score"):
        y = (LABELS,) if ask == "score" else ()
        for of in (model, student):
            (text,) = told(lambda of=of, ask=ask, y=y: getattr(of, ask)(far, *y))
            assert "'pay' (100.0% out of -2.83 to 2.973)" in text
            assert not told(lambda of=of, ask=ask, y=y: getattr(of, ask)(near, *y))
    assert not told(lambda: model.predict(far[:19]))
    with pytest.warns(UserWarning, match="most numbers of X are out of the range.*'pay'"):
        model.predict_private(far[:50])
    assert not told(lambda: model.predict_private(near[:50]))


def test_arrays_and_lists_of_numbers():
    model = fitted(teachers, X, POOL.X)
    for rows in (FAR.to_numpy(), FAR.to_numpy().tolist(), FAR.to_numpy().astype(np.float32)):
        with pytest.warns(UserWarning, match=r"out of the range.* in 1 \(100"):
            model.predict(rows)
    assert not told(lambda: model.predict(X))


def test_dates_out_of_range():
    days = pd.to_timedelta(7 * np.arange(N) % 300, "D")
    rows = TABLE.assign(day=pd.Timestamp("2020-01-01") + days)
    pool = PUBLIC_TABLE.assign(day=rows["day"].to_numpy()[: len(PUBLIC_TABLE)].copy())
    learner = make_table_pipeline(LogisticRegression(), pool)
    model = fitted(teachers, rows, pool, learner=learner)
    later = rows.assign(day=rows["day"] + pd.Timedelta(days=365))
    for of in (model, model.to_student()):
        with pytest.warns(UserWarning, match=r"'day' \(100.0% out of 2020-01-01 to 2020-10-\d+\)"):
            of.predict(later)
        assert not told(lambda of=of: of.predict(rows))


def test_ranges_of_few_public_rows_say_nothing():
    """Half of some rows may be out of them by chance."""
    model = fitted(teachers, X, POOL.X[:8], student=LogisticRegression())
    assert not told(lambda: model.predict(FAR.to_numpy()))
