"""Tables as messages: what comes is what was sent, or nothing."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix

from secretballot.collaboration.remote._message import START, Message, MessageError, lengths, read
from secretballot.collaboration.remote._table import put_table, take_table

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
        7: [0, 0, 0],
    }
)


def sent(X):
    """A table after its way over the wire."""
    words, arrays = put_table(X)
    return passed(Message("ask", words, arrays), X)


def passed(message, X=None):
    raw = b"".join(message.parts(5))
    n_words, size = lengths(raw[:START], 2**20)
    assert len(raw) == START + n_words + size
    body = np.frombuffer(raw[START + n_words :], np.uint8)
    number, came = read(raw[START : START + n_words], body)
    assert (number, came.kind) == (5, message.kind)
    return take_table(came.words, list(came.arrays)) if X is not None else came


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
        }
    )
    came = sent(X)
    assert came.schema == X.schema
    assert came.equals(X)
    with pytest.raises(ValueError, match="X\\['when'\\] is of dtype Duration"):
        sent(polars.DataFrame({"when": [pd.Timedelta(1)]}))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1, "a"]], dtype=object), "X holds int objects"),
        (np.array([[{}]], dtype=object), "X holds dict objects"),
        (np.array([[1j]]), "dtype complex128"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "dtype datetime64"),
        (np.array([(1, 2)], dtype=[("a", int), ("b", int)]), "which can't be sent"),
        (np.array([[1]], dtype=np.longdouble), "up to 64 bits"),
        (pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}), "X\\['when'\\] is of dtype datet"),
        (pd.DataFrame({"what": [object()]}), "X\\['what'\\] holds object objects"),
        (pd.DataFrame({"when": pd.Categorical(pd.to_datetime(["2020-01-01"]))}), "categories"),
        (pd.DataFrame({(1, 2): [0]}), "a column named \\(1, 2\\)"),
        (pd.DataFrame(index=[0]), "no columns"),
        ([[1, 2], [3]], "rows of different lengths"),
        ([["\ud800"]], "half of a surrogate pair"),
    ],
)
def test_what_cannot_be_sent(X, message):
    with pytest.raises(ValueError, match=message):
        sent(X)


def text(*sizes, blob=b"ab", missing=None):
    gone = np.zeros(len(sizes), np.uint8) if missing is None else np.array(missing, np.uint8)
    return [np.frombuffer(blob, np.uint8), np.array(sizes, np.int64), gone]


@pytest.mark.parametrize(
    ("words", "arrays"),
    [
        ({}, []),
        ({"table": "pickle"}, [np.frombuffer(pickle.dumps([1]), np.uint8)]),
        ({"table": "array"}, []),
        ({"table": "array"}, [np.zeros(1), np.zeros(1)]),
        ({"table": "texts"}, text(1)),
        ({"table": "texts"}, text(3, -1)),
        ({"table": "texts"}, text(2**62, 2**62, 2**62, 2**62, 2)),  # a sum that wraps around to 2
        ({"table": "texts"}, text(2, blob=b"\xff\xff")),
        ({"table": "texts"}, text(2, missing=[3])),
        ({"table": "texts"}, text(2, missing=[0, 0])),
        ({"table": "text", "shape": [2, 2]}, text(1, 1)),
        ({"table": "csr_array", "shape": [1, 2]}, [np.ones(1), np.array([5]), np.array([0, 1])]),
        ({"table": "csr_array", "shape": [1, 2]}, [np.ones(1), np.array([-1]), np.array([0, 1])]),
        ({"table": "csr_array", "shape": [1, 2]}, [np.ones(1), np.array([0]), np.array([0, 9])]),
        (
            {"table": "csr_array", "shape": [3, 2]},
            [np.ones(1), np.array([0]), np.array([0, 9, -8, 1])],
        ),
        ({"table": "pandas", "columns": [["a", "numbers"]]}, [np.zeros(1)]),
        ({"table": "pandas", "columns": [["a", "eval", "1"]]}, [np.zeros(1)]),
        ({"table": "pandas", "columns": [["a", "numbers", None]] * 2}, [np.zeros(1), np.zeros(2)]),
        ({"table": "pandas", "columns": [["a", "nullable", "Int8"]]}, [np.zeros(1)] * 2),
        ({"table": "pandas", "columns": [["a", "text", "category"]]}, text(1, 1)),
        (
            {"table": "pandas", "columns": [["a", "categories", ["numbers", None, False]]]},
            [np.array([2], np.int8), np.zeros(1)],
        ),
    ],
)
def test_what_is_no_table(words, arrays):
    with pytest.raises(MessageError):
        take_table(words, arrays)


def test_a_text_that_would_fill_the_memory():
    n = 2**16
    sizes = [n, *[0] * n]
    with pytest.raises(MessageError, match="much longer than the others"):
        take_table({"table": "text", "shape": [n + 1]}, text(*sizes, blob=b"a" * n))
    assert len(take_table({"table": "texts"}, text(*sizes, blob=b"a" * n))) == n + 1


@pytest.mark.parametrize(
    ("forms", "body"),
    [
        ([["|O", [1]]], bytes(16)),
        ([["<f8", [-1]]], bytes(16)),
        ([["<f8", [2**62, 4]]], bytes(16)),
        ([["<f8", [3]]], bytes(16)),
        ([["<f8", [1]]], bytes(32)),
        ([["<f8", [True]]], bytes(16)),
        ([["<f8", 1]], bytes(16)),
        ([["<f8", [10**15] * 600_000]], bytes(16)),  # a product that would take half an hour
        ([["<M8", [1]]], bytes(16)),
        ([["|b1", [1]]], b"\x02" + bytes(15)),
        ([["|S0", [1]]], bytes(16)),
        ("no", bytes(16)),
    ],
)
def test_what_is_no_message(forms, body):
    words = {"kind": "ask", "number": 1, "words": {}, "arrays": forms}
    with pytest.raises(MessageError):
        read(json.dumps(words).encode(), np.frombuffer(body, np.uint8))


def test_messages_without_arrays():
    assert passed(Message("close", {"tallies": [{"n_rows": 2}]})).words["tallies"][0]["n_rows"] == 2
    with pytest.raises(ValueError, match="Out of range float"):
        Message("close", {"n": NAN}).parts(1)
