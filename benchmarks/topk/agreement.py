"""Least epsilon that labels a pool as well, against the agreement of ballots.

    python benchmarks/topk/agreement.py [SET ...] [--quick]

The dense set and CelebA's attributes (see labels.py), with errors of simulated ballots that are
scaled up or down together until ballots agree as far as is asked: agreement is the share of the
ballots on a label that are on its majority's side, mean over labels and rows. All else stays as it
is: rows, labels, teachers, delta, targets ("common": F1 less .03, and ACC less .01, of the worse of
majority and largest gap without noise), methods and charges.

Columns are methods, cells the least epsilon of each. "Ours" are our charges, "paper" the published
ones; Binary, tau (l1) and StableTopK, with one ballot replaced, or a voter added or removed where
that is said (of clipped ballots that moves no less: see labels.py); "fixed k" is ExponentialTopK
with the best k. The last columns name the least of Binary, tau and StableTopK (B, t or S)

replaced   as we charge them, one ballot replaced
added      as we charge them, voters of Binary and StableTopK added, the ballot of tau replaced
paper      as the paper charges, with its relations: voters of StableTopK added, the ballots of the
           others replaced
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from label_ways import N_DRAWS, Ballots, Setting, curve, least, methods
from labels import SETTINGS, aggregations, targets_of
from scipy.optimize import brentq

#: Shares of ballots on the majority's side.
AGREEMENT = (0.87, 0.9, 0.93, 0.95, 0.96, 0.97, 0.98, 0.99, 1.0)
SETS = ("dense", "celeba")
TARGETS = ("common F1", "common ACC")
COLUMNS = {
    "Binary, ours": "B",
    "Binary, ours, added": "B add.",
    "tau, ours": "tau",
    "StableTopK, ours": "S",
    "StableTopK, ours, added": "S add.",
    "ExponentialTopK, ours": "fixed k",
    "Binary, published": "B paper",
    "tau, published": "t paper",
    "StableTopK, published, added": "S paper",
}
RELATIONS = {
    "replaced": ("Binary, ours", "tau, ours", "StableTopK, ours"),
    "added": ("Binary, ours, added", "tau, ours", "StableTopK, ours, added"),
    "paper": ("Binary, published", "tau, published", "StableTopK, published, added"),
}


def agreement(data: Ballots) -> float:
    """Compute the share of ballots on the majority's side, mean over labels and rows."""
    share = data.ballots.mean(axis=1)
    return float(np.maximum(share, 1 - share).mean())


def agreeing(name: str, setting: Setting, wanted: float) -> Ballots | None:
    """Return ballots that agree as far as is wanted, by errors that are scaled; None if unknown."""
    data = setting.load(name, 0.0)
    if data is None or wanted == 1:
        return data

    def excess(errors: float) -> float:
        data = setting.load(name, errors)
        assert data is not None
        return agreement(data) - wanted

    return setting.load(name, float(brentq(excess, 0.0, 4.0, xtol=1e-3)))


def print_row(wanted: float, data: Ballots, setting: Setting, n_draws: int) -> None:
    """Print the least epsilon of each method at one agreement, for both targets."""
    tried: dict[str, list] = {name: [] for name in COLUMNS}
    for way in methods(data, setting):
        if way.name in tried:
            points = curve(way, data.truth, setting.n_teachers, n_draws)
            tried[way.name].append((way, points))
    targets = targets_of(data.truth, aggregations(data, setting))
    for title in TARGETS:
        epsilons = {}
        for name, ways in tried.items():
            measure, target = title.split()[1], targets[title]
            found = least(ways, measure, target, data.truth, n_draws)
            epsilons[name] = np.inf if found is None else found.epsilon
        cells = "".join(
            f"{'never' if np.isinf(value) else f'{value:.2f}':>9s}" for value in epsilons.values()
        )
        first = "".join(
            f"{min(names, key=lambda name: epsilons[name])[0]:>10s}" for names in RELATIONS.values()
        )
        print(f"  {wanted:5.2f} {title:11s}{targets[title]:6.3f}{cells}{first}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    parser.add_argument("--quick", action="store_true", help="three agreements, two draws")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # noise that drowns votes, sets that never pass
    for name in arguments.sets or SETS:
        setting = SETTINGS[name]
        print(f"\n{name}: {setting.n_teachers} teachers")
        titles = "".join(f"{each:>9s}" for each in COLUMNS.values())
        print(
            f"  {'agreement, target':23s}{titles}" + "".join(f"{each:>10s}" for each in RELATIONS)
        )
        for wanted in AGREEMENT[1::3] if arguments.quick else AGREEMENT:
            data = agreeing(name, setting, wanted)
            if data is None:
                print(f"left out: {name} is not in the folder of data")
                break
            print_row(wanted, data, setting, 2 if arguments.quick else N_DRAWS)


if __name__ == "__main__":
    main()
