"""How often intervals cover: few instances, few bags, and private noise, in simulated worlds.

    python benchmarks/class_ratios/coverage.py [--repeats 100] [--small-groups]

`--small-groups`: groups of 1 to 20 alone, and the population's ratios as well as the group's.

Two or three classes of unit Gaussians at distance 2.8, bags with Dirichlet(1) proportions (one bag
for each class has most of it), eight groups with Dirichlet(.7). Private proportions at delta 1e-5.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from rivals import counted

from secretballot import publish_proportions
from secretballot.quantification import MMDClassRatioEstimator

Array = np.ndarray
#: Classes, bags, instances in each, in a group, epsilon, learned features, confidence.
SETTINGS = (
    (3, 5, 200, 200, None, False, 0.5),
    (3, 5, 200, 200, None, False, 0.8),
    (3, 5, 200, 200, None, False, 0.9),
    (3, 5, 200, 200, None, False, 0.95),
    (3, 5, 40, 40, None, False, 0.9),
    (3, 5, 40, 300, None, False, 0.9),
    (3, 3, 40, 40, None, False, 0.9),
    (2, 2, 40, 40, None, False, 0.9),
    (2, 2, 200, 200, None, False, 0.9),
    (3, 6, 300, 300, 0.2, False, 0.9),
    (3, 6, 300, 300, 0.1, False, 0.9),
    (3, 5, 200, 200, None, True, 0.9),
    (3, 5, 60, 60, None, True, 0.9),
    (3, 6, 300, 300, 0.2, True, 0.9),
)


#: Classes and bags, for groups of these sizes.
SMALL_GROUPS = (1, 2, 3, 5, 10, 20)
SMALL_SETTINGS = ((2, 4), (3, 5))


def world(c: int, n_bags: int, size: int, group_size: int, seed: int) -> tuple[Any, Any, Array]:
    """Bags and groups, lists of instances with their labels, and the groups' populations."""
    rng = np.random.default_rng([seed, 1])
    laws = np.r_[0.7 * np.eye(c) + 0.3 / c, rng.dirichlet(np.ones(c), size=n_bags - c)]
    wanted = rng.dirichlet(np.full(c, 0.7), size=8)

    def draw(law: Array, n: int) -> tuple[Array, Array]:
        y = rng.choice(c, size=n, p=law)
        return 2 * np.eye(3)[y] + rng.normal(size=(n, 3)), y

    return [draw(law, size) for law in laws], [draw(law, group_size) for law in wanted], wanted


def shares(drawn: list[tuple[Array, Array]], c: int) -> Array:
    return np.array([np.bincount(y, minlength=c) / len(y) for _, y in drawn])


def covered(setting: tuple, seed: int, target: str = "group") -> tuple[float, float, float]:
    """Return the coverage, the mean width and the L1 error in one world."""
    c, n_bags, size, group_size, epsilon, learned, confidence = setting
    drawn, groups, wanted = world(c, n_bags, size, group_size, seed)
    bags, tests = [X for X, _ in drawn], [X for X, _ in groups]
    given: Any = shares(drawn, c)
    if epsilon is not None:
        labels = [y for _, y in drawn]
        given = publish_proportions(labels, range(c), epsilon, 1e-5, random_state=seed)
    model = MMDClassRatioEstimator("linear" if learned else "rbf", random_state=seed)
    if learned:
        softmax = counted(n_components=100, max_iter=60)
        bags, tests = softmax.fit_transform(bags, given), softmax.transform(tests)
    found, lower, upper = model.fit(bags, given).predict_interval(tests, confidence, target=target)
    truth = shares(groups, c) if target == "group" else wanted
    inside = (lower <= truth) & (truth <= upper)
    return inside.mean(), (upper - lower).mean(), np.abs(found - truth).sum(axis=1).mean()


def measure(setting: tuple, repeats: int, target: str = "group") -> None:
    c, n_bags, size, group_size, epsilon, learned, confidence = setting
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeded noise, and misfits by chance
        found = np.array([covered(setting, seed, target) for seed in range(100, 100 + repeats)])
    rate, width, error = found.mean(axis=0)
    off = found[:, 0].std() / np.sqrt(repeats)
    what = f"{c}, {n_bags} of {size}, {group_size}"
    print(f"{what:<30}{epsilon or '':>8}{'learned' if learned else '':>9}{target:>11}", end="")
    print(f"{confidence:>8}{rate:>8.3f} +- {off:.3f}{width:>8.3f}{error:>8.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--small-groups", action="store_true")
    options = parser.parse_args()
    print(f"{'classes, bags of, groups of':<30}{'epsilon':>8}{'features':>9}{'target':>11}", end="")
    print(f"{'wanted':>8}{'covered':>16}{'width':>8}{'L1':>8}")
    if not options.small_groups:
        for setting in SETTINGS:
            measure(setting, options.repeats)
        return
    for c, n_bags in SMALL_SETTINGS:
        for target in ("group", "population"):
            for size in SMALL_GROUPS:
                measure((c, n_bags, 200, size, None, False, 0.95), options.repeats, target)


if __name__ == "__main__":
    main()
