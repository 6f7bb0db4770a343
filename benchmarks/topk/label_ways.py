"""Ways to choose the labels of rows: what each is charged, and how much noise it may have."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting import EVERYONE, RenyiCost
from secretballot.mechanisms import (
    BinaryVoting,
    ExponentialTopK,
    StableTopK,
    TauVoting,
    clip_ballots,
)

sys.path.append(str(Path(__file__).resolve().parents[1] / "accounting"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "multilabel"))
from accountings import PUBLISHED, label_costs
from ballots import Ballots, load_ballots, simulated
from papernot import published

DELTA, N_ROWS, N_DRAWS = 1e-5, 100, 5
#: Labels of the set that is simulated altogether.
DENSE = 400
SHARES = (0.2, 0.35, 0.5)
#: Grids: noise grows by this much a step, between these shares of the number of teachers.
STEP, LEAST, MOST = 1.12, 0.002, 2.0


class Setting(NamedTuple):
    """Teachers of a set, norms of ballots, and how many labels rows are publicly said to have."""

    n_teachers: int
    lift: float
    max_positives: int | None
    taus: tuple[float, ...]
    size: int

    def load(self, name: str, errors: float = 1.0) -> Ballots | None:
        """Return ballots of a set; the errors of simulated ones `errors` times as likely."""
        if name == "dense":
            present = np.random.default_rng(0).random((1_000, DENSE)) < self.size / DENSE
            known = {"n_teachers": self.n_teachers, "errors": errors}
            return simulated(present.astype(np.uint8), N_ROWS, **known)
        return load_ballots(
            name, N_ROWS, self.max_positives, self.n_teachers, self.lift, errors=errors
        )

    def __str__(self) -> str:
        most = "any number" if self.max_positives is None else f"{self.max_positives} at most"
        return f"{self.n_teachers} teachers, lift {self.lift:g}, {most}"


Mechanism = BinaryVoting | TauVoting | StableTopK | ExponentialTopK
Charge = Callable[[Any, NDArray[Any]], float]


class Scores(NamedTuple):
    """Of labels: ACC and F1 with unanswered rows as empty, of answered rows, and their share."""

    ACC: float
    F1: float
    answered: float
    ACC_answered: float
    F1_answered: float


def scores(truth: NDArray[Any], outcome: NDArray[Any]) -> Scores:
    answered = (outcome >= 0).all(axis=1)
    labels = np.maximum(outcome, 0)
    right = (labels == truth).mean(axis=1)
    size = labels.sum(axis=1) + truth.sum(axis=1)
    f1 = np.where(size > 0, 2 * (labels * truth).sum(axis=1) / np.maximum(size, 1), 1.0)
    of = [float(each[answered].mean()) if answered.any() else math.nan for each in (right, f1)]
    return Scores(float(right.mean()), float(f1.mean()), float(answered.mean()), *of)


def balanced(truth: NDArray[Any], labels: NDArray[Any]) -> float:
    """Balanced accuracy, mean over the labels that some rows have and others don't."""
    both = (truth.any(axis=0)) & (~truth.all(axis=0))
    there, called = truth[:, both] == 1, labels[:, both] == 1
    recall = (there & called).sum(axis=0) / there.sum(axis=0)
    return float((recall + (~there & ~called).sum(axis=0) / (~there).sum(axis=0)).mean() / 2)


class Way(NamedTuple):
    """A mechanism without its noise, the counts it is asked about, and what it is charged."""

    name: str
    make: Callable[[float], Any]
    counts: NDArray[Any]
    charge: Charge


def exact(mechanism: Mechanism, counts: NDArray[Any]) -> float:
    """Return epsilon by exact Renyi divergences, whatever the votes are."""
    return float(all_rows(mechanism, counts.shape).epsilon(DELTA))


def papernot(mechanism: Mechanism, counts: NDArray[Any]) -> float:
    """Return epsilon by published accounting, whatever the votes are."""
    return float(all_rows(published(mechanism), counts.shape).epsilon(DELTA, **PUBLISHED))


def all_rows(mechanism: Mechanism, shape: tuple[int, ...]) -> RenyiCost:
    n_rows, n_labels = shape
    if isinstance(mechanism, BinaryVoting):  # as many votes as labels, all alike
        return n_rows * n_labels * mechanism.max_cost(1)[EVERYONE]
    return n_rows * mechanism.max_cost(n_labels)[EVERYONE]


def known(mechanism: BinaryVoting, counts: NDArray[Any], **conversion: Any) -> float:
    curve = label_costs(mechanism, counts).curve.sum(axis=0)
    return float(RenyiCost(curve).epsilon(DELTA, **conversion))


