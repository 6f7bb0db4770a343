"""Words between a command and whoever runs it: errors, notes, pages, JSON and amounts."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from secretballot._base._errors import BudgetExceededError
from secretballot._base._view import WITHHELD, entry_count, visible

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

#: Words for a ledger that a command reads, and for one that it writes to.
_READ = "the ledger, a file or the URL of one on a server; it is only read"
WRITTEN = "the ledger, a file or the URL of one on a server"

#: The page that is printed.
STANDARD_OUTPUT = ""


class CommandError(Exception):
    """A command that can't be carried out as it was given."""


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], None],
    summary: str,
    what: str = _READ,
    nargs: str | None = None,
) -> argparse.ArgumentParser:
    """Add a command on a ledger; `what` describes the ledger."""
    command = commands.add_parser(name, help=summary, description=f"{name}: {summary}.")
    command.set_defaults(run=run)
    command.add_argument("file", nargs=nargs, metavar="FILE", help=what)
    return command


def add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="as one JSON object")


def print_json(facts: Mapping[str, Any]) -> None:
    print(json.dumps(facts, allow_nan=False, indent=1))


def put_page(path: str, page: str, n_entries: int, head: str | None) -> None:
    """Print a page; or write it to a new file, and print which entries it covers."""
    if path == STANDARD_OUTPUT:
        print(page, end="")
    else:
        _write_new(path, page)
        print(f"{visible(path)}: {entry_count(n_entries)}, head digest {head or WITHHELD}")


def _write_new(path: str, page: str) -> None:
    is_new = False
    try:
        with open(path, "x", encoding="utf-8") as file:
            is_new = True
            file.write(page)
    except FileExistsError:
        raise CommandError(
            f"{path!r} exists already, and a statement may be signed: nothing was written. Name a "
            "new file."
        ) from None
    except (OSError, ValueError) as error:
        if is_new:
            with suppress(OSError):
                os.unlink(path)
        raise CommandError(f"{path!r} can't be written: {error}") from error


def print_note(text: str) -> None:
    print(f"note: {visible(text)}", file=sys.stderr)


@contextmanager
def refusals() -> Iterator[None]:
    """Convert what the accountant refuses to a CommandError, and print its warnings as notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except (BudgetExceededError, ValueError) as error:
            raise CommandError(in_words(str(error), _IN_OPTIONS)) from None
        finally:
            for warning in caught:
                print_note(in_words(str(warning.message), _IN_OPTIONS))


#: Patterns of arguments in messages, and the options of the command line in their place.
_IN_OPTIONS = (
    (r"leave epsilon out to go on with it, or take another name", "take another name"),
    (r"\bname=(?=['\"])", "NAME "),
    (r"\bn_rows=(\S+)", r"--rows \1"),
    (r"\bn_columns=(\S+)", r"--columns \1"),
    (r"\bledger=(?=['\"])", "FILE "),
    (r"\bclose\(\)", r"`close`"),
    (r"\b(epsilon|delta|unit|relation|order|sigma|share)='([^']*)'", r"--\1 \2"),
    (r"\b(epsilon|delta|unit|relation|order|sigma|share)=(?=[^\s.,;:)])", r"--\1 "),
    (r"\b(epsilon|delta|unit|relation|order|sigma|share)=", r"--\1"),
    (r"\b([a-z_]+)=(?=[-+.\d'])", r"\1 "),
)


#: What errors of a ledger advise in Python, and the same on the command line.
IN_COMMANDS = (
    (r"^ledger=", "FILE "),
    (r"PrivacyAccountant\.open\(.+\) continues its budget", "its budget goes on"),
    (r" An unnamed ledger lives .* with PrivacyAccountant\(\.\.\., ledger='file'\)", ""),
)


def in_words(message: str, patterns: Sequence[tuple[str, str]]) -> str:
    """Rewrite a message of the library in the words of the command line."""
    for pattern, words in patterns:
        message = re.sub(pattern, words, message)
    return message


class EpsilonOption(argparse.Action):
    """Option that takes ``E`` once, or ``LEVEL=E`` for each level; a number or a dict of them."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        level, equals, text = str(values).rpartition("=")
        try:
            amount = float(text)
        except ValueError:
            raise argparse.ArgumentError(self, f"{text!r} is not a number") from None
        before = getattr(namespace, self.dest)
        if before is None:
            setattr(namespace, self.dest, {level: amount} if equals else amount)
        elif equals and isinstance(before, dict) and level not in before:
            before[level] = amount
        else:
            raise argparse.ArgumentError(self, "give one number, or LEVEL=E once for each level")


def add_epsilon(
    command: argparse._ActionsContainer, summary: str, *, required: bool = True
) -> None:
    command.add_argument(
        "--epsilon",
        required=required,
        action=EpsilonOption,
        metavar="E",
        help=f"{summary}; LEVEL=E for each level of people",
    )


def read_share(text: str) -> float:
    """Read a part of the budget, ``25%`` or ``0.25``."""
    number, percent, after = text.partition("%")
    try:
        part = float(number) / (100 if percent else 1)
    except ValueError:
        part = 0.0
    if after or not 0 < part <= 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no part of the budget: give a percentage up to 100%, such as 25%, or a "
            "number up to 1, such as 0.25"
        )
    return part


def read_count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)
