"""Two tables for parties: Adult, one class a row; CelebA's attributes, several labels a row."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import load_adult

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
#: What is learned from the other attributes of a face; three of them are rare.
LABELS = (
    *("Attractive", "Bags_Under_Eyes", "Big_Nose", "Double_Chin"),
    *("Gray_Hair", "Heavy_Makeup", "Male", "Young"),
)


class Table(NamedTuple):
    """Rows, their class or labels, and what a party trains on them."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    labels: tuple[str, ...] | None
    estimator: object


def adult(weight: str | None) -> Table:
    """Adult, categories as indicators; a party scales its own rows."""
    X, y = load_adult(complete_only=True, one_hot=True, return_X_y=True)
    estimator = make_pipeline(
        StandardScaler(), LogisticRegression(C=0.1, class_weight=weight, max_iter=500)
    )
    return Table(np.asarray(X, dtype=float), np.asarray(y), None, estimator)


def celeba(weight: str | None) -> Table:
    """Eight attributes of faces (one to five in a hundred rare), told from the other 32."""
    with np.load(SHARED / "celeba_attributes.npz") as file:
        attributes = np.unpackbits(file["packed"], axis=1)[:, :40]
        names = [str(name) for name in file["names"]]
    at = [names.index(name) for name in LABELS]
    others = [i for i in range(40) if i not in at]
    estimator = MultiOutputClassifier(LogisticRegression(C=0.3, class_weight=weight, max_iter=500))
    y = attributes[:, at].astype(np.int64)
    return Table(attributes[:, others].astype(float), y, LABELS, estimator)


def available() -> dict[str, object]:
    """Return the sets that can be read here, by name."""
    return {"adult": adult, **({"celeba": celeba} if SHARED.exists() else {})}
