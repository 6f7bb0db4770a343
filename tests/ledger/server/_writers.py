"""Writers that spend from a ledger on a server, whatever happens to it, until they are told to end.

Run as a script, ``python -m tests.ledger.server._writers LEDGER FOLDER N``: each of N processes
writes a file of lines, ``returned ID``, ``refused ID`` or ``unknown ID``, and ends when the folder
has a file `stop`.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from tests._fakes import Pure, votes
from tests.ledger._processes import fork

from secretballot.accounting import BudgetExceededError, LedgerError, PrivacyAccountant

#: Seconds after which they end by themselves.
LIFETIME = 400


def spend_on(ledger, folder, number):
    deadline, count = time.monotonic() + LIFETIME, 0
    accountant = None
    with open(folder / f"{number}.log", "w", buffering=1) as log:
        while not (folder / "stop").exists() and time.monotonic() < deadline:
            name = f"{number}-{count}"
            count += 1
            try:
                accountant = accountant or PrivacyAccountant.open(ledger)
                accountant.release(Pure(epsilon=0.25), votes(1), note={"id": name})
                log.write(f"returned {name}\n")
            except BudgetExceededError:
                return
            except LedgerError as error:
                kind = "unknown" if "Count it as charged" in str(error) else "refused"
                log.write(f"{kind} {name} {error}\n")
                time.sleep(0.02)


def main(ledger, folder, n_processes):
    children = [
        fork(lambda _, number=number: spend_on(ledger, Path(folder), number))
        for number in range(int(n_processes))
    ]
    failed = [os.waitpid(pid, 0)[1] for pid, _ in children]
    sys.exit(any(failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
