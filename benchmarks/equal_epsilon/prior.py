"""A logistic regression's log odds as what students start from: one budget for it and for votes.

    python benchmarks/equal_epsilon/prior.py [--sets adult bank credit] [--epsilons .5 1 2]
        [--pools 400 2000 7000] [--seeds 5] [--quick] [--votes DIR]

A share of the budget's mu^2 buys a `PrivateLogisticRegression`, the rest the votes of 500 logistic
teachers on the public rows; shares of mu^2 add up to the whole exactly. Accuracy and AUC on the
test rows of `sets`, one row replaced, delta 1e-5; differences from the logistic regression that
had all of the budget, on the same splits, with their standard errors. Teachers are trained once:
their votes are kept in ``--votes``.

feature     its log odds are a column more of a logistic student
prior       a student that starts from them: log odds, their slope, intercept and columns are what
            the votes' exact likelihood says, with narrow normal priors around 1, 0 and 0
unsure      the same; votes are bought on the quarter of the pool with the smallest log odds alone
boosting    boosting on its probabilities for the pool; where votes are left, they weigh .3
"""

from __future__ import annotations

import argparse
import warnings
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import sets
from encoding import indicators
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_ndtr
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from students import ballots

from secretballot import (
    GNMax,
    PrivacyAccountant,
    PrivateLogisticRegression,
    PublicData,
)
from secretballot.divergences import gaussian_budget

DELTA, N_TEACHERS, SHARES = 1e-5, 500, (0.25, 0.5, 0.9)
#: Standard deviations of slope, intercept and columns around 1, 0 and 0. Three times as wide ones
#: were worse (Adult, 2,000 public rows, epsilon 1).
PRIOR = (0.3, 0.1, 0.03)
VOTES = Path(__file__).resolve().parents[2] / "output" / "prior_votes"

Vector = NDArray[np.float64]


@cache
def part(epsilon: float, share: float) -> float:
    """Return the epsilon of a share of the budget's mu^2, at the same delta."""
    if share == 1:
        return epsilon
    wanted = share * gaussian_budget(epsilon, DELTA, 0.0)
    return float(brentq(lambda each: gaussian_budget(each, DELTA, 0.0) - wanted, 1e-3, epsilon))


@cache
def noise(epsilon: float, share: float, n_rows: int) -> float:
    """Return the noise on the votes of a class."""
    accountant = PrivacyAccountant(part(epsilon, share), DELTA)
    return float(accountant.calibrate(GNMax, n_rows, n_columns=2).sigma)


def columns(X: pd.DataFrame) -> Vector:
    return np.hstack([X[sets.numbers(X)].to_numpy(), indicators(X)])


def votes(folder: Path, name: str, pool: int, seed: int) -> Vector:
    """Votes for the second class on the pool, from the disk if they were counted before."""
    path = folder / f"{name}_{pool}_{seed}.npy"
    if not path.exists():
        split = sets.split(name, pool, seed)
        X, y, public = columns(split.X_private), split.y_private, columns(split.X_pool)
        shuffled = np.random.default_rng(99 + seed).permutation(len(X))
        shards = np.array_split(shuffled, N_TEACHERS)
        np.save(path, sum(ballots(X[shard], y[shard], public, None) for shard in shards))
    return np.load(path)


def log_odds(split: sets.Split, epsilon: float, seed: int) -> tuple[Vector, Vector]:
    """Of the pool and of the test rows, by the logistic regression as it is shipped."""
    model = PrivateLogisticRegression(
        classes=[0, 1], accountant=PrivacyAccountant(epsilon, DELTA), random_state=seed
    ).fit(split.X_private, split.y_private, X_public=PublicData(split.X_pool))
    return model.decision_function(split.X_pool), model.decision_function(split.X_test)


def starting_from(odds: Vector, X: Vector, labels: NDArray[np.int64], vote_noise: float) -> Vector:
    """Return what log odds, a constant and columns weigh, by the labels' exact likelihood."""
    rows = np.column_stack([odds, np.ones(len(X)), X])
    start, sds = np.zeros(rows.shape[1]), np.full(rows.shape[1], PRIOR[2])
    start[0], sds[:2] = 1, PRIOR[:2]
    signs, pace = 2 * labels - 1, np.sqrt(2) / vote_noise

    def loss(weights: Vector) -> tuple[float, Vector]:
        shares, off = expit(rows @ weights), (weights - start) / sds
        margins = signs * pace * (shares - 0.5)
        log_likely = log_ndtr(margins)
        ratio = np.exp(-(margins**2) / 2 - log_likely) / np.sqrt(2 * np.pi)
        slope = ratio * signs * pace * shares * (1 - shares)
        return 0.5 * off @ off - log_likely.sum(), off / sds - slope @ rows

    return minimize(loss, start, jac=True, method="L-BFGS-B").x


