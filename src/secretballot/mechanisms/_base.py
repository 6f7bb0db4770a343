"""What all mechanisms share: an immutable description from which costs follow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_unmasked
from secretballot._public import public_name
from secretballot.divergences import EVERYONE, Law, RenyiCost, realised_cost, worst_case_cost
from secretballot.mechanisms._counting import CountClasses, Counting

#: What neighbouring data sets differ in.
Relation = Literal["replace", "add_remove"]

#: Whose classes are recorded by their name alone.
HOME = "secretballot.mechanisms"
#: Up to here floats hold whole numbers apart.
MOST_VOTES = 2**53
#: The most ballots of one person, and the most that one counts where counts are whole.
MOST_BALLOTS = 10**6


class Mechanism(ABC):
    """How votes or counts become a private answer.

    A frozen dataclass with keyword-only fields; stateless; works on whole batches; knows nothing of
    estimators, budgets or storage. A subclass states its `law` once and says how an outcome tells
    which steps of it were begun; costs are computed from that.

    Attributes
    ----------
    relations : frozenset of str
        Neighbouring relations for which the costs are proven: ``"replace"``, ``"add_remove"``.
    rows : str
        ``"sequential"`` where rows are queries to the same people, ``"parallel"`` where they are
        disjoint people.
    whole_counts : bool
        Whether counts must be whole numbers.
    """

    relations: ClassVar[frozenset[str]] = frozenset({"replace"})
    rows: ClassVar[str] = "sequential"
    whole_counts: ClassVar[bool] = False

    @abstractmethod
    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the law of one row for each privacy group.

        Parameters
        ----------
        n_columns : int, default=None
            Columns of the counts; the law for any number if None.
        """

    @abstractmethod
    def sample(self, counts: Any, rng: np.random.Generator) -> NDArray[Any]:
        """Draw the outcome. Only the accountant calls this: elsewhere it would be unpaid."""

    @abstractmethod
    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return how often each step of the law was begun in each row of `outcome`.

        Shape (n_rows,); of a step of several labels, which of them: (n_rows, n_labels).
        """

    @abstractmethod
    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return what the exact cost of each step depends on, per row."""

    @property
    def multilabel(self) -> bool:
        """Whether a row's outcome is a set of labels, and not one class."""
        return False

    def counting(self, n_columns: int) -> Counting:
        """Return how ballots become counts.

        Parameters
        ----------
        n_columns : int
            Classes, or labels, that are voted on.
        """
        return CountClasses(n_classes=n_columns)

    @property
    def expected_votes(self) -> float | None:
        """Number of ballots that the counts of each label are out of; None if it plays no part."""
        return None

    @property
    def count_noise(self) -> float | None:
        """Standard deviation of the Gaussian noise on each count; None for other noise."""
        return getattr(self, "sigma", None)

    def noise_share(self, n_votes: float) -> float | None:
        """Return the noise on the votes of a class as a share of all ballots.

        None unless the outcome is the class, or each label, with the largest noisy count.
        """
        del n_votes
        return None

    def check_n_labels(self, n_labels: int) -> None:
        """Refuse a number of labels that the mechanism was not made for."""
        self.counting(n_labels)

    def with_public_votes(self, n_votes: float, n_columns: int) -> Self:
        """Return the same mechanism for a public number of votes, where that makes it cheaper."""
        del n_votes, n_columns
        return self

    def scaled(self, factor: float) -> Self:
        """Return the same mechanism for `factor` times as many votes."""
        del factor
        raise ValueError(
            f"mechanism={self!r} does not scale with the number of votes; use GNMax or "
            "ConfidentGNMax."
        )

    def participation(self, n_rows: int) -> dict[str, NDArray[np.bool_]]:
        """Return in which of `n_rows` rows each privacy group takes part.

        Groups that are not named take part in all. Must not depend on data.
        """
        del n_rows
        return {}

    def for_plain_ballots(self) -> Self:
        """Return the same mechanism where each ballot counts 1 and a row moves one of them.

        That is what the fields `weight` and `ballots` are about, here and in the mechanisms that
        this one is made of.
        """
        plain: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, Mechanism):
                plain[field.name] = Mechanism.for_plain_ballots(value)
            elif field.name in ("weight", "ballots"):
                plain[field.name] = 1
        return replace(self, **plain)  # type: ignore[type-var]

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return votes as an array of shape (n_rows, n_columns), or raise `ValueError`."""
        check_unmasked("counts", counts)
        if hasattr(counts, "toarray"):
            raise ValueError("counts is a sparse matrix; pass counts.toarray().")
        try:
            votes = np.asarray(counts)
        except ValueError as error:
            raise ValueError("counts has rows of different lengths; pass a table.") from error
        if votes.ndim != 2 or votes.shape[1] == 0:
            what = f"has shape {votes.shape}" if votes.ndim else f"is of {type(counts)}"
            raise ValueError(f"counts {what}; pass one row per query and one column per class.")
        if votes.dtype.kind not in "biuf":
            raise ValueError(f"counts has dtype {votes.dtype}; pass numbers.")
        if not np.isfinite(votes).all() or (votes < 0).any():
            raise ValueError("counts must be finite and non-negative numbers of votes.")
        # Compared as they are: as floats they would not differ any more. (Half floats end before.)
        if votes.dtype != np.float16 and (votes > MOST_VOTES).any():
            raise ValueError(
                "counts holds numbers above 2**53, which floats can't hold apart: the cost of one "
                "ballot more or less would be unknown."
            )
        return votes.astype(np.float64)

    def max_cost(
        self, n_columns: int | None = None, counts: Any = None, *, order: float | None = None
    ) -> dict[str, RenyiCost]:
        """Return the most one row can cost, per privacy group.

        Parameters
        ----------
        n_columns : int, default=None
            Columns of the counts (classes, labels); a bound for any number if None.
        counts : array-like of shape (n_rows, n_columns), default=None
            Known votes, for data-dependent costs: the most each row can cost then.
        order : float, default=None
            Compute this Renyi order only; the others are infinite in what is returned.

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
        state = self.state(votes)
        laws = self.laws(votes.shape[1])
        every = {step.name: np.full(len(votes), step.times) for step in next(iter(laws.values()))}
        return self._realised(laws, every, state)

    def cost(
        self, outcome: ArrayLike, counts: Any = None, *, n_columns: int | None = None
    ) -> dict[str, RenyiCost]:
        """Return what each row of an outcome did cost, per privacy group.

        Parameters
        ----------
        outcome : array-like of shape (n_rows, ...)
            What `sample` returned.
        counts : array-like of shape (n_rows, n_columns), default=None
            Known votes, for data-dependent costs. Without them the worst case is charged.
        n_columns : int, default=None
            Columns of the counts, for the worst case; a bound for any number if None.

        Returns
        -------
        dict of str to RenyiCost
            Shape (n_rows,).
        """
        executed = self.executed(np.asarray(outcome))
        votes = None if counts is None else self.check_counts(counts)
        state = None if votes is None else self.state(votes)
        laws = self.laws(n_columns if votes is None else votes.shape[1])
        return self._realised(laws, executed, state)

    def _realised(
        self,
        laws: Mapping[str, Law],
        executed: Mapping[str, NDArray[Any]],
        state: Mapping[str, NDArray[Any]] | None,
    ) -> dict[str, RenyiCost]:
        """Charge each group for the steps of the rows that it takes part in."""
        there = self.participation(len(next(iter(executed.values()))))
        # Parts of a level have one law, and on the rows of their turns the same costs.
        costs: dict[Law, RenyiCost] = {}
        for law in laws.values():
            if law not in costs:
                costs[law] = realised_cost(law, executed, state)
        return {
            group: costs[law] * there[group] if group in there else costs[law]
            for group, law in laws.items()
        }

    def describe(self) -> dict[str, Any]:
        """Return the public parameters, for the ledger and for people.

        A class that is not of `secretballot.mechanisms` is named with its module.
        """
        parameters: dict[str, Any] = {"mechanism": public_name(type(self), HOME)}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            parameters[field.name] = dict(value) if isinstance(value, Mapping) else value
        return parameters


