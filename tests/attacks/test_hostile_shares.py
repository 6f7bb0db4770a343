"""Bytes and messages that are no shares, floods and silence, at computing parties.

All mutations come from generators with a seed, so that what is found can be found again.
"""

from __future__ import annotations

import asyncio
import itertools
import pickle
import socket
import ssl
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import grpc
import numpy as np
import pytest
from tests.attacks._hostile_votes import (
    LIMIT,
    SOON,
    VOTERS,
    peak,
    refused,
    there,
)
from tests.attacks._mutations import mutated_bytes, mutated_words
from tests.computing._exchange import HELLO, Runtime, Sent, head
from tests.computing._machines import HOST
from tests.computing._votes import part
from tests.transport._certificates import credentials

from secretballot.computing import PRIME, deliver
from secretballot.computing._mpyc import MOST_WAITING, _from_bytes, link
from secretballot.transport import Connection, Message

pytestmark = pytest.mark.unseeded


def _is_sendable(message):
    with suppress(ValueError):
        return bool(message.head())
    return False


def _said(connection, hello, body):
    """Say something, and send a body if that is let in."""
    stream = connection.open(hello.kind, timeout=SOON)
    try:
        stream.send(hello)
        if stream.receive(SOON).kind == "send":
            stream.send(Message("shares", {}, body))
            stream.receive(SOON)
    finally:
        stream.close()


def test_messages_to_a_computing_party(addresses, panel, authority, counts):
    rng = np.random.default_rng(1)
    one = part([[1], [2]], voters="ab")
    session = panel.begin([one.vote])
    words = {
        "name": "b",
        "session": session,
        "at": 0,
        "panel": [list(each) for each in addresses],
        "votes": [one.vote.fields()],
        "token": "",
    }
    hello = {"share": words, "withdraw": words, "peer": {"index": 0, "token": ""}}
    n_refused, n_odd = 0, 0
    with ExitStack() as stack:
        callers = {
            method: stack.enter_context(
                Connection(addresses[0], credentials=credentials(authority.folder, who))
            )
            for method, who in (("share", "b"), ("withdraw", "b"), ("peer", "server"))
        }
        for at in range(3_600):
            method = ("share", "share", "withdraw", "peer")[at % 4]
            said, body = Message(method, mutated_words(rng, hello[method])), b"\xff" * 32
            if at % 8 == 0:  # well said, and a body that is none
                said, body = Message(method, hello["share"]), mutated_bytes(rng, body) + b"\xff"
            while not _is_sendable(said):
                said = Message(method, mutated_words(rng, hello[method]))
            is_refused = refused(_said, callers[method], said, body)
            n_refused, n_odd = n_refused + is_refused, n_odd + (not is_refused)
        for at in range(2_400):
            method = ("share", "withdraw", "peer")[at % 3]
            sound = Message(method, hello[method]).head()
            call = callers[method]._channel.stream_stream(f"/secretballot/{method}")
            answers = call(iter([mutated_bytes(rng, sound), rng.bytes(8)]), timeout=SOON)
            with pytest.raises(grpc.RpcError) as error:
                list(answers)
            assert error.value.code() != grpc.StatusCode.INTERNAL, method
            n_refused += 1
    assert n_odd == 0
    # The vote goes on.
    for name in "ab":
        deliver(name, [one], there(session, panel, authority, name))
    assert panel.winners(session, one.vote).tolist() == [[0], [0]]
    counts("mutated messages to a computing party refused", n_refused)


class _Code:
    def __reduce__(self):
        return (print, ("a computing party runs what another sends",))


