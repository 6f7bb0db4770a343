"""Votes of 250 random forests on Adult, the setting of published tables; cached in output/."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from secretballot import PrivateTeacherEnsemble, load_adult
from secretballot.ensemble._target import as_target
from secretballot.ensemble._votes import GroupTally, ask

N_PRIVATE, N_PUBLIC = 37_222, 7_000
CACHE = Path(os.environ.get("SECRETBALLOT_OUTPUT", Path(__file__).resolve().parents[2] / "output"))


def adult_votes(n_teachers: int = 250, seed: int = 0, n_trees: int = 100) -> NDArray[np.int64]:
    """Votes (7,000 public rows, 2 classes) of teachers on 37,222 private rows of Adult.

    Benchmarks look at votes directly; outside of experiments on public data nobody should.
    """
    trees = "" if n_trees == 100 else f"_{n_trees}trees"
    path = CACHE / f"adult_votes_{n_teachers}_{seed}{trees}.npz"
    if path.exists():
        return np.load(path)["votes"]
    X, y = load_adult(return_X_y=True, complete_only=True)
    order = np.random.default_rng(seed).permutation(len(y))
    private, public = order[:N_PRIVATE], order[N_PRIVATE : N_PRIVATE + N_PUBLIC]
    # Scaling inside each teacher: fitted on the pooled rows it would leak.
    teacher = make_pipeline(MinMaxScaler(), RandomForestClassifier(n_estimators=n_trees))
    ensemble = PrivateTeacherEnsemble(teacher, n_teachers, n_jobs=2, random_state=seed)
    ensemble.fit(X[private], y[private])
    classes = ensemble.classes_
    counting = as_target(classes).counting
    cast = ask(ensemble._teachers, X[public], classes, counting, n_jobs=2)
    votes = GroupTally(counting).add_up(cast).votes["*"]
    path.parent.mkdir(exist_ok=True)
    np.savez_compressed(path, votes=votes, truth=y[public])
    return votes
