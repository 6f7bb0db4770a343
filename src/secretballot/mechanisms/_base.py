"""Base class of all mechanisms, an immutable description, and fields that several of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import Field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION
from secretballot._base._numbers import check_integer, check_number, check_unmasked
from secretballot._base._objects import public_name
from secretballot.costs._cost import RenyiCost
from secretballot.costs._groups import EVERYONE
from secretballot.costs._law import Law, realised_cost, worst_case_cost
from secretballot.mechanisms._counting import CountClasses, Counting

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
    """Refuse field values that are out of range, and store `ballot_threshold` as a tuple."""
    # None is allowed where it is the default.
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


#: Module of the classes that a ledger records by their name alone.
HOME = "secretballot.mechanisms"
#: Largest count of votes: floats represent all integers up to it.
MAX_VOTES = 2**53


class Mechanism(ABC):
    """Description of a noisy release: counts in, a private answer out.

    A frozen dataclass with keyword-only fields that works on whole batches. A subclass states its
    `laws`, and which of their steps an outcome shows to have been executed; costs follow.

    Attributes
    ----------
    relations : frozenset of str
        Neighbouring relations for which the costs are proven: ``"replace"``, ``"add_remove"``. By
        default that of the field `relation`, or ``"replace"`` without such a field.
    rows : str
        ``"sequential"`` where rows are queries to the same people, ``"parallel"`` where they are
        disjoint people.
    multilabel : bool
        True if a row's outcome is a set of labels, False if it is one class.
    scalable : bool
        True if `scaled` is defined.
    """

    rows: ClassVar[str] = "sequential"
    multilabel: ClassVar[bool] = False
    scalable: ClassVar[bool] = False

    if TYPE_CHECKING:
        relations: ClassVar[frozenset[str]]  # subclasses may set it instead
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    else:

        @property
        def relations(self) -> frozenset[str]:
            """Neighbouring relations for which the costs are proven."""
            return frozenset({getattr(self, "relation", "replace")})

    def __post_init__(self) -> None:
        """Check the fields that have the same meaning in all mechanisms."""
        check_fields(self)

    @abstractmethod
    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the law of one row for each privacy group.

        Parameters
        ----------
        n_columns : int, default=None
            Columns of the counts; the law for any number if None.
        """

    @abstractmethod
    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Draw the outcome. Only the accountant calls this: elsewhere it would be unpaid."""

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Count the executions of each step of the law in each row of `outcome`.

        Shape (n_rows,); for a step of several labels a mask of them, shape (n_rows, n_labels). By
        default all steps of a row are executed, which is never too cheap.
        """
        return _all_steps(self.laws(), len(outcome))

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Compute the data on which each step's exact cost depends, per row; by default none."""
        del counts
        return {}

    def counting(self, n_columns: int) -> Counting:
        """Return the rule by which ballots on so many classes, or labels, become counts."""
        return CountClasses(n_classes=n_columns)

    @property
    def expected_votes(self) -> float | None:
        """Number of ballots that the counts of each label are out of; None if it plays no part."""
        return getattr(self, "n_votes", None) if self.multilabel else None

    @property
    def count_noise(self) -> float | None:
        """Standard deviation of the Gaussian noise on each count; None for other noise."""
        return getattr(self, "sigma", None)

    def check_n_labels(self, n_labels: int) -> None:
        """Refuse a number of labels that the mechanism was not made for."""
        self.counting(n_labels)

    def with_public_votes(self, n_votes: float, n_columns: int) -> Self:
        """Return the same mechanism for a public number of votes, where that makes it cheaper."""
        del n_votes, n_columns
        return self

    def scaled(self, factor: float) -> Self:
        """Return the same mechanism for `factor` times as many votes."""
        if not self.scalable:
            raise ValueError(
                f"mechanism={self!r} does not scale with the number of votes; use GNMax or "
                "ConfidentGNMax."
            )
        scaled = {
            name: float(value * factor**power)
            for name, power in VOTE_POWERS.items()
            if (value := getattr(self, name, None)) is not None
        }
        return replace(self, **scaled)

    def participation(self, n_rows: int) -> dict[str, NDArray[np.bool_]]:
        """Return the rows, of `n_rows`, in which each privacy group takes part.

        Groups that are not named take part in all. Must not depend on data.
        """
        del n_rows
        return {}

    def for_plain_ballots(self) -> Self:
        """Return the same mechanism where each ballot counts 1 and a row moves one of them.

        The fields `weight` and `ballots` become 1, here and in mechanisms that this one contains.
        """
        plain: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Mechanism):
                plain[field.name] = Mechanism.for_plain_ballots(value)
            elif field.name in ("weight", "ballots"):
                plain[field.name] = 1
        return replace(self, **plain)

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return votes as an array of shape (n_rows, n_columns), or raise `ValueError`."""
        votes = as_table(counts, "one row per query and one column per class")
        if not np.isfinite(votes).all() or (votes < 0).any():
            raise ValueError("counts must be finite and non-negative numbers of votes.")
        # Compared before the conversion, which rounds. (Half floats are all smaller.)
        if votes.dtype != np.float16 and (votes > MAX_VOTES).any():
            raise ValueError(
                "counts holds numbers above 2**53, which floats can't hold apart: the cost of one "
                "ballot more or less would be unknown."
            )
        return votes.astype(np.float64)

    def max_cost(
        self,
        n_columns: int | None = None,
        counts: ArrayLike | None = None,
        *,
        order: float | None = None,
    ) -> dict[str, RenyiCost]:
        """Compute the largest cost of one row, per privacy group.

        Parameters
        ----------
        n_columns : int, default=None
            Columns of the counts (classes, labels); a bound for any number if None.
        counts : array-like of shape (n_rows, n_columns), default=None
            Known votes, for the largest cost of each of their rows.
        order : float, default=None
            Compute this Renyi order only; other orders of the result are infinite.

        Returns
        -------
        dict of str to RenyiCost
            Shape () without `counts`, else (n_rows,).
        """
        if counts is None:
            return {
                group: worst_case_cost(law, order) for group, law in self.laws(n_columns).items()
            }
        votes = self.check_counts(counts)
        laws = self.laws(votes.shape[1])
        return self._realised(laws, _all_steps(laws, len(votes)), self.state(votes))

    def cost(
        self, outcome: ArrayLike, counts: ArrayLike | None = None, *, n_columns: int | None = None
    ) -> dict[str, RenyiCost]:
        """Compute the cost of each row of an outcome, per privacy group.

        Parameters
        ----------
        outcome : array-like of shape (n_rows, ...)
            A return value of `sample`.
        counts : array-like of shape (n_rows, n_columns), default=None
            Known votes, for data-dependent costs. Without them the worst case is charged.
        n_columns : int, default=None
            Columns of the counts, for the worst case; a bound for any number if None.

        Returns
        -------
        dict of str to RenyiCost
            Shape (n_rows,).
        """
        state = None
        if counts is not None:
            votes = self.check_counts(counts)
            n_columns, state = votes.shape[1], self.state(votes)
        return self._realised(self.laws(n_columns), self.executed(np.asarray(outcome)), state)

    def _realised(
        self,
        laws: Mapping[str, Law],
        executed: Mapping[str, NDArray[Any]],
        state: Mapping[str, NDArray[Any]] | None,
    ) -> dict[str, RenyiCost]:
        """Charge each group for the executed steps of the rows that it takes part in."""
        participation = self.participation(len(next(iter(executed.values()))))
        # Parts of a level share a law: its costs are computed once.
        costs = {law: realised_cost(law, executed, state) for law in set(laws.values())}
        return {
            group: costs[law] * participation[group] if group in participation else costs[law]
            for group, law in laws.items()
        }

    def describe(self) -> dict[str, Any]:
        """Return the public parameters, for the ledger and for people.

        A class that is not of `secretballot.mechanisms` is named with its module.
        """
        parameters: dict[str, Any] = {"mechanism": public_name(type(self), HOME)}
        for field in fields(self):
            value = getattr(self, field.name)
            parameters[field.name] = dict(value) if isinstance(value, Mapping) else value
        return parameters


def as_table(counts: ArrayLike, expected: str) -> NDArray[Any]:
    check_unmasked("counts", counts)
    if hasattr(counts, "toarray"):
        raise ValueError("counts is a sparse matrix; pass counts.toarray().")
    try:
        table = np.asarray(counts)
    except ValueError as error:
        raise ValueError("counts has rows of different lengths; pass a table.") from error
    if table.ndim != 2 or table.shape[1] == 0:
        problem = f"has shape {table.shape}" if table.ndim else f"is of {type(counts)}"
        raise ValueError(f"counts {problem}; pass {expected}.")
    if table.dtype.kind not in "biuf":
        raise ValueError(f"counts has dtype {table.dtype}; pass numbers.")
    return table


def _all_steps(laws: Mapping[str, Law], n_rows: int) -> dict[str, NDArray[Any]]:
    """Count all steps of a law as executed in each row; laws of all groups have the same ones."""
    return {step.name: np.full(n_rows, step.times) for step in next(iter(laws.values()))}
