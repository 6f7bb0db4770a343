"""Notes: public facts about a release, and the releases of a ledger in plain words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from secretballot._base._view import mechanism_text
from secretballot.ledger._entry import LedgerEntry, Reserved, to_json

#: A note, or a function of the outcome that returns it.
Note = Mapping[str, Any] | Callable[[NDArray[Any]], Mapping[str, Any]]

#: The plans for individual budgets: the word of each for its shares, and their explanation.
VARIANTS = {
    "upsampling": (
        "copies",
        "Rows were with as many teachers as their level earned ({shares} teachers), and noise and "
        "threshold grew with their number.",
    ),
    "weighting": (
        "teachers",
        "Each teacher had rows of one level, or of a level and looser ones that were too small for "
        "a teacher ({shares} teachers), and its ballot the weight of that level.",
    ),
    "vanishing": (
        "turns",
        "Each teacher had rows of one level, or of a level and looser ones that were too small for "
        "a teacher, and voted in turns decided beforehand ({shares} of the votes).",
    ),
}
#: The word under which an entry that pays for a reservation keeps its number of columns.
COLUMNS = "columns_reserved"
#: Values of "measured" for which predictions were compared with private rows.
SCORES = ("accuracy", "squared errors", "confusion matrix")
#: The words that only the accountant writes.
RECORDED = (COLUMNS, "priced")


class NoteWord(NamedTuple):
    """A word of a note that the statement reads.

    `sentences` explain its values, None any value; the gap is for the releases that have it.
    `outside` names what is outside of the guarantee where it has a value, None for any value.
    """

    meaning: str
    is_valid: Callable[[object], bool]
    sentences: Mapping[object, str] = {}
    outside: Mapping[object, str] = {}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_plan(value: object) -> bool:
    if not value:
        return value is None or value == {}
    if not isinstance(value, dict) or value.get("variant") not in list(VARIANTS):
        return False
    shares = value.get(VARIANTS[value["variant"]][0])
    return isinstance(shares, dict) and all(
        isinstance(share, str | int | float) for share in shares.values()
    )


def _is_bound(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(name), int | float) for name in ("epsilon", "delta", "failure")
    )


def _typed(kind: type, meaning: str) -> NoteWord:
    return NoteWord(meaning, lambda value: isinstance(value, kind))


def _columns_outside(sentence: str, outside: str) -> NoteWord:
    """Return a word that lists columns of which something is outside of the guarantee."""
    word = _typed(list, "a list of columns")
    return word._replace(sentences={None: sentence}, outside={None: outside})


def _flag(sentence: str, outside: str) -> NoteWord:
    """Return a word that is True where something is outside of the guarantee."""
    return NoteWord("True", lambda value: value is True, {None: sentence}, {None: outside})


def _choice(sentences: Mapping[object, str]) -> NoteWord:
    choices = list(sentences)
    return NoteWord(f"one of {tuple(choices)}", choices.__contains__, sentences)


#: The words of a note that the statement reads.
NOTE_WORDS: dict[str, NoteWord] = {
    "classes_learned": NoteWord(
        "True or False",
        lambda value: isinstance(value, bool),
        {
            True: "In {} the set of classes was learned from private labels and released exactly, "
            "outside the guarantee.",
            False: "In {} the set of classes was named beforehand, and is public.",
        },
        {True: "the set of classes"},
    ),
    "categories_learned": _columns_outside(
        "In {} the categories of some columns were read off the private table, and could show in "
        "the codes that all teachers saw, outside the guarantee.",
        "categories of columns",
    ),
    "types_learned": _columns_outside(
        "In {} the types and categories of some columns were read off the private table, and could "
        "show in what all teachers saw, outside the guarantee.",
        "types and categories of columns",
    ),
    "public_may_be_private": _flag(
        "In {} ROWS THAT MAY BE PRIVATE WERE USED AS PUBLIC ROWS, which was declared. What is "
        "learned from them, or shown of them, is outside the guarantee.",
        "rows that were used as public ones, and may be private",
    ),
    "copy": _flag(
        "In {} models were fitted as copies, within another tool (a search, a calibration, a "
        "stack), which may have looked at private rows without noise. What it learned or chose, "
        "and its scores, are outside the guarantee.",
        "what a tool around the model may have learned from private rows, without noise",
    ),
    "priced": _choice(
        {
            "as one plan": "In {} the price of all answers was fixed before anything was drawn: "
            "the most that they could reveal, whatever the data were."
        }
    ),
    "split_by": _choice(
        {
            "row": "The private rows were divided among the teachers by their position.",
            "owner": "The private rows were divided among the teachers by a keyed hash of the "
            "owner's id.",
            "party": "The teachers are parties that trained elsewhere: nobody's data is with two "
            "of them.",
        }
    ),
    "aggregator": _choice(
        {
            "trusted": "In {} an aggregator among parties saw their ballots and drew the noise. "
            "That it did, and showed nothing but the outcome, is its word.",
        }
    ),
    "features_from": _choice(
        {
            "public": "In {} what rows are described by (bins, scales, components) was fitted on "
            "public rows alone.",
            "declared": "In {} the bounds and categories that rows are described by were declared "
            "by whoever fitted, without looking at private rows, and are public.",
            "frozen": "In {} rows were described by a transformer that had been fitted beforehand. "
            "That it saw no private row is its user's word.",
        }
    ),
    "rows_per_call": NoteWord(
        "a count, or a list of counts",
        lambda value: all(map(_is_count, value if isinstance(value, list) else [value])),
        {
            None: "In {} a model or a transformer answered private rows in calls of one public "
            "number of rows. That it is deterministic, and makes the same of a row beside all "
            "other rows, was tested on public rows and is assumed."
        },
    ),
    "model": _typed(str, "a string"),
    "n_columns": NoteWord("a count", _is_count),
    "measured": _typed(str, "a string"),
    "n_counted": NoteWord("a count", _is_count),
    "counted_from": NoteWord(
        "'totals', 'rows' or 'owners'",
        ["totals", "rows", "owners"].__contains__,
        {
            "totals": "In {} counts were added up by the caller. That one unit adds no more to any "
            "of them than the mechanism states is the caller's word.",
            "rows": "In {} the rows of a table were counted, and what each adds was checked. That "
            "all of a unit is in one row is the caller's word.",
        },
    ),
    "bags_formed_by": _typed(str, "a string")._replace(
        sentences={
            "not said": "In {} bags were given as lists of labels. That no instance is in two bags "
            "is the caller's word.",
            "label": "In {} THE BAGS WERE FORMED BY LABEL: MEMBERSHIP GIVES THE LABELS AWAY. The "
            "guarantee covers the published proportions only.",
        },
        outside={"label": "labels, which membership in a bag gives away"},
    ),
    "min_count_promised": NoteWord("a count", _is_count),
    "people": NoteWord(
        "a dict of a count for each level",
        lambda value: isinstance(value, dict) and all(map(_is_count, value.values())),
    ),
    "published": NoteWord("a dict of epsilon, delta and failure", _is_bound),
    "individualization": NoteWord(
        "None, or {'variant': name, ...} as an ensemble with individual budgets says it", _is_plan
    ),
}


def check_note(note: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a caller's note as plain values; ValueError if it can't be kept, or misleads."""
    if note is not None and not isinstance(note, Mapping):
        raise TypeError(f"note={note!r} must be a dict of public facts, or None.")
    plain: dict[str, Any] = json.loads(to_json(dict(note or {}), "note"))
    for word in plain.keys() & set(RECORDED):
        raise ValueError(
            f"note has {word!r}, which the accountant says itself; call it something else."
        )
    for word, phrase in NOTE_WORDS.items():
        if word in plain and not phrase.is_valid(plain[word]):
            raise ValueError(
                f"note={{{word!r}: {plain[word]!r}}} is not what the privacy statement reads "
                f"there: it must be {phrase.meaning}. Call it something else if it means something "
                "else."
            )
    return plain


