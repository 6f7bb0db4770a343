"""Kinds of fits of which neighbours are compared: linear models, and ensembles of teachers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.attacks._neighbour_rows import (
    AGAIN,
    ALIKE,
    DAY,
    HIGH,
    LOW,
    Data,
    private_rows,
    public_rows,
)
from tests.attacks._paired_runs import Desk, Kind, Left

import secretballot as sb
from secretballot.ensemble import PrivateChoice, TableEncoder, make_table_pipeline
from secretballot.mechanisms import ExponentialTopK, PowersetVoting, StableTopK

LEVELS = {"low": 300.0, "high": 600.0}
CLASSES = {"two": [0, 1], "three": [0, 1, 2], "labels": [[0, 1]] * 3}
#: Bounds of numbers, which some rows are at.
ENDS = {"a": (LOW, HIGH), "b": (0, 5)}
#: What columns of a frame hold, without public rows.
DECLARED = {
    "bounds": {"a": (LOW, HIGH), "b": (0, 5), "d": (DAY, DAY.replace(month=4))},
    "categories": {"c": ["x", "y", "z"]},
}


def budget(desk: Desk, data: Data, **options: Any) -> Any:
    """Return a budget of the rows, owners or levels of the data."""
    unit = "row" if data.owners is None else "owner"
    return desk.accountant(LEVELS if data.levels else 500.0, unit=unit, **options)


def given(data: Data, *, labels: bool = True) -> dict[str, Any]:
    """Return the arguments of `fit` beside the public rows."""
    groups = {"owners": data.owners, "budgets": data.levels}
    some = {name: np.array(of_row) for name, of_row in groups.items() if of_row is not None}
    return {"X": data.X, "y": data.targets, **some} if labels else some


def linear(
    target: str = "two",
    form: str = "frame",
    n_public: int = 60,
    *,
    owners: bool = False,
    levels: bool = False,
    at_ends: bool = False,
    change: dict[str, Any] | None = None,
    excused: str = "",
    most: float = 1.0,
    **settings: Any,
) -> Kind:
    """Return a kind of fit of a linear model."""

    def run(desk: Desk, data: Data) -> Left:
        accountant = budget(desk, data)
        model: Any
        if target == "number":
            bounds = {"target_bounds": (LOW, HIGH)}
            model = sb.PrivateLinearRegression(**bounds, accountant=accountant, **settings)
        else:
            classes = {"classes": CLASSES[target], **settings}
            model = sb.PrivateLogisticRegression(accountant=accountant, **classes)
        pool = sb.PublicData(public_rows(form, n_public)) if n_public else None
        model.fit(**given(data), X_public=pool)
        return Left(published=[model])

    how = {"owners": owners, "levels": levels, "at_ends": at_ends}
    data = partial(private_rows, form, target, **how)
    return Kind(run, data, {"target": target, **(change or {})}, excused, most)


def ensemble(
    mechanism: Any = None,
    target: str = "two",
    *,
    owners: bool = False,
    levels: bool = False,
    is_asked: bool = False,
    accounting: str = "worst_case",
    student: Callable[[Any], Any] | None = None,
    keeps_ensemble: bool = False,
    change: dict[str, Any] | None = None,
    excused: str = "",
    form: str = "frame",
    order: Any = None,
    most: float = 1.0,
    **settings: Any,
) -> Kind:
    """Return a kind of fit of an ensemble, or of labels of later rows."""

    def run(desk: Desk, data: Data) -> Left:
        pool = public_rows(form, 30)
        learner = make_table_pipeline(DecisionTreeClassifier(max_depth=2, random_state=0), pool)
        chosen = (student or one_student)(pool)
        model = sb.PrivateTeacherEnsemble(
            learner,
            n_teachers=8,
            mechanism=mechanism,
            student=None if is_asked else chosen,
            accountant=budget(desk, data, accounting=accounting, order=order),
            **{"classes": CLASSES[target], **settings},
        ).fit(**given(data), X_public=sb.PublicData(pool))
        kept = [model] if keeps_ensemble else []
        if is_asked:
            return Left([model], [model.predict_private(public_rows(form, 12))], kept)
        return Left([model], [model.to_student()], kept)

    data = partial(private_rows, form, target, owners=owners, levels=levels)
    return Kind(run, data, {"target": target, **(change or {})}, excused, most)


def squares(X: Any) -> Any:
    """Return each number and its square, limited."""
    with np.errstate(over="ignore"):
        return np.nan_to_num(np.clip(np.hstack([X, X**2]), -1e308, 1e308))


class Remembering(TransformerMixin, BaseEstimator):
    """Transformer that keeps the table that it saw last."""

    def fit(self, X: Any, y: Any = None) -> Remembering:
        """Keep a table."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        """Return the table as it is."""
        self.last_ = np.array(X, copy=True)
        return np.nan_to_num(self.last_)


def one_student(pool: Any) -> Any:
    """Return a student."""
    return make_table_pipeline(DecisionTreeClassifier(max_depth=2), pool)


def remembering_student(pool: Any) -> Any:
    """Return a choice of students that keep the rows that they saw last."""
    encoder = TableEncoder().fit(pool)
    learners = LogisticRegression(), DecisionTreeClassifier(max_depth=3)
    return PrivateChoice(
        [make_pipeline(FrozenEstimator(encoder), Remembering(), each) for each in learners]
    )


def chosen_student(pool: Any, **settings: Any) -> Any:
    """Return a choice of two students."""
    learners = LogisticRegression(), DecisionTreeClassifier(max_depth=3)
    return PrivateChoice([make_table_pipeline(each, pool) for each in learners], **settings)


VOTES = {"sigma": 1.0, "n_votes": 8}
SCALED = make_column_transformer(
    (StandardScaler(), ["a", "b"]), (OneHotEncoder(handle_unknown="ignore"), ["c"])
)
#: Cells that a scaler and an encoder take.
MEEK = {"manners": ("natural", "copy", "ends")}

LINEAR = {
    "logistic": linear(),
    "logistic, types": linear(form="types"),
    "logistic, objects": linear(form="objects"),
    "logistic, array": linear(form="array"),
    "logistic, three classes": linear("three"),
    "logistic, labels": linear("labels"),
    "logistic, owners": linear(owners=True),
    "logistic, same rows": linear(owners=True, change=AGAIN, most=ALIKE),
    "logistic, levels": linear(levels=True),
    "logistic, owners and levels": linear(owners=True, levels=True),
    "logistic, few public rows": linear(n_public=12),
    "logistic, declared": linear(n_public=0, **DECLARED),
    "logistic, declared objects": linear(form="objects", n_public=0, bounds=(-3, 6)),
    "logistic, a row at the bounds": linear(
        n_public=0, columns=["a", "b"], bounds=ENDS, at_ends=True, change={"place": 0}
    ),
    "logistic, pairs": linear(interactions=2, rounds=3),
    "logistic, monotone": linear(monotonic_cst={"a": 1}),
    "logistic, linear": linear(features="linear"),
    "logistic, kernel": linear(features="kernel", form="array"),
    "logistic, frozen": linear(
        form="array",
        features=FrozenEstimator(FunctionTransformer(squares).fit(np.zeros((1, 4)))),
        change=MEEK,
    ),
    "logistic, stock transformer": linear(features=SCALED, change=MEEK),
    "numbers": linear("number"),
    "numbers, owners": linear("number", owners=True),
    "numbers, same rows": linear("number", owners=True, change=AGAIN, most=ALIKE),
    "numbers, levels": linear("number", levels=True),
    "numbers, declared": linear("number", n_public=0, **DECLARED),
    "numbers, a target at the bounds": linear("number", at_ends=True, change={"place": 0}),
    "numbers, pairs": linear("number", interactions=2),
    "numbers, linear": linear("number", features="linear"),
    "numbers, lists": linear("number", form="lists"),
}
ENSEMBLES = {
    "ensemble": ensemble(),
    "ensemble, GNMax": ensemble(sb.GNMax(sigma=1.0), "three"),
    "ensemble, ConfidentGNMax": ensemble(
        sb.ConfidentGNMax(sigma=1.0, sigma_threshold=1.0, threshold=5.0)
    ),
    "ensemble, ConfidentGNMax, renyi": ensemble(
        sb.ConfidentGNMax(sigma=1.0, sigma_threshold=1.0, threshold=5.0), order="renyi"
    ),
    "ensemble, types": ensemble(form="types"),
    "ensemble, choice": ensemble(student=chosen_student, change=MEEK),
    "ensemble, owners": ensemble(owners=True),
    "ensemble, weighting": ensemble(levels=True, individualization=sb.Weighting()),
    "ensemble, upsampling": ensemble(levels=True, individualization=sb.Upsampling()),
    "ensemble, vanishing": ensemble(levels=True, individualization=sb.Vanishing()),
    "ensemble, labels": ensemble(None, "labels"),
    "ensemble, BinaryVoting": ensemble(sb.BinaryVoting(**VOTES), "labels"),
    "ensemble, TauVoting": ensemble(sb.TauVoting(**VOTES, tau=1.0), "labels"),
    "ensemble, PowersetVoting": ensemble(PowersetVoting(sigma=1.0, n_labels=3), "labels"),
    "ensemble, StableTopK": ensemble(StableTopK(rho=1.0, delta_t=1e-6, k=1), "labels"),
    "ensemble, ExponentialTopK": ensemble(ExponentialTopK(k=1, epsilon=2.0), "labels"),
    "ensemble, asked": ensemble(sb.GNMax(sigma=1.0), is_asked=True),
    "ensemble, choice by ballots": ensemble(
        student=partial(chosen_student, scoring="balanced_accuracy")
    ),
}
PRIVATE_STATE = "private attributes of a PrivateTeacherEnsemble"
DATA_DEPENDENT = 'accounting="data_dependent"'
SANITIZED = "private records of a sanitized budget"
LEARNED = "classes learned without classes="
#: Kinds that leave traces, by the name of the exception that allows it.
EXCUSED = {
    "ensemble itself": ensemble(keeps_ensemble=True, excused=PRIVATE_STATE),
    "ensemble, data dependent": ensemble(
        sb.GNMax(sigma=1.0), accounting="data_dependent", excused=DATA_DEPENDENT
    ),
    "ensemble, sanitized": ensemble(sb.GNMax(sigma=1.0), accounting="sanitized", excused=SANITIZED),
    "logistic, learned classes": linear(
        "three", classes=None, change={"target": "four"}, excused=LEARNED
    ),
}
#: Objects that keep the rows they are given.
MEMORY = {
    "logistic, remembering transformer": linear(form="array", features=Remembering(), change=MEEK),
    "ensemble, choice, remembering students": ensemble(student=remembering_student),
}
#: Rows through a user's function, which may round by their number.
ROWS = {
    "logistic, stock transformer, any cells": linear(features=SCALED),
    "logistic, stock transformer, owners": linear(features=SCALED, owners=True, change=MEEK),
    "numbers, stock transformer, owners": linear(
        "number",
        form="float32",
        features=make_pipeline(StandardScaler(), FunctionTransformer(squares)),
        owners=True,
        change=MEEK,
    ),
    "ensemble, choice, any cells": ensemble(student=chosen_student),
    "ensemble, choice, owners": ensemble(student=chosen_student, owners=True),
}
