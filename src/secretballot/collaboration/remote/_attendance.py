"""Who is there to vote."""

from __future__ import annotations

import threading

from secretballot.collaboration.remote._remote_voter import RemoteVoter
from secretballot.transport import ChannelError


class Attendance:
    """The parties that are connected, by name."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._there: dict[str, RemoteVoter] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Who is there."""
        return tuple(self.voters())

    def voters(self, *, without: str | None = None) -> dict[str, RemoteVoter]:
        """Return all who are there, or all but one."""
        with self._changed:
            return {
                name: voter
                for name, voter in sorted(self._there.items())
                if name != without and not voter.line.is_closed
            }

    def enter(self, voter: RemoteVoter) -> None:
        """Let a party vote from the next question on; its connection from before is closed.

        Raises
        ------
        ChannelError
            If another party spends the same budget: its people would have two ballots.
        """
        with self._changed:
            for other in self._there.values():
                if other.ledger == voter.ledger and other.name != voter.name:
                    raise ChannelError(
                        f"{voter.name!r} has the ledger of {other.name!r}, which is there; each "
                        "party needs a budget of its own"
                    )
            before = self._there.get(voter.name)
            self._there[voter.name] = voter
            self._changed.notify_all()
        if before is not None:
            before.line.close()

    def leave(self, voter: RemoteVoter) -> None:
        """Take a party off, unless it is there again by another connection."""
        with self._changed:
            if self._there.get(voter.name) is voter:
                del self._there[voter.name]
                self._changed.notify_all()

    def wait_for(self, names: set[str], seconds: float) -> bool:
        """Wait until all of some parties are there; return whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: names <= set(self._there), seconds)
