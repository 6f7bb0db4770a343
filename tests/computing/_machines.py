"""Computing parties as on three machines, each a program with a certificate."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress

import pytest

HOST = "127.0.0.1"


def _free_ports():
    """Three of this worker's own: they stay free while a program starts anew.

    No connection is given one of them, as those are above 32,767.
    """
    found, block = [], 20_000 + os.getpid() % 1_000 * 12
    for port in range(block, block + 12):
        with suppress(OSError), socket.create_server((HOST, port)):
            found.append(port)
    return found[:3]


@contextmanager
def machines(authority, certificate):
    """Three that let "votes" hold votes; the certificate, of their host, is that of all."""
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")
    found = [(HOST, port) for port in _free_ports()]
    given = {"certificate": certificate, "key": certificate, "authority": authority}
    files = [text for name, file in given.items() for text in (f"--{name}", str(file))]
    panel = ["--computing", *(f"{host}:{port}" for host, port in found)]
    options = ["--coordinator", "votes", *files, *panel]
    program = [sys.executable, "-m", "secretballot.computing", *options]
    running = [
        subprocess.Popen(
            [*program, "--listen", f"{HOST}:{port}"],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        for _, port in found
    ]
    try:
        assert [int(each.stdout.readline()) for each in running] == [port for _, port in found]
        yield found
    finally:
        for each in running:
            each.kill()
            each.wait()
            each.stdout.close()
