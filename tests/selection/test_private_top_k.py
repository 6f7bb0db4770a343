"""From a table of counts to the names that are released."""

import dataclasses
import math
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.measures import private_top_k
from secretballot.measures._item_counts import ItemCounts
from secretballot.mechanisms import BinaryVoting, ExponentialTopK, GNMax, StableTopK

COUNTS = np.array([2, 900, 0, 880, 1, 3, 860, 0, 1, 2])
TOP = [1, 3, 6]
NAMES = [f"place {letter}" for letter in "jihgfedcba"]


def budget(epsilon=1.0, delta=1e-6, **kwargs):
    kwargs = {"relation": "add_remove", "unit": "voter", "approximation_delta": delta / 2} | kwargs
    return PrivacyAccountant(epsilon, delta, **kwargs)


def voters(counts=COUNTS):
    """One row for each visit: people with one item each."""
    item = np.repeat(np.arange(len(counts)), counts)
    return sp.csr_array(
        (np.ones(len(item), dtype=np.int64), (np.arange(len(item)), item)),
        shape=(len(item), len(counts)),
    )


@pytest.mark.parametrize(
    ("mechanism", "order"),
    [
        ("stable", "gaussian"),
        ("stable", "renyi"),
        ("exponential", "gaussian"),
        ("exponential", "renyi"),
        ("exponential", math.inf),
    ],
)
def test_the_top_three_of_a_list(order, mechanism):
    aside = None if order == math.inf else 5e-7
    accountant = budget(order=order, approximation_delta=aside)
    released = private_top_k(
        COUNTS, 3, accountant=accountant, mechanism=mechanism, max_items=1, share="rest"
    )
    assert released.released
    assert released.items.tolist() == TOP
    # All is spent that there is of one or the other: mu^2, divergence or epsilon, or delta.
    assert 0.4 < accountant.spent().share <= 1


def test_the_largest_gap_sets_the_number_of_items():
    assert private_top_k(COUNTS, accountant=budget(), share="rest").items.tolist() == TOP
    flat = private_top_k(np.full(10, 500), accountant=budget(), share="rest")
    assert flat == (None, False)


@pytest.mark.parametrize(
    "counts",
    [
        dict(zip(NAMES, COUNTS.tolist(), strict=True)),
        pd.DataFrame(voters().toarray(), columns=NAMES),
        pl.DataFrame(voters().toarray(), schema=NAMES),
        pl.DataFrame(voters().toarray(), schema=NAMES).with_columns(
            pl.col(NAMES[0]).cast(bool) * 0
        ),
    ],
    ids=["dict", "data frame", "polars", "polars of several types"],
)
@pytest.mark.parametrize("domain", ["known", "unknown"])
def test_names_are_kept(counts, domain):
    released = private_top_k(counts, accountant=budget(), domain=domain, share="rest")
    assert sorted(released.items) == sorted(NAMES[i] for i in TOP)


@pytest.mark.parametrize("domain", ["known", "unknown"])
@pytest.mark.parametrize("kind", ["dict", "data frame", "polars", "categories", "pairs", "mixed"])
def test_names_come_sorted_whatever_the_order_of_counts(kind, domain):
    # The order of `value_counts()` is the ranking, which nothing was paid for.
    ranked = np.argsort(-COUNTS, kind="stable")
    names = NAMES
    if kind == "pairs":
        names = [(name, 1) for name in NAMES]
    elif kind == "mixed":
        names = [name if at % 2 else at for at, name in enumerate(NAMES)]
    rows = dict(zip([names[at] for at in ranked], COUNTS[ranked].tolist(), strict=True))
    people = voters().toarray()[:, ranked]
    if kind == "categories":
        columns = pd.CategoricalIndex(list(rows), categories=list(rows), ordered=True)
        counts = pd.DataFrame(people, columns=columns)
    elif kind == "data frame":
        counts = pd.DataFrame(people, columns=list(rows))
    elif kind == "polars":
        counts = pl.DataFrame(people, schema=list(rows))
    else:
        counts = rows
    released = private_top_k(counts, 3, accountant=budget(), domain=domain, share="rest")
    numbers = sorted(name for name in map(names.__getitem__, TOP) if isinstance(name, int))
    texts = sorted(name for name in map(names.__getitem__, TOP) if not isinstance(name, int))
    assert list(released.items) == [*numbers, *texts]


