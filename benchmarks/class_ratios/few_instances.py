"""Learned features of few instances: how far answers hang on the draw, and what further bags bring.

    python benchmarks/class_ratios/few_instances.py [--once]

110 to 240 instances in all, of two or three classes, in 2 to 6 bags; ten test groups of 80 with
Dirichlet(.6) ratios, from instances left. Two draws of the data, five values of random_state each.
L1 errors. `--once`: one fold chooses and one draw of folds gives the output, as for many instances.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from protocol import adult, digits, four_laws, l1, make_task
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot.quantification import (
    MMDClassRatioEstimator,
    PerBag,
    SoftmaxClassRatioEstimator,
    _softmax_class_ratio,
)

N_TESTS, TEST_SIZE, RESERVED = 10, 80, 8


def some_digits(*classes: int):
    X, y = digits()
    taken = np.isin(y, classes)
    return X[taken], np.searchsorted(classes, y[taken])


def sets():
    """Name, instances, labels and how many instances are in bags."""
    return {
        "digits 3, 8": (*some_digits(3, 8), 240),
        "digits 1, 8, 9": (*some_digits(1, 8, 9), 240),
        "wine": (*load_wine(return_X_y=True), 110),
        "breast cancer": (*load_breast_cancer(return_X_y=True), 240),
    }


def task(X, y, total: int, n_bags: int, seed: int):
    """Bags whose shares go from .15 to .85, or are .7 of each class first; and test groups."""
    rng = np.random.default_rng([seed, 5])
    c = int(y.max()) + 1
    if c == 2:
        P = np.linspace(0.15, 0.85, n_bags)
        P = np.c_[P, 1 - P]
    else:
        more = rng.dirichlet(np.ones(c), size=max(n_bags - c, 0))
        P = np.vstack([0.55 * np.eye(c) + 0.45 / c, more])
    left = [rng.permutation(np.flatnonzero(y == k)) for k in range(c)]
    rows = []
    for wanted in P:
        bag = []
        for k, count in enumerate(rng.multinomial(total // n_bags, wanted)):
            taken = min(count, max(len(left[k]) - RESERVED, 0))
            bag.append(left[k][:taken])
            left[k] = left[k][taken:]
        rows.append(np.concatenate(bag))
    known = np.array([np.bincount(y[bag], minlength=c) / len(bag) for bag in rows])
    counts = [rng.multinomial(TEST_SIZE, r) for r in rng.dirichlet(np.full(c, 0.6), size=N_TESTS)]
    tests = [np.concatenate([rng.choice(left[k], n) for k, n in enumerate(row)]) for row in counts]
    return [X[b] for b in rows], known, [X[t] for t in tests], np.array(counts) / TEST_SIZE


def steps(seed: int):
    softmax = SoftmaxClassRatioEstimator(random_state=seed)
    return softmax, MMDClassRatioEstimator(kernel="linear", random_state=seed)


def draws() -> None:
    found = []
    for name, (X, y, total) in sets().items():
        for n_bags in (max(2, int(y.max()) + 1), 4, 6):
            errors = []
            for data in range(2):
                bags, P, tests, ratios = task(X, y, total, n_bags, data)
                models = [make_pipeline(PerBag(StandardScaler()), *steps(s)) for s in range(5)]
                errors.append([l1(m.fit(bags, P).predict(tests), ratios).mean() for m in models])
            spread = np.std(errors, axis=1, ddof=1).mean()
            found.append((np.mean(errors), spread, np.max(errors)))
            print(
                f"{name:<16}{n_bags} bags: error {found[-1][0]:.3f}, its sd over random_state "
                f"{spread:.3f}, worst {found[-1][2]:.3f}",
                flush=True,
            )
    error, spread, worst = np.mean(found, axis=0)
    most = np.max(found, axis=0)[1]
    print(f"mean: error {error:.3f}, sd {spread:.3f} (at most {most:.3f}), worst {worst:.3f}")


def further_bags() -> None:
    """Features of half of the bags; the means of these, of all, and all learned from all."""
    for name, (X, y), size, test_size, rho, n_bags in (
        ("digits", digits(), 50, 100, 0.05, 20),
        ("Adult", adult(), 300, 300, 0.15, 8),
    ):
        errors = []
        for seed in range(4):
            laws = four_laws(int(y.max()) + 1, seed)
            made = make_task(X, y, seed, rho, size, laws, test_size, n_bags=n_bags)
            bags, P, half = list(made.bags.X), made.proportions, n_bags // 2
            softmax, means = steps(0)
            means.partial_fit(softmax.fit_transform(bags[:half], P[:half]), P[:half])
            tests = softmax.transform(made.tests)
            found = [means.predict(tests)]
            means.partial_fit(softmax.transform(bags[half:]), P[half:])
            found += [means.predict(tests)]
            found += [make_pipeline(*steps(0)).fit(bags, P).predict(made.tests)]
            errors.append([l1(each, made.ratios).mean() for each in found])
        first, more, whole = np.mean(errors, axis=0)
        print(f"{name}: half the bags {first:.3f}, means of all {more:.3f}, one fit {whole:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--once", action="store_true")
    if parser.parse_args().once:
        _softmax_class_ratio._ENOUGH = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes that can't be told apart
        draws()
        further_bags()


if __name__ == "__main__":
    main()
