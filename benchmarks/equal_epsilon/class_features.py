"""Features of three classes and more: what "auto" chooses, beside each kind by name.

    python benchmarks/equal_epsilon/class_features.py [--sets digits late make3 make10 ...]
        [--features auto additive kernel linear] [--widths .25 4] [--epsilons 1 4] [--seeds 5]
        [--public 400] [--cosines 50 200] [--pilots .1] [--quick]

The sets are in `class_sets.py`; of MNIST and digits the columns are principal components of the
public rows. Test accuracy; differences from single columns ("additive") on the same splits and
seeds, with their standard errors; in how many fits "auto" chose kernels. `--widths` adds kernels
so many times as wide as the rule of `choose_width`, between its bounds; `--cosines` kernels of so
many directions, and `--pilots` "auto" with other shares of rounds before the comparison.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from class_sets import N_COMPONENTS, rows
from sklearn.decomposition import PCA

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.linear import _fit_size, _pilot_rounds
from secretballot.linear._model_size import choose_width
from secretballot.linear.features import _kernel_features

DELTA = 1e-5


class Way(NamedTuple):
    """Features, and what differs from the shipped rules."""

    features: str
    name: str
    width: float = 1.0
    cosines: int = 400
    pilot: float = 0.15


def fit(name: str, way: Way, epsilon: float, public: int, seed: int) -> tuple[float, bool, float]:
    """Return test accuracy, whether features are kernels, and processor time."""
    X, y, pool, X_test, answers = rows(name, public, seed)
    if name.partition(":")[0] in N_COMPONENTS:
        pca = PCA(N_COMPONENTS[name.partition(":")[0]], random_state=0).fit(pool)
        X, pool, X_test = (pca.transform(part) for part in (X, pool, X_test))
    model = PrivateLogisticRegression(
        way.features,
        classes=list(range(int(y.max()) + 1)),
        accountant=PrivacyAccountant(epsilon, DELTA),
        check_public_rows=False,
        random_state=seed,
    )

    def width(signal: float, n_outputs: int) -> float:
        return choose_width(signal * way.width**0.5, n_outputs)

    start = time.process_time()
    with (
        patch.object(_fit_size, "choose_width", width),
        patch.object(_kernel_features, "_N_COSINES", way.cosines),
        patch.object(_pilot_rounds, "_PILOT_SHARE", way.pilot),
    ):
        model.fit(X, y, X_public=PublicData(pool, may_be_private=True))
    seconds = time.process_time() - start
    return float(model.score(X_test, answers)), model.features_ == "kernel", seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sets = ["digits", "make3:2000", "make10:2000", "make10", "late", "education", "workclass"]
    parser.add_argument("--sets", nargs="+", default=[*sets, "steps", "signs", "mnist"])
    kinds = ["auto", "additive", "kernel", "linear"]
    parser.add_argument("--features", nargs="+", default=kinds)
    parser.add_argument("--widths", nargs="*", type=float, default=[])
    parser.add_argument("--cosines", nargs="*", type=int, default=[])
    parser.add_argument("--pilots", nargs="*", type=float, default=[])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 4.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--public", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="digits, two seeds")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["digits"], seeds=2)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise is seeded
    ways = [Way(kind, kind) for kind in given.features]
    ways += [Way("kernel", f"kernel, {each:g} x", width=each) for each in given.widths]
    ways += [Way("kernel", f"{each} cosines", cosines=each) for each in given.cosines]
    ways += [Way("auto", f"auto, pilot {each:g}", pilot=each) for each in given.pilots]
    names = [way.name for way in ways]
    print("| set, epsilon | " + " | ".join(names) + " |")
    print("| --- " * (len(names) + 1) + "|")
    for name, epsilon in itertools.product(given.sets, given.epsilons):
        fits = np.array(
            [
                [fit(name, way, epsilon, given.public, seed) for way in ways]
                for seed in range(given.seeds)
            ]
        )
        cells = []
        for place, way in enumerate(ways):
            right, chosen, seconds = fits[:, place].mean(axis=0)
            cell = f"{right:.4f}"
            if "additive" in given.features and names[place] != "additive":
                gains = fits[:, place, 0] - fits[:, given.features.index("additive"), 0]
                error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
                cell += f" ({gains.mean():+.4f} +- {error:.4f})"
            if way.features == "auto":
                cell += f", kernels in {chosen * given.seeds:.0f}"
            cells.append(f"{cell}, {seconds:.1f} s")
        print(f"| {name}, {epsilon:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
