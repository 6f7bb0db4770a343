"""Splits that move one shard when one row, or one owner, changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secretballot.ensemble._partition import HashedRows, NumberedRows, partition_rows
from secretballot.tables._owners import Owners
from secretballot.tables._randomness import Randomness

STREAM = Randomness.from_seed(0).partition()


def owned_rows(owners):
    read = Owners.read(owners, len(owners))
    return HashedRows(n_rows=len(owners), hashes=lambda key: read.hashes(key)[read.of_row])


def partition_owners(owners, n_teachers, stream):
    """Return the teacher of each row."""
    teachers = np.full(len(owners), -1)
    for number, places in enumerate(owned_rows(owners).split(n_teachers, stream)):
        assert (teachers[places] == -1).all()
        teachers[places] = number
    assert (teachers >= 0).all()
    return teachers


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 5))
def test_rows_are_split_evenly(n_rows, n_teachers, seed):
    if n_rows < n_teachers:
        return
    stream = Randomness.from_seed(seed).partition()
    parts = NumberedRows(n_rows).split(n_teachers, stream)
    sizes = [len(part) for part in parts]
    assert sizes == np.bincount(partition_rows(n_rows, n_teachers, stream)).tolist()
    assert max(sizes) - min(sizes) <= 1
    assert sorted(np.concatenate(parts)) == list(range(n_rows))
    assert all((np.diff(part) > 0).all() for part in parts)


def test_the_seed_decides_the_split():
    first, again = (partition_rows(50, 5, Randomness.from_seed(3).partition()) for _ in range(2))
    other = partition_rows(50, 5, Randomness.from_seed(4).partition())
    assert (first == again).all()
    assert (first != other).any()


def test_fewer_rows_than_teachers():
    with pytest.raises(ValueError, match="n_teachers=5 .* n_samples=4; lower n_teachers"):
        partition_rows(4, 5, STREAM)


ids = st.lists(st.integers(0, 12) | st.integers(10**6, 10**20), min_size=4, max_size=40)


@given(ids, st.data())
def test_one_changed_owner_moves_the_rows_of_that_owner_only(owners, data):
    old = data.draw(st.sampled_from(owners))
    new = data.draw(st.integers(-5, 10**20).filter(lambda owner: owner not in owners))
    before = partition_owners(owners, 1, STREAM)
    assert set(before.tolist()) == {0}
    changed = [new if owner == old else owner for owner in owners]
    n_teachers = len(set(owners))
    before = partition_owners(owners, n_teachers, STREAM)
    after = partition_owners(changed, n_teachers, STREAM)
    moved = [owner for owner, a, b in zip(owners, before, after, strict=True) if a != b]
    assert set(moved) <= {old}


def test_an_owner_has_one_teacher():
    owners = np.array(["a", "b", "c", "a", "b", "a"])
    assignment = partition_owners(owners, 3, STREAM)
    assert len(set(assignment[[0, 3, 5]])) == 1
    assert len(set(assignment[[1, 4]])) == 1


@pytest.mark.parametrize(
    "owners",
    [
        [1, 2, 3, 1],
        np.array([1, 2, 3, 1], dtype=np.uint8),
        np.array([1.0, 2.0, 3.0, 1.0]),
        np.array([1, 2.0, np.int64(3), True], dtype=object),
    ],
)
def test_equal_ids_are_one_owner_in_any_type(owners):
    expected = partition_owners(np.array([1, 2, 3, 1]), 2, STREAM)
    assert (partition_owners(owners, 2, STREAM) == expected).all()


def test_owners_in_a_series():
    pandas = pytest.importorskip("pandas")
    owners = ["x", "y", "z", "x"]
    expected = partition_owners(owners, 2, STREAM)
    for dtype in ("str", "object", "category"):
        series = pandas.Series(owners, dtype=dtype, index=[7, 7, 8, 9])
        assert (partition_owners(series, 2, STREAM) == expected).all()


def test_a_new_owner_does_not_move_others():
    owners = [f"user-{number}" for number in range(40)]
    before = partition_owners(owners, 10, STREAM)
    after = partition_owners(["a new one", *owners], 10, STREAM)
    assert (after[1:] == before).all()


def test_the_hash_is_keyed():
    owners = list(range(100))
    streams = [Randomness.from_seed(seed).partition() for seed in (0, 1)]
    one, other = (partition_owners(owners, 10, stream) for stream in streams)
    assert (one != other).sum() > 50


@pytest.mark.parametrize(
    ("owners", "message"),
    [
        (["a", None, "b", "c"], r"owners\[1\] is missing"),
        ([1.0, 2.0, float("nan"), 3.0], r"owners\[2\] is missing"),
        ([1.5, 2.0, 3.0, 4.0], r"owners\[0\] is not an owner id .float.: .*whole numbers"),
        (["1", 1, "2", 2], r"owners mixes ids of kinds \['integer', 'string'\]"),
    ],
)
def test_bad_owners(owners, message):
    with pytest.raises(ValueError, match=message):
        partition_owners(owners, 3, STREAM)


def test_empty_shards_are_returned():
    parts = owned_rows(list(range(40))).split(40, STREAM)
    assert len(parts) == 40
    assert min(len(part) for part in parts) == 0
    assert sorted(np.concatenate(parts)) == list(range(40))
