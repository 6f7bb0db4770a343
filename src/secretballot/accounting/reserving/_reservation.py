"""A handle on rows that are paid for, and the check of what is drawn on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from secretballot.accounting._protocol import ReleaseMechanism, describe, game_laws
from secretballot.accounting.pricing import PricedRows
from secretballot.costs._groups import EVERYONE, split_group
from secretballot.costs._law import Law
from secretballot.ledger._budget import Scope
from secretballot.ledger._encoding import to_json


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

    def check_draw(self, drawn: PricedRows, scope_id: str | None, first_row: int) -> None:
        """Refuse rows that cost more than was paid for, or concern groups that did not pay.

        `first_row` is the number of rows that were drawn before.
        """
        fault = next(self._faults(drawn, scope_id, first_row), None)
        if fault is not None:
            raise ValueError(
                f"mechanism={drawn.mechanism!r} can't be drawn on the reservation of "
                f"{self.mechanism!r}: {fault}. Nothing was released or recorded."
            )

    def _faults(self, drawn: PricedRows, scope_id: str | None, first_row: int) -> Iterator[str]:
        mechanism, n_columns = drawn.mechanism, drawn.n_columns
        laws, paid_laws = game_laws(mechanism, n_columns), game_laws(self.mechanism, self.n_columns)
        # The laws of some mechanisms don't depend on the columns.
        for_any = bool(paid_laws) and paid_laws == game_laws(self.mechanism, None)
        paid_columns = None if for_any else self.n_columns
        if paid_columns is not None and (n_columns is None or n_columns > paid_columns):
            yield f"its counts have {n_columns} columns, and {paid_columns} were paid for"
        participation = mechanism.participation(drawn.n_rows)
        paid_participation = {
            group: rows[first_row:]
            for group, rows in self.mechanism.participation(first_row + drawn.n_rows).items()
        }
        payers = {group: [group] for group in participation.keys() | paid_participation.keys()}
        if not laws or not paid_laws:
            # Of mechanisms without a game nothing but their description is known.
            descriptions = [to_json(describe(m), "") for m in (mechanism, self.mechanism)]
            if descriptions[0] != descriptions[1] or self.n_columns not in (None, n_columns):
                yield "it is not the same mechanism"
        else:
            payers = {group: _payers(group, list(paid_laws)) for group in laws}
            if _overlap(laws) and set(laws) != set(paid_laws):
                yield "some pay as two groups at once, and were not paid for as such"
            for group, law in laws.items():
                if not payers[group]:
                    yield f"it charges {group!r}, who did not pay"
                for payer in payers[group]:
                    yield from _undominated_steps(law, paid_laws[payer], group)
        all_rows = np.ones(drawn.n_rows, dtype=bool)
        for group, group_payers in payers.items():
            for payer in group_payers:
                paid_rows = paid_participation.get(payer, all_rows)
                if (participation.get(group, all_rows) & ~paid_rows).any():
                    yield f"{group!r} takes part in rows that {payer!r} did not pay for"
        if paid_participation and scope_id != self.scope.id:
            yield "parts of levels paid in one fit, and in another they are other people"


def _overlap(laws: Mapping[str, Law]) -> bool:
    """Test for people who are in two groups, and pay for both."""
    levels = {split_group(group)[0] for group in laws if split_group(group)[1]}
    return (EVERYONE in laws and len(laws) > 1) or any(level in laws for level in levels)


def _payers(group: str, paid: list[str]) -> list[str]:
    """Return the groups of a reservation that paid for the people of a group.

    The people of a level may be in any part of it: all of its parts have to have paid.
    """
    level = split_group(group)[0]
    for payer in (group, level, EVERYONE):
        if payer in paid:
            return [payer]
    return [payer for payer in paid if group == EVERYONE or split_group(payer)[0] == level]


def _undominated_steps(law: Law, paid: Law, group: str) -> Iterator[str]:
    """Describe the steps of a law that the law which was paid for does not dominate."""
    paid_steps = {step.name: step for step in paid}
    for step in law:
        paid_step = paid_steps.get(step.name)
        if paid_step is None or paid_step.after != step.after or step.times > paid_step.times:
            yield f"{step.name!r} of {group!r} was not paid for, or not as often"
        elif step.delta > paid_step.delta or not step.move.dominated_by(paid_step.move):
            yield f"{step.name!r} of {group!r} tells more than what was paid for"
