"""What a parameter that is a number may be."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np


def real(value: Any) -> float:
    """Return a real number as a float, anything else as nan (which fails every range check)."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_):
        return float(value)
    return math.nan
