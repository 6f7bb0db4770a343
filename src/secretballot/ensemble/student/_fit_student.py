"""A student trained on what was released."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from secretballot._errors import warn
from secretballot._sklearn_compat import _safe_indexing
from secretballot.ensemble._labels import PrivateLabels, encode
from secretballot.ensemble._randomness import Randomness, seed_estimator
from secretballot.ensemble.student._fit_on_labels import fit_on_labels


def fit_student(
    student: Any,
    X_public: Any,
    released: PrivateLabels,
    classes: Any,
    unanswered: str,
    randomness: Randomness,
    vote_noise: float | None = None,
) -> Any:
    """Train a student on class positions, or on labels; -1 marks what was not answered.

    What of it has a parameter `vote_noise` that is None is told the noise of the votes.
    """
    if not released.answered.any():
        raise ValueError(
            f"not one of the {len(released.answered)} rows of X_public was answered, so there is "
            "nothing to train the student on; lower the mechanism's threshold, or give more "
            "public rows."
        )
    seeded = clone(student)
    if randomness.seeded:
        seed_estimator(seeded, randomness.student(), keep=True)
    asking = [
        name
        for name, value in seeded.get_params(deep=True).items()
        if name.rsplit("__", 1)[-1] == "vote_noise" and value is None
    ]
    seeded.set_params(**dict.fromkeys(asking, vote_noise))
    if isinstance(classes, list):
        return fit_on_labels(seeded, X_public, released.labels, unanswered)
    return _fit_on_classes(seeded, X_public, released, classes, unanswered)


def _fit_on_classes(
    student: Any,
    X_public: Any,
    released: PrivateLabels,
    classes: NDArray[Any],
    unanswered: str,
) -> Any:
    """Train on positions of classes; ``unanswered="mark"`` adds the other rows as -1."""
    answered = np.flatnonzero(released.answered)
    n_rows = len(released.answered)
    codes = np.full(n_rows, -1, dtype=np.int64)
    codes[answered] = encode(released.labels[answered].astype(classes.dtype), classes, "labels")
    known = np.unique(codes[answered])
    if unanswered == "drop":
        X_public, codes = _safe_indexing(X_public, answered), codes[answered]
    try:
        return clone(student).fit(X_public, codes)
    except ValueError as error:
        if len(known) > 1:
            raise ValueError(
                f"student={student!r} could not be fitted on the {len(answered)} answered rows. "
                "Their labels are paid for and kept in pool_labels_; fit another student on "
                f"them. The student said: {error}"
            ) from error
        told = str(error)
    # As a teacher does that saw one class: labels that are paid for should not end in an error.
    warn(
        f"all {len(answered)} answered rows have the label {classes[known].tolist()[0]!r} and the "
        f"student can't learn from one class; a constant one replaces it. It said: {told}"
    )
    constant = DummyClassifier(strategy="constant", constant=known[0])
    return constant.fit(X_public, np.full(len(codes), known[0]))
