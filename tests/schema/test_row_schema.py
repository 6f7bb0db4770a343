"""Private rows read through the public schema: the public types, and each row on its own."""

import datetime
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from secretballot.tables._cells import cell_text, read_numbers, read_texts
from secretballot.tables._row_schema import RowSchema

DAY = pd.Timestamp("2020-01-01")
PUBLIC = {
    "age": [30, 40, 50, 40],
    "wage": [1.5, np.nan, 2.0, 0.0],
    "job": ["cook", "clerk", "cook", "cook"],
    "town": pd.Categorical(["x", "y", "x", "y"], categories=["z", "y", "x"], ordered=True),
    "day": [DAY, DAY + pd.Timedelta(1, "D"), DAY, DAY],
    "zone": pd.to_datetime(["2020-01-01", "2020-07-01"] * 2).tz_localize("Europe/Berlin"),
    "span": pd.to_timedelta([1, 2, 3, 4], unit="D"),
    "vote": [True, False, True, True],
    "count": pd.array([1, 2, None, 3], dtype="Int64"),
    "tags": [["a"], {}, 3, "b"],
}
# What a cell may hold, whatever its column is for.
CELLS = [
    *(0, 1, -7, 2**53 + 1, 10**400, 0.5, 1.0, 1e300, np.nan, np.inf, 2 + 0j, 1j, True, None),
    *("cook", "41", "x", "true", "2020-02-03", "n/a", "", b"b", Decimal("1.50"), pd.NA, pd.NaT),
    *(DAY, pd.Timestamp("2020-01-01 00:00:00.000000001"), DAY.tz_localize("Asia/Tokyo")),
    *(datetime.date(2020, 1, 1), datetime.datetime(1, 1, 1), np.datetime64("2020-01", "M")),
    *(pd.Timedelta(1, "ns"), datetime.timedelta(2), np.timedelta64(3, "h")),
    *([1, 2], np.arange(3), {"a": 1}, object()),
]


def private(rng, n_rows=6):
    """Return a frame of cells of any kind, with the types that its library infers."""
    kinds = {
        "age": [rng.integers(90, size=n_rows), rng.normal(size=n_rows), ["41"] * n_rows],
        "wage": [rng.normal(size=n_rows), rng.integers(9, size=n_rows) + 0j],
        "job": [rng.choice(["cook", "pilot"], n_rows), rng.integers(3, size=n_rows)],
        "town": [pd.Categorical(rng.choice(["x", "q"], n_rows)), rng.choice(["y"], n_rows)],
        "day": [pd.DatetimeIndex([DAY] * n_rows).as_unit("ns"), ["2020-01-05"] * n_rows],
        "zone": [pd.DatetimeIndex([DAY] * n_rows).tz_localize("UTC")],
        "span": [pd.TimedeltaIndex([pd.Timedelta(5, "s")] * n_rows).as_unit("ms")],
        "vote": [rng.random(n_rows) < 0.5, rng.integers(2, size=n_rows), [True, None] * 3],
        "count": [rng.integers(9, size=n_rows), pd.array([1, None] * 3, dtype="Int64")],
        "tags": [rng.integers(9, size=n_rows), [["a"]] * n_rows, [DAY] * n_rows],
    }
    return {name: list(given[rng.integers(len(given))]) for name, given in kinds.items()}


def frame(columns, rng=None):
    names = list(columns) if rng is None else rng.permutation(list(columns)).tolist()
    return pd.DataFrame({name: pd.Series(columns[name]) for name in names})


def same(one, other):
    """Whether two cells are of one type and say the same, missing ones too."""
    units = getattr(one, "unit", None) == getattr(other, "unit", None)
    return type(one) is type(other) and units and repr(one) == repr(other)


def test_a_row_changes_no_other_row():
    schema = RowSchema.of(pd.DataFrame(PUBLIC))
    types = schema.read(pd.DataFrame(PUBLIC)).table.dtypes
    rng, changed = np.random.default_rng(0), 0
    for _ in range(150):
        given = private(rng)
        other = {name: list(cells) for name, cells in given.items()}
        place = int(rng.integers(6))
        for name in other:
            other[name][place] = CELLS[rng.integers(len(CELLS))]
        tables = frame(given), frame(other, rng)
        changed += int((tables[0].dtypes != tables[1].dtypes[tables[0].columns]).sum())
        one, two = (schema.read(table).table for table in tables)
        assert list(one.columns) == list(two.columns) == list(PUBLIC)
        assert (one.dtypes == types).all()
        assert (two.dtypes == types).all()
        kept = np.arange(6) != place
        for name in PUBLIC:
            pairs = zip(one[name][kept].tolist(), two[name][kept].tolist(), strict=True)
            assert all(same(*pair) for pair in pairs), (name, given[name], other[name])
    assert changed > 300  # what the types of whole columns would have told


