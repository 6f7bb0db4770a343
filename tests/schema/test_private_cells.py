"""Private cells that don't fit: missing, however the table is given, and no error.

An error of one cell would be an answer that nobody paid for.
"""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from secretballot import (
    GNMax,
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.measures import private_quantiles
from secretballot.tables._row_schema import RowSchema

N = 120


class Hostile(float):
    """A number, and nothing can be done with it."""

    def _refuse(self, *_):
        raise RuntimeError("4711")

    __float__ = __eq__ = __ne__ = __str__ = __repr__ = is_integer = __hash__ = _refuse


CELLS = [
    *(10**400, -(10**5000), Fraction(10**400, 3), Decimal("sNaN"), np.longdouble("1e4000")),
    *([1], [1, 2], [], (1, 2), {"a": 1}, {1}, np.arange(2), [[1], [2]], pd.Series([1, 2])),
    *(object(), Hostile(1), 1 + 2j, "\udc00", datetime.datetime.max, np.datetime64(2**62, "Y")),
]
ROWS = np.random.default_rng(0).normal(size=(N, 2)).tolist()
POOL = np.random.default_rng(1).normal(size=(40, 2)).tolist()
Y = np.arange(N) % 2
BOUNDS = {0: (-1, 1), 1: (-1, 1)}


def with_cells(*cells):
    """Return the rows with other cells; the first row has one of them, as it gives the width."""
    rows = [list(row) for row in ROWS]
    for row, cell in enumerate(cells):
        rows[row][row % 2] = cell
    return rows


def as_objects(rows):
    table = np.empty((len(rows), 2), dtype=object)
    for index, row in enumerate(rows):
        table[index, 0], table[index, 1] = row
    return table


def as_frame(rows):
    return pd.DataFrame(as_objects(rows), columns=["a", "b"], dtype=object)


def as_polars(rows):
    polars = pytest.importorskip("polars")
    columns = zip("ab", as_objects(rows).T, strict=True)
    return polars.DataFrame(
        [polars.Series(name, list(x), dtype=polars.Object) for name, x in columns]
    )


FORMS = {
    "lists": list,
    "tuples": lambda rows: tuple(map(tuple, rows)),
    "objects": as_objects,
    "frame": as_frame,
    "polars": as_polars,
}


def pool(form):
    """Return public rows in the same form, of numbers."""
    if form == "polars":
        return pytest.importorskip("polars").DataFrame(np.array(POOL), schema=["a", "b"])
    return {"frame": as_frame(POOL).astype(float)}.get(form, np.array(POOL))


def logistic(X, form, **how):
    budget = PrivacyAccountant(50.0, 1e-5)
    model = PrivateLogisticRegression(
        classes=[0, 1], accountant=budget, epsilon=5.0, random_state=0, check_public_rows=False
    )
    return model.set_params(**how).fit(X, Y, X_public=PublicData(pool(form)))


def linear(X, form):
    model = PrivateLinearRegression(
        target_bounds=(0, 1), accountant=PrivacyAccountant(5.0, 1e-5), random_state=0
    )
    return model.fit(X, Y, X_public=PublicData(pool(form))).coef_


def declared(X, form):
    names = {"frame": "ab", "polars": "ab"}.get(form, (0, 1))
    model = PrivateLogisticRegression(
        bounds=dict.fromkeys(names, (-3, 3)),
        classes=[0, 1],
        accountant=PrivacyAccountant(5.0, 1e-5),
        random_state=0,
    )
    return model.fit(X, Y).coef_


def votes(X, form):
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        5,
        classes=[0, 1],
        mechanism=GNMax(sigma=1e-3),
        accountant=PrivacyAccountant(1e12, 1e-5),
        random_state=0,
    )
    return ensemble.fit(X, Y, X_public=PublicData(pool(form))).predict_private(pool(form)).labels


