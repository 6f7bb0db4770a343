"""Steps of a pipeline that learned from all private rows before the model was fitted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import NamedTuple

from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
)
from sklearn.utils import get_tags


class LearnedStep(NamedTuple):
    """Step that a running fit has fitted to private rows."""

    name: str
    warning: str


def learned_steps() -> list[LearnedStep]:
    """Return the steps that running fits of pipelines have fitted to private rows.

    The pipelines are found on the call stack. Steps that learn nothing, and frozen ones, are not
    meant.
    """
    steps = []
    frame: FrameType | None = sys._getframe()
    while frame is not None and (frame := frame.f_back) is not None:
        fitting = frame.f_locals.get("self") if frame.f_code.co_name == "fit" else None
        if isinstance(fitting, TransformedTargetRegressor):
            if any(_learning_parts(fitting.transformer)):
                steps.append(_learned_targets(type(fitting.transformer).__name__))
        elif isinstance(fitting, Pipeline):
            for name, step in fitting.steps[:-1]:
                learners = sorted({type(part).__name__ for part in _learning_parts(step)})
                if learners:
                    steps.append(_learned_step(name, ", ".join(learners)))
    return steps


def _learned_step(name: str, learners: str) -> LearnedStep:
    return LearnedStep(
        f"the step {name!r} of a Pipeline ({learners})",
        f"the step {name!r} of the Pipeline ({learners}) was fitted to all private rows, without "
        "noise: the guarantee does not cover what it learned. Put it inside, where it sees public "
        "rows or the rows of one teacher: features=make_pipeline(step, ...) of a linear model, or "
        "PrivateTeacherEnsemble(make_pipeline(step, estimator)). Or fit it to public rows, and "
        "pass FrozenEstimator(step).",
    )


def _learned_targets(name: str) -> LearnedStep:
    return LearnedStep(
        f"transformer={name} of TransformedTargetRegressor",
        f"transformer={name} of TransformedTargetRegressor was fitted to all private targets, "
        "without noise: the guarantee does not cover what it learned. Give func= and "
        "inverse_func=, which learn nothing; target_bounds= scales the targets.",
    )


def _learning_parts(step: BaseEstimator) -> Iterator[BaseEstimator]:
    """Yield the parts of a step that learn from rows."""
    if isinstance(step, FrozenEstimator):
        return  # it has the attributes of what is frozen
    parts = getattr(step, "steps", None) or getattr(step, "transformer_list", None)
    if parts is None:
        parts = getattr(step, "transformers", None)  # with columns, as a third entry
    if parts is not None:
        for _, part, *_ in parts:
            yield from _learning_parts(part)
    elif (
        hasattr(step, "__sklearn_tags__")
        and get_tags(step).requires_fit
        and not _learns_shape_alone(step)
    ):
        yield step


def _learns_shape_alone(step: BaseEstimator) -> bool:
    """Return True for steps that learn the number and the names of columns, which are public."""
    if isinstance(step, OneHotEncoder | OrdinalEncoder):
        by_counts = (step.min_frequency, step.max_categories) != (None, None)
        return not isinstance(step.categories, str) and not by_counts
    return isinstance(step, FunctionTransformer | PolynomialFeatures)
