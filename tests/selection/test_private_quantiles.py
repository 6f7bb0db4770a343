"""All quantiles of all columns, from one noisy sum."""

import datetime
import itertools
import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.costs._cost import gaussian_budget
from secretballot.measures import private_quantiles, private_top_k
from secretballot.measures._rank_grid import RankGrid, prefix_root

half_outside = pytest.mark.filterwarnings("ignore:about .* have no value within the bounds")
seeded = pytest.mark.filterwarnings("ignore:Noise drawn with random_state")

LEVELS = np.linspace(0.1, 0.9, 9)


def budget(epsilon=1.0, **kwargs):
    return PrivacyAccountant(epsilon, 1e-5, **kwargs)


def columns(n_rows=20_000, n_columns=3, seed=0):
    return np.random.default_rng(seed).lognormal(size=(n_rows, n_columns))


def test_the_root_applied_twice_adds_up():
    root = prefix_root(200)
    np.testing.assert_allclose(root @ root, np.tril(np.ones((200, 200))), atol=1e-4)
    # The first entries have a closed form: 1, 1/2, 3/8, 5/16.
    np.testing.assert_allclose(root[:4, 0], [1, 1 / 2, 3 / 8, 5 / 16], atol=2**-20)


def replaced_changes(grid, rows, weights, candidates, n_people):
    """Lengths of the changes of the sums when any row is replaced by any other, or left empty."""
    before = grid.sums(list(rows.T), weights, n_people)
    for row, values in itertools.product(range(len(rows)), candidates):
        changed = rows.copy()
        changed[row] = values
        yield np.linalg.norm(grid.sums(list(changed.T), weights, n_people) - before)


