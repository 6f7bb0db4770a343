"""What a release declares of itself: words that the statement knows are checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from secretballot.divergences import dump_gap_records, record_gaps
from secretballot.ledger import Budget, LedgerEntry, to_json

SPLITS = ("row", "owner", "party")
#: Who draws the noise of a vote among parties, and opens its outcome.
AGGREGATORS = ("trusted", "secret sharing")
#: Where it comes from what rows are described by.
ORIGINS = ("public", "declared", "frozen")
#: The individual budgets that the statement explains, and under which word each tells its shares.
VARIANTS = {"upsampling": "copies", "weighting": "teachers", "vanishing": "turns"}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_plan(value: Any) -> bool:
    if not value:
        return value is None or value == {}
    if not isinstance(value, dict) or value.get("variant") not in list(VARIANTS):
        return False
    shares = value.get(VARIANTS[value["variant"]])
    return isinstance(shares, dict) and all(
        isinstance(share, str | int | float) for share in shares.values()
    )


def _is_bound(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(name), int | float) for name in ("epsilon", "delta", "failure")
    )


#: The words of a note that the statement reads, what they say, and whether a value says it.
_KNOWN: dict[str, tuple[str, Callable[[Any], bool]]] = {
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
#: What is said by the accountant alone.
_RESERVED = {"priced": "as one plan"}
#: Under this word an entry that pays for a reservation keeps how many columns it is for.
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
    for word, (meaning, says) in _KNOWN.items():
        if word in plain and not says(plain[word]):
            raise ValueError(
                f"note={{{word!r}: {plain[word]!r}}} is not what the privacy statement reads "
                f"there: it must be {meaning}. Call it something else if it means something else."
            )
    return plain


def told_of(
    note: Mapping[str, Any] | Callable[[NDArray[Any]], Mapping[str, Any]] | None,
    outcome: NDArray[Any],
) -> tuple[dict[str, Any], BaseException | None]:
    """Return what a note says of the rows that are paid for, or why it can't be said.

    Who was shown an outcome must not get out of paying for it, so a failure, Ctrl-C included, is to
    be raised only after the release has been recorded.
    """
    if not callable(note):
        return check_note(note), None
    try:
        return check_note(note(outcome.copy())), None
    except BaseException as fault:
        return {}, fault


def private_record(
    budget: Budget,
    mechanism: Any,
    votes: NDArray[Any],
    outcome: NDArray[Any],
    n_columns: int | None,
) -> str | None:
    """Return what a budget that may be published keeps of votes, if anything."""
    if not budget.keeps_private:
        return None
    records = record_gaps(mechanism, votes, outcome, n_columns)
    return None if records is None else dump_gap_records(records)


def declared(entry: LedgerEntry) -> dict[str, Any]:
    """Return those words of an entry's note that the statement knows, with values it can read."""
    note = json.loads(entry.note)
    if not isinstance(note, dict):
        return {}
    told = {
        word: note[word] for word, (_, says) in _KNOWN.items() if word in note and says(note[word])
    }
    told.update({word: note[word] for word, value in _RESERVED.items() if note.get(word) == value})
    return told
