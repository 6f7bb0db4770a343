"""Check of the clock against the times that a ledger has recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from secretballot.ledger.stores import Rows

#: Difference of the clocks of honest machines.
_TOLERANCE = timedelta(minutes=10)


def last_time(rows: Rows, last: int, created: str) -> str:
    """Return the time of the last entry; that of the ledger's creation if there is none.

    Parameters
    ----------
    rows : Rows
    last : int
        Number of the last entry; 0 if there is none.
    created : str
        Time at which the ledger was made.
    """
    if not last:
        return created
    ((recorded,),) = rows.fetch("SELECT time FROM {entry} WHERE sequence = ?", (last,))
    return str(recorded)


def clock_fault(recorded: str, name: str) -> str:
    """Explain that the clock is behind the last entry of a ledger; empty if it is not."""
    now = datetime.now(UTC)
    if datetime.fromisoformat(recorded) <= now + _TOLERANCE:
        return ""
    return (
        f"the clock of this machine says {now.isoformat(timespec='seconds')}, and the last entry "
        f"was recorded at {recorded}: set the clock. If it is right now, and was ahead then, "
        f"PrivacyAccountant.open({name!r}, accept='clock') (or 'secretballot ledger accept "
        "FILE --clock') goes on and records that. Nothing was released"
    )
