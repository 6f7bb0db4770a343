"""Can any classifier with `sample_weight` know the noise of its labels? Soft labels, and a control.

    python benchmarks/equal_epsilon/soft_labels.py [--sets adult bank credit] [--teachers 500]
        [--pools 400 2000] [--epsilons .25 .5 1 2] [--seeds 5] [--draws 3] [--quick] [--votes DIR]

Winners of noisy votes of logistic teachers (`students.py`, which keeps the votes), on 400 or 2,000
public rows; delta 1e-5, one row replaced. Each classifier is fitted on the labels as they are, and
on each row twice, with both classes, weighted by the share of ballots that is expected given the
label, the noise, and what the classifier says of the row without its label: out of the bag of a
forest, out of fold of others. Gains are of the same draws:

soft        over the labels as they are
as many     the same with twice as many rows a leaf, since each row is there twice: the control

"chosen" is a forest whose rows a leaf are chosen by the labels as they are, out of the bag, which
anybody can do. "best" is the best one on the test rows.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import StandardScaler
from students import EPSILONS, POOLS, ROOT, data, noise, votes

LEAVES = (1, 5, 10, 20)
N_TEST = 4_000

Vector = NDArray[np.float64]


def boosting(leaf: int = 20) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        max_iter=60,
        learning_rate=0.08,
        min_samples_leaf=leaf,
        early_stopping=False,
        random_state=0,
    )


def forest(leaf: int) -> RandomForestClassifier:
    return RandomForestClassifier(40, min_samples_leaf=leaf, oob_score=True, random_state=0)


def expected(chances: Vector, labels: NDArray[np.int64], pace: float) -> Vector:
    """Return expected shares of the second class, a step of the likelihood from `chances`.

    Those are of its label; a share p has that label with the probability Phi(pace (2 p - 1)).
    """
    signs = 2 * labels - 1
    shares = np.clip(0.5 + ndtri(np.clip(chances, 0.01, 0.99)) / pace / 2, 0.02, 0.98)
    margins = signs * pace * (2 * shares - 1)
    ratio = np.exp(-(margins**2) / 2 - log_ndtr(margins)) / np.sqrt(2 * np.pi)
    return np.clip(shares + signs * ratio * 2 * pace / (8 * pace**2 / np.pi + 4), 0, 1)


def softly(model, X: Vector, weights: Vector):
    both = np.repeat([1, 0], len(X))
    model = clone(model)
    if hasattr(model, "oob_score"):
        model.set_params(oob_score=False)
    return model.fit(np.vstack([X, X]), both, np.concatenate([weights, 1 - weights]))


def run(folder, name, seed, draw, n_teachers, n_rows, epsilon) -> dict[tuple[str, str], float]:
    """Accuracies by classifier and labels; none where the labels are (nearly) all alike."""
    X, y, test, pool, _ = data(name, seed)
    test, pool = test[:N_TEST], pool[:n_rows]
    counts = votes(folder, name, seed, n_teachers, None)[:n_rows]
    sigma, rng = noise(epsilon, n_rows), np.random.default_rng([seed, draw])
    gap = 2 * counts - n_teachers + rng.normal(scale=np.sqrt(2) * sigma, size=n_rows)
    labels, pace = (gap > 0).astype(int), n_teachers / (np.sqrt(2) * sigma)
    if min(np.bincount(labels, minlength=2)) < 5:
        return {}
    scale = StandardScaler().fit(X[pool])
    learned, judged = scale.transform(X[pool]), scale.transform(X[test])
    found, agreed = {}, {}

    def judge(name: str, how: str, model) -> None:
        found[name, how] = float(np.mean(model.predict(judged) == y[test]))

    for leaf in LEAVES:
        each = f"forest, {leaf} a leaf"
        plain = forest(leaf).fit(learned, labels)
        chances = np.nan_to_num(plain.oob_decision_function_[:, 1], nan=0.5)
        agreed[each] = np.mean((chances > 0.5) == labels)
        judge(each, "plain", plain)
        weights = expected(chances, labels, pace)
        judge(each, "soft", softly(plain, learned, weights))
        judge(each, "as many", softly(forest(2 * leaf), learned, weights))
    for each, model in (
        ("boosting", boosting()),
        ("boosting, 80 a leaf", boosting(80)),
        ("logistic", LogisticRegression(max_iter=500)),
        ("logistic, C .1", LogisticRegression(C=0.1, max_iter=500)),
    ):
        chances = cross_val_predict(model, learned, labels, cv=4, method="predict_proba")[:, 1]
        judge(each, "plain", clone(model).fit(learned, labels))
        judge(each, "soft", softly(model, learned, expected(chances, labels, pace)))
    for how in ("plain", "soft", "as many"):
        found["forest, chosen", how] = found[max(agreed, key=agreed.__getitem__), how]
        found["forest, best", how] = max(found[each, how] for each in agreed)
    return found


def show(title: str, runs: list[dict[tuple[str, str], float]]) -> None:
    """Print means of plain fits, and what soft labels add, of the same draws."""
    print(f"\n{title}, {len(runs)} draws\n{'':<22}plain    gained by soft labels")
    for name in dict.fromkeys(name for name, _ in runs[0]):
        plain = np.array([run[name, "plain"] for run in runs])
        line = f"{name:<22}{plain.mean():.4f}"
        for how in ("soft", "as many"):
            if (name, how) in runs[0]:
                gained = np.array([run[name, how] for run in runs]) - plain
                error = gained.std() / np.sqrt(len(gained))
                line += f"   {how} {gained.mean():+.4f} +- {error:.4f}"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["adult", "bank", "credit"])
    parser.add_argument("--teachers", nargs="+", type=int, default=[500])
    parser.add_argument("--pools", nargs="+", type=int, default=list(POOLS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--votes", type=Path, default=ROOT / "output" / "votes")
    parser.add_argument("--quick", action="store_true", help="Adult, 400 rows, epsilon 1, 2 seeds")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["adult"], pools=[400], epsilons=[1.0], seeds=2, draws=1)
    given = parser.parse_args()
    given.votes.mkdir(parents=True, exist_ok=True)
    settings = [given.sets, given.teachers, given.pools, given.epsilons]
    warnings.simplefilter("ignore")
    every = []
    for name, n_teachers, n_rows, epsilon in product(*settings):
        runs = [
            run(given.votes, name, seed, draw, n_teachers, n_rows, epsilon)
            for seed in range(given.seeds)
            for draw in range(given.draws)
        ]
        runs = [each for each in runs if each]
        every += runs
        if runs:
            show(f"{name}, {n_teachers} teachers, {n_rows} rows, epsilon {epsilon:g}", runs)
    show("all settings", every)


if __name__ == "__main__":
    main()
