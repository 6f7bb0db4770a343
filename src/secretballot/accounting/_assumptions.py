"""What a privacy guarantee rests on, said for the ledger at hand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from secretballot.accounting._notes import VARIANTS
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

_ABOUT_SPLITS = {
    "row": "The private rows were divided among the teachers by their position.",
    "owner": "The private rows were divided among the teachers by a keyed hash of the owner's id.",
    "party": "The teachers are parties that trained elsewhere: nobody's data is with two of them.",
}

_ABOUT_AGGREGATORS = {
    "trusted": "In {} an aggregator among parties saw their ballots and drew the noise. That it "
    "did, and showed nothing but the outcome, is its word.",
    "secret sharing": "In {} parties shared their ballots and their noise among three who computed "
    "the outcome. No two of these put together what they held, all followed the protocol, and so "
    "did the parties when they drew their noise.",
}

_ABOUT_FEATURES = {
    "public": "In {} what rows are described by (bins, scales, components) was fitted on public "
    "rows alone.",
    "declared": "In {} the bounds and categories that rows are described by were declared without "
    "looking at private rows, and are public.",
    "frozen": "In {} rows were described by a transformer that had been fitted beforehand. That it "
    "saw no private row is its user's word.",
}

_ALWAYS = (
    "The rows that were labelled, or the bags that were counted, are public.",
    "Nothing was fitted on the private data as a whole (scalers, encoders, selected features), and "
    "no setting was chosen by looking at it, or at a score on it that is not listed above.",
    "This ledger is the only budget for this data. What was released under another one adds to "
    "what is stated here.",
)


def assumptions(budget: Budget, held: Contents, overspent: Mapping[str, float]) -> tuple[str, ...]:
    """Return one sentence or two per assumption; `overspent` has the shares of such levels."""
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
        which = "one reservation" if len(reservations) == 1 else f"{len(reservations)} reservations"
        left = sum(each.rows_left for each in reservations if not each.is_settled)
        yield f"In {which} rows were paid for before they were drawn" + (
            f"; {left:,} of them may still be drawn." if left else "."
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
    if budget.accounting == "data_dependent":
        yield (
            "Each release was charged what the actual votes cost. That makes the figures, and the "
            "point where the budget ended, sensitive themselves: they are withheld here, and the "
            "guarantee does not cover what is learned from where it ended."
        )


def _published(released: Sequence[Released]) -> Iterator[str]:
    for each in released:
        if (bound := each.facts.get("published")) is not None:
            yield (
                f"A bound of what was lost was published: for the data set as it is, against all "
                f"that differ in one unit, epsilon {bound['epsilon']:.4g} at delta "
                f"{bound['delta']:g}, too low with probability {bound['failure']:g} at most. The "
                "guarantee for all data sets is the budget above."
            )


def _declared(released: Sequence[Released]) -> Iterator[str]:
    if not released:
        return
    for where, sentence in (
        (
            [each.facts.get("classes_learned") is True for each in released],
            "In {} the set of classes was learned from private labels and released exactly, "
            "outside the guarantee.",
        ),
        (
            [each.facts.get("classes_learned") is False for each in released],
            "In {} the set of classes was named beforehand, and is public.",
        ),
        (
            ["categories_learned" in each.facts for each in released],
            "In {} the categories of some columns were read off the private table, and could show "
            "in the codes that all teachers saw, outside the guarantee.",
        ),
        (
            ["types_learned" in each.facts for each in released],
            "In {} the types and categories of some columns were read off the private table, and "
            "could show in what all teachers saw, outside the guarantee.",
        ),
        (
            ["public_may_be_private" in each.facts for each in released],
            "In {} ROWS THAT MAY BE PRIVATE WERE USED AS PUBLIC ROWS, which was declared. What is "
            "learned from them, or shown of them, is outside the guarantee.",
        ),
        (
            ["priced" in each.facts for each in released],
            "In {} all rows were one plan, fixed before anything was drawn, and cost its exact "
            "worst case, whatever was released.",
        ),
    ):
        if any(where):
            yield sentence.format(_of(released, where))
    for split, sentence in _ABOUT_SPLITS.items():
        if any(each.facts.get("split_by") == split for each in released):
            yield sentence
    for word, about in (("aggregator", _ABOUT_AGGREGATORS), ("features_from", _ABOUT_FEATURES)):
        for value, sentence in about.items():
            where = [each.facts.get(word) == value for each in released]
            if any(where):
                yield sentence.format(_of(released, where))
    yield from _published(released)
    yield from _declared_of_levels(released)
    yield from _declared_of_bags(released)
    yield from _foreign(released)
    seeded = [each.seeded for each in released]
    if any(seeded):
        yield (
            f"IN {_of(released, seeded).upper()} THE NOISE WAS REPRODUCIBLE (A SEED): WHOEVER "
            "KNOWS THE SEED CAN SUBTRACT IT. The guarantee does not hold for what was released "
            "there."
        )
    else:
        yield "All noise came from a cryptographic generator, and none of it was kept."


def _foreign(released: Sequence[Released]) -> Iterator[str]:
    names = sorted({name for each in released for name in foreign_names(each.mechanism)})
    if names:
        where = [any(foreign_names(each.mechanism)) for each in released]
        yield (
            f"In {_of(released, where)} the mechanism was not one of the library's: "
            f"{', '.join(names)}. The proof of what it costs is its author's."
        )


_SHARES_OF_LEVELS = {
    "upsampling": "Rows were with as many teachers as their level earned ({each} teachers), and "
    "noise and threshold grew with their number.",
    "weighting": "Each teacher had rows of one level, or of a level and looser ones that were too "
    "small for a teacher ({each} teachers), and its ballot the weight of that level.",
    "vanishing": "Each teacher had rows of one level, or of a level and looser ones that were too "
    "small for a teacher, and voted in turns decided beforehand ({each} of the votes).",
}


def _declared_of_levels(released: Sequence[Released]) -> Iterator[str]:
    told = [
        (each.facts["people"], each.facts.get("individualization"), each.mechanism.get("weight"))
        for each in released
        if "people" in each.facts
    ]
    if not told:
        return
    yield (
        "Each person's level of privacy was chosen by that person, or by a rule, and not by "
        "looking at private data: who is of which level is public. Each is guaranteed the epsilon "
        "of their own level, between data in which all keep their levels."
    )
    sentences = []
    for people, plan, weight in told:
        counted = ", ".join(f"{count} of {level!r}" for level, count in people.items())
        sentence = f"Votes were cast for {counted}. "
        if plan:
            shares = plan[VARIANTS[plan["variant"]]]
            each = ", ".join(f"{level!r}: {share}" for level, share in shares.items())
            sentence += _SHARES_OF_LEVELS[plan["variant"]].format(each=each)
        elif isinstance(weight, Mapping):
            each = ", ".join(f"{level!r}: {share:.3g}" for level, share in weight.items())
            sentence += f"Each person's had the weight of their level ({each})."
        else:
            sentence += "All contributed alike, whatever their level."
        sentences.append(sentence)
    yield from dict.fromkeys(sentences)


def _declared_of_bags(released: Sequence[Released]) -> Iterator[str]:
    by_label = [each.facts.get("bags_formed_by") == "label" for each in released]
    if any(by_label):
        yield (
            f"IN {_of(released, by_label).upper()} THE BAGS WERE FORMED BY LABEL: MEMBERSHIP GIVES "
            "THE LABELS AWAY. The guarantee covers the published proportions only."
        )
    for least in sorted({each.facts.get("min_count_promised", 0) for each in released} - {0}):
        promised = [each.facts.get("min_count_promised") == least for each in released]
        yield (
            f"In {_of(released, promised)} every bag was promised to hold at least {least} of each "
            "class. The guarantee is between data that keep the promise, and a bag that was "
            "refused for breaking it is known to have broken it."
        )


def _of(released: Sequence[Released], where: Sequence[bool]) -> str:
    count = sum(each.n_releases for each, there in zip(released, where, strict=True) if there)
    total = sum(each.n_releases for each in released)
    if count == total:
        return "all releases" if count > 1 else "the one release"
    return f"{count} of {total} releases"
