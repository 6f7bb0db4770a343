"""Prices of the scores that a search, or a cross-validation, pays for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from secretballot._tables import percent
from secretballot.screening._own_scoring import constant_share, scoring_of

#: Share of what is left that a remedy gives to the scores.
_SCORES_SHARE = 0.2
#: Digits of a share in a remedy.
_DIGITS = 10**4


def share_of_scores(setting: Callable[[str], object], n_scores: int) -> float:
    """Compute the share of the budget that scores take, where their function names it; else 0."""
    scoring = scoring_of(setting("scoring"), setting("estimator"))
    functions = scoring.values() if isinstance(scoring, Mapping) else [scoring]
    return n_scores * sum(map(constant_share, functions))


def scores_remedy(n_fits: int, n_scores: int, share: float, remaining: float) -> str:
    """Return the remedy of fits and scores that together exceed what is left."""
    taken = percent(share) if share <= 1 else f"{share:.1f} times all"
    each = math.floor(_DIGITS * _SCORES_SHARE * remaining / n_scores) / _DIGITS
    smaller = f"a share of {each:g}" if each else "a smaller share"
    return (
        f"The {n_scores} scores alone take {taken} of the budget. Pass "
        f"epsilon=accountant.epsilon_per_fit({n_fits}, share={1 - _SCORES_SHARE:g}) to the model, "
        f"and let scoring ask for {smaller}; or take fewer candidates and folds."
    )
