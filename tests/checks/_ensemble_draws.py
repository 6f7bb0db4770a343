"""Draws of an audit from end to end: labels of a fitted ensemble."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._sklearn_compat import unfitted
from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning
from secretballot.ensemble import PrivateTeacherEnsemble
from secretballot.testing._audit import Draw, draw_in_blocks

_LARGE_EPSILON = 1e9


def ensemble_draws(ensemble: PrivateTeacherEnsemble, X: ArrayLike) -> Draw:
    """Build a function that fits an ensemble and draws private labels from it, many times over.

    The labels are those that a user would get from `predict_private` for the public rows `X`, with
    budget for all draws, as positions in ``classes_``; -1 for labels that were not released. `data`
    are the arguments of ``fit``. `ensemble` has a mechanism, the classes, and a seed, by which
    neighbouring data are partitioned alike; the noise is not seeded.
    """

    def draw(data: Mapping[str, Any], n_draws: int, rng: np.random.Generator) -> NDArray[Any]:
        unit = "row" if data.get("owners") is None else "owner"
        accountant = PrivacyAccountant(_LARGE_EPSILON, 1e-5, unit=unit)
        # Not a clone, which fits with a part of a budget alone.
        copy = unfitted(ensemble)
        copy.set_params(accountant=accountant, epsilon=None, student=None)
        fitted = copy.fit(**data)
        # The seed has fixed the partition; the noise is drawn as for users.
        fitted._labelling.randomness = replace(fitted._labelling.randomness, seeded=False)

        def draw_labels(rows: NDArray[Any]) -> NDArray[np.int64]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrivacyLeakWarning)
                released = fitted.predict_private(rows)
            codes = np.full(len(released.labels), -1)
            for position, label in enumerate(fitted.classes_):
                codes[released.answered & (released.labels == label)] = position
            return codes

        return draw_in_blocks(draw_labels, np.asarray(X), n_draws)

    return draw
