"""The contents of a mark: two slots with checksums, of which one at a time is written."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

#: The bytes that every mark begins with.
MAGIC = b"secretballot "
#: Bytes of a slot: a sector, which disks write whole.
SLOT = 512
SLOTS = 2

_LINE = re.compile(
    rb"secretballot mark (?P<generation>\d{1,18}) (?P<ledger_id>[0-9a-f]{32}) "
    rb"(?P<sequence>\d{1,18}) (?P<digest>[0-9a-f]{64}) (?P<checksum>[0-9a-f]{64})\n *"
)


class Mark(NamedTuple):
    """The entry that a ledger had last when it was last written to."""

    ledger_id: str
    sequence: int
    digest: str


class Slots(NamedTuple):
    """The slots of a mark, as they were read.

    Attributes
    ----------
    mark : Mark or None
        The newest whole one.
    generation : int
        Number of times that the mark was written, as the newest whole slot says.
    target : int
        Place of the slot that is written next: never the newest whole one.
    n_broken : int
        Slots that hold something else than they were written with.
    is_mark : bool
        Whether the file is empty or begins as a mark: only then it is written.
    """

    mark: Mark | None
    generation: int
    target: int
    n_broken: int
    is_mark: bool


def parse_slots(content: bytes) -> Slots:
    """Read the slots of a mark: at most one byte more than all of them have."""
    marks: list[tuple[int, int, Mark]] = []
    n_broken = 0
    for place in range(SLOTS):
        slot = content[SLOT * place : SLOT * (place + 1)]
        if not slot.strip(b"\0"):
            continue
        whole = _whole(slot)
        if whole is None:
            n_broken += 1
        else:
            marks.append((whole[0], place, whole[1]))
    generation, newest, mark = max(marks, default=(0, SLOTS - 1, None), key=lambda each: each[:2])
    # Where a write was cut off at the first letters there is less than the word.
    begins = MAGIC.startswith(content) or any(
        _begins_as_mark(content[SLOT * place :]) for place in range(SLOTS)
    )
    is_mark = len(content) <= SLOTS * SLOT and (begins or not content.strip(b"\0"))
    return Slots(mark, generation, (newest + 1) % SLOTS, n_broken, is_mark)


def slot_bytes(mark: Mark, generation: int) -> bytes:
    """Return the contents of a slot."""
    text = f"secretballot mark {generation} {mark.ledger_id} {mark.sequence} {mark.digest}".encode()
    return (text + b" " + _checksum(text) + b"\n").ljust(SLOT)


def _begins_as_mark(slot: bytes) -> bool:
    """Check that most letters of the first word are there: some of them may be damaged."""
    n_alike = sum(one == other for one, other in zip(slot, MAGIC, strict=False))
    return 3 * n_alike > 2 * len(MAGIC)


def _whole(slot: bytes) -> tuple[int, Mark] | None:
    """Return generation and mark of a slot; None if it is broken."""
    line = _LINE.fullmatch(slot)
    if line is None or len(slot) != SLOT:
        return None
    if line["checksum"] != _checksum(slot[: line.end("digest")]):
        return None
    mark = Mark(line["ledger_id"].decode(), int(line["sequence"]), line["digest"].decode())
    return int(line["generation"]), mark


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()
