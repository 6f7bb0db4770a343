"""Replace all rows of one owner: one ballot changes, and sums move by no more than is charged."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
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

from secretballot import PrivateLogisticRegression, PrivateTeacherEnsemble, PublicData
from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import _partition
from secretballot.measures import private_quantiles
from secretballot.mechanisms import GNMax
from secretballot.tables import PrivateParts, _exchange, _private_rows
from secretballot.tables._people import People

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with random_state")

N_TEACHERS = 12


def neighbours(rows, owner, rng):
    """Return tables in which all rows of one owner are others."""
    mine = np.flatnonzero(rows[OWNER] == owner)
    others = rows.drop(index=mine)
    extreme = rows.iloc[mine[:1]].assign(a=1e9, b=-1.0, c="unknown", **{TARGET: 1})
    many = pd.concat([extreme] * 40, ignore_index=True)
    changed = rows.copy()
    changed.loc[mine, TARGET] = 1 - changed.loc[mine, TARGET]
    changed.loc[mine, "a"] = rng.normal(size=len(mine)) * 10
    yield changed
    yield pd.concat([others, extreme], ignore_index=True)  # fewer rows, in the last part
    yield pd.concat([many, others], ignore_index=True)  # all parts move
    spread = pd.concat([extreme] * 9, ignore_index=True)
    yield pd.concat([others, spread], ignore_index=True).sample(frac=1, random_state=3)


def parts_of(rows, folder, **how):
    split(rows.reset_index(drop=True), folder, seed=len(rows) % 7)
    return PrivateParts(folder, y=TARGET, owners=OWNER, n_buckets=5, **how)


def asked(monkeypatch):
    """Record the sums that the accountant is asked to release, with their mechanisms."""
    record = []
    release = PrivacyAccountant.release

    def recorded(self, mechanism, counts, **how):
        record.append((mechanism, np.array(counts, dtype=float)))
        return release(self, mechanism, counts, **how)

    monkeypatch.setattr(PrivacyAccountant, "release", recorded)
    return record


def moves(first, other):
    """Return the distance of two runs' sums, in units of what the mechanisms charge for."""
    distances = []
    for (mechanism, here), (_, there) in zip(first, other, strict=True):
        assert here.shape == there.shape  # the number of owners, and so of bins, is the same
        diameter = getattr(mechanism, "diameter", None) or 1.0
        distances.append(np.linalg.norm(here - there) / diameter)
    return max(distances)


def run_linear(rows, folder, record, **how):
    record.clear()
    model = PrivateLogisticRegression(
        classes=[0, 1], rounds=1, accountant=budget(), random_state=0, interactions=0
    )
    model.fit(parts_of(rows, folder, **how), X_public=PublicData(public_rows()))
    return list(record[:2])  # later rounds depend on what was released


def run_quantiles(rows, folder, record, epsilon=40.0):
    record.clear()
    bounds = {"a": (-3, 4), "b": (-1, 6)}
    X, accountant = parts_of(rows, folder), budget(epsilon)
    private_quantiles(X, bounds=bounds, accountant=accountant, share="rest")
    return list(record)


@pytest.mark.filterwarnings("ignore:more than a quarter of the cells")
@pytest.mark.parametrize("run", [run_linear, run_quantiles])
def test_sums_move_by_what_is_charged(run, tmp_path, monkeypatch):
    record, rows = asked(monkeypatch), table(600, 40)
    owner = rows[OWNER].value_counts().index[0]
    first = run(rows, tmp_path / "0", record)
    distances = []
    for index, other in enumerate(neighbours(rows, owner, np.random.default_rng(0))):
        again = run(other, tmp_path / str(index + 1), record)
        distances.append(moves(first, again))
    assert 0.01 < max(distances) <= 1


@pytest.mark.filterwarnings("ignore:.*owner_ids does not list", "ignore:more than a quarter")
def test_an_owner_of_the_list_may_vanish(tmp_path, monkeypatch):
    record, rows = asked(monkeypatch), table(600, 40)
    listed = {"owner_ids": range(40)}
    first = run_linear(rows, tmp_path / "0", record, **listed)
    gone = rows[rows[OWNER] != 3]
    strange = pd.concat([rows, rows.iloc[:1].assign(**{OWNER: 999, "a": 1e9})])
    again = run_linear(gone, tmp_path / "1", record, **listed)
    assert 0.01 < moves(first, again) <= 1
    again = run_linear(strange, tmp_path / "2", record, **listed)
    assert moves(first, again) == 0


def votes(rows, folder):
    """Return the votes of each teacher, and the teacher of each owner."""
    accountant = budget()
    ensemble = PrivateTeacherEnsemble(
        DecisionTreeClassifier(max_depth=3),
        n_teachers=N_TEACHERS,
        mechanism=accountant.calibrate(GNMax, 60, n_columns=2),
        classes=[0, 1],
        accountant=accountant,
        random_state=0,
    )
    pool = public_rows(50)[["a", "b"]].fillna(0)
    ensemble.fit(parts_of(rows, folder, engine=RepeatingEngine()), X_public=PublicData(pool))
    import joblib

    folder = ensemble._teachers.folder.path
    teachers = [joblib.load(f"{folder}/teacher-{number}") for number in range(N_TEACHERS)]
    return np.array([teacher.predict(pool) for teacher in teachers])


@pytest.mark.filterwarnings("ignore:more than a quarter of the cells")
def test_one_ballot_changes(tmp_path):
    rows = table(900, 60)
    first = votes(rows, tmp_path / "0")
    changed_teachers = set()
    for index, other in enumerate(neighbours(rows, 7, np.random.default_rng(0))):
        # Rows of other owners are in other parts, but in the same order.
        after = votes(other, tmp_path / str(index + 1))
        changed_teachers |= set(np.flatnonzero((first != after).any(axis=1)).tolist())
    assert len(changed_teachers) == 1


def every_row_counts(owner_of_row, n):
    return People(n, "owner", np.ones(len(owner_of_row)), owner_of_row)


@pytest.mark.filterwarnings("ignore:more than a quarter of the cells")
def test_planted_rows_of_an_owner_that_each_count_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(_private_rows.People, "of_numbers", staticmethod(every_row_counts))
    with pytest.raises(AssertionError):
        test_sums_move_by_what_is_charged(run_linear, tmp_path, monkeypatch)


@pytest.mark.filterwarnings("ignore:bounds")
def test_planted_quantiles_of_rows_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(_private_rows.People, "of_numbers", staticmethod(every_row_counts))
    with pytest.raises(AssertionError):
        # So small a budget has no check of bounds, which would refuse so many.
        test_sums_move_by_what_is_charged(
            partial(run_quantiles, epsilon=5.0), tmp_path, monkeypatch
        )


def by_position(hashes, n_teachers):
    return np.arange(len(hashes)) % n_teachers


@pytest.mark.filterwarnings("ignore:more than a quarter of the cells")
def test_planted_teachers_by_position_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(_partition, "teachers_of_hashes", by_position)
    with pytest.raises(AssertionError):
        test_one_ballot_changes(tmp_path)


def test_planted_buckets_by_part_are_found(tmp_path, monkeypatch):
    """If an owner's rows stay in the bucket of their part, the owner counts several times."""

    def buckets(self, hashes):
        return (np.arange(len(hashes)) % self.n_buckets).astype(np.uint64)

    monkeypatch.setattr(_exchange.Exchange, "_buckets", buckets)
    with pytest.raises(AssertionError):
        test_sums_move_by_what_is_charged(run_linear, tmp_path, monkeypatch)
