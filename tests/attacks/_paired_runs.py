"""Pairs of runs on neighbouring data sets, in which the second is fed the outcomes of the first.

What the runs leave behind must be the same, bit for bit, and the exact statistics that were passed
to the door must differ by no more than what was charged. One seam serves all mechanisms: the
outermost call of `sample`, which draws every outcome. Clock, identifiers and keys are fixed.
"""

from __future__ import annotations

import gc
import os
import pickle
import random
import re
import secrets
import shutil
import sqlite3
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from tests.attacks._charged_change import squared_ratio
from tests.attacks._neighbour_rows import Data, neighbour

from secretballot import PrivacyAccountant
from secretballot.mechanisms import Mechanism

#: Differs in equal runs: the file's place, digests that follow from it, addresses, page counters.
_OF_THE_RUN = re.compile(rb"\d+@\d{9,}|[0-9a-f]{64}|0?x[0-9a-f]{8,}|sk-[a-z]+-id-\d+")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class AnyDatetime(type):
    """Type of which all datetimes are instances."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, datetime)


class StoppedClock(datetime, metaclass=AnyDatetime):
    """Datetimes whose present is always the same."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
        return NOON.astimezone(tz)


class Keys:
    """Keys and identifiers that are the same in every run.

    Each module of the library has a stream of its own: of some, such as names of scratch files, a
    run draws as many as its data need.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[str, random.Random] = {}

    def _stream(self) -> random.Random:
        frame, name = sys._getframe(2), ""
        while frame.f_back and not name.startswith("secretballot"):
            frame = frame.f_back
            name = frame.f_globals.get("__name__", "")
        return self._streams.setdefault(name, random.Random(f"{name} {self.seed}"))

    def randbytes(self, n: int) -> bytes:
        """Draw bytes."""
        return self._stream().randbytes(n)

    def getrandbits(self, n: int) -> int:
        """Draw an integer of so many bits."""
        return self._stream().getrandbits(n)


class DivergedError(AssertionError):
    """A run asked for other releases than its neighbour."""


@dataclass
class Door:
    """Exact statistics of all draws, and their outcomes: drawn, or those of another run."""

    outcomes: list[np.ndarray] = field(default_factory=list)
    is_replay: bool = False
    asked: list[tuple[Mechanism, np.ndarray]] = field(default_factory=list)
    _is_inside: bool = False

    def wrap(self, sample: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        """Return `sample` of a mechanism, which passes this door."""

        def drawn(mechanism: Mechanism, counts: np.ndarray, rng: Any) -> np.ndarray:
            if self._is_inside:
                return sample(mechanism, counts, rng)
            self.asked.append((mechanism, np.array(counts)))
            if self.is_replay:
                return self._recorded(len(counts))
            self._is_inside = True
            try:
                outcome = np.asarray(sample(mechanism, counts, rng))
            finally:
                self._is_inside = False
            self.outcomes.append(outcome.copy())
            return outcome

        return drawn

    def _recorded(self, n_rows: int) -> np.ndarray:
        if len(self.asked) > len(self.outcomes):
            raise DivergedError(f"a further release: {self.asked[-1][0]!r}")
        outcome = self.outcomes[len(self.asked) - 1]
        if len(outcome) != n_rows:
            raise DivergedError(f"{n_rows} rows instead of {len(outcome)}")
        return outcome.copy()


@dataclass
class Left:
    """What one run leaves behind.

    Attributes
    ----------
    shown : sequence of object
        Objects whose texts and public attributes anybody may see.
    published : sequence of object
        Objects that are handed out whole.
    kept : sequence of object
        Objects that are compared whole although they are private: for the list of exceptions.
    """

    shown: Sequence[object] = ()
    published: Sequence[object] = ()
    kept: Sequence[object] = ()


@dataclass(frozen=True)
class Kind:
    """One kind of fit or answer.

    Attributes
    ----------
    run : function of Desk and Data
        It fits or asks, and returns what is left.
    data : Data
    change : dict
        Arguments of `neighbour`.
    most : float
        Greatest change, as a part of what is charged; less where neighbours must be alike.
    excused : str
        Name of the exception that it shows to be needed; "" if it must leave no trace.
    """

    run: Callable[[Desk, Data], Left]
    data: Callable[[], Data]
    change: dict[str, Any] = field(default_factory=dict)
    excused: str = ""
    most: float = 1.0


@dataclass
class Desk:
    """Accountants of one run, on ledgers in its folder."""

    folder: Path
    accountants: list[PrivacyAccountant] = field(default_factory=list)

    def accountant(self, epsilon: Any = 500.0, delta: float = 1e-3, **options: Any) -> Any:
        """Open a budget."""
        path = self.folder / f"{len(self.accountants)}.ledger"
        accountant = PrivacyAccountant(epsilon, delta, ledger=path, **options)
        self.accountants.append(accountant)
        return accountant


@contextmanager
def _fixed_world(door: Door, seed: int) -> Iterator[None]:
    """Fix the clock, identifiers and keys, and let all draws pass a door."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - what scikit-learn draws from
    with ExitStack() as stack:

        def replace(owner: Any, name: str, value: Any) -> None:
            stack.enter_context(mock.patch.object(owner, name, value))

        keys = Keys(seed)
        replace(os, "urandom", keys.randbytes)
        replace(secrets, "token_bytes", keys.randbytes)
        replace(secrets, "randbits", keys.getrandbits)
        for module in [m for n, m in sys.modules.items() if n.startswith("secretballot")]:
            for name in [n for n, value in vars(module).items() if value is datetime]:
                replace(module, name, StoppedClock)
        for mechanism in _subclasses(Mechanism):
            if "sample" in vars(mechanism):
                replace(mechanism, "sample", door.wrap(vars(mechanism)["sample"]))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        yield