def test_ties_of_a_list_go_by_name():
    mechanism = StableTopK(k=1, rho=50.0, delta_t=1e-9, relation="add_remove", regularizer=math.inf)
    for order in (["a", "b", "c"], ["c", "b", "a"]):
        counts = dict.fromkeys(order, 50)
        items = ItemCounts.from_input(counts).sorted_by_name()
        assert items.names.tolist() == ["a", "b", "c"]
        assert mechanism.check_counts(items.counts[None]).tolist() == [[50, 50, 50]]


@pytest.mark.parametrize("make", [sp.csr_array, sp.coo_matrix, sp.csc_array, np.asarray])
def test_people_and_items(make):
    table = voters()
    people = make(table.toarray() if make is np.asarray else table)
    assert private_top_k(people, 3, accountant=budget(), share="rest").items.tolist() == TOP


def test_duplicate_sparse_entries_are_one_contribution():
    twice = sp.csr_array(([1, 1], [1, 1], [0, 2]), shape=(1, 3))
    with pytest.raises(ValueError, match="somebody contributes 2 to an item"):
        private_top_k(twice, accountant=budget(), share="rest")
    private_top_k(twice, accountant=budget(), max_contribution=2, share="rest")
    assert twice.nnz == 2  # it was not ours to change


def test_contributions_of_people_are_bounded():
    table = 5 * voters()
    accountant = budget()
    with pytest.raises(ValueError, match=r"contributes 5 to an item, and max_contribution=1\.0"):
        private_top_k(table, 3, accountant=accountant, share="rest")
    with pytest.raises(ValueError, match="contributes to 3 items, and max_items=2"):
        private_top_k(np.ones((4, 3)), accountant=accountant, max_items=2, share="rest")
    for bad in (
        -voters(),
        voters().toarray() * np.array([1.0, np.nan, *[1.0] * (len(COUNTS) - 2)]),
    ):
        with pytest.raises(ValueError, match=r"finite and non-negative .*counts.fillna\(0\)"):
            private_top_k(bad, accountant=accountant, share="rest")
    assert accountant.spent().n_releases == 0
    released = private_top_k(table, 3, accountant=accountant, max_contribution=5, share="rest")
    assert released.items.tolist() == TOP
    # Five times the contributions need five times the noise, or tell 25 times as much.
    single = StableTopK(rho=0.01, delta_t=1e-8, relation="add_remove")
    five = StableTopK(rho=0.01, delta_t=1e-8, relation="add_remove", weight=5.0)
    ratio = five.max_cost()["*"].at(2.0) / single.max_cost()["*"].at(2.0)
    assert ratio == pytest.approx(25, rel=0.05)


def test_a_name_of_one_person_is_not_released():
    """All other names have counts that are as small, so that draws would find it now and then."""
    names = {f"common {i}": 30 for i in range(4)} | {"mine": 1}
    for mechanism in ("stable", "limited_domain"):
        accountant = budget(100.0)
        for _ in range(4):
            released = private_top_k(
                *(names, 5),
                accountant=accountant,
                mechanism=mechanism,
                epsilon=0.5,
                domain="unknown",
            )
            assert released.items is None or "mine" not in released.items
    with pytest.raises(ValueError, match="names items that one person brought"):
        private_top_k(
            names,
            3,
            accountant=budget(),
            mechanism="exponential",
            domain="unknown",
            share="rest",
        )
    with pytest.raises(ValueError, match="not for items that come from the data"):
        private_top_k(
            *(names, 3),
            accountant=budget(),
            mechanism=StableTopK(rho=0.1, delta_t=1e-8, k=3, relation="add_remove"),
            domain="unknown",
        )
    with pytest.raises(ValueError, match="items that have no names"):
        private_top_k(COUNTS, accountant=budget(), domain="unknown", share="rest")


def test_the_number_of_names_changes_nothing():
    """The charge, what the ledger holds, and the answer where nobody brought anything."""
    accountants = [budget(), budget(), budget()]
    few = dict.fromkeys("abc", 500)
    many = few | {f"rare {i}": 1 for i in range(200)}
    for accountant, names in zip(accountants, (few, many, {}), strict=True):
        released = private_top_k(names, accountant=accountant, domain="unknown", share="rest")
        assert released.items is None or sorted(released.items) == ["a", "b", "c"]
    notes = [accountant.entries()[0] for accountant in accountants]
    assert notes[0].mechanism == notes[1].mechanism == notes[2].mechanism
    assert len({float(accountant.spent().amount) for accountant in accountants}) == 1
    assert private_top_k({"a": 0}, accountant=budget(), domain="unknown", share="rest") == (
        None,
        False,
    )


