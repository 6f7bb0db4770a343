"""Tables as messages: what comes is what was sent, or nothing."""

import json
import pickle
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix

from secretballot.parties._stream import MessageError
from secretballot.parties._table import ArrayWriter, decode_table, encode_table

NAN = float("nan")
FRAME = pd.DataFrame(
    {
        "number": [1.5, NAN, -0.0],
        "small": np.array([1, 2, 3], np.int8),
        "big": np.array([2**64 - 1, 0, 1], np.uint64),
        "yes": [True, False, True],
        "maybe": pd.array([True, None, False], dtype="boolean"),
        "count": pd.array([1, None, 2**53 + 1], dtype="Int64"),
        "text": ["a", None, "żółć 𝄞"],
        "word": pd.array(["a", None, ""], dtype="string"),
        "object": pd.Series(["a", None, NAN], dtype=object),
        "kind": pd.Categorical(["b", None, "a"], categories=["b", "a", "c"], ordered=True),
        "grade": pd.Categorical([3, 1, 3], categories=[3, 1]),
        "when": pd.to_datetime(["2020-01-01 04:05:06.789", None, "1950-02-03 00:00:00.000"]),
        "day": pd.to_datetime(["2020-01-01", None, "1950-02-03"]).as_unit("s"),
        "where": pd.to_datetime(["2020-01-01", None, "2021-07-01"]).tz_localize("Europe/Warsaw"),
        "long": pd.to_timedelta(["1 day", None, "3 s"]),
        "date": pd.Categorical(pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-01"])),
        "half": np.array([0.5, NAN, 2], np.float16),
        "a:#?": [1, 2, 3],
        7: [0, 0, 0],
    }
)


#: The longest message.
MOST = 2**20


def sent(X):
    """A table after its way over the wire."""
    fields, body = encode_table(X)
    assert memoryview(body).nbytes < MOST
    return decode_table(json.loads(json.dumps(fields)), body, MOST)


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1.0, NAN], [np.inf, -0.0]]),
        np.zeros((3, 0)),
        np.zeros((2, 3, 4), np.float32),
        np.array([[True], [False]]),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.array([["a", ""], ["żółć", "𝄞"]]),
        np.array([["a", None], [NAN, "b"]], dtype=object),
        np.array([[b"a", b"bc"]]),
        np.array([], dtype="<U1").reshape(0, 2),
    ],
    ids=lambda X: f"{X.dtype}{X.shape}",
)
def test_arrays(X):
    came = sent(X)
    # What arrives is of the byte order of the machine.
    if X.dtype == object:
        assert repr(came) == repr(X)
    else:
        np.testing.assert_array_equal(came, X)
    assert came.dtype in (X.dtype, X.dtype.newbyteorder("=")) or came.dtype.kind == "U"
    assert came.shape == X.shape


def test_lists():
    assert sent(["one", "two", ""]) == ["one", "two", ""]
    np.testing.assert_array_equal(sent([[1, 2], [3, 4]]), [[1, 2], [3, 4]])


@pytest.mark.parametrize("make", [csr_array, csr_matrix, coo_array])
def test_sparse(make):
    X = make(np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, 3]]))
    came = sent(X)
    assert type(came) is (csr_matrix if make is csr_matrix else csr_array)
    np.testing.assert_array_equal(came.toarray(), X.toarray())


def test_pandas():
    pd.testing.assert_frame_equal(sent(FRAME), FRAME)
    pd.testing.assert_frame_equal(sent(FRAME.iloc[:0]), FRAME.iloc[:0].reset_index(drop=True))
    twice = FRAME[["small", "small"]]
    pd.testing.assert_frame_equal(sent(twice), twice, check_column_type=False)
    # Rows are answered by position; whatever they are called stays at home.
    renamed = FRAME.set_axis(["x", "y", "z"])
    pd.testing.assert_frame_equal(sent(renamed), FRAME)


