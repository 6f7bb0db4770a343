"""Commands of a ledger's witness and of its page."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from secretballot._ledger_commands._console import CommandError, add_command, print_note
from secretballot._tables import entry_count, visible
from secretballot.accounting import Witness
from secretballot.accounting.witnessing import HeadLog, make_key_pair, publish_head
from secretballot.ledger import Ledger
from secretballot.serving import LedgerPage, PageServer

if TYPE_CHECKING:
    from secretballot._ledger_commands._console import Commands

_PORT, _MAX_PORT = 8765, 65_535


def add_watching(commands: Commands) -> None:
    """Add the commands `key`, `witness` and `serve`."""
    summary = "make a key pair for a witness: KEY, for it alone, and KEY.pub, for everybody"
    key = commands.add_parser("key", help=summary, description=f"key: {summary}.")
    key.set_defaults(run=_make_key)
    key.add_argument("key", metavar="KEY", help="a new file, readable by its owner alone")

    summary = "append a signed head of the ledger to a log that is shared by other means"
    witness = add_command(commands, "witness", _publish, summary)
    witness.add_argument("--key", required=True, metavar="KEY", help="the witness's private key")
    witness.add_argument(
        "--to", required=True, metavar="PATH", help="the log, a file; one for each ledger"
    )
    witness.add_argument(
        "--earlier-keys",
        metavar="PUBLIC",
        help="public keys that signed heads of the log before this key did",
    )

    summary = "show the ledger on a page, to be read in a browser until Ctrl-C; nothing can spend"
    serve = add_command(commands, "serve", _serve, summary)
    serve.add_argument(
        "--port", type=_port, default=_PORT, metavar="N", help=f"default {_PORT}; 0: a free one"
    )
    serve.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="NAME",
        help="address or name to listen at, this machine alone by default; there is no password",
    )
    add_witness(serve)


def add_witness(command: argparse.ArgumentParser) -> None:
    """Add the options of a witness that a ledger is checked against."""
    command.add_argument(
        "--witness", metavar="PATH", help="signed heads, whose entries must be in the ledger"
    )
    command.add_argument(
        "--witness-key", metavar="PUBLIC", help="public key, or keys, of the witness"
    )


def check_witness(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End with a usage error if one option of a witness is given without the other."""
    values = [getattr(options, name, None) for name in ("witness", "witness_key")]
    if any(values) and not all(values):
        parser.error("--witness PATH and --witness-key PUBLIC belong together")


def witness_of(options: argparse.Namespace) -> Witness | None:
    """Return the witness that a command is given, or None."""
    return Witness(options.witness, options.witness_key) if options.witness else None


def print_witness(log: HeadLog, n_entries: int) -> None:
    """Print the result of a comparison with signed heads."""
    if not log.heads:
        print_note(log.empty_note)
        return
    newest, n_heads = log.heads[-1], len(log.heads)
    heads = "one signed head, which is" if n_heads == 1 else f"{n_heads} signed heads, all"
    since = n_entries - newest.n_entries
    verb = "was" if since == 1 else "were"
    print(
        f"the witness has {heads} in this ledger; the newest is entry {newest.n_entries}, signed "
        f"{newest.time}; {since} {verb} recorded since"
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, from 0 to {_MAX_PORT}")
    return int(text)


def _make_key(options: argparse.Namespace) -> None:
    public, key_id = make_key_pair(options.key)
    print(f"{visible(options.key)}: the private key; whoever reads it can sign for the witness")
    print(f"{visible(public)}: the public key {key_id}")


def _publish(options: argparse.Namespace) -> None:
    ledger = Ledger.open(options.file)
    if note := ledger.completeness_note():
        print_note(note)
    head = publish_head(ledger, options.key, options.to, options.earlier_keys)
    print(f"{visible(options.to)}: {entry_count(head.n_entries)}, head digest {head.digest}")


def _serve(options: argparse.Namespace) -> None:
    page = LedgerPage(options.file, witness_of(options), _complain)
    try:
        server = PageServer(page, options.host, options.port)
    except (OSError, ValueError) as error:
        raise CommandError(
            f"--host {options.host} --port {options.port}: no page can be served there: {error}"
        ) from None
    with server:
        if not server.is_loopback:
            print_note("whoever reaches this address can read the page.")
        print(f"{server.url} (Ctrl-C ends it)", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def _complain(message: str) -> None:
    print(f"error: {visible(message)}", file=sys.stderr)
