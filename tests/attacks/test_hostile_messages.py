"""Bytes at a server's port, messages and tables from strangers, parties and servers that lie."""

from __future__ import annotations

import socket
import ssl
import time
from contextlib import contextmanager, suppress

import numpy as np
import psutil
import pytest
from tests.attacks._hostile_messages import (
    client_hello,
    hostile_call,
    http2,
    lie_to_a_party,
    lie_to_a_server,
    lie_to_an_asker,
)
from tests.attacks._hostile_tables import hostile_table, read
from tests.attacks._mutations import mutated_bytes
from tests.collaboration.remote._processes import Sites
from tests.collaboration.remote._site import AGREEMENT, ROWS, budget, trained
from tests.transport._certificates import HOST, Authority
from tests.transport._health import check_health

from secretballot.parties import Membership
from secretballot.parties._channel import Connection

#: Noise of other processes is not seeded; it would have to be 100 deviations off.
pytestmark = pytest.mark.unseeded

VOTERS = ("east", "west")


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """A server and two voters, in processes of their own."""
    authority = Authority(tmp_path_factory.mktemp("certificates"))
    made = Sites(authority, tmp_path_factory.mktemp("sites"))
    for name in ("south", "north", "centre"):
        authority.made(name)
    yield made
    made.close()


@pytest.fixture(scope="module")
def served(sites):
    """The server's process and address; voters are there."""
    server, address = sites.serve()
    for name in VOTERS:
        sites.start(name, address)
    return psutil.Process(server.process.pid), address


@contextmanager
def unharmed(sites, served, counts):
    """See that a server has what it had, and that a vote costs what one vote costs."""
    process, address = served
    before = process.memory_info().rss
    spent = [sites.spent(name) for name in VOTERS]
    yield address
    begun = time.monotonic()
    with Connection(address, credentials=sites.authority.of_party("south")) as connection:
        check_health(connection)
    counts("milliseconds to answer after it", round(1_000 * (time.monotonic() - begun)))
    assert time.monotonic() - begun < 1
    asker = Membership(
        trained("centre", budget()),
        address,
        credentials=sites.authority.of_party("centre"),
        agreement=AGREEMENT,
    )
    answer = asker.ask(ROWS)
    assert (answer.voters, answer.labels.tolist()) == (VOTERS, [1, 0])
    one = budget()
    one.reserve(AGREEMENT.mechanism, len(ROWS), n_columns=2)
    for name, earlier in zip(VOTERS, spent, strict=True):
        assert sites.spent(name) - earlier == pytest.approx(one.spent().share, rel=1e-6)
    grown = process.memory_info().rss - before
    counts("bytes that the server has more", grown)
    assert grown < 2**27
    assert process.num_threads() < 100


def test_tables(counts):
    taken = 0
    for seed in range(8_000):
        taken += read(*hostile_table(np.random.default_rng(seed))) is not None
    counts("mutated tables", 8_000)
    counts("of them still tables", taken)
    assert 100 < taken < 4_000


@pytest.mark.parametrize(
    ("lie", "n"), [(lie_to_a_party, 100), (lie_to_a_server, 1_000), (lie_to_an_asker, 1_000)]
)
def test_lies(lie, n, counts):
    taken = sum(lie(np.random.default_rng(seed)) for seed in range(n))
    counts(f"messages of {lie.__name__}", 20 * n if lie is lie_to_a_party else n)
    counts("of them still right", taken)
    assert 0 < taken < 20 * n


def test_messages_to_a_server(sites, served, counts):
    with (
        unharmed(sites, served, counts) as address,
        Connection(address, credentials=sites.authority.of_party("north")) as connection,
    ):
        taken = sum(hostile_call(np.random.default_rng(seed), connection) for seed in range(1_000))
        counts("mutated messages to a server", 1_000)
        counts("of them answered", taken)


def test_bytes_at_the_port(sites, served, counts):
    hello = client_hello()
    with unharmed(sites, served, counts) as address:
        for seed in range(1_500):
            rng = np.random.default_rng(seed)
            with socket.create_connection(address) as plain, suppress(OSError):
                plain.sendall(mutated_bytes(rng, hello, [http2()]))
    counts("mutated bytes before TLS", 1_500)


def test_bytes_within_tls(sites, served, counts):
    context = ssl.create_default_context(cafile=sites.authority.folder / "authority.pem")
    context.load_cert_chain(sites.authority.folder / "south.pem")
    context.set_alpn_protocols(["h2"])
    right = http2()
    with unharmed(sites, served, counts) as address:
        for seed in range(1_500):
            rng = np.random.default_rng(seed)
            with (
                socket.create_connection(address) as plain,
                context.wrap_socket(plain, server_hostname=HOST) as secure,
                suppress(OSError),
            ):
                secure.settimeout(0.02)
                secure.sendall(mutated_bytes(rng, right, [right]) if seed else right)
                while secure.recv(2**16):
                    pass
    counts("mutated bytes within TLS", 1_500)
