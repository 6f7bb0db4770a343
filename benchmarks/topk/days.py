"""EXP2a: the states with the most new COVID-19 cases, day after day, on one budget for ten days.

    python benchmarks/topk/days.py [--trials 100] [--epsilon 1] [--delta 1e-6] [--quick]

Days 1 to 40 are 12 March to 20 April 2020, in four blocks of ten, each with a budget of its own
that ten queries share; recall is averaged over a block's days. The states are public. The paper's k
and epsilon are lost: here 5 and 10 of 55 states and territories, and epsilon 1; its delta too.
"Known" and "unknown" as in fixed_k.py.

The paper: EM-CDP is best in every block, by most where gaps are small (days 1 to 20), and LD the
worst; StableTopK comes close to EM-CDP on days 31 to 40. Its LD is composed by advanced composition
of ten queries; here by LD's own theorem over all draws of all queries, which leaves it more.

A person is one case of one day and state, and Gaussian noise on all counts needs to know no more:
the number of wanted states makes no difference to it. Methods for any number of items lose to that.
"""

from __future__ import annotations

import argparse

import numpy as np
from histograms import Counts, covid
from methods import (
    KNOWN_DOMAIN,
    UNKNOWN_DOMAIN,
    Cells,
    Method,
    recalls,
    shown,
    with_best,
)
from ours import ONE_ITEM

BLOCK = 10
K = (5, 10)


def measured(
    methods: dict[str, Method], days: Counts, k: int, epsilon: float, delta: float, n_trials: int
) -> Cells:
    """(mean, deviation) of the recall, by method, for every block of days."""
    found: Cells = {}
    for name, method in methods.items():
        blocks = np.split(days, len(days) // BLOCK)
        tries = [recalls(name, method, block, k, epsilon, delta, n_trials) for block in blocks]
        found[name] = [(float(one.mean()), float(one.std())) for one in tries]
    return with_best(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--epsilon", type=float, default=1.0, help="of ten days")
    parser.add_argument("--delta", type=float, default=1e-6, help="of ten days")
    parser.add_argument("--quick", action="store_true", help="ten trials")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(trials=10)
    arguments = parser.parse_args()
    days = covid()
    if days is None:
        print("left out: there is no us_covid_states_2020-03_05.csv.gz in the folder of data")
        return
    n_trials = arguments.trials
    epsilon, delta = arguments.epsilon, arguments.delta
    headings = [f"days {start + 1}-{start + BLOCK}" for start in range(0, len(days), BLOCK)]
    for k in K:
        ordered = -np.sort(-days, axis=1)
        gaps = (ordered[:, k - 1] - ordered[:, k]).reshape(-1, BLOCK)
        print(
            f"\nk = {k}, epsilon {epsilon:g} and delta {delta:g} for ten days; recall, mean "
            f"(deviation) of {n_trials}"
        )
        print(f"{'':26s}" + "".join(f"   {heading:11s}" for heading in headings))
        medians = np.median(gaps, axis=1)
        print(f"{'median gap after k':26s}" + "".join(f"   {gap:<11.0f}" for gap in medians))
        for domain, methods in (("unknown", UNKNOWN_DOMAIN), ("known", KNOWN_DOMAIN | ONE_ITEM)):
            print(f"states {domain}")
            found = measured(methods, days, k, epsilon, delta, n_trials)
            for line, cells in found.items():
                print(f"{line:26s}{shown(cells)}", flush=True)


if __name__ == "__main__":
    main()