def test_items_from_the_data_are_in_the_order_of_their_names():
    """Equal counts go by it, so that it may not say who brought an item first."""
    counts = {"b": 500, "a": 500, "nobody's": 0, "d": 2, "c": 500}
    for table in (counts, dict(reversed(counts.items()))):
        released = ItemCounts.from_input(table).contributed()
        assert list(released.names) == ["a", "b", "c", "d"]
        assert released.counts.tolist() == [500, 500, 500, 2]


@pytest.mark.parametrize(
    "index",
    [
        pd.CategoricalIndex(NAMES),
        pd.MultiIndex.from_product([["a", "b"], range(5)]),
        pd.Index([0, 1, 2, 3, 4, 5, 6, 7, 8, 9.5]),
        pd.Index([*range(9), "mine"]),
        pd.Index([None, *range(1, 9), ("mine", 1)]),
    ],
    ids=["categories", "levels", "a fraction", "a word", "others"],
)
def test_the_type_of_released_names_depends_on_no_other_name(index):
    """An index keeps all its categories and levels, and its type is that of all names together."""
    people = pd.DataFrame(voters().toarray(), columns=index)
    released = private_top_k(people, accountant=budget(), domain="unknown", share="rest")
    assert type(released.items) is np.ndarray
    assert released.items.dtype == object
    assert sorted(released.items) == sorted(index[TOP])
    if index[1] == 1:
        assert {type(name) for name in released.items} == {int}


def test_a_custom_mechanism_limits_contributions():
    custom = ExponentialTopK(k=3, max_items=1, rho=0.01, relation="add_remove")
    for mechanism in (custom, lambda noise: dataclasses.replace(custom, rho=1 / noise**2)):
        for table in (5 * voters(), np.ones((4, 10))):
            accountant = budget()
            with pytest.raises(ValueError, match=r"mechanism's weight=1\.0|its max_items=1"):
                private_top_k(
                    table,
                    accountant=accountant,
                    mechanism=mechanism,
                    max_contribution=5,
                    share="rest",
                )
            assert accountant.spent().n_releases == 0


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.uint8, bool])
def test_sums_are_not_rounded(dtype):
    people = np.ones((2**12 + 1, 2), dtype=dtype)
    assert ItemCounts.from_input(people).counts.tolist() == [2**12 + 1] * 2
    if dtype is not np.float16:  # of which there are no sparse arrays
        assert ItemCounts.from_input(sp.csr_array(people)).counts.tolist() == [2**12 + 1] * 2


@pytest.mark.parametrize("as_table", [np.asarray, sp.csr_array])
def test_one_person_changes_a_count_by_at_most_a_contribution(as_table):
    most = 2 / 3
    people = most * np.random.default_rng(0).random((200_000, 20))
    without, along = people.copy(), people.copy()
    without[-1], along[-1] = 0.0, most
    counts = [ItemCounts.from_input(as_table(item), most).counts for item in (without, along)]
    moved = [Fraction(b) - Fraction(a) for a, b in zip(*counts, strict=True)]
    assert max(moved) <= Fraction(most)
    # In another order the same counts, to the last digit.
    assert (ItemCounts.from_input(as_table(along[::-1]), most).counts == counts[1]).all()


def test_tables_of_several_types_and_zeros_that_are_stored():
    frame = pd.DataFrame({"a": [True, False], "b": [1, 0]})
    for table in (frame, frame.astype("Int64"), frame.astype("boolean")):
        assert ItemCounts.from_input(table).counts.tolist() == [1, 1]
    with pytest.raises(ValueError, match="finite"):
        ItemCounts.from_input(frame.astype("Int64").where(frame["b"] > 0))
    zeros = sp.csr_array(([1, 0, 0], [0, 1, 2], [0, 3]), shape=(1, 3))
    assert ItemCounts.from_input(zeros).most_items == 1


def test_a_choice_with_gaussian_noise_has_no_pair():
    noisy = StableTopK(rho=0.01, delta_t=1e-8, selector="gaussian", relation="add_remove")
    accountant = budget(order=math.inf, approximation_delta=None)
    with pytest.raises(BudgetExceededError, match="order inf"):
        private_top_k(COUNTS, accountant=accountant, mechanism=noisy, share="rest")


