"""Command that prices a release without making it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any, cast

from secretballot import mechanisms
from secretballot._base._errors import BudgetExceededError
from secretballot._base._tables import mechanism_text, percent, plain_number, text_table
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.ledger._budget import ONLY_LEVEL
from secretballot.mechanisms._base import Mechanism
from secretballot.reports._amounts import read_count
from secretballot.reports._child_budgets import open_child
from secretballot.reports._console import (
    CommandError,
    add_command,
    add_json,
    print_json,
    print_note,
    refusals,
)

if TYPE_CHECKING:
    from secretballot.reports._console import Commands

_SENSITIVE = "these figures depend on the private data: they are sensitive themselves."


def add_price(commands: Commands) -> None:
    """Add the command `price`."""
    summary = "the price of a release as a share of the budget, and what it would leave; no spend"
    price = add_command(commands, "price", _price, summary)
    price.add_argument(
        "--mechanism", required=True, metavar="NAME", help="such as GNMax or VectorSum"
    )
    price.add_argument("--sigma", type=_number, metavar="S", help="standard deviation of the noise")
    price.add_argument(
        "--set",
        type=_setting,
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="another parameter of the mechanism, such as threshold=300",
    )
    price.add_argument("--rows", type=read_count, default=1, metavar="N", help="default 1")
    price.add_argument(
        "--columns",
        type=read_count,
        metavar="C",
        help="columns of the counts (classes); default: any",
    )
    price.add_argument("--child", default="", metavar="NAME", help="the child that would pay")
    add_json(price)


def _number(text: str) -> float:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _setting(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    return name, _number(number)


def _price(options: argparse.Namespace) -> None:
    with refusals():
        accountant = open_child(options.file, options.child)
        settings = dict(options.set)
        if options.sigma is not None:
            settings["sigma"] = options.sigma
        mechanism = _mechanism(options.mechanism, settings, accountant.relation)
        refusal = ""
        try:
            shares = accountant.price(mechanism, options.rows, n_columns=options.columns)
        except BudgetExceededError as error:
            refusal = str(error)
            shares = accountant.price(
                mechanism, options.rows, n_columns=options.columns, check_left=False
            )
    _report(options, accountant, mechanism, _by_level(shares), refusal)


def _report(
    options: argparse.Namespace,
    accountant: PrivacyAccountant,
    mechanism: Mechanism,
    shares: dict[str, float],
    refusal: str,
) -> None:
    """Print a price; CommandError if it does not fit."""
    remaining = _by_level(accountant.remaining())
    left_now = {name: level.share for name, level in remaining.items()}
    levels = [
        {
            "level": name,
            "asked": plain_number(share),
            "spent": 1 - left_now[name],
            "left": left_now[name],
            "left_after": None if refusal else max(left_now[name] - share, 0.0),
        }
        for name, share in shares.items()
    ]
    is_sensitive = accountant.accounting == "data_dependent"
    if is_sensitive:
        print_note(_SENSITIVE)
    if options.json:
        print_json(
            {
                "mechanism": mechanism.describe(),
                "n_rows": options.rows,
                "n_columns": options.columns,
                "child": options.child or None,
                "fits": not refusal,
                "sensitive": is_sensitive,
                "levels": levels,
            }
        )
    else:
        print(f"{mechanism_text(mechanism.describe())}, rows: {options.rows}")
        headings = ("level", "asked", "spent", "left", "left after")
        rows = [[level["level"], *map(_share, list(level.values())[1:])] for level in levels]
        print(text_table(headings, rows))
    if refusal:
        raise CommandError(refusal)


def _share(share: Any) -> str:
    return "does not fit" if share is None else percent(float(share))


def _by_level(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {ONLY_LEVEL: value}


def _mechanism(name: str, settings: dict[str, float], relation: str) -> Mechanism:
    """Make a mechanism of `secretballot.mechanisms` from numbers."""
    public = {title: getattr(mechanisms, title) for title in mechanisms.__all__}
    kinds = {title: kind for title, kind in public.items() if is_dataclass(kind)}
    if name not in kinds:
        raise CommandError(f"--mechanism {name} is none of {', '.join(sorted(kinds))}.")
    parameters = {field.name: field for field in fields(kinds[name]) if field.init}
    if unknown := settings.keys() - parameters:
        raise CommandError(
            f"{name} has no {', '.join(sorted(unknown))}; it has {', '.join(parameters)}."
        )
    required = {
        parameter
        for parameter, field in parameters.items()
        if field.default is MISSING and field.default_factory is MISSING
    }
    if missing := required - settings.keys():
        raise CommandError(
            f"{name} needs {', '.join(sorted(missing))}: give each with --set NAME=NUMBER. A "
            "mechanism that takes other than numbers is priced by accountant.price in Python."
        )
    arguments: dict[str, Any] = dict(settings)
    if "relation" in parameters:
        arguments["relation"] = relation
    return cast("Callable[..., Mechanism]", kinds[name])(**arguments)
