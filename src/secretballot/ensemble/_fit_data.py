"""What a fit works on: private rows or parties, their classes, and the public rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import validate_data

from secretballot._errors import warn
from secretballot._owners import check_owners, listed
from secretballot._row_order import check_row_order
from secretballot._sklearn_compat import _num_samples, drop_callbacks
from secretballot.ensemble._labels import encode
from secretballot.ensemble._mechanism_choice import chosen_n_teachers
from secretballot.ensemble._partition import (
    PrivateRows,
    Shards,
    partition_rows,
)
from secretballot.ensemble._parts import check_parties, shared_attribute
from secretballot.ensemble._public_data import declared_private, public_rows
from secretballot.ensemble._randomness import Randomness
from secretballot.ensemble._read_target import check_targets, target_of_data, target_of_parties
from secretballot.ensemble._rows import (
    as_rows,
    check_names,
    check_pool,
    check_values,
    types_learned,
    warn_categories_left_out,
)
from secretballot.ensemble._target import Target
from secretballot.ensemble.individual import Levels, Plan, check_levels
from secretballot.schema import RowSchema


@dataclass(frozen=True)
class FitData:
    """Checked input of one fit; lives as long as the fit."""

    target: Target
    classes_learned: bool
    plan: Plan
    X_public: Any
    X: Any = None
    y: Any = None
    owners: Any = None
    levels: Levels | None = None
    types_learned: list[str] = field(default_factory=list)
    schema: RowSchema | None = None
    misfits: Mapping[Any, NDArray[np.bool_]] = field(default_factory=dict)
    parties: list[Any] | None = None
    public_may_be_private: bool = False

    @property
    def split_by(self) -> str:
        """What goes to one teacher undivided: a "row", all of an "owner", or a "party"."""
        if self.parties is not None:
            return "party"
        return "row" if self.owners is None else "owner"

    @property
    def n_people(self) -> int | None:
        """How many rows, or owners, are private; None where parties don't tell."""
        if self.parties is not None:
            return None
        return _n_people(self.X, self.owners)

    def shards(self, randomness: Randomness) -> Shards:
        """Positions of the rows of each teacher."""
        return self.plan.assign(PrivateRows(_num_samples(self.X), self.owners), randomness)


def prepared_data(
    ensemble: Any, X: Any, y: Any, X_public: Any, owners: Any, budgets: Any
) -> FitData:
    """Check private data to be split among teachers."""
    if X is None or y is None:
        raise ValueError(
            f"{type(ensemble).__name__} requires y to be passed, but the target y is None."
            if y is None
            else "X is None; give the private rows."
        )
    for name, values in (("y", y), ("owners", owners), ("budgets", budgets)):
        check_row_order(name, values, X)
    X = as_rows(X, "X")
    y = check_targets(y)
    check_consistent_length(X, y)
    pool, schema = _pool(ensemble, X_public, X)
    learned_types = types_learned(X) if schema is None or not schema.container else []
    misfits: Mapping[Any, NDArray[np.bool_]] = {}
    if schema is None:
        check_values(X, [ensemble.estimator], "X")
    else:
        X, misfits = schema.read(X)
    if _num_samples(X) < (ensemble.n_teachers or 1):
        # Also where owners split the rows: there are no more owners than rows.
        partition_rows(_num_samples(X), ensemble.n_teachers, np.random.SeedSequence(0))
    validate_data(ensemble, X, reset=True, skip_check_array=True)
    target, learned = target_of_data(y, ensemble.classes)
    if not target.multilabel:
        # Of the type of the classes: one label of another type would change that of all teachers'.
        y = target.classes[encode(y, target.classes, "y")]
    if owners is not None:
        check_owners(owners, _num_samples(X))
    n_people = _n_people(X, owners)
    n_teachers, levels = chosen_n_teachers(ensemble, n_people, pool, target), None
    if budgets is not None:
        levels = check_levels(budgets, _num_samples(X), owners, ensemble.accountant)
    if ensemble.individualization is None:
        plan = Plan(n_teachers)
    elif levels is None:
        raise ValueError(
            f"individualization={ensemble.individualization!r} needs budgets: pass fit(..., "
            "budgets=) the level of each row, one of the accountant's."
        )
    else:
        plan = ensemble.individualization.plan(levels, n_teachers)
    return FitData(
        target=target,
        classes_learned=learned,
        types_learned=learned_types,
        schema=schema,
        misfits=misfits,
        plan=plan,
        X_public=pool,
        X=X,
        y=y,
        owners=owners,
        levels=levels,
        public_may_be_private=declared_private(X_public),
    )


def prepared_parties(
    ensemble: Any, X: Any, y: Any, X_public: Any, owners: Any, budgets: Any
) -> FitData:
    """Check parties that are fitted already."""
    for name, value in (("X", X), ("y", y), ("owners", owners), ("budgets", budgets)):
        if value is not None:
            raise ValueError(
                f"{name} was given, but estimator is a list of parties that are fitted already; "
                "call fit(None, None, X_public=...)."
            )
    if ensemble.individualization is not None:
        raise ValueError(
            f"individualization={ensemble.individualization!r} decides which rows a teacher is "
            "trained on, but estimator is a list of parties that are fitted already; leave it out."
        )
    parties = check_parties(ensemble.estimator)
    for attribute in ("n_features_in_", "feature_names_in_"):
        value = shared_attribute(parties, attribute)
        if value is not None:
            setattr(ensemble, attribute, value)
    target, learned = target_of_parties(parties, ensemble.classes)
    pool, schema = _pool(ensemble, X_public, None)
    if pool is not None:
        check_names(ensemble, pool, "X_public")
    return FitData(
        target=target,
        classes_learned=learned,
        plan=Plan(len(parties)),
        X_public=pool,
        schema=schema,
        parties=parties,
        public_may_be_private=declared_private(X_public),
    )


def _n_people(X: Any, owners: Any) -> int:
    return _num_samples(X) if owners is None else len(set(listed(owners)))


def _pool(ensemble: Any, X_public: Any, X: Any) -> tuple[Any, RowSchema | None]:
    """Return the public rows, and the schema through which private ones are read."""
    if X_public is None:
        return None, None
    given = as_rows(public_rows(X_public, X), "X_public")
    check_pool(ensemble, given, "X_public")
    schema = RowSchema.of(given, ensemble.categories)
    warn_categories_left_out(schema.left_out)
    return schema.read(given, "X_public").table, schema


def training_template(estimator: Any) -> Any:
    """Clone that teachers are cloned from. Callbacks stay behind: they would see shards."""
    template = clone(estimator)
    dropped = drop_callbacks(template)
    if dropped:
        warn(
            f"callbacks set on estimator are dropped ({', '.join(sorted(set(dropped)))}): they "
            "would be shown private rows. Set them on the PrivateTeacherEnsemble instead, which "
            "tells them counts only."
        )
    return template