def boosted(X: Vector, chances: Vector, X_test: Vector) -> Vector:
    """Return boosting's log odds, learned from rows with both classes, weighted by chances."""
    model = HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.06, max_leaf_nodes=8, early_stopping=False, random_state=0
    )
    both = np.repeat([1, 0], len(X))
    weights = np.concatenate([chances, 1 - chances])
    return model.fit(np.vstack([X, X]), both, sample_weight=weights).decision_function(X_test)


def run(folder: Path, name: str, pool: int, epsilon: float, seed: int) -> dict[str, list[float]]:
    """Accuracy and AUC of each use of the budget on one split."""
    split, counts = sets.split(name, pool, seed), votes(folder, name, pool, seed)
    scale = StandardScaler().fit(columns(split.X_pool))
    public, judged = (scale.transform(columns(X)) for X in (split.X_pool, split.X_test))
    rng, found = np.random.default_rng([seed, 7]), {}

    def labels(share: float, rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], float]:
        sigma = noise(epsilon, share, len(rows))
        gap = 2 * counts[rows] - N_TEACHERS + rng.normal(scale=np.sqrt(2) * sigma, size=len(rows))
        return (gap > 0).astype(int), sigma / N_TEACHERS

    def judge(use: str, scores: Vector) -> None:
        right = np.mean((scores > 0) == split.y_test)
        found[use] = [float(right), float(roc_auc_score(split.y_test, scores))]

    def student(winners: NDArray[np.int64], X: Vector, X_test: Vector) -> Vector:
        return LogisticRegression(max_iter=1_000).fit(X, winners).decision_function(X_test)

    every = np.arange(pool)
    odds, tested = log_odds(split, epsilon, seed)
    judge("logistic regression", tested)
    judge("boosting", boosted(public, expit(odds), judged))
    judge("votes", student(labels(1, every)[0], public, judged))
    for share in SHARES:
        odds, tested = log_odds(split, part(epsilon, share), seed)
        judge(f"{share:g} logistic regression", tested)
        told = labels(1 - share, every)
        wide = [np.column_stack(each) for each in ((public, odds), (judged, tested))]
        judge(f"{share:g} feature", student(told[0], *wide))
        unsure = np.argsort(np.abs(odds))[: pool // 4]
        bought = (("prior", every, told), ("unsure", unsure, labels(1 - share, unsure)))
        for use, rows, answers in bought:
            slope, constant, *weights = starting_from(odds[rows], public[rows], *answers)
            judge(f"{share:g} {use}", slope * tested + constant + judged @ weights)
        judge(f"{share:g} boosting", boosted(public, 0.7 * expit(odds) + 0.3 * told[0], judged))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=sets.available())
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1.0, 2.0])
    parser.add_argument("--pools", nargs="+", type=int, default=list(sets.POOLS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--votes", type=Path, default=VOTES)
    parser.add_argument("--quick", action="store_true", help="Adult, 400 rows, epsilon 1, 2 seeds")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["adult"], pools=[400], epsilons=[1.0], seeds=2)
    given = parser.parse_args()
    given.votes.mkdir(parents=True, exist_ok=True)
    names, pools, epsilons, seeds = given.sets, given.pools, given.epsilons, given.seeds
    warnings.simplefilter("ignore")
    for name, pool, epsilon in product(names, pools, epsilons):
        runs = [run(given.votes, name, pool, epsilon, seed) for seed in range(seeds)]
        print(f"\n{name}, {pool} public rows, epsilon {epsilon:g}, {seeds} seeds")
        print(
            f"{'share, use':<28}accuracy    AUC   less the logistic regression on the whole budget"
        )
        for use in runs[0]:
            values = np.array([each[use] for each in runs])
            gained = values - np.array([each["logistic regression"] for each in runs])
            errors = gained.std(axis=0, ddof=1) / np.sqrt(seeds) if seeds > 1 else [np.nan] * 2
            (accuracy, area), (gain, more) = values.mean(axis=0), gained.mean(axis=0)
            print(
                f"{use:<28}{accuracy:.4f}   {area:.4f}   {gain:+.4f} +- {errors[0]:.4f}   "
                f"{more:+.4f} +- {errors[1]:.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
