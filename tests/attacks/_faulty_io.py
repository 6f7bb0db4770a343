"""Spends whose input and output fails: ``python -m tests.attacks._faulty_io LIBRARY FOLDER``.

The library is `_faulty_io.c`, loaded before the C library. Prints what was counted as JSON.
"""

from __future__ import annotations

import ctypes
import json
import sys
import warnings
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from tests._fakes import Pure, basic_budget, spend, votes

from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.ledger import _guard

QUARTER = Pure(epsilon=0.25)
KINDS = {"error": 1, "short": 2, "full": 3}


class Faults:
    """The variables of the library."""

    def __init__(self, library, prefix):
        self._loaded = ctypes.CDLL(library)
        self._prefix = str(prefix).encode()

    def _number(self, name):
        return ctypes.c_int.in_dll(self._loaded, f"faulty_{name}")

    def _text(self, name, size):
        return (ctypes.c_char * size).in_dll(self._loaded, f"faulty_{name}")

    @contextmanager
    def fail(self, at, kind):
        """Let one call within fail; what is yielded says afterwards which, and counts all."""
        fault_seen = {}
        for name, value in (("at", at), ("kind", kind), ("calls", 0), ("was_short", 0)):
            self._number(name).value = value
        self._text("name", 32).value = b""
        self._text("prefix", 4096).value = self._prefix
        try:
            yield fault_seen
        finally:
            self._text("prefix", 4096).value = b""
            fault_seen["calls"] = self._number("calls").value
            fault_seen["name"] = self._text("name", 32).value.decode()


def release(path, accountant, reservation):
    """One entry."""
    return accountant.release(QUARTER, votes(2)).tolist() == [0, 0]


def opened_release(path, accountant, reservation):
    """One entry, by a handle that knows nothing."""
    return release(path, PrivacyAccountant.open(path), reservation)


def draw(path, accountant, reservation):
    """One entry: rows that are paid for."""
    drawn = accountant.release(QUARTER, votes(1), reservation=reservation)
    return drawn.tolist() == [0]


def reserve(path, accountant, reservation):
    """One entry."""
    return accountant.reserve(QUARTER, 2) is not None


def settle(path, accountant, reservation):
    """One entry: a reservation is closed."""
    accountant.settle(reservation)
    return True


def top_up(path, accountant, reservation):
    """One entry."""
    accountant.top_up(reservation, n_rows=2)
    return True


def look(path, accountant, reservation):
    """No entry."""
    accountant.statement()
    accountant._ledger.verify()
    PrivacyAccountant.open(path)
    return None


#: For these every third call fails: most of them only read, and alike.
READERS = [opened_release, look]
WRITERS = [release, draw, reserve, settle, top_up]


def n_entries(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a slot of the mark is broken: it is said, and mended
        accountant = PrivacyAccountant.open(path)
    return accountant._ledger.totals().sequence


def attack(library, folder, calls):
    counted, faults = Counter(), []
    for call in calls:
        for kind, number in KINDS.items():
            path = folder / f"{call.__name__}-{kind}" / "budget.ledger"
            path.parent.mkdir()
            fault = Faults(library, path.parent)
            accountant = basic_budget(path, 1e6)
            spend(accountant, 3)
            at = 1
            while True:
                reservation = accountant.reserve(QUARTER, 4)
                before, answered, error = n_entries(path), None, None
                with warnings.catch_warnings(), fault.fail(at, number) as fault_seen:
                    warnings.simplefilter("ignore")
                    try:
                        answered = call(path, accountant, reservation)
                    except LedgerError:
                        error = "said"
                    except BaseException as raw:
                        error = f"{type(raw).__name__}: {raw}"
                if fault_seen["name"]:
                    where = f"{call.__name__} {at} {kind} {fault_seen['name']}"
                    counted["faults"] += 1
                    counted[f"faults: {fault_seen['name']}, {kind}"] += 1
                    if error not in (None, "said"):
                        faults.append(f"{where}: {error}")
                    # It may be that a charge stands and its answer is lost; not the reverse.
                    try:
                        now = n_entries(path)
                        if not answered <= now - before <= 1 if answered is not None else False:
                            faults.append(f"{where}: {answered} but {now - before} recorded")
                        counted["charges kept without an answer"] += now - before and not answered
                        spend(accountant)
                        spend(PrivacyAccountant.open(path))
                        if n_entries(path) != now + 2:
                            faults.append(f"{where}: a spend after it is not recorded once")
                    except Exception as after:
                        faults.append(f"{where}: and then {type(after).__name__}: {after}")
                        break
                if at > fault_seen["calls"]:
                    break
                at += 3 if call in READERS else 1
    return {"counted": counted, "faults": faults}


def attack_making(library, folder):
    """Ledgers that are made: nothing is left where it fails, or a ledger that is whole."""
    counted, faults = Counter(), []
    for kind, number in KINDS.items():
        at = 1
        while True:
            path = folder / f"make-{kind}-{at}" / "budget.ledger"
            path.parent.mkdir()
            error = None
            with Faults(library, path.parent).fail(at, number) as fault_seen:
                try:
                    basic_budget(path)
                except LedgerError:
                    error = "said"
                except BaseException as raw:
                    error = f"{type(raw).__name__}: {raw}"
            where = f"make {at} {kind} {fault_seen['name']}"
            if error not in (None, "said"):
                faults.append(f"{where}: {error}")
            remains = sorted(each.name for each in path.parent.iterdir())
            if error and remains:
                faults.append(f"{where}: {error} leaves {remains}")
            try:
                if not error:
                    spend(PrivacyAccountant.open(path))
                    assert n_entries(path) == 1
            except Exception as after:
                faults.append(f"{where}: and then {type(after).__name__}: {after}")
            if at > fault_seen["calls"]:
                break
            counted["faults"] += bool(fault_seen["name"])
            at += 1
    return {"counted": counted, "faults": faults}


if __name__ == "__main__":
    _, library, folder = sys.argv
    _guard.BUSY_TIMEOUT = 0.2
    warnings.simplefilter("ignore")
    results = [
        attack(library, Path(folder), [*WRITERS, *READERS]),
        attack_making(library, Path(folder)),
    ]
    print(json.dumps(results))
