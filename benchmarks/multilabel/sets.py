"""Rows that a budget answers on real sets of labels, by published accounting and by ours.

    python benchmarks/multilabel/sets.py [SET ...] [--quick]

Sets: scene, emotions, enron, corel5k, bibtex, and ballots simulated on CelebA's attributes; 50
teachers (see ballots.py), up to 500 public rows, asked in turn as often as the budget lasts (known
clipped ballots: the first of them, some 4,000 labels); delta 1e-5. No thresholds.

Each side picks its own noise, ours the mechanism (and tau) too: what answers the most rows. ACC and
BAC of all votes are at most .03 below those of Binary without noise ("a maximum performance drop by
a few percentage points", PMWV 6.2), and of ours at most .01 below those that published picked. (BAC
alone would let pure noise pass where labels are rare.) They are expected values; for Powerset,
means of 10 draws.

known       the cost depends on these votes: published is Papernot's bound per label, composed, with
            Mironov's conversion on orders 2 to 50; ours the exact cost
worst case  whatever the votes are: published is a/sigma^2 per label; ours the exact cost, or the
            game too where that is played in seconds

`published` in a mechanism's line is its own published bound at the same noise; ratios are to the
best of published Binary. "Same votes" is Binary by our accounting at the noise that published
picked. AUC and MAP score votes by the votes themselves, as published tables do.

All sets take some twenty minutes on one core, most of it known clipped ballots on many labels.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from accountings import (
    PUBLISHED,
    Multilabel,
    answered,
    game_rows,
    label_costs,
    worst_case_rows,
)
from ballots import N_TEACHERS, SETS, Ballots, load_ballots
from numpy.typing import NDArray
from scipy.special import ndtr

from secretballot.accounting import EVERYONE, RenyiCost
from secretballot.inspection import label_scores
from secretballot.mechanisms import (
    BinaryVoting,
    PowersetVoting,
    TauVoting,
    clip_ballots,
    count_ballots,
)

sys.path.append(str(Path(__file__).resolve().parents[1] / "accounting"))
from papernot import published

DELTA, EPSILONS = 1e-5, (2.0, 8.0, 20.0)
MODES = ("known", "worst case")
#: How far ACC and BAC may be below those without noise, and below those of published's pick.
DROP, WITHIN = 0.03, 0.01
SIGMAS = (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 25, 30, 40)
TAUS = {"l2": (1.0, 1.4, 2.0, 3.0, 4.0, 6.0, 8.0), "l1": (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)}
KINDS = ("Binary", "tau l2", "tau l1", "Powerset")
#: Labels of a plan whose game is played, by mechanism; rows of sets of labels.
MOST_PLAYED = {"Binary": 4_000, "tau l2": 600, "tau l1": 600, "Powerset": 400}
#: With more labels than these, a game of clipped ballots takes a minute however few rows fit.
MOST_CLIPPED = 60
#: Known ballots that are clipped are charged on the first rows, about so many labels.
CLIPPED_LABELS, FEWEST_ROWS = 4_000, 20


class Pick(NamedTuple):
    """A mechanism, its ACC and BAC, and how many rows both accountings answer."""

    mechanism: Multilabel
    quality: tuple[float, float]
    published: int
    ours: int


class Candidate(NamedTuple):
    """A mechanism with its noise, and the ACC and BAC that it has."""

    vote: Vote
    sigma: float
    quality: tuple[float, float]


class Vote:
    """One mechanism without its noise, on the ballots of one set."""

    def __init__(self, data: Ballots, kind: str, tau: float = 0.0) -> None:
        self.data, self.kind = data, kind
        self.n_labels = data.truth.shape[1]
        self.norm, self.tau = kind.removeprefix("tau "), tau

    @property
    def name(self) -> str:
        return f"{self.kind} {self.tau:g}" if self.tau else self.kind

    @cached_property
    def counts(self) -> NDArray[Any]:
        if self.kind == "Binary":
            return self.data.ballots.sum(axis=1, dtype=np.int64)
        if self.kind == "Powerset":
            return count_ballots(self.data.ballots)
        return np.array(
            [clip_ballots(row, self.tau, self.norm).sum(0) for row in self.data.ballots]
        )

    def mechanism(self, sigma: float) -> Multilabel:
        if self.kind == "Powerset":
            return PowersetVoting(sigma=sigma, n_labels=self.n_labels)
        plain = {"sigma": sigma, "n_votes": N_TEACHERS}
        if self.kind == "Binary":
            return BinaryVoting(**plain)
        return TauVoting(**plain, tau=self.tau, norm=self.norm)

    def present(self, sigma: float) -> NDArray[Any]:
        """How likely labels are called present; for Powerset, in how many of 10 draws."""
        if self.kind == "Powerset":
            rng = np.random.default_rng(0)
            votes = [self.mechanism(sigma).sample(self.counts, rng) for _ in range(10)]
            return np.mean(votes, axis=0)
        gap = 2.0 * self.counts - N_TEACHERS
        return ndtr(gap / (np.sqrt(2) * sigma)) if sigma else gap > 0

    def quality(self, sigma: float) -> tuple[float, float]:
        """Expected ACC and BAC, means over labels."""
        return mean_scores(self.data.truth, self.present(sigma))

    def known(self, mechanism: Any) -> RenyiCost:
        """What known rows cost; of clipped ballots on many labels, the first rows."""
        if self.kind == "Binary":
            return label_costs(mechanism, self.counts)
        rows = len(self.counts)
        if self.kind != "Powerset":
            rows = max(CLIPPED_LABELS // self.n_labels, FEWEST_ROWS)
        return mechanism.max_cost(counts=self.counts[:rows])[EVERYONE]


def mean_scores(truth: NDArray[Any], present: NDArray[Any]) -> tuple[float, float]:
    """ACC and BAC of labels that are called present with these probabilities."""
    n_present = truth.sum(axis=0)
    both = (n_present > 0) & (n_present < len(truth))
    right = np.where(truth, present, 1 - present)

    def share(of: NDArray[Any]) -> NDArray[Any]:
        return (right * of).sum(axis=0)[both] / of.sum(axis=0)[both]

    recalls = share(truth) + share(1 - truth)
    return float(right.mean()), float(recalls.mean() / 2)


def as_good(mine: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether neither ACC nor BAC is more than `WITHIN` below another's."""
    return all(each >= theirs - WITHIN for each, theirs in zip(mine, other, strict=True))


