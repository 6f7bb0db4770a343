"""PostgreSQL server of the tests: on a Unix socket in a folder of its own, without a network."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psutil
import pytest

#: Seconds after which a server ends by itself, whatever happened to the tests.
LIFETIME = 1500
_USER = "nobody"


def program(name):
    """Return the path of a program of PostgreSQL; None if there is none."""
    folders = [os.environ["PATH"], *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        command = ["pg_config", "--bindir"]
        folders.append(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    return next(filter(None, (shutil.which(name, path=each.strip()) for each in folders)), None)


def why_missing():
    """Return why there can be no server; "" if there can."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        return f"needs psycopg ({error})"
    if os.name != "posix" or not all(map(program, ("initdb", "postgres", "timeout"))):
        return "needs the programs of a PostgreSQL server"
    if os.getuid() == 0 and not program("setpriv"):
        return "needs setpriv, to run a server as another user than root"
    return ""


def as_user(command):
    """Return the command of a program of PostgreSQL, which refuses to run as root.

    Another program changes the user: this process would have to fork, in which gRPC may abort.
    """
    command = list(map(str, command))
    if os.getuid():
        return command
    import pwd

    group = pwd.getpwnam(_USER).pw_gid
    user = [f"--reuid={_USER}", f"--regid={group}", "--clear-groups"]
    return [program("setpriv"), *user, *command]


def run_as_user(*command):
    """Run a program of PostgreSQL to its end."""
    return subprocess.run(as_user(command), cwd="/", check=True, timeout=120, capture_output=True)


class Server:
    """Server in a folder, which `start` starts; its superuser is `postgres`.

    Parameters
    ----------
    data : Path, default=None
        Folder of an existing cluster; None makes one.
    """

    def __init__(self, data=None):
        self.folder = Path(tempfile.mkdtemp(prefix="sbpg-"))
        if os.getuid() == 0:
            shutil.chown(self.folder, _USER)
        self.data = data or self.folder / "data"
        self._process = None
        if data is None:
            options = ("-U", "postgres", "-E", "UTF8", "--locale=C", "-A", "trust", "--no-sync")
            run_as_user(program("initdb"), "-D", self.data, *options)

    def start(self, *settings):
        """Start the server, and wait until it answers."""
        command = [program("timeout"), "-s", "INT", str(LIFETIME), program("postgres")]
        command += ["-D", self.data, "-k", self.folder]
        for setting in ("listen_addresses=", "max_connections=60", *settings):
            command += ["-c", setting]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                as_user(command), cwd="/", stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + 60
        while True:
            try:
                self.execute("SELECT 1")
                return self
            except Exception as error:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    log = (self.folder / "log").read_text()[-2000:]
                    raise RuntimeError(f"the server does not start: {log}") from error
                time.sleep(0.05)

    def processes(self):
        """Return all processes of the server."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self._process.pid).children(recursive=True)
        return []

    def kill(self):
        """Kill all processes of the server at once, as a power failure would."""
        processes = self.processes()  # the parent of the others first
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        self._process.wait(30)
        psutil.wait_procs(processes, timeout=30)

    def stop(self):
        """Stop the server."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()

    def delete(self):
        """Stop the server, and delete its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, ledger=None, *, user="postgres", database="postgres", host=None):
        """Return the URL of a ledger, or of the database without one."""
        url = f"postgresql://{user}@/{database}?host={host or self.folder}"
        return url if ledger is None else f"{url}&ledger={ledger}"

    def execute(self, *statements, database="postgres", user="postgres", tampering=False):
        """Run statements as the superuser; return the rows of the last.

        With `tampering` no trigger and no reference is looked at.
        """
        import psycopg

        with psycopg.connect(self.url(database=database, user=user), autocommit=True) as opened:
            if tampering:
                opened.execute("SET session_replication_role = replica")
            opened.execute("SET search_path = secretballot, public")
            for statement in statements:
                done = opened.execute(statement)
            return done.fetchall() if done.description else []


@contextlib.contextmanager
def running(server, *settings):
    """Start a server for a block, and delete it after."""
    try:
        yield server.start(*settings)
    finally:
        server.delete()


def needs_server():
    """Skip a test where there can be no server."""
    if why := why_missing():
        pytest.skip(why)


def tamper_on_server(url, *statements):
    """Change a ledger as its owner could, with statements that are meant for a ledger file.

    What this machine has seen of it is forgotten.
    """
    import psycopg

    database, ledger = url.split("&ledger=")
    with psycopg.connect(database, autocommit=True) as opened:
        opened.execute("SET search_path = secretballot")
        opened.execute("SET session_replication_role = replica")  # no trigger is run
        number, id = opened.execute(
            "SELECT number, ledger_id FROM ledger JOIN header ON ledger = number WHERE ledger.name "
            "= %s",
            (ledger,),
        ).fetchone()
        for mark in seen_marks(id):
            mark.unlink()
        for statement in statements:
            if statement.startswith("INSERT"):
                statement = statement.replace("VALUES (", f"VALUES ({number}, ")
            else:
                word = "AND" if "WHERE" in statement else "WHERE"
                statement = f"{statement} {word} ledger = {number}"
            opened.execute(re.sub(r"zeroblob\(1200\)|x'00'", "0", statement))


def seen_marks(ledger_id):
    """Return the paths of what this machine has seen of a ledger, in each of its places."""
    return list(Path(os.environ["SECRETBALLOT_STATE"], "ledgers").glob(f"{ledger_id}*"))


def seen_mark(ledger_id):
    """Return the path of what this machine has seen of a ledger that was in one place."""
    (mark,) = seen_marks(ledger_id)
    return mark
