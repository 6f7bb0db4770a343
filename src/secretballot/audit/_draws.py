"""Where an audit's outcomes come from: a mechanism, or a fitted ensemble."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from secretballot._progress import Task
from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning

#: ``draw(data, n_draws, rng)``: independent outcomes on the same data, shape (n_draws, ...).
Draw = Callable[[Any, int, np.random.Generator], Any]

_BLOCK_ROWS = 50_000
_PLENTY = 1e9


def mechanism_draws(mechanism: Any) -> Draw:
    """Return a function that draws from a mechanism on counts of the audit's own making."""

    def draw(counts: Any, n_draws: int, rng: np.random.Generator) -> NDArray[Any]:
        votes = mechanism.check_counts(counts)
        return in_blocks(lambda rows: mechanism.sample(rows, rng), votes, n_draws)

    return draw


def ensemble_draws(ensemble: Any, X: Any) -> Draw:
    """Return a function that fits an ensemble and draws private labels from it, many times over.

    What is drawn is what a user would get: the teachers are trained on the data, vote on `X`, and
    `predict_private` releases the labels, through an accountant with budget for all draws.

    Parameters
    ----------
    ensemble : PrivateTeacherEnsemble
        Unfitted, with a `mechanism`, the `classes`, and an integer `random_state`: the partition
        has to be the same on neighbouring data. The noise of the draws is not seeded.
    X : array-like of shape (n_queries, n_features)
        Public rows; a draw is the labels of all of them.

    Returns
    -------
    callable
        ``draw(data, n_draws, rng)`` for `audit_epsilon`, with the arguments of ``fit`` as `data`,
        a dict. Outcomes have shape (n_draws, n_queries): positions in ``classes_``, and -1 for
        labels that were not released.

    Raises
    ------
    ValueError
        If a parameter of the ensemble leaves open what is audited.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from secretballot import GNMax, PrivateTeacherEnsemble
    >>> from secretballot.audit import ensemble_draws
    >>> X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    >>> ensemble = PrivateTeacherEnsemble(
    ...     DecisionTreeClassifier(), 4, mechanism=GNMax(sigma=2), classes=[0, 1], random_state=0
    ... )
    >>> draw = ensemble_draws(ensemble, X[:3])
    >>> draw({"X": X, "y": y}, n_draws=5, rng=np.random.default_rng(0)).shape
    (5, 3)
    """
    for name, why in (
        ("mechanism", "calibrated noise would depend on the number of draws"),
        ("classes", "learned classes are released outside the guarantee"),
        ("random_state", "neighbouring data sets have to be partitioned alike"),
    ):
        if getattr(ensemble, name) is None:
            raise ValueError(f"{name}=None can't be audited: {why}. Give a value.")

    def draw(data: Mapping[str, Any], n_draws: int, rng: np.random.Generator) -> NDArray[Any]:
        fitted = fitted_teachers(ensemble, data)

        def labels(rows: Any) -> NDArray[np.int64]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrivacyLeakWarning)
                return _positions(fitted.predict_private(rows), fitted.classes_)

        return in_blocks(labels, np.asarray(X), n_draws)

    return draw


def fitted_teachers(ensemble: Any, data: Mapping[str, Any]) -> Any:
    """Return a copy of an ensemble, fitted on `data`, with a budget and unseeded noise."""

    unit = "row" if data.get("owners") is None else "owner"
    plenty = PrivacyAccountant(_PLENTY, 1e-5, unit=unit, order="renyi", approximation_delta=5e-6)
    copy = clone(ensemble).set_params(accountant=plenty, epsilon=None, student=None)
    fitted = copy.fit(**data)
    # The partition is drawn; from here on the noise is what users get.
    fitted._labelling.randomness = replace(fitted._labelling.randomness, seeded=False)
    return fitted


def in_blocks(
    sample: Callable[[NDArray[Any]], Any], rows: NDArray[Any], n_draws: int
) -> NDArray[Any]:
    """Draw the outcome of `rows` many times over, some draws at a time; (n_draws, n_rows, ...)."""
    parts = []
    with Task("draws", n_draws) as task:
        for n in _block_sizes(n_draws, max(1, _BLOCK_ROWS // len(rows))):
            # Taken, not concatenated: of rows with fields that would look at each part's type.
            drawn = np.asarray(sample(rows[np.tile(np.arange(len(rows)), n)]))
            parts.append(drawn.reshape(n, len(rows), *drawn.shape[1:]))
            task.advance(n)
    return np.concatenate(parts)


def _block_sizes(total: int, block: int) -> Iterator[int]:
    while total > 0:
        yield min(total, block)
        total -= block


def _positions(released: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Positions of released labels in `classes`, -1 where there is none."""
    codes = np.full(len(released.labels), -1)
    for position, label in enumerate(classes):
        codes[released.answered & (released.labels == label)] = position
    return codes