def test_a_share_of_the_budget_for_each_of_several():
    accountant = budget(3.0)
    for _ in range(3):
        released = private_top_k(COUNTS, 3, accountant=accountant, epsilon=0.9)
        assert released.items.tolist() == TOP
    assert 0.2 < accountant.spent().share < 1
    private_top_k(COUNTS, 3, accountant=accountant, share="rest")  # all that is left
    with pytest.raises(BudgetExceededError):
        private_top_k(COUNTS, 3, accountant=accountant, share="rest")


def test_custom_mechanisms_and_functions_of_noise():
    custom = ExponentialTopK(k=3, rho=0.01, relation="add_remove")
    assert (
        private_top_k(COUNTS, accountant=budget(), mechanism=custom, share="rest").items.tolist()
        == TOP
    )

    def made(noise):
        return ExponentialTopK(k=3, rho=1 / noise**2, relation="add_remove")

    assert (
        private_top_k(COUNTS, accountant=budget(), mechanism=made, share="rest").items.tolist()
        == TOP
    )


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(400),
        pd.Index(range(3, 1_203, 3), name="id"),
        pd.Index([f"owner {at}" for at in range(400)]),
        pd.MultiIndex.from_product([range(20), range(20)]),
        pd.CategoricalIndex(range(400)),
    ],
    ids=["numbers", "a filtered frame", "owners", "levels", "categories"],
)
@pytest.mark.parametrize("length", [20, 400])
@pytest.mark.parametrize("domain", ["known", "unknown"])
def test_no_index_names_items(index, length, domain):
    """The cells of a column are answers, and its index numbers rows or names people."""
    column = pd.Series(np.repeat([25, 40, 61, 70], [8, 6, 4, 382]), index=index, name="age")[
        :length
    ]
    accountant = budget(unit="owner" if isinstance(index[0], str) else "voter")
    remedy = r"pd\.get_dummies" if accountant.unit == "owner" else r"value_counts\(\)\.to_dict\(\)"
    for mechanism in ("stable", lambda noise: StableTopK(rho=1 / noise**2, delta_t=1e-8, k=3)):
        for counts in (column, column.astype("Int64"), column.value_counts()):
            with pytest.raises(ValueError, match=remedy):
                private_top_k(
                    *(counts, 3),
                    accountant=accountant,
                    mechanism=mechanism,
                    share=0.5,
                    domain=domain,
                )
    assert not accountant.entries()


@pytest.mark.parametrize("make", [pd.Series, pl.Series])
def test_the_remedies_for_a_column(make):
    column = make([25] * 900 + [40] * 870 + [61, 70, None])
    with pytest.raises(ValueError, match="Pass ") as refused:
        private_top_k(column, 2, accountant=budget(), share="rest")
    remedy = re.search(r"Pass (\S+) of a column", str(refused.value))[1]
    counts = eval(remedy, {"column": column})
    assert "domain='unknown'" in str(refused.value)
    found = private_top_k(counts, 2, accountant=budget(), share="rest", domain="unknown")
    assert found.items.tolist() == [25, 40]


def test_columns_of_arrow_are_refused():
    arrow = pytest.importorskip("pyarrow")
    for counts in (arrow.array([900, 2]), arrow.chunked_array([[900, 2]])):
        with pytest.raises(ValueError, match="a dict of items and counts"):
            private_top_k(counts, 1, accountant=budget(), share="rest")
    with pytest.raises(ValueError, match="whose types are not read"):
        private_top_k(arrow.table({"a": [1, 0]}), 1, accountant=budget(), share="rest")


ANSWERS = pd.DataFrame({"job": np.random.default_rng(1).integers(1, 6, 400), "hours": 0.25})


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (ANSWERS.groupby("job")["hours"].sum().add(0.1).to_dict(), "not whole numbers"),
        (ANSWERS["job"].value_counts(normalize=True).to_dict(), r"pass max_contribution="),
        (ANSWERS["hours"].to_numpy(), "totals that are not whole numbers"),
    ],
)
def test_answers_and_amounts_are_no_counts(counts, message):
    accountant = budget()
    for mechanism in ("stable", lambda noise: StableTopK(rho=1 / noise**2, delta_t=1e-8, k=3)):
        with pytest.raises(ValueError, match=message):
            private_top_k(counts, 3, accountant=accountant, mechanism=mechanism, share=0.5)
    assert not accountant.entries()


