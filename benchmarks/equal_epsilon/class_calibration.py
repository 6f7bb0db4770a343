"""Probabilities of three classes and more, without and with the factor of scores.

    python benchmarks/equal_epsilon/class_calibration.py [SET/FEATURES ...] [--epsilons 1 4]
        [--seeds 5] [--public 400] [--quick]

The sets are in `class_sets.py`; of MNIST and digits the columns are principal components of the
public rows, or with `linear` the features are. Log loss, and the error of calibration of the
largest probability (15 bins of as many test rows), both on the test rows: without the factor, with
it, and the difference with its standard error. Both have the same releases. "Best" is the factor of
the scores with the least log loss on the test rows.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from unittest.mock import patch

import numpy as np
from class_sets import N_COMPONENTS, rows
from classes import DELTA, calibration_error
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.decomposition import PCA

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.linear.rounds._score_factor import ScoreEquation

SETS = (
    ["education/additive", "workclass/additive", "late/additive", "steps/additive"]
    + ["mnist/linear", "mnist/kernel", "digits/linear", "digits/kernel", "digits/additive"]
    + ["make3:2000/linear", "make3/linear", "make3/kernel", "make10:2000/kernel", "make10/kernel"]
    + ["make26/linear", "make26/kernel", "signs/kernel"]
)

Floats = NDArray[np.float64]


def fit(
    name: str, features: str, epsilon: float, public: int, seed: int
) -> tuple[Floats, NDArray[np.int_], float]:
    """Return the scores of test rows without the factor, their classes, and the factor."""
    X, y, pool, X_test, answers = rows(name, public, seed)
    given: PCA | str = features
    kind = name.partition(":")[0]
    if kind in N_COMPONENTS:
        pca = PCA(N_COMPONENTS[kind], random_state=0)
        if features == "linear":
            given = pca
        else:
            pca.fit(pool)
            X, pool, X_test = (pca.transform(part) for part in (X, pool, X_test))
    model = PrivateLogisticRegression(
        given,
        classes=list(range(int(y.max()) + 1)),
        accountant=PrivacyAccountant(epsilon, DELTA),
        check_public_rows=False,
        random_state=seed,
    )
    factors, estimate = [], ScoreEquation.factor

    def record(equation: ScoreEquation) -> float:
        factors.append(estimate(equation))
        return factors[-1]

    with patch.object(ScoreEquation, "factor", record):
        model.fit(X, y, X_public=PublicData(pool, may_be_private=True))
    return model.decision_function(X_test) / factors[-1], answers, factors[-1]


def log_loss(scores: Floats, answers: NDArray[np.int_]) -> float:
    """Return the mean of minus the logarithm of the probability of the right class."""
    return -float(log_softmax(scores, axis=1)[np.arange(len(answers)), answers].mean())


def figures(scores: Floats, answers: NDArray[np.int_], factor: float) -> list[float]:
    """Return log losses and errors of calibration without and with a factor, it, and the best."""

    def loss(factor: float) -> float:
        return log_loss(factor * scores, answers)

    best = minimize_scalar(loss, bounds=(0.1, 4.0), method="bounded").x
    errors = [calibration_error(softmax(each * scores, axis=1), answers) for each in (1, factor)]
    return [loss(1.0), loss(factor), *errors, factor, float(best)]


def change(before: Floats, after: Floats) -> str:
    """Return both means, and the mean difference with its standard error, as text."""
    gaps = after - before
    error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.nan
    return f"{before.mean():.4f} -> {after.mean():.4f} ({gaps.mean():+.4f} +- {error:.4f})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", metavar="SET/FEATURES")
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 4.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--public", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="linear features of digits, two seeds")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["digits/linear"], seeds=2)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise is seeded
    print("| set, features, epsilon | log loss | calibration error | factor | best |")
    print("| --- | --- | --- | --- | --- |")
    for words, epsilon in itertools.product(given.sets or SETS, given.epsilons):
        name, _, features = words.partition("/")
        found = [
            figures(*fit(name, features, epsilon, given.public, seed))
            for seed in range(given.seeds)
        ]
        without, with_, error_without, error_with, factor, best = np.array(found).T
        print(
            f"| {name}, {features}, {epsilon:g} | {change(without, with_)} "
            f"| {change(error_without, error_with)} | {factor.mean():.2f} | {best.mean():.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
