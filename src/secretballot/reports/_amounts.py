"""Amounts on the command line: epsilons, also by level, parts of the budget, and counts."""

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


def add_epsilon(
    command: argparse._ActionsContainer, summary: str, *, required: bool = True
) -> None:
    """Add the option ``--epsilon``."""
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
    """Read an integer from 1 on."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)
