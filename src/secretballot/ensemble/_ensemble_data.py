"""Checked input of one fit: private rows or parties, and the public rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import GIVE_BUDGET
from secretballot._base._sklearn_compat import _num_samples
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.ensemble._estimator_types import Rows, Teacher
from secretballot.ensemble._learners import check_parties, learners_of, shared_features
from secretballot.ensemble._mechanism_choice import choose_n_teachers
from secretballot.ensemble._partition import (
    HashedRows,
    NumberedRows,
    Shards,
    check_n_teachers,
    hash_key,
    partition_rows,
)
from secretballot.ensemble._public_rows import (
    as_rows,
    check_pool,
    check_values,
    features_of,
    types_learned,
)
from secretballot.ensemble._shards import ShardReader, ShardRows
from secretballot.ensemble._target import (
    Target,
    declared_target,
    target_of_data,
    target_of_parties,
)
from secretballot.ensemble.advice import chosen_rows
from secretballot.ensemble.individual import Assignment
from secretballot.tables._exchange import Division, OwnerHashes
from secretballot.tables._frames import check_names, column_names
from secretballot.tables._labels import NO_CLASSES_OF_PARTS, check_targets
from secretballot.tables._levels import Levels, check_levels
from secretballot.tables._owners import Owners
from secretballot.tables._people import People, check_unit
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._private_rows import PrivateRows, misfit_shares
from secretballot.tables._public_data import PublicData, declared_private, public_rows
from secretballot.tables._randomness import Randomness
from secretballot.tables._row_schema import RowSchema, warn_categories_left_out
from secretballot.tables._table_checks import (
    check_file_columns,
    check_header,
    check_row_order,
    check_table_kinds,
    check_target_left_out,
    check_target_length,
    check_text_reader,
    warn_repeated_rows,
)

if TYPE_CHECKING:
    from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble


@dataclass(frozen=True, kw_only=True)
class FitFacts:
    """Public facts of a fit, on which its guarantee rests."""

    target: Target
    assignment: Assignment
    split_by: str  # unit whose rows all go to one teacher: "row", "owner" or "party"
    n_people: int | None = None  # private rows, or owners; None for parties
    classes_learned: bool = False
    types_learned: list[str] = field(default_factory=list)  # columns
    levels: Levels | None = None
    public_may_be_private: bool = False
    is_copy: bool = False  # fitted by a tool around the model

    @property
    def ledger_note(self) -> dict[str, Any]:
        note: dict[str, Any] = {
            "n_teachers": self.assignment.n_teachers,
            "split_by": self.split_by,
            "classes_learned": self.classes_learned,
        }
        if self.n_people is not None:  # public: a budget of another relation is refused
            note["n_counted"] = self.n_people
        if self.target.multilabel:
            note["n_labels"] = self.target.n_columns
        if self.types_learned:
            note["types_learned"] = self.types_learned
        if self.public_may_be_private:
            note["public_may_be_private"] = True
        if self.is_copy:
            note["copy"] = True
        if self.levels is not None:
            note.update(self.levels.ledger_note, individualization=self.assignment.ledger_note)
        return note


@dataclass(frozen=True, kw_only=True)
class EnsembleData:
    """Checked input of one fit, which is not kept after it."""

    facts: FitFacts
    features: dict[str, Any]  # `n_features_in_` and `feature_names_in_`, as far as known
    X_public: Any = None
    schema: RowSchema | None = None  # of the public rows
    rows: PrivateRows[ShardRows] | None = None  # None for parties
    parties: list[Teacher] | None = None

    @property
    def target(self) -> Target:
        """Classes, or labels, that are voted on."""
        return self.facts.target

    @property
    def is_in_parts(self) -> bool:
        return self.rows is not None and self.rows.buckets is not None

    @property
    def table(self) -> Any:
        """Private rows in memory, as they are read; None for parties, and rows in parts."""
        if self.rows is None or self.is_in_parts:
            return None
        return self.rows.load(0).table

    def misfit_shares(self) -> dict[Hashable, float]:
        """Return the share of misfits of each column of private rows."""
        if self.rows is None:
            return {}
        return misfit_shares(self.rows.count(ShardRows.misfit_counts))


class FitArguments(NamedTuple):
    """Arguments of `fit`."""

    X: Rows | PrivateParts | None
    y: Rows | None
    X_public: Rows | PublicData | None
    owners: ArrayLike | None
    budgets: ArrayLike | None


def split_rows(
    assignment: Assignment,
    randomness: Randomness,
    n_rows: int,
    ids: Owners | None,
    levels: Levels | None,
) -> Shards:
    """Return the places of the rows of each teacher, of rows in memory."""
    of_row = None if levels is None else levels.of_row
    if ids is None:
        return assignment.assign(NumberedRows(n_rows, of_row), randomness)
    rows = HashedRows(n_rows=n_rows, levels=of_row, hashes=lambda key: ids.hashes(key)[ids.of_row])
    return assignment.assign(rows, randomness)


def prepare_rows(
    ensemble: PrivateTeacherEnsemble, arguments: FitArguments, randomness: Randomness
) -> EnsembleData:
    """Check private rows that are to be split among teachers."""
    X, y, X_public, owners, budgets = arguments
    assert not isinstance(X, PrivateParts)
    if X is None or y is None:
        raise ValueError(
            f"{type(ensemble).__name__} requires y to be passed, but the target y is None."
            if y is None
            else "X is None; give the private rows."
        )
    for name, values in (("y", y), ("owners", owners), ("budgets", budgets)):
        check_row_order(name, values, X)
    table = as_rows(X, "X")
    labels = check_targets(y)
    check_target_length(labels, _num_samples(table))
    check_target_left_out(table, y)
    if owners is None:
        warn_repeated_rows(X)
    n_rows = _num_samples(table)
    pool, schema = read_pool(ensemble, X_public, table)
    learned_types = types_learned(table) if schema is None or not schema.container else []
    if schema is None:
        check_values(table, [ensemble.estimator], "X", private=True)
    if n_rows < (ensemble.n_teachers or 1):
        # Also where owners split the rows: there are no more owners than rows.
        partition_rows(n_rows, ensemble.n_teachers or 1, np.random.SeedSequence(0))
    target, classes_learned = target_of_data(labels, ensemble.classes)
    ids = None if owners is None else Owners.read(owners, n_rows)
    people = People.of_ids(ids, n_rows)
    levels = None
    if budgets is not None:
        levels = check_levels(budgets, n_rows, owners, ensemble.accountant)
    assignment = choose_assignment(ensemble, levels, people.n, pool, target)
    if owners is not None:
        check_n_teachers(assignment.n_equal, people.n, f"n_samples={n_rows}")
    shards = split_rows(assignment, randomness, n_rows, ids, levels)
    rows = PrivateRows.of_table(table, labels, people, levels, shards)
    read = rows.read(ShardReader(schema, target).read)
    features = features_of(read.load(0).table)
    facts = FitFacts(
        target=target,
        assignment=assignment,
        split_by=people.unit,
        n_people=people.n,
        classes_learned=classes_learned,
        types_learned=learned_types,
        levels=levels,
        public_may_be_private=declared_private(X_public),
    )
    return EnsembleData(
        facts=facts,
        features=features,
        X_public=pool,
        schema=None if schema is None else schema.named_like(X),
        rows=read,
    )


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
    rows = PrivateRows.of_parts(parts, names, parts.y, levels=levels, division=division, key=key)
    try:
        check_n_teachers(assignment.n_equal, rows.n_people, f"{parts.n_parts} parts")
    except ValueError:
        rows.close()
        raise
    facts = FitFacts(
        target=target,
        assignment=assignment,
        split_by="owner",
        n_people=rows.n_people,
        levels=levels,
        public_may_be_private=declared_private(X_public),
    )
    return EnsembleData(
        facts=facts,
        features=features_of(pool),
        X_public=pool,
        schema=schema,
        rows=rows.read(ShardReader(schema, target).read),
    )


def _count_owners(
    parts: PrivateParts, key: bytes, accountant: PrivacyAccountant
) -> tuple[int, Levels | None]:
    """Count the owners, and those of each level: public."""
    if parts.budgets is None and parts.n_listed is not None:
        return parts.n_listed, None
    rows = PrivateRows.of_parts(parts, [], levels=accountant, key=key)
    rows.close()
    return rows.n_people, rows.levels


def _assign(
    assignment: Assignment,
    randomness: Randomness,
    hashes: OwnerHashes,
    levels: NDArray[np.intp] | None,
) -> Shards:
    """Return the rows of each teacher, of some rows of a part."""
    n_rows = len(hashes(hash_key(randomness.partition())))
    return assignment.assign(HashedRows(n_rows=n_rows, levels=levels, hashes=hashes), randomness)


def prepare_parties(ensemble: PrivateTeacherEnsemble, arguments: FitArguments) -> EnsembleData:
    """Check parties, which are fitted already."""
    X_public = arguments.X_public
    for name, value in arguments._asdict().items():
        if name != "X_public" and value is not None:
            raise ValueError(
                f"{name} was given, but estimator is a list of parties that are fitted already; "
                "call fit(None, None, X_public=...)."
            )
    if ensemble.individualization is not None:
        raise ValueError(
            f"individualization={ensemble.individualization!r} decides which rows a teacher is "
            "trained on, but estimator is a list of parties that are fitted already; leave it out."
        )
    parties = check_parties(cast("Sequence[Teacher]", ensemble.estimator))
    features = shared_features(parties)
    target, classes_learned = target_of_parties(parties, ensemble.classes)
    pool, schema = read_pool(ensemble, X_public, None)
    if pool is not None:
        check_names([*features.get("feature_names_in_", ())], pool, "X_public")
    facts = FitFacts(
        target=target,
        assignment=Assignment(len(parties)),
        split_by="party",
        classes_learned=classes_learned,
        public_may_be_private=declared_private(X_public),
    )
    return EnsembleData(
        facts=facts, features=features, X_public=pool, schema=schema, parties=parties
    )


def choose_assignment(
    ensemble: PrivateTeacherEnsemble,
    levels: Levels | None,
    n_people: int,
    X_public: Rows | None,
    target: Target,
) -> Assignment:
    """Return the assignment; teachers whose number is chosen have enough rows at each level."""
    assignment = _make_assignment(
        ensemble, levels, choose_n_teachers(ensemble, n_people, X_public, target)
    )
    if ensemble.n_teachers is None and X_public is not None:
        least = chosen_rows(target.n_classes)
        while assignment.n_equal > 1 and assignment.rows_per_teacher(n_people) < least:
            assignment = _make_assignment(ensemble, levels, assignment.n_equal - 1)
    return assignment


def _make_assignment(
    ensemble: PrivateTeacherEnsemble, levels: Levels | None, n_teachers: int
) -> Assignment:
    if ensemble.individualization is None:
        return Assignment(n_teachers)
    if levels is None:
        raise ValueError(
            f"individualization={ensemble.individualization!r} needs budgets: pass fit(..., "
            "budgets=) the level of each row, one of the accountant's."
        )
    return ensemble.individualization.assignment(levels, n_teachers)


def read_pool(
    ensemble: PrivateTeacherEnsemble, X_public: Rows | PublicData | None, X: Rows | None
) -> tuple[Any, RowSchema | None]:
    """Return the checked public rows, and the schema through which private rows are read."""
    if X_public is None:
        check_header(X, "X")
        check_text_reader(ensemble.estimator, X, "X", "estimator")
        return None, None
    pool = as_rows(public_rows(X_public, X), "X_public")
    if X is not None:
        check_table_kinds(X, pool)
    check_pool(ensemble.estimator, pool, "X_public")
    for learner in learners_of(ensemble.estimator):
        check_text_reader(learner, pool, "X_public", "estimator")
    names = column_names(pool)
    for name in ensemble.categories or ():
        if names is not None and name not in names:
            raise ValueError(
                f"categories names the column {name!r}, which X_public does not have; name one of "
                f"{names[:5]!r}."
            )
    check_file_columns(pool)
    schema = RowSchema.of(pool, ensemble.categories).with_cells(pool, ensemble.categories)
    warn_categories_left_out(schema.left_out)
    return schema.read(pool, "X_public").table, schema
