"""More than two classes: ours beside softmax gradient descent, at equal epsilon.

    python benchmarks/equal_epsilon/classes.py [--sets mnist digits make26 ...] [--epsilons 1 4]
        [--seeds 5] [--public 400] [--kernel] [--quick]

The sets are in `class_sets.py`; of MNIST and digits, ours takes principal components of the public
rows. The error of calibration is that of the largest probability: 15 bins of as many test rows.

Gradient descent takes the same features and all rows in each step. A row's gradient is clipped, and
charged exactly (mu = 2 clip / sd each, mu^2 adds); the weights are averaged over the later half.
Its grid is `STEPS` x `RATES` x `CLIPS`, and the best setting *on the test rows* counts. Rates are
multiplied by the number of classes over the largest eigenvalue of the features' second moments.
With `--kernel` the components are columns, and both take the same random cosines of them.
`class_features.py` compares our kinds of features.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings

import numpy as np
from class_sets import N_COMPONENTS, component_rows, rows
from fits import DELTA, calibration_error, gain, logistic
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.decomposition import PCA

from secretballot.costs._cost import gaussian_budget

MOMENTUM = 0.8
STEPS, RATES, CLIPS = (20, 60), (1.0, 3.0, 10.0, 30.0), (0.3, 0.6)

Floats = NDArray[np.float64]


def scores(p: Floats, answers: NDArray[np.int_]) -> tuple[float, float]:
    """Return accuracy, and the calibration error of the largest probabilities."""
    right = p.argmax(axis=1) == answers
    return float(right.mean()), calibration_error(p.max(axis=1), right)


def descend(
    X: Floats, y: Floats, steps: int, rate: float, clip: float, epsilon: float, seed: int
) -> Floats:
    """Return the mean weights of all classes by noisy gradient descent; clips are relative."""
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
    return total / (steps - steps // 2)


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
    print(
        "| set, epsilon | ours | processor seconds | descent | its steps, rate, clip | difference "
        "| calibration error: ours, descent |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, epsilon in itertools.product(given.sets, given.epsilons):
        ours, seconds, theirs = [], [], []
        for seed in range(given.seeds):
            load = component_rows if given.kernel else rows
            X, y, public, X_test, answers = load(name, given.public, seed)
            features: PCA | str = "kernel" if given.kernel else "linear"
            if name in N_COMPONENTS and not given.kernel:
                features = PCA(N_COMPONENTS[name], random_state=0)
            start = time.process_time()
            model = logistic(
                X, y, public, epsilon, seed, features=features, check_public_rows=False
            )
            seconds.append(time.process_time() - start)
            p = model.predict_proba(X_test)
            ours.append(scores(p, answers))
            private, test = (model._public_features.transform(part) for part in (X, X_test))
            theirs.append([])
            for how in grid:
                p = softmax(test @ descend(private, y, *how, epsilon, seed), axis=1)
                theirs[-1].append(scores(p, answers))
        means = np.mean(theirs, axis=0)
        best = int(means[:, 0].argmax())
        difference = np.array(ours)[:, 0] - np.array(theirs)[:, best, 0]
        right, gap = np.mean(ours, axis=0)
        print(
            f"| {name}, {epsilon:g} | {right:.4f} | {np.mean(seconds):.1f} | "
            f"{means[best, 0]:.4f} | {grid[best]} | {gain(difference)} | "
            f"{gap:.3f}, {means[best, 1]:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
