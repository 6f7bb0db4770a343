"""Terms of one vote on shared numbers, which all voters must state alike, and sums of shares."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from secretballot.computing._shares import VALUE_BITS, WIDTH, Shares, add_to, read_shares
from secretballot.transport import Fields, MessageError, read_field

#: Outcomes: 1 for each number below 0, else 0; or, of two columns or more, the lowest position of
#: the largest number of each row.
RULES = ("negative", "plurality")
#: Bits that are compared at a time: a computing party then takes about 100 MB. One row may have
#: up to the second number of bits.
BATCH, LONGEST_ROW = 2**17, 2**20
#: The longest name or digest.
_TEXT = 256


@dataclass(frozen=True, kw_only=True)
class SharedVote:
    """Terms of one motion, for which voters share their numbers."""

    #: Positions of the classes or labels that are voted on.
    columns: tuple[int, ...]
    #: Rows and columns of the numbers that each voter shares.
    shape: tuple[int, int]
    #: The outcome that is opened, one of `RULES`.
    rule: str
    #: All among whom the noise is divided, sorted; sums of others are not opened.
    voters: tuple[str, ...]
    #: Length of the differences that are compared, with their sign.
    bits: int
    #: Digest of all other facts that voters agreed on.
    digest: str

    @property
    def n_bytes(self) -> int:
        """Length of one voter's shares."""
        return WIDTH * self.shape[0] * self.shape[1]

    @property
    def n_rows_at_once(self) -> int:
        """Number of rows that are compared at a time."""
        return max(1, BATCH // (self.bits * self.shape[1]))

    def fields(self) -> dict[str, object]:
        """Return the terms as JSON has them."""
        lists = {name: list(getattr(self, name)) for name in ("columns", "shape", "voters")}
        return {**asdict(self), **lists}

    @classmethod
    def read(cls, fields: Fields) -> SharedVote:
        """Return the terms in some fields, or raise `MessageError`."""
        columns, shape = (read_field(fields, name, list[int]) for name in ("columns", "shape"))
        voters, bits = read_field(fields, "voters", list[str]), read_field(fields, "bits", int)
        rule, digest = (read_field(fields, name, str) for name in ("rule", "digest"))
        if set(fields) != set(cls.__dataclass_fields__):
            raise MessageError("the terms of a vote have too much.")
        if not columns or len(shape) != 2 or not all(shape):
            raise MessageError("the columns or the shape of a vote are missing.")
        if not voters or voters != sorted(set(voters)):
            raise MessageError("the voters of a vote are missing, named twice, or not in order.")
        if not all(0 < len(text) <= _TEXT for text in (digest, *voters)):
            raise MessageError(f"names and digests have from 1 to {_TEXT} characters.")
        if rule not in RULES[: shape[1]]:
            raise MessageError(f"rule={rule!r} must be one of {RULES[: shape[1]]}.")
        if not 2 <= bits <= VALUE_BITS or bits * shape[1] > LONGEST_ROW:
            raise MessageError(
                f"bits={bits!r} must be from 2 to {VALUE_BITS}, and all numbers of a row together "
                f"have at most {LONGEST_ROW}."
            )
        return cls(
            columns=tuple(columns),
            shape=(shape[0], shape[1]),
            rule=rule,
            voters=tuple(voters),
            bits=bits,
            digest=digest,
        )


class ShareSums:
    """Sums of the shares of the votes of one question, under the name of one attempt to vote."""

    def __init__(self, session: str = "", votes: Sequence[SharedVote] = ()) -> None:
        if len({vote.columns for vote in votes}) < len(votes):
            raise MessageError("two votes are about the same columns.")
        self.session, self.votes = session, {vote.columns: vote for vote in votes}
        self.senders: set[str] = set()
        self.is_void = False
        self._totals: dict[tuple[int, ...], Shares] = {
            vote.columns: np.zeros((*vote.shape, 2), np.uint64) for vote in votes
        }
        self._n_opened = dict.fromkeys(self._totals, 0)
        self._lock = threading.Lock()

    def votes_of(self, name: str, fields: Fields) -> list[SharedVote]:
        """Return the votes of one voter, if it states the same terms, and has not voted yet."""
        votes = [vote for vote in self.votes.values() if name in vote.voters]
        if not self.session or fields.get("session") != self.session:
            raise MessageError("there is no such vote.")
        if not votes or fields.get("votes") != [vote.fields() for vote in votes]:
            raise MessageError(f"the shares of {name!r} are for another vote than the others'.")
        if name in self.senders or self.is_void:
            raise MessageError(f"{name!r} has sent shares before, or the vote is void.")
        return votes

    def add(self, name: str, fields: Fields, body: memoryview) -> None:
        """Add a voter's shares; all of them or, if one is refused, none."""
        shares, start = {}, 0
        for vote in self.votes_of(name, fields):
            end = start + vote.n_bytes
            shares[vote.columns], start = read_shares(body[start:end], vote.shape), end
        if start != len(body):
            raise MessageError(f"the shares of {name!r} are too long.")
        with self._lock:
            self.votes_of(name, fields)
            for columns, share in shares.items():
                add_to(self._totals[columns], share)
            self.senders.add(name)

    def begin(self, columns: Sequence[int], start: int, stop: int) -> tuple[SharedVote, Shares]:
        """Return rows of the sum of all voters' shares, with everybody's noise, once."""
        with self._lock:
            vote = self.votes.get(tuple(columns))
            if self.is_void:
                raise MessageError("a voter was told that the vote is void.")
            if vote is None or not self.senders.issuperset(vote.voters):
                raise MessageError("the shares that have come are not of those who vote.")
            if start != self._n_opened[vote.columns] or not start < stop <= vote.shape[0]:
                raise MessageError(f"rows from {start} to {stop} are not those that come next.")
            if stop - start > vote.n_rows_at_once:
                raise MessageError(f"{stop - start} rows are too many at once.")
            self._n_opened[vote.columns] = stop
            return vote, self._totals[vote.columns][start:stop]

    def withdraw(self, name: str, session: object) -> None:
        """Cancel the vote, so that no winner is opened; refused if one was opened already.

        Without shares of the voter too: the coordinator may have begun another vote of this name.
        """
        with self._lock:
            if session != self.session or name not in self.senders:
                raise MessageError(f"no shares of {name!r} are here.")
            if any(self._n_opened.values()):
                raise MessageError("winners have been opened.")
            self.is_void = True


def read_votes(fields: Fields, voters: Collection[str], max_bytes: int) -> list[SharedVote]:
    """Return the terms of all votes of a question, as the coordinator states them.

    Only `voters` may vote; without them anybody, which is for processes of one machine.
    """
    votes = [SharedVote.read(vote) for vote in read_field(fields, "votes", list[dict[str, object]])]
    strangers = {name for vote in votes for name in vote.voters}.difference(voters)
    if voters and strangers:
        raise MessageError(
            f"a vote of {len(strangers)} who may not vote, such as {min(strangers)!r}."
        )
    if not votes or sum(vote.n_bytes for vote in votes) > max_bytes:
        raise MessageError(f"the shares of a voter may take 1 to max_bytes={max_bytes:,} bytes.")
    return votes