def test_public_rows_are_read_unchanged():
    public = pd.DataFrame(PUBLIC)
    schema = RowSchema.of(public)
    read = schema.read(public)
    assert schema.left_out == {"town": 1}
    assert read.table["town"].dtype == pd.CategoricalDtype(["y", "x"], ordered=True)
    assert set(read.misfits) == set()
    others = public.columns.drop("town")
    pd.testing.assert_frame_equal(read.table[others], public[others])


def test_misfits_are_missing_or_the_fill_value():
    schema = RowSchema.of(pd.DataFrame(PUBLIC), {"town": ["z", "q"]})
    given = frame({**{name: ["?"] * 3 for name in PUBLIC}, "wage": [1, 2.5, "?"]})
    table, misfits = schema.read(given)
    assert table["age"].tolist() == [40] * 3  # the median
    assert np.isnan(table["wage"][2])
    assert table["town"].isna().all()
    assert table["town"].dtype == pd.CategoricalDtype(["z", "y", "x", "q"], ordered=True)
    assert table["vote"].tolist() == [True] * 3  # the most frequent
    assert table["count"].isna().all()
    assert table["day"].tolist() == [DAY] * 3
    # Also where public cells are missing.
    assert set(misfits) == {"age", "wage", "town", "day", "zone", "span", "vote", "count"}
    assert misfits["wage"].tolist() == [False, False, True]
    missing = schema.read(frame({name: [None] * 3 for name in PUBLIC})).misfits
    assert set(missing) == set(PUBLIC) - {"wage", "count"}


def test_a_schema_holds_few_public_rows():
    public = pd.DataFrame({"a": np.arange(10_000), "b": np.arange(10_000).astype(str)})
    schema = pickle.loads(pickle.dumps(RowSchema.of(public)))
    assert len(schema.sample) == 200
    assert len(pickle.dumps(schema)) < len(pickle.dumps(public)) / 10
    assert schema.read(public.iloc[:2]).table.equals(public.iloc[:2])


def test_named_columns_are_matched_by_name():
    schema = RowSchema.of(pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}))
    given = pd.DataFrame({"b": [7.0], "a": [3]}, index=["somebody"])
    assert schema.read(given).table.to_dict("list") == {"a": [3], "b": [7.0]}
    assert schema.read(given).table.index.tolist() == [0]
    assert schema.read(np.array([[1.0, 2.0]])).table.to_dict("list") == {"a": [1], "b": [2.0]}
    for wrong in (given[["a"]], given.rename(columns={"a": "c"}), given.assign(c=1)):
        with pytest.raises(ValueError, match="columns"):
            schema.read(wrong)


ARRAYS = {
    "floats": np.array([[1.0, 5.0], [3.0, np.nan], [2.0, 1.0]]),
    "float32": np.array([[1.0, 5.0], [3.0, np.nan], [2.0, 1.0]], dtype=np.float32),
    "integers": np.array([[1, 5], [3, 4], [2, 1]]),
    "bytes": np.array([[1, 5], [3, 4], [2, 1]], dtype=np.uint8),
    "objects": np.array([[1, "a"], [2, "b"], [3, "a"]], dtype=object),
    "list": [[1, 5], [3, 4.5], [2, 1]],
    "texts": ["a", "b", "a"],
    "images": np.zeros((3, 2, 2)),
}


@pytest.mark.parametrize("public", ARRAYS.values(), ids=ARRAYS)
def test_a_row_of_an_array_changes_no_other_row(public):
    schema, rng = RowSchema.of(public), np.random.default_rng(1)
    shape = np.shape(public)[1:]
    for cell in (*CELLS[:-4], [1, 2]):
        for make in (list, np.array):
            rows = rng.integers(5, size=(4, *shape)).tolist()
            other = [*rows]
            other[1] = _with(other[1], cell) if shape else cell
            try:
                tables = make(rows), make(other)
            except ValueError:  # rows of other shapes are no array
                continue
            if getattr(tables[1], "dtype", np.dtype(float)).kind == "m":
                continue  # NumPy has made durations of all other cells: they are gone
            one, two = (schema.read(table).table for table in tables)
            assert type(one) is type(two)
            if isinstance(one, np.ndarray):
                assert one.dtype == two.dtype
                one, two = one.tolist(), two.tolist()
            assert all(same(one[at], two[at]) for at in (0, 2, 3)), cell


