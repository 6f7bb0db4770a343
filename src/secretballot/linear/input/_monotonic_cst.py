"""Directions of columns in which predictions are monotone, read from `monotonic_cst`."""

from __future__ import annotations

from functools import partial
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._numbers import quoted
from secretballot._base._sklearn_compat import _check_monotonic_cst
from secretballot.linear.features import AdditiveBins, ColumnChoice
from secretballot.linear.input._read_answer import AnswerReader
from secretballot.linear.input._settings import Settings
from secretballot.linear.rounds import ClassResponse, Response


def read_directions(
    settings: Settings, response: Response, choice: ColumnChoice
) -> NDArray[np.int8]:
    """Return 1, -1 or 0 for each column that is read, or raise ValueError."""
    constraints = settings.monotonic_cst
    if constraints is not None and not response.has_direction:
        raise ValueError(
            f"monotonic_cst={quoted(constraints)}: monotonic constraints are not supported for "
            "multiclass classification. Leave them out, or join the classes to two."
        )
    if constraints is not None and not isinstance(constraints, dict) and np.ndim(constraints) != 1:
        raise ValueError(
            f"monotonic_cst={quoted(constraints)} must have one number for each column."
        )
    numbers: object = constraints
    if isinstance(response, ClassResponse):
        numbers = _by_number(constraints, settings.answer, response)
    # What scikit-learn reads of the estimator, whose class it names.
    attributes: dict[str, object] = {"n_features_in_": choice.n_columns}
    if choice.is_named and all(isinstance(name, str) for name in choice.all_names):
        attributes["feature_names_in_"] = np.array(choice.all_names, dtype=object)
    table = type(settings.estimator, (), attributes)
    directions: NDArray[np.int8] = _check_monotonic_cst(table(), numbers)
    if directions.any() and settings.features not in ("auto", "additive"):
        raise ValueError(
            f"monotonic_cst={quoted(constraints)} needs features='additive', which has effects of "
            f"single columns. With features={settings.features!r} a column also changes how far a "
            "row is clipped, and with it the contribution of all other columns."
        )
    read = list(choice.positions)
    others = np.flatnonzero(directions)
    others = others[~np.isin(others, read)]
    if len(others):
        name = choice.all_names[others[0]]
        raise ValueError(
            f"monotonic_cst gives the column {name!r} a direction, and columns= leaves it out. "
            "Name it in columns=[...] too, or give it 0."
        )
    return directions[read]


def _by_number(
    constraints: ArrayLike | dict[str, object] | None, answer: AnswerReader, response: ClassResponse
) -> list[object] | dict[str, object] | None:
    """Return constraints with numbers in place of the classes that they name."""
    if constraints is None:
        return None
    names = np.asarray(response.classes).tolist()
    declared = getattr(answer, "classes", None)
    direction_of = partial(
        _class_direction,
        names=names,
        is_sorted=declared is not None and list(declared) == names,
        is_learned=response.classes_learned,
    )
    if isinstance(constraints, dict):
        return {
            column: direction_of(value.item() if isinstance(value, np.generic) else value)
            for column, value in constraints.items()
        }
    return [direction_of(value) for value in np.asarray(constraints, dtype=object).tolist()]


def _class_direction(
    value: object, names: list[object], is_sorted: bool, is_learned: bool
) -> object:
    """Return 1 if `value` names the second of two classes, -1 for the first, or a number as it is.

    Numbers are directions if classes are numbers too, or were named in sorted order.
    """
    is_boolean = all(isinstance(name, bool) for name in (value, *names))
    if all(isinstance(name, Real) for name in names) and not is_boolean:
        return value  # checked by scikit-learn
    if value in names:
        return 1 if value == names[1] else -1
    is_number = isinstance(value, Real)
    if is_number and (value == 0 or is_sorted):
        return value
    choice = "" if is_learned else f": {names[1]!r} or {names[0]!r}"
    problem = (
        "does not say which class rises: classes are sorted, in whatever order they are named"
        if is_number
        else "is none of the classes"
    )
    raise ValueError(
        f"monotonic_cst: {value!r} {problem}. Give the column the class whose probability rises "
        f"with it{choice}."
    )


def refuse_categories(bins: AdditiveBins, directions: NDArray[np.int8]) -> None:
    for column, direction in zip(bins.columns, directions.tolist(), strict=True):
        if direction and column.other_code is not None:
            raise ValueError(
                f"monotonic_cst: the column {column.name!r} has categories, which have no order: "
                "categorical features cannot have monotonic constraints. Give it 0, or pass the "
                "column as numbers."
            )
