"""The private score of numbers: how far from R^2 on test rows, and does its interval cover that?

    python benchmarks/equal_epsilon/number_scores.py [--sets diamonds adult ...]
        [--epsilons .1 .25 .5] [--rows 4000] [--seeds 3] [--draws 20] [--quick]

`PrivateLinearRegression` at epsilon 1, delta 1e-5, one row replaced, 400 public rows. Its score
takes so much of a budget besides, on rows that `fit` did not see ("others", of which there are
`--rows`) and on those of `fit` ("fitted"). Means over seeds and draws of the noise: distance of the
released R^2 from that on test rows, half the width of the interval of 95 %, and the share of
intervals that hold the R^2 of test rows (which has a sampling error of its own). A score that is
refused as too dear has no figures.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from number_rivals import DELTA
from regression import available, split
from sets import Split

from secretballot import PrivacyAccountant, PrivateLinearRegression, PublicData

Key = tuple[str, str, float]


def scores(
    name: str, parts: Split, bounds: tuple[float, float], given: argparse.Namespace, seed: int
) -> Iterator[tuple[Key, list[float]]]:
    """Yield the set, the rows and the epsilon of each score, with what was measured."""
    X, y, held_out = parts.X_private, parts.y_private, given.rows
    model = PrivateLinearRegression(
        target_bounds=bounds,
        accountant=PrivacyAccountant(1e3, DELTA),
        epsilon=1.0,
        check_public_rows=False,
        random_state=seed,
    ).fit(X[held_out:], y[held_out:], X_public=PublicData(parts.X_pool, may_be_private=True))
    reached = model.score(parts.X_test, parts.y_test)
    chosen = {"others": slice(held_out), "fitted": slice(held_out, None)}
    for (kind, place), epsilon in ((each, e) for each in chosen.items() for e in given.epsilons):
        for _ in range(given.draws):
            try:
                score = model.score_private(X[place], y[place], epsilon=epsilon)
            except ValueError:
                break
            low, high = score.r2_interval
            distance, inside = score.r2 - reached, low <= reached <= high
            yield (name, kind, epsilon), [abs(distance), distance, (high - low) / 2, float(inside)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=available())
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.25, 0.5])
    parser.add_argument("--rows", type=int, default=4_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="ages in Adult, one seed")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["adult"], seeds=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise is seeded
    print("| set | rows | epsilon | distance | its mean | half the width | covers |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in given.sets:
        found: dict[Key, list[list[float]]] = {}
        for seed in range(given.seeds):
            for key, measured in scores(name, *split(name, 400, seed), given, seed):
                found.setdefault(key, []).append(measured)
        for (_, kind, epsilon), runs in found.items():
            texts = " | ".join(f"{mean:.3f}" for mean in np.mean(runs, axis=0))
            print(f"| {name} | {kind} | {epsilon:g} | {texts} |", flush=True)


if __name__ == "__main__":
    main()
