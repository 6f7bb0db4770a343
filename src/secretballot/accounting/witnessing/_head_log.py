"""Log of signed heads, checked for itself and compared with a ledger."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from secretballot._errors import WitnessError
from secretballot._tables import entry_count
from secretballot.accounting.witnessing._signed_head import SignedHead
from secretballot.ledger import Ledger, LedgerEntry, Walk

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

#: Largest size of a log: some 250,000 heads.
_MAX_BYTES = 1 << 27

#: Fields of the newest head in a statement.
_SUMMARY = ("n_entries", "time", "key_id")

#: Entries of slack when a walk begins before a head while others spend.
_SLACK = 64


@dataclass(frozen=True)
class HeadLog:
    """Signed heads of one ledger, in the order in which they were appended.

    Attributes
    ----------
    path : str
        File of the heads.
    heads : tuple of SignedHead
        Heads with valid signatures, of one ledger, each of as many entries as the one before or
        more.
    """

    path: str
    heads: tuple[SignedHead, ...]

    @classmethod
    def read(cls, path: str, keys: Mapping[str, Ed25519PublicKey]) -> HeadLog:
        """Read a log and check each signature; WitnessError names the first line that is wrong."""
        try:
            if os.path.isdir(path):
                raise OSError("it is a folder; name the file in it")
            if os.path.exists(path) and not os.path.isfile(path):
                raise OSError("it is no regular file")
            with open(path, "rb") as file:
                content = file.read(_MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            raise WitnessError(f"The witness {path!r} can't be read: {error}.") from None
        return cls.parse(path, content, keys)

    @classmethod
    def parse(cls, path: str, content: bytes, keys: Mapping[str, Ed25519PublicKey]) -> HeadLog:
        """Check the content of a log; WitnessError names the first line that is wrong."""
        if len(content) > _MAX_BYTES:
            raise WitnessError(
                f"The witness {path!r} has more than {_MAX_BYTES} bytes. Begin a new log."
            )
        *lines, unfinished = content.split(b"\n")
        if unfinished:
            raise WitnessError(
                f"The witness {path!r} is cut off in line {len(lines) + 1}. Get a whole copy of it."
            )
        heads = []
        for number, line in enumerate(lines, start=1):
            try:
                head = SignedHead.from_line(line)
                if head.key_id not in keys:
                    key_ids = ", ".join(keys)
                    raise ValueError(
                        f"it is signed by an unknown key, {head.key_id}; "
                        f"the keys given are {key_ids}"
                    )
                if not head.is_signed_by(keys[head.key_id]):
                    raise ValueError("its signature is wrong; it was altered or made up")
                heads.append(head)
            except ValueError as error:
                raise WitnessError(f"The witness {path!r}, line {number}: {error}.") from None
        log = cls(path, tuple(heads))
        log._check_growth()
        return log

    def _check_growth(self) -> None:
        for number, (before, head) in enumerate(pairwise(self.heads), start=2):
            if head.ledger_id != before.ledger_id:
                fault = "it is of another ledger than the line before; use one log for each ledger"
            elif head.n_entries < before.n_entries:
                fault = (
                    f"it is of {entry_count(head.n_entries)}, and the line before of "
                    f"{before.n_entries}: the lines were reordered, or a restored ledger was signed"
                )
            elif head.n_entries == before.n_entries and head.digest != before.digest:
                fault = "it has another digest than the line before, of as many entries: a fork"
            else:
                continue
            raise WitnessError(f"The witness {self.path!r}, line {number}: {fault}.")

    @property
    def empty_note(self) -> str:
        """Note that nothing can be compared; "" if there is a head."""
        if self.heads:
            return ""
        return (
            f"The witness {self.path!r} has no signed head yet: nothing was compared. "
            "`secretballot ledger witness` appends the first."
        )

    def summary(self) -> dict[str, Any]:
        """Return the number of heads and what the newest says, for a statement."""
        newest = self.heads[-1] if self.heads else None
        about_newest = {name: getattr(newest, name, None) for name in _SUMMARY}
        return {"n_heads": len(self.heads), **about_newest}

    def check_newest(self, ledger: Ledger) -> None:
        """Check that a ledger holds the newest head; only entries since are read."""
        check_witnessable(ledger)
        if not self.heads:
            return
        first = max(self.heads[-1].n_entries, 1)
        while True:
            n_since = max(ledger.totals().sequence - first, 0)
            walk = ledger.walk(n_since + 1 + _SLACK)
            if walk.totals.sequence < first:
                break  # else others have spent in between
        for _ in self.compared(ledger, walk):
            pass

    def compared(self, ledger: Ledger, walk: Walk) -> Iterator[LedgerEntry]:
        """Yield the entries of a walk; WitnessError if they differ from a signed head.

        Heads before the beginning of the walk are not compared.
        """
        check_witnessable(ledger)
        if not self.heads:
            yield from walk
            return
        newest = self.heads[-1]
        if newest.ledger_id != ledger.header().ledger_id:
            raise WitnessError(
                f"The ledger {ledger.name!r} is another one than its witness {self.path!r} has "
                f"signed, {newest.ledger_id}: another ledger was put in its place, or the witness "
                "is that of another. Nothing was released."
            )
        signed = {head.n_entries: head for head in self.heads}
        if 0 in signed and signed[0].digest != ledger.genesis:
            raise self._fork(ledger, signed[0])
        for entry in walk:
            head = signed.get(entry.sequence)
            if head is not None and head.digest != entry.digest:
                raise self._fork(ledger, head)
            yield entry
        if (n_entries := walk.totals.sequence) < newest.n_entries:
            raise WitnessError(
                f"The ledger {ledger.name!r} was restored from a copy, or its end was cut off: it "
                f"has {entry_count(n_entries)}, and had {newest.n_entries} when its witness signed "
                f"them ({newest.time}). Both together could spend the budget twice. Use the ledger "
                "that has them; if it is lost, the budget is used up. Nothing was released."
            )

    def _fork(self, ledger: Ledger, head: SignedHead) -> WitnessError:
        return WitnessError(
            f"The ledger {ledger.name!r} is forked, or was written anew: its entry "
            f"{head.n_entries} has another digest than the one that its witness signed "
            f"({head.time}). A restored copy was spent from, or entries were altered. Use the "
            "ledger that has that entry. Nothing was released."
        )


def check_witnessable(ledger: Ledger) -> None:
    """Refuse a ledger whose digests depend on votes, and could confirm a guess of them."""
    if ledger.budget.is_sensitive:
        raise WitnessError(
            f"The ledger {ledger.name!r} has accounting='data_dependent': its digests cover costs "
            "that depend on the votes, and a published one could confirm a guess of them. It can't "
            "have a witness; accounting='worst_case' or 'sanitized' can."
        )
