"""What noise leaves of a model of several labels, by the ratio of signal to noise of a label.

    python benchmarks/multilabel/label_noise.py [SET ...] [--epsilons .3 .5 1 2 4] [--seeds 3]
        [--quick]

The ratio is that of `price_fit`, divided by the root of the number of labels.
The splits of one_ballot.py, delta 1e-5, one row replaced; bins of all columns, or 16 components.
Share kept: (AUC - .5), the mean over labels on test rows, as a share of that of the same model at
epsilon 1,000. Means over seeds; fits that are refused are left out. Sets of more than 100 columns
have no bins, which take minutes. Last comes the range over all sets in each interval of the ratio.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from typing import Any

import numpy as np
from ballots import REAL, data_file
from numpy.typing import NDArray
from one_ballot import components, split
from sklearn.metrics import roc_auc_score
from students import DELTA, Split

from secretballot import (
    BudgetExceededError,
    PrivacyAccountant,
    PrivateLogisticRegression,
    PublicData,
)

INTERVALS = (0, 2, 5, 10, np.inf)
NO_NOISE = 1_000.0
MOST_COLUMNS, N_COMPONENTS = 100, 16


def label_auc(labels: NDArray[Any], chances: NDArray[Any]) -> float:
    """Return the mean AUC over the labels that some rows have, and some have not."""
    mixed = np.flatnonzero((labels.min(axis=0) == 0) & (labels.max(axis=0) == 1))
    return float(np.mean([roc_auc_score(labels[:, at], chances[:, at]) for at in mixed]))


def quality(rows: Split, epsilon: float, seed: int, n_components: int) -> tuple[float, float]:
    """Return the ratio of signal to noise, and AUC above .5; NaN if a fit is refused."""
    (X, Y), (public, _), (test, truth) = rows
    model = PrivateLogisticRegression(
        features=components(n_components) if n_components else "auto",
        accountant=PrivacyAccountant(epsilon, DELTA),
        random_state=seed,
    )
    ratio = model.price_fit(len(X), public, n_labels=Y.shape[1]).sizes["signal"]
    ratio /= np.sqrt(Y.shape[1])
    try:
        model.fit(X, Y, X_public=PublicData(public, may_be_private=True))
    except BudgetExceededError:
        return ratio, np.nan
    return ratio, label_auc(truth, model.predict_proba(test)) - 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=[name for name in REAL if data_file(name)])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.3, 0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="emotions, one epsilon and seed")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["emotions"], epsilons=[1.0], seeds=1)
    given = parser.parse_args()
    if not given.sets or not all(map(data_file, given.sets)):
        print("left out: the sets are not in the folder of data")
        return
    warnings.simplefilter("ignore")  # noise is seeded
    shares = []
    print(f"{'':<24}{'epsilon':>8}{'signal':>8}{'AUC - .5':>10}{'kept':>7}")
    for name, n_components in itertools.product(given.sets, (0, N_COMPONENTS)):
        if not n_components and split(name, 0)[0][0].shape[1] > MOST_COLUMNS:
            continue
        runs = np.array(
            [
                [
                    quality(split(name, seed), epsilon, seed, n_components)
                    for epsilon in (*given.epsilons, NO_NOISE)
                ]
                for seed in range(given.seeds)
            ]
        ).mean(axis=0)
        for epsilon, (ratio, auc) in zip(given.epsilons, runs, strict=False):
            kept = auc / runs[-1, 1]
            shares.append((ratio, kept))
            kind = f"{name}, {n_components} components" if n_components else f"{name}, bins"
            print(f"{kind:<24}{epsilon:>8g}{ratio:>8.1f}{auc:>10.3f}{kept:>7.2f}", flush=True)
    for low, high in itertools.pairwise(INTERVALS):
        inside = [kept for ratio, kept in shares if low <= ratio < high and not np.isnan(kept)]
        if inside:
            print(
                f"{low:g} to {high:g}: {len(inside)} fits, kept {min(inside):.2f} to "
                f"{max(inside):.2f}"
            )


if __name__ == "__main__":
    main()
