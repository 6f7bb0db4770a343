"""EXP1: how much of the true top 3, 10 and 50 places of check-ins is found; one query.

    python benchmarks/topk/fixed_k.py [--trials 100] [--delta 1e-6 | people] [--quick]

Epsilon .4, .8 and 1. The paper's delta is lost: here 1e-6, or 1 over the number of people, which
is what Carvalho et al. took, whose protocol the paper follows ("people"; it protects nobody well).
Two domains: items unknown, as in the paper (nothing is filled up), and items on a public list. The
paper's sets are larger, so that gaps between counts are wider: "x 9" and "x 3" are ours with every
person repeated. Compare shapes.

TS tests the gap that it releases. The code that was published with it tests the next one, and its
LD prefers the highest of the thresholds of which Durfee and Rogers take the lowest; the paper's
figures for TS and LD are those of Carvalho et al.
"""

from __future__ import annotations

import argparse

from histograms import CHECKINS, N_PEOPLE, TIMES, Counts, checkins, scaled
from methods import (
    KNOWN_DOMAIN,
    UNKNOWN_DOMAIN,
    Cells,
    Method,
    recalls,
    shown,
    with_best,
)

K = (3, 10, 50)
EPSILONS = (0.4, 0.8, 1.0)
#: Zhu and Wang, Table 1: by epsilon and k, in the order of the columns.
PAPER = {
    "brightkite": {
        "TS": [1.00, 0.77, 0.14, 1.00, 0.80, 0.16, 1.00, 0.80, 0.18],
        "LD": [1.00, 0.47, 0.10, 1.00, 0.79, 0.25, 1.00, 0.88, 0.28],
        "StableTopK": [1.00, 0.91, 0.61, 1.00, 1.00, 0.67, 1.00, 1.00, 0.67],
    },
    "foursquare_nyc": {
        "TS": [1.00, 0.64, 0.11, 1.00, 0.90, 0.18, 1.00, 0.90, 0.18],
        "LD": [0.68, 0.62, 0.13, 0.75, 0.85, 0.24, 0.91, 0.94, 0.28],
        "StableTopK": [1.00, 0.72, 0.48, 1.00, 1.00, 0.67, 1.00, 1.00, 0.67],
    },
}


def measured(methods: dict[str, Method], counts: Counts, delta: float, n_trials: int) -> Cells:
    """(mean, deviation) of the share found, by method, for every epsilon and k."""
    found: Cells = {}
    for name, method in methods.items():
        tries = [
            recalls(name, method, counts[None], k, epsilon, delta, n_trials)
            for epsilon in EPSILONS
            for k in K
        ]
        found[name] = [(float(one.mean()), float(one.std())) for one in tries]
    return with_best(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--delta", default="1e-6", help='a number, or "people"')
    parser.add_argument("--quick", action="store_true", help="ten trials")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(trials=10)
    arguments = parser.parse_args()
    if checkins(CHECKINS[0]) is None:
        print("left out: there is no checkins.npz in the folder of shared data")
        return
    sets = {name: (name, checkins(name), N_PEOPLE[name]) for name in CHECKINS}
    sets |= {f"{name} x {times}": (name, *scaled(name)) for name, times in TIMES.items()}
    n_trials = arguments.trials
    for title, (name, counts, people) in sets.items():
        delta = 1 / people if arguments.delta == "people" else float(arguments.delta)
        print(
            f"\n{title}: {len(counts):,} places, {people:,} people, delta {delta:.3g}; "
            f"share of the true top k, mean (deviation) of {n_trials}"
        )
        header = "".join(f"   {f'{epsilon:g}: {k}':>11s}" for epsilon in EPSILONS for k in K)
        print(f"{'epsilon: k':26s}{header}")
        for line, figures in PAPER.get(name, {}).items():
            print(f"{'paper, ' + line:26s}" + "".join(f"   {mean:.2f}       " for mean in figures))
        for domain, methods in (("unknown", UNKNOWN_DOMAIN), ("known", KNOWN_DOMAIN)):
            print(f"items {domain}")
            found = measured(methods, counts, delta, n_trials)
            for line, cells in found.items():
                print(f"{line:26s}{shown(cells)}", flush=True)


if __name__ == "__main__":
    main()
