"""Spends until the disk is full; run as a script, ``python -m tests.ledger.file._full_disk HOW``.

``limit FOLDER``: the process may write no larger files. ``mount FOLDER``: a small file system is
mounted there, which takes a namespace of its own (``unshare``). Prints what happened as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests._fakes import basic_budget, spend

from secretballot.accounting import LedgerError, PrivacyAccountant


def spend_until_refused(accountant):
    """How many answers were returned, and what was said at the end."""
    for returned in range(200):
        try:
            spend(accountant)
        except LedgerError as error:
            return returned, str(error)
    return 200, "never refused"


def report(path, returned, said, **more):
    """Check the ledger with a fresh handle, in which nothing is remembered."""
    accountant = PrivacyAccountant.open(path)
    recorded = len(accountant.entries())
    return {"returned": returned, "recorded": recorded, "said": said, **more}


def limit(folder):
    import resource

    path = folder / "limit.ledger"
    accountant = basic_budget(path, epsilon=1000.0)
    spend(accountant)
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    at_most = path.stat().st_size + 8192
    resource.setrlimit(resource.RLIMIT_FSIZE, (at_most, allowed[1]))
    returned, said = spend_until_refused(accountant)
    first = report(path, 1 + returned, said)
    resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
    spend(accountant)  # the same handle goes on when there is room again
    return [first, report(path, 2 + returned, said)]


def mount(folder):
    results, total = [], 0
    path, filler = folder / "mount.ledger", folder / "filler"
    accountant = basic_budget(path, epsilon=1000.0)
    for free in range(0, 40, 4):
        space = os.statvfs(folder)
        filler.write_bytes(bytes(max(space.f_bavail * space.f_frsize - 1024 * free, 0)))
        returned, said = spend_until_refused(accountant)
        total += returned
        left = os.statvfs(folder).f_bavail
        created = None
        if not left:
            try:
                basic_budget(folder / "another.ledger")
            except LedgerError as error:
                created = str(error)
        leftover = (folder / "another.ledger").exists()
        filler.unlink()
        results.append(report(path, total, said, created=created, leftover=leftover))
        spend(accountant)
        total += 1
    return results


if __name__ == "__main__":
    how, folder = sys.argv[1:]
    print(json.dumps({"limit": limit, "mount": mount}[how](Path(folder))))
