"""Scores of sets of labels: of each label, and their means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import sparray, spmatrix
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    roc_auc_score,
)

from secretballot.mechanisms._noisy_max import UNANSWERED

Matrix: TypeAlias = "ArrayLike | sparray | spmatrix"


@dataclass(frozen=True, kw_only=True)
class LabelScores:
    """Scores of sets of labels; made by `label_scores`.

    Attributes
    ----------
    accuracy, balanced_accuracy : float
        Means over the labels; NaN if there is none to be scored.
    auc, average_precision : float or None
        The same, of scores; None where there were no scores.
    n_unanswered : int
        Labels without an answered row.
    n_one_class : int
        Labels, out of the answered, that are never or always present: they have an accuracy only.
    per_label : dict of str to ndarray of shape (n_labels,)
        The values behind the means, by their names; NaN where a label has none.
    """

    accuracy: float
    balanced_accuracy: float
    auc: float | None
    average_precision: float | None
    n_unanswered: int
    n_one_class: int
    per_label: dict[str, NDArray[np.float64]]


def label_scores(y_true: Matrix, y_pred: Matrix, y_score: ArrayLike | None = None) -> LabelScores:
    """Score sets of labels: scikit-learn's metrics of each label, averaged.

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_rows, n_labels)
        1 for labels that are present, 0 for the others.
    y_pred : {array-like, sparse matrix} of shape (n_rows, n_labels)
        The same as votes or a student have it; -1 for labels that were not answered, which are
        left out.
    y_score : array-like of shape (n_rows, n_labels), default=None
        Probabilities, or `y_pred` itself, as votes are scored in published tables (an AUC is the
        balanced accuracy then). Left out where labels were not answered. None: without AUC and
        average precision.

    Returns
    -------
    LabelScores
        Accuracy of the labels that were answered in some row. Balanced accuracy, AUC and average
        precision of those among them that are present in some such row and absent in another;
        ``n_one_class`` says how many are not.

    Raises
    ------
    ValueError
        If shapes differ, a label is something else than 0, 1 (or -1 in `y_pred`), or a score is
        not finite.

    Notes
    -----
    On rows of people whose privacy counts these are releases of their own: score on public rows.

    References
    ----------
    Zhu et al., "Private Multi-Winner Voting for Machine Learning" (PoPETs 2023), Section 6.1: ACC,
    BAC, AUC and MAP.

    Examples
    --------
    >>> from secretballot.inspection import label_scores
    >>> y_true = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 0]]
    >>> y_pred = [[1, 0, 0], [0, 1, 1], [-1, 1, 0], [1, 0, 0]]
    >>> scores = label_scores(y_true, y_pred)
    >>> scores.per_label["balanced_accuracy"]
    array([0.75, 1.  ,  nan])
    >>> scores.balanced_accuracy, scores.n_one_class
    (0.875, 1)
    """
    truth, answer = _labels("y_true", y_true, (0, 1)), _labels("y_pred", y_pred, (-1, 0, 1))
    if answer.shape != truth.shape:
        raise ValueError(
            f"y_pred has shape {answer.shape}, and y_true {truth.shape}; pass the same rows and "
            "labels."
        )
    answered = answer != UNANSWERED
    present = (answered & (truth == 1)).any(axis=0)
    absent = (answered & (truth == 0)).any(axis=0)
    has_both = present & absent

    def scores(
        metric: Callable[..., float], predictions: NDArray[Any], is_scored: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        values = np.full(truth.shape[1], np.nan)
        for label in np.flatnonzero(is_scored):
            rows = answered[:, label]
            values[label] = metric(truth[rows, label], predictions[rows, label])
        return values

    per_label = {
        "accuracy": scores(accuracy_score, answer, present | absent),
        "balanced_accuracy": scores(balanced_accuracy_score, answer, has_both),
    }
    if y_score is not None:
        score = np.asarray(y_score, dtype=np.float64)
        if score.shape != truth.shape:
            raise ValueError(
                f"y_score has shape {score.shape}, and y_true {truth.shape}; pass a score for "
                "every row and label."
            )
        if not np.isfinite(score[answered]).all():
            raise ValueError("y_score must be finite where labels were answered.")
        per_label["auc"] = scores(roc_auc_score, score, has_both)
        per_label["average_precision"] = scores(average_precision_score, score, has_both)
    means = {name: _mean(values) for name, values in per_label.items()}
    return LabelScores(
        accuracy=means["accuracy"],
        balanced_accuracy=means["balanced_accuracy"],
        auc=means.get("auc"),
        average_precision=means.get("average_precision"),
        n_unanswered=int((~(present | absent)).sum()),
        n_one_class=int((present ^ absent).sum()),
        per_label=per_label,
    )


def _labels(name: str, table: Matrix, values: tuple[int, ...]) -> NDArray[np.int64]:
    labels = np.asarray(table.toarray() if isinstance(table, (sparray, spmatrix)) else table)
    if labels.ndim != 2 or labels.shape[1] == 0:
        raise ValueError(
            f"{name} has shape {labels.shape}; pass one row per query and one column per label."
        )
    if labels.dtype.kind not in "biuf" or not np.isin(labels, values).all():
        raise ValueError(f"{name} must be {', '.join(map(str, values))} for every label.")
    return labels.astype(np.int64)


def _mean(values: NDArray[np.float64]) -> float:
    scored = values[~np.isnan(values)]
    return float(scored.mean()) if len(scored) else float("nan")
