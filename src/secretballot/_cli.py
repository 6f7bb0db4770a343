"""Command line: show and check a ledger, also while others spend from it."""

from __future__ import annotations

import argparse
import errno
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from secretballot import __version__
from secretballot._ledger_commands import (
    ServeError,
    add_commands,
    add_witness,
    check_witness,
    print_witness,
    witness_of,
)
from secretballot._tables import (
    WITHHELD,
    entry_count,
    order_text,
    percent,
    text_table,
    visible,
)
from secretballot.accounting import (
    LedgerError,
    PrivacyStatement,
    entry_text,
    replay,
    spent_by_level,
)
from secretballot.divergences import GAUSSIAN, level_cost
from secretballot.ledger import Ledger, LedgerEntry, LevelBudget, export, roles_script

#: What charges are amounts of, by kind of budget.
_CURRENCIES = {
    "gaussian": "mu^2",
    "renyi": "the Renyi divergence at the level's order",
    "pairs": "epsilon",
}

#: Letters of a digest.
_DIGEST_LENGTH = 64

#: The page of a statement that is printed.
_STANDARD_OUTPUT = ""


class _PageError(Exception):
    """A page that can't be written to its file."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    0 for success, 1 for a ledger with a fault or an output that can't be written, 2 for a wrong
    command, 130 for Ctrl-C.
    """
    # Letters that a terminal can't show are escaped.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    options = _parse(arguments)
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        options.run(options)
        sys.stdout.flush()
    except (LedgerError, ImportError, ServeError, _PageError) as error:
        _complain(visible(str(error)))
        return 1
    except BrokenPipeError:
        _drop_output()  # the reader has closed the pipe
    except OSError as error:
        _drop_output()
        _complain(f"nothing can be written to the standard output: {error}")
        return 1
    except KeyboardInterrupt:
        _drop_output()
        return 128 + signal.SIGINT
    return 0


def _on_ledger(
    run: Callable[[Ledger, argparse.Namespace], None], options: argparse.Namespace
) -> None:
    """Run a command that reads a ledger."""
    run(Ledger.open(options.file), options)


def _complain(message: str) -> None:
    # If that can't be written either, the exit status remains.
    with suppress(OSError):
        print(f"error: {message}", file=sys.stderr)


