"""Levels as a column of parts, and teachers whose number is chosen: as of rows in memory."""

import re

import joblib
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
    PrivacyAccountant,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
    Upsampling,
    Vanishing,
    Weighting,
)
from secretballot.ensemble import PrivateChoice
from secretballot.ensemble._votes import GroupTally
from secretballot.tables import PrivateParts, _buckets

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with random_state")

LEVEL = "tier"
NUMBERS = PublicData(public_rows(60)[["a", "b"]].fillna(0))


def levels(epsilons=(2.0, 4.0, 5.0)):
    names = ("strict", "middle", "generous")
    return PrivacyAccountant(dict(zip(names, epsilons, strict=True)), 1e-5, unit="owner")


@pytest.fixture
def rows(tmp_path):
    rows = table()
    tiers = np.random.default_rng(3).choice(["generous", "strict", "middle"], 1_200)
    return split(rows.assign(**{LEVEL: tiers[rows[OWNER]]}), tmp_path / "parts")


def parts(tmp_path, **how):
    how = {"y": TARGET, "owners": OWNER, "n_buckets": 3, "budgets": LEVEL, **how}
    return PrivateParts(tmp_path / "parts", engine=RepeatingEngine(), scratch=tmp_path, **how)


def entries(accountant):
    """Return what was charged, without times and names of fits."""
    return [
        (entry.n_rows, re.sub(r"/\w{32}/", "/", repr(entry.charges)), entry.note)
        for entry in accountant.entries()
    ]


def fit_both(make, rows, there, columns, pool, budgets):
    """Return the fits of rows in memory and in parts."""
    memory, apart = make(), make()
    how = {"owners": rows[OWNER], **({"budgets": rows[LEVEL]} if budgets else {})}
    memory.fit(rows[columns], rows[TARGET], X_public=pool, **how)
    apart.fit(there, X_public=pool)
    assert entries(memory.accountant) == entries(apart.accountant)
    return memory, apart


@pytest.mark.parametrize(
    "rule",
    [Upsampling(), Weighting(), Vanishing(), Upsampling(copies=dict.fromkeys(levels().epsilon, 1))],
)
def test_ensembles(rule, rows, tmp_path):
    def make():
        return PrivateTeacherEnsemble(
            DecisionTreeClassifier(max_depth=3),
            n_teachers=20,
            classes=[0, 1],
            reservation=10,
            individualization=rule,
            accountant=levels(),
            random_state=0,
        )

    memory, apart = fit_both(make, rows, parts(tmp_path), ["a", "b"], NUMBERS, budgets=True)
    assert memory.n_teachers_ == apart.n_teachers_
    np.testing.assert_array_equal(memory.pool_labels_.labels, apart.pool_labels_.labels)
    assert memory.public_rows_check_ == apart.public_rows_check_
    counting = memory._labelling.counting(memory.mechanism_)
    groups, pool = apart._teachers.groups, public_rows(60)[["a", "b"]].fillna(0)
    votes = collect_votes(memory._teachers, pool, memory.classes_, None, groups, counting)
    asked = GroupTally(counting).add_up(apart._teachers.ask(pool, apart.classes_, counting))
    assert set(votes) == set(asked.votes)
    for group in votes:
        np.testing.assert_array_equal(votes[group], asked.votes[group])


def test_linear_models(rows, tmp_path):
    def make():
        return PrivateLogisticRegression(
            classes=[0, 1], interactions=1, rounds=4, accountant=levels(), random_state=0
        )

    pool = PublicData(public_rows())
    memory, apart = fit_both(make, rows, parts(tmp_path), ["a", "b", "c"], pool, budgets=True)
    np.testing.assert_array_equal(memory.coef_, apart.coef_)
    assert memory.public_rows_check_ == apart.public_rows_check_
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


@pytest.mark.parametrize("listed", [False, True])
def test_a_number_of_teachers_is_chosen(listed, rows, tmp_path):
    def make():
        return PrivateTeacherEnsemble(
            LogisticRegression(), classes=[0, 1], accountant=budget(20.0), random_state=0
        )

    ids = {"owner_ids": rows[OWNER].unique()} if listed else {}
    there = parts(tmp_path, budgets=None, **ids)
    memory, apart = fit_both(make, rows, there, ["a", "b"], NUMBERS, budgets=False)
    assert 10 < memory.n_teachers_ == apart.n_teachers_


def choose_students(rule, rows, tmp_path):
    def make():
        students = [LogisticRegression(), DecisionTreeClassifier(max_depth=2, random_state=0)]
        return PrivateTeacherEnsemble(
            DecisionTreeClassifier(max_depth=3),
            n_teachers=16,
            classes=[0, 1],
            student=PrivateChoice(students, share=0.2),
            individualization=rule,
            accountant=levels() if rule else budget(),
            random_state=0,
        )

    there = parts(tmp_path, budgets=LEVEL if rule else None)
    memory, apart = fit_both(make, rows, there, ["a", "b"], NUMBERS, budgets=bool(rule))
    assert memory.student_.best_index_ == apart.student_.best_index_