def test_polars():
    polars = pytest.importorskip("polars")
    X = polars.DataFrame(
        {
            "number": [1.5, None, NAN],
            "small": polars.Series([1, None, 3], dtype=polars.Int8),
            "yes": [True, None, False],
            "text": ["a", None, "żółć"],
            "kind": polars.Series(["b", None, "a"], dtype=polars.Enum(["b", "a", "c"])),
            "learnt": polars.Series(["b", None, "a"], dtype=polars.Categorical),
            "when": polars.Series(pd.to_datetime(["2020-01-01"] * 3).as_unit("us").to_numpy()),
            "long": polars.Series(pd.to_timedelta([1, 2, 3]).as_unit("ns").to_numpy()),
        }
    )
    came = sent(X)
    assert came.schema == X.schema
    assert came.equals(X)
    with pytest.raises(ValueError, match="X\\['when'\\] is of dtype List"):
        sent(polars.DataFrame({"when": [[1]]}))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1, "a"]], dtype=object), "X holds int objects"),
        (np.array([[{}]], dtype=object), "X holds dict objects"),
        (np.array([[1j]]), "dtype complex128"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "dtype datetime64"),
        (np.array([(1, 2)], dtype=[("a", int), ("b", int)]), "which can't be sent"),
        (np.array([[1]], dtype=np.longdouble), "up to 64 bits"),
        (pd.DataFrame({"when": pd.period_range("2020", periods=1)}), "is of dtype period"),
        (pd.DataFrame({"when": [pd.Timestamp(0).date()]}), "X\\['when'\\] holds date objects"),
        (pd.DataFrame({"what": [object()]}), "X\\['what'\\] holds object objects"),
        (pd.DataFrame({"when": pd.Categorical([(1, 2)])}), "holds tuple objects"),
        (pd.DataFrame({(1, 2): [0]}), "a column named \\(1, 2\\)"),
        (pd.DataFrame(index=[0]), "no columns"),
        ([[1, 2], [3]], "rows of different lengths"),
        ([["\ud800"]], "half of a surrogate pair"),
    ],
)
def test_tables_that_cannot_be_sent(X, message):
    with pytest.raises(ValueError, match=message):
        sent(X)


def table(kind, *arrays, **fields):
    """A table as somebody else could write it: arrays, and lists of texts."""
    writer = ArrayWriter()
    for array in arrays:
        (writer.add_texts if isinstance(array, list) else writer.add)(array, "X")
    return {"table": kind, "arrays": writer.forms, **fields}, writer.body() if arrays else b""


def frame(tag, *arrays, name="a", kind="pandas"):
    return table(kind, *arrays, columns=[[name, tag]])


def csr(data, indices, indptr, shape):
    arrays = np.array(data, float), np.array(indices, np.int32), np.array(indptr, np.int32)
    return table("csr_array", *arrays, shape=shape)


def array(form, body):
    return {"table": "array", "arrays": form}, body


def texts(lengths, letters, kind="texts", **fields):
    return table(kind, np.array(lengths, np.int64), np.frombuffer(letters, np.uint8), **fields)


