"""L1 distortion of published label proportions: every mechanism, and both calibrations.

    python benchmarks/proportions/distortion.py [--repeats 200] [--quick]

First CRE's Figure 1 (Iyer, Nath and Sarawagi, KDD 2016): counts (rho m, ..., rho m, rest), with
m = 1000, 5 classes, rho = .05 and epsilon = delta = .05, against the number of classes, rho and
epsilon; and even counts. Then smaller deltas and larger bags. The last column names the least
distortion: the first of the columns that are within 1 % of it.

The Dirichlet mechanism is calibrated by the published rule (on the private counts, which leaks),
exactly under the promise that every class has rho m labels, and exactly with the pseudo-counts that
distort least and no promise. Laplace noise is pure, as in the paper, or uses all of delta.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from secretballot.mechanisms import (
    DirichletProportions,
    GaussianProportions,
    LaplacePriorProportions,
    LaplaceProportions,
)
from secretballot.quantification._publish_proportions import PublicParameters

sys.path.append(str(Path(__file__).resolve().parent))  # tests import this module too
from published_rule import calibrate_by_published_rule

Setting = dict[str, float]
DEFAULT: Setting = {"m": 1000, "c": 5, "rho": 0.05, "epsilon": 0.05, "delta": 0.05}
FIGURE = {
    "c": range(2, 11),
    "rho": (0.025, 0.05, 0.1, 0.15, 0.2),
    "epsilon": (0.01, 0.025, 0.05, 0.1, 0.2),
}


def counts(at: Setting) -> NDArray[np.float64]:
    m, c = int(at["m"]), int(at["c"])
    row = np.full(c, round(at["rho"] * m), dtype=float)
    row[-1] = m - row[:-1].sum()
    return row


def dirichlet_paper(at: Setting) -> DirichletProportions:
    return calibrate_by_published_rule(at["epsilon"], at["delta"], [counts(at)])


def dirichlet_promise(at: Setting) -> DirichletProportions:
    least = int(counts(at).min())
    return DirichletProportions.calibrated(at["epsilon"], at["delta"], min_count=least)


def dirichlet_pseudo(at: Setting) -> DirichletProportions:
    sizes = np.array([int(at["m"])])
    public = PublicParameters(at["epsilon"], at["delta"], sizes, int(at["c"]), 0, "auto")
    return public.calibrate("dirichlet")


def laplace_pure(at: Setting) -> LaplaceProportions:
    return LaplaceProportions.calibrated(at["epsilon"], 0, n_classes=int(at["c"]))


def laplace(at: Setting) -> LaplaceProportions:
    return LaplaceProportions.calibrated(at["epsilon"], at["delta"], n_classes=int(at["c"]))


def prior_pure(at: Setting) -> LaplacePriorProportions:
    return LaplacePriorProportions.calibrated(at["epsilon"], 0, n_classes=int(at["c"]))


def prior(at: Setting) -> LaplacePriorProportions:
    return LaplacePriorProportions.calibrated(at["epsilon"], at["delta"], n_classes=int(at["c"]))


def gaussian(at: Setting) -> GaussianProportions:
    return GaussianProportions.calibrated(at["epsilon"], at["delta"], n_classes=int(at["c"]))


#: Column, mechanism, and whether it may win: the published rule leaks. The simplest come first.
MECHANISMS: dict[str, tuple[Callable[[Setting], object], bool]] = {
    "laplace (pure)": (laplace_pure, True),
    "laplace (delta)": (laplace, True),
    "prior (pure)": (prior_pure, True),
    "prior (delta)": (prior, True),
    "gaussian": (gaussian, True),
    "dirichlet (promise)": (dirichlet_promise, True),
    "dirichlet (pseudo)": (dirichlet_pseudo, True),
    "dirichlet (paper)": (dirichlet_paper, False),
}


def distortions(at: Setting, repeats: int) -> dict[str, float]:
    """Mean L1 distance of the released from the true proportions."""
    row = counts(at)
    many, truth = np.tile(row, (repeats, 1)), row / row.sum()
    found = {}
    for name, (make, _) in MECHANISMS.items():
        try:
            mechanism = make(at)
        except ValueError:  # out of reach: too few labels are promised
            found[name] = float("nan")
            continue
        out = mechanism.sample(many, np.random.default_rng(0))
        found[name] = float(np.abs(out - truth).sum(axis=1).mean())
    return found


def winner(found: dict[str, float]) -> str:
    able = {name: value for name, value in found.items() if MECHANISMS[name][1]}
    least = np.nanmin(list(able.values()))
    return next(name for name, value in able.items() if value <= 1.01 * least)


def heading(what: str) -> None:
    print(f"\n{what:>24}" + "".join(f"{name:>21}" for name in MECHANISMS) + "   least")


def line(label: str, found: dict[str, float]) -> None:
    cells = "".join(f"{value:>21.4g}" for value in found.values())
    print(f"{label:>24}{cells}   {winner(found)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="ten repeats")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(repeats=10)
    arguments = parser.parse_args()
    tables: dict[str, list[Setting]] = {
        name: [{**DEFAULT, name: value} for value in values] for name, values in FIGURE.items()
    }
    tables["c, even"] = [{**DEFAULT, "c": c, "rho": 1 / c} for c in (2, 3, 5, 10)]
    tables["beyond"] = [
        {**DEFAULT, "epsilon": epsilon, "delta": delta, "c": c, "m": m}
        for delta in (1e-5, 1e-6)
        for epsilon in (0.05, 0.2, 1.0)
        for c in (2, 5, 10)
        for m in (1000, 10_000, 100_000)
    ]
    for name, settings in tables.items():
        heading("eps delta c m" if name == "beyond" else name)
        for at in settings:
            found = distortions(at, arguments.repeats)
            shown = ("epsilon", "delta", "c", "m") if name == "beyond" else (name.split(",")[0],)
            label = " ".join(f"{at[key]:g}" for key in shown)
            line(label, found)


if __name__ == "__main__":
    main()
