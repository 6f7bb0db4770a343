"""The program of a computing party: ``python -m secretballot.computing --help``."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import ssl
import sys
import threading

from secretballot.computing._server import ComputingParty
from secretballot.computing._shares import N_COMPUTING
from secretballot.computing._wire import Address


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
        "--computing",
        metavar="HOST:PORT",
        nargs=N_COMPUTING,
        help="where all three are, in the order that voters know them by",
    )
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser


def _address(parser: argparse.ArgumentParser, name: str, given: str) -> Address:
    host, _, port = given.rpartition(":")
    if not host or not port.isdigit():
        parser.error(f"--{name}={given} must be HOST:PORT.")
    return host, int(port)


def _contexts(given: argparse.Namespace) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return what it is called with and what it calls with; both sides prove who they are."""
    contexts = []
    for purpose in (ssl.Purpose.CLIENT_AUTH, ssl.Purpose.SERVER_AUTH):
        context = ssl.create_default_context(purpose, cafile=given.authority)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(given.certificate, given.key)
        contexts.append(context)
    return contexts[0], contexts[1]


def _child() -> None:
    """Serve the process that started this one, and end with it."""
    token = json.loads(sys.stdin.readline())["token"]

    def end_with_parent() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()

    async def serve() -> None:
        party = ComputingParty(token)
        await party.serve("127.0.0.1", 0, None, lambda port: print(port, flush=True))

    asyncio.run(serve())
    os._exit(0)


def main() -> None:
    """Run a computing party."""
    parser = _parser()
    given = parser.parse_args()
    if given.child:
        _child()
        return
    for name in ("listen", "certificate", "key", "authority", "coordinator", "computing"):
        if getattr(given, name) is None:
            parser.error(f"--{name} is missing.")
    host, port = _address(parser, "listen", given.listen)
    panel = [_address(parser, "computing", each) for each in given.computing]
    called, calling = _contexts(given)

    async def serve() -> None:
        party = ComputingParty("", calling, given.coordinator, panel)
        await party.serve(host, port, called, lambda port: print(port, flush=True))

    asyncio.run(serve())
    # One vote's state never gets into another's: each coordinator is served by a new process.
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


if __name__ == "__main__":
    main()
