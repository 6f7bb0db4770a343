"""Winners that three processes find, against those of the numbers themselves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from secretballot.computing import LineError, Panel, Part, Recipients, deliver, withdraw
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
        deliver(name, [Part(columns, numbers, "plurality", "ab", bits=3)], there)
    won = three.panel.winners(there.session, columns, "ab", slice(0, len(rows)))
    np.testing.assert_array_equal(won, rows.argmax(axis=1))


@pytest.mark.parametrize("bits", [4, 17, 62])
def test_signs_up_to_the_last_number_of_a_length(three, bits):
    most = 2 ** (bits - 1) - 1
    numbers = np.array([[-most - 1, -most, -1, 0, 1, most]])
    there = three.begin()
    deliver("a", [Part((0,), numbers, "negative", "a", bits)], there)
    won = three.panel.winners(there.session, (0,), "a", slice(0, 1))
    np.testing.assert_array_equal(won, numbers < 0)


def test_rows_are_opened_in_parts_and_motions_apart(three):
    there = three.begin()
    one, two = np.array([[1], [-1], [2]]), np.array([[3, -4]] * 3)
    parts = [Part((0,), one, "negative", "ab", 5), Part((1, 4), two, "negative", "a", 5)]
    deliver("a", parts, there)
    deliver("b", [Part((0,), one * -2, "negative", "ab", 5)], there)
    assert three.panel.received(there.session) == [{"a", "b"}] * 3

    def won(columns, names, rows):
        return three.panel.winners(there.session, columns, names, rows).tolist()

    assert won((0,), "ab", slice(0, 2)) == [[1], [0]]
    assert not withdraw("a", there)  # whoever says that it is void
    assert won((0,), "ab", slice(2, 3)) == [[1]]
    assert won((1, 4), "a", slice(0, 1)) == [[0, 1]]
    # Who holds votes may begin one of the same name.
    three.panel._ask({"do": "begin", "session": there.session})
    assert not withdraw("a", there)


def told(name, voters="ab", how="negative", shape=(2, 1), bits=5):
    part = {"columns": [0], "shape": list(shape), "how": how, "voters": list(voters), "bits": bits}
    return {"name": name, "parts": [part]}


BODY = as_bytes(np.array([5, 6], dtype=object))


def test_what_voters_did_not_share_for_is_opened_to_nobody():
    sums = Sums("one")
    sums.add(told("a"), BODY)
    with pytest.raises(ValueError, match="not of those who vote"):
        sums.begin((0,), {"a"}, 0, 2)  # noise was made for two
    for other in (
        told("b", "abc"),
        told("b", "bc"),
        told("b", how="plurality"),
        told("b", shape=(1, 2)),
        told("b", bits=4),
    ):
        with pytest.raises(ValueError, match="'b' are for another vote"):
            sums.add(other, BODY)
    with pytest.raises(ValueError, match="'c' are for another vote"):
        sums.add(told("c"), BODY)  # with whom nobody votes
    sums.add(told("b"), BODY)
    for columns, names in (((0,), {"a"}), ((0,), {"a", "b", "c"}), ((1,), {"a", "b"})):
        with pytest.raises(ValueError, match="not of those who vote"):
            sums.begin(columns, names, 0, 2)
    assert sums.begin((0,), {"a", "b"}, 0, 1).share.tolist() == [[10]]
    # Each row once, however often it is asked for.
    for rows in ((0, 1), (0, 2), (2, 3), (1, 1)):
        with pytest.raises(ValueError, match="not those that come next"):
            sums.begin((0,), {"a", "b"}, *rows)
    assert sums.begin((0,), {"a", "b"}, 1, 2).share.tolist() == [[12]]
    with pytest.raises(ValueError, match="have been opened"):
        sums.withdraw("a")


def test_what_a_voter_has_withdrawn_is_opened_to_nobody():
    sums = Sums("one")
    sums.add(told("a", "a"), BODY)
    with pytest.raises(ValueError, match="no shares of 'b'"):
        sums.withdraw("b")
    for _ in "ab":  # more than once
        sums.withdraw("a")
    with pytest.raises(ValueError, match="the vote is void"):
        sums.begin((0,), {"a"}, 0, 1)


def test_shares_that_are_not_what_they_say():
    sums = Sums("one")
    with pytest.raises(ValueError, match="32 bytes are not 3 shares"):
        sums.add(told("a", shape=(3, 1)), BODY)
    with pytest.raises(ValueError, match="too long"):
        sums.add(told("a"), BODY + b"\0")
    twice = told("a", shape=(1, 1))
    with pytest.raises(ValueError, match="another vote"):
        sums.add({**twice, "parts": twice["parts"] * 2}, BODY)
    assert sums.names == set()


def test_what_computing_parties_refuse(three):
    there, one = three.begin(), [Part((0,), np.array([[1]]), "negative", "ab", 2)]
    deliver("a", one, there)
    with pytest.raises(LineError, match="'a' has sent shares before"):
        deliver("a", one, there)
    with pytest.raises(LineError, match="no such vote"):
        deliver("b", one, Recipients("another", there.addresses, there.token))
    # The coordinator has joined others, or in another order, than the voter was given.
    for others in (there.addresses[::-1], (*there.addresses[:2], ("127.0.0.1", 1))):
        with pytest.raises(LineError, match="must be given the same ones, in one order"):
            deliver("b", one, Recipients(there.session, others, there.token))
    with pytest.raises(LineError, match="does not know the token"):
        deliver("b", one, Recipients(there.session, there.addresses, "another"))
    hello = {"role": "coordinator", "token": there.token}
    with pytest.raises(LineError, match="another vote is going on"):
        Line(there.addresses[0], hello, timeout=60)
    # None of that has come in.
    assert three.panel.received(there.session) == [{"a"}] * 3
    assert withdraw("a", there)
    assert not withdraw("a", Recipients("another", there.addresses, there.token))


class _Replies:
    """Lines of which one is interrupted."""

    open = 3

    def __init__(self, *_):
        self.replies = iter([({}, b"")])  # to join

    def send(self, *_):
        pass

    def receive(self):
        try:
            return next(self.replies)
        except StopIteration:
            raise KeyboardInterrupt from None

    def close(self):
        _Replies.open -= 1


def test_after_an_interruption_nobody_reads_late_replies(monkeypatch):
    monkeypatch.setattr("secretballot.computing._panel.Line", _Replies)
    panel = Panel([("h", 1)] * 3, "", timeout=1)
    assert not panel.closed
    with pytest.raises(KeyboardInterrupt):
        panel.begin()
    assert panel.closed
    assert _Replies.open == 0
