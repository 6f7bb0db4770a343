"""Commands that make or change a ledger, and the price of a release."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any, cast

from secretballot import mechanisms
from secretballot._base._errors import BudgetExceededError
from secretballot._base._view import (
    entry_count,
    mechanism_text,
    percent,
    plain_number,
    text_table,
    visible,
)
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._children import child_reports, children_rows, epsilon_of_share
from secretballot.ledger._budget import RELATIONS, UNITS, AskedOrder, by_level
from secretballot.ledger._entry import NAME_SEPARATOR
from secretballot.ledger._ledger import Ledger
from secretballot.ledger._transfer import move
from secretballot.mechanisms._base import Mechanism
from secretballot.reports._console import (
    WRITTEN,
    CommandError,
    add_command,
    add_epsilon,
    add_json,
    print_json,
    print_note,
    read_count,
    read_share,
    refusals,
)

if TYPE_CHECKING:
    from secretballot.reports._console import Commands

_NAMED_ORDERS: dict[str, AskedOrder] = {"gaussian": "gaussian", "renyi": "renyi"}


def add_administration(commands: Commands) -> None:
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
    for cause, meaning in (
        ("moved", "a copy: the original is gone, with nothing spent that is not in this one"),
        ("clock", "the clock is right, and was ahead when the last entry was recorded"),
    ):
        causes.add_argument(
            f"--{cause}", action="store_const", dest="cause", const=cause, help=meaning
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


_HEADINGS = ("child", "level", "epsilon", "spent", "releases", "state")


def add_children(commands: Commands) -> None:
    summary = "the child budgets, with what each has spent"
    add_json(add_command(commands, "children", _list, summary))

    summary = "give a part of the budget to a child: a team, a project or a year"
    carve = add_command(commands, "carve", _carve, summary, WRITTEN)
    carve.add_argument("name", metavar="NAME", help=f"a new name, without {NAME_SEPARATOR!r}")
    amount = carve.add_mutually_exclusive_group(required=True)
    add_epsilon(amount, "the most that the child may spend", required=False)
    amount.add_argument(
        "--share",
        type=read_share,
        metavar="P%",
        help="the same as a part of the whole budget, such as 25%%",
    )
    amount.add_argument(
        "--parts",
        type=read_count,
        metavar="N",
        help="one of N equal parts of that budget: 4 for the quarters of a year",
    )

    summary = "close a child for good, and give back what it did not spend"
    close = add_command(commands, "close", _close, summary, WRITTEN)
    close.add_argument("name", metavar="NAME", help="the child")


def open_child(file: str, name: str) -> PrivacyAccountant:
    """Open a ledger, and return the child of a name; the whole budget for ""."""
    accountant = PrivacyAccountant.open(file)
    return accountant.child(name) if name else accountant


def _list(options: argparse.Namespace) -> None:
    ledger = Ledger.open(options.file)
    reports = child_reports(ledger)
    if options.json:
        print_json({"ledger": ledger.name, "children": reports})
        return
    rows = children_rows(reports)
    print(text_table(_HEADINGS, rows) if rows else "no children")


def _carve(options: argparse.Namespace) -> None:
    with refusals():
        accountant = PrivacyAccountant.open(options.file)
        epsilon = options.epsilon
        if epsilon is None:
            epsilon = epsilon_of_share(accountant.levels, options.share or 1 / options.parts)
        child = accountant.child(options.name, epsilon=epsilon)
        print(f"{visible(child.child_name)}: a new child\n{visible(repr(child))}")
        print(f"of the budget:\n{accountant.remaining()}")


def _close(options: argparse.Namespace) -> None:
    with refusals():
        open_child(options.file, options.name).close()
        print(f"{visible(options.name)}: closed")
        print(f"of the budget:\n{PrivacyAccountant.open(options.file).remaining()}")


def add_price(commands: Commands) -> None:
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
    left_now = {name: level.share for name, level in by_level(accountant.remaining()).items()}
    levels: list[dict[str, Any]] = [
        {
            "level": name,
            "asked": plain_number(share),
            "spent": 1 - left_now[name],
            "left": left_now[name],
            "left_after": None if refusal else max(left_now[name] - share, 0.0),
        }
        for name, share in by_level(shares).items()
    ]
    is_sensitive = accountant.accounting == "data_dependent"
    if is_sensitive:
        print_note("these figures depend on the private data: they are sensitive themselves.")
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


def _mechanism(name: str, settings: dict[str, float], relation: str) -> Mechanism:
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