def _subclasses(parent: type) -> Iterator[type]:
    for child in parent.__subclasses__():
        yield child
        yield from _subclasses(child)


def traces_of(kind: Kind, data: Data, door: Door, folder: Path, seed: int) -> dict[str, bytes]:
    """Run a kind on data, and return what it leaves behind, by name."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    desk = Desk(folder)
    with _fixed_world(door, seed):
        left = kind.run(desk, data)
        traces = {}
        for number, accountant in enumerate(desk.accountants):
            traces |= _budget_traces(accountant, f"budget {number}")
        for number, each in enumerate([*left.shown, *left.published]):
            traces |= _shown_traces(each, f"{type(each).__name__} {number}")
        for number, each in enumerate([*left.published, *left.kept]):
            traces[f"{type(each).__name__} {number}: pickle"] = pickle.dumps(each)
    del desk, left
    gc.collect()
    return {name: _OF_THE_RUN.sub(b"*", trace) for name, trace in traces.items()}


def _budget_traces(accountant: PrivacyAccountant, name: str) -> dict[str, bytes]:
    statement = accountant.statement()
    traces = {
        f"{name}: entries": repr(accountant.entries()).encode(),
        f"{name}: statement": str(statement).encode(),
        f"{name}: values": repr(statement.to_dict()).encode(),
        f"{name}: page": statement.to_page(page_date=NOON.date()).encode(),
    }
    with sqlite3.connect(str(accountant.ledger)) as ledger:
        dump = list(ledger.iterdump())
    ledger.close()
    for table in sorted({line.split('"')[1] for line in dump if line.startswith("INSERT")}):
        rows = [line for line in dump if line.startswith(f'INSERT INTO "{table}"')]
        traces[f"{name}: table {table}"] = "\n".join(rows).encode()
    traces[f"{name}: mark"] = Path(f"{accountant.ledger}.mark").read_bytes()
    return traces | _shown_traces(accountant, name)


def _shown_traces(shown: object, name: str) -> dict[str, bytes]:
    traces = {f"{name}: repr": repr(shown).encode(), f"{name}: str": str(shown).encode()}
    if hasattr(shown, "_repr_html_"):
        traces[f"{name}: HTML"] = str(shown._repr_html_()).encode()
    for attribute in dir(shown):
        if not attribute.startswith("_"):
            with suppress(AttributeError):
                value = getattr(shown, attribute)
                if not callable(value) or hasattr(value, "get_params"):
                    traces[f"{name}: {attribute}"] = pickle.dumps(value)
    return traces


@dataclass
class Pair:
    """Comparison of two runs.

    Attributes
    ----------
    differences : list of str
        Traces that differ.
    squares : dict of str to Fraction
        Square of the greatest change as a part of its charge, by name of the mechanism.
    """

    differences: list[str]
    squares: dict[str, Fraction]

    @property
    def ratio(self) -> float:
        """Greatest change as a part of its charge."""
        return float(max(self.squares.values(), default=0)) ** 0.5


def compare(kind: Kind, seeds: Sequence[int], folder: Path) -> Iterator[Pair]:
    """Compare a run with those of some neighbours.

    Parameters
    ----------
    kind : Kind
    seeds : sequence of int
        One for each neighbour.
    folder : Path
        Both runs use it one after the other, so that paths are the same.
    """
    here, data, first = folder / "run", kind.data(), Door()
    traces = traces_of(kind, data, first, here, 0)
    for seed in seeds:
        again = Door(first.outcomes, is_replay=True)
        other = neighbour(data, seed, **kind.change)
        try:
            found = _differences(traces, traces_of(kind, other, again, here, 0))
        except Exception as error:  # one row must not decide whether an answer is given
            found = [f"{type(error).__name__}: {error}"]
        if not found and len(again.asked) != len(first.asked):
            found.append(f"{len(again.asked)} releases instead of {len(first.asked)}")
        squares, level = dict[str, Fraction](), other.level
        for (mechanism, before), (same, after) in zip(first.asked, again.asked, strict=False):
            if repr(mechanism) != repr(same):
                found.append(f"{same!r} instead of {mechanism!r}")
                break
            name, square = type(mechanism).__name__, squared_ratio(mechanism, before, after, level)
            squares[name] = max(square, squares.get(name, square))
        yield Pair(found, squares)
    shutil.rmtree(here, ignore_errors=True)


def _differences(traces: dict[str, bytes], others: dict[str, bytes]) -> list[str]:
    names = sorted(traces.keys() | others.keys())
    return [
        f"{name} {_first_difference(traces.get(name, b''), others.get(name, b''))}"
        for name in names
        if traces.get(name) != others.get(name)
    ]


def _first_difference(one: bytes, other: bytes) -> str:
    at = next(
        (k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    start = max(0, at - 40)
    return f"{one[start : at + 40]!r} / {other[start : at + 40]!r}"
