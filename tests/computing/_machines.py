"""Computing parties as on three machines, each a program with a certificate."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress

import pytest

HOST = "127.0.0.1"
#: Seconds after which a program that says nothing fails the test.
PATIENCE = 60


def _free_ports():
    """Three of this worker's own: they stay free while a program starts anew.

    No connection is given one of them, as those are above 32,767.
    """
    ports, block = [], 20_000 + os.getpid() % 1_000 * 12
    for port in range(block, block + 12):
        with suppress(OSError), socket.create_server((HOST, port)):
            ports.append(port)
    return ports[:3]


class Machines(list):
    """Their addresses, and the programs that run there."""

    def __init__(self, options):
        super().__init__((HOST, port) for port in _free_ports())
        panel = [f"{host}:{port}" for host, port in self]
        self._program = [sys.executable, "-m", "secretballot.computing", *options]
        self._program += ["--computing", *panel, "--listen"]
        self.running = [self._started(port) for _, port in self]
        self._listening(self.running)

    @property
    def pids(self):
        return [each.pid for each in self.running]

    def lose(self, at):
        """Kill one of them."""
        self.running[at].kill()
        self.running[at].wait(PATIENCE)
        self.running[at].stdout.close()

    def restart(self, at):
        """Start one anew that was lost."""
        self.running[at] = self._started(self[at][1])
        self._listening(self.running[at : at + 1])

    def _started(self, port):
        path = os.pathsep.join(filter(None, sys.path))
        return subprocess.Popen(
            [*self._program, f"{HOST}:{port}"],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )

    def _listening(self, running):
        ports = set()
        for each in running:
            assert select.select([each.stdout], [], [], PATIENCE)[0], "a program says nothing"
            ports.add(int(each.stdout.readline()))
        assert ports <= {port for _, port in self}


@contextmanager
def machines(authority, certificate, voters, *more):
    """Three that let "votes" hold votes; the certificate, of their host, is that of all."""
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")
    files = {"certificate": certificate, "key": certificate, "authority": authority}
    arguments = [text for name, file in files.items() for text in (f"--{name}", str(file))]
    computing_parties = Machines(["--coordinator", "votes", "--voters", *voters, *arguments, *more])
    try:
        yield computing_parties
    finally:
        for at in range(len(computing_parties)):
            computing_parties.lose(at)
