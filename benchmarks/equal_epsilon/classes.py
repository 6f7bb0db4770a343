"""More than two classes: ours beside softmax gradient descent, at equal epsilon.

    python benchmarks/equal_epsilon/classes.py [--sets mnist digits] [--epsilons 1 4] [--seeds 5]
        [--public 400] [--kernel] [--quick]

mnist   principal components (30) of the public rows; private rows are 53,000
digits  principal components (15) of the public rows; 1,097 private rows

Gradient descent takes the same features and all rows in each step. A row's gradient is clipped, and
charged exactly (mu = 2 clip / sd each, mu^2 adds); the weights are averaged over the later half.
Its grid is `STEPS` x `RATES` x `CLIPS`, and the best setting *on the test rows* counts. Rates are
multiplied by the number of classes over the largest eigenvalue of the features' second moments.
With `--kernel` the components are columns, and both take the same random cosines of them.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sets import SHARED
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.divergences import gaussian_budget

DELTA, MOMENTUM = 1e-5, 0.8
STEPS, RATES, CLIPS = (20, 60), (1.0, 3.0, 10.0, 30.0), (0.3, 0.6)
N_COMPONENTS = {"mnist": 30, "digits": 15}

Floats = NDArray[np.float64]


def rows(name: str, public: int, seed: int) -> tuple[Floats, ...]:
    """Return private rows, their classes, public rows, test rows and their classes."""
    rng = np.random.default_rng(seed)
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        order = rng.permutation(len(y))
        test, private = order[300:700], order[700:]
        return X[private], y[private], X[order[: min(public, 300)]], X[test], y[test]
    with np.load(SHARED / "mnist.npz") as mnist:
        X = mnist["X_train"].reshape(60_000, -1) / 255
        X_test = mnist["X_test"].reshape(10_000, -1) / 255
        y, answers = mnist["y_train"].astype(int), mnist["y_test"].astype(int)
    order = rng.permutation(len(y))
    return X[order[7000:]], y[order[7000:]], X[order[:public]], X_test, answers


def descend(
    X: Floats, y: Floats, steps: int, rate: float, clip: float, epsilon: float, seed: int
) -> Floats:
    """Return the weights of all classes by noisy gradient descent; clips are relative."""
    n_rows, n_features = X.shape
    n_classes = int(y.max()) + 1
    lengths = np.linalg.norm(X, axis=1)
    largest = clip * float(np.quantile(lengths, 0.9))
    deviation = 2 * largest * np.sqrt(steps / gaussian_budget(epsilon, DELTA, 0.0))
    rng = np.random.default_rng([seed, steps, int(100 * rate), int(100 * clip)])
    rate *= n_classes / float(np.linalg.eigvalsh(X.T @ X / n_rows)[-1])
    weights, pace = np.zeros((n_features, n_classes)), np.zeros((n_features, n_classes))
    total, targets = np.zeros_like(weights), np.eye(n_classes)[y]
    for step in range(steps):
        residuals = targets - softmax(X @ weights, axis=1)
        norms = np.linalg.norm(residuals, axis=1) * lengths
        clipped = residuals * np.minimum(1, largest / np.maximum(norms, 1e-12))[:, None]
        gradient = X.T @ clipped + deviation * rng.normal(size=weights.shape)
        pace = MOMENTUM * pace + (1 - MOMENTUM) * rate * gradient / n_rows
        weights = weights + pace
        if step >= steps // 2:
            total += weights
    return total


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=["mnist", "digits"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 4.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--public", type=int, default=400)
    parser.add_argument("--kernel", action="store_true")
    parser.add_argument("--quick", action="store_true", help="digits, two seeds")
    if parser.parse_args().quick:
        parser.set_defaults(sets=["digits"], seeds=2)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise is seeded
    grid = list(itertools.product(STEPS, RATES, CLIPS))
    print("| set, epsilon | ours | seconds | descent | its steps, rate, clip | difference |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, epsilon in itertools.product(given.sets, given.epsilons):
        ours, seconds, theirs = [], [], []
        for seed in range(given.seeds):
            X, y, public, X_test, answers = rows(name, given.public, seed)
            components: PCA | str = PCA(N_COMPONENTS[name], random_state=0)
            if given.kernel:
                pca = PCA(N_COMPONENTS[name], random_state=0).fit(public)
                X, public, X_test = (pca.transform(part) for part in (X, public, X_test))
                components = "kernel"
            model = PrivateLogisticRegression(
                components,
                classes=list(range(10)),
                accountant=PrivacyAccountant(epsilon, DELTA),
                check_public_rows=False,
                random_state=seed,
            )
            start = time.perf_counter()
            model.fit(X, y, X_public=PublicData(public))
            seconds.append(time.perf_counter() - start)
            ours.append(model.score(X_test, answers))
            features, test = (model._public_features.transform(part) for part in (X, X_test))
            theirs.append(
                [
                    np.mean((test @ descend(features, y, *how, epsilon, seed)).argmax(1) == answers)
                    for how in grid
                ]
            )
        best = int(np.mean(theirs, axis=0).argmax())
        difference = np.array(ours) - np.array(theirs)[:, best]
        error = difference.std(ddof=1) / np.sqrt(given.seeds) if given.seeds > 1 else np.nan
        print(
            f"| {name}, {epsilon:g} | {np.mean(ours):.4f} | {np.mean(seconds):.1f} | "
            f"{np.mean(theirs, axis=0)[best]:.4f} | {grid[best]} | "
            f"{difference.mean():.4f} +- {error:.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
