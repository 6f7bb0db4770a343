"""PgBouncer between spenders and a server: it hands the sessions of a few connections to all."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from tests._fakes import basic_budget
from tests._programs import ROOT, python_environment, running_program
from tests.ledger._server import LIFETIME, as_user, program

from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.ledger._ledger import Ledger

_PORT = 6432
_SETTINGS = """
[databases]
postgres = host={server} dbname=postgres user=postgres
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = {mode}
default_pool_size = {n_sessions}
logfile = {folder}/log
"""

#: More releases than it takes until psycopg prepares a statement.
SPENDER = """
import sys
from tests._fakes import spend
from secretballot.accounting import PrivacyAccountant
spend(PrivacyAccountant.open(sys.argv[1]), int(sys.argv[2]), epsilon=1e-4)
"""
N_SPENDERS, N_RELEASES = 4, 20


@contextlib.contextmanager
def pooled(server, mode, n_sessions):
    """Start PgBouncer before a server; yield the folder of its socket."""
    if not (bouncer := program("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")):
        pytest.skip("needs PgBouncer")
    folder = Path(tempfile.mkdtemp(prefix="sbpb-"))
    settings = folder / "settings.ini"
    settings.write_text(
        _SETTINGS.format(
            server=server.folder, port=_PORT, folder=folder, mode=mode, n_sessions=n_sessions
        )
    )
    if os.getuid() == 0:
        for path in (folder, settings):
            shutil.chown(path, "nobody")
    command = as_user([program("timeout"), str(LIFETIME), bouncer, "-q", settings])
    with subprocess.Popen(command, cwd="/", start_new_session=True) as process:
        try:
            deadline = time.monotonic() + 30
            while True:
                with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as asked:
                    asked.connect(f"{folder}/.s.PGSQL.{_PORT}")
                    break
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield folder
        finally:
            process.terminate()
            process.wait(30)
            shutil.rmtree(folder, ignore_errors=True)


def pooled_url(server, folder, mode):
    return f"{server.url(f'pooled-{mode}', host=folder)}&port={_PORT}"


@pytest.mark.parametrize(
    ("mode", "n_sessions"),
    [("transaction", 3), pytest.param("session", 6, marks=pytest.mark.slow)],
)
def test_spenders_behind_a_pooler(server, mode, n_sessions):
    """No statement of one spender is run for another, and none is lost."""
    with pooled(server, mode, n_sessions) as folder:
        url = pooled_url(server, folder, mode)
        accountant = basic_budget(url)
        command = [sys.executable, "-c", SPENDER, url, N_RELEASES]
        options = {"cwd": ROOT, "env": python_environment(), "stderr": subprocess.PIPE}
        with contextlib.ExitStack() as stack:
            programs = [running_program(*command, **options) for _ in range(N_SPENDERS)]
            spenders = [stack.enter_context(program) for program in programs]
            errors = [spender.communicate(timeout=120)[1] for spender in spenders]
        assert [spender.returncode for spender in spenders] == [0] * N_SPENDERS, errors
        assert accountant.spent().n_releases == N_SPENDERS * N_RELEASES
    direct = Ledger.open(server.url(f"pooled-{mode}"))
    assert direct.verify().n_entries == N_SPENDERS * N_RELEASES


def test_a_pooler_of_statements_is_refused(server):
    with pooled(server, "statement", 3) as folder:
        url = pooled_url(server, folder, "statement")
        for use in (basic_budget, PrivacyAccountant.open):
            with pytest.raises(LedgerError, match="pool_mode to transaction or session"):
                use(url)
