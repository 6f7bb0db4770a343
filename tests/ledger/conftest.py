"""Stores that the tests of a ledger's promises run on: a file, and a server."""

from __future__ import annotations

import itertools
import os

import pytest
from tests.ledger._server import Server, needs_server, running

from secretballot.ledger import _ledger

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server that all tests of a process share, each with ledgers of its own."""
    needs_server()
    with running(Server()) as started:
        yield started
        from secretballot.ledger._server_connection import close_unused

        close_unused()


@pytest.fixture
def url(server):
    """URL of a ledger that is not there yet."""
    return server.url(f"test-{os.getpid()}-{next(_numbers)}")


@pytest.fixture
def frequent_checkpoints(monkeypatch):
    """Store sums with every 4th entry, not every 64th."""
    monkeypatch.setattr(_ledger, "CHECKPOINT_EVERY", 4)


@pytest.fixture(params=["file", "server"])
def name(request, tmp_path):
    """Name of a ledger that is not there yet, on either store."""
    if request.param == "file":
        return str(tmp_path / "budget.ledger")
    return request.getfixturevalue("url")