def _drop_output() -> None:
    """Discard unwritten output, for which Python would print an error at exit."""
    with suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="secretballot", description="Differentially private learning by voting."
    )
    parser.add_argument("--version", action="version", version=f"secretballot {__version__}")
    subjects = parser.add_subparsers(required=True, metavar="ledger")
    ledger = subjects.add_parser("ledger", help="look at a ledger and check it")
    commands = ledger.add_subparsers(required=True, metavar="command")
    for name, run, summary in (
        ("show", _show, "the budget, the share that each level has spent, and every release"),
        ("verify", _verify, "check that no entry was altered, removed, reordered or cut off"),
        ("replay", _replay, "add all entries up again and check that none overspent"),
        ("export", _export, "all but private records, for other programs"),
        ("statement", _statement, "the statement for the data owner to sign"),
    ):
        command = commands.add_parser(name, help=summary, description=f"{name}: {summary}.")
        command.set_defaults(run=partial(_on_ledger, run))
        # The one word after `--html` is the ledger: see `_parse`.
        is_alone = None if name != "statement" else "?"
        command.add_argument(
            "file",
            nargs=is_alone,
            metavar="FILE",
            help="the ledger, a file or the URL of one on a server; it is only read",
        )
        if name == "show":
            command.add_argument(
                "--last", type=_count, metavar="N", help="show the last N entries only"
            )
        if name == "verify":
            command.add_argument(
                "--head",
                metavar="DIGEST",
                help="the head digest of a statement, whose entries must be there",
            )
        if name in ("verify", "statement"):
            add_witness(command)
        if name in ("export", "statement"):
            form = command.add_mutually_exclusive_group(required=name == "export")
            form.add_argument("--json", action="store_true", help="as JSON")
            if name == "statement":
                form.add_argument(
                    "--html",
                    nargs="?",
                    const=_STANDARD_OUTPUT,
                    metavar="PAGE",
                    help="as a page of HTML to print and sign: to the new file PAGE, or to the "
                    "standard output",
                )
    summary = "an SQL script that makes the tables and roles of ledgers on a PostgreSQL server"
    roles = commands.add_parser("roles", help=summary, description=f"roles: {summary}.")
    roles.set_defaults(run=_roles)
    add_commands(commands)
    return parser


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse a command; the ledger may follow `--html` as well."""
    parser = _parser()
    options = parser.parse_args(arguments)
    check_witness(parser, options)
    if getattr(options, "file", "") is None:
        if not options.html:
            parser.error("the following arguments are required: FILE")
        options.file, options.html = options.html, _STANDARD_OUTPUT
    return options


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of entries")
    return int(text)


def _warn_of_copy(ledger: Ledger) -> str:
    """Print what is wrong with the place or the end of a ledger; return the note on its end."""
    completeness_note = ledger.completeness_note()
    try:
        other = ledger.settle(moved=False)
    except LedgerError as error:
        # Commands that only read are told of it by the other note.
        other = "" if completeness_note else str(error).removesuffix(" Nothing was released.")
    for note in filter(None, (completeness_note, other)):
        print(f"note: {visible(note)}", file=sys.stderr)
    return completeness_note


def _show(ledger: Ledger, options: argparse.Namespace) -> None:
    _warn_of_copy(ledger)
    header, budget = ledger.header(), ledger.budget
    walk, rows = ledger.walk(options.last), []
    for entry in walk:
        state = {} if entry.is_move else spent_by_level(budget, walk.totals)
        charges = ["" if entry.is_move else _charge(entry, level) for level in budget.levels]
        shares = [percent(state[name].share) if state else "" for name in budget.names]
        seeded = "SEEDED" if entry.seeded else ""
        fixed = (str(entry.sequence), entry.time[:19], entry_text(entry), str(entry.n_rows))
        rows.append((*fixed, seeded, *charges, *shares))
    print(f"{visible(ledger.name)}\n{visible(header.ledger_id)}, ", end="")
    print(f"opened {visible(header.created[:19])} UTC")
    print(f"protects one {budget.unit} ({budget.relation}); accounting {budget.accounting}")
    if budget.is_sensitive:
        print("These figures depend on the private data: they are sensitive themselves.")
    if budget.keeps_private:
        print(
            "The file keeps private records for its owner, not shown here: it is sensitive itself."
        )
    totals, levels = walk.totals, []
    spent = spent_by_level(budget, totals)
    for level in budget.levels:
        fixed = (level.name, f"{level.epsilon:g}", f"{level.delta:g}", order_text(level.order))
        reading = spent[level.name]
        levels.append((*fixed, percent(reading.share), f"{reading.epsilon:.4g}"))
    headings = ("level", "epsilon", "delta", "order", "spent", "epsilon so far")
    print(f"\n{text_table(headings, levels)}")
    for name, reading in spent.items():
        if reading.share > 1:
            print(f"THE BUDGET OF {name!r} IS OVERSPENT; the statement explains it.")
    print()
    # Shares of the budget after each entry: the last row has those of the table above.
    of_levels = [f"{name} {what}" for what in ("charge", "after") for name in budget.names]
    columns = ("entry", "time (UTC)", "what", "answers", "", *of_levels)
    print(f"A charge is the entry's own, in {_CURRENCIES[budget.kind]}.")
    shown = rows if options.last is None else rows[len(rows) - min(options.last, len(rows)) :]
    if len(shown) < totals.sequence:
        n_earlier = totals.sequence - len(shown)
        verb = "is" if n_earlier == 1 else "are"
        print(f"({entry_count(n_earlier).replace(' ', ' earlier ')} {verb} not shown)")
    print(text_table(columns, shown))
    print(f"\n{entry_count(totals.sequence)}, head digest {totals.digest}")


def _charge(entry: LedgerEntry, level: LevelBudget) -> str:
    amount = float(level_cost(entry.charges, level.name, level.order).at(level.order))
    return f"{-amount if entry.is_refund and amount else amount:.4g}"


def _verify(ledger: Ledger, options: argparse.Namespace) -> None:
    completeness_note = _warn_of_copy(ledger)
    walk, witness = ledger.walk(), witness_of(options)
    log = None if witness is None else witness.read()
    entries = walk if log is None else log.compared(ledger, walk)
    head = None if options.head is None else options.head.strip().lower()
    places = {walk.totals.digest: 0} | {entry.digest: entry.sequence for entry in entries}
    totals = walk.totals
    if head is not None:
        if len(head) < _DIGEST_LENGTH:
            raise LedgerError(
                f"--head {options.head}: a digest has {_DIGEST_LENGTH} letters, and this has "
                f"{len(head)}. Give it whole, as in the statement: entries can be made up whose "
                "digests begin alike."
            )
        if (place := places.get(head)) is None:
            raise LedgerError(
                f"The ledger {ledger.name!r} is not, or no longer, what the statement was made "
                f"from: none of its entries has the digest {options.head}. Its "
                "end was cut off, or it was written anew."
            )
        since = totals.sequence - place
        verb = "was" if since == 1 else "were"
        print(f"the statement's head is entry {place}; {since} {verb} recorded since")
    if log is not None:
        print_witness(log, totals.sequence)
    # A digest that somebody kept stands for the end as well.
    is_complete = head is not None or bool(log and log.heads) or not completeness_note
    result = "ok" if is_complete else "unaltered, but not checked at its end"
    print(f"{result}: {entry_count(totals.sequence)}, head digest {totals.digest}")


def _replay(ledger: Ledger, options: argparse.Namespace) -> None:
    for name, spent in replay(ledger).items():
        # All digits, for comparison with other programs.
        is_gaussian = spent.order == GAUSSIAN
        currency = "mu^2 " if is_gaussian else "divergence "
        order = "" if is_gaussian else f" at order {spent.order!r}"
        print(
            f"{visible(name)}: epsilon {spent.epsilon!r} at delta {spent.delta!r}, {currency}"
            f"{spent.amount!r}{order}, {spent.share:.1%} of its budget, "
            f"{spent.n_rows} answers in {spent.n_releases} releases"
        )
    print("ok: no entry went over the budget or its scope's cap")


def _export(ledger: Ledger, options: argparse.Namespace) -> None:
    json.dump(export(ledger), sys.stdout, allow_nan=False, indent=1)
    print()


def _statement(ledger: Ledger, options: argparse.Namespace) -> None:
    _warn_of_copy(ledger)
    statement = PrivacyStatement.of(ledger, witness_of(options))
    if options.json:
        print(json.dumps(statement.to_dict(), allow_nan=False, indent=1))
    elif options.html is None:
        print(statement)
    elif options.html == _STANDARD_OUTPUT:
        print(statement.to_page(), end="")
    else:
        _write_page(options.html, statement.to_page())
        digest = statement.head or WITHHELD
        print(f"{visible(options.html)}: {entry_count(statement.n_entries)}, head digest {digest}")


def _roles(options: argparse.Namespace) -> None:
    print(roles_script(), end="")


def _write_page(path: str, page: str) -> None:
    """Write a page to a new file."""
    is_new = False
    try:
        with open(path, "x", encoding="utf-8") as file:
            is_new = True
            file.write(page)
    except FileExistsError:
        raise _PageError(
            f"{path!r} exists already, and a statement may be signed: nothing was written. Name a "
            "new file."
        ) from None
    except (OSError, ValueError) as error:
        if is_new:
            with suppress(OSError):
                os.unlink(path)
        raise _PageError(f"{path!r} can't be written: {error}") from error
