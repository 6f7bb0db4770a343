"""Memory of readers whom others send as much as they may, and tables that become more."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from tests.attacks._hostile_messages import AGREEMENT as OTHER
from tests.collaboration.remote._processes import Sites
from tests.collaboration.remote._site import AGREEMENT
from tests.collaboration.remote.test_tables import frame, table
from tests.transport._certificates import HOST, Authority

from secretballot.parties._channel import Connection, Server
from secretballot.parties._stream import ChannelError, Message
from secretballot.parties._terms import VoteTerms

#: The longest message that a reader declares.
LIMIT = 2**25
assert OTHER.parties == AGREEMENT.parties


def bombs():
    """Fields and bodies of tables that are as long as may be, or become longer."""
    cells = LIMIT // 8
    yield "numbers", *table("array", np.zeros((cells // 2, 2)))
    yield "booleans", *table("array", np.zeros((LIMIT // 2, 2), bool))
    empty, indptr = np.zeros(10, np.int32), np.minimum(np.arange(cells - 20), 10)
    yield (
        "empty sparse rows",
        *table("csr_array", np.zeros(10), empty, indptr, shape=[cells - 21, 2]),
    )
    # The most that is still read, and what is just beyond it.
    for n in (LIMIT // 70, LIMIT // 40):
        yield f"{n} texts", *frame("object", ["ab"] * n)
        yield f"{n} strings", *frame("str", ["ab"] * n)
        yield f"{n} lines", *table("texts", ["ab"] * n)
        yield f"{n} of polars", *frame("String", ["ab"] * n, kind="polars")
        yield f"{n} categories of polars", *frame("Categorical", ["ab"] * n, kind="polars")
    yield "one long text", *table("text", ["a" * 2**15, *[""] * 2**15], shape=[2**15 + 1, 1])
    yield "wide characters", *frame("object", ["a" * (LIMIT - 2**12) + "𝄞"])
    yield "missing texts", *frame("object", [None] * (LIMIT // 110))
    for n in (LIMIT // 9_000, LIMIT // 1_900):
        for kind, tag, parts in (("pandas", "bool", 1), ("polars", "Boolean", 2)):
            columns = [[f"c{at}", tag] for at in range(n)]
            yield f"{n} columns", *table(kind, *[np.zeros(64, bool)] * parts * n, columns=columns)
    codes = np.zeros(LIMIT // 2, np.int8)
    yield "codes", *frame("category:object", codes, ["a" * 2**20])
    yield "bits", *frame("bool", np.zeros(LIMIT, bool))
    yield "masks", *frame("Int8", np.zeros(LIMIT // 2, np.int8), np.zeros(LIMIT // 2, bool))
    numbers, nulls = np.zeros(LIMIT // 9), np.zeros(LIMIT // 9, bool)
    yield "numbers of polars", *frame("Float64", numbers, nulls, kind="polars")
    # Fields become lists of many empty ones.
    yield "long fields", {"table": "array", "arrays": [[]] * (2**20 // 4 - 99)}, b""
    yield "long zone", *frame(f"datetime64[ns, {'a' * 2**19}]", np.zeros(1, "M8[ns]"))


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("certificates"))
    made = Sites(authority, tmp_path_factory.mktemp("sites"))
    for name in ("south", "north", "west"):
        authority.made(name)
    yield made
    made.close()


class Peak:
    """The most memory that a process had since it was last asked."""

    def __init__(self, process):
        self._folder = Path("/proc", str(process.process.pid))
        if not (self._folder / "clear_refs").exists():
            pytest.skip("the most memory of a process is not told here")

    def start(self):
        (self._folder / "clear_refs").write_text("5")
        self._before = self._told("VmRSS")

    def grown(self):
        return self._told("VmHWM") - self._before

    def _told(self, what):
        lines = (self._folder / "status").read_text().splitlines()
        return next(1_024 * int(line.split()[1]) for line in lines if line.startswith(what))


def test_a_server(sites, counts):
    serving, address = sites.serve(max_bytes=LIMIT)
    peak = Peak(serving)

    def ask(name, fields, body, replies):
        certificate = sites.authority.of_party(name)
        with (
            Connection(address, credentials=certificate) as connection,
            suppress(ChannelError),
        ):
            stream = connection.open("ask", timeout=60)
            try:
                stream.send(Message("ask", fields, body))
                replies.append(stream.receive(60).kind)
                replies.append(stream.receive(60).kind)
            finally:
                stream.close()

    ask("south", {"table": "array", "arrays": [["<f8", [2, 2]]]}, bytes(32), [])
    most = 0
    for what, fields, body in bombs():
        if memoryview(body).nbytes > LIMIT:
            continue
        peak.start()
        replies = []
        names = ["south", "north", "west"] * 2
        asking = [
            threading.Thread(target=ask, args=[name, fields, body, replies], daemon=True)
            for name in names
        ]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join(120)
        most = max(most, peak.grown())
        assert replies, what
        assert peak.grown() < 4 * LIMIT, f"{what}: {peak.grown() / LIMIT:.1f} times the limit"
    counts("per cent of the longest message that a server took", round(100 * most / LIMIT))


def test_a_party(sites, counts):
    sent, answered = [], []

    def tell_terms(stream):
        stream.receive(60)
        terms = VoteTerms(AGREEMENT, (0, 1), None, "trusted")
        stream.send(Message("terms", {**terms.fields(), "name": stream.caller}))

    def let_in(stream):
        stream.receive(60)
        sent.append(stream)
        stream.send(Message("joined"))
        stream.wait_closed()

    methods = {"terms": tell_terms, "join": let_in}
    with Server(
        (HOST, 0), methods, credentials=sites.authority.of_server(), names=["south"]
    ) as server:
        south = sites.start("south", server.address, max_bytes=LIMIT)
        (stream,) = sent
        peak, most = Peak(south), 0
        small = {"table": "array", "arrays": [["<f8", [2, 2]]]}
        for what, fields, body in [("small", small, bytes(32)), *bombs()]:
            asked = {**fields, "question": "q", "asker": "north"}
            peak.start()
            answer = stream.ask(Message("invite", asked, body), "invited", "cannot", timeout=60)
            answered.append(answer.kind)
            if what != "small":
                most = max(most, peak.grown())
                assert peak.grown() < 4 * LIMIT, f"{what}: {peak.grown() / LIMIT:.1f} times"
        assert set(answered) == {"invited", "cannot"}
        too_long = {**small, "question": "q", "asker": "north"}
        with pytest.raises(ChannelError, match="connection|refused"):
            stream.ask(Message("invite", too_long, bytes(2 * LIMIT)), "cannot", timeout=60)
    assert most > LIMIT / 2
    counts("per cent of the longest message that a party took", round(100 * most / LIMIT))