@pytest.mark.parametrize(("n_columns", "n_bins"), [(1, 2), (1, 8), (2, 8), (3, 5)])
def test_no_replaced_row_moves_the_sums_by_more_than_is_charged(n_columns, n_bins):
    names = list(range(n_columns))
    grid = RankGrid.between(names, dict.fromkeys(names, (0.0, 1.0)), n_bins)
    cells = [*(grid.edges[0, 1:] + grid.edges[0, :-1]) / 2, -3.0, 7.0, np.nan]
    candidates = list(itertools.product(cells, repeat=n_columns))
    rows = np.array(candidates[:: max(len(candidates) // 12, 1)])
    changes = list(replaced_changes(grid, rows, np.ones(len(rows)), candidates, len(rows)))
    charged = grid.mechanism(1.0).sensitivity
    assert max(changes) <= charged
    # Some pair of rows attains it, so nothing is charged in vain.
    assert max(changes) > 0.999 * charged


def test_the_sensitivity_at_1024_bins():
    grid = RankGrid.between(["a"], {"a": (0, 1)}, 1024)
    assert grid.mechanism(1.0).sensitivity ** 2 == pytest.approx(5.42, abs=0.005)


def test_quantiles_are_those_of_the_rows():
    X = columns()
    released = private_quantiles(X, LEVELS, bounds=(0, 60), accountant=budget(50.0), share="rest")
    exact = np.quantile(X, LEVELS, axis=0).T
    assert (np.abs(released.values - exact) < 0.03 * exact + 0.01).all()


def test_the_noise_of_ranks_is_the_stated_one():
    names, n_people, sigma = list("abcd"), 5_000, 30.0
    grid = RankGrid.between(names, dict.fromkeys(names, (0.0, 1.0)), 64)
    X = np.random.default_rng(0).uniform(size=(n_people, 4))
    sums = grid.sums(list(X.T), np.ones(n_people), n_people)
    exact = (X[:, :, None] < grid.edges[0, 1:]).sum(axis=0)
    rng = np.random.default_rng(1)
    draws = [
        grid.ranks(sums + rng.normal(scale=sigma, size=sums.shape), sigma, n_people)
        for _ in range(200)
    ]
    errors = np.array([draw.ranks - exact for draw in draws])
    deviation = np.sqrt((errors[..., 8:-8] ** 2).mean())
    # Making ranks rise takes some of the noise away.
    assert 0.6 * draws[0].error < deviation < draws[0].error


@seeded
def test_intervals_cover():
    X = columns(4_000)
    exact = np.quantile(X, LEVELS, axis=0).T
    covered = []
    for seed in range(10):
        released = private_quantiles(
            X,
            LEVELS,
            bounds=(0, 10),
            accountant=budget(),
            n_bins=4096,
            random_state=seed,
            share="rest",
        )
        low, high = np.moveaxis(released.interval(0.8), -1, 0)
        covered.append((low <= exact) & (exact <= high))
    assert np.mean(covered) > 0.8


def test_bounds_that_are_a_thousand_times_too_wide_keep_the_digits():
    X = columns()
    exact = np.median(X, axis=0)
    wide = private_quantiles(
        X, [0.5], bounds=(0, 40_000), accountant=budget(50.0), share="rest"
    ).values[:, 0]
    np.testing.assert_allclose(wide, exact, rtol=0.04)


def test_large_numbers_that_hardly_differ_are_resolved():
    kelvin = np.random.default_rng(0).normal(295, 5, size=20_000)
    released = private_quantiles(
        kelvin, [0.5], bounds=(0, 400), accountant=budget(50.0), share="rest"
    )
    assert released.values[0, 0] == pytest.approx(np.median(kelvin), abs=400 / 512)


def test_ends_of_bins_rise_between_the_bounds():
    for low, high in [(0, 1), (-5, 5), (-1e9, 3), (1e6, 1e6 + 100), (-2, -1)]:
        (edges,) = RankGrid.between(["a"], {"a": (low, high)}, 100).edges
        assert len(edges) == 101
        assert (np.diff(edges) >= 0).all()
        assert (edges[0], edges[-1]) == (low, high)


@half_outside
def test_missing_cells_have_no_rank():
    X = columns(20_000, 2)
    X[::2, 0] = np.nan
    released = private_quantiles(X, LEVELS, bounds=(0, 20), accountant=budget(20.0), share="rest")
    assert np.abs(released.values - np.nanquantile(X, LEVELS, axis=0).T).max() < 0.1


@seeded
def test_a_column_without_numbers_has_none_where_bounds_are_not_checked():
    table = pd.DataFrame({"missing": [None, None] * 200, "number": np.arange(400) / 400})
    released = private_quantiles(
        table, [0.5], bounds=(0, 1), accountant=budget(), random_state=3, share="rest"
    )
    assert released.bounds_check == "bounds not checked: it would cost more than 1%"
    assert np.isnan(released.values[0]).all()
    assert np.isnan(released.interval()[0]).all()
    assert released.values[1, 0] == pytest.approx(0.5, abs=0.2)


def spent_mu2(entry):
    (charge,) = entry.charges.values()
    return charge.mu2


def outside(n_rows, kind):
    """Rows with a column that has no value within (0, 1)."""
    cells = {"missing": np.nan, "below": -5.0, "above": 40.0}[kind]
    return pd.DataFrame({"good": np.arange(n_rows) / n_rows, "bad": np.full(n_rows, cells)})


@pytest.mark.parametrize("kind", ["missing", "below", "above"])
@pytest.mark.parametrize(("n_rows", "share"), [(600, "rest"), (1_000, "rest"), (20_000, 0.1)])
def test_a_column_without_a_value_within_bounds_is_refused_for_a_small_charge(n_rows, share, kind):
    accountant = budget()
    with pytest.raises(ValueError, match="The column is 'bad'.*NOT FOR PUBLICATION"):
        private_quantiles(outside(n_rows, kind), bounds=(0, 1), accountant=accountant, share=share)
    (entry,) = accountant.entries()
    assert "rows without a value within bounds" in entry.note
    whole = gaussian_budget(1.0, 1e-5, 0.0) * (1.0 if share == "rest" else share)
    charged = spent_mu2(entry)
    assert 0 < charged <= 0.01 * whole
    # A count that one person moves by 1, with Gaussian noise.
    assert charged == pytest.approx(1 / json.loads(entry.mechanism)["sigma"] ** 2, rel=1e-6)


@half_outside
@pytest.mark.parametrize(("n_rows", "share"), [(600, "rest"), (5_000, 0.2)])
def test_half_of_a_column_within_bounds_is_enough(n_rows, share):
    table = outside(n_rows, "missing")
    table.loc[::2, "bad"] = 0.5
    accountant = budget()
    released = private_quantiles(table, bounds=(0, 1), accountant=accountant, share=share)
    count, sums = accountant.entries()
    assert "quantiles" in sums.note
    whole = gaussian_budget(1.0, 1e-5, 0.0) * (1.0 if share == "rest" else share)
    assert spent_mu2(count) <= 0.01 * whole
    assert spent_mu2(count) + spent_mu2(sums) <= whole * (1 + 1e-9)
    assert spent_mu2(count) + spent_mu2(sums) == pytest.approx(whole, rel=2e-3)
    assert "bounds checked for 0.0" in str(released)


@pytest.mark.parametrize("unit", ["row", "owner"])
def test_no_replaced_person_moves_the_count_of_the_check_by_more_than_one(unit, monkeypatch):
    counts = []

    def released(accountant, mechanism, numbers, **options):
        counts.append(float(np.asarray(numbers)[0, 0]))
        raise InterruptedError

    monkeypatch.setattr(PrivacyAccountant, "release", released)
    monkeypatch.setattr(PrivacyAccountant, "allow_seeded", True, raising=False)

    def count(rows, owners):
        of_row = {} if unit == "row" else {"owners": owners}
        with pytest.raises(InterruptedError):
            private_quantiles(
                np.array(rows),
                bounds=(0, 1),
                accountant=PrivacyAccountant(1e6, 1e-5, unit=unit),
                n_bins=2,
                share="rest",
                **of_row,
            )
        return counts[-1]

    cells = [0.5, 3.0, np.nan]
    candidates = list(itertools.product(cells, repeat=2))
    people = np.repeat(np.arange(5), 2) if unit == "owner" else np.arange(5)
    rng = np.random.default_rng(0)
    changes = []
    for _ in range(4):
        rows = [candidates[k] for k in rng.integers(len(candidates), size=len(people))]
        before = count(rows, people)
        for cell in candidates:
            changed = [
                cell if person == 0 else row for person, row in zip(people, rows, strict=True)
            ]
            changes.append(abs(count(changed, people) - before))
        if unit == "owner":  # as many rows as one likes
            more = np.concatenate([people, np.zeros(7, dtype=int)])
            changes.append(abs(count([*rows, *[(3.0, 3.0)] * 7], more) - before))
    assert max(changes) == 1


@pytest.mark.parametrize(("n_outside", "noisy"), [(600, 0.0), (0, 600.0), (600, 500.0)])
@pytest.mark.parametrize("names", [["a"], ["a", "b"]])
def test_what_is_said_of_bounds_follows_from_the_released_count(
    names, n_outside, noisy, monkeypatch, recwarn
):
    release = PrivacyAccountant.release

    def with_noise(accountant, mechanism, numbers, **options):
        released = release(accountant, mechanism, numbers, **options)
        return np.array([[noisy]]) if np.size(numbers) == 1 else released

    monkeypatch.setattr(PrivacyAccountant, "release", with_noise)
    table = pd.DataFrame({name: np.arange(1_000) / 1_000 for name in names})
    table.loc[: n_outside - 1, names[-1]] = np.nan
    private_quantiles(table, bounds=(0, 1), accountant=budget(), share="rest")
    said = [str(each.message) for each in recwarn if "within the bounds" in str(each.message)]
    assert len(said) == (noisy > 0)
    for text in said:
        assert f"about {noisy / 1_000:.0%} of the rows" in text
        assert ("'a'" in text) == (names == ["a"])  # of several columns, it says of none
        assert "'b'" not in text


DAYS = pd.Timestamp("2020-03-01") + pd.to_timedelta(np.arange(6_000) / 6, unit="D")
FIRST, LAST = "2020-01-01", "2023-12-31"


@pytest.mark.parametrize(
    ("cells", "bounds"),
    [
        ("times", (FIRST, LAST)),
        ("zone", [(FIRST, LAST)]),
        ("texts", {"day": (FIRST, LAST)}),
        ("times", {"day": (pd.Timestamp(FIRST), pd.Timestamp(LAST))}),
        ("texts", {"day": (datetime.date(2020, 1, 1), datetime.date(2023, 12, 31))}),
        ("zone", np.array([FIRST, LAST], dtype="datetime64[D]")),
    ],
    ids=str,
)
def test_dates_are_read_as_days(cells, bounds):
    column = {
        "times": lambda: pd.Series(DAYS),
        "zone": lambda: pd.Series(DAYS.tz_localize("UTC").tz_convert("Europe/Lisbon")),
        "texts": lambda: pd.Series(DAYS.astype(str)),
    }[cells]()
    released = private_quantiles(
        column.to_frame("day"), [0.5], bounds=bounds, accountant=budget(20.0), share="rest"
    )
    middle = pd.Timestamp("2020-03-01") + pd.Timedelta(days=500)
    found = pd.to_datetime(released.values[0], unit="D")[0]
    assert abs(found - middle) < pd.Timedelta(days=4)
    assert f"day  {found:%Y-%m-%d}" in str(released)


def test_durations_are_days_and_dates_stand_beside_numbers():
    table = pd.DataFrame(
        {"day": DAYS, "stay": pd.to_timedelta(np.arange(6_000) % 10, unit="D"), "n": 3.0}
    )
    bounds = {
        "day": (FIRST, LAST),
        "stay": (pd.Timedelta(0), pd.Timedelta(days=30)),
        "n": (0, 10),
    }
    released = private_quantiles(table, [0.5], bounds=bounds, accountant=budget(20.0), share="rest")
    assert released.values[1, 0] == pytest.approx(4.5, abs=0.6)
    assert released.values[2, 0] == pytest.approx(3, abs=0.1)
    with pytest.raises(ValueError, match="low below high"):
        private_quantiles(table[["day"]], bounds=(LAST, FIRST), accountant=budget(), share="rest")


def test_dates_that_nobody_is_within_are_refused():
    accountant = budget()
    with pytest.raises(ValueError, match="no value within the bounds"):
        private_quantiles(
            pd.Series(DAYS), bounds=("1990-01-01", "1999-12-31"), accountant=accountant, share=0.5
        )
    assert len(accountant.entries()) == 1


def test_every_owner_counts_once():
    rng = np.random.default_rng(0)
    owners = np.concatenate([np.arange(4_000), np.zeros(4_000, dtype=int)])
    values = np.concatenate([rng.uniform(size=4_000), np.full(4_000, 0.99)])
    released = private_quantiles(
        values,
        LEVELS,
        bounds=(0, 1),
        owners=owners,
        accountant=budget(20.0, unit="owner"),
        share="rest",
    )
    assert released.n == 4_000
    assert released.unit == "owner"
    assert np.abs(released.values[0] - LEVELS).max() < 0.03


def test_the_whole_of_an_owner_moves_the_sums_by_no_more_than_a_row():
    grid = RankGrid.between([0], {0: (0.0, 1.0)}, 8)
    weights = np.array([1.0, 1 / 3, 1 / 3, 1 / 3])
    rows = np.array([[0.5], [0.01], [0.01], [0.01]])
    changed = np.array([[0.5], [0.99], [0.99], [np.nan]])
    before, after = (grid.sums([x[:, 0]], weights, 2) for x in (rows, changed))
    assert np.linalg.norm(after - before) <= grid.mechanism(1.0).sensitivity


def test_one_release_pays_for_all_levels_and_columns():
    accountant = budget()
    private_quantiles(columns(), LEVELS, bounds=(0, 60), accountant=accountant, epsilon=0.3)
    _, entry = accountant.entries()  # after the check of bounds
    assert "quantiles" in entry.note
    assert entry.n_rows == 1
    assert accountant.spent().epsilon == pytest.approx(0.3, rel=1e-3)


def test_the_noise_is_that_of_the_budget():
    X = columns(5_000, 4)
    released = private_quantiles(X, [0.5], bounds=(0, 60), accountant=budget(), share="rest")
    mu = np.sqrt(gaussian_budget(1.0, 1e-5, 0.0))
    # A rank has the root's longest row, 3.27 at 1,024 bins, on noise for a diameter of 5.42 d.
    assert released.rank_error * 5_000 == pytest.approx(np.sqrt(3.2726 * 5.4229 * 4) / mu, rel=1e-2)


@seeded
def test_released_quantiles_stay_near_at_a_usual_budget():
    X = columns(40_000, 4)
    released = private_quantiles(
        X, LEVELS, bounds=(0, 60), accountant=budget(), random_state=0, share="rest"
    )
    shares = np.array([norm.cdf(np.log(values)) for values in released.values])
    assert np.abs(shares - LEVELS).max() < 0.02


@pytest.mark.parametrize("library", ["pandas", "polars", "list", "array", "series"])
def test_tables_of_all_kinds(library):
    values = np.arange(2_000) / 2_000
    tables = {
        "pandas": lambda: pd.DataFrame({"share": values}),
        "polars": lambda: pytest.importorskip("polars").DataFrame({"share": values}),
        "list": lambda: values.reshape(-1, 1).tolist(),
        "array": lambda: values,
        "series": lambda: pd.Series(values),
    }
    released = private_quantiles(
        tables[library](), 0.5, bounds=(0, 1), accountant=budget(20.0), share="rest"
    )
    assert released.values.shape == (1, 1)
    assert released.values[0, 0] == pytest.approx(0.5, abs=0.02)
    assert released.columns == (("share",) if library in ("pandas", "polars") else (0,))


def test_a_dict_of_bounds_selects_columns():
    table = pd.DataFrame({"age": [30.0, 40.0] * 500, "name": ["a", "b"] * 500})
    released = private_quantiles(
        table, 0.5, bounds={"age": (0, 100)}, accountant=budget(20.0), share="rest"
    )
    assert released.columns == ("age",)


def test_the_view_names_columns_and_levels():
    table = pd.DataFrame({"age": [30.0, 40.0] * 500})
    released = private_quantiles(
        table, [0.25], bounds=(0, 100), accountant=budget(20.0), share="rest"
    )
    assert "age" in str(released)
    assert "0.25" in str(released)
    assert "1,000 rows" in released._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"q": 0.0}, "least and the largest"),
        ({"q": []}, "must be one number, or one list of levels"),
        ({"q": [0.5, np.nan]}, "between 0 and 1"),
        ({"bounds": (1, 0)}, "low below high"),
        ({"bounds": {"x": (0, 1)}}, "no column of numbers"),
        ({"bounds": {}}, "names no column"),
        ({"n_bins": 1}, "n_bins=1"),
        ({"n_bins": 4096, "X": np.zeros((2, 300))}, "numbers; use fewer bins"),
        ({"X": np.zeros((2, 2, 2))}, "shape"),
        ({"X": np.zeros((0, 2))}, "at least one row"),
        ({"owners": ["a", "b"]}, "unit"),
    ],
)
def test_bad_input_is_refused_and_nothing_spent(arguments, message):
    accountant = budget()
    defaults = {"X": np.zeros((2, 1)), "bounds": (0, 1), "accountant": accountant, "share": 0.5}
    with pytest.raises(ValueError, match=message):
        private_quantiles(**(defaults | arguments))
    assert accountant.spent().epsilon == 0


