"""Checked input of an ensemble's fit on private rows in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secretballot._errors import GIVE_BUDGET
from secretballot.distributed import Buckets, PrivateParts
from secretballot.ensemble._ensemble_data import EnsembleData, FitArguments, FitFacts, read_pool
from secretballot.ensemble._partition import check_n_teachers, hash_key
from secretballot.ensemble._public_data import declared_private
from secretballot.ensemble._public_rows import features_of
from secretballot.ensemble._randomness import Randomness
from secretballot.ensemble._read_target import declared_target
from secretballot.ensemble.individual import Plan
from secretballot.ensemble.parts._part_shards import PartShards, ShardReader
from secretballot.schema import column_names
from secretballot.scoring import check_unit

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
        raise ValueError(
            "classes=None: the classes of rows in parts are not read from them. Pass "
            "classes=[0, 1], or as they are in the column of y."
        )
    if ensemble.n_teachers is None:
        raise ValueError(
            "n_teachers=None: rows in parts are exchanged by teacher, before their owners are "
            "counted. Give a number; recommend_teachers chooses one for a number of owners."
        )
    if ensemble.individualization is not None:
        raise ValueError(
            "individualization= needs levels (budgets=), which rows in parts have not; leave it "
            "out."
        )
    target = declared_target(ensemble.classes, len(parts.y) if several else None)
    pool, schema = read_pool(ensemble, X_public, None)
    names = parts.check_columns(column_names(pool))
    assert schema is not None
    n_teachers = int(ensemble.n_teachers)
    buckets = Buckets.of(parts, names, hash_key(randomness.partition()), n_teachers)
    try:
        check_n_teachers(n_teachers, buckets.n_owners, f"{parts.n_parts} parts")
    except ValueError:
        buckets.delete()
        raise
    facts = FitFacts(
        target=target,
        plan=Plan(n_teachers),
        split_by="owner",
        n_people=buckets.n_owners,
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
