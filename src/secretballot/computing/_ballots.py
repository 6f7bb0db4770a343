"""Shared ballots of one vote: their terms, which all must state alike, and their sums."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from secretballot.computing._shares import VALUE_BITS, WIDTH, Shares, add_to, read_shares

#: See `SharedVote`; a plurality is of two columns or more.
RULES = ("negative", "plurality")
#: Bits that are compared at a time: with them a computing party has some 100 MB. One row may have
#: more of them, up to the second number.
BATCH, LONGEST_ROW = 2**17, 2**20
#: The longest names and digests that are kept.
_TEXT = 256


@dataclass(frozen=True, kw_only=True)
class SharedVote:
    """Terms of one motion, for which voters share their numbers.

    Attributes
    ----------
    columns : tuple of int
        Positions of the classes or labels that it is about.
    shape : tuple of int
        Rows and columns of the numbers that each voter shares.
    rule : {"plurality", "negative"}
        What may be opened: the lowest position of the largest number of each row; or, of each
        number, 1 where it is below 0, else 0.
    voters : tuple of str
        Among whom the noise was divided, sorted; sums of others are not opened.
    bits : int
        How long the differences that are compared are at most, with their sign: they are hidden as
        numbers of that length.
    digest : str
        Of what else all voters must have agreed on.
    """

    columns: tuple[int, ...]
    shape: tuple[int, int]
    rule: str
    voters: tuple[str, ...]
    bits: int
    digest: str

    @property
    def n_bytes(self) -> int:
        """Length of one voter's shares."""
        return WIDTH * self.shape[0] * self.shape[1]

    @property
    def n_rows_at_once(self) -> int:
        """Number of rows that are compared at a time."""
        return max(1, BATCH // (self.bits * self.shape[1]))

    def words(self) -> dict[str, Any]:
        """Return the terms as JSON says them."""
        lists = {name: list(getattr(self, name)) for name in ("columns", "shape", "voters")}
        return {**asdict(self), **lists}

    @classmethod
    def read(cls, words: Any) -> Self:
        """Return the terms that JSON says, or raise `ValueError`."""
        if not isinstance(words, dict) or set(words) != set(cls.__dataclass_fields__):
            raise ValueError("the terms of a vote lack something, or have too much.")
        columns, shape, voters = (words[name] for name in ("columns", "shape", "voters"))
        if not (_are(_size, columns) and _are(_size, shape) and len(shape) == 2 and all(shape)):
            raise ValueError("the columns or the shape of a vote are no numbers.")
        if not _are(_is_text, voters) or voters != sorted(set(voters)):
            raise ValueError("the voters of a vote are no names, named twice, or not in order.")
        if words["rule"] not in RULES[: shape[1]] or _is_text(words["digest"]):
            raise ValueError(f"rule={words['rule']!r} must be one of {RULES[: shape[1]]}.")
        bits = words["bits"]
        if not 2 <= _size(bits) <= VALUE_BITS or bits * shape[1] > LONGEST_ROW:
            raise ValueError(
                f"bits={bits!r} must be from 2 to {VALUE_BITS}, and all numbers of a row together "
                f"have at most {LONGEST_ROW}."
            )
        lists = {"columns": tuple(columns), "shape": tuple(shape), "voters": tuple(voters)}
        return cls(**{**words, **lists})


class Sums:
    """Sums of the shares of one vote.

    Parameters
    ----------
    session : str
        Name of one attempt to vote.
    votes : sequence of SharedVote
    """

    def __init__(self, session: str = "", votes: Sequence[SharedVote] = ()) -> None:
        if len({vote.columns for vote in votes}) < len(votes):
            raise ValueError("two votes are about the same columns.")
        self.session, self.votes = session, tuple(votes)
        self.names: set[str] = set()
        self.is_void = False
        self._totals: dict[tuple[int, ...], Shares] = {
            vote.columns: np.zeros((*vote.shape, 2), np.uint64) for vote in votes
        }
        self._n_opened = dict.fromkeys(self._totals, 0)
        self._lock = threading.Lock()

    def expected(self, name: str, words: Mapping[str, Any]) -> list[SharedVote]:
        """Return the votes of one voter, if it says the same of them, and has not voted yet."""
        mine = [vote for vote in self.votes if name in vote.voters]
        if words.get("session") != self.session or not self.session:
            raise ValueError("there is no such vote.")
        if not mine or words.get("votes") != [vote.words() for vote in mine]:
            raise ValueError(f"the shares of {name!r} are for another vote than the others'.")
        if name in self.names or self.is_void:
            raise ValueError(f"{name!r} has sent shares before, or the vote is void.")
        return mine

    def add(self, name: str, words: Mapping[str, Any], body: memoryview) -> None:
        """Add a voter's shares; all of them or, if one is refused, none."""
        votes, shares, at = self.expected(name, words), {}, 0
        for vote in votes:
            part = body[at : at + vote.n_bytes]
            shares[vote.columns], at = read_shares(part, vote.shape), at + vote.n_bytes
        if at != len(body):
            raise ValueError(f"the shares of {name!r} are too long.")
        with self._lock:
            self.expected(name, words)
            for columns, share in shares.items():
                add_to(self._totals[columns], share)
            self.names.add(name)

    def begin(self, columns: Any, start: Any, stop: Any) -> tuple[SharedVote, Shares]:
        """Return rows of the sum of all voters' shares, once.

        Whoever asks gets winners of the sum that voters shared for, with the noise of all in it,
        and not, by asking for sums of fewer or again in another way, more than that.
        """
        with self._lock:
            known = [vote for vote in self.votes if list(vote.columns) == columns]
            if self.is_void:
                raise ValueError("a voter was told that the vote is void.")
            if not known or not self.names.issuperset(known[0].voters):
                raise ValueError("the shares that have come are not of those who vote.")
            (vote,) = known
            ends_within = _size(start) < _size(stop) <= vote.shape[0]
            if _size(start) != self._n_opened[vote.columns] or not ends_within:
                raise ValueError(f"rows from {start} to {stop} are not those that come next.")
            if stop - start > vote.n_rows_at_once:
                raise ValueError(f"{stop - start} rows are too many at once.")
            self._n_opened[vote.columns] = stop
            return vote, self._totals[vote.columns][start:stop]

    def withdraw(self, name: str, session: Any) -> None:
        """Open nothing any more; refused if something was opened already.

        Or if the voter's shares are not here: whoever holds votes may have opened them, and begun
        anew under the same name since.
        """
        with self._lock:
            if session != self.session or name not in self.names:
                raise ValueError(f"no shares of {name!r} are here.")
            if any(self._n_opened.values()):
                raise ValueError("winners have been opened.")
            self.is_void = True


def read_votes(words: Any, voters: Collection[str], max_bytes: int) -> list[SharedVote]:
    """Return the terms of all votes of a question, or raise `ValueError`.

    Parameters
    ----------
    words : object
        What whoever holds the vote says.
    voters : collection of str
        Who may vote; empty: anybody, which is for processes of one machine.
    max_bytes : int
        The most that the shares of one voter may take, and so the sums of all.
    """
    if not isinstance(words, list) or not words:
        raise ValueError("a vote has no terms.")
    votes = [SharedVote.read(each) for each in words]
    strangers = {name for vote in votes for name in vote.voters}.difference(voters)
    if voters and strangers:
        raise ValueError(
            f"a vote of {len(strangers)} who may not vote, such as {min(strangers)!r}."
        )
    if sum(vote.n_bytes for vote in votes) > max_bytes:
        raise ValueError(f"the shares of a voter may take max_bytes={max_bytes:,} bytes.")
    return votes


def _size(value: Any) -> int:
    """Return a whole number from 0 on; -1 for anything else."""
    return value if type(value) is int and value >= 0 else -1


def _is_text(value: Any) -> int:
    return 0 if isinstance(value, str) and 0 < len(value) <= _TEXT else -1


def _are(kind: Callable[[Any], int], values: Any) -> bool:
    """Whether values are a list of things of one kind."""
    return isinstance(values, list) and bool(values) and -1 not in map(kind, values)
