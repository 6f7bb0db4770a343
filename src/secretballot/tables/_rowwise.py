"""Private rows through a user's function, in calls of one public shape, on a copy of the model.

The rounding of a product of matrices depends on the number of rows and on a row's place. So each
call has the same public number of rows, filled up with a public row, and where a call fails, half
of its private rows are replaced by that row, in place.
"""

from __future__ import annotations

import gc
import hashlib
import pickle
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from enum import Enum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse, vstack

from secretballot._base._errors import warn
from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.tables._frames import container_kind
from secretballot.tables._row_independence import copy_rows
from secretballot.tables._undisturbed import undisturbed

#: Rows that are stacked at a time: a multiple of the rows of a call.
_STACKED_ROWS = 2**16
_TIMED_CALLS = 3
#: Types of objects in which no copied object is.
_WITHOUT_PARTS = (type, ModuleType, FunctionType, BuiltinFunctionType, str, bytes, int, float)


class RowAnswers(NamedTuple):
    """Answers for rows."""

    values: NDArray[Any]  # the public row's answer where there is none
    failed: NDArray[np.bool_]  # True where the function fails; private, if the rows are


@dataclass(frozen=True)
class RowCalls:
    """Calls of a fitted model's method, in which no row's answer depends on other rows."""

    model: Any  # never called with private rows: copies of it are, and they are dropped
    method: str  # a function from rows to as many answers
    pad: Any  # a public row, as the schema reads it
    rows_per_call: int  # 1, 8 or 256
    fresh_copies: bool  # True if each call has a copy of its own, because calls change the model
    answer: NDArray[Any]  # for the public row, shape (1, ...); all answers have its type and shape
    fault: str = ""  # step of the model that keeps calls from having more rows

    def __call__(self, rows: ArrayLike) -> RowAnswers:
        with undisturbed():
            if self.fresh_copies:
                copies = private_copies(self.model, self.method, fresh=True)
                return self._answers(rows, lambda table, _: call(copies(), self.method, table))
            copied = private_copies(self.model, self.method, fresh=False)()
            before = state_digest(copied)
            answers = self._answers(rows, lambda table, _: call(copied, self.method, table))
            if state_digest(copied) == before:
                return answers
            return self._answers(rows, self._call_unchanged)  # a private row changed the copy

    def _call_unchanged(self, rows: Any, n_real: int) -> NDArray[Any]:
        """Call a fresh copy, and fail if one of several private rows changes it."""
        copied = copy_of(self.model, self.method)
        before = state_digest(copied)
        answers = call(copied, self.method, rows)
        if n_real > 1 and state_digest(copied) != before:
            raise ValueError("a private row changes the model")
        return answers

    def _answers(self, rows: ArrayLike, ask: Callable[[Any, int], NDArray[Any]]) -> RowAnswers:
        """Answer rows by a function of the rows of a call and the number of private ones."""
        n_rows = _num_samples(rows)
        values, failed = np.repeat(self.answer, n_rows, axis=0), np.ones(n_rows, dtype=bool)
        for first in range(0, n_rows, _STACKED_ROWS):
            places = np.arange(first, min(first + _STACKED_ROWS, n_rows))
            table = Stack.of([_safe_indexing(rows, places), self.pad])
            answers = RowAnswers(values[first:], failed[first:])
            for start in range(0, len(places), self.rows_per_call):
                real = np.arange(start, min(start + self.rows_per_call, len(places)))
                self._answer(ask, table, real, real - start, answers)
        return RowAnswers(values, failed)

    def _answer(
        self,
        ask: Callable[[Any, int], NDArray[Any]],
        table: Stack,
        real: NDArray[np.intp],
        places: NDArray[np.intp],
        written: RowAnswers,
    ) -> None:
        """Write the answers of some rows at their places in a call, by halves where it fails."""
        indices = np.full(self.rows_per_call, table.n_rows - 1)
        indices[places] = real
        try:
            answers = ask(table.take(indices), len(real))
            if answers.dtype != self.answer.dtype or answers.shape[1:] != self.answer.shape[1:]:
                raise ValueError("answers of another type or shape than the public row's")
        except MemoryError:
            raise
        except Exception:
            if len(real) > 1:
                half = len(real) // 2
                for part in (slice(0, half), slice(half, None)):
                    self._answer(ask, table, real[part], places[part], written)
            return
        written.values[real], written.failed[real] = answers[places], False

    def warn_slow(self, n_rows: int | None = None) -> None:
        """Warn of calls with few rows, if a step of the model is at fault."""
        if not self.fault:
            return
        n_shown = 10_000 if n_rows is None else n_rows
        seconds = self._seconds_of_call() * -(-n_shown // self.rows_per_call)
        unit = "row" if self.rows_per_call == 1 else "rows"
        warn(
            f"private rows go through {type(self.model).__name__}.{self.method} "
            f"{self.rows_per_call} {unit} a call: in calls of more rows, {self.fault} makes "
            "something else of some public rows beside other rows, or at another place. This takes "
            f"about {seconds:,.2g} seconds for {n_shown:,} rows. Steps that round alike in any "
            "batch, such as trees and scaled columns, take 256 rows a call; rows_per_call=1 leaves "
            "out the check."
        )

    def _seconds_of_call(self) -> float:
        """Time calls with the public row. The result is not kept: it is not the same twice."""
        rows = Stack.of([self.pad]).take(np.zeros(self.rows_per_call, dtype=np.intp))
        next_copy, seconds = private_copies(self.model, self.method, fresh=self.fresh_copies), []
        with undisturbed():
            for _ in range(_TIMED_CALLS):
                start = time.perf_counter()
                call(next_copy(), self.method, rows)
                seconds.append(time.perf_counter() - start)
        return min(seconds)


def call(model: Any, method: str, rows: Any) -> NDArray[Any]:
    """Return a method's answers as an array, or raise ValueError if there is not one a row."""
    answers = as_array(getattr(model, method)(rows))
    if method == "transform" and answers.dtype == np.dtype(object):
        answers = answers.astype(np.float64)
    if answers.ndim == 0 or len(answers) != _num_samples(rows):
        raise ValueError(f"answers of the shape {answers.shape} for {_num_samples(rows)} rows")
    return answers


def as_array(answers: Any) -> NDArray[Any]:
    return np.asarray(answers.toarray() if hasattr(answers, "toarray") else answers)


def private_copies(model: Any, name: str, *, fresh: bool) -> Callable[[], Any]:
    """Return a function that returns copies of a model: a fresh one each time, or one for all.

    Refuses models that can't be copied, or share what could keep rows with their copy.
    """
    copied = copy_of(model, name)
    part = _shared_part(model, copied)
    if part is not None:
        raise _not_copied(name, f"the copy of a {type(part).__name__} in it is the same object")
    return (lambda: copy_of(model, name)) if fresh else (lambda: copied)


def copy_of(model: Any, name: str) -> Any:
    try:
        copied = deepcopy(model)
    except MemoryError:
        raise
    except Exception as error:
        raise _not_copied(name, f"{type(error).__name__}: {error}") from error
    return copied


def _not_copied(name: str, reason: str) -> ValueError:
    return ValueError(
        f"{name} is to answer private rows, and the object can't be copied ({reason}). "
        "Private rows are given to a copy that is dropped: an object that keeps rows would be "
        "published with them. Give one that copy.deepcopy copies."
    )


def _shared_part(model: Any, copied: Any) -> Any:
    """Return an object that could keep rows and is in a model and its copy; None if none is.

    That are objects that say themselves how they are copied, and targets of weak references.
    """
    parts = _parts(model)
    for part in _parts(copied).values():
        target = part() if isinstance(part, weakref.ref) else part
        if id(target) not in parts or not hasattr(target, "__dict__"):
            continue
        is_own = isinstance(target, Enum) or type(target).__module__.startswith("secretballot.")
        if not is_own and (target is not part or hasattr(type(target), "__deepcopy__")):
            return target
    return None


def _parts(model: Any) -> dict[int, Any]:
    """Return all objects within one by their id, but for functions, classes and modules."""
    parts: dict[int, Any] = {}
    to_do = [model]
    while to_do:
        part = to_do.pop()
        if id(part) in parts or isinstance(part, _WITHOUT_PARTS):
            continue
        parts[id(part)] = part
        if isinstance(part, np.ndarray):
            to_do.extend(part.ravel().tolist() if part.dtype == np.dtype(object) else ())
        else:
            to_do.extend(gc.get_referents(part))
    return parts


def state_digest(model: Any) -> bytes | None:
    digest = _Digest()
    try:
        pickle.Pickler(digest, protocol=5).dump(model)
    except MemoryError:
        raise
    except Exception:
        return None
    return digest.sha.digest()


class _Digest:
    def __init__(self) -> None:
        self.sha = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.sha.update(data)
        return memoryview(data).nbytes


class Stack:
    """Tables of one schema, stacked, from which the rows of a call are taken.

    Rows are sparse if the last table, a public one, is. The last row stands twice, so that no stack
    is a single row, whose layout could differ.
    """

    def __init__(self, n_rows: int, take: Callable[[NDArray[np.intp]], Any]) -> None:
        self.n_rows = n_rows
        self._take = take

    @classmethod
    def of(cls, tables: Sequence[Any]) -> Stack:
        tables = [*tables, _safe_indexing(tables[-1], np.array([_num_samples(tables[-1]) - 1]))]
        n_rows, kind = sum(map(_num_samples, tables)), container_kind(tables[0])
        if kind == "pandas":
            return cls(n_rows, _take_frame(tables))
        if kind == "polars":
            frame = sys.modules["polars"].concat(tables, rechunk=True)
            return cls(n_rows, lambda indices: copy_rows(frame[indices]))
        if any(map(issparse, tables)):
            matrix = vstack([csr_array(table) for table in tables], format="csr")
            if not issparse(tables[-1]):
                return cls(n_rows, lambda indices: matrix[indices].toarray())
            matrix = type(tables[-1].tocsr())(matrix)  # csr_matrix and csr_array differ in products
            return cls(n_rows, lambda indices: _canonical(matrix[indices]))
        if isinstance(tables[0], np.ndarray):
            array = np.concatenate(tables)
            if array.dtype == np.dtype(object):
                return cls(n_rows, lambda indices: copy_rows(np.take(array, indices, axis=0)))
            return cls(n_rows, lambda indices: np.take(array, indices, axis=0))
        if isinstance(tables[0], list | tuple):
            cells = [cell for table in tables for cell in table]
            return cls(n_rows, lambda indices: deepcopy([cells[index] for index in indices]))
        raise ValueError(
            f"private rows are of type {type(tables[0]).__name__}, which can't be put into calls "
            "of a fixed number of rows. Give a data frame, an array, a sparse matrix or a list."
        )

    def take(self, indices: NDArray[np.intp]) -> Any:
        """Return copies of some rows, always in the same layout."""
        return self._take(indices)


def _canonical(matrix: Any) -> Any:
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _take_frame(tables: Sequence[Any]) -> Callable[[NDArray[np.intp]], Any]:
    """Return a function that takes rows column by column, labelled 0, 1, 2 and so on."""
    pandas = sys.modules["pandas"]
    frame = pandas.concat(tables, ignore_index=True)
    columns = [frame.iloc[:, index].array for index in range(frame.shape[1])]

    def take(indices: NDArray[np.intp]) -> Any:
        taken = pandas.DataFrame(
            {index: column.take(indices) for index, column in enumerate(columns)},
            index=pandas.RangeIndex(len(indices)),
        )
        taken.columns = frame.columns
        return copy_rows(taken)

    return take
