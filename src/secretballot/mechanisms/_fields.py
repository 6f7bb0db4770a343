"""Fields that several mechanisms share: their checks, and their values per privacy group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION
from secretballot._base._numbers import check_integer, check_number
from secretballot.costs._groups import EVERYONE
from secretballot.costs._law import check_bound

#: Neighbouring relations: one unit of privacy is replaced, or added or removed.
Relation = Literal["replace", "add_remove"]

#: Probability from which on a label counts as present: for all labels, or for each.
BallotThreshold = float | tuple[float, ...] | None

#: Limit on the ballots of one person, and on the weight of a ballot where counts are whole.
MAX_BALLOTS = 10**6

#: Relative rounding error that sums of weighted ballots may have.
ROUNDING = 1e-9

#: Largest allowed spacing of floats beside a count, in units of the noise on it.
_MAX_SPACING = 2.0**-20

#: Power of the number of votes with which fields grow.
VOTE_POWERS = {
    **dict.fromkeys(("sigma", "sigma_threshold", "threshold", "n_votes"), 1),
    "rho": -2,
    "epsilon": -1,
}

#: Fields that are positive numbers in every mechanism.
_POSITIVE = (
    *("sigma", "sigma_threshold", "scale", "variance", "tau"),
    *("rho", "epsilon", "concentration"),
)
#: Fields that are integers of at least 1 in every mechanism.
_INTEGERS = ("k", "n_labels", "max_items", "max_positives")


def check_fields(mechanism: Any) -> None:
    """Refuse field values that are out of range, and store `ballot_threshold` as a tuple.

    None is allowed where it is the default.
    """
    values = {
        field.name: value
        for field in fields(mechanism)
        if (value := getattr(mechanism, field.name)) is not None or field.default is not None
    }
    for name, value in values.items():
        if name in _POSITIVE:
            check_number(name, value, above=0)
        elif name in _INTEGERS:
            check_integer(name, value)
    if "threshold" in values:
        check_number("threshold", values["threshold"])
    if "delta_t" in values:
        check_number("delta_t", values["delta_t"], above=0, below=0.5)
    check_choice("relation", values.get("relation", "replace"), get_args(Relation))
    if "bound" in values:
        check_bound(values["bound"])
    if "weight" in values:
        check_number("weight", values["weight"], above=0, per_level=True)
    if "ballots" in values:
        check_integer("ballots", values["ballots"], most=MAX_BALLOTS, per_level=True)
        pair_by_group(values["weight"], values["ballots"])
    if "n_votes" in values:
        heaviest = max(by_group(values["weight"]).values())
        check_number("n_votes", values["n_votes"], least=heaviest)
    if "ballot_threshold" in values:
        threshold = _as_ballot_threshold(values["ballot_threshold"])
        object.__setattr__(mechanism, "ballot_threshold", threshold)


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a value that is none of the choices."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} is unknown; use {' or '.join(map(repr, choices))}.")


def check_count_spacing(
    noise: float, counts: NDArray[np.float64], name: str = "sigma"
) -> NDArray[np.float64]:
    """Refuse counts so large that floats beside them are too coarse for the noise.

    Parameters
    ----------
    noise : float
        Scale of the noise.
    counts : ndarray
    name : str, default="sigma"
        Field that holds the scale, for the message.

    Returns
    -------
    ndarray
        The counts, unchanged.
    """
    if counts.size and np.spacing(counts.max()) > noise * _MAX_SPACING:
        raise ValueError(
            f"counts holds {counts.max():.6g} votes, beside which floats are too coarse for noise "
            f"of {name}={noise:g}: it would be rounded away. Use more noise, or count in parts. "
            f"{NOT_FOR_PUBLICATION}"
        )
    return counts


def check_whole_votes(votes: NDArray[np.float64], weight: float | Mapping[str, float]) -> None:
    """Refuse rows that hold less than one vote, or parts of one: shares are no counts."""
    vote = min(by_group(weight).values())
    totals, largest = votes.sum(axis=1), votes.max(axis=1)
    is_at_most_one = (totals > 0) & (totals <= vote * (1 + ROUNDING))
    if (is_at_most_one & (largest < vote * (1 - ROUNDING))).any():
        raise ValueError(
            "counts has a row that sums to one vote or less, in parts: shares, or probabilities, "
            "would drown in the noise. Give numbers of votes: how many teachers, or people, are "
            f"for each class. {NOT_FOR_PUBLICATION}"
        )


def difference_sensitivity(relation: Relation) -> float:
    """Compute the sensitivity of the difference of two counts that move by at most 1."""
    # If a person joins or leaves, both counts move the same way.
    return 2.0 if relation == "replace" else 1.0


def by_group(value: float | Mapping[str, float]) -> dict[str, float]:
    """Map privacy groups to a parameter; a plain number is everyone's."""
    return dict(value) if isinstance(value, Mapping) else {EVERYONE: value}


def pair_by_group(
    weight: float | Mapping[str, float], ballots: int | Mapping[str, int]
) -> dict[str, tuple[float, int]]:
    """Map privacy groups to weight and ballots; a plain number belongs to every group."""
    groups = list(ballots if isinstance(ballots, Mapping) else by_group(weight))
    weights = weight if isinstance(weight, Mapping) else dict.fromkeys(groups, weight)
    counts = ballots if isinstance(ballots, Mapping) else dict.fromkeys(groups, ballots)
    if set(weights) != set(counts):
        raise ValueError(
            f"weight={dict(weights)!r} and ballots={dict(counts)!r} must name the same levels."
        )
    return {group: (weights[group], counts[group]) for group in weights}


def ballot_thresholds(value: BallotThreshold, n_labels: int) -> tuple[float, ...] | None:
    """Return the ballot threshold of each label, or raise `ValueError`."""
    if value is None:
        return None
    thresholds = value if isinstance(value, tuple) else (value,) * n_labels
    if len(thresholds) != n_labels:
        raise ValueError(
            f"ballot_threshold has {len(thresholds)} entries for {n_labels} labels; give one for "
            "each, or one number."
        )
    return thresholds


def _as_ballot_threshold(value: Any) -> BallotThreshold:
    """Convert a ballot threshold to a float or a tuple, or raise `ValueError`."""
    thresholds = np.asarray(value)
    if thresholds.dtype.kind not in "iuf" or thresholds.ndim > 1 or not thresholds.size:
        raise ValueError(
            f"ballot_threshold={value!r} must be a number, or a list of one for each label."
        )
    if not ((thresholds > 0) & (thresholds <= 1)).all():
        raise ValueError(
            f"ballot_threshold={value!r} must be above 0 and at most 1: the probability from "
            "which on a voter calls a label present."
        )
    return float(thresholds) if thresholds.ndim == 0 else tuple(map(float, thresholds))
