"""Pairs of columns in a logistic regression, beside single columns.

    python benchmarks/equal_epsilon/pairs.py [--sets xor adult bank credit celeba]
        [--epsilons .1 .5 1 4] [--public 400] [--seeds 5] [--kernel] [--quick]

xor     20,000 rows: the sign of the product of two numbers, and eight columns of noise
celeba  attributes of faces, see `sets.py`

The differences are those of area under the ROC curve and of accuracy, with and without pairs, on
the same splits and seeds, with their standard errors. `--kernel` adds ours with
`features="kernel"`.
"""

from __future__ import annotations

import argparse
import itertools
import warnings

import fits
import numpy as np
import pandas as pd
import sets
from fits import quality
from sets import Split


def split(name: str, public: int, seed: int) -> Split:
    """Return the rows of one seed."""
    if name != "xor":
        return sets.split(name, public, seed)
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(24_000 + public, 10))).add_prefix("number ")
    X.attrs["bounds"] = dict.fromkeys(X, (-4.0, 4.0))
    y = (X["number 0"] * X["number 1"] > 0).to_numpy().astype(int)
    pool, test = slice(20_000, 20_000 + public), slice(20_000 + public, None)
    return Split(X[:20_000], y[:20_000], X[pool], y[pool], X[test], y[test])


def ours(rows: Split, epsilon: float, seed: int, **settings: object) -> tuple[float, float]:
    """Return area under the curve and accuracy of one fit."""
    seen = (rows.X_private, rows.y_private, rows.X_pool)
    model = fits.logistic(*seen, epsilon, seed, check_public_rows=False, **settings)
    right, auc = quality(rows, model.predict_proba(rows.X_test)[:, 1])
    return auc, right


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=["xor", "adult", "bank", "credit", "celeba"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.5, 1.0, 4.0])
    parser.add_argument("--public", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--kernel", action="store_true")
    parser.add_argument("--quick", action="store_true", help="xor, epsilon 1, one seed")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["xor"], epsilons=[1.0], seeds=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise is seeded
    print("| set, epsilon | columns: AUC / accuracy | with pairs | difference | kernel |")
    print("| --- | --- | --- | --- | --- |")
    for name, epsilon in itertools.product(given.sets, given.epsilons):
        results: list[list[tuple[float, float]]] = [[], [], []]
        for seed in range(given.seeds):
            rows = split(name, given.public, seed)
            for found, interactions in zip(results, (0, "auto"), strict=False):
                model = {"features": "additive", "interactions": interactions}
                found.append(ours(rows, epsilon, seed, **model))
            if given.kernel:
                results[2].append(ours(rows, epsilon, seed, features="kernel", interactions=0))
        alone, paired = (np.array(each) for each in results[:2])
        cells = [f"{auc:.4f} / {right:.4f}" for auc, right in (alone.mean(0), paired.mean(0))]
        cells.append(" / ".join(fits.gain(each) for each in (paired - alone).T))
        for each in results[2:]:
            cells.append(" / ".join(f"{x:.4f}" for x in np.mean(each, axis=0)) if each else "")
        print(f"| {name}, {epsilon:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
