"""Votes of the teachers that `tables.py` needs; cached in output/individual.

Benchmarks look at votes directly; outside of experiments on public data nobody should.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from pictures import PictureClassifier, with_edges
from settings import N_CLASSES, N_TEACHERS, Setting
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from secretballot import PrivateTeacherEnsemble, load_adult

HERE = Path(__file__).resolve()
CACHE = HERE.parents[2] / "output" / "individual"
# Beside the repository, if anywhere: MNIST is not part of the product.
MNIST = HERE.parents[3] / "shared" / "data" / "mnist.npz"
N_PRIVATE = {"adult": 37_222, "mnist": 60_000}
N_PUBLIC = {"adult": 7_000, "mnist": 9_000}
N_TEST = 1_000


@dataclass(frozen=True)
class Rows:
    """Rows and their classes."""

    X: NDArray[Any]
    y: NDArray[np.int64]


@dataclass(frozen=True)
class Votes:
    """Ballots of an ensemble, counted by privacy group.

    Attributes
    ----------
    public, test : dict of str to ndarray of shape (n_queries, n_classes)
        Votes of each group's teachers.
    ballots : ndarray of shape (n_teachers, n_public) or None
        Each teacher's own; of plain ensembles only.
    """

    public: dict[str, NDArray[np.int64]]
    test: dict[str, NDArray[np.int64]]
    ballots: NDArray[np.uint8] | None


def model(data: str, trees: int = 100) -> Any:
    """Return what the teachers of a data set are, and its students."""
    if data == "mnist":
        return PictureClassifier()
    # Scaling inside each teacher: fitted on the pooled rows it would leak.
    return make_pipeline(MinMaxScaler(), RandomForestClassifier(n_estimators=trees))


@lru_cache(maxsize=1)
def _source(data: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if data == "adult":
        return load_adult(return_X_y=True, complete_only=True)
    with np.load(MNIST) as arrays:
        pictures = np.concatenate([arrays["X_train"], arrays["X_test"]])
        return with_edges(pictures), np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(
            np.int64
        )


def rows(data: str, seed: int) -> dict[str, Rows]:
    """Return the private, public and test rows of a seed."""
    X, y = _source(data)
    rng = np.random.default_rng([seed, 0])
    n_private, n_public = N_PRIVATE[data], N_PUBLIC[data]
    if data == "adult":
        order = rng.permutation(len(y))
        private, rest = order[:n_private], order[n_private:]
    else:  # MNIST's own training pictures are the private ones
        private, rest = slice(n_private), n_private + rng.permutation(len(y) - n_private)
    parts = {
        "private": private,
        "public": rest[:n_public],
        "test": rest[n_public : n_public + N_TEST],
    }
    return {name: Rows(X[part], y[part]) for name, part in parts.items()}


def path_of(setting: Setting, seed: int, trees: int) -> Path:
    """Return where the votes of a setting are."""
    forest = f"_{trees}trees" if setting.data == "adult" and trees != 100 else ""
    return CACHE / f"{setting.teachers}{forest}_seed{seed}.npz"


def votes_of(setting: Setting, seed: int, trees: int) -> Votes:
    """Return the votes of a setting, which `collect` made."""
    with np.load(path_of(setting, seed, trees)) as arrays:
        groups = arrays["groups"].tolist()
        return Votes(
            public=dict(zip(groups, arrays["public"].astype(np.int64), strict=True)),
            test=dict(zip(groups, arrays["test"].astype(np.int64), strict=True)),
            ballots=arrays.get("ballots"),
        )


def collect(settings: Sequence[Setting], seeds: Sequence[int], trees: int, n_jobs: int) -> None:
    """Train the teachers that are missing, and keep their votes; can be interrupted any time."""
    CACHE.mkdir(parents=True, exist_ok=True)
    missing = {
        path: (setting, seed)
        for seed in seeds
        for setting in settings
        if not (path := path_of(setting, seed, trees)).exists()
    }
    # One data set after the other: a worker keeps one in memory.
    for data in sorted({setting.data for setting, _ in missing.values()}):
        tasks = [
            delayed(_collect)(path, setting, seed, trees)
            for path, (setting, seed) in missing.items()
            if setting.data == data
        ]
        for number, said in enumerate(
            Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks), start=1
        ):
            print(f"[{number}/{len(tasks)}] {said}", flush=True)


def _collect(path: Path, setting: Setting, seed: int, trees: int) -> str:
    start = time.perf_counter()
    split = rows(setting.data, seed)
    private = split["private"]
    individual = setting.individualization
    ensemble = PrivateTeacherEnsemble(
        model(setting.data, trees),
        N_TEACHERS,
        individualization=individual,
        classes=range(N_CLASSES[setting.data]),
        accountant=None if individual is None else setting.accountant(),
        random_state=seed,
    )
    budgets = None if individual is None else setting.levels_of(private.y, seed)
    ensemble.fit(private.X, private.y, budgets=budgets)
    each = {
        part: np.array(
            [
                teacher.predict(split[part].X).astype(np.uint8)  # classes are their own codes
                for teacher in ensemble._teachers
            ]
        )
        for part in ("public", "test")
    }
    group_of = np.array(ensemble._labelling.facts.plan.groups)
    groups = sorted(set(group_of.tolist()))
    counted = {
        part: [_count(cast[group_of == group], N_CLASSES[setting.data]) for group in groups]
        for part, cast in each.items()
    }
    if setting.way == "plain":
        counted["ballots"] = each["public"]
    # Written aside and then renamed: an interrupted run leaves no half of a file.
    aside = path.with_suffix(f".{os.getpid()}.part")
    with aside.open("wb") as file:
        np.savez_compressed(file, groups=groups, **counted)
    aside.replace(path)
    return f"{path.stem}: {len(group_of)} teachers, {time.perf_counter() - start:.0f} s"


def _count(cast: NDArray[np.uint8], n_classes: int) -> NDArray[np.uint16]:
    return np.stack([(cast == code).sum(axis=0) for code in range(n_classes)], axis=1).astype(
        np.uint16
    )
