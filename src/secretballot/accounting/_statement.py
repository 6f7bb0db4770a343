"""The statement that a data owner signs: its values, its text and its page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from typing import Any

from secretballot import __version__
from secretballot._base._view import (
    WITHHELD,
    Answers,
    Blanks,
    Heading,
    Items,
    Part,
    Prose,
    Shown,
    Table,
    View,
    entry_count,
    html_page,
    mechanism_text,
    percent,
    plain_number,
    visible,
)
from secretballot.accounting._assumptions import RELATIONS, UNITS, grounds
from secretballot.accounting._notes import Contents, Released, contents, release_words
from secretballot.accounting._report import spent_by_level
from secretballot.accounting._summary import NINEFOLD, QUESTIONS, chance, percent_up, summary
from secretballot.accounting._trade_off import level_trade_off
from secretballot.costs._orders import GAUSSIAN
from secretballot.ledger._budget import Budget, LevelBudget
from secretballot.ledger._ledger import Ledger

#: Kind and version of the plain values of a statement.
_FORMAT = {"format": "secretballot privacy statement", "version": 1}

_WHOLE = "No entry is missing at the end of the ledger. That could not be checked here."


@dataclass(frozen=True, kw_only=True)
class PrivacyStatement(Shown):
    """Statement for a data owner to sign: guarantee, releases and assumptions.

    `PrivacyAccountant.statement` makes one. It is printed as text, shown as HTML in a notebook,
    `to_page` gives a file to print and sign, and `to_dict` plain values.

    Attributes
    ----------
    summary : dict of str to str
        The guarantee in plain words: ``"who"`` is protected, ``"from_what"``, ``"how_strongly"``,
        ``"until_when"``, and on which ``"assumptions"``.
    unit, relation, accounting : str
        What is protected, what neighbouring data sets differ in, and what is charged.
    levels : tuple of dict
        For each level of the budget: ``level``, ``epsilon``, ``delta``, ``approximation_delta``,
        ``order`` (what costs are counted in), ``limit`` (their limit: mu^2, or the divergence at
        that order), ``share_spent`` and ``epsilon_spent``. What the budget guarantees against a
        test of one data set against a neighbour: ``best_guess``, the largest probability that
        between two equally likely ones a guess is right, and ``ninefold_rise``, that the odds of
        a true suspicion rise ninefold. Where accounting is data dependent the last four are None:
        what was spent is sensitive itself, and nothing is guaranteed over all data.
        ``best_guess`` and ``ninefold_rise`` are None if the level is overspent.
    released : tuple of dict
        What was released, alike releases together: ``words``, ``mechanism``, ``note`` (what the
        caller declared), ``seeded``, ``n_releases``, ``n_rows``, ``first`` and ``last`` (times,
        UTC). If accounting is data dependent, ``mechanism`` is its name alone, and ``n_rows``
        None.
    outside : tuple of str
        What is outside of the guarantee though it was released, in sentences.
    recorded : tuple of str
        What the ledger records about the guarantee, in sentences.
    assumptions : tuple of str
        What rests on somebody's word, in sentences.
    ledger_id, created, library_version : str
        Which ledger it is, when it was opened, and by which version.
    n_entries : int
        How many entries the ledger had.
    as_of : str
        The time of the last, or that when the ledger was opened (UTC).
    head : str or None
        The digest of the last: ``secretballot ledger verify FILE --head N:DIGEST`` takes it with
        `n_entries`. None if accounting is data dependent, where it could confirm a guess.
    is_temporary : bool
        True if the ledger has no name: its file is deleted when the program ends.
    completeness_note : str
        Why entries may be missing at the ledger's end, as in a copy; "" if its mark says that none
        is.

    Examples
    --------
    >>> from secretballot.accounting import PrivacyAccountant, PrivacyStatement
    >>> statement = PrivacyAccountant(epsilon=1.0, delta=1e-5, unit="owner").statement()
    >>> statement
    <PrivacyStatement: epsilon=1, delta=1e-05 per owner, 0 releases>
    >>> print(str(statement).splitlines()[2])
    Who is protected: Every owner (a person, say), with everything that the owner
    >>> statement.to_dict()["levels"][0]["epsilon"]
    1.0
    """

    summary: dict[str, str]
    unit: str
    relation: str
    accounting: str
    levels: tuple[dict[str, Any], ...]
    released: tuple[dict[str, Any], ...]
    outside: tuple[str, ...]
    recorded: tuple[str, ...]
    assumptions: tuple[str, ...]
    ledger_id: str
    created: str
    library_version: str
    n_entries: int
    as_of: str
    head: str | None
    completeness_note: str = ""
    is_temporary: bool = False

    @classmethod
    def of(cls, ledger: Ledger) -> PrivacyStatement:
        """Read a ledger, check it, and state what it holds."""
        return cls.from_facts(ledger_facts(ledger))

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> PrivacyStatement:
        """Put the facts of `ledger_facts`, or the values of `to_dict`, in words."""
        if "format" in facts:
            return cls.from_dict(facts)
        held, stated = Contents(**facts["contents"]), facts["stated"]
        budget = Budget(
            levels=tuple(map(_level_budget, facts["levels"])),
            unit=stated["unit"],
            relation=stated["relation"],
            accounting=stated["accounting"],
        )
        shares = {level["level"]: level["share_spent"] for level in facts["levels"]}
        overspent = {name: share for name, share in shares.items() if share > 1}
        sentences = grounds(budget, held, overspent, facts["child_name"])
        sensitive, released = budget.is_sensitive, []
        for group in held.released:
            words = release_words(group["mechanism"], Released(**group).facts)
            withheld = _withheld(group["mechanism"]) if sensitive else {}
            released.append({"words": words, **group, **withheld})
        as_of = held.last or stated["created"]
        return cls(
            summary=summary(
                budget,
                shares,
                sentences.outside_names,
                n_entries=stated["n_entries"],
                as_of=as_of,
                all_seeded=bool(released) and all(group["seeded"] for group in released),
            ),
            levels=tuple(_level_values(level, sensitive) for level in facts["levels"]),
            released=tuple(released),
            outside=sentences.outside,
            recorded=sentences.recorded,
            assumptions=(*sentences.assumed, *([_WHOLE] if stated["completeness_note"] else [])),
            as_of=as_of,
            head=None if sensitive else facts["digest"],
            **stated,
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PrivacyStatement:
        """Build a statement from the values of `to_dict`; ValueError if they are something else.

        What the values say is not checked: whoever sends them answers for them.
        """
        kind = {name: values.get(name) for name in _FORMAT}
        if kind != _FORMAT:
            raise ValueError(
                f"these values have {_named(kind)}, and a statement has {_named(_FORMAT)}: they "
                "are of something else, or of another version of secretballot."
            )
        attributes, names = {**values}, {field.name for field in fields(cls)}
        for name in _FORMAT:
            del attributes[name]
        if wrong := names.symmetric_difference(attributes):
            raise ValueError(
                f"a statement has the fields of PrivacyStatement; {sorted(wrong)} are missing or "
                "unknown."
            )
        lists = {k: tuple(value) for k, value in attributes.items() if isinstance(value, list)}
        return cls(**{**attributes, **lists})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON takes them; an infinite number is the text ``"inf"``.

        They begin with ``format`` and ``version``; the others are the attributes.
        """
        # Through text: a copy, which shares nothing with this object, and surely plain.
        values = {**_FORMAT, **vars(self)}
        plain: dict[str, Any] = json.loads(json.dumps(values, allow_nan=False))
        return plain

    def to_html(self) -> str:
        """Return a fragment of HTML, escaped."""
        return self._view().html

    def to_page(self, page_date: date | None = None) -> str:
        """Return a self-contained page of HTML, to be printed and signed.

        Parameters
        ----------
        page_date : date, default=None
            The date that it names; None is today's (UTC).

        Returns
        -------
        str
            It loads nothing from elsewhere, and runs no script.
        """
        return html_page(statement_view(self, page_date or datetime.now(UTC).date()))

    def _view(self) -> View:
        return statement_view(self)

    def __str__(self) -> str:
        return f"PRIVACY STATEMENT\n\n{self._view().text}"

    def __repr__(self) -> str:
        epsilons = ", ".join(
            f"{level['epsilon']:g}"
            + (f" ({visible(level['level'])})" if len(self.levels) > 1 else "")
            for level in self.levels
        )
        releases = sum(group["n_releases"] for group in self.released)
        return (
            f"<PrivacyStatement: epsilon={epsilons}, delta={self.levels[0]['delta']:g} per "
            f"{self.unit}, {releases} releases>"
        )


