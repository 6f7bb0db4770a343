"""Form of an entry: what every version writes, and every reader takes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from numbers import Real

from secretballot.costs._cost import GaussianCost, RenyiCost
from secretballot.costs._groups import EVERYONE, is_part, split_group
from secretballot.costs._orders import GAUSSIAN
from secretballot.ledger._budget import CHILD_SCOPE, Cap, LevelBudget, is_text
from secretballot.ledger._child import is_child_name
from secretballot.ledger._entry import LedgerEntry

#: Most rows of an entry: so the sums of a ledger are numbers that every store can hold.
_MOST_ROWS = 10**12


def check_form(entry: LedgerEntry, levels: Sequence[LevelBudget]) -> None:
    """Refuse an entry, by a ValueError, that could not be added up, stored or read again."""
    if type(entry.n_rows) is not int or not 0 <= entry.n_rows <= _MOST_ROWS:
        raise ValueError("has no number of rows")
    if entry.scope_id is not None and (
        not is_text(entry.scope_id) or entry.scope_id.startswith(CHILD_SCOPE)
    ):
        raise ValueError("has no name of a scope")
    _check_cap(entry.scope_epsilon)
    if entry.is_move and not isinstance(json.loads(entry.mechanism)["place"], str):
        raise ValueError("names no place")
    if entry.child is not None and not is_child_name(entry.child.name):
        raise ValueError("has no name of a child")
    _check_charges(entry, levels)


def _check_cap(cap: Cap) -> None:
    if isinstance(cap, Mapping):
        is_cap = all(_is_number(amount) and amount < math.inf for amount in cap.values())
    else:
        is_cap = cap is None or _is_number(cap)
    if not is_cap:
        raise ValueError("has no cap of a scope")


def _is_number(amount: object) -> bool:
    return isinstance(amount, Real) and not (isinstance(amount, bool) or math.isnan(amount))


def _check_charges(entry: LedgerEntry, levels: Sequence[LevelBudget]) -> None:
    names = {EVERYONE, *(level.name for level in levels)}
    kind = GaussianCost if levels[0].order == GAUSSIAN else RenyiCost
    for group, cost in entry.charges.items():
        if split_group(group)[0] not in names or is_part(group, EVERYONE) or "\0" in group:
            raise ValueError(f"charges {group!r}, which is no level of the budget")
        if type(cost) is not kind:
            raise ValueError(f"charges {group!r} in another currency than the budget's")
    if entry.child is not None and entry.child.grant is not None:
        orders = [(level.name, level.order) for level in entry.child.grant.levels]
        if orders != [(level.name, level.order) for level in levels]:
            raise ValueError("makes a child with other levels or orders than the budget has")
