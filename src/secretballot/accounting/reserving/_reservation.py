"""A handle on rows that are paid for before they are drawn, and what may be drawn on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from secretballot.accounting._protocol import ReleaseMechanism, describe, game_laws
from secretballot.divergences import EVERYONE, Law, split_group
from secretballot.ledger import Scope, to_json


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Rows that are paid for, to be drawn later; from `PrivacyAccountant.reserve`.

    It holds public facts alone; how many rows are left is in the ledger. Copies and pickles are the
    same reservation.

    Attributes
    ----------
    id : str
        What the ledger calls it.
    mechanism : mechanism
        What was paid for. Draws may tell less: more noise, fewer classes.
    n_columns : int or None
        Columns of the counts that were paid for; None: any number.
    scope : Scope
        The part of the run that pays.
    ledger : str
        Digest of what its ledger fixes; no other ledger takes it.
    """

    id: str
    mechanism: ReleaseMechanism
    n_columns: int | None
    scope: Scope
    ledger: str = field(default="", repr=False)

    def __sklearn_clone__(self) -> Self:
        return self

    def check_draw(
        self,
        mechanism: ReleaseMechanism,
        n_columns: int | None,
        scope_id: str | None,
        rows: tuple[int, int],
    ) -> None:
        """Refuse what tells more than was paid for, or tells it to others.

        `rows` are those that are to be drawn, counted from the first that was reserved.
        """
        fault = next(self._faults(mechanism, n_columns, scope_id, rows), None)
        if fault is not None:
            raise ValueError(
                f"mechanism={mechanism!r} can't be drawn on the reservation of "
                f"{self.mechanism!r}: {fault}. Nothing was released or recorded."
            )

    def _faults(
        self,
        mechanism: Any,
        n_columns: int | None,
        scope_id: str | None,
        rows: tuple[int, int],
    ) -> Iterator[str]:
        laws, paid_laws = game_laws(mechanism, n_columns), game_laws(self.mechanism, self.n_columns)
        # Columns are nothing to a mechanism that says itself what is voted on.
        for_any = bool(paid_laws) and paid_laws == game_laws(self.mechanism, None)
        paid = None if for_any else self.n_columns
        if paid is not None and (n_columns is None or n_columns > paid):
            yield f"its counts have {n_columns} columns, and {paid} were paid for"
        there, paid_there = mechanism.participation(rows[1] - rows[0]), self._participation(rows)
        payers = {group: [group] for group in there.keys() | paid_there.keys()}
        if not laws or not paid_laws:
            # Of mechanisms without a game nothing but their description is known.
            one, other = (to_json(describe(each), "") for each in (mechanism, self.mechanism))
            if one != other or self.n_columns not in (None, n_columns):
                yield "it is not the same mechanism"
        else:
            payers = {group: _payers(group, list(paid_laws)) for group in laws}
            if _overlap(laws) and set(laws) != set(paid_laws):
                yield "some pay as two groups at once, and were not paid for as such"
            for group, law in laws.items():
                if not payers[group]:
                    yield f"it charges {group!r}, who did not pay"
                for payer in payers[group]:
                    yield from _tells_more(law, paid_laws[payer], group)
        everywhere = np.ones(rows[1] - rows[0], dtype=bool)
        for group, paying in payers.items():
            for payer in paying:
                takes_part = there.get(group, everywhere)
                if (takes_part & ~paid_there.get(payer, everywhere)).any():
                    yield f"{group!r} takes part in rows that {payer!r} did not pay for"
        if paid_there and scope_id != self.scope.id:
            yield "parts of levels paid in one fit, and in another they are other people"

    def _participation(self, rows: tuple[int, int]) -> dict[str, Any]:
        there = self.mechanism.participation(rows[1])
        return {group: taken[rows[0] :] for group, taken in there.items()}


def _overlap(laws: Mapping[str, Law]) -> bool:
    """Whether anybody is in two groups, and pays for both."""
    levels = {split_group(group)[0] for group in laws if split_group(group)[1]}
    return (EVERYONE in laws and len(laws) > 1) or any(level in laws for level in levels)


def _payers(group: str, paid: list[str]) -> list[str]:
    """Return who paid for the people of a group: any of those named may be any of them.

    Parts of another division may: all of them have to have paid.
    """
    level = split_group(group)[0]
    for one in (group, level, EVERYONE):
        if one in paid:
            return [one]
    return [each for each in paid if group == EVERYONE or split_group(each)[0] == level]


def _tells_more(law: Law, paid: Law, group: str) -> Iterator[str]:
    steps = {step.name: step for step in paid}
    for step in law:
        there = steps.get(step.name)
        if there is None or there.after != step.after or step.times > there.times:
            yield f"{step.name!r} of {group!r} was not paid for, or not as often"
        elif step.delta > there.delta or not step.move.dominated_by(there.move):
            yield f"{step.name!r} of {group!r} tells more than what was paid for"