@pytest.mark.parametrize(
    "cells", [["a", "b"], ["1,5", "2,5"], ["1,5", None], [[1.0], [2.0]]], ids=str
)
def test_a_column_that_can_not_be_read_is_refused(cells):
    accountant = budget()
    table = pd.DataFrame({"number": np.arange(1_000.0), "other": cells * 500})
    for X, bounds in ((table, (0, 9)), (table["other"], (0, 9)), (table, {"other": (0, 9)})):
        with pytest.raises(ValueError, match="no private cell of the column .*decimal points"):
            private_quantiles(X, bounds=bounds, accountant=accountant, share="rest")
    assert not accountant.entries()
    private_quantiles(table, bounds={"number": (0, 1_000)}, accountant=accountant, share="rest")
    one = table["other"].astype(object)
    one[3] = "2.5"  # a single row decides nothing without a charge
    accountant = budget()
    with pytest.raises(ValueError, match="of the rows have no value within the bounds"):
        private_quantiles(one, bounds=(0, 9), accountant=accountant, share="rest")
    assert len(accountant.entries()) == 1


def test_noise_that_would_drown_all_quantiles_is_refused():
    for n_rows, share in ((5, "rest"), (50, 0.03), (400, 0.001)):
        accountant = budget()
        with pytest.raises(ValueError, match=rf"there are {n_rows}: no quantile could be told"):
            private_quantiles(columns(n_rows, 1), bounds=(0, 9), accountant=accountant, share=share)
        assert not accountant.entries()
    private_quantiles(columns(400, 1), bounds=(0, 9), accountant=budget(), epsilon=0.3)


