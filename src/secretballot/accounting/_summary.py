"""The first lines of a privacy statement: its guarantee in plain words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from secretballot._base._view import WITHHELD, entry_count, percent
from secretballot.accounting._assumptions import UNIT_WORDS
from secretballot.accounting._report import LARGE_EPSILON
from secretballot.accounting._trade_off import TradeOff, level_trade_off
from secretballot.ledger._budget import Budget, LevelBudget

#: The questions that the first lines answer.
QUESTIONS = {
    "who": "Who is protected",
    "from_what": "From what",
    "how_strongly": "How strongly",
    "until_when": "Until when",
    "assumptions": "On which assumptions",
}

#: The factor of odds from 10% to 50%, and from 50% to 90%.
NINEFOLD = 9.0

#: Larger epsilons are called weak.
_WEAK_EPSILON = 4

#: Of more levels, the strictest and the loosest are named.
_MOST_LEVELS = 4

#: The least probability that is stated.
_LEAST = 1e-9

_WHO = {
    "row": "Every row of the private data: every person, if each has one row. Who has several is "
    "protected for each of them, not for all together.",
    "owner": "Every owner (a person, say), with everything that the owner contributed.",
    "label": "Every instance (a person, say): its private label, and nothing else about it.",
    "voter": "Every voter, with the whole ballot.",
}

#: What an attacker may know, for each unit.
_KNOWN = {
    "row": "every other row",
    "owner": "all rows of all others",
    "label": "all but this one label",
    "voter": "every other ballot",
}

#: What anyone might find out of a unit that is replaced, and an example of it.
_FINDINGS = {
    "row": ("what is in it", "something that one row may say: that the person is ill, for example"),
    "owner": (
        "what that is",
        "something that one owner's rows may say: that the person is ill, for example",
    ),
    "label": ("what it is", "what one label may say: that the person is ill, for example"),
    "voter": (
        "what is on it",
        "something that one ballot may say: that it names a certain item, for example",
    ),
}

#: Public facts about units that are replaced.
_PUBLIC = {
    "row": "how many rows there are, that somebody is among them at all",
    "owner": "which owners take part",
    "label": "the instances and the bags that they belong to",
    "voter": "who voted",
}

#: The first thing that rests on the signer's word.
_WORD = {
    "row": "that each row is another person",
    "owner": "that all rows of an owner carry one id",
    "label": "that instances and bags may be known",
    "voter": "that each voter cast one ballot",
}


def summary(
    budget: Budget,
    shares: Mapping[str, float],
    outside: Sequence[str],
    *,
    n_entries: int,
    as_of: str,
    all_seeded: bool,
) -> dict[str, str]:
    """Answer the questions of a statement's first lines, by the facts of a ledger.

    `shares` are spent of each level's budget, `outside` names what was released outside of the
    guarantee, and `as_of` is the time of the last entry.
    """
    who = _WHO[budget.unit]
    if len(budget.levels) > 1:
        who += " Each at the strength of their own level; who is of which level is public."
    return {
        "who": who,
        "from_what": _from_what(budget),
        "how_strongly": _how_strongly(budget, shares, outside, all_seeded=all_seeded),
        "until_when": _until_when(budget, shares, n_entries, as_of),
        "assumptions": _on_assumptions(budget, n_entries),
    }


def chance(probability: float) -> str:
    """Format a probability for people, rounded up: cases of 100, or one of many cases."""
    if probability <= 0:
        return "none"
    if probability >= 0.01:
        return f"{_hundredths(probability)} of 100"
    many = 1 / max(probability, _LEAST)
    step = 10 ** (math.floor(math.log10(many)) - 1)
    return f"1 of {math.floor(many / step) * step:,}"


def percent_up(probability: float) -> str:
    """Format a probability in per cent, rounded up."""
    return f"{_hundredths(probability)}%"


def _hundredths(probability: float) -> str:
    hundredths = math.ceil(1000 * probability) / 10
    return "100" if hundredths >= 100 else f"{hundredths:.1f}"


def _from_what(budget: Budget) -> str:
    public = f"{_PUBLIC[budget.unit]}, and " if budget.relation == "replace" else ""
    return (
        f"That anyone finds out {_finding(budget)[0]}, even someone who sees all that is ever "
        f"released from this budget, knows {_KNOWN[budget.unit]}, this program and its settings, "
        "and can compute anything but what a cryptographic generator draws next. "
        f"Not hidden: {public}what is true of people in "
        "general, which the releases are made to show, also about those in the data."
    )


def _finding(budget: Budget) -> tuple[str, str]:
    if budget.relation == "replace":
        return _FINDINGS[budget.unit]
    unit, _ = UNIT_WORDS[budget.unit]
    return "whether it is in the data", f"the suspicion that one {unit} is in the data at all"


def _how_strongly(
    budget: Budget, shares: Mapping[str, float], outside: Sequence[str], *, all_seeded: bool
) -> str:
    unprotected = f"NOT PROTECTED: {'; '.join(outside)}. " if outside else ""
    if budget.is_sensitive:
        return (
            f"{unprotected}No figure can be stated that others may rely on. This budget "
            f"({_pairs(budget.levels)}) was charged what the actual votes cost. That bounds the "
            "loss of the data as they are, and not of all data, as differential privacy does; "
            "where the releases ended may tell more."
        )
    levels = [level for level in budget.levels if shares[level.name] <= 1]
    if all_seeded or not levels:
        return f"NOT AT ALL. {unprotected}".rstrip()
    take = "For all else, take" if outside else "Take"
    return (
        f"{_weakness(levels)}{unprotected}{take} {_finding(budget)[1]}. "
        f"{_figures(budget, levels)} In differential privacy: {_pairs(levels)}."
    )


def _weakness(levels: Sequence[LevelBudget]) -> str:
    loosest = max(levels, key=lambda level: level.epsilon)
    if loosest.epsilon <= _WEAK_EPSILON:
        return ""
    how = "HARDLY AT ALL" if loosest.epsilon > LARGE_EPSILON else "WEAKLY"
    promise = "next to nothing" if loosest.epsilon > LARGE_EPSILON else "little"
    whose = "" if len(levels) == 1 else f" for {loosest.name!r}"
    return f"{how}{whose}: an epsilon of {loosest.epsilon:g} promises {promise}. "


def _pairs(levels: Sequence[LevelBudget]) -> str:
    epsilons = [f"epsilon {level.epsilon:g}" for level in levels]
    if len(levels) > 1:
        epsilons = [f"epsilon {level.epsilon:g} for {level.name!r}" for level in _few(levels)]
    return f"{', '.join(epsilons)} at delta {levels[0].delta:g}"


def _few(levels: Sequence[LevelBudget]) -> Sequence[LevelBudget]:
    if len(levels) <= _MOST_LEVELS:
        return levels
    ordered = sorted(levels, key=lambda level: level.epsilon)
    return ordered[0], ordered[-1]


def _figures(budget: Budget, levels: Sequence[LevelBudget]) -> str:
    """State the most that an attacker gains, for each level."""

    def by_level(probability: Callable[[TradeOff], float]) -> str:
        cases = []
        for level in _few(levels):
            most = probability(level_trade_off(level))
            of_level = f" ({level.name!r})" if len(levels) > 1 else ""
            cases.append((f"at most {chance(most)} cases" if most > 0 else "no case") + of_level)
        return ", ".join(cases)

    guesses = by_level(lambda test: test.best_guess())
    rises = by_level(lambda test: test.rise(NINEFOLD))
    return (
        f"Someone who knows {_KNOWN[budget.unit]}, and to whom it seems as likely as not, guesses "
        f"right in {guesses} after seeing all releases, instead of in 50. A true suspicion "
        f"grows from 10% to 50% or more, or from 50% to 90% or more, in {rises}."
    )


def _until_when(budget: Budget, shares: Mapping[str, float], n_entries: int, as_of: str) -> str:
    if budget.is_sensitive:
        spent = f"The share that was spent by then is {WITHHELD}"
    elif len(shares) == 1:
        (share,) = shares.values()
        spent = f"{percent(share)} of the budget was spent by then"
    else:
        by_level = [
            f"{percent(shares[level.name])} of {level.name!r}" for level in _few(budget.levels)
        ]
        spent = f"Spent by then: {', '.join(by_level)}"
    return (
        "For good, as long as nothing beyond this budget is released about the same data, under "
        "any other. The budget is for all that is ever released from this ledger, and does not "
        f"renew. The ledger had {entry_count(n_entries)} on {as_of[:10]}. {spent}; when it is used "
        "up, nothing more is released, and what was released stays out."
    )


def _on_assumptions(budget: Budget, n_entries: int) -> str:
    return (
        f"The ledger's chain of {entry_count(n_entries)} was checked. What no program can check "
        f"rests on the data owner's word: above all {_WORD[budget.unit]}, that this is the "
        "only budget of these data, and that nothing else computed from them was handed out. All "
        "that is assumed is listed below."
    )
