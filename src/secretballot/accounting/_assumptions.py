"""What a privacy guarantee rests on, said for the ledger at hand."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from secretballot.ledger import Budget, LedgerEntry

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
    "another id, two ballots can change, as if two owners were replaced.)",
    "label": "Only the labels are private. The instances, and which bag each belongs to, are "
    "public.",
    "voter": "Each voter cast one ballot.",
}

_ABOUT_SPLITS = {
    "row": "The private rows were divided among the teachers by their position.",
    "owner": "The private rows were divided among the teachers by a keyed hash of the owner's id.",
    "party": "The teachers are parties that trained elsewhere: nobody's data is with two of them.",
}

_ALWAYS = (
    "The rows that were labelled, or the bags that were counted, are public.",
    "Nothing was fitted on the private data as a whole (scalers, encoders, selected features), and "
    "no setting was chosen by looking at it or at a score on it.",
    "This ledger is the only budget for this data. What was released under another one adds to "
    "what is stated here.",
)


def assumptions(budget: Budget, entries: Sequence[LedgerEntry]) -> tuple[str, ...]:
    """Return one sentence or two per assumption."""
    releases = [entry for entry in entries if entry.is_release]
    return (
        _ABOUT_UNITS[budget.unit],
        *_composition(budget),
        *_declared(releases),
        *_ALWAYS,
        *_moved(len(entries) - len(releases)),
    )


def _moved(times: int) -> Iterator[str]:
    if times:
        yield (
            f"The ledger was moved or restored {times} time{'s' * (times > 1)}, and whoever did "
            "so declared that nothing had been spent from the file it was a copy of since."
        )


def _composition(budget: Budget) -> Iterator[str]:
    orders = {level.order for level in budget.levels}
    if math.inf in orders:
        yield "Costs and deltas are added up as they are (Renyi order infinity: basic composition)."
    if orders - {math.inf}:
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


def _declared(entries: Sequence[LedgerEntry]) -> Iterator[str]:
    if not entries:
        return
    notes = [json.loads(entry.note) for entry in entries]
    learned = _saying(notes, "classes_learned", True)
    if learned:
        yield (
            f"In {_of(learned, entries)} the set of classes was learned from private labels and "
            "released exactly, outside the guarantee."
        )
    named = _saying(notes, "classes_learned", False)
    if named:
        yield f"In {_of(named, entries)} the set of classes was named beforehand, and is public."
    pooled = sum("categories_learned" in note for note in notes)
    if pooled:
        yield (
            f"In {_of(pooled, entries)} the categories of some columns were read off the private "
            "table, and could show in the codes that all teachers saw, outside the guarantee."
        )
    planned = _saying(notes, "priced", "as one plan")
    if planned:
        yield (
            f"In {_of(planned, entries)} all rows were one plan, fixed before anything was drawn, "
            "and cost the pair (epsilon, delta) of its exact worst case, whatever was released."
        )
    for split, sentence in _ABOUT_SPLITS.items():
        if _saying(notes, "split_by", split):
            yield sentence
    yield from _declared_of_levels(notes)
    yield from _declared_of_bags(notes, entries)
    seeded = sum(entry.seeded for entry in entries)
    if seeded:
        yield (
            f"IN {_of(seeded, entries).upper()} THE NOISE WAS REPRODUCIBLE (A SEED): WHOEVER KNOWS "
            "THE SEED CAN SUBTRACT IT. The guarantee does not hold for what was released there."
        )
    else:
        yield "All noise came from a cryptographic generator, and none of it was kept."


_SHARES_OF_LEVELS = {
    "upsampling": (
        "copies",
        "Rows were with as many teachers as their level earned ({each} teachers), and noise and "
        "threshold grew with their number.",
    ),
    "weighting": (
        "teachers",
        "Each teacher had rows of one level, or of a level and looser ones that were too small for "
        "a teacher ({each} teachers), and its ballot the weight of that level.",
    ),
    "vanishing": (
        "turns",
        "Each teacher had rows of one level, or of a level and looser ones that were too small for "
        "a teacher, and voted in turns decided beforehand ({each} of the votes).",
    ),
}


def _declared_of_levels(notes: list[dict[str, Any]]) -> Iterator[str]:
    told = [(note["people"], note["individualization"]) for note in notes if "people" in note]
    if not told:
        return
    yield (
        "Each person's level of privacy was chosen by that person, or by a rule, and not by "
        "looking at private data: who is of which level is public. Each is guaranteed the epsilon "
        "of their own level, between data in which all keep their levels."
    )
    sentences = []
    for people, plan in told:
        counted = ", ".join(f"{count} of {level!r}" for level, count in people.items())
        sentence = f"Votes were cast for {counted}. "
        if plan:
            name, explained = _SHARES_OF_LEVELS[plan["variant"]]
            each = ", ".join(f"{level!r}: {share}" for level, share in plan[name].items())
            sentence += explained.format(each=each)
        else:
            sentence += "All contributed alike, whatever their level."
        sentences.append(sentence)
    yield from dict.fromkeys(sentences)


def _declared_of_bags(notes: list[dict[str, Any]], entries: Sequence[LedgerEntry]) -> Iterator[str]:
    by_label = _saying(notes, "bags_formed_by", "label")
    if by_label:
        yield (
            f"IN {_of(by_label, entries).upper()} THE BAGS WERE FORMED BY LABEL: MEMBERSHIP GIVES "
            "THE LABELS AWAY. The guarantee covers the published proportions only."
        )
    for least in sorted({note.get("min_count_promised", 0) for note in notes} - {0}):
        promised = _saying(notes, "min_count_promised", least)
        yield (
            f"In {_of(promised, entries)} every bag was promised to hold at least {least} of each "
            "class. The guarantee is between data that keep the promise, and a bag that was "
            "refused for breaking it is known to have broken it."
        )


def _saying(notes: list[dict[str, Any]], key: str, value: object) -> int:
    return sum(note.get(key) == value for note in notes)


def _of(count: int, entries: Sequence[LedgerEntry]) -> str:
    if count == len(entries):
        return "all releases" if count > 1 else "the one release"
    return f"{count} of {len(entries)} releases"
