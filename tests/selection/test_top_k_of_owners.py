"""Counts of owners, each of whom counts once an item."""

import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from secretballot import PrivacyAccountant
from secretballot.measures import private_top_k
from secretballot.measures._item_counts import ItemCounts
from secretballot.tables._owners import Owners

COUNTS = np.array([2, 900, 0, 880, 1, 3, 860, 0, 1, 2])
OWNED_VISITS = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
OF_OWNER = ["a", "a", "a", "b"]


def budget(unit="owner", relation="add_remove"):
    return PrivacyAccountant(1.0, 1e-6, unit=unit, relation=relation, approximation_delta=5e-7)


@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        sp.csr_array,
        sp.coo_array,
        pd.DataFrame,
        pl.DataFrame,
        lambda table: table.astype(bool),
    ],
)
def test_an_owner_counts_once_an_item(make):
    numbers = Owners.read(OF_OWNER, 4).of_row
    items = ItemCounts.from_input(make(OWNED_VISITS), 1.0, numbers)
    assert items.counts.tolist() == [2, 2, 0]
    assert (items.largest, items.most_items) == (1, 2)


@pytest.mark.parametrize("kind", ["dense", "sparse", "fractions", "frame"])
def test_one_owner_moves_each_count_by_one_at_most(kind):
    """All that an owner of three rows can have, against all else."""
    make = {
        "sparse": sp.csr_array,
        "fractions": lambda table: 0.7 * np.array(table),
        "frame": lambda table: pd.DataFrame(table, columns=["a", "b"]),
    }.get(kind, np.array)
    others = [[1, 0], [1, 1], [0, 1]]
    owners = Owners.read([7, 8, 7, 9, 7, 9], 6).of_row
    sums = []
    for first, second, third in itertools.product(itertools.product([0, 1], repeat=2), repeat=3):
        rows = [first, others[0], second, others[1], third, others[2]]
        sums.append(ItemCounts.from_input(make(rows), 1.0, owners).counts)
    moved = np.abs(np.array(sums)[:, None] - np.array(sums)[None])
    assert 0.6 < moved.max() <= 1


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("as_table", [np.asarray, sp.csr_array])
def test_the_most_visited_places_by_owner(relation, as_table):
    """One of the 6,000 went to the first place sixty thousand times."""
    visits = np.zeros((66_000, 5), dtype=np.int8)
    owners = np.r_[np.arange(6_000), np.zeros(60_000, dtype=int)]
    visits[np.arange(6_000), 1 + np.arange(6_000) % 2] = 1
    visits[6_000:, 0] = 1
    accountant = budget(relation=relation)
    released = private_top_k(
        as_table(visits), 2, accountant=accountant, owners=owners, share="rest"
    )
    assert released.items.tolist() == [1, 2]
    (entry,) = accountant.entries()
    assert json.loads(entry.note)["counted_from"] == "owners"


@pytest.mark.parametrize(
    ("accountant", "counts", "owners", "message"),
    [
        (budget(), COUNTS, None, "added up already.*pd.get_dummies.*owners="),
        (budget(), dict.fromkeys("ab", 60), None, "added up already.*pd.get_dummies"),
        (budget(), OWNED_VISITS, None, "one of several of an owner.*owners=, one owner id"),
        (budget(), sp.csr_array(OWNED_VISITS), None, "several of an owner.*owners="),
        (budget(), COUNTS, list(range(10)), "owners was given, but counts are added up"),
        (budget(), OWNED_VISITS, OF_OWNER[1:], "owners has 3 entries, but X has 4 rows"),
        (budget(), OWNED_VISITS, ["a", None, "a", "b"], r"owners\[1\] is missing"),
        (budget(), 2 * OWNED_VISITS, OF_OWNER, "somebody contributes 2 to an item"),
        (budget(), -OWNED_VISITS, OF_OWNER, "non-negative"),
        (budget(), sp.csr_array(-OWNED_VISITS), OF_OWNER, "non-negative"),
        (
            budget("voter"),
            OWNED_VISITS,
            OF_OWNER,
            "unit='voter'.*unit='owner'.*or leave owners out",
        ),
        (budget("row"), OWNED_VISITS, OF_OWNER, "unit='row'.*or leave owners out"),
    ],
)
def test_owners_go_with_a_budget_of_owners(accountant, counts, owners, message):
    with pytest.raises(ValueError, match=message):
        private_top_k(counts, 1, accountant=accountant, owners=owners, share="rest")
    assert accountant.entries() == []


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (COUNTS, "counts were added up by the caller"),
        (np.eye(10)[np.repeat(np.arange(10), COUNTS)], "rows of a table were counted"),
    ],
)
def test_the_statement_says_what_was_counted(counts, said):
    accountant = budget("voter")
    private_top_k(counts, 3, accountant=accountant, share="rest")
    assert any(said in sentence for sentence in accountant.statement().assumptions)


def test_visits_and_owners_of_polars():
    visits = pl.DataFrame(
        {"person": [*range(900), *range(900), 0], "place": [*["park", "pool"] * 900, "zoo"]}
    )
    places = visits["place"].to_dummies()
    found = private_top_k(places, 2, accountant=budget(), owners=visits["person"], share="rest")
    assert found.items.tolist() == ["place_park", "place_pool"]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_nobody_has_come_yet(make):
    accountant = budget()
    assert (
        private_top_k(make(OWNED_VISITS[:0]), accountant=accountant, owners=[], share="rest").items
        is None
    )