def _named(values: Mapping[str, Any]) -> str:
    return " and ".join(f"{name}={value!r}" for name, value in values.items())


def ledger_facts(ledger: Ledger) -> dict[str, Any]:
    """Read and check a ledger, and return the facts of its statement as plain values.

    They hold what a data-dependent budget withholds.
    """
    completeness_note = ledger.completeness_note()
    header, walk = ledger.header(), ledger.walk()
    held, totals = contents(walk), walk.totals
    budget = header.budget
    levels = []
    for level, spent in zip(budget.levels, spent_by_level(budget, totals).values(), strict=True):
        values = {
            "level": level.name,
            "epsilon": level.epsilon,
            "delta": level.delta,
            "approximation_delta": level.approximation_delta,
            "order": plain_number(level.order),
            "limit": level.amount,
            "share_spent": spent.share,
            "epsilon_spent": plain_number(spent.epsilon),
        }
        levels.append(values)
    stated = {
        "unit": budget.unit,
        "relation": budget.relation,
        "accounting": budget.accounting,
        "ledger_id": header.ledger_id,
        "created": header.created,
        "library_version": header.library_version,
        "n_entries": totals.sequence,
        "completeness_note": completeness_note,
        "is_temporary": ledger.is_temporary,
    }
    return {
        "levels": levels,
        "contents": held._asdict(),
        "child_name": ledger.child_name,
        "digest": totals.digest,
        "stated": stated,
    }


