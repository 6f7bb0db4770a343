"""Commands on child budgets: list, carve and close."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from secretballot._base._tables import text_table, visible
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting.children._child_report import child_reports
from secretballot.accounting.children._make_grant import epsilon_of_share
from secretballot.ledger._child import NAME_SEPARATOR
from secretballot.ledger._ledger import Ledger
from secretballot.reports._amounts import add_epsilon, read_count, read_share
from secretballot.reports._console import WRITTEN, add_command, add_json, print_json, refusals

if TYPE_CHECKING:
    from secretballot.reports._console import Commands

_HEADINGS = ("child", "level", "epsilon", "spent", "releases", "state")


def add_children(commands: Commands) -> None:
    """Add the commands `children`, `carve` and `close`."""
    summary = "the child budgets, with what each has spent"
    add_json(add_command(commands, "children", _list, summary))

    summary = "give a part of the budget to a child: a team, a project or a year"
    carve = add_command(commands, "carve", _carve, summary, WRITTEN)
    carve.add_argument("name", metavar="NAME", help=f"a new name, without {NAME_SEPARATOR!r}")
    amount = carve.add_mutually_exclusive_group(required=True)
    add_epsilon(amount, "the most that the child may spend", required=False)
    amount.add_argument(
        "--share",
        type=read_share,
        metavar="P%",
        help="the same as a part of the whole budget, such as 25%%",
    )
    amount.add_argument(
        "--parts",
        type=read_count,
        metavar="N",
        help="one of N equal parts of that budget: 4 for the quarters of a year",
    )

    summary = "close a child for good, and give back what it did not spend"
    close = add_command(commands, "close", _close, summary, WRITTEN)
    close.add_argument("name", metavar="NAME", help="the child")


def open_child(file: str, name: str) -> PrivacyAccountant:
    """Open a ledger, and return the child of a name; the whole budget for ""."""
    accountant = PrivacyAccountant.open(file)
    return accountant.child(name) if name else accountant


def _list(options: argparse.Namespace) -> None:
    ledger = Ledger.open(options.file)
    reports = child_reports(ledger)
    if options.json:
        children = [report.to_dict() for report in reports]
        print_json({"ledger": ledger.name, "children": children})
        return
    rows = [(report.name, *row) for report in reports for row in report.rows()]
    print(text_table(_HEADINGS, rows) if rows else "no children")


def _carve(options: argparse.Namespace) -> None:
    with refusals():
        accountant = PrivacyAccountant.open(options.file)
        epsilon = options.epsilon
        if epsilon is None:
            epsilon = epsilon_of_share(accountant.levels, options.share or 1 / options.parts)
        child = accountant.child(options.name, epsilon=epsilon)
        print(f"{visible(child.child_name)}: a new child\n{visible(repr(child))}")
        print(f"of the budget:\n{accountant.remaining()}")


def _close(options: argparse.Namespace) -> None:
    with refusals():
        open_child(options.file, options.name).close()
        print(f"{visible(options.name)}: closed")
        print(f"of the budget:\n{PrivacyAccountant.open(options.file).remaining()}")