def evaluate_note(
    note: Callable[[NDArray[Any]], Mapping[str, Any]], outcome: NDArray[Any]
) -> tuple[dict[str, Any], BaseException | None]:
    """Return the note that a function makes of an outcome, or the exception that it raised.

    Whoever was shown an outcome has to pay for it, so the exception, Ctrl-C included, is raised
    only after the release has been recorded.
    """
    try:
        return check_note(note(outcome.copy())), None
    except BaseException as exception:
        return {}, exception


@dataclass
class Released:
    """Releases of one mechanism with one note, seeded or not."""

    mechanism: Any
    note: Any
    seeded: bool
    n_releases: int
    n_rows: int
    first: str
    last: str

    @property
    def facts(self) -> dict[str, Any]:
        """The words of the note that the statement reads, where their values are valid."""
        note = self.note if isinstance(self.note, dict) else {}
        return {
            word: note[word]
            for word, phrase in NOTE_WORDS.items()
            if word in note and phrase.is_valid(note[word])
        }


class Contents(NamedTuple):
    """Releases of a ledger, declarations of it, its reservations and children: plain values."""

    released: list[dict[str, Any]]  # fields of `Released`
    n_moves: int  # to new places
    n_clocks: int  # times that its clock had been ahead
    n_reservations: int
    n_reserved_rows: int  # that may still be drawn
    last: str  # time of the last entry, "" if there is none
    children: dict[str, dict[str, float]]  # epsilon by level, by name
    closed: list[str]  # children


