"""Charges, seeded draws and ledgers are those of the golden files."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.checks._registry import EXAMPLES
from tests.golden._estimator_cases import CASES
from tests.golden._record import ESTIMATORS, MECHANISMS, estimator_record, mechanism_record

#: Processors differ in the last digits; a change of a charge or a draw is larger than this.
RELATIVE, ABSOLUTE = 1e-7, 1e-9


@cache
def golden(path: Path) -> Any:
    return json.loads(path.read_text())


def differences(expected: Any, actual: Any, where: str = "") -> list[str]:
    """List the places where two trees of plain values differ."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return [
            difference
            for key in sorted(expected.keys() | actual.keys())
            for difference in differences(
                expected.get(key, "nothing"), actual.get(key, "nothing"), f"{where}/{key}"
            )
        ]
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        return [text for at, pair in pairs for text in differences(*pair, f"{where}/{at}")]
    numbers = (int, float)
    if isinstance(expected, numbers) and isinstance(actual, numbers):
        if actual == pytest.approx(expected, rel=RELATIVE, abs=ABSOLUTE):
            return []
    elif expected == actual:
        return []
    return [f"{where}: {expected!r} became {actual!r}"]


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_mechanism(name):
    actual = json.loads(json.dumps(mechanism_record(name)))
    assert not differences(golden(MECHANISMS)[name], actual)


#: Charged as examples of test_mechanism are (GNMax on three classes, PowersetVoting).
SLOW = {"ensemble, three classes", "labels, powerset"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in sorted(CASES)],
)
def test_estimator(name):
    actual = json.loads(json.dumps(estimator_record(name)))
    assert not differences(golden(ESTIMATORS)[name], actual)


def test_every_golden_record_has_a_case():
    assert set(golden(MECHANISMS)) == set(EXAMPLES)
    assert set(golden(ESTIMATORS)) == set(CASES)


def test_a_changed_charge_is_found():
    record = mechanism_record("NoisyCounts")
    changed = json.loads(json.dumps(record))
    charge = changed["releases"]["gaussian"]["entries"][0]["charges"][0]
    charge["curve"][0] *= 1 + 1e-5
    assert differences(json.loads(json.dumps(record)), changed)
