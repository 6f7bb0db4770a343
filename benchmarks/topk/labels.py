"""EXP3's shape: what epsilon labels a pool of rows as well, by how labels are chosen.

    python benchmarks/topk/labels.py [SET ...] [--only PART ...] [--quick]

The paper, on CelebA at equal accuracy: Binary PATE over 10, PATE-tau 7.7, StableTopK 3.6. Its
teachers, rows, noise and delta are lost; here they are ours: 100 public rows, delta 1e-5 for all
of them, ballots simulated on CelebA's attributes (800 teachers), and those of 200 ridge regressions
of some 23 rows each on corel5k (its five likeliest labels each) and bibtex (see `SETTINGS`, and
multilabel/ballots.py). A row whose test fails has no labels, which counts as labelled empty.

F1      of a row's set of labels, mean over rows; 1 where both are empty
ACC     of labels; blind where labels are rare: no labels at all score .778 on CelebA, .990 on
        corel5k and .984 on bibtex. So targets are in F1, on CelebA in ACC too

Targets: a distance below what the worse of majority and largest gap has without noise ("common"),
and below the better of them ("high"). Each method has the most noise that reaches the target, by
mean scores of five draws on a grid of noise that is interpolated; tau (l1), shares of rho for the
choice, and the fixed k are picked for the least epsilon.

Charges: published are worst cases of the noisy numbers per label, a/sigma^2 (and 2 a tau/sigma^2
clipped), with Mironov's conversion on orders 2 to 50; StableTopK's are rho a row (zCDP), half of
delta for its tests. Ours are exact Renyi divergences of what is released at the best order, also
with half of delta for tests; "game" is a plan's price at the same noise (Binary: in a budget of
mu^2), where that takes seconds. "Known" charges hold for these votes only, and are sensitive.
A ballot is replaced, but in lines with "added": there a voter is added or removed, as in the
paper; one that is not there moves a label's gap by 1 (Binary), which is not so for clipped ballots.

Parts: methods; helps (StableTopK with the empty set, few sizes, a prior on sizes, other noise);
ballots (teachers that call more or fewer labels present, more and fewer teachers).
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from methods import new_figure, picture_path
from numpy.typing import NDArray
from scipy.optimize import brentq

from secretballot.accounting import RenyiCost, calibrate, price_plan
from secretballot.divergences import EVERYONE
from secretballot.mechanisms import (
    BinaryVoting,
    ExponentialTopK,
    StableTopK,
    TauVoting,
    clip_ballots,
)

sys.path.append(str(Path(__file__).resolve().parents[1] / "multilabel"))
from accountings import PUBLISHED, label_costs  # noqa: E402
from ballots import Ballots, load_ballots  # noqa: E402

DELTA, N_ROWS, N_DRAWS = 1e-5, 100, 5
#: How far from its target without noise a score may be.
DISTANCE = {"F1": 0.03, "ACC": 0.01}
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

    def load(self, name: str) -> Ballots | None:
        return load_ballots(name, N_ROWS, self.max_positives, self.n_teachers, self.lift)

    def __str__(self) -> str:
        most = "any number" if self.max_positives is None else f"{self.max_positives} at most"
        return f"{self.n_teachers} teachers, lift {self.lift:g}, {most}"


SETTINGS = {
    "celeba": Setting(800, 1.5, None, (6.0, 8.0, 12.0, 16.0, 24.0), 9),
    "corel5k": Setting(200, 0.0, 5, (3.0, 4.0, 5.0), 4),
    "bibtex": Setting(200, 1.5, None, (8.0, 12.0, 16.0, 24.0, 32.0), 2),
}
#: Other ballots, by set.
OTHERS = {
    "celeba": [SETTINGS["celeba"]._replace(n_teachers=n) for n in (200, 400, 1_600)],
    "corel5k": [
        SETTINGS["corel5k"]._replace(lift=1.0),
        SETTINGS["corel5k"]._replace(lift=1.5, max_positives=None),
        SETTINGS["corel5k"]._replace(max_positives=3, taus=(2.0, 3.0)),
        SETTINGS["corel5k"]._replace(n_teachers=100),
        SETTINGS["corel5k"]._replace(n_teachers=400),
    ],
    "bibtex": [
        SETTINGS["bibtex"]._replace(lift=1.0),
        SETTINGS["bibtex"]._replace(lift=2.5),
        SETTINGS["bibtex"]._replace(lift=0.0, max_positives=3, taus=(1.0, 2.0, 3.0)),
        SETTINGS["bibtex"]._replace(n_teachers=100),
        SETTINGS["bibtex"]._replace(n_teachers=400),
    ],
}

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


# ----- charges


def exact(mechanism: Mechanism, counts: NDArray[Any]) -> float:
    """Return epsilon by exact Renyi divergences, whatever the votes are."""
    return float(all_rows(mechanism, counts.shape).epsilon(DELTA))


def papernot(mechanism: Mechanism, counts: NDArray[Any]) -> float:
    return float(all_rows(mechanism, counts.shape).epsilon(DELTA, **PUBLISHED))


def all_rows(mechanism: Mechanism, shape: tuple[int, ...]) -> RenyiCost:
    n_rows, n_labels = shape
    if isinstance(mechanism, BinaryVoting):  # as many votes as labels, all alike
        return n_rows * n_labels * mechanism.max_cost(1)[EVERYONE]
    return n_rows * mechanism.max_cost(n_labels)[EVERYONE]


def known(mechanism: BinaryVoting, counts: NDArray[Any], **conversion: Any) -> float:
    curve = label_costs(mechanism, counts).curve.sum(axis=0)
    return float(RenyiCost(curve).epsilon(DELTA, **conversion))


def by_rho(mechanism: StableTopK, counts: NDArray[Any]) -> float:
    """Return epsilon by the paper: rho a row, half of delta for tests."""
    assert mechanism.rho is not None
    rho = len(counts) * mechanism.rho
    return rho + 2 * math.sqrt(rho * math.log(2 / DELTA))


def game(mechanism: Mechanism, counts: NDArray[Any], about: float) -> float:
    """Return the price of a plan of all rows; nan where that takes minutes."""
    n_rows, n_labels = counts.shape
    if isinstance(mechanism, StableTopK):
        price = price_plan(mechanism, n_rows, n_columns=n_labels)
        return float(price.epsilon(DELTA))  # type: ignore[union-attr]
    if not isinstance(mechanism, BinaryVoting):
        return math.nan

    def excess(log_epsilon: float) -> float:
        fits: dict[str, Any] = {"epsilon": math.exp(log_epsilon), "delta": DELTA}
        make = partial(BinaryVoting, n_votes=mechanism.n_votes, weight=mechanism.weight)
        least = calibrate(
            lambda s: make(sigma=s), n_queries=n_rows, n_columns=n_labels, **fits
        )
        return math.log(least.sigma / mechanism.sigma)

    high = math.log(about)
    if excess(high) > 0:
        return math.nan
    return math.exp(brentq(excess, high - 0.6, high, xtol=0.002))


# ----- the ways


def binary(n: int, bound: str, weight: float = 1.0) -> Callable[[float], BinaryVoting]:
    return lambda s: BinaryVoting(sigma=s, n_votes=n, bound=bound, weight=weight)  # type: ignore[arg-type]


def tau_voting(n: int, bound: str, tau: float) -> Callable[[float], TauVoting]:
    return lambda s: TauVoting(sigma=s, n_votes=n, tau=tau, norm="l1", bound=bound)  # type: ignore[arg-type]


def stable(share: float, **more: Any) -> Callable[[float], StableTopK]:
    """Half of delta is for the tests of all rows."""
    failures = DELTA / 2 / N_ROWS
    return lambda s: StableTopK(rho=1 / s**2, delta_t=failures, choice_share=share, **more)


def methods(data: Ballots, setting: Setting) -> Iterator[Way]:
    counts, n = data.ballots.sum(axis=1, dtype=np.int64), setting.n_teachers
    yield Way("Binary, published", binary(n, "papernot"), counts, papernot)
    yield Way("Binary, ours", binary(n, "exact"), counts, exact)
    yield Way("Binary, ours, added", binary(n, "exact", 0.5), counts, exact)
    theirs = partial(known, **PUBLISHED)
    yield Way("Binary, published, known", binary(n, "papernot"), counts, theirs)
    yield Way("Binary, ours, known", binary(n, "exact"), counts, known)
    for tau in setting.taus:
        clipped = clip_ballots(data.ballots, tau, "l1").sum(axis=1)
        yield Way("tau, published", tau_voting(n, "papernot", tau), clipped, papernot)
        yield Way("tau, ours", tau_voting(n, "exact", tau), clipped, exact)
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


def helps(data: Ballots, setting: Setting) -> Iterator[Way]:
    """StableTopK with what is public about rows."""
    counts, n, size = data.ballots.sum(axis=1, dtype=np.int64), setting.n_teachers, setting.size
    for share in SHARES:
        yield Way("plain", stable(share), counts, exact)
        yield Way("empty set too", stable(share, n_votes=n), counts, exact)
        yield Way("Gaussian choice", stable(share, selector="gaussian"), counts, exact)
        for most in (size + size // 2, 2 * size, 3 * size):
            yield Way(f"k_max {most}", stable(share, k_max=most), counts, exact)
            for each in (0.01, 0.03, 0.1):
                prior = tuple(-each * n * abs(j - size) for j in range(1, most + 1))
                more = {"k_max": most, "regularizer": prior}
                yield Way(f"prior {each:g} n", stable(share, **more), counts, exact)
        near = tuple(0.0 if 2 * j >= size else -math.inf for j in range(1, 2 * size + 1))
        only = stable(share, k_max=2 * size, regularizer=near)
        yield Way(f"sizes {-(-size // 2)} to {2 * size}", only, counts, exact)


def fewer(data: Ballots, setting: Setting) -> Iterator[Way]:
    """What is compared on other ballots."""
    wanted = ("Binary, ours", "tau, ours", "StableTopK, ours", "ExponentialTopK, ours")
    return (way for way in methods(data, setting) if way.name in wanted)


# ----- how much noise


class Found(NamedTuple):
    """The least epsilon that reaches a target."""

    way: Way
    noise: float
    epsilon: float
    scores: Scores


def scored(way: Way, noise: float, truth: NDArray[Any], n_draws: int) -> Scores:
    rng = np.random.default_rng(7)  # the same for all noise, so that scores fall with it
    counts = np.tile(way.counts, (n_draws, 1)).astype(np.float64)
    return scores(np.tile(truth, (n_draws, 1)), way.make(noise).sample(counts, rng))


def curve(way: Way, truth: NDArray[Any], n: int, n_draws: int) -> list[tuple[float, Scores]]:
    """Scores by noise, of mechanisms that take rho its root's inverse."""
    steps = round(math.log(MOST / LEAST) / math.log(STEP))
    noises = [n * LEAST * STEP**i for i in range(steps)]
    return [(noise, scored(way, noise, truth, n_draws)) for noise in noises]


