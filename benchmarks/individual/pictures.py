"""A teacher for small pictures of digits: kernel ridge on edges, trained on distorted copies."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils import check_random_state

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

    Parameters
    ----------
    n_copies : int, default=2
        Distorted copies of each picture that are trained on besides the picture.
    n_edges : int, default=120
        How many of the 392 edges a model looks at.
    gamma, alpha : float
        Width of the Gaussian kernel and strength of the penalty.
    random_state : int, RandomState instance or None, default=None
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
