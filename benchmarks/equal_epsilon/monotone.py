"""Monotone effects: accuracy with and without `monotonic_cst`, and falls of effects without it.

    python benchmarks/equal_epsilon/monotone.py [--tasks education gains calls payments carats
        sizes] [--epsilons .1 1] [--public 400] [--seeds 5] [--quick]

education  Adult: earnings rise with the years of education
gains      the same, and with capital gains and losses, with which they don't rise everywhere
calls      Bank: success rises with the length of the call
payments   Credit: failures rise with the delay of each month, and fall with the limit
carats     prices of diamonds rise with the weight; needs the package plotnine, which has the table
sizes      the same, and with all three lengths

Area under the ROC curve and accuracy, or R^2, on the test rows; the difference with its standard
error, on the same splits and seeds. The *falls* are all moves of the effects of single columns
against their direction, without the constraint, as a share of all their moves.
"""

from __future__ import annotations

import argparse
import itertools
import warnings

import numpy as np
import regression
import sets
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, roc_auc_score

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PublicData,
)

DELTA = 1e-5
LATE = dict.fromkeys(("PAY_0", *(f"PAY_{month}" for month in range(2, 7))), 1)
CLASSES = {
    "education": ("adult", {"education_num": 1}),
    "gains": ("adult", {"education_num": 1, "capital_gain": 1, "capital_loss": 1}),
    "calls": ("bank", {"duration": 1}),
    "payments": ("credit", {**LATE, "LIMIT_BAL": -1}),
}
NUMBERS = {
    "carats": ("diamonds", {"carat": 1}),
    "sizes": ("diamonds", dict.fromkeys(("carat", "x", "y", "z"), 1)),
}


def falls(
    model: PrivateLogisticRegression | PrivateLinearRegression, directions: dict[str, int]
) -> float:
    """Return the share of the moves of effects that are against their direction."""
    up = down = 0.0
    for term in model.terms():
        if term.name in directions:
            ends = term.knots if term.knots is not None else np.append(term.edges, np.inf)
            present = slice(len(term.values) + len(ends))  # without missing cells
            effect, is_value = term.effect[present], term.is_value[present]
            effect = np.concatenate([effect[is_value], effect[~is_value]])
            numbers = np.concatenate([term.values, ends])
            order = np.lexsort((np.arange(len(numbers)) < len(term.values), numbers))
            moves = directions[term.name] * np.diff(effect[order])
            up, down = up + moves.clip(0).sum(), down - moves.clip(None, 0).sum()
    return down / (up + down)


def classes(task: str, epsilon: float, public: int, seed: int) -> NDArray[np.float64]:
    """Return AUC, accuracy and falls without and with the constraint: (2, 3)."""
    name, directions = CLASSES[task]
    rows = sets.split(name, public, seed)
    results = []
    for given in (None, directions):
        model = PrivateLogisticRegression(
            classes=[0, 1],
            monotonic_cst=given,
            accountant=PrivacyAccountant(epsilon, DELTA),
            check_public_rows=False,
            random_state=seed,
        ).fit(rows.X_private, rows.y_private, X_public=PublicData(rows.X_pool))
        decision = model.decision_function(rows.X_test)
        scores = roc_auc_score(rows.y_test, decision), accuracy_score(rows.y_test, decision > 0)
        results.append([*scores, falls(model, directions)])
    return np.array(results)


def numbers(task: str, epsilon: float, public: int, seed: int) -> NDArray[np.float64]:
    """Return R^2 and falls without and with the constraint: (2, 2)."""
    name, directions = NUMBERS[task]
    rows, bounds = regression.split(name, public, seed)
    pool = PublicData(rows.X_pool, may_be_private=True)
    results = []
    for given in (None, directions):
        model = PrivateLinearRegression(
            target_bounds=bounds,
            monotonic_cst=given,
            accountant=PrivacyAccountant(epsilon, DELTA),
            check_public_rows=False,
            random_state=seed,
        ).fit(rows.X_private, rows.y_private, X_public=pool)
        results.append([model.score(rows.X_test, rows.y_test), falls(model, directions)])
    return np.array(results)


def available() -> list[str]:
    """Return the tasks whose sets are here."""
    here = [*sets.available(), *regression.available()]
    return [task for task, (name, _) in (CLASSES | NUMBERS).items() if name in here]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", default=available())
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 1.0])
    parser.add_argument("--public", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="education, epsilon 1, one seed")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(tasks=["education"], epsilons=[1.0], seeds=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise is seeded
    print("| task, epsilon | AUC / accuracy, or R^2 | with constraints | difference | falls |")
    print("| --- | --- | --- | --- | --- |")
    for task, epsilon in itertools.product(given.tasks, given.epsilons):
        fits = classes if task in CLASSES else numbers
        results = np.array([fits(task, epsilon, given.public, seed) for seed in range(given.seeds)])
        assert (results[:, 1, -1] == 0).all()  # no falls with the constraint
        gains = results[:, 1, :-1] - results[:, 0, :-1]
        errors = gains.std(axis=0, ddof=1) / given.seeds**0.5 if given.seeds > 1 else 0 * gains[0]
        cells = [" / ".join(f"{x:.4f}" for x in row[:-1]) for row in results.mean(axis=0)]
        cells.append(
            " / ".join(f"{x:+.4f} +- {e:.4f}" for x, e in zip(gains.mean(0), errors, strict=True))
        )
        cells.append(f"{results[:, 0, -1].mean():.3f}")
        print(f"| {task}, {epsilon:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
