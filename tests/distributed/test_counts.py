"""Proportions and the top k of rows in parts: what the same rows in memory give."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests.distributed._parts import OWNER, TARGET, RepeatingEngine, budget, split, table

from secretballot import (
    PrivacyAccountant,
    private_top_k,
    publish_proportions,
)
from secretballot.accounting import PrivacyAccountant as Accountant
from secretballot.measures import private_quantiles
from secretballot.quantification import Bags
from secretballot.tables import PrivateParts

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with random_state")


@pytest.fixture
def rows(tmp_path):
    rows = table()
    rows["c"] = rows["c"].fillna("x")
    return split(rows, tmp_path / "parts")


@pytest.fixture
def released(monkeypatch):
    """Record what the accountant is asked to release."""
    record, release = [], Accountant.release

    def recorded(self, mechanism, counts, **how):
        record.append(np.array(counts, dtype=float))
        return release(self, mechanism, counts, **how)

    monkeypatch.setattr(Accountant, "release", recorded)
    return record


def parts(tmp_path, **how):
    return PrivateParts(tmp_path / "parts", engine=RepeatingEngine(), scratch=tmp_path, **how)


@pytest.mark.parametrize("groups", ["str", "category"])
def test_proportions(groups, rows, released, tmp_path):
    split(rows.assign(c=rows["c"].astype(groups)), tmp_path / "parts", seed=0)
    how = {"classes": [0, 1], "epsilon": 0.5, "delta": 1e-6, "random_state": 0}
    in_parts = publish_proportions(parts(tmp_path, y=TARGET, groups="c"), **how)
    in_memory = publish_proportions(Bags.from_groups(None, rows[TARGET], groups=rows["c"]), **how)
    np.testing.assert_array_equal(*released)
    np.testing.assert_array_equal(in_memory.proportions, in_parts.proportions)
    assert in_memory.names == in_parts.names == ("x", "y", "z")
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


@pytest.mark.parametrize(
    ("columns", "classes", "message"),
    [
        ({"y": TARGET}, [0, 1], "groups=None and y='outcome': proportions of parts need"),
        ({"y": TARGET, "groups": "c"}, [0, 5], "the group 'x' has labels that are none of"),
        ({"y": "c", "groups": "a"}, ["x", "y", "z"], "part . *: the column of groups 'a' has"),
    ],
)
def test_proportions_that_are_refused(columns, classes, message, rows, tmp_path):
    del rows
    accountant = PrivacyAccountant(1.0, 1e-5, unit="label")
    with pytest.raises(ValueError, match=message):
        publish_proportions(parts(tmp_path, **columns), classes, 0.5, 1e-6, accountant=accountant)
    assert not accountant.entries()


@pytest.mark.filterwarnings("ignore:the same labels were released before")
@pytest.mark.parametrize("index", [TARGET, "c"])
def test_proportions_of_a_column_that_was_an_index(index, rows, tmp_path):
    for path in (tmp_path / "parts").iterdir():
        pd.read_parquet(path).set_index(index).to_parquet(path)
    in_parts = parts(tmp_path, y=TARGET, groups="c")
    assert publish_proportions(in_parts, [0, 1], 0.5, 1e-6).names == ("x", "y", "z")


@pytest.mark.filterwarnings("ignore:the same labels were released before")
def test_proportions_of_booleans(rows, released, tmp_path):
    labels = rows[TARGET].astype(bool)
    split(rows.assign(**{TARGET: labels}), tmp_path / "parts", seed=0)
    in_parts = parts(tmp_path, y=TARGET, groups="c")
    for bags in (in_parts, Bags.from_groups(None, labels, groups=rows["c"])):
        publish_proportions(bags, [0, 1], 0.5, 1e-6)
    np.testing.assert_array_equal(*released)


def test_proportions_without_rows(rows, tmp_path):
    split(rows.iloc[:0], tmp_path / "parts")
    with pytest.raises(ValueError, match="the parts have no rows"):
        publish_proportions(parts(tmp_path, y=TARGET, groups="c"), [0, 1], 0.5, 1e-6)


def test_items_of_a_column_named_owner(rows, released, tmp_path):
    split(rows.rename(columns={"c": "owner"}), tmp_path / "parts")
    in_parts = parts(tmp_path, y="owner", owners=OWNER)
    accountant = PrivacyAccountant(
        2.0, 1e-5, unit="owner", relation="add_remove", approximation_delta=5e-6
    )
    private_top_k(in_parts, 1, accountant=accountant, domain="unknown", max_items=3, share="rest")
    assert released[0].size == 3


def test_items_of_a_column(rows, released, tmp_path):
    in_parts = parts(tmp_path, y="c", owners=OWNER)
    how = {"mechanism": "stable", "max_items": 3, "random_state": 0}
    accountant = PrivacyAccountant(
        2.0, 1e-5, unit="owner", relation="add_remove", approximation_delta=5e-6
    )
    found = private_top_k(in_parts, 1, accountant=accountant, epsilon=0.9, domain="unknown", **how)
    people = rows[["c", OWNER]].drop_duplicates()["c"].value_counts().sort_index()
    assert released[0].ravel().tolist() == people.tolist()
    assert len(found.items) == 1


def test_columns_of_items(rows, released, tmp_path):
    names = ["first", "second"]
    frames = [rows.assign(first=(rows["a"] > 0) * 1, second=(rows["b"] > 3) * 1)]
    split(frames[0], tmp_path / "parts")
    in_parts = parts(tmp_path, y=names, owners=OWNER)
    for counts, how in ((in_parts, {}), (frames[0][names], {"owners": frames[0][OWNER]})):
        private_top_k(counts, 1, accountant=budget(), epsilon=1.0, max_items=2, **how)
    np.testing.assert_array_equal(*released)
    assert (released[0] < len(frames[0])).all()


def test_items_that_are_refused(rows, tmp_path):
    del rows
    in_parts = parts(tmp_path, y="c", owners=OWNER)
    with pytest.raises(ValueError, match="domain='known', and the items are what the private"):
        private_top_k(in_parts, 1, accountant=budget(), share="rest")
    with pytest.raises(ValueError, match="unit='row', and rows in parts are counted by owner"):
        private_top_k(
            in_parts, 1, accountant=PrivacyAccountant(1.0, 1e-5), domain="unknown", share="rest"
        )
    with pytest.raises(ValueError, match="owners was given beside PrivateParts"):
        private_top_k(
            in_parts, 1, accountant=budget(), owners=pd.Series([1]), domain="unknown", share="rest"
        )
    no_owners = parts(tmp_path, y=["a"])
    with pytest.raises(ValueError, match="owners=None: rows in parts are counted by owner"):
        private_top_k(no_owners, 1, accountant=budget(), share="rest")


@pytest.fixture
def numbers(tmp_path):
    return split(table(), tmp_path / "parts")


BOUNDS = {"a": (-3.5, 4), TARGET: (0, 1), "b": (-1, 9)}


def test_quantiles(numbers, released, tmp_path):
    how = {"bounds": BOUNDS, "random_state": 0, "n_bins": 64, "share": "rest"}
    X = numbers.drop(columns=OWNER)
    in_memory = private_quantiles(X, owners=numbers[OWNER], accountant=budget(), **how)
    in_parts = private_quantiles(
        parts(tmp_path, y=TARGET, owners=OWNER), accountant=budget(), **how
    )
    count, sums, *again = released  # the check of bounds, and the sums
    np.testing.assert_array_equal(count, again[0])
    np.testing.assert_array_equal(sums, again[1])
    np.testing.assert_array_equal(in_memory.values, in_parts.values)
    assert (str(in_memory), in_memory.rank_error) == (str(in_parts), in_parts.rank_error)
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


@pytest.mark.parametrize(
    ("columns", "how", "message"),
    [
        ({"owners": OWNER}, {"bounds": (0, 1)}, "columns of parts are found by name. Give a dict"),
        ({"owners": OWNER}, {"bounds": {OWNER: (0, 1)}}, "bounds names 'person', which is no"),
        ({"owners": OWNER}, {"bounds": {"c": (0, 1)}}, "no private cell of the column 'c' can be"),
        ({"owners": OWNER}, {"owners": [1]}, "owners was given beside PrivateParts"),
        ({"owners": OWNER}, {"accountant": PrivacyAccountant(1.0, 1e-5)}, "unit='row'"),
        ({"owners": OWNER}, {"accountant": budget(1e-4)}, "noise would move each rank"),
        ({}, {}, "owners=None: rows in parts are counted by owner"),
    ],
)
def test_quantiles_that_are_refused(columns, how, message, numbers, tmp_path):
    how = {"bounds": {"a": (-3, 3)}, "accountant": budget(), "share": 0.5, **how}
    with pytest.raises(ValueError, match=message):
        private_quantiles(parts(tmp_path, y=TARGET, **columns), **how)
    assert not how["accountant"].entries()
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


def test_bounds_that_are_extremes_of_all_parts(numbers, tmp_path):
    """The extremes are in two parts: neither has both."""
    in_parts = parts(tmp_path, y=TARGET, owners=OWNER, n_buckets=3)
    low, high = numbers["a"].min(), numbers["a"].max()
    with pytest.warns(UserWarning, match="are the least and largest private value"):
        private_quantiles(in_parts, bounds={"a": (low, high)}, accountant=budget(), share="rest")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        private_quantiles(
            in_parts, bounds={"a": (low, high + 1)}, accountant=budget(), share="rest"
        )
