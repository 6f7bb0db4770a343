"""Store of a ledger in a SQLite file, with its mark beside it."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from secretballot._base._errors import LedgerError
from secretballot.ledger.stores._mark_file import HeldMark
from secretballot.ledger.stores._slots import Mark, Slots
from secretballot.ledger.stores._store import Rows, Written, meaning
from secretballot.ledger.stores.file._file import readable, real_path, transact
from secretballot.ledger.stores.file._foreign import check_not_foreign
from secretballot.ledger.stores.file._mark import holding, mark_path, read_slots
from secretballot.ledger.stores.file._new_files import check_name, create_files, delete_files
from secretballot.ledger.stores.file._place import (
    check_file_system,
    check_spendable,
    files_at,
    place_of,
)
from secretballot.ledger.stores.file._schema import (
    SCHEMA,
    check_schema,
    execute_all,
    insert_row,
    mark_as_ledger,
)
from secretballot.ledger.stores.file._temporary import TemporaryFile, temporary_file

T = TypeVar("T")


class FileRows:
    """Rows of a ledger file in an open transaction."""

    def __init__(self, path: str, opened: sqlite3.Connection) -> None:
        self._path, self._opened = path, opened

    def fetch(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a query and return all its rows."""
        return self._opened.execute(_plain_sql(query), parameters).fetchall()

    def insert(self, table: str, values: tuple[object, ...]) -> None:
        """Insert one row."""
        insert_row(self._opened, table, values)

    def check_format(self) -> None:
        """Refuse a file of another program or format, or with foreign SQL."""
        check_schema(self._opened, self._path)

    def check_spendable(self) -> None:
        """Refuse a place where two machines could spend at once, or a crash could lose a spend."""
        check_spendable(self._path)

    def place(self) -> str:
        """Return the identity of the file."""
        return place_of(self._path)

    def originals(self, recorded: str) -> list[str]:
        """Return the paths of other files that lie at a recorded place."""
        return files_at(recorded, self._path)


class FileStore:
    """Ledger in a file, which is locked by the mark beside it."""

    without_mark = "The mark that belongs beside this ledger is missing or damaged"

    def __init__(self, path: str, is_temporary: bool = False) -> None:
        self.name = path
        # Held for its lifetime: in the process that made it, the file goes with its last handle.
        self._temporary = temporary_file(path)
        self.is_temporary = is_temporary or self._temporary is not None

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> FileStore:
        """Return the store in a named file; TypeError or ValueError if that is no name."""
        return cls(real_path(path))

    @classmethod
    def temporary(cls) -> FileStore:
        """Make a private file, deleted with this process's last handle."""
        file = TemporaryFile()  # the local name keeps it alive until the store does
        return cls(file.path)

    def create(self, fill: Callable[[Rows], Mark]) -> None:
        """Write a new ledger to a new file, or to an empty temporary one."""
        if self._temporary is not None:
            self._fill(fill)
            return
        check_name(self.name)
        create_files(self.name)
        try:
            self._fill(fill)
        except BaseException:
            delete_files(self.name)
            raise

    def _fill(self, fill: Callable[[Rows], Mark]) -> None:
        def write(opened: sqlite3.Connection) -> Mark:
            execute_all(opened, SCHEMA)
            mark = fill(FileRows(self.name, opened))
            mark_as_ledger(opened)
            return mark

        def write_held(held: HeldMark) -> None:
            held.advance(self._commit(write), everywhere=True)

        with meaning(self):
            check_file_system(self.name, os.stat(self.name).st_dev)
        holding(self.name, write_held)

    def read(self, query: Callable[[Rows], T]) -> T:
        """Run a query in a short transaction, so that writers wait for milliseconds.

        An error is checked again under the lock of the mark: SQLite's locks of a writer may have
        been lost, or a killed writer's transaction has to be rolled back.
        """
        path = self.name

        def run_query(opened: sqlite3.Connection) -> T:
            return query(FileRows(path, opened))

        check_not_foreign(path)
        try:
            return transact(path, run_query, to="read")
        except LedgerError as error:
            if not any(map(os.path.exists, (mark_path(path), f"{path}-journal"))):
                raise  # there is no writer
            message = str(error)
        is_held = False

        def again(held: HeldMark) -> T:
            nonlocal is_held
            is_held = True
            return transact(path, run_query, to="recover")

        try:
            return holding(path, again)
        except LedgerError:
            if is_held:
                raise
            raise LedgerError(message) from None

    def write(self, act: Callable[[Rows, Mark | None], Written[T]]) -> Written[T]:
        """Run a function with the lock of the mark, and the mark; then commit and advance it."""

        def write_held(held: HeldMark) -> Written[T]:
            written = self._commit(lambda opened: act(FileRows(self.name, opened), held.mark))
            held.advance(written.mark, everywhere=written.is_moved)
            return written

        check_not_foreign(self.name)
        return holding(self.name, write_held)

    def _commit(self, act: Callable[[sqlite3.Connection], T]) -> T:
        # A temporary file is gone after a power failure, so that nobody could read what it lost.
        return transact(self.name, act, to="write", is_durable=not self.is_temporary)

    def slots(self) -> Slots:
        """Read the mark without its lock."""
        return read_slots(self.name)

    def mark_path(self) -> str:
        """Return the path of the mark."""
        return mark_path(self.name)

    def readable(self, error: Exception) -> LedgerError:
        """Convert an error of the file to one that names a remedy."""
        return readable(error, self.name)


@lru_cache(maxsize=256)
def _plain_sql(query: str) -> str:
    """Replace tables in braces by their names."""
    return re.sub(r"\{(\w+)[^}]*\}", r"\1", query)
