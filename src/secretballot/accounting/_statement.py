"""The statement that a data owner signs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from secretballot._tables import (
    WITHHELD,
    entry_count,
    mechanism_text,
    order_text,
    percent,
    plain_number,
    visible,
)
from secretballot._views import Heading, Items, Prose, Shown, Table, View
from secretballot.accounting._assumptions import RELATIONS, UNITS, assumptions
from secretballot.accounting._released import Released, contents
from secretballot.accounting._replay import spent_by_level
from secretballot.ledger import Ledger

_LEVELS = ("level", "epsilon", "delta", "order", "share spent", "epsilon so far")
_RELEASED = ("what", "rows", "releases", "first", "last", "noise")


@dataclass(frozen=True, kw_only=True)
class PrivacyStatement(Shown):
    """Statement for a data owner to sign: guarantee, releases and assumptions.

    `PrivacyAccountant.statement` makes one. It is printed as text, shown as HTML in a notebook,
    and `to_dict` gives plain values.

    Attributes
    ----------
    unit, relation, accounting : str
        What is protected, what neighbouring data sets differ in, and what is charged.
    levels : tuple of dict
        For each level of the budget: ``level``, ``epsilon``, ``delta``, ``approximation_delta``,
        ``order`` (the Renyi order it gates on), ``share_spent`` and ``epsilon_spent``. The last
        two are None if accounting is data dependent: they are sensitive themselves.
    released : tuple of dict
        What was released, alike releases together: ``mechanism``, ``note`` (what the caller
        declared), ``seeded``, ``n_releases``, ``n_rows``, ``first`` and ``last`` (times, UTC). If
        accounting is data dependent, ``mechanism`` is its name alone, and ``n_rows`` None.
    assumptions : tuple of str
        What the guarantee rests on, in sentences.
    ledger_id, created, library_version : str
        Which ledger it is, when it was opened, and by which version.
    n_entries : int
        How many entries the ledger had.
    head : str or None
        The digest of the last, for ``secretballot ledger verify FILE --head DIGEST``. None if
        accounting is data dependent, where it could confirm a guess.

    Examples
    --------
    >>> from secretballot.accounting import PrivacyAccountant
    >>> statement = PrivacyAccountant(epsilon=1.0, delta=1e-5, unit="owner").statement()
    >>> statement
    <PrivacyStatement: epsilon=1, delta=1e-05 per owner, 0 releases>
    >>> print(str(statement).splitlines()[2])
    If everything that one owner contributed is replaced by any other, no set of
    >>> statement.to_dict()["levels"][0]["epsilon"]
    1.0
    """

    unit: str
    relation: str
    accounting: str
    levels: tuple[dict[str, Any], ...]
    released: tuple[dict[str, Any], ...]
    assumptions: tuple[str, ...]
    ledger_id: str
    created: str
    library_version: str
    n_entries: int
    head: str | None

    @classmethod
    def of(cls, ledger: Ledger) -> PrivacyStatement:
        """Read a ledger, check it, and state what it holds."""
        header, walk = ledger.header(), ledger.walk()
        held = contents(walk)
        budget, totals = header.budget, walk.totals
        sensitive = budget.is_sensitive
        spent = spent_by_level(budget, totals)
        overspent = {name: report.share for name, report in spent.items() if report.share > 1}
        return cls(
            unit=budget.unit,
            relation=budget.relation,
            accounting=budget.accounting,
            levels=tuple(
                {
                    "level": level.name,
                    "epsilon": level.epsilon,
                    "delta": level.delta,
                    "approximation_delta": level.approximation_delta,
                    "order": plain_number(level.order),
                    "share_spent": None if sensitive else spent[level.name].share,
                    "epsilon_spent": None if sensitive else plain_number(spent[level.name].epsilon),
                }
                for level in budget.levels
            ),
            released=tuple(
                asdict(group) | (_withheld(group) if sensitive else {}) for group in held.released
            ),
            assumptions=assumptions(budget, held, overspent),
            ledger_id=header.ledger_id,
            created=header.created,
            library_version=header.library_version,
            n_entries=totals.sequence,
            head=None if sensitive else totals.digest,
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PrivacyStatement:
        """Return the statement that `to_dict` gave the values of."""
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        return cls(**{**values, **lists})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON takes them; an infinite number is the text ``"inf"``."""
        # Through text: a copy, which shares nothing with this object, and surely plain.
        plain: dict[str, Any] = json.loads(json.dumps(vars(self), allow_nan=False))
        return plain

    def to_html(self) -> str:
        """Return a fragment of HTML, escaped."""
        return self._view().html

    def _view(self) -> View:
        parts = (
            Prose.of(self._promise(), wrapped=True),
            Table(_LEVELS, self._level_cells()),
            Heading("Released so far"),
            Table(_RELEASED, self._released_cells()),
            Heading("What this rests on"),
            Items(self.assumptions, wrapped=True),
            Heading("Ledger"),
            Prose.of(*self._ledger_lines()),
            Prose.of(_SIGNATURE),
        )
        return View("Privacy statement", parts)

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

    def _promise(self) -> str:
        return (
            f"If {UNITS[self.unit]} is {RELATIONS[self.relation]}, no set of possible answers "
            "becomes more likely by more than the factor e^epsilon, and delta besides. That holds "
            "for everything released from this budget together, over its whole life "
            "((epsilon, delta)-differential privacy), with"
        )

    def _level_cells(self) -> list[list[str]]:
        return [
            [
                level["level"],
                f"{level['epsilon']:g}",
                f"{level['delta']:g}",
                order_text(level["order"]),
                percent(level["share_spent"]),
                WITHHELD if (spent := level["epsilon_spent"]) is None else f"{float(spent):.4g}",
            ]
            for level in self.levels
        ]

    def _released_cells(self) -> list[list[str]]:
        return [
            [
                mechanism_text(group["mechanism"]),
                WITHHELD if group["n_rows"] is None else str(group["n_rows"]),
                str(group["n_releases"]),
                group["first"][:10],
                group["last"][:10],
                "REPRODUCIBLE" if group["seeded"] else "cryptographic",
            ]
            for group in self.released
        ] or [["nothing", "0", "0", "-", "-", "-"]]

    def _ledger_lines(self) -> list[str]:
        lines = [
            f"{self.ledger_id}, opened {self.created[:10]} (secretballot {self.library_version})",
            f"{entry_count(self.n_entries)}, head digest {self.head or WITHHELD}",
        ]
        if self.head:
            lines.append(f"To check: secretballot ledger verify FILE --head {self.head}")
        return lines


def _withheld(group: Released) -> dict[str, Any]:
    """Return what replaces the sensitive parts of releases: parameters and numbers of rows."""
    mechanism = group.mechanism
    if isinstance(mechanism, dict):
        mechanism = {key: mechanism[key] for key in ("mechanism", "event") if key in mechanism}
    return {"mechanism": mechanism, "n_rows": None}


_SIGNATURE = "Signed (data owner): ______________________   Date: ______________"