def taus_of(kind: str, n_labels: int) -> tuple[float, ...]:
    """Norms to which ballots can be clipped; 0 where they are not."""
    most = n_labels**0.5 if "l2" in kind else n_labels
    return tuple(tau for tau in TAUS.get(kind.removeprefix("tau "), (0.0,)) if tau < most)


def candidates(
    data: Ballots, kind: str, sigmas: tuple[float, ...], drop: float
) -> Iterator[Candidate]:
    """Mechanisms of a kind whose votes are about as good as without noise."""
    acc, bac = Vote(data, "Binary").quality(0.0)
    for vote in (Vote(data, kind, tau) for tau in taus_of(kind, data.truth.shape[1])):
        for sigma in sigmas:
            quality = vote.quality(sigma)
            if quality[0] >= acc - drop and quality[1] >= bac - drop:
                yield Candidate(vote, sigma, quality)


def rows_answered(candidate: Candidate, mode: str) -> dict[float, Pick]:
    """How many rows each epsilon answers."""
    vote, sigma, quality = candidate
    ours = vote.mechanism(sigma)
    theirs = published(ours)
    if mode == "known":
        exact, papernot = vote.known(ours), vote.known(theirs)
        return {
            epsilon: Pick(
                ours,
                quality,
                answered(papernot, epsilon, DELTA, PUBLISHED),
                answered(exact, epsilon, DELTA),
            )
            for epsilon in EPSILONS
        }
    return {
        epsilon: Pick(
            ours,
            quality,
            worst_case_rows(theirs, vote.n_labels, epsilon, DELTA, published=True),
            worst_case_rows(ours, vote.n_labels, epsilon, DELTA),
        )
        for epsilon in EPSILONS
    }


def best(picks: Iterable[Pick], side: str) -> Pick | None:
    """Return what answers most; of several the one with the most noise."""

    def order(pick: Pick) -> tuple[int, float]:
        return getattr(pick, side), pick.mechanism.sigma

    return max(picks, key=order, default=None)


def played(pick: Pick, kind: str, data: Ballots, epsilon: float) -> int:
    """How many rows the game answers at worst, where that is not too long to play."""
    k = data.truth.shape[1]
    labels = (pick.ours + 1) * (1 if kind == "Powerset" else k)
    if labels > MOST_PLAYED[kind] or (kind.startswith("tau") and k > MOST_CLIPPED):
        return 0
    return game_rows(pick.mechanism, k, epsilon, DELTA)


