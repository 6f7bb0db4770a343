"""Computing parties to be attacked, and who attacks them."""

from __future__ import annotations

from pathlib import Path

from tests.computing._machines import machines
from tests.transport._certificates import Authority, credentials

from secretballot.computing import Recipients
from secretballot.transport import ChannelError

VOTERS = ("a", "b", "c")
#: The most that the shares of one voter may take at the parties attacked here.
LIMIT = 2**26
SOON = 60.0


def authority_of_votes(folder):
    made = Authority(folder)
    for name in (*VOTERS, "votes", "ghost"):
        made.made(name)
    return made


def attacked(authority):
    """Three computing parties, each a process with a certificate."""
    files = authority.folder / "authority.pem", authority.folder / "server.pem"
    return machines(*files, VOTERS, "--max-bytes", str(LIMIT))


def there(session, panel, authority, name):
    certificate = credentials(authority.folder, name)
    return Recipients(session, panel.addresses, timeout=SOON, credentials=certificate)


def peak(pid):
    """The most memory that a process has had, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (line for line in status if line.startswith("VmHWM"))
    return 1_024 * int(line.split()[1])


def refused(call, *arguments, **settings):
    """Whether a call ends in a clear refusal; another error is a fault."""
    fault = None
    try:
        call(*arguments, **settings)
    except ChannelError as error:
        fault = error
    assert "fault of the server's own" not in str(fault)
    return fault is not None
