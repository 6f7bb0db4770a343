"""Choice of the rows of a call, by a check on public rows that answers don't depend on others."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from secretballot._sklearn_compat import _num_samples, _safe_indexing
from secretballot.schema._frames import columns_of, container_kind
from secretballot.schema._row_schema import RowSchema
from secretballot.schema._rowwise import (
    RowCalls,
    Stack,
    as_array,
    call,
    private_copies,
    state_digest,
    undisturbed,
)

#: Rows of a call that are tried, the fastest first. Eight rows fit one tile of the products of
#: matrices that were measured. A call of one row needs no check.
CALL_SIZES = (256, 8)
#: Most calls of a model, its steps and its scores in a check; those that are left to the last ones.
MOST_CALLS, _LAST_CALLS = 240, 20
#: Public rows that are answered twice, one by one, and calls that are timed.
_REPEATED, _TIMED = 8, 3
#: Most arrangements of rows that are compared for one size of calls.
_MOST_ARRANGEMENTS = 20
#: Rows at the border between two answers, and halvings of the interval of a double.
_MOST_BORDERS, _BITS = 16, 53
#: Public seed: nothing private is drawn.
_SEED = 20_160_817
#: Cells that hardly any model expects.
_HUGE, _UNSEEN = 1e308, "unseen 20160817"
#: Attributes under which fitted models keep the model that answers for them.
_INNER = ("best_estimator_", "estimator_", "estimator", "model")


def choose_calls(
    model: Any,
    method: str,
    schema: RowSchema,
    rows_per_call: int | str = "auto",
    *,
    name: str | None = None,
) -> RowCalls:
    """Return the calls in which a fitted model answers private rows.

    Parameters
    ----------
    model : object
    method : str
        Name of a method from rows to as many answers.
    schema : RowSchema
        Schema of public rows, of which it has a sample.
    rows_per_call : {"auto", 256, 8, 1}
        "auto": the largest number at which every public row, and every row at the border between
        two answers, has the same answer bit for bit at all places and beside all rows. The number
        must depend on public facts alone.
    name : str, default=None
        Name of the function in errors.

    Raises
    ------
    ValueError
        If the model can't be copied, or `rows_per_call` is 8 or 256 and the check fails.
    """
    check = _Check(model, method, schema, name or f"{type(model).__name__}.{method}")
    with undisturbed():
        return check.choose(rows_per_call)


def check_rows_per_call(rows_per_call: object) -> None:
    """Raise ValueError if it is no number of rows of a call."""
    if rows_per_call not in ("auto", *CALL_SIZES, 1) or isinstance(rows_per_call, bool):
        raise ValueError(
            f"rows_per_call={rows_per_call!r} must be 'auto', 256, 8 or 1: the number of private "
            "rows that a transformer or model is given in one call."
        )


@dataclass
class _Check:
    """Check of one model. Its rows are public; calls are counted."""

    model: Any
    method: str
    schema: RowSchema
    name: str
    n_calls: int = 0
    fresh_copies: bool = False
    _seconds: list[float] = field(default_factory=list)
    _fault: str = ""

    def choose(self, rows_per_call: int | str) -> RowCalls:
        """Return the calls of the largest number of rows that passes."""
        sample = self.schema.sample
        n_sample = _num_samples(sample)
        self._rng = np.random.default_rng(_SEED)
        self._copies = private_copies(self.model, self.name, fresh=False)
        before = state_digest(self._copies())
        natural = self._call(_safe_indexing(sample, np.resize(np.arange(n_sample), CALL_SIZES[0])))
        if before is None or state_digest(self._copies()) != before:
            self.fresh_copies = True
            self._copies = private_copies(self.model, self.name, fresh=True)
        sizes = CALL_SIZES if rows_per_call == "auto" else (int(rows_per_call),)
        if sizes != (1,):
            self._find_rows(natural[: min(n_sample, len(natural))])
        chosen, fault = 1, ""
        for place, size in enumerate(sizes):
            if size == 1:
                break
            n_left = MOST_CALLS - _LAST_CALLS - self.n_calls
            found = self._fault_at(size, n_left // (len(sizes) - place))
            if not found:
                chosen = size
                break
            fault = fault or found
        if not self.fresh_copies and state_digest(self._copies()) != before:
            # Later calls changed it, so that what was compared were different functions.
            self.fresh_copies, chosen, fault = True, 1, f"a call changes {self.name}, which"
        if chosen != rows_per_call and rows_per_call != "auto":
            raise ValueError(
                f"rows_per_call={rows_per_call!r}: in calls of so many rows {fault} makes "
                "something else of some public rows beside other rows, or at another place. Leave "
                "it 'auto', or pass 1."
            )
        if chosen == 1 and not self._repeats():
            self.fresh_copies = True
            self._copies = private_copies(self.model, self.name, fresh=True)
        pad = _safe_indexing(sample, np.array([0]))
        self._seconds.clear()
        for _ in range(_TIMED):
            answer = self._call(Stack.of([pad]).take(np.zeros(chosen, dtype=np.intp)))
        return RowCalls(
            self.model,
            self.method,
            pad,
            chosen,
            self.fresh_copies,
            answer[:1],
            min(self._seconds),
            fault if chosen < CALL_SIZES[0] else "",
        )

    def _call(self, rows: Any) -> NDArray[Any]:
        self.n_calls += 1
        start = time.perf_counter()
        answers = call(self._copies(), self.method, rows)
        self._seconds.append(time.perf_counter() - start)
        return answers

    def _repeats(self) -> bool:
        """Return True if single rows have the same answers when they are asked again."""
        table = Stack.of([self.schema.sample])
        rows = np.arange(min(_REPEATED, table.n_rows))
        first, second = (
            np.concatenate([self._call(table.take(rows[[row]])) for row in order])
            for order in (rows, rows[::-1])
        )
        return first.dtype == second.dtype and bool(_same_rows(first, second[::-1]).all())

    # Rows ---------------------------------------------------------------------------------------

    def _find_rows(self, natural: NDArray[Any]) -> None:
        """Stack public rows, rows at the border of two answers, and broken rows."""
        sample = self.schema.sample
        borders = self._border_rows(natural)
        self._n_natural = _num_samples(sample)
        tables = [sample, *([] if borders is None else [borders])]
        self._n_good = sum(map(_num_samples, tables))
        raised, companions = [], []
        for broken in _broken_rows(self.schema):
            table = Stack.of([sample, broken])
            n_broken = min(_num_samples(broken), CALL_SIZES[0])
            rows = self._n_natural + np.arange(n_broken)
            if not self._raises(table, rows, CALL_SIZES[0]):
                companions.append(broken)
                continue
            while len(rows) > 1:
                half = rows[: len(rows) // 2]
                rows = half if self._raises(table, half, CALL_SIZES[0]) else rows[len(half) :]
            raised.append(_safe_indexing(broken, rows - self._n_natural))
        self._n_raised = len(raised)
        tables += [*raised, *companions]
        self._table = Stack.of([*tables, _safe_indexing(sample, np.array([0]))])
        self._n_rows = sum(map(_num_samples, tables))

    def _raises(self, table: Stack, rows: NDArray[np.intp], size: int) -> bool:
        """Return True if a call fails with these rows among public ones."""
        indices = self._rng.integers(self._n_natural, size=size)
        indices[self._rng.permutation(size)[: len(rows)]] = rows
        try:
            self._call(table.take(indices))
        except MemoryError:
            raise
        except Exception:
            return True
        return False

    def _border_rows(self, natural: NDArray[Any]) -> Any:
        """Return rows between public ones at which the answer changes; None if there are none.

        Rounding shows there, even if the answers are classes.
        """
        sample, size = self.schema.sample, CALL_SIZES[0]
        numbers = _float_columns(sample)
        if numbers is None or len(natural) < 2:
            return None
        pairs = self._rng.integers(len(natural), size=(2, 40 * _MOST_BORDERS))
        pairs = pairs[:, ~_same_rows(natural[pairs[0]], natural[pairs[1]])]
        pairs = pairs[:, : _MOST_BORDERS // 2]
        n_pairs = pairs.shape[1]
        if not n_pairs:
            return None
        n_points = size // n_pairs
        low, high = np.zeros(n_pairs), np.ones(n_pairs)
        first, last = numbers[pairs[0]].astype(float), numbers[pairs[1]].astype(float)

        def between(shares: NDArray[np.float64], rows: NDArray[np.intp]) -> Any:
            """Move numbers of the first rows towards the last ones."""
            with np.errstate(invalid="ignore", over="ignore"):
                moved = (1 - shares[:, None]) * first[rows] + shares[:, None] * last[rows]
            return _with_floats(_safe_indexing(sample, pairs[0][rows]), moved)

        rows = np.repeat(np.arange(n_pairs), n_points)
        for _ in range(int(np.ceil(_BITS / np.log2(n_points + 1)))):
            steps = np.tile(np.arange(1, n_points + 1) / (n_points + 1), n_pairs)
            shares = low[rows] + (high - low)[rows] * steps
            fill = np.resize(np.arange(len(rows)), size)
            try:
                answers = self._call(between(shares[fill], rows[fill]))[: len(rows)]
            except MemoryError:
                raise
            except Exception:
                return None
            differs = ~_same_rows(answers, natural[pairs[0]][rows]).reshape(n_pairs, n_points)
            at = np.where(differs.any(axis=1), differs.argmax(axis=1), n_points)
            table = np.column_stack([low, shares.reshape(n_pairs, n_points), high])
            low, high = (table[np.arange(n_pairs), at + end] for end in (0, 1))
        every = np.arange(n_pairs)
        return between(np.concatenate([low, high]), np.concatenate([every, every]))

    # Arrangements -------------------------------------------------------------------------------

    def _fault_at(self, size: int, most_calls: int) -> str:
        """Return the step whose answers depend on other rows, or on a row's place; "" if none."""
        for row in self._n_good + np.arange(self._n_raised):
            if not self._raises(self._table, np.array([row]), size):
                return self.name
        most_calls -= self._n_raised
        answers: dict[str, _Seen] = {}
        for number, indices in enumerate(self._arrangements(size)):
            start = self.n_calls
            try:
                outputs = dict(self._outputs(self._table.take(indices)))
            except MemoryError:
                raise
            except Exception:
                return self.name
            if number == 0:
                answers = {name: _Seen(self._n_rows + 1) for name in outputs}
            for name, seen in answers.items():
                if name in outputs and not seen.agrees(indices, outputs[name]):
                    return name
            most_calls -= self.n_calls - start
            if most_calls < self.n_calls - start:
                break
        return ""

    def _arrangements(self, size: int) -> Iterator[NDArray[np.intp]]:
        """Yield the rows of calls: among each other, one at all places, few, beside broken ones."""
        rng, pad = self._rng, self._n_rows
        borders = self._n_natural + rng.permutation(self._n_good - self._n_natural)[: size // 2]
        natural = rng.permutation(self._n_natural)[: size - len(borders)]
        pool = np.concatenate([borders, natural])
        broken = np.arange(self._n_good + self._n_raised, self._n_rows)
        yield np.resize(pool, size)
        for number in range(1, _MOST_ARRANGEMENTS):
            kind = number % 5
            if kind in (1, 4):  # one row at all places, border rows and others in turn
                rows = borders if len(borders) and number % 2 else natural
                yield np.full(size, rng.choice(rows))
            elif kind == 2:
                yield rng.permutation(np.resize(pool, size))
            elif kind == 3 and len(broken):
                indices = rng.permutation(np.resize(pool, size))
                places = rng.permutation(size)[: size // 2]
                indices[places] = rng.choice(broken, size=len(places))
                yield indices
            else:
                indices = np.full(size, pad)
                places = rng.permutation(size)[: max(size // 16, 1)]
                indices[places] = rng.choice(pool, size=len(places))
                yield indices

    def _outputs(self, rows: Any) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the answers, and those of the steps and scores within the model, by name.

        Rounding shows in these where classes, or later steps, hide it.
        """
        model = self._copies()
        inner = _inner_model(model)
        *steps, (_, last) = getattr(inner, "steps", [("", inner)])
        table = rows
        for name, step in steps:
            if step is None or isinstance(step, str):
                continue
            self.n_calls += 1
            try:
                table = step.transform(table)
            except Exception:
                break
            yield f"the step {name!r}", _comparable(table)
        else:
            for score in ("decision_function", "predict_proba", "transform"):
                if score != self.method and hasattr(last, score):
                    self.n_calls += 1
                    try:
                        answers = _comparable(getattr(last, score)(table))
                    except Exception:
                        continue
                    yield f"{type(last).__name__}.{score}", answers
        self.n_calls += 1
        yield self.name, call(self._copies(), self.method, rows)


class _Seen:
    """Answers that were seen first, by row."""

    def __init__(self, n_rows: int) -> None:
        self._is_known = np.zeros(n_rows, dtype=bool)
        self._answers: NDArray[Any] | None = None

    def agrees(self, indices: NDArray[np.intp], answers: NDArray[Any]) -> bool:
        """Return True if answers of rows are those seen before, bit for bit, and remember them."""
        if self._answers is None:
            self._answers = np.zeros((len(self._is_known), *answers.shape[1:]), answers.dtype)
        known = self._answers
        if answers.dtype != known.dtype or answers.shape != (len(indices), *known.shape[1:]):
            return False
        rows, first = np.unique(indices, return_index=True)
        new = ~self._is_known[rows]
        known[rows[new]], self._is_known[rows[new]] = answers[first[new]], True
        return bool(_same_rows(answers, known[indices]).all())


def _inner_model(model: Any) -> Any:
    """Return the model within wrappers that answers for them."""
    for name in _INNER:
        inner = vars(model).get(name) if hasattr(model, "__dict__") else None
        if inner is not None and (hasattr(inner, "predict") or hasattr(inner, "transform")):
            return _inner_model(inner)
    return model


def _comparable(answers: Any) -> NDArray[Any]:
    """Return answers as an array; of sparse rows a digest of each."""
    if not issparse(answers):
        return as_array(answers)
    rows = csr_array(answers)
    rows.sum_duplicates()
    parts = zip(rows.indptr, rows.indptr[1:], strict=False)
    return np.array(
        [hash((rows.indices[a:b].tobytes(), rows.data[a:b].tobytes())) for a, b in parts]
    )


def _same_rows(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.bool_]:
    """Compare rows bit for bit, but for signs of zeros and kinds of NaN."""
    same = np.asarray((first == second) | ((first != first) & (second != second)))
    return np.asarray(same.reshape(len(same), -1).all(axis=1))


def _float_columns(table: Any) -> NDArray[Any] | None:
    """Return the columns of floats as an array; None if there are none."""
    if isinstance(table, np.ndarray):
        return np.nan_to_num(table) if table.dtype.kind == "f" and table.ndim == 2 else None
    places = _float_places(table)
    if not places:
        return None
    columns = columns_of(table)
    return np.nan_to_num(np.column_stack([np.asarray(columns[place]) for place in places]))


def _float_places(table: Any) -> list[int]:
    """Return the positions of the columns of floats of a data frame."""
    if container_kind(table) == "polars":
        return [i for i, dtype in enumerate(table.dtypes) if dtype.is_float()]
    if container_kind(table) == "pandas":
        dtypes = enumerate(table.dtypes)
        return [i for i, t in dtypes if isinstance(t, np.dtype) and t.kind == "f"]
    return []


def _with_floats(table: Any, numbers: NDArray[Any]) -> Any:
    """Return a table with other numbers in its columns of floats."""
    if isinstance(table, np.ndarray):
        return numbers.astype(table.dtype)
    places = _float_places(table)
    if container_kind(table) == "polars":
        polars = sys.modules["polars"]
        return table.with_columns(
            polars.Series(table.columns[place], column).cast(table.dtypes[place])
            for place, column in zip(places, numbers.T, strict=True)
        )
    table = table.reset_index(drop=True)
    for place, column in zip(places, numbers.T, strict=True):
        table.isetitem(place, column.astype(table.dtypes.iloc[place]))
    return table


def _broken_rows(schema: RowSchema) -> Iterator[Any]:
    """Yield public rows with one cell missing, unseen or huge, as the schema reads private ones.

    Columns take turns.
    """
    sample = schema.sample
    for value in (None, _UNSEEN, _HUGE, -_HUGE):
        try:
            cells = _with_cells(sample, value, len(schema.columns))
            if cells is not None:
                yield schema.read(cells).table
        except (TypeError, ValueError, OverflowError):
            continue  # the schema can't read such cells, and so no private row has them


def _with_cells(sample: Any, value: object, n_columns: int) -> Any:
    """Return public rows with another value in one cell each; None if cells have no types."""
    number: Any = np.nan if value is None else value
    if issparse(sample):
        if isinstance(number, str) or not sample.nnz:
            return None
        changed = sample.astype(np.float64).tocsr()
        starts = changed.indptr[:-1][np.diff(changed.indptr) > 0]
        changed.data[starts] = number
        return changed
    if isinstance(sample, np.ndarray) and sample.dtype.kind in "biuf":
        if isinstance(number, str):
            return None
        changed = sample.astype(np.float64).reshape(len(sample), -1)
        changed[np.arange(len(sample)), np.arange(len(sample)) % changed.shape[1]] = number
        return changed.reshape(sample.shape)
    if not n_columns:
        return None
    if isinstance(sample, list) or np.ndim(sample) == 1:
        return [value if place % 2 else cell for place, cell in enumerate(sample)]
    columns = [np.asarray(column, dtype=object) for column in columns_of(sample)]
    changed = np.stack(columns, axis=1)
    changed[np.arange(len(changed)), np.arange(len(changed)) % changed.shape[1]] = value
    return changed
