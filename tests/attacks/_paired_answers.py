"""Kinds of answers of which neighbours are compared: scores, counts, proportions and votes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from tests.attacks._neighbour_rows import (
    AGAIN,
    ALIKE,
    FRAMES,
    HIGH,
    LOW,
    NUMBERS,
    UNFIT,
    Data,
    private_rows,
    public_rows,
)
from tests.attacks._paired_fits import MEEK, SANITIZED, budget, ensemble, given, linear
from tests.attacks._paired_runs import Desk, Kind, Left

import secretballot as sb
from secretballot.accounting import publish_epsilon
from secretballot.ensemble import _ensemble_run
from secretballot.inspection import show_progress
from secretballot.measures import (
    confusion_private,
    private_quantiles,
    regression_score_private,
    score_private,
)
from secretballot.parties import Agreement, Collaboration, Party
from secretballot.quantification import Bags, LabelProportionsClassifier, MMDClassRatioEstimator

SPEND: dict[str, Any] = {"epsilon": 20.0}
#: Columns of numbers of a frame, and the bounds of their quantiles.
BOUNDS = {"a": (LOW, HIGH), "b": (0.0, 5.0)}


def rows(form: str = "frame", target: str = "two", **settings: Any) -> Callable[[], Data]:
    """Return a function that makes private rows."""
    return partial(private_rows, form, target, **settings)


def scores(target: str = "two", *, owners: bool = False, form: str = "frame", **how: Any) -> Kind:
    """Return scores of a linear model that other rows were fitted with."""
    change, most = how.pop("change", {}), how.pop("most", 1.0)

    def run(desk: Desk, data: Data) -> Left:
        accountant = budget(desk, data)
        same = private_rows(form, target, owners=owners)
        pool = sb.PublicData(public_rows(form))
        common = {"accountant": accountant, "epsilon": 50.0, **how}
        model: Any
        if target == "number":
            model = sb.PrivateLinearRegression(target_bounds=(LOW, HIGH), **common)
        else:
            model = sb.PrivateLogisticRegression(classes=[0, 1], **common)
        model.fit(**given(same), X_public=pool)
        answers = [model.score_private(**given(data), **SPEND)]
        if target != "number":
            answers.append(model.confusion_private(**given(data), **SPEND))
        return Left(published=[model, *answers])

    data = rows(form, target, owners=owners)
    return Kind(run, data, {"target": target, **change}, most=most)


def student_scores(*, owners: bool = False, change: dict[str, Any] | None = None) -> Kind:
    """Return scores of the student of an ensemble that other rows were fitted with."""
    fitted = ensemble(sb.GNMax(sigma=1.0), owners=owners)

    def run(desk: Desk, data: Data) -> Left:
        left = fitted.run(desk, private_rows(owners=owners))
        (model,) = left.shown
        answers = [
            model.score_private(**given(data), **SPEND),  # type: ignore[attr-defined]
            model.confusion_private(**given(data), **SPEND),  # type: ignore[attr-defined]
        ]
        return Left([model], [*left.published, *answers])

    return Kind(run, rows(owners=owners), change or {})


def predictions(target: str = "two", *, owners: bool = False) -> Kind:
    """Return scores of predictions of a public model."""

    def run(desk: Desk, data: Data) -> Left:
        accountant = budget(desk, data)
        of_row = given(data, labels=False)
        if target == "number":
            guesses = np.array([row[1] / 6 for row in data.rows])
            bounds = {"target_bounds": (LOW, HIGH)}
            score: Any = regression_score_private(
                accountant, data.targets, guesses, **bounds, **of_row, **SPEND
            )
            return Left(published=[score])
        guesses = np.array([int(row[1] > 2) for row in data.rows])
        score = score_private(accountant, data.targets, guesses, **of_row, **SPEND)
        confusion = confusion_private(
            accountant, data.targets, guesses, classes=[0, 1], **of_row, **SPEND
        )
        return Left(published=[score, confusion])

    meek = {"target": target, "manners": ("natural", "copy")}
    return Kind(run, rows("array", target, owners=owners), meek)


def quantiles(form: str = "frame", *, owners: bool = False, **change: Any) -> Kind:
    """Return quantiles of columns."""

    def run(desk: Desk, data: Data) -> Left:
        bounds = BOUNDS if form in FRAMES else dict(enumerate(BOUNDS.values()))
        options = {"bounds": bounds, "n_bins": 64, "epsilon": 300.0}
        accountant, of_row = budget(desk, data), given(data, labels=False)
        return Left(
            published=[private_quantiles(data.X, accountant=accountant, **options, **of_row)]
        )

    return Kind(run, rows(form, owners=owners), change)


def visits(data: Data, most: int) -> pd.DataFrame:
    """Return the items of each row, at most so many."""
    table = np.array([[row[0] > 0, row[1] > 2, row[2] > 0, row[3] > 0, 1] for row in data.rows])
    table &= table.cumsum(axis=1) <= most
    return pd.DataFrame(table.astype(int), columns=["park", "pool", "zoo", "mine", "lake"])


def top_k(*, most: int = 5, owners: bool = False, relation: str = "replace", **how: Any) -> Kind:
    """Return items that most people have."""

    def run(desk: Desk, data: Data) -> Left:
        accountant = budget(desk, data, relation=relation, approximation_delta=5e-4)
        counts, of_row = visits(data, most), given(data, labels=False)
        return Left(
            published=[sb.private_top_k(counts, accountant=accountant, **SPEND, **how, **of_row)]
        )

    return Kind(run, rows("array", owners=owners), {"manners": ("natural", "copy", "ends")})


def proportions(mechanism: str, classes: tuple[int, ...] = (0, 1, 2), **how: Any) -> Kind:
    """Return proportions of bags, and class ratios that are learned from them."""

    def run(desk: Desk, data: Data) -> Left:
        accountant = desk.accountant(unit="label", order=np.inf, delta=1e-3)
        groups = np.arange(len(data.rows)) % 6
        X = np.array([row[:2] for row in data.rows])
        bags = Bags.from_groups(X, data.targets, groups)
        published = sb.publish_proportions(
            bags, classes, 5.0, 1e-6, mechanism, accountant=accountant, **how
        )
        public = Bags.from_groups(X, None, groups)
        learners: list[Any] = []
        if mechanism == "gaussian":
            learners = [
                MMDClassRatioEstimator(random_state=0).fit(*public.align(published)),
                LabelProportionsClassifier().fit(X, bag_ids=groups, proportions=published),
            ]
        return Left([repr(bags)], [published, *learners])

    target = "three" if len(classes) == 3 else "two"
    return Kind(run, rows("array", target), {"target": target, "only_labels": True})


def parties(mechanism: Any) -> Kind:
    """Return a vote of parties, one of which has another row."""

    def run(desk: Desk, data: Data) -> Left:
        X, y, names = data.X, data.targets, [f"site {k}" for k in range(6)]
        members = []
        for number, name in enumerate(names):
            learner = DecisionTreeClassifier(max_depth=2, random_state=0)
            party = Party(learner, name=name, accountant=desk.accountant(), classes=[0, 1])
            members.append(party.fit(X[number::6], y[number::6]))
        together = Collaboration(members)
        agreement = Agreement(mechanism=mechanism, parties=names)
        answer = together.ask("site 0", public_rows("array", 12), agreement)
        return Left(published=[answer])

    return Kind(
        run, rows("array"), {"manners": ("natural", "cells"), "cells": (0.5, LOW, HIGH, 1e300)}
    )


def published_epsilon() -> Kind:
    """Return a bound of the epsilon that the votes cost."""
    fitted = ensemble(sb.GNMax(sigma=2.0), accounting="sanitized")

    def run(desk: Desk, data: Data) -> Left:
        left = fitted.run(desk, data)
        return Left(left.shown, [*left.published, publish_epsilon(desk.accountants[0])])

    return Kind(run, rows(), excused=SANITIZED)


def refused(desk: Desk, data: Data) -> Left:
    """Begin a fit with public rows that match no private row."""
    model = sb.PrivateLogisticRegression(classes=[0, 1], accountant=desk.accountant())
    pool = public_rows()
    with pytest.raises(ValueError, match="X_public does not match"):
        model.fit(data.X, data.targets, X_public=sb.PublicData(pool.assign(a=pool["a"] + 100)))
    return Left([model])


def press_in_rounds(task: str, n_done: int, n_total: int | None) -> None:
    """Press Ctrl-C after two rounds."""
    if (task, n_done) == ("ask private rows", 2):
        raise KeyboardInterrupt


def interrupted(make: Callable[[Any], Any], form: str) -> Kind:
    """Return what is left of a fit in which Ctrl-C was pressed, and the message."""

    def run(desk: Desk, data: Data) -> Left:
        model, pool = make(desk.accountant()), sb.PublicData(public_rows(form))
        match = "the fit was interrupted.*% of the budget was charged"
        with (
            show_progress(press_in_rounds),
            mock.patch.object(_ensemble_run, "fit_student", side_effect=KeyboardInterrupt),
            pytest.raises(KeyboardInterrupt, match=match) as interrupt,
        ):
            model.fit(data.X, data.targets, X_public=pool)
        return Left([model], [str(interrupt.value)])

    return Kind(run, rows(form))


def of_child(desk: Desk, data: Data) -> Left:
    """Fit a model with a part of a budget."""
    accountant = desk.accountant()
    child = accountant.child("team", epsilon=100.0)
    model = sb.PrivateLogisticRegression(classes=[0, 1], accountant=child)
    model.fit(data.X, data.targets, X_public=sb.PublicData(public_rows()))
    child.close()
    return Left([child], [model])


def border_scores(n_columns: int = 30) -> Kind:
    """Return scores of rows at the border between the answers of a student."""

    def run(desk: Desk, data: Data) -> Left:
        pool = np.random.default_rng(5).normal(size=(60, n_columns))
        model = sb.PrivateTeacherEnsemble(
            DecisionTreeClassifier(max_depth=2, random_state=0),
            n_teachers=8,
            mechanism=sb.GNMax(sigma=1.0),
            student=LogisticRegression(),
            classes=[0, 1],
            accountant=budget(desk, data),
        )
        fitted, of_row = private_rows("array", owners=True), given(data, labels=False)
        wide = np.random.default_rng(6).normal(size=(len(fitted.y), n_columns))
        model.fit(wide, fitted.targets, X_public=sb.PublicData(pool), owners=of_fitted(fitted))
        X = np.array([border_row(model.student_, row, n_columns) for row in data.rows])
        return Left([model], [model.score_private(X, np.zeros(len(X), int), **of_row, **SPEND)])

    return Kind(run, rows("array", owners=True), AGAIN, most=ALIKE)


def of_fitted(data: Data) -> np.ndarray:
    """Return the owners of all rows."""
    return np.array(data.owners)


def border_row(student: Any, row: tuple[float, ...], n_columns: int) -> np.ndarray:
    """Return a row, which follows from its cells, at the border between two answers.

    Alone it gets another answer than beside copies of itself, if such a row is found soon.
    """
    rng = np.random.default_rng([int(abs(cell) * 1e6) for cell in row])
    direction = 1e6 * np.sign(student.coef_[0])
    for _ in range(5):
        # Far from zero, where the terms of a product are rounded by more than its distance.
        ends = 1e4 + rng.normal(size=n_columns) + np.array([-direction, direction])
        for _ in range(64):
            middle = ends.mean(axis=0)
            ends[int(student.decision_function(middle[None])[0] > 0)] = middle
        if student.decision_function(np.tile(ends[1], (4, 1)))[0] <= 0:
            break
    return np.asarray(ends[1])


ANSWERS = {
    "score and confusion": predictions(),
    "score and confusion, owners": predictions(owners=True),
    "R^2": predictions("number"),
    "R^2, owners": predictions("number", owners=True),
    "scores of a logistic model": scores(),
    "scores of a logistic model, owners": scores(owners=True),
    "scores of a linear regression": scores("number"),
    "scores of a logistic model, same rows": scores(owners=True, change=AGAIN, most=ALIKE),
    "scores of a student": student_scores(change=MEEK),
    "quantiles": quantiles(),
    "quantiles, types": quantiles("types"),
    "quantiles, owners": quantiles(owners=True),
    "quantiles, lists": quantiles("lists", cells=NUMBERS),
    "top k, stable": top_k(),
    "top k, exponential": top_k(k=2, mechanism="exponential"),
    "top k, exponential, few items": top_k(k=2, mechanism="exponential", most=2, max_items=2),
    "top k, limited domain": top_k(k=2, mechanism="limited_domain", relation="add_remove"),
    "top k, owners": top_k(owners=True),
    "proportions, gaussian": proportions("gaussian"),
    "proportions, gaussian, two classes": proportions("gaussian", (0, 1)),
    "proportions, laplace": proportions("laplace"),
    "proportions, dirichlet": proportions("dirichlet"),
    "vote of parties, GNMax": parties(sb.GNMax(sigma=2.0)),
    "vote of parties, SkellamMax": parties(sb.SkellamMax(variance=4.0)),
    "child budget": Kind(of_child, rows()),
    "refused fit": Kind(refused, rows()),
}
EXCUSED = {"published epsilon": published_epsilon()}
INTERRUPTED = {
    "interrupted rounds": interrupted(
        lambda budget: sb.PrivateLogisticRegression(classes=[0, 1], accountant=budget), "frame"
    ),
    "interrupted student": interrupted(
        lambda budget: sb.PrivateTeacherEnsemble(
            DecisionTreeClassifier(max_depth=2, random_state=0),
            n_teachers=8,
            mechanism=sb.GNMax(sigma=2.0),
            student=DecisionTreeClassifier(max_depth=2, random_state=0),
            classes=[0, 1],
            accountant=budget,
        ),
        "array",
    ),
}
#: Rows through a user's function, which may round by their number.
ROWS = {
    "scores of a student, any cells": student_scores(),
    "scores of a student, owners": student_scores(owners=True),
    "scores of rows at a border, owners": border_scores(),
    "scores of a linear-features model, owners": scores(
        owners=True, features="linear", form="float32", change=MEEK
    ),
    "scores of a PCA model, owners": scores(
        owners=True, features=make_pipeline(PCA(2)), form="float32", change=MEEK
    ),
}
#: Tables given as lists, with cells that fit no number.
CELLS = {
    "quantiles, lists, any cells": quantiles("lists"),
    "quantiles, lists, unfit cells": quantiles("lists", cells=UNFIT, manners=("cells",)),
    "numbers, lists, unfit cells": linear(
        "number", form="lists", change={"cells": UNFIT, "manners": ("cells",)}
    ),
}
