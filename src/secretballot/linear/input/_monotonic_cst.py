"""Directions of columns in which predictions are monotone, read from `monotonic_cst`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from secretballot._sklearn_compat import _check_monotonic_cst
from secretballot.linear.features import AdditiveBins
from secretballot.linear.rounds import Response

if TYPE_CHECKING:
    from secretballot.linear._linear_model import LinearModel


def read_directions(model: LinearModel, response: Response) -> NDArray[np.int8]:
    """Return 1, -1 or 0 for each column, or raise ValueError.

    Parameters
    ----------
    model : LinearModel
        With the number and names of its columns.
    response : Response
    """
    constraints = model.monotonic_cst
    if constraints is not None and not response.has_direction:
        raise ValueError(
            f"monotonic_cst={constraints!r}: monotonic constraints are not supported for "
            "multiclass classification. Leave them out, or join the classes to two."
        )
    if constraints is not None and not isinstance(constraints, dict) and np.ndim(constraints) != 1:
        raise ValueError(f"monotonic_cst={constraints!r} must have one number for each column.")
    directions: NDArray[np.int8] = _check_monotonic_cst(model, constraints)
    if directions.any() and model.features not in ("auto", "additive"):
        raise ValueError(
            f"monotonic_cst={constraints!r} needs features='additive', which has effects of single "
            f"columns. With features={model.features!r} a column also changes how far a row is "
            "clipped, and with it the contribution of all other columns."
        )
    return directions


def refuse_categories(bins: AdditiveBins, directions: NDArray[np.int8]) -> None:
    """Raise ValueError if a column of categories has a direction."""
    for column, direction in zip(bins.columns, directions.tolist(), strict=True):
        if direction and column.other_code is not None:
            raise ValueError(
                f"monotonic_cst: the column {column.name!r} has categories, which have no order: "
                "categorical features cannot have monotonic constraints. Give it 0, or pass the "
                "column as numbers."
            )
