"""Tables as messages: what comes is what was sent, or nothing."""

import pickle
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix

from secretballot.collaboration.remote._arrow import encode
from secretballot.collaboration.remote._table import put_table, take_table
from secretballot.transport import MessageError

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
    words, body = put_table(X)
    assert memoryview(body).nbytes < MOST
    return take_table(words, body, MOST)


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
def test_what_cannot_be_sent(X, message):
    with pytest.raises(ValueError, match=message):
        sent(X)


def stream(columns, tags=None, **options):
    """Arrow's stream of columns, as somebody else could write it."""
    tags = tags or dict.fromkeys(columns, "float64")
    fields = [
        pa.field(name, each.type, metadata={"tag": tags[name]}) for name, each in columns.items()
    ]
    batch = pa.record_batch(list(columns.values()), schema=pa.schema(fields))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_batch(batch)
    return memoryview(sink.getvalue())


def text(*cells):
    return encode({"": pa.array(cells, pa.large_string())}, {"": "text"})


def frame(column, tag, name="0:a"):
    return {"table": "pandas"}, encode({name: column}, {name: tag})


ONE, TEXTS = pa.array([1.0]), pa.array(["a"], pa.large_string())
CODES = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), TEXTS)


def csr(data, indices, indptr, shape):
    forms = [["<f8", [len(data)]], ["<i4", [len(indices)]], ["<i4", [len(indptr)]]]
    arrays = np.array(data), np.array(indices, np.int32), np.array(indptr, np.int32)
    parts = [part for each in arrays for part in (each.tobytes(), bytes(-each.nbytes % 16))]
    return {"table": "csr_array", "shape": shape, "arrays": forms}, b"".join(parts)


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ({}, b""),
        ({"table": "pickle"}, pickle.dumps([1])),
        ({"table": ["array"]}, b""),
        ({"table": "array"}, b""),
        ({"table": "array", "arrays": []}, b""),
        ({"table": "array", "arrays": [["<f8", [1]]] * 2}, bytes(16)),
        ({"table": "array", "arrays": [["|O", [1]]]}, bytes(8)),
        ({"table": "array", "arrays": [["<f8", [-1]]]}, bytes(8)),
        ({"table": "array", "arrays": [["<f8", [2**61, 8]]]}, bytes(8)),
        ({"table": "array", "arrays": [["<f8", [3]]]}, bytes(16)),
        ({"table": "array", "arrays": [["<f8", [1]]]}, bytes(16)),
        ({"table": "array", "arrays": [["<f8", [True]]]}, bytes(8)),
        ({"table": "array", "arrays": [["<f8", 1]]}, bytes(8)),
        ({"table": "array", "arrays": [["<f8", [10**15] * 600_000]]}, bytes(8)),  # half an hour
        ({"table": "array", "arrays": [["<M8", [1]]]}, bytes(8)),
        ({"table": "array", "arrays": [["|b1", [1]]]}, b"\x02"),
        ({"table": "array", "arrays": [["|S0", [1]]]}, b""),
        ({"table": "array", "arrays": [["<f8", []]]}, bytes(8)),
        ({"table": "array", "arrays": [["<f8", [10**12, 0]]]}, b""),  # rows of nothing
        ({"table": "texts"}, b"abc"),
        ({"table": "texts"}, encode({"": TEXTS}, {"": "other"})),
        ({"table": "texts"}, encode({"": ONE}, {"": "text"})),
        ({"table": "text", "shape": [2, 2]}, text("a", "b")),
        ({"table": "objects", "shape": "no"}, text("a", "b")),
        csr([1.0], [5], [0, 1], [1, 2]),
        csr([1.0], [-1], [0, 1], [1, 2]),
        csr([1.0], [0], [0, 9], [1, 2]),
        csr([1.0], [0], [0, 9, -8, 1], [3, 2]),
        csr([], [], [0, 1, 3_906_250, 0], [3, 5]),  # which SciPy accepts, and reads beyond an end
        csr([], [], [0], [2**61, 2]),
        frame(ONE, "int64"),
        frame(ONE, "eval"),
        frame(ONE, "datetime64[ns]"),
        frame(ONE, "Sparse[float64]"),
        frame(ONE, "object"),
        frame(ONE, "category:float64"),
        frame(ONE, "float64", "1:a"),
        frame(ONE, "float64", "0:#a"),
        frame(ONE, "float64", "?0:a"),
        frame(pa.array([None], pa.float64()), "float64"),
        frame(CODES, "str"),
        frame(CODES, "category:category:str"),
        ({"table": "pandas"}, stream({"0:a": pa.nulls(10)})),
        ({"table": "pandas"}, stream({"0:a": pa.array([[1.0]])})),
        ({"table": "pandas"}, stream({"0:a": pa.array([{"a": 1}])})),
        ({"table": "pandas"}, stream({"0:a": pa.RunEndEncodedArray.from_arrays([9], [1.0])})),
        ({"table": "pandas"}, stream({"0:a": pa.array(np.zeros(1000))}, compression="zstd")),
        ({"table": "pandas"}, stream({"0:a": pa.array(np.zeros(1000))}, compression="lz4")),
        ({"table": "pandas"}, bytes(stream({"0:a": ONE}))[:-40]),
        ({"table": "pandas"}, stream({})),
    ],
)
def test_what_is_no_table(words, body):
    with pytest.raises(MessageError):
        take_table(words, body, MOST)