def most_noise(points: list[tuple[float, Scores]], measure: str, target: float) -> float | None:
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
    ways: Iterable[tuple[Way, list[tuple[float, Scores]]]],
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


# ----- what is printed


def without_noise(data: Ballots, setting: Setting) -> dict[str, float]:
    """Print what aggregations score without noise; return the F1 and ACC of the two poles."""
    truth, n, counts = data.truth, setting.n_teachers, data.ballots.sum(axis=1, dtype=np.int64)
    order = np.argsort(-counts, axis=1, kind="stable")
    rank = order.argsort(axis=1)
    ordered = -np.sort(-counts, axis=1)
    empty = np.hstack([np.full((len(counts), 1), n), ordered])
    gap = 1 + np.argmax(-np.diff(ordered), axis=1)
    labels: dict[str, NDArray[Any]] = {"none": np.zeros_like(counts), "majority": 2 * counts > n}
    for tau in setting.taus:
        labels[f"tau {tau:g}"] = 2 * clip_ballots(data.ballots, tau, "l1").sum(axis=1) > n
    labels["largest gap"] = rank < gap[:, None]
    labels["gap, or empty"] = rank < np.argmax(-np.diff(empty), axis=1)[:, None]
    tops = {k: (rank < k).astype(int) for k in range(1, min(20, counts.shape[1]))}
    best = max(tops, key=lambda k: scores(truth, tops[k]).F1)
    labels[f"top {best}"] = tops[best]
    print(f"  {'without noise':16s}{'ACC':>8s}{'BAC':>8s}{'F1':>8s}{'labels':>8s}")
    poles = {}
    for name, called in labels.items():
        found = scores(truth, called.astype(int))
        poles[name] = found
        print(
            f"  {name:16s}{found.ACC:8.4f}{balanced(truth, called):8.3f}{found.F1:8.3f}"
            f"{called.sum(axis=1).mean():8.2f}"
        )
    gaps = np.percentile(-np.diff(ordered).min(axis=1), (10, 50, 90))
    print("  largest gaps, of rows at 10, 50 and 90 %: " + ", ".join(f"{g:.0f}" for g in gaps))
    pair = poles["majority"], poles["largest gap"]
    return {
        f"{level} {measure}": choose(getattr(each, measure) for each in pair) - DISTANCE[measure]
        for measure in DISTANCE
        for level, choose in (("common", min), ("high", max))
    }


