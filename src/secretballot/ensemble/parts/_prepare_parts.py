"""Checked input of an ensemble's fit on private rows in parts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import GIVE_BUDGET
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.ensemble._ensemble_data import (
    EnsembleData,
    FitArguments,
    FitFacts,
    choose_assignment,
    read_pool,
)
from secretballot.ensemble._partition import HashedRows, Shards, check_n_teachers, hash_key
from secretballot.ensemble._public_rows import features_of
from secretballot.ensemble._target import declared_target
from secretballot.ensemble.individual import Assignment
from secretballot.ensemble.parts._part_shards import PartShards, ShardReader
from secretballot.tables._buckets import Buckets
from secretballot.tables._exchange import Division, OwnerHashes
from secretballot.tables._frames import column_names
from secretballot.tables._labels import NO_CLASSES_OF_PARTS
from secretballot.tables._levels import Levels, level_names
from secretballot.tables._people import check_unit
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._public_data import declared_private
from secretballot.tables._randomness import Randomness

if TYPE_CHECKING:
    from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble


def prepare_parts(
    ensemble: PrivateTeacherEnsemble, arguments: FitArguments, randomness: Randomness
) -> EnsembleData:
    """Check parts and public rows, and bring the rows of each teacher together.

    Nothing is learned of the parts before a release.
    """
    parts, y, X_public, owners, budgets = arguments
    assert isinstance(parts, PrivateParts)
    parts.check_alone(y=y, owners=owners, budgets=budgets)
    if ensemble.accountant is None:
        raise ValueError(f"accountant=None: {GIVE_BUDGET}")
    check_unit(ensemble.accountant, owners=True)
    if X_public is None:
        raise ValueError(
            "X_public=None: the types and categories of rows in parts are those of public rows. "
            "Pass X_public=PublicData(rows)."
        )
    several = not isinstance(parts.y, str)
    if ensemble.classes is None and not several:
        raise ValueError(NO_CLASSES_OF_PARTS)
    if ensemble.individualization is not None and parts.budgets is None:
        raise ValueError(
            f"individualization={ensemble.individualization!r} needs levels: give "
            "PrivateParts(..., budgets=), the column of levels."
        )
    target = declared_target(ensemble.classes, len(parts.y) if several else None)
    pool, schema = read_pool(ensemble, X_public, None)
    names = parts.check_columns(column_names(pool))
    assert schema is not None
    key = hash_key(randomness.partition())
    n_owners, levels = 0, None
    if ensemble.n_teachers is None or parts.budgets is not None:
        # The assignment needs the numbers of owners, and rows are exchanged by the assignment.
        n_owners, levels = _count_owners(parts, key, ensemble.accountant)
        check_n_teachers(ensemble.n_teachers or 1, n_owners, f"{parts.n_parts} parts")
    assignment = choose_assignment(ensemble, levels, n_owners, pool, target)
    division = Division(assignment.n_teachers, partial(_assign, assignment, randomness))
    columns = [*names, *parts.targets]
    buckets = Buckets.of(parts, columns, key, division, () if levels is None else levels.names)
    try:
        check_n_teachers(assignment.n_equal, buckets.n_owners, f"{parts.n_parts} parts")
    except ValueError:
        buckets.delete()
        raise
    facts = FitFacts(
        target=target,
        assignment=assignment,
        split_by="owner",
        n_people=buckets.n_owners,
        levels=levels,
        public_may_be_private=declared_private(X_public),
    )
    reader = ShardReader(schema, names, parts.y, target, buckets.n_owners)
    return EnsembleData(
        facts=facts,
        features=features_of(pool),
        X_public=pool,
        schema=schema,
        parts=PartShards(buckets, reader),
    )


def _count_owners(
    parts: PrivateParts, key: bytes, accountant: PrivacyAccountant
) -> tuple[int, Levels | None]:
    """Count the owners, and those of each level: public."""
    names = () if parts.budgets is None else level_names(accountant)
    if not names and parts.n_listed is not None:
        return parts.n_listed, None
    buckets = Buckets.of(parts, [], key, levels=names)
    try:
        if not names:
            return buckets.n_owners, None
        people = buckets.count_levels()
    finally:
        buckets.delete()
    return buckets.n_owners, Levels.of_people(people, accountant, np.empty(0, dtype=np.intp))


def _assign(
    assignment: Assignment,
    randomness: Randomness,
    hashes: OwnerHashes,
    levels: NDArray[np.intp] | None,
) -> Shards:
    """Return the rows of each teacher, of some rows of a part."""
    n_rows = len(hashes(hash_key(randomness.partition())))
    return assignment.assign(HashedRows(n_rows=n_rows, levels=levels, hashes=hashes), randomness)
