"""Parties and servers in processes of their own, of which none outlives its test."""

from __future__ import annotations

import multiprocessing
import signal
from contextlib import suppress

from tests.collaboration.remote import _site

#: Imports once, and forks from there: a fresh interpreter for each would take seconds.
_PROCESSES = multiprocessing.get_context("forkserver")
#: Seconds after which a process that says nothing fails the test.
PATIENCE = 120


class Process:
    """One process, and what it says."""

    def __init__(self, what, *arguments):
        _PROCESSES.set_forkserver_preload(["tests.collaboration.remote._site"])
        self.connection, theirs = _PROCESSES.Pipe()
        self.process = _PROCESSES.Process(target=what, args=(theirs, *arguments), daemon=True)
        self.process.start()
        theirs.close()

    def heard(self):
        """What it says next."""
        assert self.connection.poll(PATIENCE), "the process says nothing"
        return self.connection.recv()

    def go_on(self):
        self.connection.send("go on")

    def kill(self):
        self.process.kill()
        return self.died()

    def died(self):
        """Whether it was, or is now, ended by SIGKILL."""
        self.process.join(PATIENCE)
        return self.process.exitcode == -signal.SIGKILL

    def close(self):
        with suppress(OSError):
            self.process.kill()
        self.process.join(PATIENCE)
        self.process.close()
        self.connection.close()


class Sites:
    """Starts processes that have certificates, and ends them."""

    def __init__(self, authority, folder):
        self.authority, self.folder, self.running = authority, folder, []

    def ledger(self, name):
        return self.folder / f"{name}.ledger"

    def start(self, name, address, **options):
        """A party; it has connected when this returns, unless it asks."""
        self.authority.of_party(name)
        made = self._started(
            _site.site, str(self.authority.folder), address, name, str(self.ledger(name)), options
        )
        if not options.get("asks"):
            assert made.heard() == "there"
        return made

    def serve(self, **options):
        """A server, and where it listens."""
        made = self._started(_site.serve, str(self.authority.folder), options)
        return made, made.heard()

    def spent(self, name):
        """What a party's ledger says, as a share of its budget."""
        if not self.ledger(name).exists():
            return 0.0
        return _site.PrivacyAccountant.open(self.ledger(name)).spent().share

    def close(self):
        for each in self.running:
            each.close()

    def _started(self, what, *arguments):
        made = Process(what, *arguments)
        self.running.append(made)
        return made
