"""Votes that are not all paid for: thresholds, and hierarchies of labels.

    python benchmarks/multilabel/asking_less.py [SET ...] [--quick] [--only PART ...]

Thresholds: does one per label (Powerset: per row) buy labels, or better ones, at the same epsilon
and under the same sound charge? All is charged at worst, whatever the votes are, with Renyi
divergences at the order that turns out best (delta 1e-5). Votes with and without a threshold each
pick their noise: what answers the most labels such that expected ACC and BAC *of answered labels*
are at most .03 below those of Binary without noise (tau is the one of sweeps.py).

rows      asked; and the labels answered of these, as so many full rows
present   present labels that are answered so, of so many rows: labels that pass are easy ones, and
          where labels are rare easy ones are absent
BAC at    the best BAC of what answers at least as many labels as the line without a threshold

Students (scene and emotions): the same budget, with as much noise as lets all public rows be asked,
and balanced accuracy on rows that were not (see students.py), with and without thresholds. These
are in shares of the votes, and their noise in that of the votes.

Hierarchies: PMWV's Table 10 on other data (ballots simulated on CelebA's attributes). Beards and
the like are absent where 'Male' is. Rows that a budget answers and their scores, with all labels
asked, with dependants asked where the parent is present, and with all asked and as much noise as
answers as many rows. Charges are of labels that were asked, so only budgets in Renyi divergences
gain. The paper has 35, 127 and 127 rows on CheXpert (epsilon 8, data dependent): other data.

A set takes half a minute to two, bibtex and corel5k up to three; with known votes see sweeps.py.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from accountings import answered, row_costs
from ballots import N_TEACHERS, SETS, Ballots, load_ballots
from sets import DELTA, DROP, EPSILONS, SIGMAS, Vote, mean_scores
from students import STUDENT, TEACHERS, Split, learner, scores, splits, teacher
from sweeps import COLUMNS, Asked, Threshold, print_columns, votes_of

from secretballot.accounting import PrivacyAccountant, RenyiCost
from secretballot.divergences import EVERYONE
from secretballot.ensemble import PrivateTeacherEnsemble
from secretballot.mechanisms import BinaryVoting

#: Thresholds, in shares of all votes, and the noise on what is compared, in the noise of votes.
LEVELS, NOISES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2), (0.5, 1.0, 2.0, 4.0)
#: CelebA's columns, in its standard order, that are absent where its column 20 ('Male') is:
#: 5_o_Clock_Shadow, Bald, Goatee, Mustache, Sideburns.
MALE, DEPENDANTS = 20, (0, 4, 16, 22, 30)
EPSILON, SIGMAS_ASKED = 20.0, (7.0, 14.0)
#: Thresholds behind which students' labels are, and their noise: as `LEVELS` and `NOISES`.
FOR_STUDENTS: tuple[Threshold, ...] = (None, (1.0, 2.0), (0.8, 1.0), (0.7, 0.5))


class Choice(NamedTuple):
    """One way to ask, and what it is expected to answer."""

    name: str
    acc: float
    bac: float
    share: float
    present: float
    rows: dict[float, int]

    def labels(self, epsilon: float) -> float:
        """How many rows' worth of labels are answered."""
        return self.rows[epsilon] * self.share


@lru_cache(maxsize=4096)
def worst_label(sigma: float, threshold: Threshold) -> RenyiCost:
    """What a label of `BinaryVoting` costs at most."""
    level, noise = threshold or (None, None)
    one = BinaryVoting(sigma=sigma, n_votes=N_TEACHERS, threshold=level, sigma_threshold=noise)
    return one.max_cost(1)[EVERYONE]


def worst_rows(vote: Vote, sigma: float, threshold: Threshold) -> RenyiCost:
    """What rows cost whatever the votes are; by what passed, where that is told."""
    if vote.kind == "Binary":
        return vote.n_labels * worst_label(sigma, threshold)
    more: dict[str, Any] = {}
    if threshold is not None:
        more = {"threshold": threshold[0], "sigma_threshold": threshold[1]}
    mechanism = vote.mechanism(sigma, **more)
    counts = vote.counts[: 1 if threshold is None else None]  # all cost the same without one
    outcome = mechanism.sample(counts, np.random.default_rng(2))
    return row_costs(mechanism, counts, outcome, known=False)


