"""All kinds of fits and answers of which neighbours are compared, and a table of their changes."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.attacks import _paired_answers as answers
from tests.attacks import _paired_fits as fits
from tests.attacks import _paired_parts as parts
from tests.attacks._paired_runs import Kind, Pair, compare

KINDS: dict[str, Kind] = {
    **fits.LINEAR,
    **fits.ENSEMBLES,
    **fits.ROWS,
    **fits.MEMORY,
    **answers.ANSWERS,
    **answers.ROWS,
    **answers.CELLS,
    **parts.PARTS,
    **parts.ROWS,
    **parts.PRODUCTS,
    **answers.INTERRUPTED,
}
#: Kinds that leave traces, of which each shows that an exception is needed.
EXCUSED: dict[str, Kind] = {**fits.EXCUSED, **answers.EXCUSED}
#: Traces that an exception allows, by its name.
EXCEPTIONS = {
    fits.PRIVATE_STATE: r"PrivateTeacherEnsemble \d+: pickle ",
    fits.DATA_DEPENDENT: r"budget 0: |.*: (mechanism_|privacy_|pickle|accountant)",
    fits.SANITIZED: r"budget 0: table private_record ",
    fits.LEARNED: r"",
}


def pairs_of(kind: Kind, seeds: Sequence[int]) -> Iterator[Pair]:
    """Compare a run with those of neighbours."""
    with tempfile.TemporaryDirectory() as folder:
        yield from compare(kind, seeds, Path(folder))


def main(n_pairs: int = 5) -> int:
    """Print the greatest change over its charge of each kind; return 1 if one is above 1."""
    is_right = True
    for name, kind in {**KINDS, **EXCUSED}.items():
        pairs = list(pairs_of(kind, range(n_pairs)))
        by_mechanism: dict[str, float] = {}
        for mechanism, square in (item for pair in pairs for item in pair.squares.items()):
            is_right &= square <= kind.most**2 or kind.excused == fits.LEARNED
            by_mechanism[mechanism] = max(float(square) ** 0.5, by_mechanism.get(mechanism, 0.0))
        shown = ", ".join(f"{key} {value:.4f}" for key, value in by_mechanism.items())
        differences = [each for pair in pairs for each in pair.differences]
        is_right &= bool(differences) == bool(kind.excused)
        note = f"  ({kind.excused})" if kind.excused else ""
        print(f"{name:<44}{shown}{note}{'' if kind.excused else ''.join(differences[:1])}")
    return int(not is_right)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
