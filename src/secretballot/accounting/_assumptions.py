"""The grounds of a privacy guarantee, in sentences."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from secretballot.accounting._notes import (
    NOTE_WORDS,
    RECORDED,
    SCORES,
    VARIANTS,
    Contents,
    Released,
)
from secretballot.accounting._protocol import foreign_names
from secretballot.costs._orders import GAUSSIAN
from secretballot.ledger._budget import Budget

UNITS = {
    "row": "one row of the private data",
    "owner": "everything that one owner contributed",
    "label": "the private label of one instance",
    "voter": "the whole ballot of one voter",
}
RELATIONS = {"replace": "replaced by any other", "add_remove": "added or removed"}

#: A fit, or a function of the library, writes one of these words at least.
_WORDS_OF_CALLS = NOTE_WORDS.keys() - {*RECORDED, "measured"}

#: One unit and several, as sentences name them.
UNIT_WORDS = {
    "row": ("row", "rows"),
    "owner": ("owner", "owners"),
    "label": ("instance", "instances"),
    "voter": ("voter", "voters"),
}

_ABOUT_UNITS = {
    "row": "One row is protected at a time. Who contributed several rows is protected for each of "
    "them, not for all together.",
    "owner": "The owner ids are right: all rows of one owner carry the same id.",
    "label": "Only the labels are private. The instances, and which bag each belongs to, are "
    "public.",
    "voter": "Each voter cast one ballot.",
}
_ABOUT_REPLACED = {
    "row": " How many rows there are is public, and that somebody has a row at all is not hidden: "
    "what is replaced is what a row says.",
    "owner": " Which owners take part is public: what is replaced is all that an owner "
    "contributed, not the owner's id. (With another id, two ballots can change: as much as if two "
    "owners were replaced.)",
    "voter": " Who voted is public.",
}

_ALWAYS = (
    "Rows that were given as public (to be labelled, or to fit features on) are public, and so are "
    "bags that were counted. Whoever is in a public row is not protected.",
    "But for what is named as not protected, nothing was fitted on the private data as a whole "
    "(scalers, encoders, selected features), and no setting was chosen by looking at it, or at a "
    "score on it that is not listed above.",
    "Nothing else that depends on private rows was handed out: no teachers, votes, private scores "
    "or plots, no errors, warnings, logs or running times.",
    "This ledger is the only budget for this data. What was released under another one adds to "
    "what is stated here.",
    "Nobody can predict the cryptographic generator of the noise (ChaCha20, keyed by the operating "
    "system). That is assumed of all computers that can be built, and not proved.",
    "The proofs and the code of secretballot are right. Noise is drawn in floating point: that its "
    "rounding reveals nothing is argued, not proved.",
)


#: One over delta is at least so many times the number of units.
_FAR_FEWER = 10


class Grounds(NamedTuple):
    """Sentences on which a guarantee rests, and on what is outside of it."""

    outside: tuple[str, ...]  # released, and not covered
    outside_names: tuple[str, ...]  # the same in few words
    recorded: tuple[str, ...]  # by the ledger itself
    assumed: tuple[str, ...]  # on somebody's word


def grounds(
    budget: Budget, held: Contents, overspent: Mapping[str, float], child_name: str
) -> Grounds:
    """Return the grounds of a ledger's guarantee, a sentence or two for each.

    `overspent` has the share that was spent of each level above its budget, and `child_name`
    is that of a child budget, or "".
    """
    released = [Released(**group) for group in held.released]
    about_unit = _ABOUT_UNITS[budget.unit]
    if budget.relation == "replace":
        about_unit += _ABOUT_REPLACED.get(budget.unit, "")
    facts = list(_declared(released))
    outside = [*_overspent(overspent), *_seeded(released), *(f for f in facts if f.outside)]
    inside = [fact for fact in facts if not fact.outside]
    return Grounds(
        outside=tuple(fact.sentence for fact in outside),
        outside_names=tuple(fact.outside for fact in outside),
        recorded=(
            *_children(child_name, held.children, held.closed),
            *_composition(budget),
            *_reserved(held.n_reservations, held.n_reserved_rows),
            *(fact.sentence for fact in inside if fact.word in RECORDED),
            *_unseeded(released),
            *_published(released),
        ),
        assumed=(
            about_unit,
            *(fact.sentence for fact in inside if fact.word not in RECORDED),
            *_declared_of_levels(released),
            *_declared_of_bags(released),
            *_scored(released),
            *_direct(released, budget),
            *_foreign(released),
            *_enough_units(budget, released),
            *_ALWAYS,
            *_accepted(held.n_moves, held.n_clocks),
        ),
    )


def _children(
    child_name: str, children: Mapping[str, Mapping[str, float]], closed: Collection[str]
) -> Iterator[str]:
    if child_name:
        yield (
            f"THIS IS A PART OF A BUDGET: the child {child_name!r} of the ledger. Its epsilon "
            "bounds what was released from it. What was released from the rest of the budget and "
            "from other children adds to that; the statement of the whole ledger bounds all of it."
        )
    if children:
        parts = []
        for name, epsilons in children.items():
            text = ", ".join(f"{level}: {epsilon:g}" for level, epsilon in epsilons.items())
            if len(epsilons) == 1:
                text = f"{next(iter(epsilons.values())):g}"
            parts.append(f"{name!r} (epsilon {text}{', closed' * (name in closed)})")
        yield (
            "Of this budget parts were given to children, and are charged in full from then on; a "
            f"child that is closed gives back what it did not spend: {', '.join(parts)}."
        )


class _Fact(NamedTuple):
    """Fact about releases; `outside` names what it puts outside of the guarantee."""

    sentence: str
    outside: str = ""
    word: str = ""


def _overspent(shares: Mapping[str, float]) -> Iterator[_Fact]:
    for level, share in shares.items():
        yield _Fact(
            f"THE BUDGET OF {level!r} IS OVERSPENT ({share:.1%}), by a fault of the library or of "
            "another program that wrote to the ledger. For that level the guarantee does not hold; "
            "epsilon so far is what was spent.",
            f"the level {level!r}, whose budget is overspent",
        )


def _accepted(n_moves: int, n_clocks: int) -> Iterator[str]:
    if n_moves:
        yield (
            f"The ledger was moved or restored {n_moves} time{'s' * (n_moves > 1)}, and whoever "
            "did so declared that nothing had been spent from the file it was a copy of since."
        )
    if n_clocks:
        yield (
            f"The clock was set back {n_clocks} time{'s' * (n_clocks > 1)}, and whoever went on "
            "declared that it had been ahead: times of earlier entries may be wrong."
        )


def _reserved(count: int, n_rows: int) -> Iterator[str]:
    if count:
        where = "one reservation" if count == 1 else f"{count} reservations"
        yield f"In {where} rows were paid for before they were drawn" + (
            f"; {n_rows:,} of them may still be drawn." if n_rows else "."
        )


def _composition(budget: Budget) -> Iterator[str]:
    orders = {level.order for level in budget.levels}
    if GAUSSIAN in orders:
        yield (
            "Costs are added up as mu^2, each with a small delta of its own. Up to that delta no "
            "release tells neighbouring data sets apart better than one draw tells a normal "
            "distribution from the same one shifted by mu standard deviations. Each cost was fixed "
            "before what it pays for was drawn, and they add up however outcomes decided what came "
            "next."
        )
    if math.inf in orders:
        yield "Costs and deltas are added up as they are (Renyi order infinity: basic composition)."
    if orders - {math.inf, GAUSSIAN}:
        yield (
            "Costs are added up as Renyi divergences at the order named above, which was fixed "
            "when the budget was opened."
        )
    if budget.is_sensitive:
        yield (
            "Each release was charged what the actual votes cost. That makes the figures, and the "
            "point where the budget ended, sensitive themselves: they are withheld here."
        )
    if budget.keeps_private:
        yield (
            "Costs are those of the worst case over all data. The file of the ledger can hold "
            "records of the votes beside them, which are as private as the data."
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


def _declared(released: Sequence[Released]) -> Iterator[_Fact]:
    for word, phrase in NOTE_WORDS.items():
        for value, sentence in phrase.sentences.items():
            where = [word in r.facts and value in (None, r.facts[word]) for r in released]
            if any(where):
                count, outside = _count(released, where), phrase.outside.get(value, "")
                outside = f"{outside} (in {count})" if outside else ""
                yield _Fact(sentence.format(count), outside, word)


def _seeded(released: Sequence[Released]) -> Iterator[_Fact]:
    seeded = [release.seeded for release in released]
    if any(seeded):
        count = _count(released, seeded)
        yield _Fact(
            f"IN {count.upper()} THE NOISE WAS REPRODUCIBLE (A SEED): WHOEVER KNOWS THE SEED CAN "
            "SUBTRACT IT. The guarantee does not hold for what was released there.",
            f"what was released with noise that a seed reproduces (in {count})",
        )


def _unseeded(released: Sequence[Released]) -> Iterator[str]:
    if released and not any(release.seeded for release in released):
        yield "All noise came from a cryptographic generator, and none of it was kept."


def _enough_units(budget: Budget, released: Sequence[Released]) -> Iterator[str]:
    if not budget.delta:
        return
    _, units = UNIT_WORDS[budget.unit]
    most, largest = 1 / budget.delta, max(map(_n_units, released), default=0)
    phrase = "The releases do not name their number"
    if largest:
        times = round(most / largest, 6)  # one over 1e-5 is a little less than 100,000
        phrase = f"The largest number that a release names is {largest:,}: "
        if times <= 1:
            phrase += "NOT FEWER. DELTA IS TOO LARGE FOR THEM"
        elif times < _FAR_FEWER:
            phrase += (
                f"ONE OVER DELTA IS ONLY {math.floor(10 * times) / 10:g} TIMES AS MANY. A delta of "
                f"at most {1 / (_FAR_FEWER * largest):.1e} would be small enough for them"
            )
        else:
            phrase += f"one over delta is {times:,.0f} times as many"
    yield (
        f"The private data have far fewer than {most:,.0f} {units} (one over delta), at most a "
        f"tenth. {phrase}."
    )


def _n_units(release: Released) -> int:
    people: Mapping[str, int] = release.facts.get("people", {})
    return int(max(release.facts.get("n_counted", 0), sum(people.values())))


def _scored(released: Sequence[Released]) -> Iterator[str]:
    scored = [release.facts.get("measured") in SCORES for release in released]
    if any(scored):
        yield (
            f"In {_count(released, scored)} predictions were scored. They came from public models, "
            "or from models that this ledger released, and not from one that private rows made "
            "without noise."
        )


def _direct(released: Sequence[Released], budget: Budget) -> Iterator[str]:
    direct = [not release.facts.keys() & _WORDS_OF_CALLS for release in released]
    if any(direct):
        unit, _ = UNIT_WORDS[budget.unit]
        yield (
            f"In {_count(released, direct)} numbers were handed to the budget directly, by no fit "
            f"and no function of the library. That one {unit} changes them by no more than the "
            "mechanism states is the caller's word."
        )


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
    promises = [release.facts.get("min_count_promised", 0) for release in released]
    for least in sorted(set(promises) - {0}):
        where = [promise == least for promise in promises]
        yield (
            f"In {_count(released, where)} every bag was promised to hold at least {least} of each "
            "class. The guarantee is between data that keep the promise, and a bag that was "
            "refused for breaking it is known to have broken it."
        )


def _count(released: Sequence[Released], where: Sequence[bool]) -> str:
    count = sum(group.n_releases for group, chosen in zip(released, where, strict=True) if chosen)
    total = sum(group.n_releases for group in released)
    if count == total:
        return "all releases" if count > 1 else "the one release"
    return f"{count} of {total} releases"
