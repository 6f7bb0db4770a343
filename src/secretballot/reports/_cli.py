"""Command line: administer, show and check a ledger, also while others spend from it."""

from __future__ import annotations

import argparse
import errno
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from secretballot import __version__
from secretballot._base._errors import LedgerError
from secretballot._base._view import visible
from secretballot.accounting._report import replay
from secretballot.accounting._statement import PrivacyStatement
from secretballot.costs._orders import GAUSSIAN
from secretballot.ledger._ledger import Ledger
from secretballot.ledger._server_connection import is_url
from secretballot.ledger._server_store import roles_script
from secretballot.ledger._transfer import export
from secretballot.reports._commands import add_administration, add_children, add_price
from secretballot.reports._console import (
    IN_COMMANDS,
    STANDARD_OUTPUT,
    CommandError,
    add_command,
    add_json,
    in_words,
    put_page,
)
from secretballot.reports._looking import show, verify, warn_of_copy

#: Commands that make a page, and their pages.
_PAGES = {"show": "a page of HTML", "statement": "a page of HTML to print and sign"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    0 for success, 1 for a ledger with a fault, a refusal, or an output that can't be written, 2 for
    a wrong command, 130 for Ctrl-C.
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
    except LedgerError as error:
        _complain(visible(in_words(str(error), IN_COMMANDS)))
        return 1
    except (ImportError, CommandError) as error:
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
    run(Ledger.open(options.file), options)


def _complain(message: str) -> None:
    # If that can't be written either, the exit status remains.
    with suppress(OSError):
        print(f"error: {message}", file=sys.stderr)


def _drop_output() -> None:
    """Discard unwritten output, for which Python would print an error at exit."""
    with suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """Parser whose errors quote no argument that looks like a URL: it may hold a password."""

    def __init__(self, words: Sequence[str], **options: Any) -> None:
        super().__init__(**options)
        urls = filter(_is_secret, words)
        # Errors quote parts of arguments, and escape some letters.
        self._hidden = {part for url in urls for part in re.split(r"[=\s'\"\\]+", url) if part}

    def error(self, message: str) -> NoReturn:
        if any(part in message for part in self._hidden):
            message = (
                "an argument looks like a URL or a login (it is not shown), and stands where none "
                "is expected: it is given as FILE, or as the URL of move"
            )
        super().error(message)


def _is_secret(argument: str) -> bool:
    """Check if an argument, or the value of an option in it, may hold a password."""
    return is_url(argument) or is_url(argument.partition("=")[2])


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    new_parser = partial(_Parser, words)
    parser = new_parser(
        prog="secretballot", description="Differentially private learning by voting."
    )
    parser.add_argument("--version", action="version", version=f"secretballot {__version__}")
    subjects = parser.add_subparsers(  # type: ignore[call-overload]
        required=True, metavar="ledger", parser_class=new_parser
    )
    ledger = subjects.add_parser("ledger", help="administer a ledger, look at it and check it")
    commands = ledger.add_subparsers(required=True, metavar="command", parser_class=new_parser)
    for name, run, summary in (
        ("show", show, "the budget, the share that each level has spent, and every release"),
        ("verify", verify, "check that no entry was altered, removed, reordered or cut off"),
        ("replay", _replay, "add all entries up again and check that none overspent"),
        ("export", _export, "all but private records, for other programs"),
        ("statement", _statement, "the statement for the data owner to sign"),
    ):
        # The one word after `--html` is the ledger: see `_parse`.
        nargs = "?" if name in _PAGES else None
        command = add_command(commands, name, partial(_on_ledger, run), summary, nargs=nargs)
        if name == "show":
            command.add_argument(
                "--last", type=_count, metavar="N", help="show the last N entries only"
            )
        if name == "verify":
            command.add_argument(
                "--head",
                metavar="N:DIGEST",
                help="the head of a statement, which must be in the ledger: its number of entries "
                "and its digest, or the digest alone",
            )
            add_json(command)
        if name in ("show", "export", "statement"):
            form = command.add_mutually_exclusive_group(required=name == "export")
            form.add_argument("--json", action="store_true", help="as JSON")
            if name in _PAGES:
                form.add_argument(
                    "--html",
                    nargs="?",
                    const=STANDARD_OUTPUT,
                    metavar="PAGE",
                    help=f"as {_PAGES[name]}: to the new file PAGE, or to the standard output",
                )
    summary = "an SQL script that makes the tables and roles of ledgers on a PostgreSQL server"
    roles = commands.add_parser("roles", help=summary, description=f"roles: {summary}.")
    roles.set_defaults(run=_roles)
    for add in (add_administration, add_children, add_price):
        add(commands)
    return parser


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse a command; the ledger may follow `--html` as well."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = _parser(words)
    options = parser.parse_args(words)
    if getattr(options, "file", "") is None:
        if not options.html:
            parser.error("the following arguments are required: FILE")
        options.file, options.html = options.html, STANDARD_OUTPUT
    places = [getattr(options, name, None) or "" for name in ("file", "url")]
    if urls := list(filter(_is_secret, words))[sum(map(_is_secret, places)) :]:
        parser.error(urls[0])
    return options


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of entries")
    return int(text)


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
    warn_of_copy(ledger)
    statement = PrivacyStatement.of(ledger)
    if options.json:
        print(json.dumps(statement.to_dict(), allow_nan=False, indent=1))
    elif options.html is None:
        print(statement)
    else:
        put_page(options.html, statement.to_page(), statement.n_entries, statement.head)


def _roles(options: argparse.Namespace) -> None:
    print(roles_script(), end="")