def _level_budget(level: Mapping[str, Any]) -> LevelBudget:
    order = level["order"]
    return LevelBudget(
        name=level["level"],
        epsilon=level["epsilon"],
        delta=level["delta"],
        approximation_delta=level["approximation_delta"],
        order=order if order == GAUSSIAN else float(order),
        amount=level["limit"],
    )


def _level_values(level: Mapping[str, Any], sensitive: bool) -> dict[str, Any]:
    test, values = level_trade_off(_level_budget(level)), dict(level)
    if sensitive:
        values.update(share_spent=None, epsilon_spent=None)
    guaranteed = not sensitive and level["share_spent"] <= 1
    values["best_guess"] = test.best_guess() if guaranteed else None
    values["ninefold_rise"] = test.rise(NINEFOLD) if guaranteed else None
    return values


def _withheld(mechanism: object) -> dict[str, Any]:
    """Replace the sensitive parts of releases: parameters and numbers of rows."""
    if isinstance(mechanism, dict):
        mechanism = {key: mechanism[key] for key in ("mechanism", "event") if key in mechanism}
    return {"mechanism": mechanism, "n_rows": None}


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
    power = "min(e^epsilon a + delta, 1 - e^-epsilon (1 - delta - a))"
    if statement.levels[0]["order"] == GAUSSIAN:
        power = (
            "delta0 + (1 - delta0) Phi(Phi^-1(a / (1 - delta0)) + mu), Phi being the normal "
            "distribution function and delta0 the part of delta that is set aside"
        )
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
        Prose.of(
            "No test of a data set against a neighbour with false alarms at rate a has more power "
            f"than {power}.",
            wrapped=True,
        ),
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


def _bounds_of_known_data(statement: PrivacyStatement) -> list[Part]:
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
    epsilon_spent, order = level["epsilon_spent"], level["order"]
    currency = {GAUSSIAN: "mu^2", "inf": "sum of epsilons"}.get(order, "divergence")
    at_order = "" if isinstance(order, str) else f" at order {order:.4g}"
    return [
        level["level"],
        f"{level['epsilon']:g}",
        f"{level['delta']:g}",
        f"{currency} {level['limit']:.4g}{at_order}",
        f"{level['approximation_delta']:g}",
        percent(level["share_spent"]),
        WITHHELD if epsilon_spent is None else f"{float(epsilon_spent):.4g}",
    ]


def _test_cells(level: Mapping[str, Any]) -> list[str]:
    powers = map(level_trade_off(_level_budget(level)).power, _FALSE_ALARMS)
    return [
        level["level"],
        percent_up(level["best_guess"]),
        chance(level["ninefold_rise"]),
        *map(percent_up, powers),
    ]


def _release(group: Mapping[str, Any]) -> str:
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
