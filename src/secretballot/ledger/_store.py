"""Interface of a store: the place where the rows of a ledger are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from secretballot._base._errors import LedgerError
from secretballot.ledger._mark import Mark, Slots

T = TypeVar("T")

#: Version of the tables, the digests and the mark (`docs/theory/ledger-format.md`).
FORMAT_VERSION = 1

#: In the header of a file; it tells a ledger from any other SQLite database ("SBLG").
APPLICATION_ID = 0x53424C47

#: Tables of a ledger, each after those that it refers to.
TABLES = (
    *("header", "level", "entry", "curve", "charge", "reservation", "checkpoint", "total"),
    *("child", "child_total", "private_record"),
)

#: Parts of the place of a ledger on a server: cluster, database and table.
_SERVER_PARTS = 3

#: Exceptions of values that no ledger holds.
_WRONG_VALUES = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)


class Rows(Protocol):
    """Rows of one ledger within a transaction of its store."""

    def fetch(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a query and return all its rows.

        A parameter is written ``?``. A table is written in braces, with its columns in brackets if
        not all of them may be read: ``{entry}``, ``{private_record(sequence)}``.
        """

    def insert(self, table: str, values: tuple[object, ...]) -> None:
        """Insert one row; LedgerError if the store did not write it."""

    def check_format(self) -> None:
        """Refuse a store that holds no ledger of this format."""

    def check_spendable(self) -> None:
        """Refuse a store where a spend could be lost, or be made twice."""

    def place(self) -> str:
        """Return the identity of the store, which a copy does not have (`same_place`)."""

    def originals(self, recorded: str) -> list[str]:
        """Return the paths of other files that lie at a recorded place, as far as that is known."""


class Written(NamedTuple, Generic[T]):
    """Result of a transaction that wrote."""

    answer: T
    mark: Mark  # the last entry after it
    is_moved: bool = False  # the mark of another place is replaced


class Store(Protocol):
    """Place where a ledger is kept: transactions on its rows, and its mark.

    One writer at a time has the exclusive right to write. A transaction is committed durably, or
    not at all.
    """

    #: Path or URL, without passwords.
    name: str
    #: True if the ledger goes with the process that made it.
    is_temporary: bool
    #: Explanation of a ledger that has no mark.
    without_mark: str

    def create(self, fill: Callable[[Rows], Mark]) -> None:
        """Make a new ledger, completely or not at all; LedgerError if there is one."""

    def read(self, query: Callable[[Rows], T]) -> T:
        """Run a query in a short transaction that changes nothing."""

    def write(self, act: Callable[[Rows, Mark | None], Written[T]]) -> Written[T]:
        """Run a function with the exclusive right to write, and the mark; then commit."""

    def slots(self) -> Slots:
        """Read the mark without its lock; empty slots if there is none."""

    def mark_path(self) -> str:
        """Return the path of the mark."""

    def readable(self, error: Exception) -> LedgerError:
        """Convert an error of the store to one that names a remedy."""


@contextmanager
def meaning(store: Store) -> Iterator[None]:
    """Convert errors in the contents of a store to a LedgerError that names it."""
    try:
        yield
    except LedgerError as error:
        raise LedgerError(f"The ledger {store.name!r} can't be used: {error}.") from None
    except OSError as error:
        raise store.readable(error) from error
    except _WRONG_VALUES as error:
        raise LedgerError(
            f"The ledger {store.name!r} can't be used: it holds values that secretballot never "
            f"wrote ({error}); restore it from a copy."
        ) from error


@contextmanager
def naming(sequence: int) -> Iterator[None]:
    """Convert errors in the contents of an entry to a LedgerError that names it."""
    try:
        yield
    except LedgerError as error:
        raise LedgerError(f"entry {sequence} {error}") from None
    except _WRONG_VALUES as error:
        raise LedgerError(
            f"entry {sequence} holds values that secretballot never wrote ({error}); restore it "
            "from a copy"
        ) from None


def same_place(recorded: str, current: str) -> bool:
    """Compare two places: on a server all parts, in a file system those that both of them have.

    A recorded place without a part is another one, unless nothing is known of the current one.
    """
    old_place, new_place = (place.partition(" ")[0] for place in (recorded, current))
    old_parts, new_parts = old_place.split("@"), new_place.split("@")
    if len(new_parts) == _SERVER_PARTS:
        return old_parts == new_parts
    shared = [parts for parts in zip(old_parts, new_parts, strict=False) if all(parts)]
    return all(old == new for old, new in shared) and (bool(shared) or not any(new_parts))


def check_version(version: int) -> None:
    if version == FORMAT_VERSION:
        return
    reason = (
        "which a later version of secretballot wrote, and this one reads format "
        f"{FORMAT_VERSION}; update secretballot"
        if version > FORMAT_VERSION
        else "which no version of secretballot writes; restore it from a copy"
    )
    raise LedgerError(f"it has format {version}, {reason}")