Curves = dict[str, list[tuple[Way, list[tuple[float, Scores]]]]]


def table(
    data: Ballots, ways: Iterable[Way], n: int, targets: dict[str, float], quick: bool, games: bool
) -> Curves:
    """Print the least epsilon of each method for each target; return all scores by noise."""
    n_draws = 2 if quick else N_DRAWS
    curves: Curves = {}
    for way in ways:
        curves.setdefault(way.name, []).append((way, curve(way, data.truth, n, n_draws)))
    for title, target in targets.items():
        measure = title.split()[1]
        print(
            f"\n  {title} {target:.3f}{'':>13s}{'epsilon':>8s}{'game':>8s}{'ACC':>8s}{'F1':>7s}"
            f"{'answered':>10s}{'ACC':>8s}{'F1':>7s}  noise"
        )
        for name, tried in curves.items():
            found = least(tried, measure, target, data.truth, n_draws)
            if found is None:
                print(f"  {name:30s}   never")
                continue
            way, mechanism, is_sound = found.way, found.way.make(found.noise), way_is_ours(found)
            played = game(mechanism, way.counts, found.epsilon) if games and is_sound else math.nan
            shown = f"{played:8.2f}" if played == played else f"{'-':>8s}"
            print(
                f"  {name:30s}{found.epsilon:8.2f}{shown}{found.scores.ACC:8.4f}"
                f"{found.scores.F1:7.3f}{found.scores.answered:10.2f}"
                f"{found.scores.ACC_answered:8.4f}{found.scores.F1_answered:7.3f}"
                f"  {picked(mechanism)}",
                flush=True,
            )
    return curves


