"""Agreement of parties: who may vote, by which mechanism, and the weight of each ballot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from secretballot._base._numbers import check_integer, check_number
from secretballot._base._view import Prose, Shown, Table, View
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._label_voting import BinaryVoting, TauVoting
from secretballot.mechanisms._noisy_max import ConfidentGNMax, GNMax, SkellamMax
from secretballot.mechanisms._powerset_voting import PowersetVoting
from secretballot.mechanisms._stable_top_k import StableTopK
from secretballot.parties._question import (
    Motion,
    for_columns,
    for_party,
    for_voters,
    noise_parties,
    votes_apart,
)
from secretballot.reports._budget_report import short_text

#: Mechanisms that release a class, or labels.
_VOTES = (GNMax, ConfidentGNMax, SkellamMax, BinaryVoting, TauVoting, PowersetVoting, StableTopK)

#: The longest list of parties in a message.
_MOST_NAMED = 12


@dataclass(frozen=True, kw_only=True)
class Agreement(Shown):
    """Public agreement of parties on a vote, made before any of them asks.

    Parameters
    ----------
    mechanism : Mechanism
        Release of labels from votes, such as ``GNMax(sigma=5)`` for classes or
        ``BinaryVoting(sigma=5, n_votes=10)`` for labels. Its number of votes (`n_votes`) is filled
        in for each vote. Where voters make the noise together (``SkellamMax(n_parties=10)``), at
        most `n_parties` of them may vote; it is filled in where fewer do.
    parties : sequence of str
        Names of all who may ask and vote. A vote of anybody else is refused: noise is divided among
        those who vote, and an invented voter adds none.
    weights : dict of str to float, default={}
        Weights of ballots, by party; 1 for those not named. A heavier ballot costs its people
        more.
    min_voters : int, default=2
        A question that fewer parties can vote on is refused, and so is a label that fewer know.

    Examples
    --------
    >>> from secretballot import GNMax
    >>> from secretballot.parties import Agreement
    >>> parties = ["north", "south", "west"]
    >>> agreement = Agreement(mechanism=GNMax(sigma=5.0), parties=parties, weights={"north": 2.0})
    >>> agreement.weight("south")
    1.0
    """

    mechanism: Mechanism
    parties: Sequence[str]
    weights: Mapping[str, float] = field(default_factory=dict)
    min_voters: int = 2

    def __post_init__(self) -> None:
        check_integer("min_voters", self.min_voters, least=2)
        object.__setattr__(self, "parties", _checked_names(self.parties, self.min_voters))
        if not isinstance(self.mechanism, _VOTES):
            raise TypeError(
                f"mechanism={self.mechanism!r} must be a voting mechanism such as GNMax(sigma=5)."
            )
        if getattr(self.mechanism, "opens", None) not in (None, "winner"):
            raise ValueError(
                f"mechanism={self.mechanism!r} releases counts, and the answer to a question is a "
                "class; take opens='winner', which costs less."
            )
        if Mechanism.for_plain_ballots(self.mechanism) != self.mechanism:
            raise ValueError(
                f"mechanism={self.mechanism!r} counts on ballots of another weight than 1, or on "
                "people with several; say weights here, by party."
            )
        if self.most_voters > len(self.parties):
            raise ValueError(
                f"mechanism={self.mechanism!r} divides its noise among more than the "
                f"{len(self.parties)} parties {shown_names(self.parties)}; name all who may vote, "
                "or take a smaller n_parties."
            )
        strangers = [name for name in self.weights if name not in self.parties]
        if strangers:
            raise ValueError(
                f"weights name {shown_names(strangers)}, and parties are "
                f"{shown_names(self.parties)}."
            )
        for name, weight in self.weights.items():
            check_number(f"weights[{name!r}]", weight, above=0)
            n_parties = noise_parties(self.mechanism)
            for_party(for_voters(self.mechanism, max(1.0, weight), n_parties), float(weight))

    @property
    def most_voters(self) -> int:
        """The largest number of voters, among whom noise may be divided."""
        n_parties = noise_parties(self.mechanism)
        return n_parties if n_parties > 1 else len(self.parties)

    def motion(
        self,
        columns: tuple[int, ...],
        voters: Sequence[str],
        labels: tuple[str, ...] | None,
        *,
        asker: str | None = None,
    ) -> Motion:
        """Build a vote on some classes, or some of all labels; each voter builds it by itself.

        ValueError if those may not vote, or the mechanism can't be adapted to them.
        """
        self._check_voters(voters, asker)
        weights = {name: self.weight(name) for name in voters}
        mechanism = for_voters(self.mechanism, sum(weights.values()), len(weights))
        if labels is not None:
            mechanism = for_columns(mechanism, columns, len(labels))
        return Motion(columns, mechanism, weights, apart=votes_apart(mechanism, labels))

    def _check_voters(self, voters: Sequence[str], asker: str | None) -> None:
        strangers = [name for name in voters if name not in self.parties]
        if strangers or len(set(voters)) < len(voters):
            fault = (
                f"{shown_names(strangers)} did not agree" if strangers else "some are named twice"
            )
            raise ValueError(
                f"voters={shown_names(voters)}: {fault}; those who may vote are "
                f"{shown_names(self.parties)}."
            )
        if asker in voters:
            raise ValueError(f"voters={shown_names(voters)}: {asker!r} asks, and has no ballot.")
        if not self.min_voters <= len(voters) <= self.most_voters:
            raise ValueError(
                f"{len(voters)} parties vote, and agreed are from min_voters={self.min_voters} to "
                f"{self.most_voters} (n_parties of the mechanism, where parties make the noise)."
            )

    def _view(self) -> View:
        weights = [(name, f"{float(weight):g}") for name, weight in self.weights.items()]
        mechanism = Prose.of(short_text(self.mechanism))
        remaining = Prose.of("every other ballot counts 1" if weights else "every ballot counts 1")
        table = (Table(("party", "weight"), weights),) if weights else ()
        count = f"{len(self.parties):,} parties, of which {self.min_voters} or more vote: "
        return View(
            "Agreement", (mechanism, Prose.of(count + shown_names(self.parties)), *table, remaining)
        )

    def weight(self, name: str) -> float:
        """Return the weight of a party's ballot."""
        return float(self.weights.get(name, 1.0))


def _checked_names(parties: Sequence[str], min_voters: int) -> tuple[str, ...]:
    names = (parties,) if isinstance(parties, str) else tuple(parties)
    are_names = names != (parties,) and all(isinstance(name, str) and name for name in names)
    if not are_names or len(set(names)) < len(names):
        raise ValueError(f"parties={parties!r} must be the names of all who may vote, once each.")
    if len(names) <= min_voters:
        raise ValueError(
            f"parties={parties!r}: one asks and min_voters={min_voters} others answer; name all "
            "who may take part."
        )
    return names


def shown_names(names: Sequence[str], most: int = _MOST_NAMED) -> str:
    """List names for a message, at most some of them."""
    suffix = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + suffix
