"""Models of diffprivlib: logistic and linear regression, naive Bayes and a forest.

diffprivlib 0.6.6 can't be imported beside scikit-learn 1.9 (it takes DOUBLE, which is no more, from
``sklearn.tree._tree``), so it may live in an environment of its own, with scikit-learn 1.5:
``DIFFPRIVLIB_PYTHON`` names that environment's interpreter, which diffprivlib_worker.py is run by.

All are pure: they leave delta unused. What each proves, and what we pass, so that a **replaced**
row has epsilon:

logistic      objective perturbation (Chaudhuri, Monteleoni, Sarwate 2011) is for a replaced row:
              epsilon as it is. Two slips of the package are avoided by rows of length 1 at most,
              with a constant column of ours: its own intercept is left out of the ridge that the
              proof needs, and its curvature has the length of a row where the proof has the square
naive Bayes   a row that is replaced may leave one class and join another: half of epsilon
forest        disjoint leaves, permute-and-flip on their counts; the row leaves one leaf and joins
              another: half of epsilon
linear        Laplace noise on each product of columns, for a replaced row: epsilon as it is. The
              noise on squares of columns counts their lower bounds alone (issue 105 of its tracker,
              open), and the means for its intercept are paid by nobody (issue 104). Both are
              avoided: columns and target lie in [-1, 1], and a constant column is ours

Numbers are scaled by the declared bounds, which needs no public rows, and for logistic regression
on the public rows too; naive Bayes and forests are better on categories as numbers than on a column
for each. Linear regression has no penalty, so it is also given few principal components of the
public rows: on all columns its noisy products are often indefinite. The settings compared are
judged on the test rows.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from encoding import codes, encoder, symmetric_encoder
from numpy.typing import NDArray
from sets import Split

PYTHON = "DIFFPRIVLIB_PYTHON"
WORKER = Path(__file__).with_name("diffprivlib_worker.py")


class Setting(NamedTuple):
    """A model of diffprivlib.models, its parameter that is compared, and its columns."""

    model: str
    value: float
    columns: str = "bounds"


@cache
def _worker() -> subprocess.Popen[bytes]:
    """What fits models, in the other environment; it ends with this process."""
    command = [os.environ.get(PYTHON, sys.executable), str(WORKER)]
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env=alone, **pipes)


def ask(**given: Any) -> Any:
    """Send the worker what to do, and return its answer; anything it raises is raised here."""
    worker = _worker()
    assert worker.stdin is not None
    assert worker.stdout is not None
    pickle.dump(given, worker.stdin, protocol=4)
    worker.stdin.flush()
    answer = pickle.load(worker.stdout)
    if isinstance(answer, str):
        raise RuntimeError(f"diffprivlib failed: {answer}")
    return answer


def missing() -> dict[str, str]:
    """Return the package, if no interpreter can import it."""
    try:
        ask(ping=True)
    except (EOFError, BrokenPipeError, OSError):
        return {"diffprivlib": f"diffprivlib (see {PYTHON})"}
    return {}


def diffprivlib_model(
    setting: Setting, rows: Split, epsilon: float, seed: int
) -> NDArray[np.float64]:
    """Return the probability of class 1 on the test rows."""
    logistic = setting.model == "LogisticRegression"
    encode = encoder(setting.columns, rows.X_pool) if logistic else codes
    return np.asarray(
        ask(
            model=setting.model,
            value=setting.value,
            epsilon=epsilon if logistic else epsilon / 2,
            X=encode(rows.X_private),
            y=rows.y_private,
            X_test=encode(rows.X_test),
            seed=seed,
        )
    )


def diffprivlib_number(
    columns: str, rows: Split, target_bounds: tuple[float, float], epsilon: float, seed: int
) -> NDArray[np.float64]:
    """Return the number of each test row that linear regression predicts."""
    encode = symmetric_encoder(columns, rows.X_pool)
    low, high = target_bounds
    found = ask(
        model="LinearRegression",
        value=0.0,
        epsilon=epsilon,
        X=encode(rows.X_private),
        y=(2 * rows.y_private - low - high) / (high - low),
        X_test=encode(rows.X_test),
        seed=seed,
    )
    return (np.asarray(found) * (high - low) + low + high) / 2