def contents(entries: Iterable[LedgerEntry]) -> Contents:
    """Group the releases of a ledger, in the order in which they began."""
    groups: dict[tuple[str, str, bool], Released] = {}
    n_moves, n_clocks, reservations, last = 0, 0, dict[str, Reserved](), ""
    children, closed = dict[str, dict[str, float]](), list[str]()
    for entry in entries:
        n_moves += entry.is_move
        n_clocks += entry.is_declaration and not entry.is_move
        last = entry.time
        if entry.child is not None and entry.child.grant is not None:
            levels = entry.child.grant.levels
            children[entry.child.name] = {level.name: level.epsilon for level in levels}
        if entry.child is not None and entry.child.event == "close":
            closed.append(entry.child.name)
        if entry.reservation is not None:
            reservations[entry.reservation.id] = entry.reservation
        if not entry.is_release:
            continue
        key = entry.mechanism, entry.note, entry.seeded
        if key not in groups:
            mechanism, note = map(json.loads, key[:2])
            groups[key] = Released(mechanism, note, entry.seeded, 0, 0, entry.time, entry.time)
        group = groups[key]
        group.last = entry.time
        group.n_releases += 1
        group.n_rows += entry.n_rows
    n_reserved_rows = 0
    for state in reservations.values():
        n_reserved_rows += 0 if state.is_settled else state.rows_left
    released, n_reservations = list(map(vars, groups.values())), len(reservations)
    return Contents(
        released, n_moves, n_clocks, n_reservations, n_reserved_rows, last, children, closed
    )


_VOTED_CLASS = "the class with the most votes, after noise"
_VOTED_LABELS = "the labels with the most votes, after noise"
_SHARES = "shares of classes in bags, with noise"
_ITEMS = "the most frequent items, after noise"

_CHILD_EVENTS = {"carve": "carved", "close": "closed"}

#: What mechanisms release, by the name of their class.
RELEASE_WORDS = {
    "BestOfCounts": "the candidate with about the largest count",
    "BinaryVoting": _VOTED_LABELS,
    "ConfidentGNMax": f"{_VOTED_CLASS}, where enough votes agree",
    "DirichletProportions": _SHARES,
    "ExponentialTopK": _ITEMS,
    "GNMax": _VOTED_CLASS,
    "GaussianProportions": _SHARES,
    "LaplacePriorProportions": _SHARES,
    "LaplaceProportions": _SHARES,
    "LimitedDomainTopK": _ITEMS,
    "NoisyCounts": "counts, with noise",
    "NoisyMargin": "a bound of what was lost, with noise",
    "PowersetVoting": _VOTED_LABELS,
    "SkellamMax": "the class with the most votes, or all votes, after noise",
    "StableTopK": _ITEMS,
    "TauVoting": _VOTED_LABELS,
    "VectorSum": "sums over bounded rows, with noise",
}


def release_words(mechanism: object, facts: Mapping[str, Any]) -> str:
    """Describe a release in plain words, by the recorded description of its mechanism."""
    description = mechanism if isinstance(mechanism, dict) else {}
    while isinstance(inner := description.get("inner"), dict):
        description = inner
    name = description.get("mechanism")
    words = RELEASE_WORDS.get(name) if isinstance(name, str) else None
    if name == "NoisyCounts" and facts.get("measured") == "accuracy":
        return "share of right answers, with noise"
    words = words or "answers of a mechanism that is not the library's"
    if "measured" in facts:
        words += f" ({facts['measured']})"
    if "model" in facts:
        words += f", for a {facts['model']}"
        if n_columns := facts.get("n_columns", 0):
            words += f" on {n_columns:,} column{'s' * (n_columns > 1)}"
    return words


def entry_text(entry: LedgerEntry) -> str:
    """Describe an entry on one line: its mechanism, and what became of a reservation."""
    if entry.child is not None and entry.child.event != "spend":
        return f"{_CHILD_EVENTS[entry.child.event]} the child {entry.child.name!r}"
    mechanism = mechanism_text(json.loads(entry.mechanism))
    if entry.child is not None:
        mechanism = f"{entry.child.name!r}: {mechanism}"
    if entry.reservation is None or entry.is_release:
        return mechanism
    if entry.is_refund:
        return f"settled: {mechanism}"
    n_rows, n_answers = entry.reservation.plans[-1]
    what = f"{n_answers} answers" if n_answers else f"{n_rows} rows"
    return f"reserved {what}: {mechanism}"
