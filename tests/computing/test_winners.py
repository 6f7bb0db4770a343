"""Winners that three processes find, against those of the numbers themselves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from secretballot.computing import LineError, Recipients, deliver
from secretballot.computing._server import Sums
from secretballot.computing._shares import as_bytes
from secretballot.computing._wire import Line


@pytest.mark.parametrize("n_columns", [2, 3, 4, 5, 7])
def test_the_first_of_the_largest_wins(three, n_columns):
    # All rows of -1, 0 and 1 (for many columns every 19th), shared in two parts.
    rows = np.array(list(itertools.product((-1, 0, 1), repeat=n_columns)))
    rows = rows[:: 1 if n_columns < 5 else 19]
    there, columns = three.begin(), tuple(range(n_columns))
    part = np.arange(rows.size).reshape(rows.shape) % 3 - 1
    for name, numbers in {"a": part, "b": rows - part}.items():
        deliver(name, {columns: numbers}, there)
    won = three.panel.winners(
        there.session, columns, "ab", slice(0, len(rows)), "plurality", bits=3
    )
    np.testing.assert_array_equal(won, rows.argmax(axis=1))


@pytest.mark.parametrize("bits", [4, 17, 62])
def test_signs_up_to_the_last_number_of_a_length(three, bits):
    most = 2 ** (bits - 1) - 1
    numbers = np.array([[-most - 1, -most, -1, 0, 1, most]])
    there = three.begin()
    deliver("a", {(0,): numbers}, there)
    won = three.panel.winners(there.session, (0,), "a", slice(0, 1), "negative", bits)
    np.testing.assert_array_equal(won, numbers < 0)


def test_rows_are_opened_in_parts_and_motions_apart(three):
    there = three.begin()
    deliver("a", {(0,): np.array([[1], [-1], [2]]), (1, 4): np.array([[3, 4]] * 3)}, there)
    deliver("b", {(0,): np.array([[-2], [2], [-3]])}, there)
    assert three.panel.received(there.session) == [{"a", "b"}] * 3

    def won(columns, names, rows):
        return three.panel.winners(there.session, columns, names, rows, "negative", 5).tolist()

    assert won((0,), "ab", slice(0, 2)) == [[1], [0]]
    assert won((0,), "ab", slice(2, 3)) == [[1]]
    assert won((1, 4), "a", slice(0, 1)) == [[0, 0]]


def test_sums_of_others_than_those_who_vote_are_opened_to_nobody():
    sums, body = Sums("one"), as_bytes(np.array([5, 6], dtype=object))
    for name in "ab":
        sums.add({"name": name, "parts": [[[0], [2, 1]]]}, body)
    assert sums.of((0,), {"a", "b"}).tolist() == [[10], [12]]
    for columns, names in (((0,), {"a"}), ((0,), {"a", "b", "c"}), ((1,), {"a", "b"})):
        with pytest.raises(ValueError, match="are not of those who vote"):
            sums.of(columns, names)


def test_what_computing_parties_refuse(three):
    there, one = three.begin(), {(0,): np.array([[1]])}
    deliver("a", one, there)
    with pytest.raises(LineError, match="'a' has sent shares before"):
        deliver("a", one, there)
    with pytest.raises(LineError, match="another shape"):
        deliver("b", {(0,): np.array([[1], [2]])}, there)
    with pytest.raises(LineError, match="no such vote"):
        deliver("b", one, Recipients("another", there.addresses, there.token))
    with pytest.raises(LineError, match="does not know the token"):
        deliver("b", one, Recipients(there.session, there.addresses, "another"))
    hello = {"role": "coordinator", "token": there.token}
    with pytest.raises(LineError, match="another vote is going on"):
        Line(there.addresses[0], hello, timeout=60)
    # None of that has come in.
    assert three.panel.received(there.session) == [{"a"}] * 3