def test_times_that_no_calendar_has():
    # Refused, or such as this version of pandas can show.
    late = pa.array([2**62], pa.timestamp("s", "Europe/Warsaw"))
    with suppress(MessageError):
        take_table(*frame(late, "datetime64[s, Europe/Warsaw]"), MOST).astype(str)


def test_offsets_beyond_the_text():
    body = bytearray(text("abcd", "efgh"))
    at = body.index(np.array([0, 4, 8], np.int64).tobytes())
    for wrong in ([0, 4, 2**40], [0, 8, 4], [-9, 4, 8]):
        body[at : at + 24] = np.array(wrong, np.int64).tobytes()
        with pytest.raises(MessageError):
            take_table({"table": "texts"}, body, MOST)


@pytest.mark.parametrize("table", ["text", "texts", "objects", "pandas"])
def test_texts_that_would_fill_the_memory(table):
    # A table of .15 MB, which was one of 4.26 GB at every reader: one long text among many.
    n = 2**15
    cells = ["a" * n, *[""] * n]
    words = {"table": table, "shape": [n + 1]}
    for most in (2**18, 2**20):
        small = pa.array(["a"] * most, pa.large_string())
        body = {
            "text": text(*cells),
            "pandas": encode({"0:a": small}, {"0:a": "object"}),
        }.get(table, encode({"": small}, {"": "text"}))
        with pytest.raises(MessageError, match="bytes of memory, and .* are allowed"):
            take_table(words, body, most)


def test_categories_that_would_fill_the_memory():
    # Codes of one byte, each of one long text: as many as come, and not their texts.
    n = 2**16
    codes = pa.array(np.zeros(n, np.int8))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["a" * n], pa.large_string()))
    body = stream({"0:a": column}, {"0:a": "category:object"})
    frame = take_table({"table": "pandas"}, body, MOST)
    assert frame.memory_usage(deep=True).sum() < MOST


# What polars says of NUL in a name, of a time zone and of a time is no Exception.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("0:a\0b", pa.array([1])),
        ("0:a", pa.array([10**16], pa.timestamp("s"))),
        ("0:a", pa.array([1, None, -(2**62)], pa.timestamp("ms", "Europe/Warsaw"))),
        ("0:a", pa.array([1], pa.timestamp("ns", "nowhere")).dictionary_encode()),
    ],
)
def test_columns_at_which_polars_panics(name, column):
    pytest.importorskip("polars")
    with pytest.raises(MessageError, match="no table|not of the type|a name"):
        take_table({"table": "polars"}, encode({name: column}, {name: ""}), MOST)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("0:a", f"[{'[],' * 50_000}1]"),  # which JSON makes twenty times as long
        ("0:a", f"datetime64[ns, {'a' * 100_000}]"),
        (f"0:{'a' * 100_000}𝄞", "str"),
    ],
)
def test_descriptions_that_would_fill_the_memory(kind, name, tag):
    pytest.importorskip(kind)
    column = pa.array(["a"], pa.large_string())
    with pytest.raises(MessageError, match="bytes of memory"):
        take_table({"table": kind}, encode({name: column}, {name: tag}), MOST)


def test_categories_that_are_no_texts():
    pytest.importorskip("polars")
    body = encode({"0:a": pa.array(["a"], pa.large_string())}, {"0:a": '["a", []]'})
    with pytest.raises(MessageError, match="no texts"):
        take_table({"table": "polars"}, body, MOST)
