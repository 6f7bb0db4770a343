"""Choice of the rows of a call, by a check on public rows that answers don't depend on others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.tables._row_schema import RowSchema
from secretballot.tables._rowwise import (
    RowCalls,
    Stack,
    as_array,
    call,
    copy_of,
    private_copies,
    state_digest,
)
from secretballot.tables._undisturbed import undisturbed
from secretballot.tables._varied_rows import broken_rows, number_columns, with_numbers

#: Rows of a call that are tried, the fastest first. Eight rows fit one tile of the products of
#: matrices that were measured. A call of one row needs no check.
CALL_SIZES = (256, 8)
#: Most calls of a model, its steps and its scores in a check; those that are left to the last ones.
MOST_CALLS, _LAST_CALLS = 240, 32
#: Public rows that are answered twice, one by one.
_REPEATED = 8
#: Most arrangements of rows that are compared for one size of calls.
_MOST_ARRANGEMENTS = 20
#: Rows at the border between two answers, and halvings of the interval of a double.
_MOST_BORDERS, _BITS = 16, 53
#: Public seed: nothing private is drawn.
_SEED = 20_160_817
#: Attributes under which fitted models keep the model that answers for them.
_INNER = ("best_estimator_", "estimator_", "estimator", "model")
#: Those under which they keep several models, and how many of these are compared.
_SEVERAL, _MOST_MODELS = ("estimators_", "calibrated_classifiers_"), 3


def choose_calls(
    model: Any,
    method: str,
    schema: RowSchema,
    rows_per_call: int | str = "auto",
    *,
    name: str | None = None,
) -> RowCalls:
    """Return the calls in which a fitted model answers private rows.

    "auto": the largest number at which every public row, and every row at the border between two
    answers, has the same answer bit for bit at all places and beside all rows. The number must
    depend on public facts alone. 8 and 256 are refused if that check fails.
    """
    check_rows_per_call(rows_per_call)
    check = _Check(model, method, schema, name or f"{type(model).__name__}.{method}")
    with undisturbed():
        return check.choose(rows_per_call)


def check_rows_per_call(rows_per_call: object) -> None:
    if rows_per_call not in ("auto", *CALL_SIZES, 1) or isinstance(rows_per_call, bool):
        raise ValueError(
            f"rows_per_call={rows_per_call!r} must be 'auto', 256, 8 or 1: the number of private "
            "rows that a transformer or model is given in one call."
        )


class _Check:
    """Check of one model. Its rows are public; calls are counted."""

    def __init__(self, model: Any, method: str, schema: RowSchema, name: str) -> None:
        self.model, self.method, self.schema, self.name = model, method, schema, name
        self.n_calls, self.fresh_copies = 0, False
        self._rng = np.random.default_rng(_SEED)

    def choose(self, rows_per_call: int | str) -> RowCalls:
        self._copies = private_copies(self.model, self.name, fresh=False)
        before = state_digest(self._copies())
        sample = Stack.of([self.schema.sample])
        natural = self._call(sample.take(np.resize(np.arange(self._n_natural), CALL_SIZES[0])))
        if before is None or state_digest(self._copies()) != before:
            self._use_fresh_copies()
        sizes = [size for size in CALL_SIZES if rows_per_call in ("auto", size)]
        raising, companions = self._sort_broken_rows() if sizes else ([], [])
        chosen, fault = 1, ""
        for place, size in enumerate(sizes):
            n_left = (MOST_CALLS - _LAST_CALLS - self.n_calls) // (len(sizes) - place)
            last_call = self.n_calls + n_left
            borders = self._border_rows(natural[: self._n_natural], size)
            rows = _Rows.of(self.schema.sample, borders, raising, companions)
            step = self._fault_at(size, rows, last_call)
            if not step:
                chosen = size
                break
            fault = fault or step
        if not self.fresh_copies and state_digest(self._copies()) != before:
            # Later calls changed it, so that what was compared were different functions.
            self._use_fresh_copies()
            chosen, fault = 1, f"{self.name} changes when it is called, and"
        if chosen != rows_per_call and rows_per_call != "auto":
            raise ValueError(
                f"rows_per_call={rows_per_call!r}: in calls of so many rows {fault} makes "
                "something else of some public rows beside other rows, or at another place. Leave "
                "it 'auto', or pass 1."
            )
        if chosen == 1 and not self._repeats(sample):
            self._use_fresh_copies()
        answer = self._call(sample.take(np.zeros(chosen, dtype=np.intp)))
        return RowCalls(
            model=self.model,
            method=self.method,
            pad=_safe_indexing(self.schema.sample, np.array([0])),
            rows_per_call=chosen,
            fresh_copies=self.fresh_copies,
            answer=answer[:1],
            fault=fault if chosen < CALL_SIZES[0] else "",
        )

    @property
    def _n_natural(self) -> int:
        return min(_num_samples(self.schema.sample), CALL_SIZES[0])

    def _use_fresh_copies(self) -> None:
        self.fresh_copies = True
        self._copies = self._new_copies()

    def _new_copies(self) -> Callable[[], Any]:
        return lambda: copy_of(self.model, self.name)

    def _call(self, rows: Any) -> NDArray[Any]:
        self.n_calls += 1
        return call(self._copies(), self.method, rows)

    def _raises(self, table: Stack, rows: NDArray[np.intp], size: int) -> bool:
        indices = self._rng.integers(self._n_natural, size=size)
        indices[self._rng.permutation(size)[: len(rows)]] = rows
        try:
            self._call(table.take(indices))
        except MemoryError:
            raise
        except Exception:
            return True
        return False

    def _repeats(self, table: Stack) -> bool:
        """Return True if single rows have the same answers when they are asked again, or first."""
        rows = np.arange(min(_REPEATED, self._n_natural))
        first, second = (
            np.concatenate([self._call(table.take(rows[[row]])) for row in order])
            for order in (rows, rows[::-1])
        )
        copies = self._new_copies()
        self.n_calls += len(rows)
        alone = np.concatenate(
            [call(copies(), self.method, table.take(rows[[row]])) for row in rows]
        )
        return all(
            first.dtype == other.dtype and bool(_same_rows(first, other).all())
            for other in (second[::-1], alone)
        )

    def _sort_broken_rows(self) -> tuple[list[Any], list[Any]]:
        """Return broken rows that make a call fail, one of a kind, and tables of the others."""
        sample, size = self.schema.sample, CALL_SIZES[0]
        raising, companions = [], []
        for broken in broken_rows(self.schema):
            table = Stack.of([sample, broken])
            rows = _num_samples(sample) + np.arange(self._n_natural)
            if not self._raises(table, rows, size):
                companions.append(broken)
                continue
            while len(rows) > 1:
                half = rows[: len(rows) // 2]
                rows = half if self._raises(table, half, size) else rows[len(half) :]
            raising.append(_safe_indexing(broken, rows - _num_samples(sample)))
        return raising, companions

    def _border_rows(self, natural: NDArray[Any], size: int) -> Any:
        """Return rows between public ones at which the answer changes; None if there are none.

        Rounding shows there, even if the answers are classes.
        """
        sample = self.schema.sample
        numbers = number_columns(sample)
        if numbers is None or len(natural) < 2:
            return None
        pairs = self._rng.integers(len(natural), size=(2, 40 * _MOST_BORDERS))
        pairs = pairs[:, ~_same_rows(natural[pairs[0]], natural[pairs[1]])]
        pairs = pairs[:, : min(_MOST_BORDERS, size) // 2]
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
            return with_numbers(_safe_indexing(sample, pairs[0][rows]), moved)

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
        return between(np.concatenate([low, high]), np.tile(np.arange(n_pairs), 2))

    def _fault_at(self, size: int, rows: _Rows, last_call: int) -> str:
        """Return the step whose answers depend on other rows, or on a row's place; "" if none."""
        for row in rows.raising:
            if not self._raises(rows.table, np.array([row]), size):
                return self.name
        answers: dict[str, _Seen] = {}
        for number, indices in enumerate(rows.arrangements(size, self._rng)):
            before = self.n_calls
            try:
                # A copy that was never called has the same answers as one that was.
                copies = self._copies if number % 2 == 0 else self._new_copies()
                outputs = dict(self._outputs(rows.table.take(indices), copies))
            except MemoryError:
                raise
            except Exception:
                return self.name
            if number == 0:
                answers = {name: _Seen(rows.table.n_rows) for name in outputs}
            for name, seen in answers.items():
                if name in outputs and not seen.agrees(indices, outputs[name]):
                    return name
            if 2 * self.n_calls - before > last_call:
                break
        return ""

    def _outputs(self, rows: Any, copies: Callable[[], Any]) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the answers, and those of inner steps and scores, in which rounding shows."""
        for where, model in _models_behind(copies()):
            for name, answers in self._parts(model, rows):
                yield name + where, answers
        self.n_calls += 1
        yield self.name, call(copies(), self.method, rows)

    def _parts(self, model: Any, rows: Any) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the answers of a model's steps, and the scores of the last one, until one fails."""
        *steps, (_, last) = getattr(model, "steps", [("", model)])
        table = rows
        for name, step in steps:
            if step is None or isinstance(step, str):
                continue
            self.n_calls += 1
            try:
                table = step.transform(table)
            except Exception:
                return
            yield f"the step {name!r}", _comparable(table)
        for score in ("decision_function", "predict_proba", "transform"):
            if score != self.method and hasattr(last, score):
                self.n_calls += 1
                try:
                    answers = _comparable(getattr(last, score)(table))
                except Exception:
                    continue
                yield f"{type(last).__name__}.{score}", answers


