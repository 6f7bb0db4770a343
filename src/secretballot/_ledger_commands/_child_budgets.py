"""Commands on child budgets: list, carve, begin and close."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from secretballot._ledger_commands._amounts import add_epsilon, count, share
from secretballot._ledger_commands._console import (
    WRITTEN,
    CommandError,
    add_command,
    add_json,
    print_json,
    refusals,
)
from secretballot._tables import text_table, visible
from secretballot.accounting import PrivacyAccountant
from secretballot.accounting.children import child_reports, epsilon_of_share
from secretballot.ledger import PATH_SEPARATOR, Ledger, parent_path

if TYPE_CHECKING:
    from secretballot._ledger_commands._console import Commands

_HEADINGS = ("child", "level", "epsilon", "spent", "releases", "state")


def add_children(commands: Commands) -> None:
    """Add the commands `children`, `carve`, `begin` and `close`."""
    summary = "the child budgets as a tree, with what each has spent"
    add_json(add_command(commands, "children", _list, summary))

    summary = "give a part of the budget to a child: a team, a project or a year"
    carve = add_command(commands, "carve", _carve, summary, WRITTEN)
    carve.add_argument("name", metavar="NAME", help=f"a new name, without {PATH_SEPARATOR!r}")
    amount = carve.add_mutually_exclusive_group(required=True)
    add_epsilon(amount, "the most that the child may spend", required=False)
    amount.add_argument(
        "--share",
        type=share,
        metavar="P%",
        help="the same as a part of the whole budget that it is taken from, such as 25%%",
    )
    amount.add_argument(
        "--parts",
        type=count,
        metavar="N",
        help="one of N equal parts of that budget: 4 for the quarters of a year",
    )
    carve.add_argument(
        "--parent", default="", metavar="PATH", help="the child to take it from, such as a/b"
    )
    carve.add_argument(
        "--group",
        type=_group,
        metavar="DIVISION=GROUP",
        help="the people that all releases of the child are of; of the groups of one division the "
        "largest charge counts",
    )
    carve.add_argument(
        "--sealed",
        action="store_true",
        help="the releases are made elsewhere, and are (E, D)-DP together",
    )
    carve.add_argument("--delta", type=float, metavar="D", help="with --sealed; default 0")

    for name, run, summary in (
        ("begin", _begin, "record that the releases of a sealed child begin; nothing comes back"),
        ("close", _close, "close a child for good, and give back what it did not spend"),
    ):
        command = add_command(commands, name, run, summary, WRITTEN)
        command.add_argument("path", metavar="PATH", help="the child, such as a/b")


def child_at(file: str, path: str) -> PrivacyAccountant:
    """Open a ledger, and return the child at a path; the whole budget for ""."""
    accountant = PrivacyAccountant.open(file)
    for name in path.split(PATH_SEPARATOR) if path else ():
        accountant = accountant.child(name)
    return accountant


def _group(text: str) -> tuple[str, str]:
    division, equals, group = text.partition("=")
    if not (division and equals and group):
        raise argparse.ArgumentTypeError(f"{text!r} is not DIVISION=GROUP, such as region=north")
    return division, group


def _list(options: argparse.Namespace) -> None:
    ledger = Ledger.open(options.file)
    reports = child_reports(ledger)
    if options.json:
        children = [report.to_dict() for report in reports]
        print_json({"ledger": ledger.name, "children": children})
        return
    rows = []
    for report in reports:
        *parents, name = report.path.split(PATH_SEPARATOR)
        rows += [("  " * len(parents) + name, *row) for row in report.rows()]
    print(text_table(_HEADINGS, rows) if rows else "no children")


def _carve(options: argparse.Namespace) -> None:
    with refusals():
        parent = child_at(options.file, options.parent)
        if options.delta is not None and not options.sealed:
            raise CommandError("--delta D is for a child with --sealed; others have the budget's.")
        epsilon = options.epsilon
        if epsilon is None:
            if options.sealed:
                raise CommandError("--share and --parts are for a child without --sealed.")
            part = options.share or 1 / options.parts
            epsilon = epsilon_of_share(parent.levels, part)
        child = parent.child(
            options.name,
            epsilon=epsilon,
            delta=options.delta,
            group=options.group,
            sealed=options.sealed,
        )
        print(f"{visible(child.child_path)}: a new child\n{visible(repr(child))}")
        _print_left(parent)


def _begin(options: argparse.Namespace) -> None:
    with refusals():
        child_at(options.file, options.path).begin()
        print(f"{visible(options.path)}: begun; nothing of it comes back")


def _close(options: argparse.Namespace) -> None:
    with refusals():
        child_at(options.file, options.path).close()
        print(f"{visible(options.path)}: closed")
        _print_left(child_at(options.file, parent_path(options.path)))


def _print_left(parent: PrivacyAccountant) -> None:
    whose = f"the child {parent.child_path!r}" if parent.child_path else "the budget"
    print(f"of {visible(whose)}:\n{parent.remaining()}")
