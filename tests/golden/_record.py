"""The golden files: computed, written and read."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from tests.checks._registry import EXAMPLES
from tests.golden._estimator_cases import CASES, estimator_case
from tests.golden._mechanism_cases import ORDERS, mechanism_case, release_case, reservation_case

HERE = Path(__file__).parent
MECHANISMS, ESTIMATORS = HERE / "mechanisms.json", HERE / "estimators.json"


def mechanism_record(name: str) -> dict[str, Any]:
    """Return everything that is kept of one registered mechanism."""
    example = EXAMPLES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "mechanism": mechanism_case(example),
            "releases": {str(order): release_case(example, order) for order in ORDERS},
            "reservations": {str(order): reservation_case(example, order) for order in ORDERS},
        }


def estimator_record(name: str) -> dict[str, Any]:
    """Return everything that is kept of one estimator case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator_case(name)


def write() -> None:
    """Write both files anew."""
    mechanisms = {name: mechanism_record(name) for name in EXAMPLES}
    MECHANISMS.write_text(json.dumps(mechanisms, indent=0, sort_keys=True) + "\n")
    estimators = {name: estimator_record(name) for name in CASES}
    ESTIMATORS.write_text(json.dumps(estimators, indent=0, sort_keys=True) + "\n")
