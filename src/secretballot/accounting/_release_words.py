"""Names of mechanisms in plain words, for a privacy statement, and lines of entries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from secretballot._base._tables import mechanism_text
from secretballot.ledger._entry import LedgerEntry

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
    measured = f" ({facts['measured']})" if "measured" in facts else ""
    return f"{words}{measured}{_model_words(facts)}"


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


def _model_words(facts: Mapping[str, Any]) -> str:
    """Name the model that a release is for, by the facts of its note."""
    if "model" not in facts:
        return ""
    n_columns = facts.get("n_columns", 0)
    columns = f" on {n_columns:,} column{'s' * (n_columns > 1)}" if n_columns else ""
    return f", for a {facts['model']}{columns}"
