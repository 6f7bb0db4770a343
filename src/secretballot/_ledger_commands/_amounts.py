"""Epsilons on the command line: one number, or one for each level."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


class EpsilonOption(argparse.Action):
    """Option that takes ``E`` once, or ``LEVEL=E`` for each level; a number or a dict of them."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Add a number to those that came before."""
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


def add_epsilon(command: argparse.ArgumentParser, summary: str) -> None:
    """Add the option ``--epsilon``."""
    command.add_argument(
        "--epsilon",
        required=True,
        action=EpsilonOption,
        metavar="E",
        help=f"{summary}; LEVEL=E for each level of people",
    )
