"""Mechanisms adapted to one vote: to its voters, its labels, and the weight of the party that pays.

A mechanism states its dependencies by its fields: `n_votes` and `n_parties` depend on the voters,
`weight` on the party that pays, `ballot_threshold` on each label. Exceptions are registered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch

from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._skellam_max import SkellamMax

#: Fields that relate all labels with each other.
_JOINT_FIELDS = ("hierarchy", "n_labels", "regularizer")


def votes_apart(mechanism: Mechanism | type[Mechanism], labels: Sequence[str] | None) -> bool:
    """Return True if each label of a row is a row of its own, with votes against it and for it."""
    kind = mechanism if isinstance(mechanism, type) else type(mechanism)
    return labels is not None and issubclass(kind, SkellamMax)


@singledispatch
def noise_scale(mechanism: Mechanism) -> float:
    """Return the standard deviation of the noise on each count."""
    if mechanism.count_noise is None:
        raise ValueError(f"mechanism={mechanism!r} has no sigma to compare parties' noise by.")
    return float(mechanism.count_noise)


@noise_scale.register
def _(mechanism: SkellamMax) -> float:
    return math.sqrt(mechanism.variance)


def public_outcome(mechanism: Mechanism) -> bool:
    """Return True if a mechanism releases winners alone, and no counts."""
    return _field_value(mechanism, "opens") in (None, "winner")


def noise_parties(mechanism: Mechanism) -> int:
    """Return the number of parties among whom the noise is divided; 1: the aggregator draws it."""
    return int(str(_field_value(mechanism, "n_parties") or 1))


def needs_n_votes(mechanism: Mechanism) -> bool:
    """Return True if the number of votes is filled in for each vote."""
    return _field_value(mechanism, "n_votes") is not None


def for_columns(mechanism: Mechanism, columns: Sequence[int], n_columns: int) -> Mechanism:
    """Adapt a mechanism to a vote on some labels; ValueError if it relates all with each other."""
    if len(columns) == n_columns:
        return mechanism
    for name in _JOINT_FIELDS:
        if _field_value(mechanism, name) is not None:
            raise ValueError(
                f"mechanism={mechanism!r} has {name}, for a vote on all {n_columns} labels "
                f"together, and those who can vote on {len(columns)} of them can't on the others. "
                "Nothing was opened or spent; use one without, or ask parties that know all labels."
            )
    thresholds = _field_value(mechanism, "ballot_threshold")
    if not isinstance(thresholds, tuple):
        return mechanism
    return _with(mechanism, ballot_threshold=tuple(thresholds[column] for column in columns))


def for_voters(mechanism: Mechanism, total_weight: float, n_voters: int) -> Mechanism:
    """Fill in the weight of all ballots, and the number of voters that divide the noise."""
    if needs_n_votes(mechanism):
        mechanism = _with(mechanism, n_votes=total_weight)
    return _with(mechanism, n_parties=n_voters) if noise_parties(mechanism) > 1 else mechanism


def for_party(mechanism: Mechanism, weight: float) -> Mechanism:
    """Adapt a mechanism to the charge of a party whose ballot has a weight."""
    if weight == 1.0:
        return mechanism
    if _field_value(mechanism, "weight") is None:
        raise ValueError(
            f"mechanism={mechanism!r} knows no weights, and one party's is {weight:g}; take one "
            "that does, such as GNMax or BinaryVoting, or let all ballots count alike."
        )
    return _with(mechanism, weight=_weight(mechanism, weight))


@singledispatch
def _weight(mechanism: Mechanism, weight: float) -> float:
    return weight


@_weight.register
def _(mechanism: SkellamMax, weight: float) -> float:
    return int(weight) if weight == int(weight) else weight


def _field_value(mechanism: Mechanism, name: str) -> object:
    """Return the value of a field, None if a mechanism does not have it."""
    return getattr(mechanism, name, None)


def _with(mechanism: Mechanism, **values: object) -> Mechanism:
    return replace(mechanism, **values)
