"""Bags: from a public grouping, by hand, and for simulations."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from secretballot.datasets import make_bags
from secretballot.quantification import Bags, publish_proportions


def test_one_bag_for_each_group():
    X, y = np.arange(10).reshape(5, 2), np.array(["a", "b", "b", "a", "b"])
    for kind in (np.asarray, sparse.csr_array, pd.DataFrame, np.ndarray.tolist):
        bags = Bags.from_groups(kind(X), y, groups=["s", "n", "s", "s", "n"])
        assert bags.names == ("n", "s")
        assert bags.sizes.tolist() == [2, 3]
        assert bags.formed_by == "group"
        assert [labels.tolist() for labels in bags.y] == [["b", "b"], ["a", "b", "a"]]
        first = bags.X[0]
        dense = first.toarray() if sparse.issparse(first) else np.asarray(first)
        np.testing.assert_array_equal(dense, X[[1, 4]])
    assert "'b'" not in repr(bags)
    assert len(bags) == 2
    assert Bags.from_groups(None, y, groups=[1, 1, 1, 1, 1]).X is None


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([[0, 1], [1, 2]], "bags overlap: row 1 is in the bag 0 and again in the bag 1"),
        ([[0, 0]], "bags overlap: row 0 is in the bag 0 and again in the bag 0"),
        ([[0], []], "bag 1 is empty"),
        ([[0, 5]], "integers from 0 to 4"),
        ([[-1]], "integers from 0 to 4"),
        ([[0.5]], "integers from 0 to 4"),
        ([], "no bag"),
    ],
)
def test_bad_indices(indices, message):
    with pytest.raises(ValueError, match=message):
        Bags.from_indices(None, np.zeros(5), indices)


def test_names_and_origin_of_bags_are_checked():
    with pytest.raises(ValueError, match="names has 1 names for 2 bags"):
        Bags.from_indices(None, [0, 1], [[0], [1]], names=["a"])
    # Publishing warns of bags that were formed by label: a word misspelt must not hide them.
    with pytest.raises(ValueError, match="formed_by='labels' must be 'group' or 'label'"):
        Bags.from_indices(None, [0, 1], [[0], [1]], formed_by="labels")


@pytest.mark.parametrize(
    ("X", "y", "groups", "message"),
    [
        (None, [0, 1], [1], r"groups has shape \(1,\)"),
        (np.zeros((3, 2)), [0, 1], [1, 1], "X has 3 instances and y 2 labels"),
        (None, [[0], [1]], [1, 1], "one label for each instance"),
        (None, None, [1, 1], "X and y are both None"),
        (None, [], [], "no instances, and so no bags"),
        (pd.DataFrame({"place": []}), None, "place", "no instances, and so no bags"),
        (np.zeros((2, 2)), [0, 1], "place", "X is of type ndarray and has no names"),
        (None, [0, 1], ["a", None], "groups is missing .* for 1 of 2 instances, in the rows 1"),
        (None, np.ma.array([0, 1], mask=[0, 1]), [1, 1], "y is a masked array"),
        (None, [0, 1], np.ma.array([0, 1], mask=[0, 1]), "groups is a masked array"),
    ],
)
def test_bad_groups(X, y, groups, message):
    with pytest.raises(ValueError, match=message):
        Bags.from_groups(X, y, groups)


def test_bags_have_a_name_each():
    for bags in ({"X": None, "y": (np.zeros(2),)}, {"X": (np.zeros((2, 1)),), "y": None}):
        with pytest.raises(ValueError, match="has 1 bags, and names has 0 names"):
            Bags(**bags, names=())
    assert repr(Bags.from_groups(None, [0, 1], [3, 4])[[]]) == "<Bags: none, formed by group>"


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_grouping_column_is_removed_from_features(make):
    frame = make({"a": [1, 2, 3], "place": ["s", "n", "s"]})
    bags = Bags.from_groups(frame, [0, 1, 1], "place")
    assert bags.names == ("n", "s")
    assert [list(bag.columns) for bag in bags.X] == [["a"], ["a"]]


def test_rows_in_another_order_are_refused():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=90), "place": rng.choice(["n", "s"], 90)})
    y = pd.Series(rng.integers(2, size=90))
    mixed = y.sample(frac=1, random_state=0)
    message = "has the index of {} in another order"
    for X, labels, groups, other in (
        (None, mixed, frame["place"], "y"),
        (frame, mixed, "place", "X"),
        (frame, None, frame["place"].sort_values(), "X"),
        (frame, y, frame["place"].sort_values(), "X"),
        (None, y, frame["place"].set_axis([f"p{i}" for i in range(90)]).sort_values(), None),
    ):
        if other is None:  # one index is plain: it may have been made anew
            with pytest.warns(UserWarning, match="groups has other index labels than y"):
                assert len(Bags.from_groups(X, labels, groups)) == 2
            continue
        with pytest.raises(ValueError, match=message.format(other)):
            Bags.from_groups(X, labels, groups)
    with pytest.raises(ValueError, match=message.format("X")):
        Bags.from_indices(frame, mixed, [range(9)])
    same = Bags.from_groups(None, mixed, groups=frame.loc[mixed.index, "place"])
    assert sorted(map(sum, same.y)) == sorted(y.groupby(frame["place"]).sum())


def test_groups_that_are_the_labels_are_refused():
    y = pd.Series(np.random.default_rng(0).integers(2, size=90))
    for groups in (y, y.to_numpy(), y.map({0: "no", 1: "yes"}), 1 - y):
        with pytest.raises(ValueError, match="groups are the labels"):
            Bags.from_groups(None, y, groups)
    few = [0, 1, 1]
    assert len(Bags.from_groups(None, few, few)) == 2
    assert len(Bags.from_groups(None, [0] * 90, [3] * 90)) == 1
    assert len(Bags.from_groups(None, y, y.where(y.index > 0, 1 - y))) == 2


def test_dates_are_names_that_match_a_table():
    days = pd.to_datetime(["2024-02-01", "2024-01-01"] * 50)
    bags = Bags.from_groups(None, np.arange(100) % 3 % 2, days)
    published = publish_proportions(bags, [0, 1], 1.0, 1e-5)
    aligned, shares = Bags.from_groups(np.zeros((100, 1)), None, days).align(published[[1, 0]])
    assert aligned.names == shares.names == tuple(np.unique(days.to_numpy("datetime64[ns]"))[::-1])


@given(st.integers(2, 4), st.sampled_from([0.0, 0.05, 0.1]), st.integers(1, 2), st.integers(20, 60))
@settings(max_examples=25)
def test_simulated_bags_are_disjoint_with_their_proportions(n_classes, rho, times, size):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(n_classes), 3 * size))
    bags = make_bags(
        np.arange(len(y))[:, None], y, times * n_classes, rho=rho, size=size, random_state=0
    )
    assert bags.formed_by == "label"
    assert len(bags) == times * n_classes
    rows = np.concatenate([X.ravel() for X in bags.X])
    assert len(np.unique(rows)) == len(rows) == len(bags) * size
    for number, labels in enumerate(bags.y):
        counts = np.bincount(labels, minlength=n_classes)
        rare = np.delete(counts, number % n_classes)
        assert np.all(np.abs(rare - rho * size) < 1)
        np.testing.assert_array_equal(y[bags.X[number].ravel()], labels)


def test_simulated_bags_are_as_large_as_they_can_be():
    y = np.repeat([0, 1, 2], [100, 150, 80])
    bags = make_bags(None, y, rho=0.1, random_state=0)
    used = np.bincount(np.concatenate(bags.y), minlength=3)
    assert 76 <= used[2] <= 80  # the scarcest class is used up
    assert make_bags(None, y, rho=0.1, random_state=0).y[0].tolist() == bags.y[0].tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rho": 0.6}, "rho=0.6 must be from 0 to 0.5"),
        ({"rho": -0.1}, "rho=-0.1 must be"),
        ({"rho": "a"}, "rho='a' must be"),
        ({"size": 90}, "take 90 instances of the class 0, and there are 30"),
        ({"size": 0}, "size=0 must be an integer"),
        ({"n_bags": 1.5}, "n_bags=1.5 must be an integer"),
    ],
)
def test_bad_simulations(options, message):
    y = np.repeat([0, 1, 2], 30)
    with pytest.raises(ValueError, match=message):
        make_bags(None, y, **({"n_bags": 3, "size": 30, "rho": 0.05} | options))
    with pytest.raises(ValueError, match="one class only"):
        make_bags(None, np.zeros(9))