@dataclass(frozen=True)
class _Rows:
    """Public rows that are compared, as positions in a table; the last is the pad."""

    table: Stack
    natural: NDArray[np.intp]
    borders: NDArray[np.intp]  # at the border of two answers
    raising: NDArray[np.intp]  # such that a call fails
    broken: NDArray[np.intp]  # with a cell that is missing, unseen or huge

    @classmethod
    def of(cls, natural: Any, borders: Any, raising: list[Any], broken: list[Any]) -> _Rows:
        kinds = [[natural], [] if borders is None else [borders], raising, broken]
        ends = np.cumsum([sum(map(_num_samples, tables)) for tables in kinds])
        first = _safe_indexing(natural, np.array([0]))
        table = Stack.of([*(table for tables in kinds for table in tables), first])
        return cls(table, *np.split(np.arange(ends[-1]), ends[:-1]))

    def arrangements(self, size: int, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
        """Yield the rows of calls: among each other, one at all places, few, beside broken ones."""
        borders = rng.permutation(self.borders)[: size // 2]
        natural = rng.permutation(self.natural)[: size - len(borders)]
        pool = np.concatenate([borders, natural])
        yield np.resize(pool, size)
        for number in range(1, _MOST_ARRANGEMENTS):
            kind = number % 5
            if kind in (1, 4):  # one row at all places, border rows and others in turn
                yield np.full(size, rng.choice(borders if len(borders) and number % 2 else natural))
            elif kind == 2:
                yield rng.permutation(np.resize(pool, size))
            elif kind == 3 and len(self.broken):
                indices = rng.permutation(np.resize(pool, size))
                places = rng.permutation(size)[: size // 2]
                indices[places] = rng.choice(self.broken, size=len(places))
                yield indices
            else:
                indices = np.full(size, self.table.n_rows - 1)
                places = rng.permutation(size)[: max(size // 16, 1)]
                indices[places] = rng.choice(pool, size=len(places))
                yield indices


class _Seen:
    def __init__(self, n_rows: int) -> None:
        self._is_known = np.zeros(n_rows, dtype=bool)
        self._answers: NDArray[Any] | None = None

    def agrees(self, indices: NDArray[np.intp], answers: NDArray[Any]) -> bool:
        """Return True if answers of rows are those seen before, bit for bit, and remember them."""
        if self._answers is None:
            self._answers = np.zeros((len(self._is_known), *answers.shape[1:]), answers.dtype)
        first_seen = self._answers
        if answers.dtype != first_seen.dtype or answers.shape[1:] != first_seen.shape[1:]:
            return False
        if len(answers) != len(indices):
            return False
        rows, first = np.unique(indices, return_index=True)
        new = ~self._is_known[rows]
        first_seen[rows[new]], self._is_known[rows[new]] = answers[first[new]], True
        return bool(_same_rows(answers, first_seen[indices]).all())


def _comparable(answers: Any) -> NDArray[Any]:
    """Return answers as an array; of sparse rows a digest of each, of lists by label all labels."""
    if isinstance(answers, list) and answers and all(np.ndim(label) == 2 for label in answers):
        return np.concatenate([as_array(label) for label in answers], axis=1)
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


def _models_behind(model: Any) -> list[tuple[str, Any]]:
    """List the models within wrappers that answer for them, with their places."""
    attributes = vars(model) if hasattr(model, "__dict__") else {}
    for name in _INNER:
        if _is_fitted(attributes.get(name)):
            return _models_behind(attributes[name])
    models = [("", model)]
    for name in _SEVERAL:
        several = attributes.get(name)
        if isinstance(several, list):
            for place, part in enumerate(several[:_MOST_MODELS]):
                models += [
                    (f" in {name}[{place}]{where}", inner)
                    for where, inner in _models_behind(part)
                    if _is_fitted(inner)
                ]
    return models


def _is_fitted(model: Any) -> bool:
    """Return True for a model that can answer rows: wrappers keep what they copy, too."""
    if isinstance(model, type) or not (hasattr(model, "predict") or hasattr(model, "transform")):
        return False
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except TypeError:  # not of scikit-learn
        return True
    return True
