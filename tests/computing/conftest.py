"""Three computing parties that the tests of a worker share."""

from __future__ import annotations

import pytest

from secretballot.computing import Panel, Processes, Recipients


class Three:
    """Three processes and who coordinates them."""

    def __init__(self):
        self.processes = Processes(timeout=60)
        self.panel = Panel(self.processes.addresses, self.processes.token, timeout=60)

    def begin(self, *votes):
        """Where to send the shares of a new vote."""
        session = self.panel.begin(votes)
        return Recipients(session, self.panel.addresses, self.processes.token, timeout=60)


@pytest.fixture(scope="session")
def three():
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")
    made = Three()
    yield made
    made.panel.close()
    made.processes.close()