def _with(row, cell):
    return [_with(row[0], cell), *row[1:]] if isinstance(row[0], list) else [cell, *row[1:]]


def test_sparse_rows():
    public = sp.csr_array(np.eye(3))
    schema = RowSchema.of(public)
    given = sp.coo_array(np.array([[1, np.nan, 0], [0, np.inf, 2]], dtype=np.float32))
    table, misfits = schema.read(given)
    assert (table.dtype, table.toarray().tolist()) == (public.dtype, [[1, 0, 0], [0, 0, 2]])
    assert {at: rows.tolist() for at, rows in misfits.items()} == {1: [True, True]}
    with pytest.raises(ValueError, match="columns"):
        schema.read(given[:, :2].tocsr() if hasattr(given, "__getitem__") else given.T)


def test_numbers_that_fit_are_not_copied():
    public = np.zeros((3, 2))
    rows = np.random.default_rng(0).normal(size=(5, 2))
    assert RowSchema.of(public).read(rows).table is rows


def test_equal_cells_have_one_text_in_columns_of_all_types():
    times = pd.Series([DAY])
    for values in (
        times.astype("datetime64[ns]"),
        times.astype("datetime64[s]"),
        times.astype(object),
        pd.Series([datetime.date(2020, 1, 1)]),
        times.to_numpy(),
        times.astype("category"),
    ):
        assert read_texts(values).tolist() == ["2020-01-01 00:00:00"]
    assert read_texts(pd.Series([1, 2])).tolist() == read_texts(pd.Series([1.0, 2.0])).tolist()
    assert read_texts(np.array([3 + 0j, 1j])).tolist() == ["3", "1j"]
    for span in (pd.Timedelta(1, "D"), datetime.timedelta(1), np.timedelta64(24, "h")):
        assert cell_text(span) == "1 day, 0:00:00"
    assert cell_text(pd.Timedelta(1, "ns")) == "0:00:00 1 ns"
    assert [cell_text(each) for each in (None, np.nan, pd.NA, pd.NaT)] == [None] * 4
    assert read_numbers(["1e3", "x", 2 + 0j, True, [1], np.datetime64(1, "s")]).tolist()[::3] == [
        1000,
        1,
    ]


def test_columns_of_polars():
    polars = pytest.importorskip("polars")
    public = polars.DataFrame(
        {
            "age": polars.Series([30, 40, 50], dtype=polars.UInt8),
            "wage": [1.5, None, 2.0],
            "job": ["cook", "clerk", "cook"],
            "town": polars.Series(["x", "y", "x"], dtype=polars.Enum(["z", "x", "y"])),
            "shop": polars.Series(["x", "y", "x"], dtype=polars.Categorical),
            "day": [datetime.date(2020, 1, 1)] * 3,
            "hour": [datetime.datetime(2020, 1, 1, 5)] * 3,
            "vote": [True, False, True],
            "tags": [["a"], ["b"], []],
        }
    ).with_columns(
        polars.col("hour").dt.replace_time_zone("Europe/Berlin").alias("zone"),
        (polars.col("hour") - polars.col("day").cast(polars.Datetime)).alias("span"),
    )
    # In polars all columns of categories share theirs: those of other tables are not public.
    elsewhere = polars.Series(["w", "v"], dtype=polars.Categorical)
    schema = RowSchema.of(public)
    assert len(elsewhere) == 2
    assert schema.left_out == {"town": 1}
    read = schema.read(public.select(reversed(public.columns))).table
    assert read.columns == public.columns
    # The codes of a Categorical depend on what the process read before: private rows, too.
    assert read["shop"].dtype == polars.Enum(["x", "y"])
    plain = public.drop("town", "shop")
    assert read.drop("town", "shop").equals(plain)
    assert read.drop("town", "shop").schema == plain.schema
    texts = polars.DataFrame({name: ["?"] * 2 for name in public.columns})
    other = schema.read(texts).table
    assert other.schema == read.schema
    assert other["age"].to_list() == [40, 40]
    assert other["town"].to_list() == other["wage"].to_list() == [None, None]
    assert schema.read(pd.DataFrame(texts.to_dict(as_series=False))).table.equals(other)
