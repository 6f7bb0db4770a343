"""Private rows in parts: Parquet files, or a frame of Dask or Spark."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Hashable, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from secretballot._base._errors import NOT_FOR_PUBLICATION
from secretballot._base._files import PrivateFolder
from secretballot._base._numbers import check_integer
from secretballot.tables._engine import Engine, as_engine
from secretballot.tables._owners import Owners
from secretballot.tables._part_files import list_files, shared_types

if TYPE_CHECKING:
    import pandas as pd


class PrivateParts:
    """Private rows in parts that no machine holds together. They are given where `X` is given.

    The parts are Parquet files, which the workers of an engine read. All rows of an owner are
    brought together by files in a scratch folder before anything is counted, so owners are what is
    protected: the accountant's unit is ``"owner"``. For rows as units give a column of row ids,
    which must not be derived from the rows' contents.

    Parameters
    ----------
    paths : list of str or Path
        Parquet files, one a part, or one folder of them: without its subfolders, and without files
        whose names begin with a dot or an underscore.
    y : str or list of str
        Column of the classes or numbers to learn, or the columns of several labels. ``[]`` for
        quantiles alone.
    owners : str, default=None
        Column of owner ids: texts or whole numbers. None is for proportions alone.
    groups : str, default=None
        Column of the public groups whose proportions are published.
    budgets : str, default=None
        Column of the owners' levels, texts: for fits whose accountant has several.
    owner_ids : array-like of shape (n_owners,), default=None
        Public list of all owners, which was not taken from these rows. An owner without rows counts
        too, and rows of others are left out. None: the ids that are present are public, so that
        somebody has rows here is not protected.
    engine : distributed.Client, SparkSession, Engine or None, default=None
        Where tasks are run. None: processes of this machine, by joblib.
    scratch : str or Path, default=None
        Folder in which rows are exchanged, readable by all workers. None: the system's folder of
        temporary files, which workers on other machines don't see.
    n_buckets : int, default=None
        Number of buckets into which rows are exchanged, each of which fits into a worker's memory.
        None: one for 250,000 rows.

    See Also
    --------
    PrivateParts.from_dask, PrivateParts.from_spark : Frames instead of files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> import pandas as pd
    >>> from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
    >>> from secretballot.tables import PrivateParts
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.DataFrame({"x": rng.normal(size=9000), "person": np.arange(9000) // 3})
    >>> rows["y"] = (rows["x"] + rng.normal(size=9000) > 0).astype(int)
    >>> pool = PublicData(pd.DataFrame({"x": rng.normal(size=300)}))
    >>> accountant = PrivacyAccountant(epsilon=1.0, delta=1e-5, unit="owner")
    >>> with TemporaryDirectory() as folder:
    ...     for part, place in enumerate(np.split(np.arange(9000), 3)):
    ...         rows.iloc[place].to_parquet(Path(folder) / f"{part}.parquet")
    ...     parts = PrivateParts.from_parquet(folder, y="y", owners="person")
    ...     model = PrivateLogisticRegression(classes=[0, 1], accountant=accountant)
    ...     model = model.fit(parts, X_public=pool)
    >>> parts
    PrivateParts(3 parts, y='y', owners='person')
    >>> bool(model.predict_proba(pd.DataFrame({"x": [1.5]}))[0, 1] > 0.5)
    True
    """

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        y: str | Sequence[str],
        owners: str | None = None,
        groups: str | None = None,
        budgets: str | None = None,
        owner_ids: ArrayLike | None = None,
        engine: Any = None,
        scratch: str | Path | None = None,
        n_buckets: int | None = None,
    ) -> None:
        _check_names(y=y, owners=owners, groups=groups, budgets=budgets)
        self._paths = list_files(paths)
        self.y = y if isinstance(y, str) else list(y)
        self.groups = groups
        self.owners = owners
        self.budgets = budgets
        self._engine: Engine = as_engine(engine)
        self._scratch = _check_scratch(scratch)
        if n_buckets is not None:
            check_integer("n_buckets", n_buckets)
        self._n_buckets = n_buckets
        self._listed = None if owner_ids is None else _read_listed(owner_ids)
        self._staged: PrivateFolder | None = None
        if budgets is not None and owner_ids is not None:
            raise ValueError(
                f"budgets={budgets!r} beside owner_ids: an owner of the list without rows has no "
                "level. Leave one of them out."
            )
        needed = [name for name in (owners, groups, budgets, *self.targets) if name is not None]
        if len(set(needed)) < len(needed):
            raise ValueError(
                f"y={y!r}, owners={owners!r}, groups={groups!r}, budgets={budgets!r}: give another "
                "column for each."
            )
        self._types, self._n_rows = shared_types(self._paths, needed)

    @classmethod
    def from_parquet(cls, paths: str | Path | Sequence[str | Path], **options: Any) -> PrivateParts:
        """Return parts that are Parquet files; see the class for the options."""
        return cls(paths, **options)

    @classmethod
    def from_dask(cls, frame: Any, **options: Any) -> PrivateParts:
        """Return the partitions of a Dask data frame, which its workers write to scratch first.

        Parameters
        ----------
        frame : dask.dataframe.DataFrame
        **options
            See the class. ``engine`` is the present `distributed.Client` by default.
        """
        from distributed import default_client

        if "engine" not in options:
            options["engine"] = default_client()

        def name(number: int) -> str:
            return f"part-{number:06d}.parquet"  # names are sorted as texts

        return cls._staged_by(
            lambda path: frame.to_parquet(path, write_index=False, name_function=name), options
        )

    @classmethod
    def from_spark(cls, frame: Any, **options: Any) -> PrivateParts:
        """Return the partitions of a Spark data frame, which its executors write to scratch first.

        Parameters
        ----------
        frame : pyspark.sql.DataFrame
        **options
            See the class. ``engine`` is the frame's session by default.
        """
        options.setdefault("engine", frame.sparkSession)
        # Without a scheme a cluster takes paths for those of its own file system.
        return cls._staged_by(lambda path: frame.write.parquet(Path(path).as_uri()), options)

    @classmethod
    def _staged_by(cls, write: Any, options: dict[str, Any]) -> PrivateParts:
        folder = PrivateFolder(_check_scratch(options.get("scratch")))
        path = os.path.join(folder.path, "parts")
        try:
            try:
                write(path)
            except Exception as error:
                raise ValueError(
                    "the frame could not be computed, or written to scratch: "
                    f"{type(error).__name__} (its message may quote rows). Write it as Parquet "
                    "where messages may be read, and see PrivateParts.from_parquet."
                ) from None
            parts = cls(path, **options)
        except BaseException:
            folder.delete()
            raise
        parts._staged = folder
        return parts

    def __repr__(self) -> str:
        return f"PrivateParts({self.n_parts} parts, y={self.y!r}, owners={self.owners!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "PrivateParts can't be pickled: it has the connection of an engine. Make it where it "
            "is used."
        )

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self._paths)

    @property
    def n_listed(self) -> int | None:
        """Number of owners in `owner_ids`, each counted once."""
        return None if self._listed is None else len(self._listed.ids)

    @property
    def targets(self) -> list[str]:
        """Columns of `y`."""
        return [self.y] if isinstance(self.y, str) else self.y

    @property
    def columns(self) -> list[str]:
        """Columns of the rows, without `y` and `owners`."""
        return [name for name in self.columns_with_targets if name not in self.targets]

    @property
    def columns_with_targets(self) -> list[str]:
        """Columns of the rows, and those of `y`, in the order of the parts."""
        others = (self.owners, self.groups, self.budgets)
        return [name for name in self._types if name not in others]

    def check_alone(self, **arguments: object) -> None:
        """Refuse arguments that are columns of the parts, and parts without y to learn."""
        for name, value in arguments.items():
            if value is not None:
                remedy = "Give PrivateParts(..., budgets=), the column of levels."
                raise ValueError(
                    f"{name} was given beside PrivateParts, which have columns of y and owners. "
                    + (remedy if name == "budgets" else "Leave it out.")
                )
        if "y" in arguments and not self.targets:
            raise ValueError(
                "y=[] names no column to learn: give y, the column of the classes or numbers, to "
                "PrivateParts."
            )

    def check_columns(self, names: Sequence[Hashable] | None) -> list[str]:
        """Return the names of columns of public rows as texts; refuse columns that are no features.

        Parameters
        ----------
        names : sequence of str or None
            None: the public rows have no names.
        """
        if names is None:
            raise ValueError(
                "X_public has no names of columns, and columns of parts are found by name: give a "
                "data frame."
            )
        for name in names:
            if name in self.targets:
                raise ValueError(f"X_public has the column {name!r}, which is to be learned.")
            if name in (self.owners, self.groups, self.budgets):
                raise ValueError(
                    f"X_public has the column {name!r}, which names owners, groups or levels: "
                    "leave it out, or choose columns."
                )
            if name not in self._types:
                raise ValueError(
                    f"the parts lack the column {name!r}, which the public rows have. They have "
                    f"{self.columns[:8]!r}."
                )
        return [str(name) for name in names]

    def empty_frame(self) -> pd.DataFrame:
        """Return a data frame with the columns of the rows, and without rows."""
        import pandas as pd

        return pd.DataFrame(columns=self.columns)

    def close(self) -> None:
        """Delete what `from_dask` or `from_spark` wrote."""
        if self._staged is not None:
            self._staged.delete()


def _check_names(**columns: object) -> None:
    """Refuse columns that are given themselves, and quote none of their cells."""
    for argument, value in columns.items():
        names = list(value) if argument == "y" and isinstance(value, list | tuple) else [value]
        for name in names:
            if not isinstance(name, str) and (name is not None or argument == "y"):
                raise ValueError(
                    f"{argument} is, or holds, a {type(name).__name__}: give the name of a column "
                    f"of the parts{', or a list of names' if argument == 'y' else ''}."
                )


def _check_scratch(scratch: str | Path | None) -> str:
    path = tempfile.gettempdir() if scratch is None else os.path.abspath(scratch)
    if not os.path.isdir(path) or not os.access(path, os.W_OK | os.X_OK):
        raise ValueError(
            f"scratch={scratch!r} is no folder that can be written: make one that the client and "
            "all workers can read and write."
        )
    return path


def _read_listed(owner_ids: ArrayLike) -> Owners:
    if isinstance(owner_ids, str) or not isinstance(owner_ids, Sized) or len(owner_ids) == 0:
        raise ValueError(
            f"owner_ids is a {type(owner_ids).__name__}, and no list with entries: give a list of "
            "owner ids."
        )
    try:
        return Owners.read(owner_ids, len(owner_ids))
    except ValueError as error:
        message = str(error).replace(NOT_FOR_PUBLICATION, "").rstrip()
        raise ValueError(f"owner_ids is no list of owners' ids: {message}") from None
