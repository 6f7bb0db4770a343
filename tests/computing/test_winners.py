"""Winners of shared numbers, and what voters did not share for."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from tests.computing._votes import part, terms

from secretballot.computing import Contribution, Panel, Recipients, deliver, withdraw
from secretballot.computing._shared_vote import ShareSums, read_votes
from secretballot.computing._shares import as_integers, from_integers
from secretballot.transport import ChannelError, Connection, Message


@pytest.mark.parametrize("n_columns", [2, 3, 4, 5, 7])
def test_the_first_of_the_largest_wins(three, n_columns):
    # All rows of -1, 0 and 1 (for many columns every 19th), shared in two parts.
    rows = np.array(list(itertools.product((-1, 0, 1), repeat=n_columns)))
    rows = rows[:: 1 if n_columns < 5 else 19]
    vote, one = terms(rows.shape, "ab", bits=3), np.arange(rows.size).reshape(rows.shape) % 3 - 1
    there = three.begin(vote)
    for name, numbers in {"a": one, "b": rows - one}.items():
        deliver(name, [Contribution(vote, numbers)], there)
    won = three.panel.winners(there.session, vote)
    np.testing.assert_array_equal(won, rows.argmax(axis=1))


@pytest.mark.parametrize("bits", [4, 17, 62])
def test_signs_up_to_the_last_number_of_a_length(three, bits):
    most = 2 ** (bits - 1) - 1
    one = part([[-most - 1, -most, -1, 0, 1, most]], bits=bits, rule="negative")
    there = three.begin(one.vote)
    deliver("a", [one], there)
    won = three.panel.winners(there.session, one.vote)
    np.testing.assert_array_equal(won, one.numbers < 0)


def test_rows_are_opened_in_parts_and_motions_apart(three, monkeypatch):
    monkeypatch.setattr("secretballot.computing._shared_vote.BATCH", 10)  # two rows of one number
    one = part([[1], [-1], [2]], voters="ab")
    two = part([[3, -4]] * 3, columns=(1, 4), rule="negative")
    there = three.begin(one.vote, two.vote)
    deliver("a", [one, two], there)
    deliver("b", [replace(one, numbers=one.numbers * -2)], there)
    assert three.panel.received(there.session) == [{"a", "b"}] * 3
    assert three.panel.winners(there.session, one.vote).tolist() == [[1], [0], [1]]
    assert not withdraw("a", there)  # whoever says that it is void
    assert three.panel.winners(there.session, two.vote).tolist() == [[0, 1]] * 3
    # Who holds votes may begin one of the same name.
    again = {"session": there.session, "votes": [one.vote.fields()]}
    three.panel._ask("begin", "begun", **again)
    assert not withdraw("a", there)


BODY = memoryview(from_integers(np.array([5, 6], dtype=object)).tobytes())
VOTE = terms((2, 1), "ab")


def said(*votes, session="one"):
    return {"session": session, "votes": [each.fields() for each in votes or (VOTE,)]}


@pytest.mark.parametrize(
    "other",
    [
        terms((2, 1), "abc"),
        terms((2, 1), "bc"),
        terms((1, 2), "ab"),
        terms((2, 1), "ab", bits=4),
        terms((2, 1), "ab", digest="u"),
        terms((2, 1), "ab", columns=(1,)),
    ],
)
def test_shares_for_another_vote_are_not_added_up(other):
    sums = ShareSums("one", [VOTE])
    for words in (said(other), said(VOTE, other), said(VOTE, VOTE), {"session": "one"}):
        with pytest.raises(ValueError, match="'b' are for another vote"):
            sums.add("b", words, BODY)
    assert sums.senders == set()
    # They keep nobody else from it.
    sums.add("a", said(), BODY)


def test_sums_are_opened_only_as_voters_agreed():
    sums = ShareSums("one", [VOTE])
    for words in (said(session="two"), said(session="")):
        with pytest.raises(ValueError, match="no such vote"):
            sums.add("a", words, BODY)
    with pytest.raises(ValueError, match="no such vote"):
        ShareSums().add("a", said(session=""), BODY)
    sums.add("a", said(), BODY)
    with pytest.raises(ValueError, match="not of those who vote"):
        sums.begin([0], 0, 2)  # noise was made for two
    with pytest.raises(ValueError, match="'c' are for another vote"):
        sums.add("c", said(), BODY)  # with whom nobody votes
    with pytest.raises(ValueError, match="sent shares before"):
        sums.add("a", said(), BODY)
    sums.add("b", said(), BODY)
    for columns in ([1], [0, 1], []):
        with pytest.raises(ValueError, match="not of those who vote"):
            sums.begin(columns, 0, 2)
    vote, shares = sums.begin([0], 0, 1)
    assert (vote, as_integers(shares).tolist()) == (VOTE, [[10]])
    # Each row once, however often it is asked for.
    for rows in ((0, 1), (0, 2), (2, 3), (1, 1), (1, 3), (1, 0)):
        with pytest.raises(ValueError, match="not those that come next"):
            sums.begin([0], *rows)
    assert as_integers(sums.begin([0], 1, 2)[1]).tolist() == [[12]]
    with pytest.raises(ValueError, match="have been opened"):
        sums.withdraw("a", "one")


def test_rows_are_compared_in_parts_of_bounded_memory():
    wide = terms((3_000, 10), "a", bits=20)
    sums = ShareSums("one", [wide])
    sums.add("a", said(wide), memoryview(bytes(wide.n_bytes)))
    with pytest.raises(ValueError, match="3000 rows are too many at once"):
        sums.begin(list(wide.columns), 0, 3_000)
    assert len(sums.begin(list(wide.columns), 0, wide.n_rows_at_once)[1]) == 655


def test_withdrawn_votes_are_not_opened():
    sums = ShareSums("one", [terms((2, 1))])
    sums.add("a", said(terms((2, 1))), BODY)
    for name, session in (("b", "one"), ("a", "two"), ("a", None)):
        with pytest.raises(ValueError, match=f"no shares of '{name}'"):
            sums.withdraw(name, session)
    for _ in "ab":  # more than once
        sums.withdraw("a", "one")
    with pytest.raises(ValueError, match="the vote is void"):
        sums.begin([0], 0, 1)


def test_shares_of_the_wrong_length_or_field_are_refused():
    sums = ShareSums("one", [VOTE])
    for body, message in ((BODY[:31], "31 bytes|15 bytes"), (memoryview(bytes(33)), "too long")):
        with pytest.raises(ValueError, match=message):
            sums.add("a", said(), body)
    with pytest.raises(ValueError, match="no element of the field"):
        sums.add("a", said(), memoryview(b"\xff" * 32))
    with pytest.raises(ValueError, match="same columns"):
        ShareSums("one", [VOTE, VOTE])
    assert sums.senders == set()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (None, "votes=None"),
        ([], "1 to max_bytes"),
        ([None], "votes="),
        ([{}], "columns=None"),
        ([{**VOTE.fields(), "more": 1}], "too much"),
        ([{**VOTE.fields(), "columns": []}], "are missing"),
        ([{**VOTE.fields(), "columns": [-1]}], "columns="),
        ([{**VOTE.fields(), "columns": [True]}], "columns="),
        ([{**VOTE.fields(), "shape": [2, 1, 1]}], "are missing"),
        ([{**VOTE.fields(), "shape": [2, 0]}], "are missing"),
        ([{**VOTE.fields(), "shape": [2.0, 1]}], "shape="),
        ([{**VOTE.fields(), "shape": [2**40, 2**40]}], "bits=5"),
        ([{**VOTE.fields(), "shape": [2**40, 1]}], "max_bytes=1,024"),
        ([{**VOTE.fields(), "voters": []}], "are missing"),
        ([{**VOTE.fields(), "voters": ["a", 1]}], "voters="),
        ([{**VOTE.fields(), "voters": ["a" * 300]}], "1 to 256 characters"),
        ([{**VOTE.fields(), "voters": ["b", "a"]}], "not in order"),
        ([{**VOTE.fields(), "voters": ["a", "a"]}], "named twice"),
        ([{**VOTE.fields(), "voters": ["a", "ghost"]}], "1 who may not vote, such as 'ghost'"),
        ([{**VOTE.fields(), "rule": "all"}], "rule='all'"),
        ([{**VOTE.fields(), "rule": "plurality"}], "rule=.plurality."),
        ([{**VOTE.fields(), "digest": 3}], "digest=3"),
        ([{**VOTE.fields(), "bits": 63}], "bits=63"),
        ([{**VOTE.fields(), "bits": 5.0}], "bits=5.0"),
    ],
)
def test_invalid_terms_are_refused(words, message):
    with pytest.raises(ValueError, match=message):
        read_votes({"votes": words}, frozenset("abc"), 1_024)


def test_terms_survive_the_conversion_to_json():
    assert read_votes({"votes": [VOTE.fields()]}, frozenset("abc"), 1_024) == [VOTE]


def test_refusals_of_computing_parties(three):
    one = part([[1]], voters="ab", bits=2)
    there = three.begin(one.vote)
    deliver("a", [one], there)
    for name, parts, where, message in (
        ("a", [one], there, "'a' has sent shares before"),
        ("b", [one], replace(there, session="another"), "no such vote"),
        ("b", [one], replace(there, token="another"), "does not have the token"),
        ("b", [part([[1]], voters="ab", bits=3)], there, "'b' are for another vote"),
        # The coordinator has joined others, or in another order, than the voter was given.
        ("b", [one], replace(there, addresses=there.addresses[::-1]), "in one order"),
    ):
        with pytest.raises(ChannelError, match=message):
            deliver(name, parts, where)
    with (
        Connection(there.addresses[0]) as connection,
        pytest.raises(ChannelError, match="another vote is going on"),
    ):
        connection.ask("coordinate", Message("hello", {"token": there.token}), timeout=60)
    # None of that has come in.
    assert three.panel.received(there.session) == [{"a"}] * 3
    assert withdraw("a", there)
    assert not withdraw("a", Recipients("another", there.addresses, there.token))


def test_a_voter_that_breaks_off_has_sent_nothing(three):
    one = part([[1]], voters="ab", bits=2)
    there = three.begin(one.vote)
    words = {
        "name": "a",
        "session": there.session,
        "at": 0,
        "panel": [list(each) for each in there.addresses],
        "votes": [one.vote.fields()],
        "token": there.token,
    }
    for body in (None, b"", bytes(15), bytes(17), b"\xff" * 16):
        with Connection(there.addresses[0]) as connection:
            stream = connection.open("share")
            stream.ask(Message("share", words), "send", timeout=60)
            if body is not None:
                with pytest.raises(ChannelError):
                    stream.ask(Message("shares", {}, body), "added", timeout=60)
            stream.close()
    assert three.panel.received(there.session) == [set()] * 3
    # It may begin again, as long as nobody has its shares.
    for name in "ab":
        deliver(name, [one], there)
    assert three.panel.winners(there.session, one.vote).tolist() == [[0]]


class _Stream:
    """A stream of which the second answer is interrupted."""

    open = 3

    def __init__(self):
        self.replies = iter([Message("joined")])

    def ask(self, *_, **__):
        pass

    send = ask

    def receive(self, *_):
        try:
            return next(self.replies)
        except StopIteration:
            raise KeyboardInterrupt from None

    def close(self):
        _Stream.open -= 1


def test_after_an_interruption_nobody_reads_late_replies(monkeypatch):
    monkeypatch.setattr(Connection, "open", lambda *_: _Stream())
    panel = Panel([("127.0.0.1", 1)] * 3, "", timeout=1)
    assert not panel.closed
    with pytest.raises(KeyboardInterrupt):
        panel.begin([VOTE])
    assert panel.closed
    assert _Stream.open == 0
