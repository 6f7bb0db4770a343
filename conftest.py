"""Settings that the tests and the doctests share: one thread, and nothing left to chance."""

import faulthandler
import os

# Tests start a hundred programs. Each would compile the library anew if no bytecode were kept.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# No test opens a window, whatever the machine.
os.environ.setdefault("MPLBACKEND", "Agg")
# Tests run side by side, one a core: threads of small matrices would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import random
import shutil
import sys
import tempfile
import threading
import weakref

import numpy as np
import pytest
from hypothesis import settings

sys.dont_write_bytecode = False

# Thousands of budgets are written, each synced to disk at every step: where there is a file system
# in memory they wait for no disk. (What a test kills is a process; what was written stays.)
_MEMORY = "/dev/shm"
_ENOUGH = 2**30  # in bytes: of it tests need a tenth, and containers may have less than that
if (
    "TMPDIR" not in os.environ
    and os.access(_MEMORY, os.W_OK | os.X_OK)
    and shutil.disk_usage(_MEMORY).free > _ENOUGH
):
    os.environ["TMPDIR"] = tempfile.tempdir = _MEMORY

# Marks of ledgers on servers are kept out of the user's folder. It is named before anything runs,
# so that workers and programs inherit it. Ids of ledgers are the same in every run: an earlier
# run's marks would say that entries are missing.
_STATE = tempfile.TemporaryDirectory(prefix="secretballot-state-", ignore_cleanup_errors=True)
os.environ["SECRETBALLOT_STATE"] = _STATE.name

# The same examples in every run: what fails once, fails again. And nothing is timed.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.load_profile("same")

_SECONDS_TO_END = 60


def pytest_configure(config):
    # The order is pytest-randomly's, the seeds are ours.
    if hasattr(config.option, "randomly_reset_seed"):
        config.option.randomly_reset_seed = False


@pytest.fixture(autouse=True)
def _nothing_left_to_chance(request, monkeypatch):
    """Key all noise by the test's name, so that it is the same in any order and in every run.

    What takes its key from the operating system (the noise of a release, the partition of an
    ensemble without a seed) gets it from a stream of the test's own. Worker processes don't: a
    test that looks at what they drew says how likely it is to fail by chance. A test that needs
    keys that differ from process to process is marked `unseeded`, and says the same.
    """
    stream = random.Random(request.node.nodeid)
    random.seed(stream.getrandbits(32))
    np.random.seed(stream.getrandbits(32))  # noqa: NPY002 - what scikit-learn draws from
    if not request.node.get_closest_marker("unseeded"):
        monkeypatch.setattr("os.urandom", stream.randbytes)
        monkeypatch.setattr("secrets.randbits", stream.getrandbits)


@pytest.fixture(autouse=True)
def _no_fork(monkeypatch):
    """Fail a test that forks the test runner; `tests/_programs.py` says what to do instead."""

    fork = getattr(os, "fork", None)

    def refuse():
        # joblib 1.4 forks to execute a program at once.
        if sys._getframe(1).f_globals["__name__"] == "joblib.externals.loky.backend.fork_exec":
            return fork()
        raise AssertionError("fork in a program of its own: tests._programs.run_python")

    monkeypatch.setattr("os.fork", refuse, raising=False)


#: Threads that the end of the interpreter would wait for, and the test that began each.
_begun_in = weakref.WeakKeyDictionary()


@pytest.fixture(autouse=True)
def _remember_threads(request):
    yield
    for thread in threading.enumerate():
        if not thread.daemon:
            _begun_in.setdefault(thread, request.node.nodeid)


def pytest_unconfigure():
    """End a test runner that does not end by itself, and print which threads it waits for."""
    _STATE.cleanup()

    def report():
        for thread, test in _begun_in.items():
            if thread.is_alive():
                print(f"still running: {thread}, begun in {test}", file=sys.__stderr__)

    timer = threading.Timer(_SECONDS_TO_END - 1, report)
    timer.daemon = True
    timer.start()
    faulthandler.dump_traceback_later(_SECONDS_TO_END, file=sys.__stderr__, exit=True)


def pytest_terminal_summary(terminalreporter):
    """Print the counts that attacks report (`tests/attacks`)."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])]
    lines = [
        f"{report.nodeid}: {name.removeprefix('attack: ')}: {value}"
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name.startswith("attack: ")
    ]
    if lines:
        terminalreporter.section("attacks")
        terminalreporter.write_line("\n".join(sorted(lines)))
