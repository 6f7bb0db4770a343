"""Inputs of all releases are equal, bit by bit, in memory and in one, three and eight chunks.

Tasks run twice, in a random order. With equal noise, later releases depend on the first.
"""

import re
import warnings

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from tests.distributed._parts import OWNER, TARGET, RepeatingEngine, split, table

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
    Upsampling,
    Vanishing,
    Weighting,
    private_top_k,
    publish_proportions,
)
from secretballot.ensemble import PrivateChoice, _shards
from secretballot.linear import _private_sums, _read_rows
from secretballot.measures import private_quantiles
from secretballot.quantification import Bags
from secretballot.tables import PrivateParts, _private_rows

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning"),
]

LABELS = ["late", "large"]
LEVEL = "tier"
DECLARED = {
    "columns": ["a", "b", "c"],
    "bounds": {"a": (-4, 4), "b": (0, 5)},
    "categories": {"c": ["x", "y", "z"]},
}
NUMBERS = ["a", "b"]


def rows_of(n_rows, n_owners, n_classes=2, seed=0):
    rows = table(n_rows, n_owners, n_classes, seed)
    rows["group"] = np.where(rows["b"] > 2, "high", "low")
    rows[LEVEL] = np.where(rows[OWNER] % 3 == 0, "strict", "generous")
    for label, cut in zip(LABELS, (0, 1), strict=True):
        rows[label] = (rows["a"].fillna(0) + rows["b"] > cut).astype(int)
    return rows


PUBLIC = rows_of(120, 60, seed=9)


class Given:
    """Arguments of a call, for rows in memory or in parts."""

    def __init__(self, rows, folder, n_chunks):
        self.rows, self.folder, self.n_chunks = rows, folder, n_chunks

    def arguments(self, columns, target, *, levels=False):
        """Return X, and y, owners and levels of rows in memory."""
        if not self.n_chunks:
            how = {"budgets": self.rows[LEVEL]} if levels else {}
            return self.rows[columns], {"y": self.rows[target], "owners": self.rows[OWNER], **how}
        return self.parts(target, budgets=LEVEL if levels else None), {}

    def parts(self, target, **how):
        engine = RepeatingEngine(self.n_chunks)
        how = {"owners": OWNER, "engine": engine, "n_buckets": self.n_chunks, **how}
        return PrivateParts(self.folder / "parts", y=target, scratch=self.folder, **how)


def budget(epsilon=6.0, **how):
    return PrivacyAccountant(epsilon, 1e-5, unit="owner", **how)


def linear(model, target=TARGET, columns=("a", "b", "c"), n_public=120, *, levels=False):
    """Return a call that fits a model."""
    columns = list(columns)

    def run(given):
        X, how = given.arguments(columns, target, levels=levels)
        epsilon = {"strict": 4.0, "generous": 8.0} if levels else 6.0
        here = type(model)(**model.get_params(deep=False))
        here.set_params(accountant=budget(epsilon), random_state=0)
        pool = PublicData(PUBLIC[columns][:n_public]) if n_public else None
        return here.fit(X, X_public=pool, **how)

    return run


def ensemble(target=TARGET, student=None, rule=None):
    def run(given):
        X, how = given.arguments(NUMBERS, target, levels=rule is not None)
        epsilon = {"strict": 4.0, "generous": 8.0} if rule else 6.0
        here = PrivateTeacherEnsemble(
            DecisionTreeClassifier(max_depth=2),
            n_teachers=10,
            classes=[0, 1] if target == TARGET else None,
            student=student,
            individualization=rule,
            accountant=budget(epsilon),
            random_state=0,
        )
        return here.fit(X, X_public=PublicData(PUBLIC[NUMBERS][:30].fillna(0)), **how)

    return run


def score(method, model, **how):
    """Return a call that scores a model on the rows that it was fitted on."""

    def run(given):
        fitted = linear(model)(given)
        X, arguments = given.arguments(["a", "b", "c"], TARGET)
        return getattr(fitted, method)(X, epsilon=0.5, **arguments, **how)

    return run


def quantiles(given):
    X, how = given.arguments(NUMBERS, TARGET)
    how.pop("y", None)
    bounds = {"a": (-3.5, 4), "b": (-1, 9)}
    return private_quantiles(
        X, bounds=bounds, n_bins=32, accountant=budget(), share="rest", random_state=0, **how
    )


def items(given):
    counts, how = given.rows[LABELS], {"owners": given.rows[OWNER]}
    if given.n_chunks:
        counts, how = given.parts(LABELS), {}
    return private_top_k(
        counts, 1, accountant=budget(), epsilon=1.0, max_items=2, random_state=0, **how
    )


def proportions(given):
    if given.n_chunks:
        bags = given.parts(TARGET, groups="group", owners=None)
    else:
        bags = Bags.from_groups(None, given.rows[TARGET], groups=given.rows["group"])
    return publish_proportions(bags, classes=[0, 1], epsilon=0.5, delta=1e-6, random_state=0)


