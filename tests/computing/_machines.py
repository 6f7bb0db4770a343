"""Computing parties as on three machines, each a program with a certificate."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

HOST = "127.0.0.1"


@contextmanager
def machines(authority, certificate):
    """Three that let "votes" hold votes; the certificate, of their host, is that of all."""
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")
    taken = [socket.create_server((HOST, 0)) for _ in range(3)]
    found = [each.getsockname() for each in taken]
    for each in taken:
        each.close()
    given = {"certificate": certificate, "key": certificate, "authority": authority}
    files = [text for name, file in given.items() for text in (f"--{name}", str(file))]
    program = [sys.executable, "-m", "secretballot.computing", "--coordinator", "votes", *files]
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
