"""What parties agree on before they ask: the mechanism, and what each ballot counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from secretballot._budget_shown import short_text
from secretballot._numbers import check_number
from secretballot._views import Prose, Shown, Table, View
from secretballot.collaboration._party import Party
from secretballot.collaboration._question import for_party, for_voters, known_together, votes_apart
from secretballot.mechanisms import (
    BinaryVoting,
    ConfidentGNMax,
    GNMax,
    Mechanism,
    PowersetVoting,
    SkellamMax,
    StableTopK,
    TauVoting,
)

#: What releases a class, or labels.
_VOTES = (GNMax, ConfidentGNMax, SkellamMax, BinaryVoting, TauVoting, PowersetVoting, StableTopK)


@dataclass(frozen=True, kw_only=True)
class Agreement(Shown):
    """What parties agree on before any of them asks; public.

    Parameters
    ----------
    mechanism : Mechanism
        How votes become labels, such as ``GNMax(sigma=5)`` for classes or
        ``BinaryVoting(sigma=5, n_votes=10)`` for labels. Its number of votes (`n_votes`) is filled
        in for each vote.
    weights : dict of str to float, default={}
        What ballots count, by party; 1 for those not named. A heavier ballot costs its people
        more.

    Examples
    --------
    >>> from secretballot import GNMax
    >>> from secretballot.collaboration import Agreement
    >>> Agreement(mechanism=GNMax(sigma=5.0), weights={"north": 2.0}).weight("south")
    1.0
    """

    mechanism: Mechanism
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, _VOTES):
            raise TypeError(
                f"mechanism={self.mechanism!r} must be a voting mechanism such as GNMax(sigma=5)."
            )
        if getattr(self.mechanism, "opens", "winner") != "winner":
            raise ValueError(
                f"mechanism={self.mechanism!r} releases counts, and the answer to a question is a "
                "class; take opens='winner', which costs less."
            )
        if Mechanism.for_plain_ballots(self.mechanism) != self.mechanism:
            raise ValueError(
                f"mechanism={self.mechanism!r} counts on ballots of another weight than 1, or on "
                "people with several; say weights here, by party."
            )
        for name, weight in self.weights.items():
            check_number(f"weights[{name!r}]", weight, above=0)
            for_party(for_voters(self.mechanism, max(1.0, weight)), float(weight))

    def _view(self) -> View:
        weights = [(name, f"{float(weight):g}") for name, weight in self.weights.items()]
        told = Prose.of(short_text(self.mechanism))
        others = Prose.of("every other ballot counts 1" if weights else "every ballot counts 1")
        table = (Table(("party", "weight"), weights),) if weights else ()
        return View("Agreement", (told, *table, others))

    def weight(self, name: str) -> float:
        """Return what a party's ballot counts."""
        return float(self.weights.get(name, 1.0))


def least_noise(
    parties: Sequence[Party],
    make: type[Mechanism] | Callable[[float], Mechanism],
    n_rows: int,
    columns: Mapping[str, tuple[int, ...]],
    least: int,
    *,
    share: float,
    weighted: bool,
) -> Agreement:
    """Return the mechanism with the least noise that all parties can pay for."""
    together = [(names, len(at)) for names, at in known_together(columns).items()]
    # Many parties have the same budget, with the same left of it.
    alike: dict[tuple[Any, ...], Mechanism] = {}
    apart = parties[0].labels is not None and (
        make is SkellamMax if isinstance(make, type) else votes_apart(make(1.0), parties[0].labels)
    )
    needed = {}
    for party in parties:
        budget = party.accountant
        # Labels that others know are voted on apart from those that more know, and paid for so.
        votes = [n for names, n in together if party.name in names and len(names) >= least]
        each = list[Mechanism]()
        for n_columns in votes:
            rows, wide = (n_rows * n_columns, 2) if apart else (n_rows, n_columns)
            part = share * n_columns / sum(votes)
            key = budget.levels, budget.unit, repr(budget.remaining()), rows, wide, part
            if key not in alike:
                alike[key] = budget.calibrate(make, rows, n_columns=wide, share=part)
            each.append(alike[key])
        if each:
            needed[party.name] = max(each, key=_noise_of) if len(each) > 1 else each[0]
    if not needed:
        raise ValueError(f"no label is known to min_voters={least} parties.")
    noise = {name: _noise_of(mechanism) for name, mechanism in needed.items()}
    if not weighted:
        return Agreement(mechanism=needed[max(noise, key=lambda name: noise[name])])
    if any(isinstance(mechanism, SkellamMax) for mechanism in needed.values()):
        raise ValueError(
            "weighted=True makes weights that are no whole numbers, and SkellamMax counts whole "
            "ones; take GNMax, or give whole weights to Agreement(mechanism=..., weights=...)."
        )
    # A ballot of weight w beside noise s costs what one of weight 1 does beside s / w.
    sigma = len(noise) / sum(1 / each for each in noise.values())
    weights = {name: sigma / each for name, each in noise.items()}
    agreed = make(sigma=sigma) if isinstance(make, type) else make(sigma)
    return Agreement(mechanism=agreed, weights=weights)


def _noise_of(mechanism: Any) -> float:
    if isinstance(mechanism, SkellamMax):
        return math.sqrt(mechanism.variance)
    if not hasattr(mechanism, "sigma"):
        raise ValueError(f"mechanism={mechanism!r} has no sigma to compare parties' noise by.")
    return float(mechanism.sigma)
