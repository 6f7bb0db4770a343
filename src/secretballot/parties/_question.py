"""Questions to parties, the votes that answer them, and mechanisms adapted to one vote."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from secretballot._base._sklearn_compat import _num_samples
from secretballot.ensemble._target import Target, as_target
from secretballot.ensemble.individual import Assignment
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._counting import Counting
from secretballot.mechanisms._noisy_max import GNMax, SkellamMax

#: Rows: an array, a sparse matrix, a data frame or a list of texts.
Table = Any
#: Libraries of data frames.
_PACKAGES = ("pandas", "polars")
#: Values of a label.
LABEL_VALUES = np.array([0, 1])


def frame_package(X: Table) -> ModuleType | None:
    """Return the library of a data frame; None for other tables."""
    packages = [sys.modules[name] for name in _PACKAGES if name in sys.modules]
    return next((package for package in packages if isinstance(X, package.DataFrame)), None)


def rows_digest(X: Table) -> bytes:
    """Compute a digest of rows, which is the same for sparse numbers and dense ones."""
    digest = sha256()
    numbers = None
    with suppress(TypeError, ValueError):  # texts; missing values of pandas
        numbers = csr_array(X if issparse(X) else np.asarray(X, np.float64).reshape(len(X), -1))
    if numbers is None:
        for cell in np.asarray(X, dtype=object).ravel().tolist():
            digest.update(f"{cell}\0".encode(errors="backslashreplace"))
    else:
        numbers.sum_duplicates()
        numbers.eliminate_zeros()
        for part in (numbers.indptr, numbers.indices, numbers.data):
            digest.update(part.astype(np.float64).tobytes())
    return digest.digest()


def target_of(classes: tuple[object, ...] | None, labels: Sized | None) -> Target:
    if classes is not None:
        return as_target(np.array(classes))
    return as_target([LABEL_VALUES] * len(labels or ()))


@dataclass(frozen=True, kw_only=True)
class Question:
    """Rows `X` that a party wants labels for; all who answer see them.

    `asker` has no ballot; None: somebody who is no party. `classes` are all classes, where a row
    has one; `labels` name all labels, where it has several. With `seeded`, noise will be
    reproducible, which protects nobody. `id` and `aggregator` (its kind) are for ledgers.
    """

    id: str
    asker: str | None
    X: Table = field(repr=False)
    classes: tuple[object, ...] | None
    labels: tuple[str, ...] | None
    seeded: bool = False
    aggregator: str = "trusted"

    @property
    def n_rows(self) -> int:
        return int(_num_samples(self.X))

    @property
    def target(self) -> Target:
        return target_of(self.classes, self.labels)


#: Fields that relate all labels with each other.
_JOINT_FIELDS = ("hierarchy", "n_labels", "regularizer")


# A mechanism states by its fields what it depends on: `n_votes` and `n_parties` on the voters,
# `weight` on the party that pays, `ballot_threshold` on each label.


def votes_apart(mechanism: Mechanism | type[Mechanism], labels: Sequence[str] | None) -> bool:
    """Return True if each label of a row is a row of its own, with votes against it and for it."""
    kind = mechanism if isinstance(mechanism, type) else type(mechanism)
    return labels is not None and issubclass(kind, SkellamMax)


def noise_scale(mechanism: Mechanism) -> float:
    """Return the standard deviation of the noise on each count."""
    if isinstance(mechanism, SkellamMax):
        return math.sqrt(mechanism.variance)
    if mechanism.count_noise is None:
        raise ValueError(f"mechanism={mechanism!r} has no sigma to compare parties' noise by.")
    return float(mechanism.count_noise)


def noise_parties(mechanism: Mechanism) -> int:
    """Return the number of parties among whom the noise is divided; 1: the aggregator draws it."""
    return getattr(mechanism, "n_parties", None) or 1


def for_columns(mechanism: Mechanism, columns: Sequence[int], n_columns: int) -> Mechanism:
    """Adapt a mechanism to a vote on some labels; ValueError if it relates all with each other."""
    if len(columns) == n_columns:
        return mechanism
    for name in _JOINT_FIELDS:
        if getattr(mechanism, name, None) is not None:
            raise ValueError(
                f"mechanism={mechanism!r} has {name}, for a vote on all {n_columns} labels "
                f"together, and those who can vote on {len(columns)} of them can't on the others. "
                "Nothing was opened or spent; use one without, or ask parties that know all labels."
            )
    thresholds = getattr(mechanism, "ballot_threshold", None)
    if not isinstance(thresholds, tuple):
        return mechanism
    return _with(mechanism, ballot_threshold=tuple(thresholds[column] for column in columns))


def for_voters(mechanism: Mechanism, total_weight: float, n_voters: int) -> Mechanism:
    """Fill in the weight of all ballots, and the number of voters that divide the noise."""
    if getattr(mechanism, "n_votes", None) is not None:
        mechanism = _with(mechanism, n_votes=total_weight)
    return _with(mechanism, n_parties=n_voters) if noise_parties(mechanism) > 1 else mechanism


def drawn_centrally(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism of the same noise that no voters share."""
    is_shared = isinstance(mechanism, SkellamMax)  # nearly normal
    return GNMax(sigma=noise_scale(mechanism)) if is_shared else mechanism


