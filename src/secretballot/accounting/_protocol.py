"""Mechanisms, as the accountant sees them, and sources of their noise."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import randomgen
from numpy.typing import ArrayLike, NDArray

from secretballot._base._numbers import quoted
from secretballot._base._objects import public_name
from secretballot.costs._cost import HasGaussianCost
from secretballot.costs._groups import Costs
from secretballot.costs._law import Law
from secretballot.costs._split_plan import has_game
from secretballot.ledger._budget import Scope
from secretballot.ledger._entry import LedgerEntry, to_json


class ReleaseMechanism(Protocol):
    """Mechanism that makes a private answer of counts, and states its cost.

    Costs are keyed by group: `EVERYONE`, a level of the budget, or ``"level/division/part"`` for a
    part of a level that is charged on its own. In one fit (a scope) a level has spent what was
    charged to everyone and to itself, plus, for each division, the largest charge of its parts;
    divisions add up, and so do fits.
    """

    relations: ClassVar[frozenset[str]]
    rows: ClassVar[str]

    def check_counts(self, counts: ArrayLike) -> NDArray[Any]:
        """Return the counts as an array with one row per query, or raise ValueError."""

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Draw the outcome, one row per row of `counts`."""

    def max_cost(
        self,
        n_columns: int | None = None,
        counts: ArrayLike | None = None,
        *,
        order: float | None = None,
    ) -> Costs:
        """Compute the most that a row can cost whoever takes part in it; per row with `counts`.

        With `order`, the other orders of the curve may be left infinite.
        """

    def participation(self, n_rows: int) -> dict[str, NDArray[np.bool_]]:
        """Return, for each group that takes part in only some rows, the mask of those rows."""

    def cost(
        self,
        outcome: NDArray[Any],
        counts: ArrayLike | None = None,
        *,
        n_columns: int | None = None,
    ) -> Costs:
        """Compute the actual cost of each row of `outcome`; `max_cost` is an upper bound."""

    def describe(self) -> dict[str, Any]:
        """Return the public parameters, for the ledger."""


@runtime_checkable
class StatesLaws(Protocol):
    """Mechanism that states its rows as data, as all mechanisms of the library do."""

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the law of one row for each privacy group."""

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Count how often each step of the law was begun in each row of an outcome."""


@runtime_checkable
class SelfPriced(Protocol):
    """Mechanism that states the price of a row under Gaussian DP itself."""

    def priced(self, n_columns: int | None = None) -> HasGaussianCost:
        """Return the price of one row."""


def row_laws(mechanism: ReleaseMechanism, n_columns: int | None) -> dict[str, Law]:
    """Return the moves of a row for each group that pays; empty if only costs are stated."""
    return mechanism.laws(n_columns) if isinstance(mechanism, StatesLaws) else {}


def game_laws(mechanism: ReleaseMechanism, n_columns: int | None) -> dict[str, Law]:
    """Return the moves of a row for each group that pays; empty if no game can price them."""
    laws = row_laws(mechanism, n_columns)
    return laws if all(map(has_game, laws.values())) else {}


def describe(mechanism: ReleaseMechanism) -> dict[str, Any]:
    name = public_name(type(mechanism), "secretballot.mechanisms")
    return {**mechanism.describe(), "mechanism": name}


def new_entry(
    mechanism: ReleaseMechanism, scope: Scope | None, note: Mapping[str, Any]
) -> LedgerEntry:
    return LedgerEntry(
        mechanism=to_json(describe(mechanism), "mechanism.describe()"),
        scope_id=scope.id if scope else None,
        scope_epsilon=scope.epsilon if scope else None,
        note=to_json(dict(note), "note"),
    )


def foreign_names(description: object) -> Iterator[str]:
    """Yield the classes in a recorded description that are not the library's."""
    if isinstance(description, dict):
        for key, value in description.items():
            if key == "mechanism" and isinstance(value, str) and ":" in value:
                yield value
            else:
                yield from foreign_names(value)


def check_mechanism(mechanism: ReleaseMechanism, relation: str) -> None:
    """Refuse an object that is no mechanism, or one without a proof for `relation`."""
    members = [*ReleaseMechanism.__annotations__, *vars(ReleaseMechanism)]
    missing = [m for m in members if not m.startswith("_") and not hasattr(mechanism, m)]
    if missing or isinstance(mechanism, type):
        shown = repr(mechanism) if isinstance(mechanism, type) else quoted(mechanism)
        raise TypeError(
            f"mechanism={shown} is not a mechanism"
            + (f" (it has no {missing[0]!r})" if missing else " but a class")
            + "; pass an instance such as GNMax(sigma=40)."
        )
    if mechanism.rows not in ("sequential", "parallel"):
        raise ValueError(f"mechanism.rows={mechanism.rows!r} must be 'sequential' or 'parallel'.")
    if relation not in mechanism.relations:
        raise ValueError(
            f"mechanism={mechanism!r} is proven for the relation(s) "
            f"{', '.join(sorted(mechanism.relations))}, but this budget protects under "
            f"relation={relation!r}; use a mechanism proven for it, or another accountant."
        )


#: None for a cryptographic generator, or a seed.
RandomState = int | np.random.SeedSequence | np.random.Generator | None


def is_seeded(random_state: RandomState) -> bool:
    """Test for reproducible noise; ValueError if `random_state` is no source of noise."""
    if random_state is None:
        return False
    if isinstance(random_state, np.random.SeedSequence | np.random.Generator):
        return True
    is_int = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if is_int and random_state >= 0:
        return True
    raise ValueError(
        f"random_state={quoted(random_state)} is not a source of noise; use None (a cryptographic "
        "generator), or for tests a non-negative int, numpy.random.SeedSequence or "
        "numpy.random.Generator."
    )


def noise_generator(random_state: RandomState = None) -> np.random.Generator:
    """Return the noise generator of one release.

    None is a fresh stream of ChaCha with 20 rounds, keyed by the operating system: it can't be
    continued or run backwards from what was released, and a forked child never repeats it.
    """
    if random_state is not None:
        return np.random.default_rng(random_state)
    # A key, not a seed: seeds are stretched by a generator that is not cryptographic.
    key = int.from_bytes(os.urandom(32), "little")
    return np.random.Generator(randomgen.ChaCha(key=key, rounds=20))
