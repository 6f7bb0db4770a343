"""Balanced accuracy that `recommend_mechanism` promises, against that of votes on real sets.

    python benchmarks/multilabel/advice_promises.py [SET ...] [--quick]

Ballots of 50 teachers on up to 200 public rows of each set (see ballots.py). Advice is asked with
the set's number of labels and labels of a row, and with

accuracy   recall and specificity both as large as the accuracy of a teacher, errors independent:
           what a single number tells
guess      recall and specificity of a teacher, measured on these rows, and the default of
           `shared_errors`
measured   the same and the measured `shared_errors`: the correlation of normals at which two
           teachers are right together as often as they are

`had` is the balanced accuracy of what that vote releases, mean over labels that some rows have and
others lack: exact over the noise, for Powerset the mean of 10 draws. `best` is that of the best of
the votes that were compared, `chosen` of the one that advice by guess takes.
"""

from __future__ import annotations

import argparse
import math
import warnings
from typing import NamedTuple

import numpy as np
from ballots import N_TEACHERS, SETS, Ballots, load_ballots
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, owens_t
from sets import Vote, mean_scores

from secretballot.ensemble import MechanismAdvice, recommend_mechanism

DELTA, EPSILONS, N_ROWS = 1e-5, (2.0, 8.0, 20.0), 200
COLUMNS = ("accuracy", "guess", "measured")


class Teachers(NamedTuple):
    """How good teachers are, means over labels that some rows have and others lack."""

    accuracy: float
    recall: float
    specificity: float
    shared_errors: float


def together(right: NDArray[np.float64], weight: NDArray[np.float64]) -> tuple[float, float]:
    """Compute how often a teacher is right, and the correlation of two of them being right."""
    mean = float((weight * right).sum())
    pairs = right * (N_TEACHERS * right - 1) / (N_TEACHERS - 1)
    both, point = float((weight * pairs).sum()), ndtri(mean)

    def excess(correlation: float) -> float:
        slope = math.sqrt((1 - correlation) / (1 + correlation))
        return float(ndtr(point) - 2 * owens_t(point, slope)) - both

    if excess(0.0) >= 0:
        return mean, 0.0
    return mean, float(brentq(excess, 0.0, 1.0))


def measured(data: Ballots) -> Teachers:
    """Measure recall, specificity and shared errors of a set's teachers."""
    truth, share = data.truth, data.ballots.mean(axis=1)
    counted = (truth.any(axis=0)) & (~truth.all(axis=0))
    there, share = truth[:, counted] == 1, share[:, counted]
    recall, present = together(share, there / there.sum(axis=0) / counted.sum())
    specificity, absent = together(1 - share, ~there / (~there).sum(axis=0) / counted.sum())
    accuracy = float((data.ballots == truth[:, None]).mean())
    return Teachers(accuracy, recall, specificity, (present + absent) / 2)


def advice(data: Ballots, teachers: Teachers, epsilon: float, column: str) -> MechanismAdvice:
    """Ask for advice with what a column of the table knows."""
    recall, specificity, guess = teachers.recall, teachers.specificity, {}
    if column == "accuracy":
        recall = specificity = teachers.accuracy
    if column != "guess":
        guess["shared_errors"] = 0.0 if column == "accuracy" else teachers.shared_errors
    return recommend_mechanism(
        n_teachers=N_TEACHERS,
        n_labels=data.truth.shape[1],
        n_queries=len(data.truth),
        epsilon=epsilon,
        delta=DELTA,
        recall=recall,
        specificity=specificity,
        n_positives=max(1, round(float(data.truth.sum(axis=1).mean()))),
        **guess,
    )


def print_set(name: str, data: Ballots) -> dict[str, list[float]]:
    """Print the table of a set; return promised less realised balanced accuracy by column."""
    teachers = measured(data)
    print(
        f"\n{name}: {data.truth.shape[1]} labels, {data.truth.sum(axis=1).mean():.1f} a row, "
        f"{len(data.truth)} rows; teachers: accuracy {teachers.accuracy:.3f}, recall "
        f"{teachers.recall:.3f}, specificity {teachers.specificity:.3f}, shared errors "
        f"{teachers.shared_errors:.2f}; a majority without noise has "
        f"{Vote(data, 'Binary').quality(0.0)[1]:.3f}"
    )
    print(f"  {'epsilon, vote':24s}" + "".join(f"{each:>10s}" for each in (*COLUMNS, "had")))
    excess: dict[str, list[float]] = {column: [] for column in COLUMNS}
    for epsilon in EPSILONS:
        several = {column: advice(data, teachers, epsilon, column) for column in COLUMNS}
        had = {}
        for vote, (mechanism, *_) in several["guess"].candidates.items():
            kind = "tau l2" if vote.startswith("tau") else vote
            asked = Vote(data, kind, getattr(mechanism, "tau", 0.0))
            had[vote] = mean_scores(data.truth, asked.present(mechanism.sigma))[1]
            promised = [each.candidates[vote].balanced_accuracy for each in several.values()]
            for column, value in zip(COLUMNS, promised, strict=True):
                excess[column].append(value - had[vote])
            values = "".join(f"{value:10.3f}" for value in (*promised, had[vote]))
            print(f"  {f'{epsilon:g}, {vote}':24s}{values}", flush=True)
        taken = next(
            vote
            for vote, expected in several["guess"].candidates.items()
            if expected.mechanism is several["guess"].mechanism
        )
        print(f"  {'':24s}best {max(had.values()):.3f}, chosen {had[taken]:.3f} ({taken})")
    return excess


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    parser.add_argument("--quick", action="store_true", help="three sets, 100 rows")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # votes that drown
    found: dict[str, list[float]] = {column: [] for column in COLUMNS}
    n_rows = 100 if arguments.quick else N_ROWS
    for name in arguments.sets or (("scene", "emotions", "celeba") if arguments.quick else SETS):
        data = load_ballots(name, n_rows)
        if data is None:
            print(f"{name} is left out: it is not in the folder of data")
            continue
        for column, excess in print_set(name, data).items():
            found[column] += excess
    print(f"\npromised less had, all votes{'mean':>8s}{'largest':>9s}{'least':>8s}")
    for column, excess in found.items():
        if excess:
            print(f"  {column:24s}{np.mean(excess):10.3f}{max(excess):9.3f}{min(excess):8.3f}")


if __name__ == "__main__":
    main()
