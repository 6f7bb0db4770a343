"""The table of what is claimed and what audits find."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.checks._ensemble_checks import audit_ensemble
from tests.checks._ensembles import ENSEMBLES
from tests.checks._registry import EXAMPLES

from secretballot._base._progress import tracked
from secretballot._base._view import mechanism_text
from secretballot.testing import Audit, MechanismExample, Neighbours
from secretballot.testing._mechanism_checks import (
    AUDIT_DELTA,
    audit_example,
    example_neighbours,
    own_delta,
)
from secretballot.testing._outcome_laws import compose_rows, exact_epsilon, outcome_law

_COMPOSED = 5
_HEAD = (
    ("what is released", "neighbours", "claim", "audited lower bound", "exact", "bound / claim"),
    ("---", "---", "--:", "--:", "--:", "--:"),
)

_PREFACE = """# What the audits found

Written by `make audit`; don't edit. Epsilon at delta = {delta:g}, {n_draws:,} draws on each data
set, on the pair of neighbours that tells most. The claim is the most that is charged. The lower
bound of a line holds with probability 0.999 at least. The exact figure is that pair's own, where
outcomes can be enumerated.
"""


def audit_table(n_draws: int = 1_000_000, *, random_state: int = 0) -> str:
    """Audit every registered mechanism, and the ensemble end to end, and tabulate what was found.

    Parameters
    ----------
    n_draws : int, default=1_000_000
        Draws on each data set.
    random_state : int, default=0
        Seed of the mechanisms' draws. The ensemble's noise is not seeded.

    Returns
    -------
    str
        A page in Markdown.

    Raises
    ------
    AssertionError
        If an audit refutes a claim.
    """
    # Each mechanism alone and asked several times, as far as it can be.
    n_audits = 2 * len(EXAMPLES) + 2 * len(ENSEMBLES)
    audits = tracked(_audits(n_draws, random_state), "audits", n_audits)
    rows = [_row(*each) for each in audits]
    table = "\n".join(f"| {' | '.join(row)} |" for row in (*_HEAD, *rows))
    return f"{_PREFACE.format(delta=AUDIT_DELTA, n_draws=n_draws)}\n{table}\n"


def _audits(n_draws: int, random_state: int) -> Iterator[tuple[str, Audit]]:
    for example in EXAMPLES.values():
        audit = audit_example(example, n_draws=n_draws, random_state=random_state)
        yield _described(example), audit
        tied = _composed_example(example)
        if tied is not None:
            audit = audit_example(tied, n_draws=n_draws, random_state=random_state)
            yield f"{_COMPOSED} queries, each {_described(example)}", audit
    for name, make in ENSEMBLES.items():
        for unit in ("row", "owner"):
            found = audit_ensemble(make, owners=unit == "owner", n_draws=n_draws)
            yield f"a label of `PrivateTeacherEnsemble` ({name}), one {unit} replaced", found


def _composed_example(example: MechanismExample) -> MechanismExample | None:
    """Return the example with the pair that tells most when it is asked several times."""
    if example.mechanism.rows == "parallel" or own_delta(example):
        return None
    best: tuple[float, Neighbours | None] = (-1.0, None)
    for pair in example_neighbours(example):
        many = [np.concatenate([data] * _COMPOSED) for data in pair[:2]]
        laws = [outcome_law(example.mechanism, data) for data in many]
        joint = [None if law is None else compose_rows(law.log_probabilities) for law in laws]
        if joint[0] is None or joint[1] is None:
            return None
        exact = exact_epsilon(joint[0], joint[1], AUDIT_DELTA)
        if exact > best[0]:
            best = exact, Neighbours(*many, pair.group)
    assert best[1] is not None, "the example has no neighbours"
    return MechanismExample(
        mechanism=example.mechanism, counts=example.counts, neighbours=(best[1],)
    )


def _described(example: MechanismExample) -> str:
    told = dict(example.mechanism.describe())
    name = told.pop("mechanism")
    shown = {
        key: value
        for key, value in told.items()
        if value is not None and key != "resolution" and value != _default(example, key)
    }
    return f"`{mechanism_text({'mechanism': name, **shown})}`"


def _default(example: MechanismExample, name: str) -> Any:
    field = type(example.mechanism).__dataclass_fields__.get(name)
    return None if field is None else field.default


def _row(what: str, audit: Audit) -> tuple[str, ...]:
    audit.check()
    pair = audit.tightest
    exact = "" if pair.exact is None else f"{pair.exact:.3f}"
    numbers = (f"{pair.claim:.3f}", f"{pair.lower_bound:.3f}", exact, f"{pair.share:.2f}")
    return (what, _told(pair.neighbours), *numbers)


def _told(pair: Neighbours) -> str:
    if isinstance(pair.data, tuple):
        return "two fits"
    rows = [data[0]["count"] if data.dtype.names else data[0] for data in pair[:2]]
    first = [", ".join(f"{value:g}" for value in row) for row in rows]
    return f"({first[0]}) and ({first[1]})"
