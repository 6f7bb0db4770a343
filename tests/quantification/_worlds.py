"""Simulated bags of three classes, and groups to be estimated."""

from functools import cache

import numpy as np

from secretballot.quantification import MMDClassRatioEstimator

CENTRES = np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])


def draw(rng, counts):
    """A bag with these numbers of three classes."""
    y = np.repeat(np.arange(3), counts)
    return CENTRES[y] + rng.normal(size=(len(y), 3)), y


@cache
def world(seed=0, n_bags=5, size=120, n_tests=8):
    rng = np.random.default_rng(seed)
    laws = np.r_[0.7 * np.eye(3) + 0.1, rng.dirichlet(np.ones(3), size=n_bags - 3)]
    counts = [rng.multinomial(size, law) for law in laws]
    wanted = [rng.multinomial(size, law) for law in rng.dirichlet(np.full(3, 0.5), size=n_tests)]
    bags, labels = zip(*[draw(rng, c) for c in counts], strict=True)
    tests = [draw(rng, c)[0] for c in wanted]
    return list(bags), np.array(counts) / size, tests, np.array(wanted) / size, labels


@cache
def fitted(**options):
    """The estimator with some parameters, fitted on the first world. For all: don't change it."""
    bags, P, *_ = world()
    return MMDClassRatioEstimator(random_state=0, **options).fit(bags, P)


def error(ratios, truth):
    return np.abs(ratios - truth).sum(axis=1).mean()
