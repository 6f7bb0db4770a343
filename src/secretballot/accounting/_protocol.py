"""What the accountant asks of a mechanism, and the names of those whom a release charges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._public import public_name
from secretballot.divergences import Costs


class ReleaseMechanism(Protocol):
    """How counts become a private answer, and what that costs.

    Costs are keyed by group: `EVERYONE`, a level of the budget, or ``"level/division/part"`` for a
    part of a level that is charged on its own. In one fit (a scope) a level has spent what was
    charged to everyone and to itself, plus, for each division, the largest charge of its parts;
    divisions add up, and so do fits.
    """

    relations: ClassVar[frozenset[str]]
    rows: ClassVar[str]

    def check_counts(self, counts: ArrayLike) -> NDArray[Any]:
        """Return the counts as an array with one row per query, or raise ValueError."""

    def sample(self, counts: Any, rng: np.random.Generator) -> NDArray[Any]:
        """Draw the outcome, one row per row of `counts`."""

    def max_cost(
        self, n_columns: int | None = None, counts: Any = None, *, order: float | None = None
    ) -> Costs:
        """Return the most that a row can cost whoever takes part in it; per row with `counts`.

        With `order`, the other orders of the curve may be left infinite.
        """

    def participation(self, n_rows: int) -> dict[str, NDArray[np.bool_]]:
        """Return in which rows of a batch a group takes part; who is not named is in all."""

    def cost(self, outcome: Any, counts: Any = None, *, n_columns: int | None = None) -> Costs:
        """Return what each row of `outcome` did cost, never more than `max_cost`."""

    def describe(self) -> dict[str, Any]:
        """Return the public parameters, for the ledger."""


def describe(mechanism: ReleaseMechanism) -> dict[str, Any]:
    """Return a mechanism's public parameters under the name of its class, whatever it says."""
    name = public_name(type(mechanism), "secretballot.mechanisms")
    return {**mechanism.describe(), "mechanism": name}


def foreign_names(description: Any) -> Iterator[str]:
    """Yield the classes in a recorded description that are not the library's."""
    if isinstance(description, dict):
        for key, value in description.items():
            if key == "mechanism" and isinstance(value, str) and ":" in value:
                yield value
            else:
                yield from foreign_names(value)


_MEMBERS = (
    *("relations", "rows", "check_counts", "sample"),
    *("max_cost", "participation", "cost", "describe"),
)


def check_mechanism(mechanism: object, relation: str) -> None:
    """Refuse what is no mechanism, or one that is not proven for `relation`."""
    missing = [name for name in _MEMBERS if not hasattr(mechanism, name)]
    if missing or isinstance(mechanism, type):
        raise TypeError(
            f"mechanism={mechanism!r} is not a mechanism"
            + (f" (it has no {missing[0]!r})" if missing else " but a class")
            + "; pass an instance such as GNMax(sigma=40)."
        )
    rows, relations = getattr(mechanism, "rows"), getattr(mechanism, "relations")  # noqa: B009
    if rows not in ("sequential", "parallel"):
        raise ValueError(f"mechanism.rows={rows!r} must be 'sequential' or 'parallel'.")
    if relation not in relations:
        raise ValueError(
            f"mechanism={mechanism!r} is proven for the relation(s) "
            f"{', '.join(sorted(relations))}, but this budget protects under "
            f"relation={relation!r}; use a mechanism proven for it, or another accountant."
        )
