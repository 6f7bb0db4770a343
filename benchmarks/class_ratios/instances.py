"""Classifiers of instances from label proportions: accuracy and log loss, by set and by noise.

    python benchmarks/class_ratios/instances.py [label] [real] [private] [--quick] [--tuning]

label       Bags by label as in protocol.py, each class in turn common in a bag and the others with
            rho each (a simulation: it protects nobody), test sets of the instances left with
            classes alike; and bags of 16 drawn at random, whose proportions differ by chance.
real        Bags that are groups: Adult by education and by occupation, bank by month. The column,
            and what says the same, is no feature. Test sets are other instances of all groups.
private     Proportions with noise: accuracy by epsilon (delta 1e-5).

All methods but llp-learn's have the same explicit features, 300 landmarks at the bandwidth that
ours chose without labels, and choose their penalty by a held-out fifth. "ours" takes the loss that
it finds fit, "ours, likelihood" always that of bags. "with labels" is logistic regression that has
a label for every instance: the ceiling.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from errors import Table
from grouped import grouped
from instance_rivals import MeanProbabilityClassifier, llp_learn, with_labels
from instance_tasks import (
    InstanceTask,
    by_chance,
    by_group,
    by_label,
)
from protocol import REPORTING, TUNING, adult, bank, credit, digits
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from secretballot import publish_proportions
from secretballot.quantification import Bags, LabelProportionsClassifier

EPSILONS = (0.1, 0.5, 1.0, 4.0)


def ours() -> LabelProportionsClassifier:
    return LabelProportionsClassifier(random_state=0)


def scores(P: Any, y: Any) -> tuple[float, float]:
    """Accuracy and log loss; of labels no log loss."""
    P = np.asarray(P)
    if P.ndim == 1:
        return float(np.mean(P == y)), np.nan
    return float(np.mean(P.argmax(axis=1) == y)), log_loss(y, P, labels=range(P.shape[1]))


def compare(task: InstanceTask, add: Any, table: Any = None, *, llp: bool = True) -> None:
    """Add the scores of all methods on a task, whose proportions may be private ones."""
    given = task.table() if table is None else table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # bags that differ by more than classes
        model = ours().fit(task.X, bag_ids=task.bag, proportions=given)
        told = model
        if model.loss_ != "likelihood":
            told = ours().set_params(loss="likelihood")
            told.fit(task.X, bag_ids=task.bag, proportions=given)
    add("ours", model.predict_proba(task.X_test))
    add("ours, likelihood", told.predict_proba(task.X_test))
    feature_map, number = model._model.features, model._model.number
    F, F_test = feature_map(task.X, [number])[0], feature_map(task.X_test, [number])[0]
    plain = np.asarray(getattr(given, "proportions", given))
    _, bag = np.unique(task.bag, return_inverse=True)
    for loss in ("cross entropy", "squared"):
        usual = MeanProbabilityClassifier(loss).fit(F, bag, plain)
        add(f"usual loss, {loss}", usual.predict_proba(F_test))
    if not llp:
        return
    if plain.shape[1] == 2:
        for name, found in llp_learn(F, bag, plain[:, 1], F_test).items():
            add(name, found)
    add("with labels", with_labels(F, task.y).predict_proba(F_test))
    share = np.bincount(task.y) / len(task.y)
    add("majority class", np.tile(share, (len(task.y_test), 1)))


class Tables:
    """Accuracy and log loss, means over seeds, and the spread of the first."""

    def __init__(self) -> None:
        self.accuracy, self.loss = Table(), Table()

    def adder(self, column: str) -> Any:
        def add(row: str, P: Any, y: Any) -> None:
            accuracy, loss = scores(P, y)
            self.accuracy.add(row, column, accuracy)
            self.loss.add(row, column, loss)

        return add

    def show(self, title: str) -> None:
        rows, columns = (
            list(dict.fromkeys(key[i] for key in self.accuracy.errors)) for i in (0, 1)
        )
        for name, table in (("accuracy", self.accuracy), ("log loss", self.loss)):
            for row in rows:  # of methods that are for two classes
                for column in columns:
                    table.errors.setdefault((row, column), [np.nan])
            table.show(f"{title}: {name}")


def run(cases: dict[str, Any], seeds: Any, title: str) -> None:
    tables = Tables()
    for name, (make, n_seeds) in cases.items():
        for seed in seeds[:n_seeds]:
            task, add = make(seed), tables.adder(name)
            compare(task, lambda row, P, add=add, y=task.y_test: add(row, P, y))
    tables.show(title)


def standardised(load: Any) -> Any:
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def run_label(seeds: Any, quick: bool) -> None:
    # Data, rho, size of the bags, and how many seeds.
    sets = {
        "digits": (digits(), 0.05, 100, 3),
        "wine": (standardised(load_wine), 0.05, 30, 10),
        "cancer": (standardised(load_breast_cancer), 0.1, 100, 10),
        "Adult": (adult(), 0.1, 600, 3),
        "Adult, .3": (adult(), 0.3, 600, 3),
        "bank": (bank(), 0.1, 600, 3),
        "credit": (credit(), 0.1, 600, 3),
    }
    cases = {
        name: (lambda seed, d=data, r=rho, s=size: by_label(*d, seed, r, s), n)
        for name, (data, rho, size, n) in sets.items()
        if data is not None
    }
    X, y = adult()
    cases["Adult, 16s"] = (lambda seed: by_chance(X, y, seed, 16, 250), 3)
    run(cases, seeds, "bags by label, rho .05 or .1 (or .3), and 250 bags of 16 at random")


def run_real(seeds: Any, quick: bool) -> None:
    names = ("Adult by education", "Adult by occupation", "Bank by month")
    groupings = {name: grouped(name) for name in names}
    cases = {
        name: (lambda seed, d=data: by_group(*d, seed), 2)
        for name, data in groupings.items()
        if data is not None
    }
    run(cases, seeds, "bags that are groups")


def run_private(seeds: Any, quick: bool) -> None:
    sets = {"Adult": (adult(), 0.1, 60, 20), "digits": (digits(), 0.05, 50, 20)}
    for name, (data, rho, size, n_bags) in sets.items():
        tables = Tables()
        for seed in seeds[:5]:
            task = by_label(*data, seed, rho, size, n_bags=n_bags)
            for epsilon in (*EPSILONS, None):
                column = "none" if epsilon is None else f"{epsilon:g}"
                add = tables.adder(column)
                table = None if epsilon is None else private(task, epsilon, seed)
                y = task.y_test
                compare(task, lambda row, P, a=add, y=y: a(row, P, y), table, llp=False)
        tables.show(f"{name}, {n_bags} bags of {size}: by epsilon")


def private(task: InstanceTask, epsilon: float, seed: int) -> Any:
    classes = range(int(task.y.max()) + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeded: a simulation
        return publish_proportions(
            Bags.from_groups(None, task.y, task.bag), classes, epsilon, 1e-5, random_state=seed
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = {"label": run_label, "real": run_real, "private": run_private}
    parser.add_argument("parts", nargs="*", choices=[[], *parts], default=[])
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--tuning", action="store_true")
    arguments = parser.parse_args()
    seeds = list(TUNING if arguments.tuning else REPORTING)[: 1 if arguments.quick else None]
    for name in arguments.parts or parts:
        begun = time.perf_counter()
        parts[name](seeds, arguments.quick)
        print(f"({name}: {time.perf_counter() - begun:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
