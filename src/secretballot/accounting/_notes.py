"""Notes: public facts about a release, of which the privacy statement reads some words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from numpy.typing import NDArray

from secretballot.accounting._protocol import ReleaseMechanism
from secretballot.divergences import dump_gap_records, record_gaps
from secretballot.ledger import Budget, LedgerEntry, to_json

#: A note, or a function of the outcome that returns it.
Note = Mapping[str, Any] | Callable[[NDArray[Any]], Mapping[str, Any]]

#: How private rows were divided among the teachers.
SPLITS = ("row", "owner", "party")
#: The aggregator that draws the noise of a vote among parties, and opens its outcome.
AGGREGATORS = ("trusted", "secret sharing")
#: The origin of the features that rows are described by.
ORIGINS = ("public", "declared", "frozen")
#: The plans for individual budgets that the statement explains, each with its word for shares.
VARIANTS = {"upsampling": "copies", "weighting": "teachers", "vanishing": "turns"}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_plan(value: object) -> bool:
    if not value:
        return value is None or value == {}
    if not isinstance(value, dict) or value.get("variant") not in list(VARIANTS):
        return False
    shares = value.get(VARIANTS[value["variant"]])
    return isinstance(shares, dict) and all(
        isinstance(share, str | int | float) for share in shares.values()
    )


def _is_bound(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(name), int | float) for name in ("epsilon", "delta", "failure")
    )


#: The words of a note that the statement reads: their meaning, and a test of their values.
_KNOWN: dict[str, tuple[str, Callable[[object], bool]]] = {
    "classes_learned": ("True or False", lambda value: isinstance(value, bool)),
    "categories_learned": ("a list of columns", lambda value: isinstance(value, list)),
    "types_learned": ("a list of columns", lambda value: isinstance(value, list)),
    "public_may_be_private": ("True", lambda value: value is True),
    "split_by": (f"one of {SPLITS}", lambda value: isinstance(value, str) and value in SPLITS),
    "aggregator": (
        f"one of {AGGREGATORS}",
        lambda value: isinstance(value, str) and value in AGGREGATORS,
    ),
    "features_from": (
        f"one of {ORIGINS}",
        lambda value: isinstance(value, str) and value in ORIGINS,
    ),
    "bags_formed_by": ("a string", lambda value: isinstance(value, str)),
    "min_count_promised": ("a count", _is_count),
    "people": (
        "a dict of a count for each level",
        lambda value: isinstance(value, dict) and all(map(_is_count, value.values())),
    ),
    "published": ("a dict of epsilon, delta and failure", _is_bound),
    "individualization": (
        "None, or {'variant': name, ...} as an ensemble with individual budgets says it",
        _is_plan,
    ),
}
#: The words that only the accountant writes.
_RESERVED = {"priced": "as one plan"}
#: The word under which an entry that pays for a reservation keeps its number of columns.
COLUMNS = "columns_reserved"


def check_note(note: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a caller's note as plain values; ValueError if it can't be kept, or misleads."""
    if note is not None and not isinstance(note, Mapping):
        raise TypeError(f"note={note!r} must be a dict of public facts, or None.")
    plain: dict[str, Any] = json.loads(to_json(dict(note or {}), "note"))
    for word in plain.keys() & {COLUMNS, *_RESERVED}:
        raise ValueError(
            f"note has {word!r}, which the accountant says itself; call it something else."
        )
    for word, (meaning, is_valid) in _KNOWN.items():
        if word in plain and not is_valid(plain[word]):
            raise ValueError(
                f"note={{{word!r}: {plain[word]!r}}} is not what the privacy statement reads "
                f"there: it must be {meaning}. Call it something else if it means something else."
            )
    return plain


def evaluate_note(
    note: Note | None, outcome: NDArray[Any]
) -> tuple[dict[str, Any], BaseException | None]:
    """Return the note of the rows that are paid for, or the exception that its function raised.

    Whoever was shown an outcome has to pay for it, so the exception, Ctrl-C included, is raised
    only after the release has been recorded.
    """
    if not callable(note):
        return check_note(note), None
    try:
        return check_note(note(outcome.copy())), None
    except BaseException as exception:
        return {}, exception


def private_record(
    budget: Budget,
    mechanism: ReleaseMechanism,
    votes: NDArray[Any],
    outcome: NDArray[Any],
    n_columns: int | None,
) -> str | None:
    """Return the record of votes that a sanitized budget keeps beside an entry, if any."""
    if not budget.keeps_private:
        return None
    # It refuses mechanisms that state no laws.
    records = record_gaps(cast("Any", mechanism), votes, outcome, n_columns)
    return None if records is None else dump_gap_records(records)


def declared_facts(entry: LedgerEntry) -> dict[str, Any]:
    """Return the words of an entry's note that the statement reads, if their values are valid."""
    note = json.loads(entry.note)
    if not isinstance(note, dict):
        return {}
    facts = {
        word: note[word]
        for word, (_, is_valid) in _KNOWN.items()
        if word in note and is_valid(note[word])
    }
    facts.update({word: note[word] for word, value in _RESERVED.items() if note.get(word) == value})
    return facts
