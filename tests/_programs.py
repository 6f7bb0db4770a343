"""Programs that tests run: bounded in time, and ended with all processes that they began.

No test forks in its own process. Other tests leave threads there (of gRPC, BLAS, joblib), a forked
child may abort or hang because of them, and it keeps open the pipes of the test runner.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def interrupts_arrive():
    """Let SIGINT end this process and programs that it starts, also where it was ignored.

    It is ignored where tests are begun as a background job of a shell.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def running_program(*arguments, **options):
    """Start a program in a session of its own; at the end kill all processes of the session."""
    options = {"stdout": subprocess.PIPE, "text": True, **options}
    with subprocess.Popen(list(map(str, arguments)), start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            if os.name == "posix":
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def run_program(*arguments, timeout=60, **options):
    """Run a program to its end; return its status and output. AssertionError if it takes longer."""
    with running_program(*arguments, stderr=subprocess.PIPE, **options) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"still running after {timeout} seconds: {arguments}") from error
    return subprocess.CompletedProcess(arguments, process.returncode, output, errors)


def run_python(*arguments, timeout=60, **options):
    """Run a fresh interpreter, by default in the environment of `python_environment`."""
    options = {"cwd": ROOT, "env": python_environment(), **options}
    return run_program(sys.executable, *arguments, timeout=timeout, **options)


def python_environment():
    """Return variables with which an interpreter finds the library and the tests, as this does.

    It computes in one thread.
    """
    path = os.pathsep.join(filter(None, [str(ROOT), *sys.path]))
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **one_thread, "PYTHONPATH": path}
