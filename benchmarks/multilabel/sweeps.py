"""Votes against noise, budget, number of labels and clipping: PMWV's sweeps, on other data.

    python benchmarks/multilabel/sweeps.py [SET ...] [--quick] [--only TABLE ...]

Counterparts of Figures 2 to 4 and 8 to 12 and of Tables 3, 11, 12 and 15. Their images (Pascal VOC,
CheXpert, MIMIC, PadChest) are not to be had: the sets are those of sets.py, so no figure of the
paper has its counterpart here, and none is quoted beside ours; only shapes can be compared. 50
teachers (see ballots.py), delta 1e-5; epsilon 20 as in the paper where it is not what varies.

sigma      rows and scores against noise (Figures 2, 4)
epsilon    rows against the budget, at the paper's sigma 7 (Table 3)
labels     the first k labels, each mechanism with the noise that leaves its votes about as good as
           Binary without noise (Figure 3, Tables 11 and 12; see sets.py for "about")
positives  Powerset where ballots name no more than so many labels (Table 15)
tau        scores against clipping without noise, and what it saves (Figures 11, 12)
gaps       how far the winner is ahead, without noise (Figures 8 to 10)

Lines with "T, s" are of votes behind a threshold T with noise s on what is compared: per label the
paper's 50, 30 (its F.6), and for sets, whose counts are small, 25, 15. `share` is that of labels
answered; rows are those that fit when rows are asked in turn as often as the budget lasts, times
the share ("many" from 100,000 on). Scores are of labels answered in three draws, by the votes
themselves (an AUC is the balanced accuracy then); `found` is the share of all present labels that
are answered present.

known      the cost depends on these votes: published is Papernot's bound, composed over labels, and
           Mironov's conversion; ours the exact cost (of clipped ballots, on the first rows)
worst      the same whatever the votes are

Where a threshold decides what is paid, ours is at the order that turns out best; a ledger has to
fix one beforehand. Tau is the least that costs no more than .01 of ACC and BAC without noise. A
set takes one to four minutes.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from accountings import MOST_ROWS, PUBLISHED, answered, row_costs, worst_case_rows
from ballots import N_TEACHERS, SETS, Ballots, load_ballots
from numpy.typing import NDArray
from sets import DELTA, DROP, EPSILONS, KINDS, SIGMAS, Vote, as_good, candidates, taus_of

from secretballot.accounting import RenyiCost
from secretballot.inspection import LabelScores, label_scores

DRAWS, EPSILON, SIGMA = 3, 20.0, 7.0
#: Rows of sets with so many labels in all are charged, where ballots are clipped and votes known.
CLIPPED_LABELS, FEWEST_ROWS = 1_500, 8
THRESHOLDS = {kind: (25.0, 15.0) if kind == "Powerset" else (50.0, 30.0) for kind in KINDS}
COLUMNS = ("known", "published"), ("known", "ours"), ("worst", "published"), ("worst", "ours")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

Threshold = tuple[float, float] | None


class Asked:
    """A mechanism with its noise and perhaps a threshold, and what it answered on a set."""

    def __init__(self, vote: Vote, sigma: float, threshold: Threshold = None, **more: Any) -> None:
        self.vote, self.sigma, self.threshold = vote, sigma, threshold
        if threshold is not None:
            more |= {"threshold": threshold[0], "sigma_threshold": threshold[1]}
        self.more = more

    @property
    def name(self) -> str:
        behind = "" if self.threshold is None else "  {:g}, {:g}".format(*self.threshold)
        return f"{self.vote.name}, {self.sigma:g}{behind}"

    @cached_property
    def outcomes(self) -> NDArray[np.int64]:
        """Draws of all rows, shape (DRAWS, n_rows, n_labels)."""
        mechanism = self.vote.mechanism(self.sigma, **self.more)
        rng = np.random.default_rng(1)
        return np.stack([mechanism.sample(self.vote.counts, rng) for _ in range(DRAWS)])

    @property
    def share(self) -> float:
        """The share of labels that were answered."""
        return float((self.outcomes >= 0).mean())

    @cached_property
    def costs(self) -> dict[tuple[str, str], RenyiCost]:
        """What rows cost, of which there may be one for all."""
        return {column: self._costs(*column) for column in COLUMNS}

    def _costs(self, mode: str, side: str) -> RenyiCost:
        bound = "papernot" if side == "published" else "exact"
        mechanism = self.vote.mechanism(self.sigma, bound, **self.more)
        counts, n_rows = self.vote.counts, len(self.vote.counts)
        if mode == "known" and "tau" in self.vote.kind:
            n_rows = max(CLIPPED_LABELS // self.vote.n_labels, FEWEST_ROWS)
        elif mode == "worst" and not self.more:
            n_rows = 1
        return row_costs(mechanism, counts[:n_rows], self.outcomes[0][:n_rows], mode == "known")

    def rows(self, epsilon: float, column: tuple[str, str]) -> float:
        """How many rows' worth of labels a budget answers."""
        conversion = PUBLISHED if column[1] == "published" else None
        return self.share * answered(self.costs[column], epsilon, DELTA, conversion)

    @cached_property
    def scores(self) -> LabelScores:
        truth = np.tile(self.vote.data.truth, (DRAWS, 1))
        votes = self.outcomes.reshape(truth.shape)
        return label_scores(truth, votes, votes)

    @property
    def found(self) -> float:
        """The share of all labels that are present that are answered so."""
        return float((self.outcomes == 1)[:, self.vote.data.truth == 1].mean())

    def line(self, epsilon: float) -> str:
        s = self.scores
        rows = "".join(f"{shown(self.rows(epsilon, column)):>11s}" for column in COLUMNS)
        values = (s.accuracy, s.balanced_accuracy, s.auc, s.average_precision, self.found)
        scores = "".join(f"{value:7.3f}" for value in values)
        return f"  {self.name:28s}{self.share:7.2f}{rows}  {scores}"


