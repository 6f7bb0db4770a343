"""Memory of readers whom others send as much as they may, and tables that become more."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.attacks._hostile_messages import AGREEMENT as OTHER
from tests.collaboration.remote._processes import Sites
from tests.collaboration.remote._site import AGREEMENT
from tests.transport._certificates import HOST, Authority

from secretballot.collaboration.remote._arrow import encode
from secretballot.collaboration.remote._terms import Terms
from secretballot.transport import ChannelError, Connection, Message, Server

#: The longest message that a reader declares.
LIMIT = 2**25
assert OTHER.parties == AGREEMENT.parties


def texts(n, cell, tag="object"):
    return encode({"0:a": pa.array([cell] * n, pa.large_string())}, {"0:a": tag})


def bombs():
    """Words and bodies of tables that are as long as may be, or become longer."""
    cells = LIMIT // 8
    yield "numbers", {"table": "array", "arrays": [["<f8", [cells // 2, 2]]]}, bytes(LIMIT)
    yield "booleans", {"table": "array", "arrays": [["|b1", [LIMIT // 2, 2]]]}, bytes(LIMIT)
    forms = [["<f8", [10]], ["<i4", [10]], ["<i8", [cells - 20]]]
    indptr = np.minimum(np.arange(cells - 20), 10)
    rows = np.concatenate([np.zeros(10), np.zeros(6), indptr.view(float)]).tobytes()
    shape = {"shape": [cells - 21, 2]}
    yield "empty sparse rows", {"table": "csr_array", "arrays": forms, **shape}, rows
    # The most that is still read, and what is just beyond it.
    for n in (LIMIT // 70, LIMIT // 40):
        yield f"{n} texts", {"table": "pandas"}, texts(n, "ab")
        yield f"{n} strings", {"table": "pandas"}, texts(n, "ab", "str")
        yield (
            f"{n} lines",
            {"table": "texts"},
            encode({"": pa.array(["ab"] * n, pa.large_string())}, {"": "text"}),
        )
    long = pa.array(["a" * 2**15, *[""] * 2**15], pa.large_string())
    yield (
        "one long text",
        {"table": "text", "shape": [2**15 + 1, 1]},
        encode({"": long}, {"": "text"}),
    )
    yield "wide characters", {"table": "pandas"}, texts(1, "a" * (LIMIT - 2**12) + "𝄞")
    column, n = pa.array([True] * 64), LIMIT // 2_400
    names = [f"{at}:c" for at in range(n)]
    columns, tags = dict.fromkeys(names, column), dict.fromkeys(names, "bool")
    yield "many columns", {"table": "pandas"}, encode(columns, tags)
    codes = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(LIMIT // 2, np.int8)), pa.array(["a" * 2**20], pa.large_string())
    )
    yield "codes", {"table": "pandas"}, encode({"0:a": codes}, {"0:a": "category:object"})
    bits = pa.array(np.zeros(LIMIT, bool))
    yield "bits", {"table": "pandas"}, encode({"0:a": bits}, {"0:a": "bool"})
    # Names and tags, and the longest list of categories that is still read.
    lists, some = "[],", ",".join(f'"{at:x}"' for at in range(LIMIT // 150))
    for name, tag in (
        ("0:a", f"[{lists * (LIMIT // 3 - 2**10)}1]"),
        ("0:a", f"[{lists * (LIMIT // 50)}1]"),
        ("0:a", f"[{some}]"),
        ("0:a", f"datetime64[ns, {'a' * (LIMIT - 2**12)}]"),
        ("0:" + "a" * (LIMIT // 2) + "𝄞", "str"),
    ):
        described = encode({name: pa.array(["1"], pa.large_string())}, {name: tag})
        for kind in ("pandas", "polars"):
            yield f"{kind}: {name[:9]} of {tag[:20]}", {"table": kind}, described
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([pa.array(np.zeros(2**26))], names=["0:a"])
    with pa.ipc.new_stream(
        sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as writer:
        writer.write_batch(batch)
    yield "compressed", {"table": "pandas"}, memoryview(sink.getvalue())


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

    def ask(name, words, body, told):
        given = sites.authority.of_party(name)
        with (
            Connection(address, credentials=given) as connection,
            suppress(ChannelError),
        ):
            line = connection.open("ask", timeout=60)
            try:
                line.send(Message("ask", words, body))
                told.append(line.receive(60).kind)
                told.append(line.receive(60).kind)
            finally:
                line.close()

    ask("south", {"table": "array", "arrays": [["<f8", [2, 2]]]}, bytes(32), [])
    most = 0
    for what, words, body in bombs():
        if memoryview(body).nbytes > LIMIT:
            continue
        peak.start()
        told = []
        names = ["south", "north", "west"] * 2
        asking = [threading.Thread(target=ask, args=[name, words, body, told]) for name in names]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        most = max(most, peak.grown())
        assert told, what
        assert peak.grown() < 4 * LIMIT, f"{what}: {peak.grown() / LIMIT:.1f} times the limit"
    counts("per cent of the longest message that a server took", round(100 * most / LIMIT))


def test_a_party(sites, counts):
    sent, answered = [], []

    def tell_terms(line):
        line.receive(60)
        terms = Terms(AGREEMENT, (0, 1), None, "trusted")
        yield Message("terms", {**terms.said(), "name": line.caller})

    def let_in(line):
        line.receive(60)
        sent.append(line)
        yield Message("joined")
        yield from line.outgoing()

    methods = {"terms": tell_terms, "join": let_in}
    with Server(
        (HOST, 0), methods, credentials=sites.authority.of_server(), names=["south"]
    ) as server:
        south = sites.start("south", server.address, max_bytes=LIMIT)
        (line,) = sent
        peak, most = Peak(south), 0
        small = {"table": "array", "arrays": [["<f8", [2, 2]]]}
        for what, words, body in [("small", small, bytes(32)), *bombs()]:
            asked = {**words, "question": "q", "asker": "north"}
            peak.start()
            answer = line.ask(Message("invite", asked, body), "invited", "cannot", timeout=60)
            answered.append(answer.kind)
            if what != "small":
                most = max(most, peak.grown())
                assert peak.grown() < 4 * LIMIT, f"{what}: {peak.grown() / LIMIT:.1f} times"
        assert set(answered) == {"invited", "cannot"}
        too_long = {**small, "question": "q", "asker": "north"}
        with pytest.raises(ChannelError, match="connection|refused"):
            line.ask(Message("invite", too_long, bytes(2 * LIMIT)), "cannot", timeout=60)
    assert most > LIMIT / 2
    counts("per cent of the longest message that a party took", round(100 * most / LIMIT))
