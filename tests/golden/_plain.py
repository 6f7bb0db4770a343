"""Results as plain values that JSON keeps."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from secretballot.accounting import PrivacyAccountant
from secretballot.ledger._transfer import export

#: Fields of an entry that differ from run to run.
_VARYING = ("time", "scope_id", "previous", "digest", "checkpoint")
#: Digests and identifiers.
_RANDOM = re.compile(r"[0-9a-f]{32,}")
#: Renyi orders kept of a curve: its ends and a few between them.
_KEPT_ORDERS = 5


def plain(value: Any) -> Any:
    """Return a result as lists, dicts, texts and numbers; infinities as texts."""
    if hasattr(value, "curve") and hasattr(value, "delta"):
        curve = np.asarray(value.curve)
        kept = np.unique(np.linspace(0, curve.shape[-1] - 1, _KEPT_ORDERS).astype(int))
        return {"curve": plain(curve[..., kept]), "delta": plain(value.delta)}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return _RANDOM.sub("*", value)
    if value is None or isinstance(value, int | float):
        return value
    return repr(value)


def ledger_entries(accountant: PrivacyAccountant) -> list[Any]:
    """Return the entries of a ledger without what differs from run to run."""
    entries = []
    for entry in export(accountant._ledger)["entries"]:
        kept = {key: value for key, value in entry.items() if key not in _VARYING}
        kept["charges"] = [
            {**charge, "curve": charge["curve"][:: max(1, len(charge["curve"]) // _KEPT_ORDERS)]}
            for charge in kept["charges"]
        ]
        entries.append(plain(kept))
    return entries
