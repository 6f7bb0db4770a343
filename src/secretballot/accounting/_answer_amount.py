"""Amount of the budget that one answer may take: a private top k, quantiles, a score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from secretballot._base._errors import BudgetExceededError
from secretballot._base._numbers import check_number
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.ledger._budget import Cap, Scope

#: Part of the whole budget, also per level, or all that is left of it.
Share = float | Mapping[str, float] | Literal["rest"] | None


def check_amount(
    answer: str, *, needed: bool = True, alternatives: str = "", **amounts: object
) -> None:
    """Check that one of the amounts of an answer is given.

    Parameters
    ----------
    answer : str
        Function that answers, for messages.
    needed : bool, default=True
        Whether one has to be given.
    alternatives : str, default=""
        Further ways to give it, for messages.
    **amounts : object
        Values of the parameters, None where they are not given.
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
    for level in accountant.levels:
        cap = scope.cap(level.name)
        if cap is not None and cap > level.epsilon:
            raise BudgetExceededError(
                f"epsilon={epsilon!r} is more than the accountant's budget of "
                f"{accountant.epsilon!r}. Nothing was released or spent. Pass share='rest' for "
                "what is left."
            )
    accountant.check_left(scope)
    return scope