@pytest.mark.parametrize("rule", [None, Upsampling()])
def test_students_are_chosen(rule, rows, tmp_path, monkeypatch):
    """From the same counts, which the choice hides."""
    counted, release = [], PrivacyAccountant.release

    def recorded(self, mechanism, counts, **how):
        counted.append(np.array(counts, dtype=float))
        return release(self, mechanism, counts, **how)

    monkeypatch.setattr(PrivacyAccountant, "release", recorded)
    choose_students(rule, rows, tmp_path)
    here, there = counted[: len(counted) // 2], counted[len(counted) // 2 :]
    assert here[-1].shape == (1, 2)
    for first, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(first, other)


def teachers_of_all(rows, folder):
    """Return the votes of each teacher, with three copies of some owners."""
    split(rows, folder / "parts", seed=len(rows) % 7)
    ensemble = PrivateTeacherEnsemble(
        DecisionTreeClassifier(max_depth=3),
        n_teachers=12,
        classes=[0, 1],
        individualization=Upsampling(copies={"strict": 1, "middle": 2, "generous": 3}),
        accountant=levels(),
        random_state=0,
    )
    ensemble.fit(parts(folder), X_public=NUMBERS)
    stored, pool = ensemble._teachers.folder.path, public_rows(60)[["a", "b"]].fillna(0)
    teachers = [joblib.load(f"{stored}/teacher-{number}") for number in range(ensemble.n_teachers_)]
    return np.array([teacher.predict(pool) for teacher in teachers])


@pytest.mark.filterwarnings("ignore:more than a quarter of the cells")
def test_an_owner_has_as_many_teachers_as_copies(rows, tmp_path):
    owner = rows.loc[rows[LEVEL] == "generous", OWNER].value_counts().index[0]
    mine = rows[OWNER] == owner
    first = teachers_of_all(rows, tmp_path)
    others = pd.concat([rows[mine].iloc[:1]] * 600, ignore_index=True)
    others = others.assign(a=np.linspace(-3, 3, 600), b=np.arange(600) % 6)
    others[TARGET] = (others["a"] < 0).astype(int)
    after = teachers_of_all(pd.concat([rows[~mine], others], ignore_index=True), tmp_path)
    assert (first != after).any(axis=1).sum() == 3


def two_levels(rows):
    return rows.assign(**{LEVEL: rows[LEVEL].where(rows.index > 0, "strict")})


def unknown_level(rows):
    return rows.assign(**{LEVEL: rows[LEVEL].where(rows.index > 0, "Mrs Novak")})


def missing_level(rows):
    return rows.assign(**{LEVEL: rows[LEVEL].where(rows.index > 0)})


def numbers_as_levels(rows):
    return rows.assign(**{LEVEL: 1})


def no_strict(rows):
    return rows.assign(**{LEVEL: rows[LEVEL].replace("strict", "middle")})


@pytest.mark.parametrize("kind", ["linear", "ensemble"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (two_levels, "bucket .: the column of budgets gives the rows of an owner different levels"),
        (unknown_level, "part 0: the column of budgets 'tier' has cells that are no level"),
        (missing_level, "part 0: the column of budgets 'tier' has cells that are no level"),
        (numbers_as_levels, "part .: the column of budgets 'tier' has cells that are no level"),
        (no_strict, "no row of budgets is of the level 'strict'"),
    ],
)
def test_levels_that_are_refused(damage, message, kind, rows, tmp_path):
    first = rows[rows[LEVEL] == "generous"]
    rows = first.iloc[:2].assign(**{OWNER: 5_000}).merge(rows, how="outer", sort=False)
    for file in (tmp_path / "parts").iterdir():
        file.unlink()
    damage(rows.reset_index(drop=True)).to_parquet(tmp_path / "parts" / "0.parquet", index=False)
    accountant = levels()
    if kind == "linear":
        model = PrivateLogisticRegression(classes=[0, 1], accountant=accountant)
    else:
        model = PrivateTeacherEnsemble(
            LogisticRegression(), n_teachers=20, classes=[0, 1], accountant=accountant
        )
    with pytest.raises(ValueError, match=message) as error:
        model.fit(parts(tmp_path), X_public=NUMBERS)
    assert "Novak" not in str(error.value)
    assert "5000" not in str(error.value)
    assert not accountant.entries()
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


def test_levels_need_a_budget_of_several(rows, tmp_path):
    del rows
    model = PrivateLogisticRegression(classes=[0, 1], accountant=budget())
    with pytest.raises(ValueError, match="the accountant has one budget for everyone"):
        model.fit(parts(tmp_path), X_public=NUMBERS)
    with pytest.raises(ValueError, match="budgets='tier' beside owner_ids"):
        parts(tmp_path, owner_ids=[1, 2])


def test_planted_copies_that_count_twice_are_found(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(_buckets.BucketRows, "once", lambda rows: rows)
    with pytest.raises(AssertionError):
        test_students_are_chosen(Upsampling(), rows, tmp_path, monkeypatch)