@dataclass(frozen=True)
class BallotAssignment(Assignment):
    """Assignment of a vote of parties, with a weight of each ballot."""

    weights: Mapping[str, float]

    @classmethod
    def of(cls, weights: Mapping[str, float]) -> BallotAssignment:
        return cls(len(weights), weights)

    @property
    def n_equal(self) -> int:
        return round(sum(self.weights.values()))

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(self.weights)

    def weight(self, group: str, mechanism: Mechanism) -> float:
        del mechanism
        return self.weights[group]


def for_party(mechanism: Mechanism, weight: float) -> Mechanism:
    """Adapt a mechanism to the charge of a party whose ballot has a weight."""
    if weight == 1.0:
        return mechanism
    if getattr(mechanism, "weight", None) is None:
        raise ValueError(
            f"mechanism={mechanism!r} knows no weights, and one party's is {weight:g}; take one "
            "that does, such as GNMax or BinaryVoting, or let all ballots count alike."
        )
    if isinstance(mechanism, SkellamMax) and weight == int(weight):
        weight = int(weight)
    return _with(mechanism, weight=weight)


def _with(mechanism: Mechanism, **values: object) -> Mechanism:
    return replace(mechanism, **values)


@dataclass(frozen=True)
class Motion:
    """One vote of a question: on all classes, or on the labels that the same parties know.

    `columns` are the positions of these classes or labels, `voters` the weight of each ballot.
    Sent to a party, `mechanism` is as it charges that one, and `weight` is that of its ballot.
    With `apart`, each label of a row is a row of its own, with votes against it and for it, so that
    a mechanism of classes votes on labels.
    """

    columns: tuple[int, ...]
    mechanism: Mechanism
    voters: Mapping[str, float]
    weight: float = 1.0
    apart: bool = False

    @property
    def n_columns(self) -> int:
        """Columns of the counts."""
        return len(LABEL_VALUES) if self.apart else len(self.columns)

    @property
    def ballot_type(self) -> np.dtype[np.unsignedinteger]:
        """Type of the integers that encode a ballot."""
        return np.min_scalar_type(max(1, self.n_columns - 1)).newbyteorder("<")

    def ballot_shape(self, question: Question) -> tuple[int, ...]:
        """Shape of a ballot: one class a row, or 0 and 1 for each label of the vote."""
        return (question.n_rows, *(() if question.labels is None else (len(self.columns),)))

    def n_rows(self, question: Question) -> int:
        """Rows of the counts."""
        return question.n_rows * (len(self.columns) if self.apart else 1)

    @property
    def counting(self) -> Counting:
        return self.mechanism.counting(self.n_columns)

    def sent_to(self, name: str) -> Motion:
        """Return the vote as it charges one of the voters."""
        weight = self.voters[name]
        return replace(self, mechanism=for_party(self.mechanism, weight), weight=weight)

    def counts(self, ballots: Mapping[str, NDArray[np.intp]]) -> NDArray[np.float64]:
        counting = self.counting
        if self.apart:
            ballots = {name: cast.ravel() for name, cast in ballots.items()}
        votes = {name: counting.begin(cast, 1) for name, cast in ballots.items()}
        return counting.total(votes, {name: np.asarray(self.voters[name]) for name in votes})


def group_columns(columns: Mapping[str, tuple[int, ...]]) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Group columns by the parties that vote on them."""
    groups: dict[tuple[str, ...], tuple[int, ...]] = {}
    for column in sorted({column for group in columns.values() for column in group}):
        names = tuple(name for name, group in columns.items() if column in group)
        groups[names] = (*groups.get(names, ()), column)
    return groups
