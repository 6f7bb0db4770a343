"""Kinds of fits and answers of private rows in parts, which joblib reads."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier
from tests.attacks._neighbour_rows import HIGH, LOW, Data, private_rows, public_rows
from tests.attacks._paired_answers import BOUNDS, SPEND
from tests.attacks._paired_fits import CLASSES, DECLARED, LEVELS, MEEK, SCALED, one_student
from tests.attacks._paired_runs import Desk, Kind, Left

import secretballot as sb
from secretballot.ensemble import make_table_pipeline
from secretballot.measures import private_quantiles
from secretballot.tables import PrivateParts

N_PARTS = 3


def typed(data: Data) -> pd.DataFrame:
    """Return rows whose columns have one type each, as a file stores them."""
    table = data.X
    numbers = {name: [_number(cell) for cell in table[name]] for name in "ab"}
    texts = [None if cell is None else str(_short(cell)) for cell in table["c"]]
    days = pd.to_datetime(table["d"], errors="coerce", utc=True).dt.tz_localize(None)
    return table.assign(**numbers, c=texts, d=days.astype("datetime64[us]"))


def _short(cell: Any) -> Any:
    """Return a cell that has a text: integers of many digits have none."""
    return "many digits" if isinstance(cell, int) and abs(cell) > 2**64 else cell


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def parts(desk: Desk, data: Data, **how: Any) -> PrivateParts:
    """Write rows into files, and return them as parts."""
    table, targets = typed(data), data.targets
    folder = desk.folder / f"rows-{len(list(desk.folder.iterdir()))}"
    folder.mkdir()
    if targets.ndim == 2:
        table = table.assign(**{f"y{k}": targets[:, k] for k in range(targets.shape[1])})
        how["y"] = [f"y{k}" for k in range(targets.shape[1])]
    else:
        table = table.assign(y=targets)
        how.setdefault("y", "y")
    table = table.assign(person=data.owners)
    if data.levels is not None:
        table, how["budgets"] = table.assign(level=data.levels), "level"
    table = table.reset_index(drop=True)
    for number, places in enumerate(np.array_split(np.arange(len(table)), N_PARTS)):
        table.iloc[places].to_parquet(folder / f"{number}.parquet", index=False)
    owners = {} if "groups" in how else {"owners": "person"}
    return PrivateParts(folder, **owners, n_buckets=4, scratch=desk.folder, **how)


def linear(
    target: str = "two",
    *,
    levels: bool = False,
    is_scored: bool = False,
    n_public: int = 60,
    change: dict[str, Any] | None = None,
    **settings: Any,
) -> Kind:
    """Return a kind of fit of a linear model, or of its scores."""

    def run(desk: Desk, data: Data) -> Left:
        accountant = desk.accountant(LEVELS if levels else 500.0, unit="owner")
        common = {"accountant": accountant, "epsilon": 50.0 if is_scored else None, **settings}
        model: Any
        if target == "number":
            model = sb.PrivateLinearRegression(target_bounds=(LOW, HIGH), **common)
        else:
            model = sb.PrivateLogisticRegression(classes=CLASSES[target], **common)
        rows = private_rows("frame", target, owners=True) if is_scored else data
        pool = sb.PublicData(public_rows(n=n_public)) if n_public else None
        model.fit(parts(desk, rows), X_public=pool)
        answers = []
        if is_scored:
            answers.append(model.score_private(parts(desk, data), **SPEND))
        if is_scored and target != "number":
            answers.append(model.confusion_private(parts(desk, data), **SPEND))
        return Left(published=[model, *answers])

    data = partial(private_rows, "frame", target, owners=True, levels=levels)
    return Kind(run, data, {"target": target, **(change or {})})


def ensemble(
    mechanism: Any = None,
    target: str = "two",
    *,
    is_scored: bool = False,
    change: dict[str, Any] | None = None,
) -> Kind:
    """Return a kind of fit of an ensemble, or of scores of its student."""

    def run(desk: Desk, data: Data) -> Left:
        pool = public_rows(n=30)
        learner = make_table_pipeline(DecisionTreeClassifier(max_depth=2, random_state=0), pool)
        model = sb.PrivateTeacherEnsemble(
            learner,
            n_teachers=8,
            mechanism=mechanism or sb.GNMax(sigma=1.0),  # insists on three owners a teacher
            student=one_student(pool),
            accountant=desk.accountant(unit="owner"),
            classes=CLASSES[target],
        )
        rows = private_rows(owners=True) if is_scored else data
        model.fit(parts(desk, rows), X_public=sb.PublicData(pool))
        answers = [model.score_private(parts(desk, data), **SPEND)] if is_scored else []
        return Left([model], [model.to_student(), *answers])

    data = partial(private_rows, "frame", target, owners=True)
    return Kind(run, data, {"target": target, **(change or {})})


def quantiles(desk: Desk, data: Data) -> Left:
    """Release quantiles."""
    accountant = desk.accountant(unit="owner")
    rows = parts(desk, data)
    return Left(
        published=[
            private_quantiles(rows, bounds=BOUNDS, accountant=accountant, n_bins=64, epsilon=300.0)
        ]
    )


def top_k(desk: Desk, data: Data) -> Left:
    """Release the most frequent sets of labels."""
    accountant = desk.accountant(unit="owner", approximation_delta=5e-4)
    rows = parts(desk, data)
    return Left(published=[sb.private_top_k(rows, accountant=accountant, **SPEND)])


def proportions(desk: Desk, data: Data) -> Left:
    """Release the proportions of classes in places."""
    accountant = desk.accountant(unit="label", order=np.inf, delta=1e-3)
    rows = parts(desk, data, groups="c")
    published = sb.publish_proportions(
        rows, [0, 1, 2], 5.0, 1e-6, "gaussian", accountant=accountant
    )
    return Left(published=[published])


PARTS = {
    "parts: logistic": linear(),
    "parts: logistic, three classes": linear("three"),
    "parts: logistic, labels": linear("labels"),
    "parts: logistic, levels": linear(levels=True),
    "parts: numbers": linear("number"),
    "parts: scores of a logistic model": linear(is_scored=True),
    "parts: scores of a linear regression": linear("number", is_scored=True),
    "parts: ensemble": ensemble(),
    "parts: ensemble, BinaryVoting": ensemble(sb.BinaryVoting(sigma=1.0, n_votes=8), "labels"),
    "parts: quantiles": Kind(quantiles, partial(private_rows, owners=True)),
    "parts: top k": Kind(
        top_k, partial(private_rows, "frame", "labels", owners=True), {"target": "labels"}
    ),
    "parts: proportions": Kind(
        proportions,
        partial(private_rows, "frame", "three"),
        {"target": "three", "only_labels": True},
    ),
}
#: Sums of products of two columns.
PRODUCTS = {
    "parts: logistic, declared": linear(n_public=0, **DECLARED),
    "parts: logistic, few public rows": linear(n_public=12),
    "parts: numbers, declared": linear("number", n_public=0, **DECLARED),
}
#: Rows through a user's function, which may round by their number.
ROWS = {
    "parts: logistic, linear": linear(features="linear", change=MEEK),
    "parts: logistic, stock transformer": linear(features=SCALED),
    "parts: scores of a student": ensemble(sb.GNMax(sigma=1.0), is_scored=True),
}
