"""Where clipped ballots, or votes on whole sets, answer more rows than a vote on each label.

    python benchmarks/multilabel/advice_map.py [--quick] [--save FILE.png]

Simulated ballots of 50 teachers on 200 rows: each label is present in a tenth of the rows, and each
teacher is right about each label with the same probability, its consensus. Labels go together, and
so do a teacher's errors on the labels of a row: both are cuts of Gaussians with the same
correlation (at 1 a row has all labels or none, and a teacher gets all right or all wrong).

All three are charged alike and soundly: the most that what is released can reveal whatever the
votes are, at the best Renyi order, epsilon 8 and delta 1e-5. Each picks its own noise, and tau its
norm, such that ACC and BAC are at most .03 below Binary's without noise, and at most .01 below
those that Binary picked. Shown is how many times the rows of Binary are answered: by tau (t) or
Powerset (P), whichever is more, or "-" where neither answers 5 % more than Binary.

The paper's advice (PMWV 5.6) is tau wherever a tau below sqrt(k) is reasonable, else Binary, and
Powerset where labels are much correlated. The last line says how often each is ahead.
"""

from __future__ import annotations

import argparse
import warnings
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from accountings import Multilabel
from ballots import N_TEACHERS, Ballots
from scipy.special import ndtri
from sets import DROP, KINDS, SIGMAS, Candidate, as_good, candidates

from secretballot.divergences import EVERYONE, ORDERS, renyi_budget
from secretballot.mechanisms import PowersetVoting

EPSILON, DELTA = 8.0, 1e-5
SHARE, N_ROWS = 0.1, 200
N_LABELS, CONSENSUS = (5, 10, 20, 40), (0.7, 0.8, 0.9, 0.95, 0.99)
CORRELATION = (0.0, 0.5, 0.9, 1.0)
#: Less is no gain.
GAIN = 1.05


class Cell(NamedTuple):
    """Rows answered, per mechanism; 0 where no noise leaves votes as good."""

    binary: float
    tau: float
    powerset: float

    @property
    def shown(self) -> str:
        if self.binary == 0:
            return "no votes"
        name, rows = max(("t", self.tau), ("P", self.powerset), key=lambda each: each[1])
        ratio = rows / self.binary
        return f"{name} {ratio:.2f}" if ratio >= GAIN else "-"


def correlated(consensus: float, correlation: float, n_labels: int, seed: int = 0) -> Ballots:
    """Return ballots on labels that go together, of teachers whose errors go together."""
    rng = np.random.default_rng(seed)

    def cut(shape: tuple[int, ...], share: float) -> np.ndarray:
        common = rng.normal(size=(*shape[:-1], 1))
        own = rng.normal(size=shape)
        return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own < ndtri(share)

    truth = cut((N_ROWS, n_labels), SHARE)
    wrong = cut((N_ROWS, N_TEACHERS, n_labels), 1 - consensus)
    return Ballots((truth[:, None] ^ wrong).astype(np.uint8), truth.astype(np.uint8))


@lru_cache(maxsize=4096)
def rows_of(mechanism: Multilabel, n_labels: int) -> float:
    """How many rows the worst case allows, and parts of a row."""
    n_columns = None if isinstance(mechanism, PowersetVoting) else n_labels
    curve = mechanism.max_cost(n_columns)[EVERYONE].curve[:-1]
    return float((renyi_budget(EPSILON, DELTA, ORDERS[:-1]) / curve).max())


def measured(consensus: float, correlation: float, n_labels: int) -> Cell:
    """Return what each mechanism answers on such ballots."""
    data = correlated(consensus, correlation, n_labels)

    def rows(candidate: Candidate) -> float:
        return rows_of(candidate.vote.mechanism(candidate.sigma), n_labels)

    binary = max(candidates(data, "Binary", SIGMAS, DROP), key=rows, default=None)
    if binary is None:
        return Cell(0.0, 0.0, 0.0)
    most = {
        kind: max(
            (
                rows(each)
                for each in candidates(data, kind, SIGMAS, DROP)
                if as_good(each.quality, binary.quality)
            ),
            default=0.0,
        )
        for kind in KINDS[1:]
    }
    return Cell(rows(binary), max(most["tau l2"], most["tau l1"]), most["Powerset"])


def draw(cells: dict[tuple[int, float, float], Cell], path: Path) -> None:
    """Save a picture: a panel for each number of labels, coloured by what answers the most."""
    from matplotlib.figure import Figure

    n_labels, consensus, correlation = (sorted(set(axis)) for axis in zip(*cells, strict=True))
    colours = {"-": "#d9d9d9", "t": "#9ecae1", "P": "#fdae6b", "n": "#ffffff"}
    figure = Figure(figsize=(2.1 * len(n_labels) + 0.6, 2.6), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(n_labels), sharey=True))
    for ax, k in zip(panels, n_labels, strict=True):
        for y, right in enumerate(consensus):
            for x, together in enumerate(correlation):
                shown = cells[k, right, together].shown
                ax.add_patch(_square(x, y, colours[shown[0]]))
                text = "" if shown[0] in "-n" else shown[2:]
                ax.text(x, y, text, ha="center", va="center", fontsize=7)
        ax.set(xlim=(-0.5, len(correlation) - 0.5), ylim=(-0.5, len(consensus) - 0.5))
        ax.set_xticks(range(len(correlation)), [f"{each:g}" for each in correlation])
        ax.set_yticks(range(len(consensus)), [f"{each:g}" for each in consensus])
        ax.set_title(f"{k} labels", fontsize=9)
        ax.tick_params(labelsize=7)
    figure.axes[0].set_ylabel("a teacher is right", fontsize=8)
    figure.supxlabel("correlation of labels and of errors", fontsize=8)
    names = {"-": "Binary", "t": "tau", "P": "Powerset"}
    figure.legend(
        handles=[_square(0, 0, colours[key], label=name) for key, name in names.items()],
        loc="outside upper center",
        ncols=3,
        fontsize=8,
        title="answers the most rows, and how many times Binary's",
        title_fontsize=8,
    )
    figure.savefig(path, dpi=110)


def _square(x: float, y: float, colour: str, **options: str) -> object:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white", **options)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="5 and 20 labels, fewer cells")
    parser.add_argument("--save", metavar="FILE.png", type=Path, help="a picture, with matplotlib")
    arguments = parser.parse_args()
    quick = 2 if arguments.quick else 1
    cells: dict[tuple[int, float, float], Cell] = {}
    for k in N_LABELS[::quick]:
        print(f"\n{k} labels; right   " + "".join(f"{f'corr. {c:g}':>12s}" for c in CORRELATION))
        for consensus in CONSENSUS[::quick]:
            for correlation in CORRELATION:
                cells[k, consensus, correlation] = measured(consensus, correlation, k)
            shown = [cells[k, consensus, correlation].shown for correlation in CORRELATION]
            print(f"{consensus:17g}   " + "".join(f"{each:>12s}" for each in shown), flush=True)
    first = [cell.shown[0] for cell in cells.values()]
    ahead = sum(cell.tau >= GAIN * cell.binary > 0 for cell in cells.values())
    print(
        f"\nOf {len(cells)} cells Powerset answers the most in {first.count('P')}, tau in "
        f"{first.count('t')}, Binary in {first.count('-')}; tau is ahead of Binary in {ahead}."
    )
    if arguments.save:
        draw(cells, arguments.save)


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
