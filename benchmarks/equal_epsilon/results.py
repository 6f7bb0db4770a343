"""Results of single runs, a line each, so that a benchmark may be resumed and extended."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Folder of what is kept between runs.
OUTPUT = Path(os.environ.get("SECRETBALLOT_OUTPUT", Path(__file__).resolve().parents[2] / "output"))
DEFAULT = OUTPUT / "equal_epsilon.jsonl"
METRICS = ("accuracy", "balanced_accuracy", "auc")


class Key(NamedTuple):
    """One run; no epsilon: a reference, which isn't private."""

    method: str
    set: str
    epsilon: float | None
    pool: int
    seed: int


def read(path: Path) -> Iterator[tuple[Key, dict[str, float]]]:
    """Yield the runs of a file that may not be there yet."""
    if not path.exists():
        return
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            run = json.loads(line)
            yield Key(*(run.pop(field) for field in Key._fields)), run


def append(path: Path, key: Key, measured: dict[str, float]) -> None:
    """Add a run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(key._asdict() | measured) + "\n")