def shown(rows: float) -> str:
    return "many" if rows >= MOST_ROWS else f"{rows:,.0f}"


def print_columns(first: str) -> None:
    sides = "".join(f"{side:>11s}" for _, side in COLUMNS)
    scores = "".join(f"{name:>7s}" for name in ("ACC", "BAC", "AUC", "MAP", "found"))
    print(f"  {'':35s}{'rows: known':>22s}{'worst':>22s}")
    print(f"  {first:28s}{'share':>7s}{sides}  {scores}")


def first_labels(data: Ballots, k: int) -> Ballots:
    return Ballots(data.ballots[:, :, :k], data.truth[:, :k])


def votes_of(data: Ballots) -> Iterator[Vote]:
    """Every mechanism without its noise; ballots are clipped as much as they can bear."""
    unclipped = Vote(data, "Binary").quality(0.0)
    for kind in KINDS:
        *others, last = [Vote(data, kind, tau) for tau in taus_of(kind, data.truth.shape[1])]
        yield next((vote for vote in others if as_good(vote.quality(0.0), unclipped)), last)


def sigma_table(data: Ballots, quick: bool) -> None:
    print(f"\n  Figures 2 and 4: against sigma, epsilon {EPSILON:g}")
    print_columns("mechanism, sigma  T, s")
    for vote in votes_of(data):
        for sigma in (4.0, 12.0) if quick else (2.0, 4.0, 7.0, 12.0, 20.0):
            for threshold in (None, THRESHOLDS[vote.kind]):
                print(Asked(vote, sigma, threshold).line(EPSILON), flush=True)


def epsilon_table(data: Ballots) -> None:
    print(f"\n  Table 3: against epsilon, sigma {SIGMA:g}; known and worst, published and ours")
    header = "".join(f"{f'epsilon {epsilon:g}':>31s}" for epsilon in EPSILONS)
    print(f"  {'mechanism, sigma  T, s':28s}{header}")
    for vote in votes_of(data):
        for threshold in (None, THRESHOLDS[vote.kind]):
            asked = Asked(vote, SIGMA, threshold)
            cells = "".join(
                "   " + "".join(f"{shown(asked.rows(epsilon, each)):>7s}" for each in COLUMNS)
                for epsilon in EPSILONS
            )
            print(f"  {asked.name:28s}{cells}", flush=True)


def labels_table(data: Ballots, quick: bool) -> None:
    print(f"\n  Figure 3, Tables 11 and 12: the first k labels, epsilon {EPSILON:g}")
    print_columns("k, mechanism, sigma  T, s")
    most = data.truth.shape[1]
    several = (1, 5, 20) if quick else (1, 2, 5, 11, 20, 40)
    for k in sorted({*(k for k in several if k <= most), min(most, 53)}):
        part = first_labels(data, k)
        for kind in (kind for kind in KINDS if taus_of(kind, k)):
            good = candidates(part, kind, SIGMAS[::3] if quick else SIGMAS, DROP)
            best = max(
                good,
                key=lambda each: worst_case_rows(
                    each.vote.mechanism(each.sigma), each.vote.n_labels, EPSILON, DELTA
                ),
                default=None,
            )
            if best is None:
                print(f"  {k:3d} {kind}: no noise leaves votes as good")
                continue
            for threshold in (None, THRESHOLDS[kind]):
                line = Asked(best.vote, best.sigma, threshold).line(EPSILON)
                print(f"  {k:3d} {line[2:26]}{line[30:]}", flush=True)