def scored(data: Ballots, kind: str, mechanism: Multilabel) -> str:
    """ACC, BAC, AUC and MAP of three draws, as text."""
    counts = Vote(data, kind, getattr(mechanism, "tau", 0.0)).counts
    rng = np.random.default_rng(1)
    votes = np.concatenate([mechanism.sample(counts, rng) for _ in range(3)])
    found = label_scores(np.tile(data.truth, (3, 1)), votes, votes)
    means = (found.accuracy, found.balanced_accuracy, found.auc, found.average_precision)
    return " ".join(f"{value:6.3f}" for value in means)


def print_mode(
    data: Ballots, mode: str, good: dict[str, list[Candidate]]
) -> dict[float, tuple[int, int]]:
    """Print a table; return the rows of the best of published Binary, and of ours."""
    rows = {kind: [rows_answered(each, mode) for each in found] for kind, found in good.items()}
    print(f"\n  {mode}")
    print(
        f"  {'epsilon':>7s} {'mechanism, sigma':24s}{'published':>10s}{'ours':>8s}{'ratio':>7s}"
        f"   {'ACC':>6s} {'BAC':>6s} {'AUC':>6s} {'MAP':>6s}"
    )
    found: dict[float, tuple[int, int]] = {}
    for epsilon in EPSILONS:
        theirs = best((each[epsilon] for each in rows["Binary"]), "published")
        assert theirs is not None, "some noise is little enough"
        chosen: list[tuple[str, str, Pick | None]] = [("Binary", "same votes", theirs)]
        for kind in KINDS:
            of_kind = (each[epsilon] for each in rows[kind])
            alike = (each for each in of_kind if as_good(each.quality, theirs.quality))
            chosen.append((kind, kind, best(alike, "ours")))
        most = 0
        for kind, name, pick in chosen:
            if pick is None:
                print(f"  {epsilon:7g} {name:24s}{'votes are not as good':>25s}")
                continue
            ours = pick.ours
            if mode == "worst case":
                ours = max(ours, played(pick, kind, data, epsilon))
            most = max(most, ours)
            tau = f" tau {pick.mechanism.tau:g}" if "tau" in kind else ""
            ratio = f"{ours / theirs.published:7.2f}" if theirs.published else f"{'-':>7s}"
            print(
                f"  {epsilon:7g} {f'{name}{tau}, {pick.mechanism.sigma:g}':24s}"
                f"{pick.published:10,}{ours:8,}{ratio}   {scored(data, kind, pick.mechanism)}",
                flush=True,
            )
        found[epsilon] = theirs.published, most
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    parser.add_argument("--drop", type=float, default=DROP, help="of ACC and BAC that noise costs")
    parser.add_argument(
        "--quick", action="store_true", help="two sets, 100 rows, every third sigma"
    )
    arguments = parser.parse_args()
    sigmas = SIGMAS[::3] if arguments.quick else SIGMAS
    summary = []
    for name in arguments.sets or SETS[: 2 if arguments.quick else None]:
        data = load_ballots(name, *((100,) if arguments.quick else ()))
        if data is None:
            print(f"left out: {name} is not in the folder of data")
            continue
        acc, bac = Vote(data, "Binary").quality(0.0)
        print(
            f"\n{name}: {data.truth.shape[1]} labels, {len(data.truth)} public rows, "
            f"{N_TEACHERS} teachers; without noise ACC {acc:.3f}, BAC {bac:.3f}"
        )
        good = {kind: list(candidates(data, kind, sigmas, arguments.drop)) for kind in KINDS}
        print(
            "  most noise that is little enough: "
            + ", ".join(
                f"{kind} {max((each.sigma for each in found), default=0):g}"
                for kind, found in good.items()
            )
        )
        for mode in MODES:
            found = print_mode(data, mode, good)
            shown = "".join(f"{f'{theirs:,} -> {ours:,}':>22s}" for theirs, ours in found.values())
            summary.append(f"{name:10s}{mode:12s}{shown}")
    print("\nPublished Binary -> ours")
    print(f"{'':22s}" + "".join(f"{f'epsilon {epsilon:g}':>22s}" for epsilon in EPSILONS))
    print("\n".join(summary))


if __name__ == "__main__":
    main()
