"""Encoding of what a ledger holds: as JSON, as bytes, and for digests."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from functools import lru_cache

import numpy as np

from secretballot.costs._cost import Cost, GaussianCost, RenyiCost
from secretballot.costs._groups import Costs
from secretballot.costs._orders import ORDERS
from secretballot.ledger._budget import Budget, Cap

#: Largest depth of nested lists and dicts.
_MAX_DEPTH = 64
#: NUL as JSON writes it, and no backslash before "u0000".
_NUL = re.compile(r"(?<!\\)(\\\\)*\\u0000")


def to_json(value: object, source: str) -> str:
    """Encode public parameters as canonical JSON; ValueError if they are not plain values."""
    try:
        text = json.dumps(value, sort_keys=True, allow_nan=False, default=_plain)
        # A reader that has less of the stack left must be able to decode it too.
        is_deep = _depth(json.loads(text)) > _MAX_DEPTH
    except RecursionError:
        text, is_deep = "", True
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{source} must hold strings, finite numbers, lists and dicts: {error}"
        ) from error
    if _NUL.search(text):
        raise ValueError(f"{source} must not hold NUL.")
    if is_deep:
        raise ValueError(f"{source} must not nest lists and dicts more than {_MAX_DEPTH} deep.")
    return text


@lru_cache(maxsize=1024)
def check_description(text: str, *, of_dict: bool = False) -> None:
    """Check that a recorded text is JSON as `to_json` writes it; ValueError if not."""
    description = json.loads(text)
    to_json(description, "a description")
    if of_dict and not isinstance(description, dict):
        raise ValueError("a mechanism is described by a dict")


def _depth(value: object) -> int:
    """Compute the depth of nested lists and dicts."""
    if not isinstance(value, list | dict):
        return 0
    values = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, values), default=0)


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} is no plain value")


def curve_bytes(cost: Cost) -> bytes:
    """Encode the curve of a cost as little-endian doubles."""
    return np.ascontiguousarray(cost.curve, dtype="<f8").tobytes()


def cost_of(curve: bytes, delta: float) -> Cost:
    """Decode a cost: a Renyi curve, or one amount of mu^2."""
    amounts = np.frombuffer(curve, dtype="<f8")
    kind = RenyiCost if len(amounts) == len(ORDERS) else GaussianCost
    return kind.from_curve(amounts, delta)


def digest_of(content: list[object]) -> str:
    """Compute the SHA-256 of nested lists of text, integers and None, as JSON."""
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


def cap_digits(cap: Cap) -> object:
    """Encode the cap of a scope for a digest; floats are hexadecimal, so that no bit is lost."""
    if isinstance(cap, Mapping):
        return [[level, float(epsilon).hex()] for level, epsilon in sorted(cap.items())]
    return None if cap is None else float(cap).hex()


def charge_digits(charges: Costs) -> list[object]:
    """Encode costs per group for a digest."""
    return [
        [group, float(cost.delta).hex(), curve_bytes(cost).hex()]
        for group, cost in sorted(charges.items())
    ]


def genesis_digest(identity: Iterable[str], budget: Budget, orders: bytes) -> str:
    """Compute the digest of a ledger's header, which the first entry follows."""
    levels = [
        [value if isinstance(value, str) else float(value).hex() for value in astuple(level)]
        for level in budget.levels
    ]
    fixed = [budget.unit, budget.relation, budget.accounting, int(budget.allow_seeded)]
    return digest_of(["secretballot ledger", list(identity), fixed, levels, orders.hex()])
