"""The program of a computing party: ``python -m secretballot.computing --help``."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
from functools import partial

from secretballot.computing._computing_party import ComputingParty
from secretballot.computing._shares import N_COMPUTING
from secretballot.transport import Address, Credentials


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise argparse.ArgumentTypeError(f"{text} must be HOST:PORT.")
    return host, int(port)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m secretballot.computing",
        description="One of the three computing parties of a secret vote; each should be run by "
        "somebody else. It serves votes one after another, until it is stopped.",
    )
    add = partial(parser.add_argument, required=True)
    add("--listen", metavar="HOST:PORT", type=_address, help="its own address")
    add("--certificate", metavar="FILE", help="its certificate, and chain")
    add("--key", metavar="FILE", help="the key of its certificate")
    add("--authority", metavar="FILE", help="the signer of all certificates")
    add("--coordinator", metavar="NAME", help="name in the certificate of who may hold votes")
    add(
        "--voters",
        metavar="NAME",
        nargs="+",
        help="names in the certificates of all who may vote: the parties of the agreement",
    )
    add(
        "--computing",
        metavar="HOST:PORT",
        type=_address,
        nargs=N_COMPUTING,
        help="the addresses of all three, in the order in which voters have them",
    )
    parser.add_argument(
        "--max-bytes",
        metavar="N",
        type=int,
        default=2**28,
        help="longest shares of one voter (%(default)s): 16 for each number",
    )
    return parser


def _serve(party: ComputingParty, address: Address) -> None:
    asyncio.run(party.serve(address, lambda port: print(port, flush=True)))


def _serve_parent() -> None:
    """Serve the process that started this one, and end with it."""
    token = sys.stdin.readline().strip()

    def end_with_parent() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    _serve(ComputingParty(token), ("127.0.0.1", 0))
    os._exit(0)


def main() -> None:
    """Run a computing party."""
    if sys.argv[1:] == ["--child"]:
        _serve_parent()
    parser = _parser()
    options = parser.parse_args()
    roles = [*options.voters, options.coordinator, *{host for host, _ in options.computing}]
    if len(set(roles)) < len(roles):
        parser.error("--voters, --coordinator and the hosts of --computing must all differ.")
    try:
        credentials = Credentials(options.authority, options.certificate, options.key)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    party = ComputingParty(
        "", credentials, options.coordinator, options.voters, options.computing, options.max_bytes
    )
    _serve(party, options.listen)
    # A new process for each coordinator keeps the votes' states apart.
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


if __name__ == "__main__":
    main()
