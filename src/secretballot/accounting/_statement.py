"""The statement that a data owner signs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime
from importlib.resources import files
from typing import Any

from secretballot._base._tables import plain_number, visible
from secretballot._base._view import Shown, View
from secretballot._base._view_page import html_page
from secretballot.accounting._assumptions import grounds
from secretballot.accounting._registry_fields import registry_fields
from secretballot.accounting._release_words import release_words
from secretballot.accounting._released import Released, contents
from secretballot.accounting._replay import spent_by_level
from secretballot.accounting._report import PrivacySpent
from secretballot.accounting._statement_view import statement_view
from secretballot.accounting._summary import NINEFOLD, summary
from secretballot.accounting._trade_off import level_trade_off
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
    >>> PrivacyStatement.json_schema()["properties"]["unit"]["enum"]
    ['row', 'owner', 'label', 'voter']
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
        completeness_note = ledger.completeness_note()
        header, walk = ledger.header(), ledger.walk()
        held = contents(walk)
        budget, totals = header.budget, walk.totals
        sensitive = budget.is_sensitive
        spent = spent_by_level(budget, totals)
        shares = {name: report.share for name, report in spent.items()}
        overspent = {name: share for name, share in shares.items() if share > 1}
        sentences = grounds(budget, held, overspent, ledger.child_name)
        as_of = held.last or header.created
        return cls(
            summary=summary(
                budget,
                shares,
                sentences.outside_names,
                n_entries=totals.sequence,
                as_of=as_of,
                all_seeded=held.is_all_seeded,
            ),
            unit=budget.unit,
            relation=budget.relation,
            accounting=budget.accounting,
            levels=tuple(_level(level, spent[level.name], budget) for level in budget.levels),
            released=tuple(
                {"words": release_words(group.mechanism, group.facts)}
                | asdict(group)
                | (_withheld(group) if sensitive else {})
                for group in held.released
            ),
            outside=sentences.outside,
            recorded=sentences.recorded,
            assumptions=(*sentences.assumed, *([_WHOLE] if completeness_note else [])),
            ledger_id=header.ledger_id,
            created=header.created,
            library_version=header.library_version,
            n_entries=totals.sequence,
            as_of=as_of,
            head=None if sensitive else totals.digest,
            completeness_note=completeness_note,
            is_temporary=ledger.is_temporary,
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PrivacyStatement:
        """Return the statement that `to_dict` gave the values of; ValueError if they are of none.

        What the values say is not checked: whoever sends them answers for them.
        """
        kind = {name: values.get(name) for name in _FORMAT}
        if kind != _FORMAT:
            raise ValueError(
                f"these values have {_named(kind)}, and a statement has {_named(_FORMAT)}: they "
                "are of something else, or of another version of secretballot."
            )
        own, names = {**values}, {field.name for field in fields(cls)}
        for name in _FORMAT:
            del own[name]
        if wrong := names.symmetric_difference(own):
            raise ValueError(
                f"a statement has the fields of PrivacyStatement.json_schema(); {sorted(wrong)} "
                "are missing or unknown."
            )
        lists = {name: tuple(value) for name, value in own.items() if isinstance(value, list)}
        return cls(**{**own, **lists})

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """Return the JSON Schema (draft 2020-12) of what `to_dict` gives, with descriptions."""
        file = files("secretballot.accounting").joinpath("statement.schema.json")
        schema: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return schema

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON takes them; an infinite number is the text ``"inf"``.

        They begin with ``format`` and ``version``, and `json_schema` describes each.
        """
        # Through text: a copy, which shares nothing with this object, and surely plain.
        values = {**_FORMAT, **vars(self)}
        plain: dict[str, Any] = json.loads(json.dumps(values, allow_nan=False))
        return plain

    def to_registry(self) -> dict[str, Any]:
        """Return the fields of an entry in the public registry of deployments.

        The registry [1]_ collects uses of differential privacy. Its other fields, such as name,
        curator, intended use, data domain and model of deployment, are the owner's to fill in.
        ValueError without a guarantee: if accounting is data dependent, or the budget overspent.

        Returns
        -------
        dict
            Fields of the groups ``dp_variant``, ``privacy_loss``, ``accounting`` and
            ``implementation`` of a ``deployment``, as of July 2026.

        References
        ----------
        .. [1] Nanayakkara, Ghazi and Vadhan, "Practitioners' perspectives on a differential privacy
           deployment registry" (2025), arXiv:2509.13509.
        """
        return registry_fields(self)

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


def _level(level: LevelBudget, spent: PrivacySpent, budget: Budget) -> dict[str, Any]:
    """Return the plain values of a level."""
    sensitive, test = budget.is_sensitive, level_trade_off(level)
    guaranteed = not sensitive and spent.share <= 1
    return {
        "level": level.name,
        "epsilon": level.epsilon,
        "delta": level.delta,
        "approximation_delta": level.approximation_delta,
        "order": plain_number(level.order),
        "limit": level.amount,
        "share_spent": None if sensitive else spent.share,
        "epsilon_spent": None if sensitive else plain_number(spent.epsilon),
        "best_guess": test.best_guess() if guaranteed else None,
        "ninefold_rise": test.rise(NINEFOLD) if guaranteed else None,
    }


def _withheld(group: Released) -> dict[str, Any]:
    """Replace the sensitive parts of releases: parameters and numbers of rows."""
    mechanism = group.mechanism
    if isinstance(mechanism, dict):
        mechanism = {key: mechanism[key] for key in ("mechanism", "event") if key in mechanism}
    return {"mechanism": mechanism, "n_rows": None}