def scores(X, form):
    model = logistic(FORMS[form](ROWS) if form != "polars" else as_polars(ROWS), form)
    confusion = model.confusion_private(X, Y, sigma=1.0)
    return [model.score_private(X, Y, sigma=1.0).accuracy, *np.ravel(confusion.matrix)]


def quantiles(X, form):
    names = {"frame": "ab", "polars": "ab"}.get(form, (0, 1))
    bounds, budget = dict.fromkeys(names, (-1, 1)), PrivacyAccountant(50.0, 1e-5)
    return private_quantiles(
        X, bounds=bounds, accountant=budget, random_state=0, share="rest"
    ).values


ASKED = {
    "logistic": lambda X, form: logistic(X, form).coef_,
    "chosen columns": lambda X, form: logistic(X, form, columns=[0, 1]).coef_,
    "features": lambda X, form: logistic(X, form, features=StandardScaler()).coef_,
    "linear": linear,
    "declared": declared,
    "votes": votes,
    "scores": scores,
    "quantiles": quantiles,
}


@pytest.mark.parametrize(
    ("name", "form"),
    [
        # Tuples are read as lists are.
        pytest.param(
            name, form, marks=[pytest.mark.slow] * (form == "tuples" and name != "logistic")
        )
        for name in ASKED
        for form in FORMS
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_cells_that_do_not_fit_are_missing(name, form):
    answers = [
        ASKED[name](FORMS[form](with_cells(*cells)), form) for cells in (CELLS, [None] * len(CELLS))
    ]
    np.testing.assert_array_equal(*answers)


@pytest.mark.filterwarnings("ignore")
def test_rows_that_are_compared_with_public_rows():
    table = as_frame(with_cells(*CELLS)).set_axis([0, *range(N - 1)])  # labels that repeat
    assert np.isfinite(logistic(table, "frame").coef_).all()


def typed_columns():
    """Yield columns of data frames with a last cell that their library can hold, but not read."""
    zone = "Europe/Berlin"
    yield pd.Series(np.array([0, 1, 2**62], "M8[us]")).dt.tz_localize("UTC").dt.tz_convert(zone)
    pa = pytest.importorskip("pyarrow")
    texts = pa.array([b"u", b"v", b"\xff"], pa.binary()).buffers()
    for array in (
        pa.array([0, 1, 10**8], pa.int32()).cast(pa.date32()),
        pa.array([0, 1, 2**62], pa.int64()).cast(pa.timestamp("us", zone)),
        pa.array([0, 1, 2**63 - 1], pa.int64()).cast(pa.timestamp("ns", zone)),
        pa.array([0, 1, 2**40], pa.int64()).cast(pa.time64("us")),
        pa.Array.from_buffers(pa.string(), 3, texts),
    ):
        yield pd.Series(pd.arrays.ArrowExtensionArray(array))


def public_columns():
    """Yield public columns of all kinds, in data frames of both libraries."""
    times = pd.to_datetime(["2020-01-01", "2021-01-01"])
    for column in (
        *([1, 2], [1.0, 2.5], [True, False], ["u", "v"], times, times.tz_localize("UTC")),
        *(times - times[0], pd.array([1, None], "Int64"), pd.array(["u", None], "string")),
        *(pd.Categorical(["u", "v"]), np.array([datetime.date(2020, 1, 1)] * 2, object)),
        *(times.to_period("M"), np.array([1j, 2])),
    ):
        yield pd.DataFrame({"c": column})
    pl = pytest.importorskip("polars")
    day, time = datetime.date(2020, 1, 1), datetime.time(1)
    for cell in (1, 1.5, True, "u", day, datetime.timedelta(1), time, b"u", [1], {"a": 1}):
        yield pl.DataFrame({"c": [cell, cell]})
    yield pl.DataFrame({"c": pl.Series(["u", "v"], dtype=pl.Categorical)})


def shown(table):
    """Return the types and the first two cells of a table as text."""
    dtypes = getattr(table, "dtypes", None)
    return str(list(dtypes)), [str(cell) for cell in list(table["c"])[:2]]


@pytest.mark.filterwarnings("ignore")
def test_a_cell_changes_no_other_and_no_type():
    n_pairs = 0
    for public in public_columns():
        schema = RowSchema.of(public)
        plain = list(public["c"])
        columns = [as_objects([(cell, 0) for cell in [*plain, cell]])[:, [0]] for cell in CELLS]
        expected = shown(schema.read(public).table)
        for column in columns:
            assert shown(schema.read(column).table) == expected
        for column in typed_columns():
            given = [pd.DataFrame({"c": part}) for part in (column[:2], column)]
            assert shown(schema.read(given[0]).table) == shown(schema.read(given[1]).table)
            n_pairs += 1
    assert n_pairs > 100


def layout(table):
    """Return all that is known of the first two rows, and of how a table holds them."""
    if sp.issparse(table):
        rows = table[:2]
        parts = (rows.data, rows.indices, rows.indptr)
        types = (table.data.dtype, table.indices.dtype, table.indptr.dtype)
        return [type(table), types, table.has_canonical_format, *(x.tolist() for x in parts)]
    return [type(table), table.dtype, table.flags.c_contiguous, str(table[:2].tolist())]


NUMBERS = ["i1", "i8", "u8", "f2", "f4", "f8", "g", "?", ">f8"]


def others(dtype):
    """Yield third rows."""
    yield from ([0, 1], [1, 0])
    kind = np.dtype(dtype).kind
    if kind == "f":
        yield from ([np.nan, 0], [np.inf, 0], [-0.0, 1e4])
    if np.dtype(dtype).itemsize >= 8 and kind in "iu":
        yield [2**53 + 1, 0]


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("order", ["C", "F", "strided", "matrix"])
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_arrays_have_one_layout(dtype, order):
    rows = [[1, 0], [0, 1]]
    schema = RowSchema.of(np.array([[1, 0], [0, 1], [1, 1]], dtype=dtype))

    def given(other):
        table = np.array([*rows, other], dtype=dtype)
        if order == "strided":
            return np.repeat(table, 2, axis=1)[:, ::2]
        return np.matrix(table) if order == "matrix" else np.array(table, order=order)

    read = [layout(schema.read(given(other)).table) for other in others(dtype)]
    assert all(each == read[0] for each in read)
    assert read[0][0] is np.ndarray
    assert read[0][2]
    assert RowSchema.of(np.array(rows, dtype=object)).read(given([0, 1])).table.flags.c_contiguous


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_rows_have_one_layout(dtype, kind):
    plain = np.array([[1, 0, 2], [0, 3, 0], [0, 0, 1]])
    schema = RowSchema.of(sp.csr_array(plain.astype(dtype)))
    tables = [kind(plain.astype(dtype))]
    for data, indices in (
        ([2, 1, 3, 1], [2, 0, 1, 2]),  # not sorted
        ([1, 2, 3, 1, 0], [0, 2, 1, 2, 0]),  # a zero that is stored
        ([1, 2, 3, 1, 1], [0, 2, 1, 2, 2]),  # an entry in two parts
    ):
        for index_type in (np.int32, np.int64):
            indptr = np.array([0, 2, 3, len(data)], dtype=index_type)
            entries = (np.array(data, dtype), np.array(indices, index_type), indptr)
            tables.append(kind(sp.csr_array(entries, shape=(3, 3))))
    if np.dtype(dtype).kind == "f":
        tables.append(kind(sp.csr_array((plain * [[1], [1], [np.nan]]).astype(dtype))))
    before = [table.copy() for table in tables]
    read = [layout(schema.read(table).table) for table in tables]
    assert all(each == read[0] for each in read)
    for table, copy in zip(tables, before, strict=True):
        assert table.data.tobytes() == copy.data.tobytes()  # as it was given