def way_is_ours(found: Found) -> bool:
    return found.way.charge is exact


def picked(mechanism: Mechanism) -> str:
    """The noise, and what was chosen with it."""
    if isinstance(mechanism, StableTopK):
        return f"rho {mechanism.rho:.3g}, share {mechanism.choice_share:g}"
    if isinstance(mechanism, ExponentialTopK):
        return f"rho {mechanism.rho:.3g}, k {mechanism.k}"
    tau = f", tau {mechanism.tau:g}" if isinstance(mechanism, TauVoting) else ""
    return f"sigma {mechanism.sigma:.3g}{tau}"


def draw(pictures: dict[str, Curves], truths: dict[str, NDArray[Any]]) -> None:
    """F1 against epsilon: of each method the best so far, a panel for each set."""
    figure = new_figure(5.5 * len(pictures), 4.5)
    if figure is None:
        return
    panels = figure.subplots(1, len(pictures), squeeze=False)[0]
    for ax, (name, curves) in zip(panels, pictures.items(), strict=True):
        for line, tried in curves.items():
            every = [
                (way.charge(way.make(noise), way.counts), found.F1)
                for way, points in tried
                if way.charge is not known and "known" not in line
                for noise, found in points[::3]
            ]
            seen = sorted(pair for pair in every if 0.2 < pair[0] < 100)
            if seen:
                epsilons, values = zip(*seen, strict=True)
                style = "--" if "published" in line else "-"
                ax.plot(epsilons, np.maximum.accumulate(values), style, label=line)
        ax.set(xscale="log", xlabel=f"epsilon, {len(truths[name])} rows", ylabel="F1", title=name)
        ax.legend(fontsize=6)
    path = picture_path("topk_labels.png")
    figure.savefig(path, dpi=100)
    print(f"\npicture: {path}")


PARTS = ("methods", "helps", "ballots")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETTINGS))
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART")
    parser.add_argument("--quick", action="store_true", help="two draws, no games, methods only")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # noise that drowns votes, sets that never pass
    quick, pictures, truths = arguments.quick, {}, {}
    for name in arguments.sets or SETTINGS:
        setting = SETTINGS[name]
        data = setting.load(name)
        if data is None:
            print(f"{name} is left out: it is not in the folder of data")
            continue
        print(f"\n{name}: {setting}; {data.truth.shape[1]} labels, {data.truth.sum(1).mean():.1f} "
              f"a row; {data.ballots.sum(2).mean():.1f} a ballot")
        truths[name], targets = data.truth, without_noise(data, setting)
        if name != "celeba":
            targets = {title: each for title, each in targets.items() if "F1" in title}
        n = setting.n_teachers
        if "methods" in arguments.only:
            ways = methods(data, setting)
            pictures[name] = table(data, ways, n, targets, quick, games=not quick)
        if "helps" in arguments.only and not quick:
            table(data, helps(data, setting), n, targets, quick, games=False)
        for other in OTHERS[name] if "ballots" in arguments.only and not quick else ():
            again = other.load(name)
            assert again is not None
            print(f"\n{name}: {other}; {again.ballots.sum(2).mean():.1f} a ballot")
            without_noise(again, other)
            table(again, fewer(again, other), other.n_teachers, targets, quick, games=False)
    if pictures:
        draw(pictures, truths)


if __name__ == "__main__":
    main()