def test_totals_of_fractions_are_counted_where_the_caller_says_so():
    counts = COUNTS + 0.25
    for most in (1, 1.0, 0.5):
        assert private_top_k(
            counts, 3, accountant=budget(), max_contribution=most, share="rest"
        ).released
    mechanism = StableTopK(rho=0.01, delta_t=1e-8, k=3, relation="add_remove", weight=0.5)
    assert private_top_k(counts, accountant=budget(), mechanism=mechanism, share="rest").released
    tall = pd.Series(np.full(400, 5)).to_numpy()
    assert private_top_k(tall, accountant=budget(), share="rest") == (
        None,
        False,
    )  # positions are asked for


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"domain": "public"}, "domain='public' is unknown"),
        ({"mechanism": "laplace"}, "mechanism='laplace' is unknown"),
        ({"mechanism": "exponential"}, "say how many items are wanted"),
        ({"k": 11}, "k=11 items are wanted and counts has 10"),
        ({"k": 0}, "k"),
        ({"k": 3, "k_max": 2}, "k_max"),
        ({"max_contribution": 0}, "max_contribution"),
        ({"max_items": 0.5}, "max_items"),
        ({"counts": [[[1]]]}, "counts of shape"),
        ({"counts": ["many", "few"]}, "counts of shape"),
        ({"counts": []}, "holds no items"),
        ({"counts": pd.DataFrame([[1, 0]], columns=["a", "a"])}, "several columns of the name 'a'"),
        ({"counts": {"a": [1, 2], "b": [3, 4]}, "domain": "unknown"}, "counts of shape"),
        ({"counts": [[1, 2], [1]]}, "entries of different lengths"),
        ({"counts": np.ma.masked_array(COUNTS, COUNTS > 880)}, "masked array"),
        ({"counts": sp.coo_array(COUNTS)}, "sparse and of shape"),
        ({"k": 10**9}, "k=1000000000 items are wanted and counts has 10"),
        ({"mechanism": None}, "mechanism=None must be one of"),
        ({"mechanism": StableTopK}, "must be one of"),
        ({"mechanism": BinaryVoting(sigma=5.0, n_votes=900)}, "does not release the items"),
        ({"mechanism": lambda noise: GNMax(sigma=noise)}, "does not release the items"),
        ({"counts": [-1, 5]}, "non-negative"),
        ({"counts": [math.nan, 5]}, "finite"),
        ({"mechanism": "exponential"}, "k=None with mechanism='exponential'"),
        ({"accountant": PrivacyAccountant(1, 1e-6)}, None),
        ({"accountant": None}, "accountant=None must be"),
        ({"accountant": PrivacyAccountant(1, 1e-6, order="renyi")}, "approximation_delta="),
    ],
)
def test_bad_input_is_refused_and_costs_nothing(kwargs, message):
    kwargs = {"counts": COUNTS, "accountant": budget(), "share": "rest"} | kwargs
    accountant = kwargs["accountant"]
    if message is None:  # another relation is another mechanism
        assert private_top_k(kwargs.pop("counts"), **kwargs).items.tolist() == TOP
        return
    with pytest.raises((TypeError, ValueError), match=message):
        private_top_k(kwargs.pop("counts"), **kwargs)
    assert accountant is None or accountant.spent().n_releases == 0


@pytest.mark.parametrize(
    ("names", "other"),
    [
        ([(1, "x"), (2, "y")], (1.5, "y")),
        (
            pd.to_datetime(["2020-01-01", "2021-01-01"]),
            pd.Timestamp("2021-01-01 00:00:00.000000001"),
        ),
        (pd.to_timedelta([1, 2], unit="D"), pd.Timedelta(1, "ns")),
        ([1, 2], 2 + 1j),
    ],
)
def test_a_released_name_depends_on_no_other_name(names, other):
    def shown(index):
        released = next(
            item
            for item in ItemCounts.from_input(pd.DataFrame(1, [0], index)).contributed().names
            if item == names[0]
        )
        return repr(released), type(released), getattr(released, "unit", None)

    make = pd.MultiIndex.from_tuples if isinstance(other, tuple) else pd.Index
    alone, beside = make(list(names)), make([*names, other])
    first = shown(alone)
    assert first == shown(beside[[0, 2]]) == shown(beside[:1])