def papernot_known(mechanism: BinaryVoting, counts: NDArray[Any]) -> float:
    """Return epsilon by published accounting of these votes."""
    return known(published(mechanism), counts, **PUBLISHED)


def by_rho(mechanism: StableTopK, counts: NDArray[Any]) -> float:
    """Return epsilon by the paper: rho a row, half of delta for tests."""
    assert mechanism.rho is not None
    rho = len(counts) * mechanism.rho
    return rho + 2 * math.sqrt(rho * math.log(2 / DELTA))


def binary(n: int, weight: float = 1.0) -> Callable[[float], BinaryVoting]:
    return lambda s: BinaryVoting(sigma=s, n_votes=n, weight=weight)


def tau_voting(n: int, tau: float) -> Callable[[float], TauVoting]:
    return lambda s: TauVoting(sigma=s, n_votes=n, tau=tau, norm="l1")


def stable(share: float, **more: Any) -> Callable[[float], StableTopK]:
    """Half of delta is for the tests of all rows."""
    failures = DELTA / 2 / N_ROWS
    return lambda s: StableTopK(rho=1 / s**2, delta_t=failures, choice_share=share, **more)


def methods(data: Ballots, setting: Setting) -> Iterator[Way]:
    counts, n = data.ballots.sum(axis=1, dtype=np.int64), setting.n_teachers
    yield Way("Binary, published", binary(n), counts, papernot)
    yield Way("Binary, ours", binary(n), counts, exact)
    yield Way("Binary, ours, added", binary(n, 0.5), counts, exact)
    yield Way("Binary, published, known", binary(n), counts, papernot_known)
    yield Way("Binary, ours, known", binary(n), counts, known)
    for tau in setting.taus:
        clipped = clip_ballots(data.ballots, tau, "l1").sum(axis=1)
        yield Way("tau, published", tau_voting(n, tau), clipped, papernot)
        yield Way("tau, ours", tau_voting(n, tau), clipped, exact)
    yield Way("StableTopK, published, added", stable(0.5, relation="add_remove"), counts, by_rho)
    yield Way("StableTopK, published", stable(0.5), counts, by_rho)
    for share in SHARES:
        added = stable(share, relation="add_remove")
        yield Way("StableTopK, ours, added", added, counts, exact)
        yield Way("StableTopK, ours", stable(share), counts, exact)
    for k in {max(1, setting.size - 1), setting.size, setting.size + 2}:
        make = partial(fixed, k)
        yield Way("ExponentialTopK, ours", make, counts, exact)


def fixed(k: int, s: float) -> ExponentialTopK:
    return ExponentialTopK(rho=1 / s**2, k=k)


class Found(NamedTuple):
    """The least epsilon that reaches a target."""

    way: Way
    noise: float
    epsilon: float
    scores: Scores


Points = list[tuple[float, Scores]]


def scored(way: Way, noise: float, truth: NDArray[Any], n_draws: int) -> Scores:
    rng = np.random.default_rng(7)  # the same for all noise, so that scores fall with it
    counts = np.tile(way.counts, (n_draws, 1)).astype(np.float64)
    return scores(np.tile(truth, (n_draws, 1)), way.make(noise).sample(counts, rng))


def curve(way: Way, truth: NDArray[Any], n: int, n_draws: int) -> Points:
    """Scores by noise, of mechanisms that take rho its root's inverse."""
    steps = round(math.log(MOST / LEAST) / math.log(STEP))
    noises = [n * LEAST * STEP**i for i in range(steps)]
    return [(noise, scored(way, noise, truth, n_draws)) for noise in noises]


def most_noise(points: Points, measure: str, target: float) -> float | None:
    """Return the most noise at which a score is reached, between points of the grid."""
    values = [getattr(each, measure) for _, each in points]
    reached = [i for i, value in enumerate(values) if value >= target]
    if not reached:
        return None
    last = reached[-1]
    noise = points[last][0]
    if last + 1 == len(points):
        return noise
    part = (values[last] - target) / (values[last] - values[last + 1])
    return float(noise * STEP**part)


def least(
    ways: Iterable[tuple[Way, Points]],
    measure: str,
    target: float,
    truth: NDArray[Any],
    n_draws: int,
) -> Found | None:
    """Of several ways return the one that reaches a target with the least epsilon."""
    found = None
    for way, points in ways:
        noise = most_noise(points, measure, target)
        if noise is None:
            continue
        epsilon = way.charge(way.make(noise), way.counts)
        if found is None or epsilon < found.epsilon:
            found = Found(way, noise, epsilon, scored(way, noise, truth, n_draws))
    return found
