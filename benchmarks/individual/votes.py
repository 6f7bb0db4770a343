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
from numpy.typing import ArrayLike, NDArray
from settings import N_CLASSES, N_TEACHERS, Setting
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import check_random_state

from secretballot import PrivateTeacherEnsemble, load_adult

SIDE, CELL, DIRECTIONS = 28, 4, 8
N_PIXELS = SIDE * SIDE
_MARGIN = 6  # black pixels around, more than a distortion reaches beyond the picture

Pictures = NDArray[np.float32]


def edges(pictures: Pictures) -> Pictures:
    """Strength of edges by direction in each cell of 4 x 4 pixels, shape (n_pictures, 392).

    A fixed function of one picture: it learns from nothing.
    """
    image = pictures.reshape(-1, SIDE, SIDE)
    right, down = np.zeros_like(image), np.zeros_like(image)
    right[:, :, 1:-1] = image[:, :, 2:] - image[:, :, :-2]
    down[:, 1:-1] = image[:, 2:] - image[:, :-2]
    strength = np.hypot(right, down)
    direction = np.arctan2(down, right) * np.float32(DIRECTIONS / np.pi)
    direction[direction < 0] += DIRECTIONS  # opposite ones are alike
    cells = SIDE // CELL
    found = np.empty((len(image), DIRECTIONS, cells, cells), dtype=np.float32)
    for number in range(DIRECTIONS):
        off = np.abs(direction - number)
        near = np.maximum(1 - np.minimum(off, DIRECTIONS - off), 0) * strength
        found[:, number] = near.reshape(-1, cells, CELL, cells, CELL).sum(axis=(2, 4))
    features = np.sqrt(found).reshape(len(image), -1)
    length = np.linalg.norm(features, axis=1, keepdims=True)
    return np.asarray(features / np.maximum(length, 1e-6))


def with_edges(pictures: ArrayLike) -> Pictures:
    """Pictures of 28 x 28 bytes, each with its edges beside it, so that a vote need not find them.

    Shape (n_pictures, 784 + 392).
    """
    pixels = np.asarray(pictures, dtype=np.float32).reshape(-1, N_PIXELS) / np.float32(255)
    parts = [edges(part) for part in np.array_split(pixels, max(1, len(pixels) // 2_000))]
    return np.concatenate([pixels, np.concatenate(parts)], axis=1)


def distorted(pictures: Pictures, rng: np.random.RandomState) -> Pictures:
    """Each picture rotated by up to 7.5 degrees and shifted by up to 7 %, at random."""
    n = len(pictures)
    angle = np.deg2rad(rng.uniform(-7.5, 7.5, (n, 1)))
    shift = rng.uniform(-0.07 * SIDE, 0.07 * SIDE, (2, n, 1))
    middle = (SIDE - 1) / 2
    y, x = (axis.ravel() - middle for axis in np.mgrid[:SIDE, :SIDE])
    from_y = np.cos(angle) * y - np.sin(angle) * x + middle + shift[0] + _MARGIN
    from_x = np.sin(angle) * y + np.cos(angle) * x + middle + shift[1] + _MARGIN
    width = SIDE + 2 * _MARGIN
    padded = np.pad(pictures.reshape(-1, SIDE, SIDE), ((0, 0), *[(_MARGIN, _MARGIN)] * 2))
    flat = padded.reshape(n, -1)
    top, left = np.floor(from_y).astype(np.intp), np.floor(from_x).astype(np.intp)
    below, beyond = from_y - top, from_x - left
    corner = top * width + left
    picture = np.arange(n)[:, None]
    blend = (1 - below) * (
        (1 - beyond) * flat[picture, corner] + beyond * flat[picture, corner + 1]
    ) + below * (
        (1 - beyond) * flat[picture, corner + width] + beyond * flat[picture, corner + width + 1]
    )
    return np.asarray(blend, dtype=np.float32)


class PictureClassifier(ClassifierMixin, BaseEstimator):
    """Kernel ridge regression on the edges of the pictures and of distorted copies of them.

    Each model looks at a random choice of the edges (Ho's random subspaces): models that differ
    vote better together.
    """

    def __init__(
        self,
        n_copies: int = 2,
        n_edges: int = 120,
        gamma: float = 5.0,
        alpha: float = 0.05,
        random_state: object = None,
    ) -> None:
        self.n_copies = n_copies
        self.n_edges = n_edges
        self.gamma = gamma
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, X: Pictures, y: ArrayLike) -> PictureClassifier:
        """Train on pictures with their edges, as `with_edges` gives them."""
        rng = check_random_state(self.random_state)
        self.classes_, codes = np.unique(y, return_inverse=True)
        pixels, found = X[:, :N_PIXELS], X[:, N_PIXELS:]
        self._edges = rng.choice(found.shape[1], self.n_edges, replace=False)
        copies = [edges(distorted(pixels, rng)) for _ in range(self.n_copies)]
        features = np.concatenate([found, *copies])[:, self._edges]
        wanted = np.eye(len(self.classes_), dtype=np.float32)[np.tile(codes, self.n_copies + 1)]
        self._features = features
        model = KernelRidge(kernel="precomputed", alpha=self.alpha)
        self._model = model.fit(self._kernel(features), wanted)
        return self

    def _kernel(self, features: Pictures) -> Pictures:
        """Gaussian kernel with the training rows; in single precision, which is twice as fast."""
        known = self._features
        exponent = features @ (2 * known.T)
        exponent -= np.einsum("ij,ij->i", features, features)[:, None]
        exponent -= np.einsum("ij,ij->i", known, known)
        exponent *= np.float32(self.gamma)
        return np.exp(np.minimum(exponent, 0, out=exponent), out=exponent)

    def predict(self, X: Pictures) -> NDArray[np.generic]:
        """Class of each picture."""
        scores = self._model.predict(self._kernel(X[:, N_PIXELS:][:, self._edges]))
        return np.asarray(self.classes_[scores.argmax(axis=1)])


HERE = Path(__file__).resolve()
CACHE = Path(os.environ.get("SECRETBALLOT_OUTPUT", HERE.parents[2] / "output")) / "individual"
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
    """Votes by privacy group, shape (n_queries, n_classes); ballots are of plain ensembles only."""

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
    group_of = np.array(ensemble._labelling.facts.assignment.groups)
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
