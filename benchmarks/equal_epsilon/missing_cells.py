"""Missing cells of Adult that say something, that say nothing, and none at all.

    python benchmarks/equal_epsilon/missing_cells.py [--epsilons 1] [--pool 400] [--seeds 3]
        [--holes ...] [--quick]

Delta 1e-5, one row replaced. Of three columns cells are taken out: of people who earn more than
50,000 dollars in 45 % of the rows, and of all others in 15 % ("informative"); or in 22 % of all
rows ("random"); "private only" leaves the public rows whole. Accuracy and area under the curve,
means of the seeds, as the table is read, and with the cells filled beforehand by the public median
or by the most frequent category ("filled").
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from sets import Split, split
from sklearn.metrics import accuracy_score, roc_auc_score

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData

DELTA = 1e-5
COLUMNS = ("age", "hours_per_week", "occupation")
#: Probabilities that a cell is missing, of both classes; and whether public cells are.
HOLES = {
    "as it is": ((0.0, 0.0), False),
    "informative": ((0.15, 0.45), True),
    "informative, private only": ((0.15, 0.45), False),
    "random": ((0.22, 0.22), True),
}


def with_holes(
    X: pd.DataFrame, y: np.ndarray, shares: tuple[float, float], rng: np.random.Generator
) -> pd.DataFrame:
    """Take cells out."""
    X = X.copy()
    for name in COLUMNS:
        X.loc[rng.random(len(X)) < np.take(shares, y), name] = np.nan
    return X


def filled(X: pd.DataFrame, X_public: pd.DataFrame) -> pd.DataFrame:
    """Fill missing cells by the public median, or the most frequent category."""
    values = {
        name: column.mode()[0] if column.dtype == "category" else column.median()
        for name, column in X_public.items()
    }
    return X.fillna(values)


def scores(rows: Split, holes: str, how: str, epsilon: float, seed: int) -> tuple[float, float]:
    """Return accuracy and area under the curve of one fit."""
    shares, in_public = HOLES[holes]
    rng = np.random.default_rng(seed)
    pool = with_holes(rows.X_pool, rows.y_pool, shares, rng) if in_public else rows.X_pool
    X = with_holes(rows.X_private, rows.y_private, shares, rng)
    X_test = with_holes(rows.X_test, rows.y_test, shares, rng)
    if how == "filled":
        X, X_test, pool = (filled(each, pool) for each in (X, X_test, pool))
    model = PrivateLogisticRegression(
        classes=[0, 1], accountant=PrivacyAccountant(epsilon, DELTA), random_state=seed
    ).fit(X, rows.y_private, X_public=PublicData(pool))
    decision = model.decision_function(X_test)
    return accuracy_score(rows.y_test, decision > 0), roc_auc_score(rows.y_test, decision)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    parser.add_argument("--holes", nargs="+", choices=HOLES, default=list(HOLES))
    parser.add_argument("--pool", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one seed, as it is")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(seeds=1, holes=["as it is"])
    arguments = parser.parse_args()
    for message in ("Noise drawn with random_state", ".*NOT FOR PUBLICATION", "the data type of"):
        warnings.filterwarnings("ignore", message=message)
    for holes in arguments.holes:
        for epsilon in arguments.epsilons:
            cells = []
            for how in ("as it is",) if holes == "as it is" else ("read", "filled"):
                results = [
                    scores(split("adult", arguments.pool, seed), holes, how, epsilon, seed)
                    for seed in range(arguments.seeds)
                ]
                accuracy, area = np.mean(results, axis=0)
                cells.append(f"{how} {accuracy:.4f} / {area:.4f}")
            print(f"{holes}, epsilon {epsilon:g}: {', '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
