"""How many bins and rounds: the shipped rule beside others, for the table of the documentation.

    python benchmarks/equal_epsilon/rule.py [--sets adult] [--pools 400 7000]
        [--epsilons .1 .5 1 2 4] [--seeds 3]

Prints test accuracy and AUC of `PrivateLogisticRegression` with half and twice as many bins, and
with one round fewer or two more, than the rule chooses from public numbers. What the rule was made
from were these sets (Adult, mostly): it is a choice by looking, between few alternatives.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sets import split
from sklearn.metrics import roc_auc_score

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData

DELTA = 1e-5


def scores(name: str, pool: int, epsilon: float, seed: int, **given: int) -> tuple[float, ...]:
    """Return accuracy, AUC, and how many bins and rounds there were."""
    rows = split(name, pool, seed)
    model = PrivateLogisticRegression(
        classes=[0, 1], accountant=PrivacyAccountant(epsilon, DELTA), random_state=seed, **given
    ).fit(rows.X_private, rows.y_private, X_public=PublicData(rows.X_pool))
    p = model.predict_proba(rows.X_test)[:, 1]
    right = float(((p > 0.5) == rows.y_test).mean())
    return right, float(roc_auc_score(rows.y_test, p)), float(model.n_bins_), float(model.n_rounds_)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["adult"])
    parser.add_argument("--pools", nargs="+", type=int, default=[400, 7000])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.5, 1, 2, 4])
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise is seeded
    print(
        "| set | public rows | epsilon | bins, rounds | the rule | half the bins | twice | "
        "one round fewer | two more |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in given.sets:
        for pool in given.pools:
            for epsilon in given.epsilons:
                found = [scores(name, pool, epsilon, seed) for seed in range(given.seeds)]
                n_bins, n_rounds = (int(np.median([each[at] for each in found])) for at in (2, 3))
                others = [
                    [scores(name, pool, epsilon, seed, **other) for seed in range(given.seeds)]
                    for other in (
                        {"n_bins": max(n_bins // 2, 1)},
                        {"n_bins": 2 * n_bins},
                        {"rounds": max(n_rounds - 1, 0)},
                        {"rounds": n_rounds + 2},
                    )
                ]
                cells = [np.mean(each, axis=0) for each in (found, *others)]
                shown = " | ".join(f"{right:.4f} / {auc:.4f}" for right, auc, *_ in cells)
                print(
                    f"| {name} | {pool} | {epsilon:g} | {n_bins}, {n_rounds} | {shown} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