def check_relation(relation: Any) -> None:
    """Refuse what is no neighbouring relation."""
    if relation not in get_args(Relation):
        raise ValueError(f"relation={relation!r} is unknown; use 'replace' or 'add_remove'.")


def apart(relation: Relation) -> float:
    """Return how far apart a person can move two counts, of which each moves by 1 at most.

    All of them move one way if somebody joins.
    """
    return 2.0 if relation == "replace" else 1.0


def by_group(value: float | Mapping[str, float]) -> dict[str, float]:
    """Return a parameter per privacy group; a plain number is everyone's."""
    return dict(value) if isinstance(value, Mapping) else {EVERYONE: value}


def paired(
    first: float | Mapping[str, float], second: int | Mapping[str, int]
) -> dict[str, tuple[float, int]]:
    """Return two parameters together per privacy group; a plain number goes with every group."""
    if not isinstance(first, Mapping) and not isinstance(second, Mapping):
        return {EVERYONE: (first, second)}
    one = first if isinstance(first, Mapping) else dict.fromkeys(by_group(second), first)
    two = second if isinstance(second, Mapping) else dict.fromkeys(one, second)
    if set(one) != set(two):
        raise ValueError(
            f"weight={dict(one)!r} and ballots={dict(two)!r} must name the same levels."
        )
    return {group: (one[group], two[group]) for group in one}
