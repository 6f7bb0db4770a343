"""What is asked of parties, and by what vote it is answered: public facts and the asker's rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._sklearn_compat import _num_samples
from secretballot.ensemble import Target, as_target
from secretballot.mechanisms import Counting, Mechanism, SkellamMax

#: What a label may be.
_EITHER = np.array([0, 1])


@dataclass(frozen=True, kw_only=True)
class Question:
    """Rows that a party wants labels for; all who answer see them.

    Attributes
    ----------
    id : str
        Under which ledgers keep it.
    asker : str or None
        The party that asks, which has no ballot; None: somebody who is no party.
    X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        The rows.
    classes : tuple or None
        What is voted on where a row has one class.
    labels : tuple of str or None
        What is voted on where a row has several labels.
    seeded : bool
        Whether noise will be reproducible, which protects nobody.
    aggregator : str
        Who will draw the noise and open the outcome, in a word for the ledger.
    """

    id: str
    asker: str | None
    X: Any = field(repr=False)
    classes: tuple[Any, ...] | None
    labels: tuple[str, ...] | None
    seeded: bool = False
    aggregator: str = "trusted"

    @property
    def n_rows(self) -> int:
        """How many rows are asked about."""
        return int(_num_samples(self.X))

    @property
    def target(self) -> Target:
        """What is voted on."""
        if self.classes is not None:
            return as_target(np.array(self.classes))
        return as_target([_EITHER] * len(self.labels or ()))


@dataclass(frozen=True)
class Motion:
    """One vote of a question: on all classes, or on the labels that the same parties know.

    Attributes
    ----------
    columns : tuple of int
        Positions of the classes or labels that are voted on.
    mechanism : Mechanism
        How votes become an outcome; sent to a party, as it charges that one.
    voters : dict of str to float
        All who vote on it, and what a ballot of each counts.
    weight : float
        What the ballot of the party that it was sent to counts.
    apart : bool
        Whether each label of a row is a row of its own, with votes against it and for it: so a
        mechanism of classes votes on labels.
    """

    columns: tuple[int, ...]
    mechanism: Mechanism
    voters: Mapping[str, float]
    weight: float = 1.0
    apart: bool = False

    @property
    def n_columns(self) -> int:
        """Columns of the counts."""
        return len(_EITHER) if self.apart else len(self.columns)

    @property
    def ballot_type(self) -> np.dtype[Any]:
        """Whole numbers that a ballot on it is sent as."""
        return np.min_scalar_type(max(1, self.n_columns - 1)).newbyteorder("<")

    def n_rows(self, question: Question) -> int:
        """Rows of the counts."""
        return question.n_rows * (len(self.columns) if self.apart else 1)

    @property
    def counting(self) -> Counting:
        """How ballots become counts."""
        return self.mechanism.counting(self.n_columns)

    def target(self, question: Question) -> Target:
        """Return what is voted on."""
        return question.target if question.classes else as_target([_EITHER] * len(self.columns))

    def sent_to(self, name: str) -> Motion:
        """Return the vote as it charges one of the voters."""
        weight = self.voters[name]
        return replace(self, mechanism=for_party(self.mechanism, weight), weight=weight)

    def counted(self, ballots: dict[str, NDArray[Any]]) -> NDArray[Any]:
        """Return the counts of voters' ballots."""
        counting = self.counting
        if self.apart:
            ballots = {name: cast.ravel() for name, cast in ballots.items()}
        votes = {name: counting.begin(cast, 1) for name, cast in ballots.items()}
        return counting.total(votes, {name: np.asarray(self.voters[name]) for name in votes})


def votes_apart(mechanism: Mechanism, labels: Any) -> bool:
    """Whether there are labels, and each is a row of its own, with two counts, to it."""
    return labels is not None and isinstance(mechanism, SkellamMax)


def known_together(
    columns: Mapping[str, tuple[int, ...]],
) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Return the columns that the same parties know, by who these are."""
    knowing: dict[tuple[str, ...], tuple[int, ...]] = {}
    for at in sorted({at for known in columns.values() for at in known}):
        names = tuple(name for name, known in columns.items() if at in known)
        knowing[names] = (*knowing.get(names, ()), at)
    return knowing


def for_columns(mechanism: Mechanism, columns: tuple[int, ...], n_columns: int) -> Mechanism:
    """Return a mechanism as it votes on some of the labels that it was made for.

    Raises
    ------
    ValueError
        If it says what all labels have to do with each other.
    """
    if len(columns) == n_columns:
        return mechanism
    for name in ("hierarchy", "n_labels", "regularizer"):
        if getattr(mechanism, name, None) is not None:
            raise ValueError(
                f"mechanism={mechanism!r} has {name}, for a vote on all {n_columns} labels "
                f"together, and those who can vote on {len(columns)} of them can't on the others. "
                "Nothing was opened or spent; use one without, or ask parties that know all labels."
            )
    cuts = getattr(mechanism, "ballot_threshold", None)
    if not isinstance(cuts, tuple):
        return mechanism
    some = tuple(cuts[at] for at in columns)
    return replace(mechanism, ballot_threshold=some)  # type: ignore[type-var]


def for_voters(mechanism: Mechanism, total_weight: float, n_voters: int | None = None) -> Mechanism:
    """Return a mechanism that knows who votes, if it wants to know.

    That is what all ballots weigh together, and among how many the noise is divided.
    """
    wanted: dict[str, Any] = {}
    if getattr(mechanism, "n_votes", None) is not None:
        wanted["n_votes"] = total_weight
    # Of one party the noise is the aggregator's, however many vote.
    if n_voters is not None and getattr(mechanism, "n_parties", 1) > 1:
        wanted["n_parties"] = n_voters
    return replace(mechanism, **wanted) if wanted else mechanism  # type: ignore[type-var]


def for_party(mechanism: Mechanism, weight: float) -> Mechanism:
    """Return a mechanism as it charges a party whose ballot has a weight."""
    if weight == 1.0:
        return mechanism
    if "weight" not in {each.name for each in fields(mechanism)}:  # type: ignore[arg-type]
        raise ValueError(
            f"mechanism={mechanism!r} knows no weights, and one party's is {weight:g}; take one "
            "that does, such as GNMax or BinaryVoting, or let all ballots count alike."
        )
    whole = isinstance(mechanism, SkellamMax) and weight == int(weight)
    return replace(mechanism, weight=int(weight) if whole else weight)  # type: ignore[type-var]