def choices(vote: Vote, sigmas: tuple[float, ...], levels: tuple[float, ...]) -> Iterator[Choice]:
    """All ways to ask whose answers are about as good as votes without noise."""
    truth = vote.data.truth
    acc, bac = Vote(vote.data, "Binary").quality(0.0)
    for sigma in sigmas:
        present = vote.present(sigma)
        for threshold in thresholds(sigma, levels):
            passing = np.ones(truth.shape) if threshold is None else vote.passing(*threshold)
            quality = mean_scores(truth, present, passing)
            if not (quality[0] >= acc - DROP and quality[1] >= bac - DROP):
                continue
            cost = worst_rows(vote, sigma, threshold)
            behind = "" if threshold is None else "  {:.3g}, {:.3g}".format(*threshold)
            yield Choice(
                f"{vote.name}, {sigma:g}{behind}",
                *quality,
                float(passing.mean()),
                float((passing * present)[truth == 1].mean()),
                {epsilon: answered(cost, epsilon, DELTA) for epsilon in EPSILONS},
            )


def thresholds(sigma: float, levels: tuple[float, ...]) -> list[Threshold]:
    if not levels:
        return [None]
    return [(level * N_TEACHERS, noise * sigma) for level, noise in product(levels, NOISES)]


def print_thresholds(data: Ballots, sigmas: tuple[float, ...]) -> None:
    print(
        f"  {'eps.':5s}{'mechanism, sigma  T, s':32s}{'rows':>7s}{'labels':>9s}{'times':>7s}"
        f"{'present':>9s}{'times':>7s}{'ACC':>7s}{'BAC':>7s}{'BAC at':>8s}"
    )
    for vote in votes_of(data):
        plain = list(choices(vote, sigmas, ()))
        behind = list(choices(vote, sigmas, LEVELS))
        for epsilon in EPSILONS:
            first = best(plain, epsilon)
            if first is None:
                print(f"  {epsilon:<5g}{vote.kind}: no noise leaves votes as good")
                continue
            least, told = first.labels(epsilon), first.rows[epsilon] * first.present
            for ways in (plain, behind):
                each = best(ways, epsilon)
                if each is None:
                    print(f"  {epsilon:<5g}{vote.kind}: no threshold leaves votes as good")
                    continue
                bac = max((one.bac for one in ways if one.labels(epsilon) >= least), default=np.nan)
                labels, present = each.labels(epsilon), each.rows[epsilon] * each.present
                print(
                    f"  {epsilon:<5g}{each.name:32s}{each.rows[epsilon]:7,}"
                    f"{labels:9,.1f}{ratio(labels, least)}{present:9,.1f}{ratio(present, told)}"
                    f"{each.acc:7.3f}{each.bac:7.3f}{bac:8.3f}",
                    flush=True,
                )


def best(ways: list[Choice], epsilon: float) -> Choice | None:
    """Return what answers the most labels; of several the one with the best."""
    return max(ways, key=lambda each: (each.labels(epsilon), each.bac), default=None)


def ratio(mine: float, other: float) -> str:
    return f"{mine / other:7.2f}" if other else f"{'-':>7s}"