def test_bytes_between_computing_parties(counts, capfd):
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")
    rng, n_refused, n_waiting = np.random.default_rng(2), 0, 0
    numbers = np.array([0, 1, 2**64, PRIME - 1], dtype=object)
    good = b"".join(int(number).to_bytes(16, "little") for number in numbers)
    assert _from_bytes(good).tolist() == numbers.tolist()
    for at in range(1_000):
        data = pickle.dumps(_Code(), protocol=at % 6) if at % 4 == 0 else mutated_bytes(rng, good)
        with suppress(ValueError):
            received = _from_bytes(data)
            assert all(0 <= number < PRIME for number in received)
            n_waiting += 1
            continue
        n_refused += 1

    async def attack():
        nonlocal n_refused, n_waiting
        stream = HELLO + b"".join(head(place, len(good)) + good for place in range(4))
        for _ in range(1_000):
            exchanger = link(Runtime(), Sent(), 0, False)
            data = mutated_bytes(rng, stream)
            try:
                for start in range(0, len(data), 50):
                    exchanger.data_received(data[start : start + 50])
                n_waiting += 1
            except Exception:
                n_refused += 1
            n_waiting_bytes = sum(
                len(each) for each in exchanger.buffers.values() if isinstance(each, bytes)
            )
            assert len(exchanger.bytes) + n_waiting_bytes <= MOST_WAITING + len(data)
        # Messages that nobody waits for, and one that is announced and never comes.
        exchanger, big = link(Runtime(), Sent(), 0, False), bytes(2**20)
        exchanger.data_received(HELLO)
        for place in range(MOST_WAITING // len(big) - 1):
            exchanger.data_received(head(place, len(big)) + big)
        with pytest.raises(ConnectionError, match="wait"):
            exchanger.data_received(head(-1 % 1_000, len(big)) + big)
        with pytest.raises(ConnectionError, match="wait"):
            link(Runtime(), Sent(), 0, False).data_received(HELLO + head(0, 2**32 - 1))

    asyncio.run(attack())
    assert "runs what another sends" not in capfd.readouterr().out
    counts("mutated bytes between computing parties refused", n_refused)
    counts("mutated bytes between them that are numbers, or wait within the limit", n_waiting)


def test_memory_of_a_computing_party(addresses, panel, authority, counts):
    # Three voters, each in as many calls as it may have, send as much as may be, and more.
    one = part(np.zeros((LIMIT // 16, 1), np.int64), voters=VOTERS)
    words = {"at": 0, "panel": [list(each) for each in addresses], "votes": [one.vote.fields()]}
    Path(f"/proc/{addresses.pids[0]}/clear_refs").write_text("5")  # the peak begins anew
    before, n_refused = peak(addresses.pids[0]), 0
    for body in (bytes(2 * LIMIT), b"\xff" * 2 * LIMIT):  # the first ones are shares
        session, ends = panel.begin([one.vote]), []

        def flood(name, size, body=body, session=session, ends=ends):
            hello = Message("share", {**words, "session": session, "name": name})
            with Connection(addresses[0], credentials=credentials(authority.folder, name)) as to:
                ends.append(refused(_said, to, hello, memoryview(body)[:size]))

        sizes = (LIMIT, LIMIT, LIMIT - 1, LIMIT + 1, 2 * LIMIT)
        threads = [
            threading.Thread(target=flood, args=each, daemon=True)
            for each in itertools.product(VOTERS, sizes)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert len(ends) == len(threads)
        assert len(ends) - sum(ends) == len(panel.received(session)[0])
        n_refused += sum(ends)
    more = peak(addresses.pids[0]) - before
    assert n_refused >= 2 * len(threads) - len(VOTERS)
    assert more < 4 * LIMIT
    # A vote of as much as may be goes on, while it is answered at once who is asked.
    session = panel.begin([one.vote])
    where = there(session, panel, authority, "a")
    sent = threading.Thread(target=deliver, args=("a", [one], where), daemon=True)
    sent.start()
    longest, end = 0.0, time.monotonic() + SOON
    while sent.is_alive() and time.monotonic() < end:
        begun = time.monotonic()
        panel.received(session)
        longest = max(longest, time.monotonic() - begun)
    sent.join(120)
    assert longest < 2
    assert panel.received(session) == [{"a"}] * 3
    counts("floods refused", n_refused)
    counts("memory that floods took, in percent of the limit", round(100 * more / LIMIT))
    counts("milliseconds for an answer while a voter sends", round(1_000 * longest))


def test_silent_and_slow_connections(addresses, panel, authority, counts):
    context = ssl.create_default_context(cafile=authority.folder / "authority.pem")
    context.load_cert_chain(authority.folder / "a.pem")
    context.set_alpn_protocols(["h2"])
    one = part([[1]], voters="ab")
    session = panel.begin([one.vote])
    with ExitStack() as stack:
        for at in range(200):
            plain = stack.enter_context(socket.create_connection(addresses[at % 3]))
            if at % 4 == 1:
                plain.sendall(b"\x16\x03\x01")
            if at % 10 == 2:
                secure = stack.enter_context(context.wrap_socket(plain, server_hostname=HOST))
                secure.sendall(b"PRI * HTTP/2.0")
        # A voter that says nothing on its streams, and one that begins and never ends.
        slow = stack.enter_context(
            Connection(addresses[0], credentials=credentials(authority.folder, "a"))
        )
        for _ in range(4):
            slow.open("share")
        begun = time.monotonic()
        for name in "ab":
            deliver(name, [one], there(session, panel, authority, name))
        seconds = time.monotonic() - begun
        assert panel.winners(session, one.vote).tolist() == [[0]]
    assert seconds < 1
    counts("silent and slow connections", 204)
    counts("milliseconds for two voters' shares beside them", round(1_000 * seconds))


def test_fields_that_are_no_json_object(addresses, authority, counts):
    certificate = credentials(authority.folder, "b")
    texts = [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"[" * 10**5,
        b"\xff\xfe",
        b'{"kind": 1}',
    ]
    with Connection(addresses[0], credentials=certificate) as connection:
        for method, text in itertools.product(("share", "withdraw", "none"), texts):
            call = connection._channel.stream_stream(f"/secretballot/{method}")
            with pytest.raises(grpc.RpcError) as error:
                list(call(iter([text]), timeout=SOON))
            assert error.value.code() != grpc.StatusCode.INTERNAL
    counts("words that are none, refused", 3 * len(texts))
