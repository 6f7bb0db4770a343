"""Contents of a mark: two slots with checksums, written in turns."""

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
    """Last entry of a ledger when it was last written."""

    ledger_id: str
    sequence: int
    digest: str


class Slots(NamedTuple):
    """Slots of a mark, as they were read. `mark` and `generation` are the newest intact slot's."""

    mark: Mark | None
    generation: int  # how often the mark was written
    target: int  # the slot that is written next: never the newest intact one
    n_broken: int
    is_mark: bool  # the file is empty or begins as a mark; no other file is written


def parse_slots(content: bytes) -> Slots:
    """Parse the contents of a mark, of which one byte more than all slots have is enough."""
    slots = [content[SLOT * place : SLOT * (place + 1)] for place in range(SLOTS)]
    marks: list[tuple[int, int, Mark]] = []
    n_broken = 0
    for place, slot in enumerate(slots):
        if parsed := _parse_slot(slot):
            marks.append((parsed[0], place, parsed[1]))
        elif slot.strip(b"\0"):
            n_broken += 1
    generation, newest, mark = max(marks, default=(0, SLOTS - 1, None), key=lambda slot: slot[:2])
    # A write that was cut off may leave a part of the first word.
    begins = MAGIC.startswith(content) or any(map(_begins_as_mark, slots))
    is_mark = len(content) <= SLOTS * SLOT and (begins or not content.strip(b"\0"))
    return Slots(mark, generation, (newest + 1) % SLOTS, n_broken, is_mark)


def slot_bytes(mark: Mark, generation: int) -> bytes:
    """Encode the contents of a slot."""
    text = f"secretballot mark {generation} {mark.ledger_id} {mark.sequence} {mark.digest}".encode()
    return (text + b" " + _checksum(text) + b"\n").ljust(SLOT)


def _begins_as_mark(slot: bytes) -> bool:
    """Check that most letters of the first word are there, as some may be damaged."""
    n_alike = sum(letter == expected for letter, expected in zip(slot, MAGIC, strict=False))
    return 3 * n_alike > 2 * len(MAGIC)


def _parse_slot(slot: bytes) -> tuple[int, Mark] | None:
    """Parse the generation and the mark of a slot; None if it is damaged."""
    line = _LINE.fullmatch(slot)
    if line is None or len(slot) != SLOT:
        return None
    if line["checksum"] != _checksum(slot[: line.end("digest")]):
        return None
    mark = Mark(line["ledger_id"].decode(), int(line["sequence"]), line["digest"].decode())
    return int(line["generation"]), mark


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()
