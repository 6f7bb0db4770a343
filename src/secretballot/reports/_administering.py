"""Commands that make a ledger, move one to a server, and accept one that is refused."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from secretballot._base._tables import entry_count, visible
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.ledger._budget import RELATIONS, UNITS, AskedOrder
from secretballot.ledger._ledger import Ledger
from secretballot.ledger._moving import move
from secretballot.reports._amounts import add_epsilon
from secretballot.reports._console import WRITTEN, add_command, print_note, refusals

if TYPE_CHECKING:
    from secretballot.reports._console import Commands

_NAMED_ORDERS: dict[str, AskedOrder] = {"gaussian": "gaussian", "renyi": "renyi"}


def add_administration(commands: Commands) -> None:
    """Add the commands `create`, `move` and `accept`."""
    summary = "make a new ledger, once for each private data set"
    create = add_command(
        commands, "create", _create, summary, "a new file, or the URL of a new ledger on a server"
    )
    add_epsilon(create, "the most that may ever be spent")
    create.add_argument(
        "--delta", required=True, type=float, metavar="D", help="well below one over the rows"
    )
    create.add_argument("--unit", choices=UNITS, default="row", help="what is protected")
    create.add_argument("--relation", choices=RELATIONS, default="replace")
    create.add_argument(
        "--order",
        type=_order,
        default="gaussian",
        metavar="ORDER",
        help="what adds up: gaussian (the default), renyi, or a Renyi order (a number; inf)",
    )

    summary = "copy a ledger file to a server with its chain, and go on there"
    moving = add_command(
        commands, "move", _move, summary, "the ledger file, which is not spent from any more"
    )
    moving.add_argument("url", metavar="URL", help="a new ledger on a server")

    summary = "go on with a ledger that is refused, and record what is declared of it"
    accept = add_command(commands, "accept", _accept, summary, WRITTEN)
    causes = accept.add_mutually_exclusive_group(required=True)
    causes.add_argument(
        "--moved",
        action="store_const",
        dest="cause",
        const="moved",
        help="a copy: the original is gone, with nothing spent that is not in this one",
    )
    causes.add_argument(
        "--clock",
        action="store_const",
        dest="cause",
        const="clock",
        help="the clock is right, and was ahead when the last entry was recorded",
    )


def _order(text: str) -> AskedOrder:
    if text in _NAMED_ORDERS:
        return _NAMED_ORDERS[text]
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is none of gaussian, renyi and a number"
        ) from None


def _create(options: argparse.Namespace) -> None:
    with refusals():
        accountant = PrivacyAccountant(
            options.epsilon,
            options.delta,
            unit=options.unit,
            relation=options.relation,
            order=options.order,
            ledger=options.file,
        )
    print(f"{visible(str(accountant.ledger))}: a new ledger\n{visible(repr(accountant))}")


def _accept(options: argparse.Namespace) -> None:
    before = Ledger.open(options.file).totals().sequence
    with refusals():
        accountant = PrivacyAccountant.open(options.file, accept=options.cause)
    is_recorded = Ledger.open(options.file).totals().sequence > before
    what = "recorded" if is_recorded else "nothing was to be accepted"
    print(f"{visible(str(accountant.ledger))}: {what}\n{visible(repr(accountant))}")


def _move(options: argparse.Namespace) -> None:
    ledger = Ledger.open(options.file)
    before = ledger.verify()
    if damage := ledger.settle():
        print_note(damage)
    moved = move(ledger, options.url)
    after = moved.verify()
    print(
        f"{visible(moved.name)}: {entry_count(after.n_entries)}, head digest {after.digest}\n"
        f"The first {before.n_entries} are those of {visible(ledger.name)}; the last one records "
        "the move. That file is not spent from any more. Keep it as a copy, or delete it with its "
        "mark."
    )