def print_hierarchies(data: Ballots) -> None:
    """Ask for beards of men only; of all labels, and of these alone."""
    truth = data.truth.astype(bool)
    broken = (truth[:, DEPENDANTS] & ~truth[:, MALE, None]).any(axis=1).mean()
    print(
        f"\n  Table 10: hierarchies, epsilon {EPSILON:g}; {truth[:, MALE].mean():.0%} of rows have "
        f"the parent, {broken:.1%} break the rule"
    )
    few = [MALE, *DEPENDANTS]
    alone = Ballots(data.ballots[:, :, few], data.truth[:, few])
    for part, above in (
        (alone, dict.fromkeys(range(1, len(few)), 0)),
        (data, dict.fromkeys(DEPENDANTS, MALE)),
    ):
        print_columns(f"{part.truth.shape[1]} labels, sigma")
        vote = Vote(part, "Binary")
        for sigma in SIGMAS_ASKED:
            asked = Asked(vote, sigma, hierarchy=above)
            rows = asked.rows(EPSILON, COLUMNS[-1])
            noise = sigma
            while Asked(vote, noise).rows(EPSILON, COLUMNS[-1]) < rows:
                noise += 0.25
            for name, each in (
                ("all asked", Asked(vote, sigma)),
                ("with the hierarchy", asked),
                ("all asked", Asked(vote, noise)),
            ):
                print(f"  {f'{name}, {each.sigma:g}':28s}{each.line(EPSILON)[30:]}", flush=True)


def print_students(name: str, n_splits: int) -> None:
    """Compare what students learn from all rows, and from labels that pass."""
    n_votes, parts = TEACHERS[name][0], splits(name, n_splits)
    print(f"\n  Students of {n_votes} teachers, {len(parts[0].pool[0])} rows, {n_splits} splits")
    print(f"  {'eps.':5s}{'T, s':>10s}{'sigma':>8s}{'share':>8s}{'BAC':>8s}{'sd':>8s}")
    for epsilon, threshold in product(EPSILONS[:2], FOR_STUDENTS):
        found = np.array([student(each, n_votes, epsilon, threshold) for each in parts])
        sigma, share, bac = found.mean(axis=0)
        named = "-" if threshold is None else "{:g}, {:g}".format(*threshold)
        print(
            f"  {epsilon:<5g}{named:>10s}{sigma:8.1f}{share:8.2f}{bac:8.3f}"
            f"{found[:, 2].std():8.3f}",
            flush=True,
        )


def student(
    split: Split, n_votes: int, epsilon: float, threshold: Threshold
) -> tuple[float, float, float]:
    """Return the noise that lets all rows be asked, the share answered and a student's BAC."""
    accountant = PrivacyAccountant(epsilon, DELTA, order="renyi")

    def made(sigma: float) -> BinaryVoting:
        if threshold is None:
            return BinaryVoting(sigma=sigma, n_votes=n_votes)
        level, noise = threshold[0] * n_votes, threshold[1] * sigma
        return BinaryVoting(sigma=sigma, n_votes=n_votes, threshold=level, sigma_threshold=noise)

    X, Y = split.pool
    mechanism = accountant.calibrate(made, len(X), n_columns=Y.shape[1])
    ensemble = PrivateTeacherEnsemble(
        teacher(split.pool),
        n_votes,
        mechanism=mechanism,
        student=learner(X, STUDENT),
        accountant=accountant,
    )
    ensemble.fit(*split.private, X_public=X)
    bac = scores(ensemble, split.test).balanced_accuracy
    return mechanism.sigma, float(ensemble.pool_labels_.answered.mean()), bac


PARTS = ("thresholds", "students", "hierarchies")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    parser.add_argument("--quick", action="store_true", help="two sets, 100 rows, fewer sigmas")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # taus that clip nothing, noise that drowns votes
    quick = arguments.quick
    for name in arguments.sets or (("scene", "celeba") if quick else SETS):
        data = load_ballots(name, 100 if quick else 500)
        if data is None:
            print(f"{name} is left out: it is not in the folder of data")
            continue
        print(f"\n{name}: {data.truth.shape[1]} labels, {len(data.truth)} public rows")
        if "thresholds" in arguments.only:
            print_thresholds(data, SIGMAS[3::4] if quick else SIGMAS)
        if "students" in arguments.only and name in TEACHERS:
            print_students(name, 1 if quick else 5)
        if "hierarchies" in arguments.only and name == "celeba":
            print_hierarchies(data)


if __name__ == "__main__":
    main()
