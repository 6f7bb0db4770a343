"""Training of a student on released labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from secretballot._errors import warn
from secretballot._sklearn_compat import _safe_indexing
from secretballot.ensemble._estimator_types import Classes, Learner, Rows
from secretballot.ensemble._private_labels import PrivateLabels, encode
from secretballot.ensemble._randomness import Randomness, seed_estimator
from secretballot.ensemble.student._fit_on_labels import fit_on_labels


def fit_student(
    student: Learner,
    X_public: Rows,
    labels: PrivateLabels,
    classes: Classes,
    unanswered: str,
    randomness: Randomness,
    vote_noise: float | None = None,
) -> Any:
    """Train a student on positions of classes, or on labels; -1 marks those not answered.

    Parameters `vote_noise` of the student that are None are set to the noise of the votes.
    """
    if not labels.answered.any():
        raise ValueError(
            f"not one of the {len(labels.answered)} rows of X_public was answered, so there is "
            "nothing to train the student on; lower the mechanism's threshold, or give more "
            "public rows."
        )
    seeded = clone(student)
    if randomness.seeded:
        seed_estimator(seeded, randomness.student(), keep=True)
    noise_parameters = [
        name
        for name, value in seeded.get_params(deep=True).items()
        if name.rsplit("__", 1)[-1] == "vote_noise" and value is None
    ]
    seeded.set_params(**dict.fromkeys(noise_parameters, vote_noise))
    if isinstance(classes, list):
        return fit_on_labels(seeded, X_public, labels.labels, unanswered)
    return _fit_on_classes(seeded, X_public, labels, classes, unanswered)


def _fit_on_classes(
    student: Learner,
    X_public: Rows,
    labels: PrivateLabels,
    classes: NDArray[Any],
    unanswered: str,
) -> Any:
    """Train on positions of classes; ``unanswered="mark"`` adds the other rows as -1."""
    answered = np.flatnonzero(labels.answered)
    n_rows = len(labels.answered)
    codes = np.full(n_rows, -1, dtype=np.int64)
    codes[answered] = encode(labels.labels[answered].astype(classes.dtype), classes, "labels")
    released_codes = np.unique(codes[answered])
    if unanswered == "drop":
        X_public, codes = _safe_indexing(X_public, answered), codes[answered]
    try:
        return clone(student).fit(X_public, codes)
    except ValueError as error:
        if len(released_codes) > 1:
            raise ValueError(
                f"student={student!r} could not be fitted on the {len(answered)} answered rows. "
                "Their labels are paid for and kept in pool_labels_; fit another student on "
                f"them. The student's error: {error}"
            ) from error
        message = str(error)
    # A constant student, as for teachers: labels that are paid for should not end in an error.
    warn(
        f"all {len(answered)} answered rows have the label "
        f"{classes[released_codes].tolist()[0]!r} and the student can't learn from one "
        f"class; a constant one replaces it. Its error: {message}"
    )
    constant = DummyClassifier(strategy="constant", constant=released_codes[0])
    return constant.fit(X_public, np.full(len(codes), released_codes[0]))