def test_an_epsilon_above_the_budget_or_what_is_left_is_refused():
    accountant = budget()
    X = columns(2_000, 1)
    counts = {"park": 900, "pool": 20}
    for epsilon, message in ((3.0, "epsilon=3.0 is more than"), (0.8, "epsilon=0.8 takes")):
        with pytest.raises(BudgetExceededError, match=message):
            private_quantiles(X, bounds=(0, 9), accountant=accountant, epsilon=epsilon)
        with pytest.raises(BudgetExceededError, match=message):
            private_top_k(
                counts, 1, accountant=accountant, epsilon=epsilon, mechanism="exponential"
            )
        if epsilon == 3.0:
            assert not accountant.entries()
            private_quantiles(X, bounds=(0, 9), accountant=accountant, epsilon=0.9)
    assert len(accountant.entries()) == 2  # the check of bounds, and the sums


def test_a_spent_budget_is_refused():
    accountant = budget()
    X = columns(200, 1)
    private_quantiles(X, bounds=(0, 9), accountant=accountant, share="rest")
    with pytest.raises(BudgetExceededError):
        private_quantiles(X, bounds=(0, 9), accountant=accountant, share="rest")


def test_an_accountant_is_required():
    with pytest.raises(TypeError, match="PrivacyAccountant"):
        private_quantiles(np.zeros(3), bounds=(0, 1), accountant=None, share="rest")


def test_a_list_of_numbers_is_a_column():
    ages = [30, 40.0, None, 50] * 500
    released = private_quantiles(ages, 0.5, bounds=(0, 100), accountant=budget(20.0), share="rest")
    assert released.values[0, 0] == pytest.approx(40, abs=1)