def two(**how):
    return PrivateLogisticRegression(classes=[0, 1], **how)


def three(**how):
    return PrivateLogisticRegression(classes=[0, 1, 2], rounds=2, **how)


def numbers(**how):
    return PrivateLinearRegression(target_bounds=(0, 2), rounds=2, **how)


CHOICE = PrivateChoice(
    [LogisticRegression(), DecisionTreeClassifier(max_depth=2, random_state=0)], share=0.2
)
KINDS = {
    "two classes": linear(two(rounds=2)),
    "pairs": linear(two(interactions=1, rounds=4)),
    "levels": linear(two(rounds=1), levels=True),
    "placed bins": linear(two(rounds=1, **DECLARED), n_public=0),
    "few public rows": linear(two(rounds=1, **DECLARED), n_public=40),
    "linear": linear(two(features="linear", rounds=2), columns=NUMBERS),
    "transformer": linear(two(features=PCA(2), rounds=1), columns=["b", *LABELS]),
    "three classes": linear(three()),
    "kernel": linear(three(features="kernel")),
    "several labels": linear(PrivateLogisticRegression(rounds=2), LABELS),
    "numbers": linear(numbers()),
    "numbers, pairs": linear(numbers(interactions=1)),
    "ensemble": ensemble(),
    "ensemble of labels": ensemble(LABELS),
    "choice": ensemble(student=CHOICE),
    "upsampling": ensemble(rule=Upsampling()),
    "weighting": ensemble(rule=Weighting()),
    "vanishing": ensemble(rule=Vanishing()),
    "accuracy": score("score_private", two(rounds=1, epsilon=4.0)),
    "confusion": score("confusion_private", three(epsilon=4.0)),
    "R^2": score("score_private", numbers(epsilon=4.0)),
    "quantiles": quantiles,
    "items": items,
    "proportions": proportions,
}
THREE = {"three classes", "kernel", "numbers", "numbers, pairs", "confusion", "R^2"}


def run_all(kind, tmp_path, monkeypatch, chunks=(0, 1, 3, 8)):
    """Return the inputs of all releases of the same rows, in memory (0) and in chunks."""
    rows = split(rows_of(300, 120, 3 if kind in THREE else 2), tmp_path / "parts")
    release, runs = PrivacyAccountant.release, []

    def recorded(self, mechanism, counts, **how):
        described = re.sub(r"division='\w+'", "", repr(mechanism))  # of one fit
        runs[-1].append((described, np.array(counts, dtype=float).tobytes()))
        return release(self, mechanism, counts, **how)

    monkeypatch.setattr(PrivacyAccountant, "release", recorded)
    for n_chunks in chunks:
        runs.append([])
        KINDS[kind](Given(rows, tmp_path, n_chunks))
    return runs


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_release_what_memory_does(kind, tmp_path, monkeypatch):
    memory, *parts = run_all(kind, tmp_path, monkeypatch)
    assert memory
    for each in parts:
        assert each == memory


def test_planted_sums_that_are_not_exact_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(_private_sums, "rounded_towards_zero", lambda numbers, bits: numbers)
    memory, *parts = run_all("two classes", tmp_path, monkeypatch, (0, 3, 8))
    assert any(each != memory for each in parts)


def test_planted_chunks_that_are_added_twice_are_found(tmp_path, monkeypatch):
    counted = _private_rows.PrivateRows.map

    def twice(self, function):
        for result in counted(self, function):
            yield result
            if self.buckets is not None:
                yield result

    monkeypatch.setattr(_private_rows.PrivateRows, "map", twice)
    memory, parts = run_all("quantiles", tmp_path, monkeypatch, (0, 3))
    assert parts != memory


def misfits_of_one_owner(rows):
    """Give a twelfth of the rows to one owner, and cells that do not fit to one of its columns."""
    mine = np.arange(len(rows)) % 12 == 0
    return rows.assign(b=np.where(mine, "?", rows["b"]), **{OWNER: np.where(mine, 0, rows[OWNER])})


def warned(kind, folder):
    """Test if a fit warns of misfits, which a twelfth of all rows have."""
    rows = split(misfits_of_one_owner(rows_of(300, 120)), folder / "parts")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        KINDS[kind](Given(rows, folder, 12))
    return any("more than a quarter of the cells" in str(each.message) for each in caught)


def of_chunks_with_misfits(misfits, n_rows):
    return COUNTS({"b": misfits["b"]}, n_rows) if "b" in misfits else COUNTS({}, 0)


COUNTS = _private_rows.misfit_counts


@pytest.mark.parametrize("kind", ["two classes", "ensemble"])
def test_misfits_are_a_share_of_all_rows(kind, tmp_path, monkeypatch):
    assert not warned(kind, tmp_path)
    for module in (_read_rows, _shards):  # planted: of the chunks that have any
        monkeypatch.setattr(module, "misfit_counts", of_chunks_with_misfits)
    assert warned(kind, tmp_path)
