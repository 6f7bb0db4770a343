"""Three computing parties as processes of this machine."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import secrets
import select
import subprocess
import sys
import tempfile
import weakref
from typing import IO, Any

from secretballot.computing._server import Address
from secretballot.computing._shares import N_COMPUTING
from secretballot.transport import ChannelError

#: Python would look for every module in the current folder first, without -P.
_PROGRAM = ("-P", "-m", "secretballot.computing")

#: Seconds in which a process ends that has lost the others.
_SOON = 2.0


class Processes:
    """Three new processes, which end with this object or with this process.

    Parameters
    ----------
    timeout : float
        Seconds that they may take to start.

    Attributes
    ----------
    addresses : list of (str, int)
        Of the loopback, on ports that were free.
    token : str
        What callers must know: others on this machine may reach the ports too.
    pids : list of int
    """

    def __init__(self, timeout: float) -> None:
        if importlib.util.find_spec("mpyc") is None:
            raise ImportError(
                "secret sharing computes with MPyC; install secretballot with its extra: "
                "secretballot[mpc]."
            )
        self.token = secrets.token_hex(32)
        self._running: list[subprocess.Popen[bytes]] = []
        self._said: list[IO[bytes]] = []
        self._end = weakref.finalize(self, _end, os.getpid(), self._running, self._said)
        try:
            for _ in range(N_COMPUTING):
                self._start()
            ports = [self._port(at, timeout) for at in range(N_COMPUTING)]
            self.addresses: list[Address] = [("127.0.0.1", port) for port in ports]
        except BaseException:
            self.close()
            raise

    @property
    def pids(self) -> list[int]:
        """Their process numbers."""
        return [each.pid for each in self._running]

    def post_mortem(self) -> str:
        """Say which of them have ended, and how; those who have lost another are about to."""
        ends = []
        for at, (each, said) in enumerate(zip(self._running, self._said, strict=True)):
            with contextlib.suppress(subprocess.TimeoutExpired):
                each.wait(_SOON)
            if (code := each.returncode) not in (None, 0):
                how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
                said.seek(0)
                last = said.read().decode(errors="replace").strip().splitlines()[-1:]
                ends.append(f"computing party {at} {how}" + "".join(f" ({line})" for line in last))
        return "; ".join(ends)

    def close(self) -> None:
        """End them."""
        self._end()

    def _start(self) -> None:
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed when they end
        self._said.append(errors)
        running = subprocess.Popen(
            [sys.executable, *_PROGRAM, "--child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=_environment(),
        )
        self._running.append(running)
        assert running.stdin is not None
        running.stdin.write(json.dumps({"token": self.token}).encode() + b"\n")
        running.stdin.flush()

    def _port(self, at: int, timeout: float) -> int:
        said = self._running[at].stdout
        assert said is not None
        line = said.readline() if select.select([said], [], [], timeout)[0] else b""
        if not line.strip().isdigit():
            raise ChannelError(
                f"computing party {at} did not start within {timeout:g} s. {self.post_mortem()}"
            )
        return int(line)


def _environment() -> dict[str, str]:
    """Return what a computing party needs: no settings of MPyC's, and threads don't help it."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MPYC_")}
    paths = os.pathsep.join(path for path in sys.path if path)
    return {**kept, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}


def _end(owner: int, running: list[Any], said: list[IO[bytes]]) -> None:
    if os.getpid() != owner:
        return  # a forked child has them not
    for each in running:
        each.kill()
    for each in running:
        each.wait()
        each.stdin.close()
        each.stdout.close()
    for errors in said:
        errors.close()
