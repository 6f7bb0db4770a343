"""Rows in parts and in memory: the same sums, votes, scores and charges, bit by bit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from tests.distributed._parts import (
    OWNER,
    TARGET,
    RepeatingEngine,
    budget,
    public_rows,
    split,
    table,
)
from tests.ensemble._votes import collect_votes

from secretballot import (
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.ensemble._votes import GroupTally
from secretballot.tables import PrivateParts
from secretballot.tables._buckets import Buckets

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytestmark = [
    pytest.mark.filterwarnings("ignore:Noise drawn with random_state"),
    pytest.mark.filterwarnings("ignore:.*such as year, month:UserWarning"),
]

DECLARED = {"bounds": {"a": (-4, 4), "b": (0, 5)}, "categories": {"c": ["x", "y", "z"]}}
LABELS = ["late", "large", "left"]


def classes(n_classes, **how):
    return PrivateLogisticRegression(classes=range(n_classes), **how)


def numbers(**how):
    return PrivateLinearRegression(target_bounds=(0, 2), **how)


CASES = {
    "two classes": (classes(2), 300),
    "two classes, pairs": (classes(2, interactions=1, rounds=4), 300),
    "three classes": (classes(3, rounds=3), 300),
    "three classes, kernel": (classes(3, features="kernel", rounds=3), 300),
    "linear": (classes(2, features="linear", columns=["a", "b"], rounds=3), 300),
    "no public rows": (classes(2, rounds=3, **DECLARED), 0),
    "few public rows": (classes(2, rounds=3, **DECLARED), 40),
    "numbers": (numbers(), 300),
    "numbers, pairs": (numbers(interactions=1, rounds=5), 300),
}


def entries(accountant):
    """Return what was charged, without times and names of fits."""
    return [(entry.n_rows, repr(entry.charges), entry.note) for entry in accountant.entries()]


@pytest.mark.parametrize("case", CASES)
def test_linear_models(case, tmp_path):
    model, n_public = CASES[case]
    rows = split(table(n_classes=3), tmp_path / "parts")
    if getattr(model, "classes", None) == range(2):
        rows = split(table(), tmp_path / "parts")
    pool = PublicData(public_rows(n_public)) if n_public else None
    engine = RepeatingEngine()
    parts = PrivateParts(
        tmp_path / "parts", y=TARGET, owners=OWNER, engine=engine, scratch=tmp_path, n_buckets=3
    )
    fitted = []
    for X, y, owners in (
        (rows.drop(columns=[TARGET, OWNER]), rows[TARGET], rows[OWNER]),
        (parts, None, None),
    ):
        here = model.__class__(**model.get_params(deep=False))
        here.set_params(accountant=budget(), random_state=0)
        fitted.append(
            here.fit(X, y, X_public=pool, **({} if owners is None else {"owners": owners}))
        )
    memory, apart = fitted
    assert engine.n_tasks > 10
    np.testing.assert_array_equal(memory.coef_, apart.coef_)
    np.testing.assert_array_equal(memory.coef_error_, apart.coef_error_)
    assert memory.interactions_ == apart.interactions_
    assert entries(memory.accountant) == entries(apart.accountant)
    assert memory.public_rows_check_ == apart.public_rows_check_
    assert memory.public_rows_check_.is_declared == (n_public == 0)
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]  # nothing is left


def test_several_labels(tmp_path):
    rows = table()
    for label, cut in zip(LABELS, (0, 1, 2), strict=True):
        rows[label] = (rows["a"].fillna(0) + rows["b"] > cut).astype(int)
    rows = split(rows.drop(columns=TARGET), tmp_path / "parts")
    pool = PublicData(public_rows())
    parts = PrivateParts(tmp_path / "parts", y=LABELS, owners=OWNER, n_buckets=3)
    memory, apart = (
        PrivateLogisticRegression(rounds=3, accountant=budget(), random_state=0) for _ in range(2)
    )
    memory.fit(rows[["a", "b", "c"]], rows[LABELS], X_public=pool, owners=rows[OWNER])
    apart.fit(parts, X_public=pool)
    np.testing.assert_array_equal(memory.coef_, apart.coef_)


@pytest.fixture
def ensembles(tmp_path):
    """Return an ensemble of rows in memory, and one of the same rows in parts, with the parts."""
    rows = split(table(), tmp_path / "parts")
    pool = public_rows(60)[["a", "b"]].fillna(0)
    parts = PrivateParts(
        tmp_path / "parts",
        y=TARGET,
        owners=OWNER,
        engine=RepeatingEngine(),
        scratch=tmp_path,
        n_buckets=3,
    )
    memory, apart = (
        PrivateTeacherEnsemble(
            DecisionTreeClassifier(max_depth=3),
            n_teachers=20,
            classes=[0, 1],
            student=LogisticRegression(),
            reservation=10,
            accountant=budget(),
            random_state=0,
        )
        for _ in range(2)
    )
    memory.fit(rows[["a", "b"]], rows[TARGET], X_public=PublicData(pool), owners=rows[OWNER])
    apart.fit(parts, X_public=PublicData(pool))
    return memory, apart, parts, rows, pool


def test_votes_and_labels(ensembles, tmp_path):
    memory, apart, _, _, pool = ensembles
    assert entries(memory.accountant) == entries(apart.accountant)
    np.testing.assert_array_equal(memory.pool_labels_.labels, apart.pool_labels_.labels)
    counting = memory._labelling.counting(memory.mechanism_)
    votes = collect_votes(memory._teachers, pool, memory.classes_, None, counting=counting)
    asked = GroupTally(counting).add_up(apart._teachers.ask(pool, apart.classes_, counting))
    np.testing.assert_array_equal(votes["*"], asked.votes["*"])
    assert len(np.unique(votes["*"])) > 5
    labels = [each.predict_private(pool[:8]).labels for each in (memory, apart)]
    np.testing.assert_array_equal(*labels)
    (stored,) = [path for path in tmp_path.iterdir() if path.name != "parts"]
    assert len(list(stored.glob("teacher-*"))) == 20
    assert stored.stat().st_mode & 0o777 == 0o700
    del apart, asked
    ensembles[1]._teachers.folder.delete()
    assert not stored.exists()


def test_scores(ensembles):
    memory, apart, parts, rows, _ = ensembles
    X, y = rows[["a", "b"]], rows[TARGET]
    for model in (memory, apart):
        model.set_params(accountant=memory.accountant)
        model._labelling.scope = None
    how = {"epsilon": 0.1}
    for name in ("score_private", "confusion_private"):
        models = [model.set_params(accountant=budget()) for model in (memory, apart)]
        here = getattr(models[0], name)(X, y, owners=rows[OWNER], **how)
        there = getattr(models[1], name)(parts, **how)
        assert repr(here) == repr(there)


def test_score_of_numbers(tmp_path):
    rows = split(table(n_classes=3), tmp_path / "parts")
    parts = PrivateParts(tmp_path / "parts", y=TARGET, owners=OWNER, n_buckets=3)
    model = numbers(accountant=budget(), epsilon=2.0, random_state=0)
    model.fit(parts, X_public=PublicData(public_rows()))
    model._n_scores = 0
    there = model.score_private(parts, epsilon=0.5)
    model._n_scores = 0
    X = rows.drop(columns=[TARGET, OWNER])
    here = model.score_private(X, rows[TARGET], owners=rows[OWNER], epsilon=0.5)
    assert repr(here) == repr(there)


@pytest.mark.parametrize("kind", ["str", "int8", "uint64", "category", "binary"])
def test_types_of_owner_ids(kind, tmp_path):
    rows = table(400, 90)
    if kind == "binary":
        rows[OWNER] = [str(owner).encode() for owner in rows[OWNER]]
    else:
        rows[OWNER] = rows[OWNER].astype("str" if kind == "category" else kind).astype(kind)
    rows = split(rows, tmp_path / "parts")
    parts = PrivateParts(tmp_path / "parts", y=TARGET, owners=OWNER, n_buckets=2)
    buckets = Buckets.of(parts, ["a"], bytes(range(16)))
    hashes = np.concatenate(list(buckets.map_rows(lambda rows: rows.hashes)))
    from secretballot.tables._owners import Owners

    read = Owners.read(rows[OWNER], len(rows))
    expected = read.hashes(bytes(range(16)))[read.of_row]
    np.testing.assert_array_equal(np.sort(hashes), np.sort(expected))
    assert buckets.n_owners == len(read.ids)
    buckets.delete()


def test_a_public_list_of_owners(tmp_path):
    rows = split(table(), tmp_path / "parts")
    listed = [*range(1_000), 5_000, 5_001]  # some have no rows, and some rows are of others
    parts = PrivateParts(tmp_path / "parts", y=TARGET, owners=OWNER, owner_ids=listed, n_buckets=3)
    with pytest.warns(UserWarning, match="rows are of owners that owner_ids does not list"):
        buckets = Buckets.of(parts, ["a"], bytes(16))
    assert buckets.n_owners == 1_002
    frames = list(buckets.map_rows(lambda rows: rows.frame))
    buckets.delete()
    kept = rows[rows[OWNER] < 1_000]
    assert 0 < len(kept) < len(rows)
    together = pd.concat(frames)["a"]
    np.testing.assert_array_equal(np.sort(together), np.sort(kept["a"]))
