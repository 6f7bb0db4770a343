"""Three computing parties as processes of this machine."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import select
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Sequence
from typing import IO

from secretballot.computing._shares import N_COMPUTING
from secretballot.transport import Address, ChannelError

#: Python would look for every module in the current folder first, without -P.
_PROGRAM = ("-P", "-m", "secretballot.computing")

#: Seconds until processes end that have lost another.
_SOON = 2.0


class Processes:
    """Three new computing parties on this machine, which end with this object or this process.

    Callers need the `token`: others on this machine can reach the ports too. `timeout` limits the
    seconds until all have started.
    """

    def __init__(self, timeout: float) -> None:
        if importlib.util.find_spec("mpyc") is None:
            raise ImportError(
                "secret sharing computes with MPyC; install secretballot with its extra: "
                "secretballot[mpc]."
            )
        self.token = secrets.token_hex(32)
        self._running: list[subprocess.Popen[bytes]] = []
        self._errors: list[IO[bytes]] = []
        self._end = weakref.finalize(self, _end, os.getpid(), self._running, self._errors)
        try:
            for _ in range(N_COMPUTING):
                self._start()
            ports = [self._port(index, timeout) for index in range(N_COMPUTING)]
            self.addresses: list[Address] = [("127.0.0.1", port) for port in ports]
        except BaseException:
            self.close()
            raise

    @property
    def pids(self) -> list[int]:
        """Their process numbers."""
        return [process.pid for process in self._running]

    def post_mortem(self) -> str:
        """Describe how processes ended; those that have lost another are about to end."""
        ends, deadline = [], time.monotonic() + _SOON
        for index, (process, errors) in enumerate(zip(self._running, self._errors, strict=True)):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            if (code := process.returncode) not in (None, 0):
                how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
                errors.seek(0)
                last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
                ends.append(f"computing party {index} {how}" + "".join(f" ({x})" for x in last))
        return "; ".join(ends)

    def close(self) -> None:
        """End them."""
        self._end()

    def _start(self) -> None:
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed when they end
        self._errors.append(errors)
        process = subprocess.Popen(
            [sys.executable, *_PROGRAM, "--child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=_environment(),
        )
        self._running.append(process)
        assert process.stdin is not None
        process.stdin.write(self.token.encode() + b"\n")
        process.stdin.flush()

    def _port(self, index: int, timeout: float) -> int:
        """Read the port that a process prints when it listens."""
        output = self._running[index].stdout
        assert output is not None
        line = output.readline() if select.select([output], [], [], timeout)[0] else b""
        if not line.strip().isdigit():
            raise ChannelError(
                f"computing party {index} did not start within {timeout:g} s. {self.post_mortem()}"
            )
        return int(line)


def _environment() -> dict[str, str]:
    """Copy the environment without settings of MPyC, and with one thread for linear algebra."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith("MPYC_")}
    paths = os.pathsep.join(path for path in sys.path if path)
    return {**variables, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}


def _end(
    owner: int, running: Sequence[subprocess.Popen[bytes]], errors: Sequence[IO[bytes]]
) -> None:
    if os.getpid() != owner:
        return  # a forked child does not own them
    for process in running:
        process.kill()
    for process in running:
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
    for file in errors:
        file.close()
