"""Layout of a privacy statement."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from secretballot import __version__
from secretballot._base._tables import WITHHELD, entry_count, mechanism_text, percent
from secretballot._base._view import View
from secretballot._base._view_parts import Answers, Blanks, Heading, Items, Part, Prose, Table
from secretballot.accounting._assumptions import RELATIONS, UNITS
from secretballot.accounting._summary import QUESTIONS, chance, percent_up
from secretballot.accounting._trade_off import level_trade_off
from secretballot.costs._orders import GAUSSIAN
from secretballot.ledger._budget import LevelBudget

if TYPE_CHECKING:
    from secretballot.accounting._statement import PrivacyStatement

_LEVELS = ("level", "epsilon", "delta", "limit", "delta0", "spent", "epsilon so far")
_TESTS = ("level", "best guess", "10% to 50%", "power at 1%", "at 5%", "at 10%")
_FALSE_ALARMS = (0.01, 0.05, 0.1)

_TWO_STEPS = (
    "Data sets that differ in what a unit contributed, and not in whether it did, are two such "
    "steps apart: twice epsilon, and delta (1 + e^epsilon). "
)

_SIGNATURE = Blanks(("Data set", "Organisation", "Name", "Role", "Date", "Signature"))
_NO_SIGNATURE = Prose.of(
    "For the owner's own files: there is no guarantee here that others may rely on, and so nothing "
    "to sign. Budgets with accounting='worst_case' or 'sanitized' have one.",
    wrapped=True,
)


def statement_view(statement: PrivacyStatement, page_date: date | None = None) -> View:
    """Lay out a statement; `page_date` is the date of a printed page."""
    answers = tuple((QUESTIONS[key], statement.summary[key]) for key in QUESTIONS)
    sensitive = statement.accounting == "data_dependent"
    parts: list[Part] = [Answers(answers)]
    if statement.completeness_note:
        parts.insert(0, Prose.of(f"NOTE: {statement.completeness_note}", wrapped=True))
    if statement.outside:
        parts += [Heading("Outside of the guarantee"), Items(statement.outside, wrapped=True)]
    parts += [
        Heading("The guarantee"),
        *(_bounds_of_known_data(statement) if sensitive else _guarantee(statement)),
        Heading("Released so far"),
        Items(tuple(map(_release, statement.released)) or ("Nothing.",), wrapped=True),
        Heading("What the ledger records"),
        Items(statement.recorded, wrapped=True),
        Heading("What is assumed"),
        Items(statement.assumptions, wrapped=True),
        Heading("Ledger"),
        Prose.of(*_ledger_lines(statement, page_date)),
        _NO_SIGNATURE if sensitive else _SIGNATURE,
    ]
    return View("Privacy statement", tuple(parts))


def _guarantee(statement: PrivacyStatement) -> list[Part]:
    """State the guarantee as a formula, with the limits of tests that follow from it."""
    exception = " and are not listed as outside" if statement.outside else ""
    is_gaussian = statement.levels[0]["order"] == GAUSSIAN
    two_steps = "" if statement.relation == "replace" else _TWO_STEPS
    parts: list[Part] = [
        Prose.of(
            f"Two data sets are neighbours if {UNITS[statement.unit]} is "
            f"{RELATIONS[statement.relation]}. For any two, either way round, and any set S of "
            "answers that may be released from this budget over its whole life"
            f"{exception}: P(S) <= e^epsilon Q(S) + delta, P and Q being its probabilities under "
            "the two ((epsilon, delta)-differential privacy). "
            f"{two_steps}The figures are",
            wrapped=True,
        ),
        Table(_LEVELS, [_level_cells(level) for level in statement.levels]),
        Prose.of(_power(is_gaussian), wrapped=True),
    ]
    tested = [level for level in statement.levels if level["best_guess"] is not None]
    if tested:
        parts.append(Table(_TESTS, [_test_cells(level) for level in tested]))
    parts.append(
        Prose.of(
            "Best guess: how often a guess is right between two equally likely neighbours. "
            "10% to 50%: how often the odds of a true suspicion rise ninefold or more. Power at "
            "1%: how often a test finds what is true, if it says the same of the neighbour in 1% "
            "of cases. All of these are upper bounds, for the whole budget, whatever was spent of "
            "it. Epsilon so far is a reading of what was spent, and no guarantee.",
            wrapped=True,
        )
    )
    return parts


def _power(is_gaussian: bool) -> str:
    power = (
        "delta0 + (1 - delta0) Phi(Phi^-1(a / (1 - delta0)) + mu), Phi being the normal "
        "distribution function and delta0 the part of delta that is set aside"
        if is_gaussian
        else "min(e^epsilon a + delta, 1 - e^-epsilon (1 - delta - a))"
    )
    return (
        "No test of a data set against a neighbour with false alarms at rate a has more power than "
        f"{power}."
    )


def _bounds_of_known_data(statement: PrivacyStatement) -> list[Part]:
    """State what a data-dependent budget bounds, and what it does not."""
    return [
        Prose.of(
            "None that holds for all data. Each release was charged the largest divergence between "
            f"its answers on the actual votes and on votes of data in which "
            f"{UNITS[statement.unit]} is {RELATIONS[statement.relation]}. The charges were kept "
            "within",
            wrapped=True,
        ),
        Table(_LEVELS, [_level_cells(level) for level in statement.levels]),
        Prose.of(
            "Data with other votes were charged otherwise, and might have released more or less. "
            "The guarantee does not cover what is learned from where the releases ended.",
            wrapped=True,
        ),
    ]


def _level_cells(level: Mapping[str, Any]) -> list[str]:
    epsilon_spent = level["epsilon_spent"]
    return [
        level["level"],
        f"{level['epsilon']:g}",
        f"{level['delta']:g}",
        _limit(level["order"], level["limit"]),
        f"{level['approximation_delta']:g}",
        percent(level["share_spent"]),
        WITHHELD if epsilon_spent is None else f"{float(epsilon_spent):.4g}",
    ]


def _limit(order: float | str, limit: float) -> str:
    if order == GAUSSIAN:
        return f"mu^2 {limit:.4g}"
    if order == "inf":
        return f"sum of epsilons {limit:.4g}"
    return f"divergence {limit:.4g} at order {float(order):.4g}"


def _test_cells(level: Mapping[str, Any]) -> list[str]:
    order = level["order"]
    budget = LevelBudget(
        name=level["level"],
        epsilon=level["epsilon"],
        delta=level["delta"],
        approximation_delta=level["approximation_delta"],
        order=order if order == GAUSSIAN else float(order),
        amount=level["limit"],
    )
    powers = map(level_trade_off(budget).power, _FALSE_ALARMS)
    return [
        level["level"],
        percent_up(level["best_guess"]),
        chance(level["ninefold_rise"]),
        *map(percent_up, powers),
    ]


def _release(group: Mapping[str, Any]) -> str:
    """Describe releases that are alike."""
    count, n_rows = group["n_releases"], group["n_rows"]
    first, last = group["first"][:10], group["last"][:10]
    times = f"on {first}" if first == last else f"from {first} to {last}"
    answers = f"{WITHHELD} number of answers" if n_rows is None else f"answers: {n_rows:,}"
    noise = ". REPRODUCIBLE NOISE" if group["seeded"] else ""
    return (
        f"{count} {'release' if count == 1 else 'releases'} {times}: {group['words']}. "
        f"{mechanism_text(group['mechanism'])}, {answers}{noise}"
    )


def _ledger_lines(statement: PrivacyStatement, page_date: date | None) -> list[str]:
    lines = [
        f"{statement.ledger_id}, opened {statement.created[:10]} "
        f"(secretballot {statement.library_version})",
        f"{entry_count(statement.n_entries)}, head digest {statement.head or WITHHELD}",
    ]
    if statement.n_entries:
        lines.append(f"Last entry: {statement.as_of[:19].replace('T', ' ')} UTC")
    if statement.is_temporary:
        lines.append(
            "This ledger has no name: it is deleted when its program ends, and can't be checked "
            "then."
        )
        lines.append("To keep one: PrivacyAccountant(..., ledger='survey.ledger')")
    elif statement.head:
        head = f"{statement.n_entries}:{statement.head}"
        lines.append(f"To check: secretballot ledger verify FILE --head {head}")
    if page_date is not None:
        lines.append(f"Page made on {page_date.isoformat()} by secretballot {__version__}")
    return lines
