"""The assumptions of a privacy guarantee, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from secretballot.accounting._notes import NOTE_WORDS, VARIANTS
from secretballot.accounting._protocol import foreign_names
from secretballot.accounting._released import Contents, Released
from secretballot.divergences import GAUSSIAN
from secretballot.ledger import Budget, Reserved

UNITS = {
    "row": "one row of the private data",
    "owner": "everything that one owner contributed",
    "label": "the private label of one instance",
    "voter": "the whole ballot of one voter",
}
RELATIONS = {"replace": "replaced by any other", "add_remove": "added or removed"}

_ABOUT_UNITS = {
    "row": "One row is protected at a time. Who contributed several rows is protected for each of "
    "them, not for all together. How many rows there are is public.",
    "owner": "The owner ids are right: all rows of one owner carry the same id. Which owners take "
    "part is public: what is replaced is all that an owner contributed, not the owner's id. (With "
    "another id, two ballots can change: as much as if two owners were replaced.)",
    "label": "Only the labels are private. The instances, and which bag each belongs to, are "
    "public.",
    "voter": "Each voter cast one ballot.",
}

_ALWAYS = (
    "The rows that were labelled, or the bags that were counted, are public.",
    "Nothing was fitted on the private data as a whole (scalers, encoders, selected features), and "
    "no setting was chosen by looking at it, or at a score on it that is not listed above.",
    "This ledger is the only budget for this data. What was released under another one adds to "
    "what is stated here.",
)


def assumptions(budget: Budget, held: Contents, overspent: Mapping[str, float]) -> tuple[str, ...]:
    """Return the assumptions of a ledger's guarantee, a sentence or two for each.

    `overspent` has the share that was spent of each level above its budget.
    """
    return (
        *_overspent(overspent),
        _ABOUT_UNITS[budget.unit],
        *_composition(budget),
        *_reserved(held.reservations),
        *_declared(held.released),
        *_ALWAYS,
        *_moved(held.n_moves),
    )


def _overspent(shares: Mapping[str, float]) -> Iterator[str]:
    for level, share in shares.items():
        yield (
            f"THE BUDGET OF {level!r} IS OVERSPENT ({share:.1%}), by a fault of the library or of "
            "another program that wrote to the ledger. For that level the guarantee above does not "
            "hold; epsilon so far is what was spent."
        )


def _moved(times: int) -> Iterator[str]:
    if times:
        yield (
            f"The ledger was moved or restored {times} time{'s' * (times > 1)}, and whoever did "
            "so declared that nothing had been spent from the file it was a copy of since."
        )


def _reserved(reservations: Sequence[Reserved]) -> Iterator[str]:
    if reservations:
        count = len(reservations)
        where = "one reservation" if count == 1 else f"{count} reservations"
        n_rows = sum(state.rows_left for state in reservations if not state.is_settled)
        yield f"In {where} rows were paid for before they were drawn" + (
            f"; {n_rows:,} of them may still be drawn." if n_rows else "."
        )


def _composition(budget: Budget) -> Iterator[str]:
    orders = {level.order for level in budget.levels}
    if GAUSSIAN in orders:
        yield (
            "Costs are added up as mu^2, each with a small delta of its own: no release tells "
            "neighbouring data sets apart better than a normal variable shifted by mu standard "
            "deviations would. Each was fixed before what it pays for was drawn, and they add up "
            "however outcomes decided what came next."
        )
    if math.inf in orders:
        yield "Costs and deltas are added up as they are (Renyi order infinity: basic composition)."
    if orders - {math.inf, GAUSSIAN}:
        yield (
            "Costs are added up as Renyi divergences at the order named above, which was fixed "
            "when the budget was opened. Epsilon so far is a reading; the guarantee is the budget."
        )
    if budget.is_sensitive:
        yield (
            "Each release was charged what the actual votes cost. That makes the figures, and the "
            "point where the budget ended, sensitive themselves: they are withheld here, and the "
            "guarantee does not cover what is learned from where it ended."
        )


def _published(released: Sequence[Released]) -> Iterator[str]:
    for release in released:
        if (bound := release.facts.get("published")) is not None:
            yield (
                f"A bound of what was lost was published: for the data set as it is, against all "
                f"that differ in one unit, epsilon {bound['epsilon']:.4g} at delta "
                f"{bound['delta']:g}, too low with probability {bound['failure']:g} at most. The "
                "guarantee for all data sets is the budget above."
            )


def _declared(released: Sequence[Released]) -> Iterator[str]:
    if not released:
        return
    for word, known in NOTE_WORDS.items():
        for value, sentence in known.sentences.items():
            where = [word in r.facts and value in (None, r.facts[word]) for r in released]
            if any(where):
                yield sentence.format(_count(released, where))
    yield from _published(released)
    yield from _declared_of_levels(released)
    yield from _declared_of_bags(released)
    yield from _foreign(released)
    seeded = [release.seeded for release in released]
    if any(seeded):
        yield (
            f"IN {_count(released, seeded).upper()} THE NOISE WAS REPRODUCIBLE (A SEED): WHOEVER "
            "KNOWS THE SEED CAN SUBTRACT IT. The guarantee does not hold for what was released "
            "there."
        )
    else:
        yield "All noise came from a cryptographic generator, and none of it was kept."


def _foreign(released: Sequence[Released]) -> Iterator[str]:
    by_release = [list(foreign_names(release.mechanism)) for release in released]
    names = sorted({name for names in by_release for name in names})
    if names:
        yield (
            f"In {_count(released, list(map(bool, by_release)))} the mechanism was not one of the "
            f"library's: {', '.join(names)}. The proof of what it costs is its author's."
        )


def _declared_of_levels(released: Sequence[Released]) -> Iterator[str]:
    with_levels = [release for release in released if "people" in release.facts]
    if not with_levels:
        return
    yield (
        "Each person's level of privacy was chosen by that person, or by a rule, and not by "
        "looking at private data: who is of which level is public. Each is guaranteed the epsilon "
        "of their own level, between data in which all keep their levels."
    )
    yield from dict.fromkeys(map(_votes_of_levels, with_levels))


def _votes_of_levels(release: Released) -> str:
    """Describe the votes that people of each level had in a release."""
    people, plan = release.facts["people"], release.facts.get("individualization")
    weights = release.mechanism.get("weight")
    counted = ", ".join(f"{count} of {level!r}" for level, count in people.items())
    sentence = f"Votes were cast for {counted}. "
    if plan:
        word, explanation = VARIANTS[plan["variant"]]
        shares = ", ".join(f"{level!r}: {value}" for level, value in plan[word].items())
        return sentence + explanation.format(shares=shares)
    if isinstance(weights, Mapping):
        shares = ", ".join(f"{level!r}: {weight:.3g}" for level, weight in weights.items())
        return sentence + f"Each person's had the weight of their level ({shares})."
    return sentence + "All contributed alike, whatever their level."


def _declared_of_bags(released: Sequence[Released]) -> Iterator[str]:
    by_label = [release.facts.get("bags_formed_by") == "label" for release in released]
    if any(by_label):
        yield (
            f"IN {_count(released, by_label).upper()} THE BAGS WERE FORMED BY LABEL: MEMBERSHIP "
            "GIVES THE LABELS AWAY. The guarantee covers the published proportions only."
        )
    promises = [release.facts.get("min_count_promised", 0) for release in released]
    for least in sorted(set(promises) - {0}):
        where = [promise == least for promise in promises]
        yield (
            f"In {_count(released, where)} every bag was promised to hold at least {least} of each "
            "class. The guarantee is between data that keep the promise, and a bag that was "
            "refused for breaking it is known to have broken it."
        )


def _count(released: Sequence[Released], where: Sequence[bool]) -> str:
    """Count the releases of some groups, in words."""
    count = sum(group.n_releases for group, chosen in zip(released, where, strict=True) if chosen)
    total = sum(group.n_releases for group in released)
    if count == total:
        return "all releases" if count > 1 else "the one release"
    return f"{count} of {total} releases"
