"""Single answers: the part of a budget that each may take, and budgets opened for one alone."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import (
    NOT_FOR_PUBLICATION,
    BudgetExceededError,
    PrivacyLeakWarning,
    warn,
)
from secretballot._base._numbers import check_number
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._budget_handle import BudgetHandle
from secretballot.costs._orders import GAUSSIAN, Order
from secretballot.ledger._budget import Cap, LevelBudget, Scope

#: Part of the whole budget, also per level, or all that is left of it.
Share = float | Mapping[str, float] | Literal["rest"] | None


def check_amount(
    answer: str, *, needed: bool = True, alternatives: str = "", **amounts: object
) -> None:
    """Check that one of the amounts of an answer is given, if it is needed, and not two.

    `answer` names the function that answers, and `alternatives` further ways to give an amount.
    """
    amounts_given = {name: value for name, value in amounts.items() if value is not None}
    if len(amounts_given) > 1:
        pairs = " and ".join(f"{name}={value!r}" for name, value in amounts_given.items())
        raise ValueError(f"{pairs}: give one of them, the amount that {answer} may take.")
    if needed and not amounts_given:
        raise ValueError(
            f"{answer} needs the amount of the budget that it may take. Write share=0.05 for a "
            "part of the whole budget, share='rest' for all that is left, or epsilon= for its own "
            f"guarantee{alternatives}. Nothing was released or spent."
        )
    share = amounts_given.get("share")
    if isinstance(share, str):
        if share != "rest":
            raise ValueError(
                f"share={share!r} is unknown; give a part of the whole budget, such as 0.05, or "
                "'rest' for all that is left."
            )
    elif share is not None:
        check_number("share", share, above=0, most=1, per_level=True)


def answer_scope(accountant: PrivacyAccountant, epsilon: Cap, share: Share) -> Scope:
    """Open the scope of one answer; refuse an amount that exceeds what is left."""
    scope = accountant.scope(epsilon, share=None if isinstance(share, str) else share)
    check_within_budget(accountant, scope)
    accountant.check_left(scope)
    return scope


def check_within_budget(accountant: PrivacyAccountant, scope: Scope) -> None:
    """Refuse an epsilon above that of the whole budget."""
    for level in accountant.levels:
        cap = scope.cap(level.name)
        if cap is not None and cap > level.epsilon:
            raise BudgetExceededError(
                f"epsilon={scope.epsilon!r} is more than the accountant's budget of "
                f"{accountant.epsilon!r}. Nothing was released or spent. Pass share='rest' for "
                "what is left."
            )


#: Covers what calibrations leave over.
_MARGIN = 1.01
#: Steps of bisection within a factor of two.
_STEPS = 12


def epsilon_factor(accountant: BudgetHandle, scope: Scope | None, noise_factor: float) -> float:
    """Compute the factor of epsilon that divides Gaussian noise by `noise_factor`, or more.

    It is rounded up to two digits. The epsilon is that of the scope, or else of the budget.
    """
    factors: list[float] = []
    for level in accountant.levels:
        factors.append(_least_factor(level, level.epsilon, level.order, noise_factor))
        cap = None if scope is None else scope.cap(level.name)
        if cap is not None:  # its order is the best one, as that of its filter
            order = GAUSSIAN if level.order == GAUSSIAN else None
            factors.append(_least_factor(level, cap, order, noise_factor))
    digit = 10.0 ** (math.floor(math.log10(max(factors))) - 1)
    return math.ceil(max(factors) / digit) * digit


def _least_factor(
    level: LevelBudget, epsilon: float, order: Order | None, noise_factor: float
) -> float:
    least = (_MARGIN * noise_factor) ** 2 * _precision(level, epsilon, order)
    high = 1.0
    while _precision(level, epsilon * high, order) < least:
        high *= 2
    low = high / 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        is_enough = _precision(level, epsilon * middle, order) >= least
        low, high = (low, middle) if is_enough else (middle, high)
    return high


def _precision(level: LevelBudget, epsilon: float, order: Order | None) -> float:
    """Return a number proportional to one over the variance of the noise at an epsilon."""
    chosen, amount = level.amount_of(epsilon, "renyi" if order is None else order)
    return amount if isinstance(chosen, str) else amount / chosen


_KEY = secrets.token_bytes(32)
_SEEN: set[bytes] = set()


class UnnamedBudget:
    """Budget that a function opens for private values, to be warned of if it is the second.

    Values are remembered as a hash under a key of this process, in its memory alone.
    """

    def __init__(self, arrays: Iterable[NDArray[np.generic]]) -> None:
        hashed = blake2b(key=_KEY, digest_size=16)
        for array in arrays:
            is_plain = array.dtype.kind not in ("O", "T")
            content = array.tobytes() if is_plain else repr(array.tolist()).encode()
            hashed.update(f"{array.dtype} {array.shape} {len(content)} ".encode())
            hashed.update(content)
        self._digest = hashed.digest()

    def warn(self, values: str) -> None:
        """Warn if the values have been paid for by such a budget before."""
        if self._digest in _SEEN:
            warn(
                f"the same {values} were released before in this program, by a budget that was "
                "opened for that alone. This one is another, and their epsilons and deltas add up, "
                "though each statement speaks of its own alone. Open one accountant for all of "
                f"them, and pass it as accountant=. {NOT_FOR_PUBLICATION}",
                PrivacyLeakWarning,
            )

    def remember(self) -> None:
        _SEEN.add(self._digest)
