"""Check of the clock against the times that a ledger has recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from secretballot._errors import LedgerError
from secretballot.ledger.stores import Rows

#: Difference of the clocks of honest machines.
_TOLERANCE = timedelta(minutes=10)


def check_clock(rows: Rows, last: int, created: str) -> None:
    """Refuse to write with a clock that is behind the last entry.

    Parameters
    ----------
    rows : Rows
    last : int
        Number of the last entry; 0 if there is none.
    created : str
        Time at which the ledger was made.
    """
    recorded = created
    if last:
        ((recorded,),) = rows.fetch("SELECT time FROM {entry} WHERE sequence = ?", (last,))
    now = datetime.now(UTC)
    if datetime.fromisoformat(recorded) > now + _TOLERANCE:
        raise LedgerError(
            f"the clock of this machine says {now.isoformat(timespec='seconds')}, and the last "
            f"entry was recorded at {recorded}: set the clock, or if it is right, wait until then. "
            "Nothing was released"
        )
