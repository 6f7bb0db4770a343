"""Bytes between computing parties: numbers, never code, and no more than may wait."""

from __future__ import annotations

import asyncio
import pickle

import numpy as np
import pytest
from tests._programs import run_python
from tests.computing._exchange import HELLO, Runtime, Sent, head

from secretballot.computing import PRIME
from secretballot.computing._mpyc import MOST_WAITING, _from_bytes, _to_bytes, link


class Code:
    def __reduce__(self):
        return (pytest.fail, ("what another computing party sends was run",))


def test_messages_are_numbers():
    numbers = np.array([0, 1, 2**64, PRIME - 1], dtype=object)
    assert _from_bytes(_to_bytes(numbers)).tolist() == numbers.tolist()
    for data in (b"\xff" * 16, b"\0" * 15, *(pickle.dumps(Code(), protocol=at) for at in range(6))):
        with pytest.raises(ValueError, match=r"no element|are not \d+ shares"):
            _from_bytes(data)


@pytest.fixture
def linked():
    """A link of party 1 to party 0."""
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")
    return lambda: link(Runtime(), Sent(), 0, False)


#: MPyC is imported where it ends with the process.
PROGRAM = """
import asyncio, pickle
from secretballot.computing._mpyc import new_runtime

class Code:
    def __reduce__(self):
        return (print, ("what another computing party sends was run",))

async def made():
    new_runtime(0)
    import mpyc.runtime
    try:
        mpyc.runtime.pickle.loads(pickle.dumps(Code()))
    except ValueError as error:
        print("refused:", error)

asyncio.run(made())
"""


def test_mpyc_itself_runs_no_code():
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")
    done = run_python("-c", PROGRAM)
    assert done.stdout.startswith("refused: ")
    assert "was run" not in done.stdout


def test_waiting_bytes_are_bounded(linked):
    async def attack():
        one = linked()
        one.data_received(HELLO)
        many = MOST_WAITING // (2**20 + 12)
        for place in range(many - 1):
            one.data_received(head(place, 2**20) + bytes(2**20))
        two = [head(place, 2**20) + bytes(2**20) for place in (many, many + 1)]
        with pytest.raises(ConnectionError, match="of party 0 wait"):
            one.data_received(b"".join(two))
        with pytest.raises(ConnectionError, match="of party 0 wait"):
            linked().data_received(HELLO + head(1, 2**32 - 1))
        with pytest.raises(ConnectionError, match="of party 0 wait"):
            linked().data_received(HELLO + b"".join(head(at, 0) for at in range(300_000)))

    asyncio.run(attack())


def test_a_peer_with_the_index_of_another_is_refused(linked):
    async def attack():
        with pytest.raises(ConnectionError, match="party 0 says that it is 2"):
            linked().data_received((2).to_bytes(2, "little") + bytes(16))

    asyncio.run(attack())


def test_bytes_written_in_one_step_are_one_message():
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")

    async def sent():
        stream = Sent()
        one = link(Runtime(), stream, 1, True)
        for place in range(10):
            one.send(place, b"abc")
        one.send(11, bytes(2**20))
        await asyncio.sleep(0)
        return stream.bodies, one

    bodies, one = asyncio.run(sent())
    assert [len(each) for each in bodies] == [2**20, sum(map(len, bodies)) - 2**20]
    assert b"".join(bodies).startswith((0).to_bytes(2, "little"))
    assert one.n_sent == 11
    one.close_connection()