ONE, CODE, YES = np.array([1.0]), np.array([0], np.int8), np.array([True])


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ({}, b""),
        ({"table": "pickle"}, pickle.dumps([1])),
        ({"table": ["array"]}, b""),
        ({"table": "array"}, b""),
        array([], b""),
        array([["<f8", [1]]] * 2, bytes(24)),
        array([["|O", [1]]], bytes(8)),
        array([["<f8", [-1]]], bytes(8)),
        array([["<f8", [2**61, 8]]], bytes(8)),
        array([["<f8", [3]]], bytes(16)),
        array([["<f8", [1]]], bytes(16)),
        array([["<f8", [True]]], bytes(8)),
        array([["<f8", 1]], bytes(8)),
        array([["<f8"]], bytes(8)),
        array(["<f8"], bytes(8)),
        array([["<f8", [10**15] * 600_000]], bytes(8)),  # half an hour
        array([["<M8", [1]]], bytes(8)),
        array([["|b1", [1]]], b"\x02"),
        array([["|S0", [1]]], b""),
        array([["<f8", []]], bytes(8)),
        array([["<f8", [10**12, 0]]], b""),  # rows of nothing
        ({"table": "texts"}, b"abc"),
        table("texts"),
        table("texts", ONE),
        table("texts", ["a"], ONE),
        table("texts", ONE, CODE),
        texts([2**62, 2**62], b"abcd"),
        texts([4], b"abc"),
        texts([1], b"abc"),
        texts([-3, 3], b"abc"),
        texts([], b"abc"),
        texts([1], b"\xff"),
        table("text", ["a", "b"], shape=[2, 2]),
        table("objects", ["a", "b"], shape="no"),
        table("objects", ["a", "b"]),
        csr([1.0], [5], [0, 1], [1, 2]),
        csr([1.0], [-1], [0, 1], [1, 2]),
        csr([1.0], [0], [0, 9], [1, 2]),
        csr([1.0], [0], [0, 9, -8, 1], [3, 2]),
        csr([], [], [0, 1, 3_906_250, 0], [3, 5]),  # which SciPy accepts, and reads beyond an end
        csr([], [], [0], [2**61, 2]),
        frame("int64", ONE),
        frame("eval", ONE),
        frame("datetime64[ns]", ONE),
        frame("datetime64[ns, nowhere]", np.zeros(1, "M8[ns]")),
        frame("datetime64[ns, UTC]", ONE),
        frame("Sparse[float64]", ONE),
        frame("object", ONE),
        frame("category:float64", ONE),
        frame("category:float64", ONE, ONE),
        frame("category:float64", CODE + 1, ONE),
        frame("category:float64", CODE, np.ones(2)),
        frame("category:" * 9_999 + "float64", CODE),
        frame("Int64", ONE, YES),
        frame("Int64", np.array([1]), CODE),
        frame("Int64", np.array([1]), np.array([True, False])),
        frame("float64", np.ones((2, 2))),
        frame("float64", ONE, name=None),
        frame("float64", ONE, name=["a"]),
        frame(None, ONE),
        frame("float64", ONE, ONE),
        table("pandas", ONE, np.ones(2), columns=[["a", "float64"], ["b", "float64"]]),
        table("pandas", columns=[]),
        table("pandas", ONE, columns=[["a"]]),
        table("pandas", ONE, columns={"a": "float64"}),
        frame("Float64", ONE, kind="polars"),
        frame("Float64", ONE, np.array([True, False]), kind="polars"),
        frame("Datetime|us|nowhere", np.array([1]), ~YES, kind="polars"),
        frame("Enum", ["a"], ["b"], kind="polars"),
        frame("Enum", ["a"], ["a", "a"], kind="polars"),
        frame("Object", ["a"], kind="polars"),
        frame("Float64", ONE, ~YES, name="a\0b", kind="polars"),
        table("polars", columns=[]),
    ],
)
# What polars says of a time zone is a warning too.
@pytest.mark.filterwarnings("ignore")
def test_invalid_tables_are_refused(fields, body):
    with pytest.raises(MessageError):
        decode_table(fields, body, MOST)


def test_times_that_no_calendar_has():
    # Refused, or such as this version of pandas can show.
    late = np.array([2**62], "M8[s]")
    with suppress(MessageError):
        decode_table(*frame("datetime64[s, Europe/Warsaw]", late), MOST).astype(str)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("tag", "times"), [("Datetime|ms", [10**17]), ("Datetime|ms|Europe/Warsaw", [1, 0, -(2**62)])]
)
def test_times_at_which_polars_panics(tag, times):
    # Which is no Exception.
    pytest.importorskip("polars")
    fields, body = frame(tag, np.array(times), np.zeros(len(times), bool), kind="polars")
    with pytest.raises(MessageError, match="no table"):
        decode_table(fields, body, MOST)


@pytest.mark.parametrize("kind", ["text", "texts", "objects", "pandas", "polars"])
def test_texts_that_would_fill_the_memory(kind):
    # A table of .15 MB, which was one of 4.26 GB at every reader: one long text among many.
    n = 2**15
    cells = ["a" * n, *[""] * n]
    for most in (2**18, 2**20):
        letters = cells if kind == "text" else ["a"] * most
        fields = {"columns": [["a", "object" if kind == "pandas" else "String"]]}
        with pytest.raises(MessageError, match="bytes of memory, and .* are allowed"):
            decode_table(*table(kind, letters, shape=[n + 1], **fields), most)


def test_categories_that_would_fill_the_memory():
    # Codes of one byte, each of one long text: as many as come, and not their texts.
    n = 2**16
    codes = np.zeros(n, np.int8)
    rows = decode_table(*frame("category:object", codes, ["a" * n]), MOST)
    assert rows.memory_usage(deep=True).sum() < MOST


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_that_would_fill_the_memory(kind):
    pytest.importorskip(kind)
    with pytest.raises(MessageError, match="bytes of memory"):
        decode_table(*table(kind, columns=[["a", "bool"]] * 1_000), MOST)