def positives_table(name: str, n_rows: int) -> None:
    if name == "celeba":
        return  # simulated ballots have no likeliest labels
    print(f"\n  Table 15: Powerset, at most so many labels a ballot, epsilon {EPSILON:g}, sigma 5")
    print_columns("positives, mechanism, sigma")
    for most in (1, 2, 3, 4, None):
        data = load_ballots(name, n_rows, most)
        assert data is not None, "it was there"
        more = {} if most is None else {"max_positives": most}
        for threshold in (None, THRESHOLDS["Powerset"]):
            line = Asked(Vote(data, "Powerset"), 5.0, threshold, **more).line(EPSILON)
            print(f"  {most or 'all'!s:4s}{line[2:26]}{line[30:]}", flush=True)


def tau_table(data: Ballots) -> None:
    k = data.truth.shape[1]
    binary = Vote(data, "Binary")
    plain = worst_case_rows(binary.mechanism(SIGMA), k, EPSILON, DELTA)
    size = data.ballots.sum(axis=2)
    print("\n  Figures 11 and 12: against tau, without noise; and rows (worst case, ours) with it")
    print(f"  {'':14s}{'clipped':>9s}{'ACC':>8s}{'BAC':>8s}{'MAP':>8s}{'rows, times Binary':>22s}")
    for kind in KINDS[1:3]:
        for vote in (Vote(data, kind, tau) for tau in taus_of(kind, k)):
            most = vote.tau if "l1" in kind else vote.tau**2
            present = (2 * vote.counts > N_TEACHERS).astype(int)
            scores = label_scores(data.truth, present, present)
            rows = worst_case_rows(vote.mechanism(SIGMA), k, EPSILON, DELTA)
            print(
                f"  {vote.name:14s}{(size > most).mean():9.2f}{scores.accuracy:8.3f}"
                f"{scores.balanced_accuracy:8.3f}{scores.average_precision:8.3f}"
                f"{rows / plain if plain else np.nan:22.2f}"
            )
    acc, bac = binary.quality(0.0)
    print(f"  {'Binary':14s}{0:9.2f}{acc:8.3f}{bac:8.3f}")


def gaps_of(vote: Vote) -> NDArray[Any]:
    """How far winners are ahead of the runner-up: of every label, or of every row."""
    if vote.kind == "Powerset":
        votes = np.sort(vote.counts["count"], axis=1)[:, ::-1]
        return votes[:, 0] - (votes[:, 1] if votes.shape[1] > 1 else 0)
    return np.abs(2 * vote.counts - N_TEACHERS).reshape(-1)


def gaps_table(data: Ballots) -> None:
    most = data.truth.shape[1]
    several = [k for k in (1, 2, 5, 11, 20) if k < most]
    print(
        f"\n  Figures 8 to 10: gaps of {N_TEACHERS} votes, all labels; mean by the first k labels"
    )
    quantiles = "".join(f"{f'{q:.0%}':>6s}" for q in QUANTILES)
    means = "".join(f"{f'k {k}':>6s}" for k in several)
    print(f"  {'':14s}{'mean':>6s}{quantiles}{'over 40':>9s}   {means}")
    for vote in votes_of(data):
        ahead = gaps_of(vote)
        cells = "".join(f"{value:6.0f}" for value in np.quantile(ahead, QUANTILES))
        less = (Vote(first_labels(data, k), vote.kind, vote.tau) for k in several)
        means = "".join(f"{gaps_of(each).mean():6.1f}" for each in less)
        print(f"  {vote.name:14s}{ahead.mean():6.1f}{cells}{(ahead > 40).mean():9.2f}   {means}")


TABLES = ("sigma", "epsilon", "labels", "positives", "tau", "gaps")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    parser.add_argument("--quick", action="store_true", help="two sets, 100 rows, fewer lines")
    parser.add_argument("--only", nargs="+", choices=TABLES, default=TABLES, metavar="TABLE")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # of a tau that clips nothing: the sweep's end
    quick = arguments.quick
    n_rows = 100 if quick else 500
    for name in arguments.sets or SETS[: 2 if quick else None]:
        data = load_ballots(name, n_rows)
        if data is None:
            print(f"{name} is left out: it is not in the folder of data")
            continue
        print(f"\n{name}: {data.truth.shape[1]} labels, {len(data.truth)} public rows")
        tables = {
            "sigma": lambda data=data: sigma_table(data, quick),
            "epsilon": lambda data=data: epsilon_table(data),
            "labels": lambda data=data: labels_table(data, quick),
            "positives": lambda name=name: positives_table(name, n_rows),
            "tau": lambda data=data: tau_table(data),
            "gaps": lambda data=data: gaps_table(data),
        }
        for table in arguments.only:
            tables[table]()


if __name__ == "__main__":
    main()
