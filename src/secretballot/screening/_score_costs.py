"""Prices of the scores that a search, or a cross-validation, pays for by default."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from secretballot._sklearn_compat import _num_samples
from secretballot._tables import percent
from secretballot.scoring import by_level
from secretballot.screening._own_scoring import default_priced, scoring_of

#: Folds of about equal size, all rows of which are scored once.
_FOLDS = (KFold, StratifiedKFold, GroupKFold, StratifiedGroupKFold)
#: Number of folds of scikit-learn's default.
_DEFAULT_FOLDS = 5
#: Share of what is left that a remedy gives to the scores.
_SCORES_SHARE = 0.2


def _n_scored_rows(setting: Callable[[str], object], variables: Mapping[str, Any]) -> int | None:
    """Return the rows of a score in a running fit or function; None if they are not known."""
    cv = setting("cv")
    n_folds = _DEFAULT_FOLDS if cv is None else cv
    if isinstance(cv, _FOLDS):
        n_folds = cv.n_splits
    if not isinstance(n_folds, int) or "X" not in variables:
        return None
    return math.ceil(_num_samples(variables["X"]) / n_folds)


def price_of_scores(
    estimator: Any, setting: Callable[[str], object], variables: Mapping[str, Any], n_scores: int
) -> dict[str, float]:
    """Compute the share of the budget that scores with the default noise take, per level.

    There is none for scores whose price is not known before they are paid.
    """
    scoring = scoring_of(setting("scoring"), setting("estimator"))
    n_rows = _n_scored_rows(setting, variables)
    if n_rows is None or estimator.accountant.unit != "row":
        return {}
    functions = scoring.values() if isinstance(scoring, Mapping) else [scoring]
    n_scores *= sum(map(default_priced, functions))
    price = estimator._price_later_score(estimator.accountant, n_rows)
    return {level: n_scores * share for level, share in by_level(price.share).items()}


def scores_remedy(n_fits: int, n_scores: int, shares: Mapping[str, float]) -> str:
    """Return the remedy of fits and scores that together exceed what is left."""
    return (
        f"The {n_scores} scores alone take {_percent_of(shares)} of the budget with their default "
        f"noise. Pass epsilon=accountant.epsilon_per_fit({n_fits}, share={1 - _SCORES_SHARE:g}) to "
        "the model, and let scoring call score_private(X, y, epsilon=e), with "
        f"e = accountant.epsilon_per_fit({n_scores}, share={_SCORES_SHARE:g}) computed before; or "
        "take fewer candidates and folds."
    )


def _percent_of(shares: Mapping[str, float]) -> str:
    """Return the largest of the shares as a text, which may exceed 100 %."""
    largest = max(shares.values())
    return percent(largest) if largest <= 1 else f"{largest:.1f} times all"
