"""The program of a computing party: ``python -m secretballot.computing --help``."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import threading

from secretballot.computing._server import Address, ComputingParty
from secretballot.computing._shares import N_COMPUTING
from secretballot.transport import Credentials


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m secretballot.computing",
        description="One of the three computing parties of a secret vote; each should be run by "
        "somebody else. It serves votes one after another, until it is stopped.",
    )
    parser.add_argument("--listen", metavar="HOST:PORT", help="where voters reach it")
    parser.add_argument("--certificate", metavar="FILE", help="its certificate, and chain")
    parser.add_argument("--key", metavar="FILE", help="the key of its certificate")
    parser.add_argument("--authority", metavar="FILE", help="who signs all certificates")
    parser.add_argument(
        "--coordinator", metavar="NAME", help="who may hold votes, as its certificate says"
    )
    parser.add_argument(
        "--voters",
        metavar="NAME",
        nargs="+",
        help="all who may vote, as their certificates say: those that the parties agreed on",
    )
    parser.add_argument(
        "--computing",
        metavar="HOST:PORT",
        nargs=N_COMPUTING,
        help="where all three are, in the order that voters know them by",
    )
    parser.add_argument(
        "--max-bytes",
        metavar="N",
        type=int,
        default=2**28,
        help="the most that the shares of one voter may take (%(default)s): 16 for each number",
    )
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser


def _address(parser: argparse.ArgumentParser, name: str, given: str) -> Address:
    host, _, port = given.rpartition(":")
    if not host or not port.isdigit():
        parser.error(f"--{name}={given} must be HOST:PORT.")
    return host, int(port)


def _child() -> None:
    """Serve the process that started this one, and end with it."""
    token = json.loads(sys.stdin.readline())["token"]

    def end_with_parent() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()

    async def serve() -> None:
        party = ComputingParty(token)
        await party.serve(("127.0.0.1", 0), lambda port: print(port, flush=True))

    asyncio.run(serve())
    os._exit(0)


def main() -> None:
    """Run a computing party."""
    parser = _parser()
    given = parser.parse_args()
    if given.child:
        _child()
        return
    for name in ("listen", "certificate", "key", "authority", "coordinator", "voters", "computing"):
        if getattr(given, name) is None:
            parser.error(f"--{name} is missing.")
    host, port = _address(parser, "listen", given.listen)
    panel = [_address(parser, "computing", each) for each in given.computing]
    roles = [*given.voters, given.coordinator, *{host for host, _ in panel}]
    if len(set(roles)) < len(roles):
        parser.error("--voters, --coordinator and the hosts of --computing must all differ.")
    try:
        credentials = Credentials(given.authority, given.certificate, given.key)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    party = ComputingParty("", credentials, given.coordinator, given.voters, panel, given.max_bytes)

    async def serve() -> None:
        await party.serve((host, port), lambda port: print(port, flush=True))

    asyncio.run(serve())
    # One vote's state never gets into another's: each coordinator is served by a new process.
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


if __name__ == "__main__":
    main()
